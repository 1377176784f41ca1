//! `cl_linker_*`.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::boundary::{self, class_of, guard, guard_class, null};
use super::options::{self, cl_linker_options, cl_output_kind, no_such};
use crate::c_string::c_string;
use crate::error::{BackendAnswer, Diagnostic, Error, Result, ResultClass, Severity};
use crate::input::InputKind;
use crate::linker::Linker;
use crate::options::LinkOptions;

/// What an input is. One of `CL_INPUT_AUTO`, `CL_INPUT_CUBIN` ... `CL_INPUT_LIBRARY`.
pub type cl_input_kind = u32;
/// Whatever the bytes are. A kind that the bytes contradict is `CL_RESULT_WRONG_INPUT_KIND`.
pub const CL_INPUT_AUTO: cl_input_kind = 0;
/// A CUDA binary: an ELF file for the machine EM_CUDA.
pub const CL_INPUT_CUBIN: cl_input_kind = 1;
/// PTX text. NUL bytes at its end are not needed and do no harm.
pub const CL_INPUT_PTX: cl_input_kind = 2;
/// LTO-IR, as `nvcc -dlto` and NVRTC's `-dlto` make it.
pub const CL_INPUT_LTOIR: cl_input_kind = 3;
/// A fat binary: code for several architectures.
pub const CL_INPUT_FATBIN: cl_input_kind = 4;
/// A host object that carries device code.
pub const CL_INPUT_OBJECT: cl_input_kind = 5;
/// An archive (`ar`) of host objects.
pub const CL_INPUT_LIBRARY: cl_input_kind = 6;

/// A log. One of `CL_LOG_ERROR`, `CL_LOG_INFO`, `CL_LOG_PLAN`, `CL_LOG_OUTPUT`.
pub type cl_log_kind = u32;
/// The backend's error log. Lines in it after a link that succeeded are no errors.
pub const CL_LOG_ERROR: cl_log_kind = 1;
/// The backend's info log.
pub const CL_LOG_INFO: cl_log_kind = 2;
/// The plan as JSON: backend, library, options as they were passed, each decision with its reason, and
/// of each image in the inputs what is used: of a fatbin that is one entry. Empty before `complete`.
pub const CL_LOG_PLAN: cl_log_kind = 3;
/// What came out as JSON: `kind`, `size` in bytes, the `kernels` that it defines and the symbols that it leaves `undefined`. Of LTO-IR the last two
/// are not known, and empty.
pub const CL_LOG_OUTPUT: cl_log_kind = 4;

/// How much a diagnostic matters. One of `CL_SEVERITY_ERROR`, `CL_SEVERITY_WARNING`.
pub type cl_severity = u32;
/// The link failed because of it.
pub const CL_SEVERITY_ERROR: cl_severity = 1;
/// The link went on.
pub const CL_SEVERITY_WARNING: cl_severity = 2;

/// One link: inputs are added, completed once, and read. Opaque.
///
/// A linker is used by one thread at a time; different linkers are independent. A linker that failed in `add` or `complete`
/// has failed for good: its message, logs and diagnostics can be read, and it must be destroyed.
pub struct cl_linker {
    linker: Linker,
    message: CString,
    diagnostics: Vec<CDiagnostic>,
}

/// A diagnostic in C strings.
struct CDiagnostic {
    severity: cl_severity,
    result: ResultClass,
    input: Option<CString>,
    line: u32,
    symbol: Option<CString>,
    message: CString,
    hint: Option<CString>,
    backend: Option<Arc<CAnswer>>,
}

/// An answer in C strings, one for all diagnostics that are about it.
struct CAnswer {
    of: Arc<BackendAnswer>,
    call: CString,
    text: CString,
}

/// One finding about a link. The strings belong to the linker and live until it is destroyed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cl_diagnostic {
    /// `sizeof(cl_diagnostic)`, set by `CL_DIAGNOSTIC_INIT`.
    pub struct_size: usize,
    /// Error or warning.
    pub severity: cl_severity,
    /// The class of the mistake, a `cl_result`.
    pub result: i32,
    /// The name of the input that it is about; NULL if it is about none.
    pub input: *const c_char,
    /// The symbol that it is about; NULL if it is about none.
    pub symbol: *const c_char,
    /// One sentence: the input, what was found, what is needed. Never NULL.
    pub message: *const c_char,
    /// What to do about it; NULL if there is nothing to say.
    pub hint: *const c_char,
    /// The backend's function that answered, such as "nvJitLinkComplete"; NULL if none did.
    pub backend_call: *const c_char,
    /// The backend's text, whole; NULL if none answered. Findings of one answer share one text, and so this pointer.
    pub backend_text: *const c_char,
    /// The backend's own result, unchanged; its meaning depends on the library's version. 0 if none answered.
    pub backend_code: i32,
    /// The line of the input's text that it is about, counted from 1; 0 if it is about none.
    pub line: u32,
}

