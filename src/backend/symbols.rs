//! Entry points of one opened library.

use std::ffi::CString;

use libloading::os::unix::Library;

use super::library::Reason;
use crate::policy::Version;

/// The suffixes that a library of 12.0 to 12.2 may carry, the newest first; later ones export plain names too.
/// A library that carries only suffixes of a later release would still be read.
fn suffix_versions() -> impl Iterator<Item = Version> {
    (12..=19).rev().flat_map(|major| (0..=19).rev().map(move |minor| Version::new(major, minor)))
}

/// Looks entry points up in one library and in no other.
pub struct Symbols<'a> {
    library: &'a Library,
    /// `nvJitLink` in `nvJitLinkCreate` and `__nvJitLinkCreate_12_2`, `cu` in `cuInit`.
    prefix: &'static str,
}

impl<'a> Symbols<'a> {
    pub fn new(library: &'a Library, prefix: &'static str) -> Self {
        Self { library, prefix }
    }

    /// An entry point under its plain name, else under the highest suffix that the library exports.
    ///
    /// # Safety
    /// `F` is a function pointer of the C signature that the library documents for this entry point.
    pub unsafe fn optional<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: F is as the caller promises; a suffixed name is the same function.
        unsafe { self.plain(name).or_else(|| suffix_versions().find_map(|version| self.suffixed(name, version))) }
    }

    /// As [`optional`](Self::optional); the reason names the entry.
    ///
    /// # Safety
    /// As for `optional`.
    pub unsafe fn required<F: Copy>(&self, name: &str) -> Result<F, Reason> {
        // SAFETY: as the caller promises.
        unsafe { self.optional(name) }.ok_or_else(|| format!("does not export {}{name}, nor the same with a version", self.prefix))
    }

    /// An entry point under exactly this name.
    ///
    /// # Safety
    /// As for `optional`.
    pub unsafe fn exactly<F: Copy>(&self, name: &str) -> Result<F, Reason> {
        // SAFETY: as the caller promises.
        unsafe { self.plain(name) }.ok_or_else(|| format!("does not export {}{name}", self.prefix))
    }

    /// The highest suffix under which the library exports `name`.
    pub fn highest_suffix(&self, name: &str) -> Option<Version> {
        // SAFETY: the pointer is not called.
        suffix_versions().find(|version| unsafe { self.suffixed::<*const ()>(name, *version) }.is_some())
    }

    unsafe fn plain<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: as the caller of `optional` promises.
        unsafe { self.get(format!("{}{name}", self.prefix)) }
    }

    unsafe fn suffixed<F: Copy>(&self, name: &str, version: Version) -> Option<F> {
        // SAFETY: as the caller of `optional` promises.
        unsafe { self.get(format!("__{}{name}_{}_{}", self.prefix, version.major, version.minor)) }
    }

    unsafe fn get<F: Copy>(&self, symbol: String) -> Option<F> {
        let symbol = CString::new(symbol).ok()?;
        // SAFETY: F is the type of that symbol, as the caller of `optional` promises; `get` checks its size and refuses NULL.
        let found = unsafe { self.library.get::<F>(symbol.as_bytes_with_nul()) }.ok()?;
        Some(*found)
    }
}
