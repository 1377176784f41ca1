//! One link, from the context to destroy.

use std::ffi::c_void;
use std::{ptr, slice};

use cudarc::driver::sys::{CUcontext, CUdevice, CUjit_option, CUjitInputType, CUlinkState};

use super::super::image::{Image, images};
use super::super::{Linked, Logs, log_text};
use super::{Code, Driver, SUCCESS};
use crate::error::{BackendAnswer, Error, Result, ResultClass};
use crate::input::{Input, PieceKind};
use crate::policy::{Plan, PlannedOption};

/// Bytes of a log. The driver cuts what is longer; it cannot be asked for the rest.
const LOG_CAPACITY: usize = 256 << 10;

impl Driver {
    /// Links `inputs` as `plan` says, in the calling thread's context, else in the primary one of the first device for as long as the link
    /// takes. The logs are given on failure too.
    pub fn link(&self, plan: &Plan, inputs: &[Input]) -> std::result::Result<Linked, (Error, Logs)> {
        let no_logs = |error| (error, Logs::default());
        let images = images(plan, inputs).map_err(no_logs)?;
        self.initialize().map_err(no_logs)?;
        let _context = Context::current_or_primary(self).map_err(no_logs)?;
        let mut session = Session::new(self, plan);
        match session.run(&images) {
            Ok(output) => Ok(Linked { output, logs: session.logs() }),
            Err(error) => Err((error, session.logs())),
        }
    }
}

/// The primary context of the first device, made current while this lives, if the thread had none.
struct Context<'a> {
    driver: &'a Driver,
    made_current: Option<CUdevice>,
}

impl<'a> Context<'a> {
    fn current_or_primary(driver: &'a Driver) -> Result<Self> {
        let entry_points = &driver.entry_points;
        let mut context: CUcontext = ptr::null_mut();
        // SAFETY: the driver is initialised, and `context` is writable.
        driver.check("cuCtxGetCurrent", unsafe { (entry_points.context_current)(&mut context) })?;
        if !context.is_null() {
            return Ok(Self { driver, made_current: None });
        }
        let device = driver.device_handle(0)?;
        // SAFETY: as above, and the device is the driver's.
        driver.check("cuDevicePrimaryCtxRetain", unsafe { (entry_points.primary_context_retain)(&mut context, device) })?;
        // SAFETY: the context is retained.
        let pushed = driver.check("cuCtxPushCurrent", unsafe { (entry_points.context_push)(context) });
        if pushed.is_err() {
            // SAFETY: retained above, and not made current.
            unsafe { (entry_points.primary_context_release)(device) };
        }
        pushed.map(|()| Self { driver, made_current: Some(device) })
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        if let Some(device) = self.made_current {
            let mut context = ptr::null_mut();
            // SAFETY: pops what was pushed on this thread, and releases what was retained, once each. Nothing can be done about a failure.
            unsafe {
                (self.driver.entry_points.context_pop)(&mut context);
                (self.driver.entry_points.primary_context_release)(device);
            }
        }
    }
}

/// A state of cuLink, destroyed at the end.
///
/// Up to the end of destroy the driver may read the options, write into the logs, and write their sizes back into `values`. So values and logs are
/// reached by raw pointer only while the state lives, and all of it is freed after it.
struct Session<'a> {
    driver: &'a Driver,
    state: CUlinkState,
    options: Vec<u32>,
    values: *mut [*mut c_void],
    info: *mut [u8],
    error: *mut [u8],
    /// The name of the input that is being added.
    input: Option<&'a str>,
}