// SAFETY: repr(C), integers and pointers only, `struct_size` first.
unsafe impl boundary::VersionedStruct for cl_diagnostic {}

impl cl_linker {
    fn new(options: LinkOptions) -> Self {
        Self { linker: Linker::new(options), message: CString::default(), diagnostics: Vec::new() }
    }

    fn keep(&mut self, error: &Error) {
        self.message = c_string(&error.to_string());
    }

    /// Makes C strings of the diagnostics that came since the last call. Those handed out stay where they are.
    fn keep_diagnostics(&mut self) {
        let new = self.linker.diagnostics().get(self.diagnostics.len()..).unwrap_or_default();
        for diagnostic in new {
            let last = self.diagnostics.last().and_then(|last| last.backend.as_ref());
            let backend = diagnostic.backend.as_ref().map(|answer| match last {
                Some(last) if Arc::ptr_eq(&last.of, answer) => last.clone(),
                _ => Arc::new(CAnswer { of: answer.clone(), call: c_string(answer.call), text: c_string(&answer.text) }),
            });
            self.diagnostics.push(CDiagnostic::new(diagnostic, backend));
        }
    }
}

impl CDiagnostic {
    fn new(diagnostic: &Diagnostic, backend: Option<Arc<CAnswer>>) -> Self {
        let optional = |text: &Option<String>| text.as_deref().map(c_string);
        Self {
            severity: match diagnostic.severity {
                Severity::Error => CL_SEVERITY_ERROR,
                Severity::Warning => CL_SEVERITY_WARNING,
            },
            result: diagnostic.result,
            input: optional(&diagnostic.input),
            line: diagnostic.line.unwrap_or(0),
            symbol: optional(&diagnostic.symbol),
            message: c_string(&diagnostic.message),
            hint: optional(&diagnostic.hint),
            backend,
        }
    }

    fn view(&self) -> cl_diagnostic {
        let optional = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let backend = self.backend.as_ref();
        cl_diagnostic {
            struct_size: 0,
            severity: self.severity,
            result: self.result as i32,
            input: optional(&self.input),
            symbol: optional(&self.symbol),
            message: self.message.as_ptr(),
            hint: optional(&self.hint),
            backend_call: backend.map_or(ptr::null(), |answer| answer.call.as_ptr()),
            backend_text: backend.map_or(ptr::null(), |answer| answer.text.as_ptr()),
            backend_code: backend.map_or(0, |answer| answer.of.code),
            line: self.line,
        }
    }
}

/// Runs one step of a linker; its failure becomes the linker's message, and a panic makes it fail for good.
///
/// # Safety
/// `linker` is NULL or a live linker that no other thread uses.
unsafe fn with_linker(linker: *mut cl_linker, step: impl FnOnce(&mut cl_linker) -> Result<()>) -> ResultClass {
    // SAFETY: as the caller promises.
    let Some(linker) = (unsafe { linker.as_mut() }) else { return ResultClass::NullArgument };
    let result = guard(|| step(linker)).unwrap_or_else(|panic| {
        linker.linker.fail(&panic);
        Err(panic)
    });
    if let Err(error) = &result {
        linker.keep(error);
    }
    linker.keep_diagnostics();
    class_of(result)
}

/// Makes a linker.
///
/// Nothing is searched for or opened yet. `options` is copied; NULL asks for nothing.
/// On failure too `*linker_out` is a linker, so that its message can be read; it must be destroyed.
///
/// Results: `CL_RESULT_NULL_ARGUMENT` (`linker_out`, or a list that has a count), `..._BAD_STRUCT_SIZE`, `..._INVALID_ARGUMENT`,
/// `..._UNKNOWN_OPTION`, `..._BAD_OPTION_VALUE`, `..._INCOMPATIBLE_OPTIONS`, `..._BAD_ARCH`. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_create(options: *const cl_linker_options, linker_out: *mut *mut cl_linker) -> ResultClass {
    if linker_out.is_null() {
        return ResultClass::NullArgument;
    }
    // SAFETY: the caller's, by the header's contract for `linker_out`.
    unsafe { linker_out.write(ptr::null_mut()) };
    // SAFETY: by the header's contract for `options`.
    let checked = guard(|| unsafe { options::read(options) }).and_then(|result| result);
    let (options, failure) = match checked {
        Ok(options) => (options, None),
        Err(error) => (LinkOptions::default(), Some(error)),
    };
    let mut linker = Box::new(cl_linker::new(options));
    if let Some(error) = &failure {
        linker.linker.fail(error);
        linker.keep(error);
        linker.keep_diagnostics();
    }
    // SAFETY: as above.
    unsafe { linker_out.write(Box::into_raw(linker)) };
    class_of(failure.map_or(Ok(()), Err))
}

