//! From what the driver answered to one class for one mistake.

use cudarc::driver::sys::CUresult;

use super::super::answer;
use super::Code;
use crate::error::{BackendAnswer, Error, ResultClass};
use crate::policy::LibraryFacts;

/// The class of a number of a cuLink function, measured on driver 580 (CUDA 13.0): it answers 999 where a symbol is unresolved or defined
/// twice, and says so in its log only.
const CLASSES: &[(CUresult, ResultClass)] = &[
    (CUresult::CUDA_ERROR_INVALID_VALUE, ResultClass::LinkFailed),
    (CUresult::CUDA_ERROR_OUT_OF_MEMORY, ResultClass::OutOfMemory),
    (CUresult::CUDA_ERROR_INVALID_IMAGE, ResultClass::BadInput),
    (CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, ResultClass::ArchMismatch),
    (CUresult::CUDA_ERROR_INVALID_PTX, ResultClass::CompileFailed),
    (CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ResultClass::InputTooNew),
    (CUresult::CUDA_ERROR_INVALID_SOURCE, ResultClass::LinkFailed),
    (CUresult::CUDA_ERROR_UNKNOWN, ResultClass::LinkFailed),
];

/// What a caller may do about a number that does not say it.
const HINTS: &[(CUresult, &str)] = &[
    (CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, "the input may be of a CUDA release that is newer than the driver's"),
    (
        CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        "libnvidia-ptxjitcompiler.so.1 is missing; a container gets it with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ),
];

/// The error for an answer that is not success. `name` is the driver's own for it, empty if it has none.
pub fn error(library: &LibraryFacts, input: Option<&str>, answer: BackendAnswer, name: &str) -> Error {
    let of_the_link = |code: Code| CLASSES.iter().find(|(known, _)| *known as Code == code).map(|(_, class)| *class);
    let is_of_the_link = answer.call.starts_with("cuLink") || answer.code == CUresult::CUDA_ERROR_OUT_OF_MEMORY as Code;
    let class = Some(answer.code).filter(|_| is_of_the_link).and_then(of_the_link).unwrap_or(ResultClass::DriverError);
    let hint = HINTS.iter().find(|(known, _)| *known as Code == answer.code).map(|(_, hint)| *hint);
    let with_hint = |error: Error| match hint {
        Some(hint) => error.hint(hint),
        None => error,
    };
    if !answer.text.trim().is_empty() {
        return with_hint(answer::error(library, input, answer, class));
    }
    let what = input.map_or(String::new(), |name| format!(" to '{name}'"));
    let code = format!("{} {name}", answer.code);
    let text = format!("{}: {} answered {}{what}", library.describe(), answer.call, code.trim_end());
    let error = with_hint(Error::new(class, text).from_backend(answer));
    match input {
        Some(input) => error.on_input(input),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Version;

    // Numbers and texts as driver 580 wrote them.
    #[test]
    fn a_mistake_has_the_class_that_it_has_with_nvjitlink() {
        for (call, code, text, class, input, symbol) in [
            (
                "cuLinkComplete",
                999,
                "error   : Undefined reference to 'helper' in 'kernel.ptx'",
                ResultClass::UnresolvedSymbol,
                "kernel.ptx",
                Some("helper"),
            ),
            (
                "cuLinkAddData",
                999,
                "error   : Multiple definition of 'helper' in 'again', first defined in 'helper.ptx'",
                ResultClass::DuplicateSymbol,
                "again",
                Some("helper"),
            ),
            (
                "cuLinkAddData",
                222,
                "ptxas application ptx input, line 9; fatal   : Unsupported .version 9.5; current version is '9.0'",
                ResultClass::InputTooNew,
                "unit",
                None,
            ),
            ("cuLinkAddData", 218, "ptxas application ptx input, line 83; error   : Not a name", ResultClass::CompileFailed, "unit", None),
            ("cuLinkAddData", 209, "", ResultClass::ArchMismatch, "unit", None),
            ("cuLinkAddData", 2, "", ResultClass::OutOfMemory, "unit", None),
            ("cuInit", 999, "", ResultClass::DriverError, "unit", None),
            ("cuDevicePrimaryCtxRetain", 2, "", ResultClass::OutOfMemory, "unit", None),
            ("cuLinkAddData", 221, "", ResultClass::DriverError, "unit", None),
        ] {
            let library = LibraryFacts::driver("libcuda.so.1".into(), Version::new(13, 0));
            let given = if call == "cuLinkComplete" || code == 999 && symbol.is_some() { None } else { Some("unit") };
            let found = error(&library, given, BackendAnswer { call, code, text: text.to_owned() }, "CUDA_ERROR_X");
            let diagnostic = found.diagnostic();
            assert_eq!(
                (diagnostic.result, diagnostic.input.as_deref(), diagnostic.symbol.as_deref()),
                (class, Some(input), symbol),
                "{call} {code}"
            );
        }
    }
}
