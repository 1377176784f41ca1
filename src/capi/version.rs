//! The version of the library.

use std::ffi::{CStr, c_char};

const fn number(text: &str) -> u32 {
    let mut value = 0;
    let mut at = 0;
    while at < text.len() {
        value = value * 10 + (text.as_bytes()[at] - b'0') as u32;
        at += 1;
    }
    value
}

/// The version of the header's library as one number: `major * 10000 + minor * 100 + patch`.
/// Compare it with `cudalink_version_number()`, which answers for the library that was loaded.
pub const CUDALINK_VERSION_NUMBER: u32 = 100;

const _: () = assert!(
    CUDALINK_VERSION_NUMBER
        == number(env!("CARGO_PKG_VERSION_MAJOR")) * 10000
            + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
            + number(env!("CARGO_PKG_VERSION_PATCH")),
    "CUDALINK_VERSION_NUMBER is not the version in Cargo.toml"
);

const TEXT: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => unreachable!(),
};

/// The version of the loaded library, as `CUDALINK_VERSION_NUMBER` is made. Any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn cudalink_version_number() -> u32 {
    CUDALINK_VERSION_NUMBER
}

/// The version of the loaded library as text, such as "0.1.0". Static; never NULL. Any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn cudalink_version_string() -> *const c_char {
    TEXT.as_ptr()
}