/// Adds one input from memory.
///
/// `data` is copied, so the caller may free it when the call returns. `name` is what messages call the input; NULL calls it
/// "input N". The input is looked at here, and linked in `cl_linker_complete`.
///
/// Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT` (no such kind, or a name that is not UTF-8), `..._INVALID_STATE`; and, which make
/// the linker fail for good, `..._EMPTY_INPUT`, `..._BAD_INPUT`, `..._UNRECOGNIZED_INPUT`, `..._WRONG_INPUT_KIND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_add(
    linker: *mut cl_linker,
    kind: cl_input_kind,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> ResultClass {
    let step = |linker: &mut cl_linker| {
        let kind = input_kind(kind)?;
        // SAFETY: by the header's contract for `data` and `name`.
        let (bytes, name) = unsafe { (boundary::bytes(data.cast(), size, "data")?, boundary::text(name, "name")?) };
        let name = name.map_or_else(|| format!("input {}", linker.linker.input_count() + 1), str::to_owned);
        linker.linker.add(kind, bytes, &name)
    };
    // SAFETY: by the header's contract for `linker`.
    unsafe { with_linker(linker, step) }
}

/// Adds one input from a file, which is read now. Messages call it by `path`.
///
/// Results: as for `cl_linker_add`, and `CL_RESULT_FILE_NOT_FOUND`, `..._IO_ERROR`, `..._OVER_LIMIT` (the files of a thin archive),
/// which make the linker fail for good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_add_file(linker: *mut cl_linker, kind: cl_input_kind, path: *const c_char) -> ResultClass {
    let step = |linker: &mut cl_linker| {
        let kind = input_kind(kind)?;
        // SAFETY: by the header's contract for `path`.
        let path = unsafe { boundary::text(path, "path") }?.ok_or_else(|| null("path"))?;
        linker.linker.add_file(kind, Path::new(path))
    };
    // SAFETY: by the header's contract for `linker`.
    unsafe { with_linker(linker, step) }
}

/// Links what was added. The library is searched for here, and opened if it is not yet; see `CL_BACKEND_AUTO` for who links. Where the CUDA driver
/// does, the calling thread's current context is used, and is current again when the call returns.
///
/// Results that make the linker fail for good: `CL_RESULT_NO_INPUTS`, `..._MISSING_ARCH`, `..._INCOMPATIBLE_OPTIONS`,
/// `..._UNSUPPORTED_OPTION`, `..._UNSUPPORTED_ARCH`, `..._LIBRARY_NOT_FOUND`, `..._LIBRARY_UNUSABLE`, `..._DRIVER_NOT_FOUND`,
/// `..._DRIVER_ERROR` (also in a process forked after its parent used CUDA), `..._BAD_OPTION_VALUE` (the variable `CUDALINK_BACKEND`), and those of the
/// inputs and the link (60 to 78). `CL_RESULT_INVALID_STATE` if the linker is complete or has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_complete(linker: *mut cl_linker) -> ResultClass {
    // SAFETY: by the header's contract for `linker`.
    unsafe { with_linker(linker, |linker| linker.linker.complete()) }
}

/// Frees a linker and everything that it handed out. NULL is a no-op.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_destroy(linker: *mut cl_linker) {
    if !linker.is_null() {
        // SAFETY: made by `cl_linker_create`, and not destroyed before, by the header's contract for `linker`.
        let linker = unsafe { Box::from_raw(linker) };
        // There is nobody to tell of a panic.
        let _ = guard(|| drop(linker));
    }
}

/// Gives the output of a link that succeeded.
///
/// `*size_out` is the size in bytes, whatever the capacity. With `buffer` NULL and `capacity` 0 that is all; otherwise the output is
/// written to `buffer`, which has `capacity` bytes and stays the caller's. `size_out` may be NULL if `buffer` is not.
///
/// Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT`, `..._INVALID_STATE` (not complete, or failed), `..._OUTPUT_NOT_AVAILABLE` (another kind was
/// asked for in the options), `..._BUFFER_TOO_SMALL` (nothing written). On failure but for the last `*size_out` is 0.
/// The call does not change the linker, nor its message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_get_output(
    linker: *const cl_linker,
    kind: cl_output_kind,
    buffer: *mut c_void,
    capacity: usize,
    size_out: *mut usize,
) -> ResultClass {
    // SAFETY: by the header's contract for each.
    unsafe {
        read_linker(linker, size_out, |linker| {
            boundary::give(linker.output(options::output_kind(kind)?)?.bytes(), buffer.cast(), capacity, size_out)
        })
    }
}

