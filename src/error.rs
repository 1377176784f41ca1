//! What failed, on which input, what was found and what is needed, and the backend's own number and text.

use std::ffi::CStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// What a call answered. One class for one mistake, whatever library or version is underneath.
///
/// Values are pinned: gaps stay, and a number is never given a second meaning.
/// 1-19 are the caller's call, 20-39 the options, 40-59 the environment, 60-89 the inputs and the link, 90-99 the process.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultClass {
    /// Done.
    Ok = 0,
    /// A pointer that must point to something is NULL.
    NullArgument = 1,
    /// An argument has a value that is not one of those listed for it.
    InvalidArgument = 2,
    /// The call does not fit the linker's state, such as `add` after `complete`.
    InvalidState = 3,
    /// `struct_size` is too small to be any version of the structure, or the part that this library does not know is not zero.
    BadStructSize = 4,
    /// The buffer is too small; nothing was written but the size that is needed.
    BufferTooSmall = 5,
    /// No such option.
    UnknownOption = 20,
    /// The option's value is not one that it takes.
    BadOptionValue = 21,
    /// Two options, or an option and the output asked for, exclude each other.
    IncompatibleOptions = 22,
    /// No target architecture was given.
    MissingArch = 23,
    /// The text is no architecture at all, such as `80`, `sm_8` or `SM_80`.
    BadArch = 24,
    /// The library found does not have the option in its version, or the CUDA driver has no such option; the message says who has it.
    UnsupportedOption = 25,
    /// The library found does not know the architecture.
    UnsupportedArch = 26,
    /// No nvJitLink was found, and the CUDA driver cannot do the job; the message lists every place that was tried.
    LibraryNotFound = 40,
    /// The library that was named cannot be used; the message keeps the loader's reason.
    LibraryUnusable = 41,
    /// No CUDA driver was found.
    DriverNotFound = 42,
    /// The CUDA driver answered with an error of its own.
    DriverError = 43,
    /// The input file does not exist.
    FileNotFound = 44,
    /// The input file could not be read.
    IoError = 45,
    /// Nothing was added before `complete`.
    NoInputs = 60,
    /// The input holds nothing.
    EmptyInput = 61,
    /// The input is damaged.
    BadInput = 62,
    /// The input is nothing that can be linked.
    UnrecognizedInput = 63,
    /// The input is of another kind than was declared.
    WrongInputKind = 64,
    /// The input was made by a newer CUDA release than the library found can read.
    InputTooNew = 65,
    /// The input holds no code for the target architecture.
    ArchMismatch = 66,
    /// There is no device code in the inputs.
    NoDeviceCode = 67,
    /// The input is a finished cubin, which a link would drop.
    NotRelocatable = 68,
    /// The output asked for needs LTO-IR, and the input has none.
    NotLtoir = 69,
    /// A symbol is defined twice, or declared as something else than it is.
    DuplicateSymbol = 70,
    /// A symbol is used and defined nowhere.
    UnresolvedSymbol = 71,
    /// A kernel that the inputs define is missing from the output.
    MissingKernel = 72,
    /// ptxas or NVVM refused the code; the diagnostic keeps its text.
    CompileFailed = 73,
    /// The link failed for a reason that has no class of its own.
    LinkFailed = 74,
    /// The output was not asked for, or there is none.
    OutputNotAvailable = 75,
    /// A limit was reached, of the caller's or of ours; the message names it.
    OverLimit = 78,
    /// No memory.
    OutOfMemory = 90,
    /// A fault of cudalink or of the backend that the caller did not cause.
    Internal = 98,
    /// A fault of cudalink that was caught at the boundary; the linker can only be destroyed.
    Panic = 99,
}

const NAMES: &[(ResultClass, &CStr)] = &[
    (ResultClass::Ok, c"ok"),
    (ResultClass::NullArgument, c"null_argument"),
    (ResultClass::InvalidArgument, c"invalid_argument"),
    (ResultClass::InvalidState, c"invalid_state"),
    (ResultClass::BadStructSize, c"bad_struct_size"),
    (ResultClass::BufferTooSmall, c"buffer_too_small"),
    (ResultClass::UnknownOption, c"unknown_option"),
    (ResultClass::BadOptionValue, c"bad_option_value"),
    (ResultClass::IncompatibleOptions, c"incompatible_options"),
    (ResultClass::MissingArch, c"missing_arch"),
    (ResultClass::BadArch, c"bad_arch"),
    (ResultClass::UnsupportedOption, c"unsupported_option"),
    (ResultClass::UnsupportedArch, c"unsupported_arch"),
    (ResultClass::LibraryNotFound, c"library_not_found"),
    (ResultClass::LibraryUnusable, c"library_unusable"),
    (ResultClass::DriverNotFound, c"driver_not_found"),
    (ResultClass::DriverError, c"driver_error"),
    (ResultClass::FileNotFound, c"file_not_found"),
    (ResultClass::IoError, c"io_error"),
    (ResultClass::NoInputs, c"no_inputs"),
    (ResultClass::EmptyInput, c"empty_input"),
    (ResultClass::BadInput, c"bad_input"),
    (ResultClass::UnrecognizedInput, c"unrecognized_input"),
    (ResultClass::WrongInputKind, c"wrong_input_kind"),
    (ResultClass::InputTooNew, c"input_too_new"),
    (ResultClass::ArchMismatch, c"arch_mismatch"),
    (ResultClass::NoDeviceCode, c"no_device_code"),
    (ResultClass::NotRelocatable, c"not_relocatable"),
    (ResultClass::NotLtoir, c"not_ltoir"),
    (ResultClass::DuplicateSymbol, c"duplicate_symbol"),
    (ResultClass::UnresolvedSymbol, c"unresolved_symbol"),
    (ResultClass::MissingKernel, c"missing_kernel"),
    (ResultClass::CompileFailed, c"compile_failed"),
    (ResultClass::LinkFailed, c"link_failed"),
    (ResultClass::OutputNotAvailable, c"output_not_available"),
    (ResultClass::OverLimit, c"over_limit"),
    (ResultClass::OutOfMemory, c"out_of_memory"),
    (ResultClass::Internal, c"internal"),
    (ResultClass::Panic, c"panic"),
];

