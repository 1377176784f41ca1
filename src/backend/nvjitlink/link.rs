//! One link, from create to destroy.

use std::ffi::{CString, c_char};
use std::ptr;

use super::super::image::{Image, images};
use super::super::{Linked, Logs, log_text};
use super::{Code, Getter, Handle, NvJitLink, answer};
use crate::c_string::c_string;
use crate::error::{BackendAnswer, Error, Result, ResultClass};
use crate::input::{Input, PieceKind};
use crate::options::OutputKind;
use crate::policy::{Plan, PlannedOption, Version};

/// The first release whose destroy does not crash after a failed create that had read `-lto`.
const SAFE_DESTROY_SINCE: Version = Version::new(12, 8);

impl NvJitLink {
    /// Links `inputs` as `plan` says. The logs are given on failure too.
    pub fn link(&self, plan: &Plan, inputs: &[Input]) -> std::result::Result<Linked, (Error, Logs)> {
        let images = images(plan, inputs).map_err(|error| (error, Logs::default()))?;
        let mut session = Session { library: self, handle: ptr::null_mut(), left_behind: false, image: None };
        match session.run(plan, &images) {
            Ok(output) => Ok(Linked { output, logs: session.logs() }),
            Err(error) => Err((error, session.logs())),
        }
    }
}

/// A handle of nvJitLink, destroyed at the end.
struct Session<'a> {
    library: &'a NvJitLink,
    handle: Handle,
    /// Destroying the handle would crash.
    left_behind: bool,
    /// What is being added.
    image: Option<&'a Image<'a>>,
}

impl<'a> Session<'a> {
    fn run(&mut self, plan: &Plan, images: &'a [Image<'a>]) -> Result<Vec<u8>> {
        self.create(plan)?;
        for image in images {
            self.image = Some(image);
            let (bytes, name) = (&image.bytes, &image.name);
            // SAFETY: the handle is live; bytes and name outlive it (see `Image`).
            let code = unsafe {
                (self.library.entry_points.add_data)(self.handle, input_type(image.kind), bytes.as_ptr().cast(), bytes.len(), name.as_ptr())
            };
            self.check("nvJitLinkAddData", code)?;
        }
        self.image = None;
        // SAFETY: the handle is live, and complete is called once.
        let code = unsafe { (self.library.entry_points.complete)(self.handle) };
        self.check("nvJitLinkComplete", code)?;
        let getter = match plan.output {
            OutputKind::Cubin => self.library.entry_points.linked_cubin,
            OutputKind::Ptx => self.library.entry_points.linked_ptx,
            OutputKind::Ltoir => self
                .library
                .entry_points
                .linked_ltoir
                .ok_or_else(|| Error::new(ResultClass::Internal, "the plan asks for LTO-IR, which the library cannot give"))?,
        };
        let (code, output) = self.get(getter);
        self.check(getter.call, code)?;
        if output.is_empty() {
            return Err(Error::new(ResultClass::Internal, "nvJitLink reported success and gave an empty output"));
        }
        Ok(output)
    }

    fn create(&mut self, plan: &Plan) -> Result<()> {
        let options: Vec<CString> = plan.options.iter().map(|option| c_string(&option.to_string())).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = u32::try_from(pointers.len()).map_err(|_| Error::new(ResultClass::InvalidArgument, "too many options"))?;
        // SAFETY: `handle` is writable; `pointers` are `count` C strings that live through the call, after which none is kept.
        let code = unsafe { (self.library.entry_points.create)(&mut self.handle, count, pointers.as_ptr()) };
        let created = self.check("nvJitLinkCreate", code);
        // A failed create still gives a handle, and its log is the only reason there is. Then it is destroyed,
        // except where that crashes. There the handle is left behind.
        let crashes = self.library.facts.version.is_some_and(|version| version < SAFE_DESTROY_SINCE);
        self.left_behind = created.is_err() && crashes && plan.options.contains(&PlannedOption::Flag("-lto".to_owned()));
        created
    }

    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let answer = BackendAnswer { call, code, text: self.logs().error };
        Err(answer::error(&self.library.facts, self.image.map(|image| image.input), answer))
    }

    fn logs(&self) -> Logs {
        let text = |getter| {
            let (_, bytes) = self.get(getter);
            log_text(&bytes)
        };
        Logs { error: text(self.library.entry_points.error_log), info: text(self.library.entry_points.info_log) }
    }

    fn get(&self, getter: Getter) -> (Code, Vec<u8>) {
        let mut size = 0;
        if self.handle.is_null() {
            return (0, Vec::new());
        }
        // SAFETY: the handle is live and `size` is writable.
        let code = unsafe { (getter.size)(self.handle, &mut size) };
        // The library writes one byte even where it reported size 0.
        if code != 0 || size == 0 {
            return (code, Vec::new());
        }
        let mut bytes = vec![0; size];
        // SAFETY: the handle is live and the buffer has the size that the library asked for.
        let code = unsafe { (getter.bytes)(self.handle, bytes.as_mut_ptr().cast()) };
        (code, bytes)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() && !self.left_behind {
            // SAFETY: the handle came from this library's create and is destroyed once.
            unsafe { (self.library.entry_points.destroy)(&mut self.handle) };
        }
    }
}

/// nvJitLinkInputType. OBJECT and LIBRARY are not used: see [`Piece`](crate::input::Piece). ANY is not used: it exists from 12.4 on
/// only, and we know what the image is.
fn input_type(kind: PieceKind) -> u32 {
    match kind {
        PieceKind::Cubin => 1,
        PieceKind::Ptx => 2,
        PieceKind::LtoIr => 3,
        PieceKind::Fatbin => 4,
    }
}
