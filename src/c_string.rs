//! Text for C.

use std::ffi::CString;

/// A C string of `text`. A NUL inside would end it early, so it is left out.
pub fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}