impl<'a> Session<'a> {
    fn new(driver: &'a Driver, plan: &Plan) -> Self {
        let log = || Box::into_raw(vec![0_u8; LOG_CAPACITY].into_boxed_slice());
        let (info, error) = (log(), log());
        let number = |value: usize| ptr::without_provenance_mut::<c_void>(value);
        let mut options = vec![
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER, info.cast()),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, number(LOG_CAPACITY)),
            (CUjit_option::CU_JIT_ERROR_LOG_BUFFER, error.cast()),
            (CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, number(LOG_CAPACITY)),
        ];
        options.extend(plan.options.iter().filter_map(|option| match option {
            PlannedOption::Jit(option, value) => Some((*option, number(*value as usize))),
            PlannedOption::Flag(_) => None,
        }));
        let (options, values): (Vec<u32>, Vec<*mut c_void>) = options.into_iter().map(|(option, value)| (option as u32, value)).unzip();
        Self { driver, state: ptr::null_mut(), options, values: Box::into_raw(values.into_boxed_slice()), info, error, input: None }
    }

    fn run(&mut self, images: &[Image<'a>]) -> Result<Vec<u8>> {
        let entry_points = &self.driver.entry_points;
        let count = u32::try_from(self.options.len()).map_err(|_| Error::new(ResultClass::InvalidArgument, "too many options"))?;
        // SAFETY: a context is current; `options` and `values` have `count` entries, of the types that cuda.h says, and outlive the state.
        let code = unsafe { (entry_points.link_create)(count, self.options.as_mut_ptr(), self.values.cast(), &mut self.state) };
        self.check("cuLinkCreate", code)?;
        for image in images {
            self.input = Some(image.input);
            // SAFETY: the state is live; the driver reads the bytes and the name, and keeps neither (cuda.h). No options are given.
            let code = unsafe {
                (entry_points.link_add_data)(
                    self.state,
                    input_type(image.kind) as u32,
                    image.bytes.as_ptr().cast_mut().cast(),
                    image.bytes.len(),
                    image.name.as_ptr(),
                    0,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            };
            self.check("cuLinkAddData", code)?;
        }
        self.input = None;
        let (mut output, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the state is live and completed once; `output` and `size` are writable.
        let code = unsafe { (entry_points.link_complete)(self.state, &mut output, &mut size) };
        self.check("cuLinkComplete", code)?;
        if output.is_null() || size == 0 {
            return Err(Error::new(ResultClass::Internal, "the CUDA driver reported success and gave an empty output"));
        }
        // SAFETY: the driver's cubin of `size` bytes, which lives as long as the state.
        Ok(unsafe { slice::from_raw_parts(output.cast::<u8>(), size) }.to_vec())
    }

    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        Err(self.driver.error(self.input, BackendAnswer { call, code, text: self.logs().error }))
    }

    fn logs(&self) -> Logs {
        Logs { error: text(self.error), info: text(self.info) }
    }
}

/// What is in a log now, and whether the driver cut it.
fn text(log: *mut [u8]) -> String {
    // SAFETY: allocated in `new`, initialised, and freed in `drop` only; the driver writes it during its calls, and none is running.
    let log = unsafe { &*log };
    let text = log_text(log);
    // It leaves one byte for the NUL, and may fill that too.
    let is_full = log.iter().position(|byte| *byte == 0).is_none_or(|end| end + 1 >= log.len());
    if is_full { format!("{text}\n(cut by the CUDA driver at {} bytes)", log.len()) } else { text }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.state.is_null() {
            // SAFETY: the state came from create and is destroyed once. Nothing can be done about a failure.
            unsafe { (self.driver.entry_points.link_destroy)(self.state) };
        }
        // SAFETY: made by `Box::into_raw` in `new`, freed once; the driver has let go of them.
        unsafe {
            drop(Box::from_raw(self.values));
            drop(Box::from_raw(self.info));
            drop(Box::from_raw(self.error));
        }
    }
}

/// CUjitInputType. The driver is not given host objects and archives as they are either, see [`Piece`](crate::input::Piece).
fn input_type(kind: PieceKind) -> CUjitInputType {
    match kind {
        PieceKind::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
        PieceKind::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
        PieceKind::Fatbin => CUjitInputType::CU_JIT_INPUT_FATBINARY,
        // The policy gives the driver none; it would answer that it has no compiler for it.
        PieceKind::LtoIr => CUjitInputType::CU_JIT_INPUT_NVVM,
    }
}
