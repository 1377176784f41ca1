//! The only place that calls foreign code.
#![allow(unsafe_code)]

mod answer;
pub mod driver;
mod image;
pub mod library;
pub mod nvjitlink;
mod published;
mod symbols;

/// The library's own words about a link.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// Its error log. It may hold lines that are no errors.
    pub error: String,
    /// Its info log.
    pub info: String,
}

/// What a link gave.
pub struct Linked {
    /// The output, exactly as the library gave it.
    pub output: Vec<u8>,
    /// Both logs.
    pub logs: Logs,
}

/// A log up to its NUL.
fn log_text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
