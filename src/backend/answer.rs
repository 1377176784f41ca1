//! What the text of a log tells, which nvJitLink and the driver write alike.

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

/// The error for an answer that is not success. `class` is what its number means, which counts where the text does not decide.
pub fn error(library: &LibraryFacts, input: Option<&str>, answer: BackendAnswer, class: ResultClass) -> Error {
    let class = TEXTS.iter().find(|(text, _)| answer.text.contains(text)).map_or(class, |(_, class)| *class);
    let library = library.describe();
    let what = match input {
        Some(name) => format!("{library} refused '{name}'"),
        None if answer.call.ends_with("LinkCreate") => format!("{library} refused the options"),
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