/// Gives a log as text, ending in a NUL that the size counts.
///
/// Sizes, buffers and results as for `cl_linker_get_output`. A log can be read in every state; before `complete` it is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_get_log(
    linker: *const cl_linker,
    kind: cl_log_kind,
    buffer: *mut c_char,
    capacity: usize,
    size_out: *mut usize,
) -> ResultClass {
    let read = |linker: &Linker| {
        let json;
        let text = match kind {
            CL_LOG_ERROR => &linker.logs().error,
            CL_LOG_INFO => &linker.logs().info,
            CL_LOG_PLAN => {
                json = linker.plan().map(to_json).transpose()?.unwrap_or_default();
                &json
            }
            CL_LOG_OUTPUT => {
                let output = linker.output(linker.output_kind()).ok();
                json = output.map(|output| to_json(&output.describe())).transpose()?.unwrap_or_default();
                &json
            }
            other => return Err(no_such("log kind", other)),
        };
        // SAFETY: by the header's contract for `buffer` and `size_out`.
        unsafe { boundary::give_text(text, buffer, capacity, size_out) }
    };
    // SAFETY: by the header's contract for `linker` and `size_out`.
    unsafe { read_linker(linker, size_out, read) }
}

/// The last failure in one sentence; "" if there was none, and for NULL. Never NULL.
///
/// The text belongs to the linker and lives until its next call that can fail, or its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_get_message(linker: *const cl_linker) -> *const c_char {
    // SAFETY: by the header's contract for `linker`.
    unsafe { linker.as_ref() }.map_or(c"".as_ptr(), |linker| linker.message.as_ptr())
}

/// How many findings there are: errors, and warnings of a link that succeeded too. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_diagnostic_count(linker: *const cl_linker) -> usize {
    // SAFETY: by the header's contract for `linker`.
    unsafe { linker.as_ref() }.map_or(0, |linker| linker.diagnostics.len())
}

/// Gives the finding at `index`, counted from 0. `*diagnostic_out` must be initialised with `CL_DIAGNOSTIC_INIT`.
///
/// Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT` (no such index), `..._BAD_STRUCT_SIZE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_linker_get_diagnostic(
    linker: *const cl_linker,
    index: usize,
    diagnostic_out: *mut cl_diagnostic,
) -> ResultClass {
    guard_class(|| {
        // SAFETY: by the header's contract for `linker`.
        let linker = unsafe { boundary::reference(linker, "linker") }?;
        if diagnostic_out.is_null() {
            return Err(null("diagnostic_out"));
        }
        let diagnostic = linker.diagnostics.get(index);
        let diagnostic = diagnostic.ok_or_else(|| Error::new(ResultClass::InvalidArgument, format!("there is no diagnostic {index}")))?;
        // SAFETY: by the header's contract for `diagnostic_out`.
        unsafe { boundary::write_struct(diagnostic_out, &diagnostic.view()) }
    })
}

/// # Safety
/// `linker` is NULL or live, `size_out` is NULL or writable.
unsafe fn read_linker(linker: *const cl_linker, size_out: *mut usize, read: impl FnOnce(&Linker) -> Result<()>) -> ResultClass {
    if !size_out.is_null() {
        // SAFETY: as the caller promises.
        unsafe { size_out.write(0) };
    }
    // SAFETY: as the caller promises.
    guard_class(|| read(&unsafe { boundary::reference(linker, "linker") }?.linker))
}

fn input_kind(kind: cl_input_kind) -> Result<Option<InputKind>> {
    Ok(Some(match kind {
        CL_INPUT_AUTO => return Ok(None),
        CL_INPUT_CUBIN => InputKind::Cubin,
        CL_INPUT_PTX => InputKind::Ptx,
        CL_INPUT_LTOIR => InputKind::LtoIr,
        CL_INPUT_FATBIN => InputKind::Fatbin,
        CL_INPUT_OBJECT => InputKind::Object,
        CL_INPUT_LIBRARY => InputKind::Library,
        other => return Err(no_such("input kind", other)),
    }))
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(ResultClass::Internal, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linker_that_panicked_has_failed_for_good_and_says_why() {
        let mut linker = cl_linker::new(LinkOptions::default());
        // SAFETY: the linker is live and used here only.
        let message = unsafe {
            assert_eq!(with_linker(&mut linker, |_| panic!("a fault of ours")), ResultClass::Panic);
            assert_eq!(cl_linker_diagnostic_count(&linker), 1);
            std::ffi::CStr::from_ptr(cl_linker_get_message(&linker)).to_str().unwrap()
        };
        assert!(message.contains("a fault of ours"), "{message}");
        // SAFETY: as above.
        assert_eq!(unsafe { cl_linker_complete(&mut linker) }, ResultClass::InvalidState);
    }
}