impl ResultClass {
    /// The lower-case name, as in JSON; `None` for a number that names no class.
    pub fn name_of(number: i32) -> Option<&'static CStr> {
        NAMES.iter().find(|(class, _)| *class as i32 == number).map(|(_, name)| *name)
    }

    /// The lower-case name, as in JSON.
    pub fn name(self) -> &'static str {
        Self::name_of(self as i32).and_then(|name| name.to_str().ok()).unwrap_or("unknown")
    }
}

impl Serialize for ResultClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The link failed because of it.
    Error,
    /// The link went on, and the caller should know.
    Warning,
}

/// What the library underneath answered, in its own words.
#[derive(Debug, PartialEq, Eq)]
pub struct BackendAnswer {
    /// The function that answered, such as `nvJitLinkComplete`.
    pub call: &'static str,
    /// Its result, unchanged. Its meaning depends on the library's version.
    pub code: i32,
    /// The library's error log at that moment, whole.
    pub text: String,
}

/// One finding about a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The class of the mistake.
    pub result: ResultClass,
    /// The name of the input that it is about.
    pub input: Option<String>,
    /// The line of the input's text that it is about, counted from 1.
    pub line: Option<u32>,
    /// The symbol that it is about.
    pub symbol: Option<String>,
    /// One sentence of ours: the input, what was found, what is needed.
    pub message: String,
    /// What the caller may do about it.
    pub hint: Option<String>,
    /// What the library underneath said, shared by all findings that are about that answer.
    #[serde(skip)]
    pub backend: Option<Arc<BackendAnswer>>,
}

impl Diagnostic {
    /// A warning about the link as a whole.
    pub fn warning_about_the_link(message: String) -> Self {
        Self { input: None, ..Self::warning(ResultClass::Ok, "", message) }
    }

    /// A warning about an input.
    pub fn warning(result: ResultClass, input: &str, message: String) -> Self {
        Self {
            severity: Severity::Warning,
            result,
            input: Some(input.to_owned()),
            line: None,
            symbol: None,
            message,
            hint: None,
            backend: None,
        }
    }
}

/// Findings for JSON. Of those that share an answer the last has its text, which may be as long as all
/// of them; the others have null.
pub struct Findings<'a>(pub &'a [Diagnostic]);

impl Serialize for Findings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Finding<'a> {
            #[serde(flatten)]
            diagnostic: &'a Diagnostic,
            backend: Option<Answer<'a>>,
        }
        #[derive(Serialize)]
        struct Answer<'a> {
            call: &'static str,
            code: i32,
            text: Option<&'a str>,
        }
        let mut next_answers = self.0.iter().skip(1).map(|next| next.backend.as_ref());
        serializer.collect_seq(self.0.iter().map(|diagnostic| {
            let next = next_answers.next().flatten();
            let backend = diagnostic.backend.as_ref().map(|answer| Answer {
                call: answer.call,
                code: answer.code,
                text: (!next.is_some_and(|next| Arc::ptr_eq(next, answer))).then_some(&answer.text),
            });
            Finding { diagnostic, backend }
        }))
    }
}

/// Why a call failed: one diagnostic of severity error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Diagnostic>);

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(Box::new(diagnostic))
    }
}

impl Error {
    /// An error of `class`, in one sentence.
    pub fn new(class: ResultClass, message: impl Into<String>) -> Self {
        Self(Box::new(Diagnostic {
            severity: Severity::Error,
            result: class,
            input: None,
            line: None,
            symbol: None,
            message: message.into(),
            hint: None,
            backend: None,
        }))
    }

    /// Names the input that the error is about.
    pub fn on_input(mut self, name: &str) -> Self {
        self.0.input = Some(name.to_owned());
        self
    }

    /// Names the line of the input's text.
    pub fn at_line(mut self, line: u32) -> Self {
        self.0.line = Some(line);
        self
    }

    /// Names the symbol that the error is about.
    pub fn on_symbol(mut self, name: &str) -> Self {
        self.0.symbol = Some(name.to_owned());
        self
    }

    /// Says what the caller may do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Keeps what the library underneath answered.
    pub fn from_backend(mut self, answer: BackendAnswer) -> Self {
        self.0.backend = Some(Arc::new(answer));
        self
    }

    /// The class of the mistake.
    pub fn class(&self) -> ResultClass {
        self.0.result
    }

    /// The whole finding.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.0
    }
}
