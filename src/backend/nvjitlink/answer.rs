//! From what nvJitLink answered to one class for one mistake.
//!
//! The same mistake has different numbers in different releases (facts measured on 12.0 to 13.5), so the text of the
//! log decides where it says more than the number.

use super::super::answer;
use crate::error::{BackendAnswer, Error, ResultClass};
use crate::policy::LibraryFacts;

/// The class of a number where the text does not decide. From 10 on the numbers are those of 13.0 and later.
fn class_of_code(code: i32) -> ResultClass {
    match code {
        1 => ResultClass::UnknownOption,
        2 => ResultClass::MissingArch,
        3 => ResultClass::BadInput,
        4 | 5 => ResultClass::CompileFailed,
        8 => ResultClass::UnrecognizedInput,
        10 => ResultClass::EmptyInput,
        11 | 18 => ResultClass::IncompatibleOptions,
        12 => ResultClass::WrongInputKind,
        13 | 15 => ResultClass::ArchMismatch,
        14 => ResultClass::InputTooNew,
        16 | 17 => ResultClass::UnsupportedArch,
        _ => ResultClass::LinkFailed,
    }
}

/// The error for an answer that is not success.
pub fn error(library: &LibraryFacts, input: Option<&str>, answer: BackendAnswer) -> Error {
    let numbers_end = match library.version {
        // In 12.x the later names are other names for 3 and 6.
        Some(version) if version.major == 12 => 9,
        _ => i32::MAX,
    };
    let class = match answer.code {
        // In 12.x that is INCOMPATIBLE_OPTIONS too, and create has no input.
        3 if answer.call == "nvJitLinkCreate" => ResultClass::IncompatibleOptions,
        code if code > numbers_end => ResultClass::LinkFailed,
        code => class_of_code(code),
    };
    answer::error(library, input, answer, class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Version;

    fn of(version: (u32, u32), code: i32, text: &str) -> Error {
        let library = LibraryFacts::nvjitlink("lib".into(), Some(Version::new(version.0, version.1)), false);
        error(&library, None, BackendAnswer { call: "nvJitLinkComplete", code, text: text.to_owned() })
    }

    // Each text as a real release wrote it.
    #[test]
    fn what_stands_in_the_text_is_lifted_out() {
        for (text, class, input, symbol, line) in [
            (
                "error   : Undefined reference to 'helper' in 'kernel.ptx'\nERROR 9: finish\n",
                ResultClass::UnresolvedSymbol,
                Some("kernel.ptx"),
                Some("helper"),
                None,
            ),
            (
                "ptxas fatal   : Unresolved extern function '_Z1fi'\nERROR 3: ptxjit:linkedPtx\n",
                ResultClass::UnresolvedSymbol,
                None,
                Some("_Z1fi"),
                None,
            ),
            (
                "helper.ltoir: link error: error: Linking globals named 'helper': symbol multiply defined!\n\nERROR NVVM_ERROR_COMPILATION (9)\n",
                ResultClass::DuplicateSymbol,
                Some("helper.ltoir"),
                Some("helper"),
                None,
            ),
            (
                "ptxas application ptx input, line 6; error   : Not a name of any known instruction: 'nonsense'\n",
                ResultClass::CompileFailed,
                None,
                None,
                Some(6),
            ),
            ("", ResultClass::CompileFailed, None, None, None),
        ] {
            let found = of((13, 5), 4, text);
            let diagnostic = found.diagnostic();
            assert_eq!(
                (diagnostic.result, diagnostic.input.as_deref(), diagnostic.symbol.as_deref(), diagnostic.line),
                (class, input, symbol, line),
                "{text}"
            );
            assert_eq!(diagnostic.backend.as_ref().map(|backend| backend.text.as_str()), Some(text));
        }
    }

    #[test]
    fn a_number_means_what_it_means_in_that_release() {
        assert_eq!(of((13, 0), 14, "").class(), ResultClass::InputTooNew);
        assert_eq!(of((12, 9), 14, "").class(), ResultClass::LinkFailed);
        assert_eq!(of((12, 9), 5, "").class(), ResultClass::CompileFailed);
        assert_eq!(of((14, 0), 99, "").class(), ResultClass::LinkFailed);
    }
}
