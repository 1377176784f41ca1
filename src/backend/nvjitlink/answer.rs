//! From what nvJitLink answered to one class for one mistake.
//!
//! The same mistake has different numbers in different releases (facts measured on 12.0 to 13.5), so the text of the
//! log decides where it says more than the number.

use crate::error::{BackendAnswer, Error, ResultClass};
use crate::policy::LibraryFacts;

/// A piece of the library's text, and what it means in every release.
const TEXTS: &[(&str, ResultClass)] = &[
    ("Undefined reference to", ResultClass::UnresolvedSymbol),
    ("Unresolved extern function", ResultClass::UnresolvedSymbol),
    ("Multiple definition of", ResultClass::DuplicateSymbol),
    ("symbol multiply defined", ResultClass::DuplicateSymbol),
    ("may need newer version of nvJitLink", ResultClass::InputTooNew),
    ("Unsupported .version", ResultClass::InputTooNew),
    ("newer than target arch", ResultClass::ArchMismatch),
    ("-ptx requires that all inputs have LTOIR", ResultClass::NotLtoir),
    ("does not match type", ResultClass::WrongInputKind),
    ("input without LTO", ResultClass::IncompatibleOptions),
];

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
    let by_text = TEXTS.iter().find(|(text, _)| answer.text.contains(text)).map(|(_, class)| *class);
    let numbers_end = match library.version {
        // In 12.x the later names are other names for 3 and 6.
        Some(version) if version.major == 12 => 9,
        _ => i32::MAX,
    };
    let class = by_text.unwrap_or(match answer.code {
        // In 12.x that is INCOMPATIBLE_OPTIONS too, and create has no input.
        3 if answer.call == "nvJitLinkCreate" => ResultClass::IncompatibleOptions,
        code if code > numbers_end => ResultClass::LinkFailed,
        code => class_of_code(code),
    });
    let library = library.describe();
    let what = match input {
        Some(name) => format!("{library} refused '{name}'"),
        None if answer.call == "nvJitLinkCreate" => format!("{library} refused the options"),
        None => format!("{library} failed"),
    };
    let text = match answer.text.trim() {
        "" => format!("{} answered {} and no text", answer.call, answer.code),
        text => text.to_owned(),
    };
    lift(Error::new(class, format!("{what}: {text}")), input, &answer.text).from_backend(answer)
}

/// Takes input, symbol and line out of the library's text, where they stand there.
fn lift(mut error: Error, input: Option<&str>, text: &str) -> Error {
    const BEFORE_SYMBOL: [&str; 4] =
        ["Undefined reference to '", "Unresolved extern function '", "Multiple definition of '", "Linking globals named '"];
    let quoted = |after: &str| text.split_once(after)?.1.split_once('\'').map(|(quoted, _)| quoted);
    if let Some(symbol) = BEFORE_SYMBOL.iter().find_map(|before| quoted(before)) {
        error = error.on_symbol(symbol);
    }
    // "... reference to 'f' in 'a.ptx'", and "a.ltoir: link error: ..."
    let nvvm_input = || text.split_once(": link error:").and_then(|(before, _)| before.lines().last());
    if let Some(input) = input.or_else(|| quoted("' in '")).or_else(nvvm_input) {
        error = error.on_input(input);
    }
    // "ptxas application ptx input, line 6; error ..."
    let line = text.split_once("input, line ").and_then(|(_, rest)| rest.split(';').next()?.parse().ok());
    match line {
        Some(line) => error.at_line(line),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Version;

    fn of(version: (u32, u32), code: i32, text: &str) -> Error {
        let library = LibraryFacts { path: "lib".into(), version: Some(Version::new(version.0, version.1)), exports_linked_ltoir: false };
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
