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
    let error = Error::new(class, format!("{what}: {text}"));
    match input {
        Some(name) => error.on_input(name),
        None => error,
    }
    .from_backend(answer)
}
