//! The nvJitLink backend.

mod answer;
mod link;

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};

use super::library::{self, Reason, Search, SearchEnvironment};
use super::published::Published;
use super::symbols::Symbols;
use crate::c_string::c_string;
use crate::policy::{LibraryFacts, Version};

type Handle = *mut c_void;
type Code = i32;

type AddData = unsafe extern "C" fn(Handle, u32, *const c_void, usize, *const c_char) -> Code;
type OnHandle = unsafe extern "C" fn(Handle) -> Code;
type GetSize = unsafe extern "C" fn(Handle, *mut usize) -> Code;
type GetBytes = unsafe extern "C" fn(Handle, *mut c_void) -> Code;

/// A size and the bytes of that size.
#[derive(Clone, Copy)]
struct Getter {
    call: &'static str,
    size: GetSize,
    bytes: GetBytes,
}

/// The entry points of one nvJitLink; signatures as in nvJitLink.h 12.0 to 13.5.
struct EntryPoints {
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Code,
    destroy: unsafe extern "C" fn(*mut Handle) -> Code,
    add_data: AddData,
    complete: OnHandle,
    linked_cubin: Getter,
    linked_ptx: Getter,
    linked_ltoir: Option<Getter>,
    error_log: Getter,
    info_log: Getter,
}

/// One opened nvJitLink: its facts and its table of entry points, filled from its own handle only. It is never closed.
pub struct NvJitLink {
    facts: LibraryFacts,
    path_for_c: CString,
    has_version_entry: bool,
    entry_points: EntryPoints,
}

static OPENED: Published<PathBuf, NvJitLink> = Published::new();

/// Searches for an nvJitLink that can be used; see [`library::search`].
pub fn find(explicit: Option<&Path>, environment: &SearchEnvironment) -> Search<&'static NvJitLink> {
    library::search(explicit, environment, NvJitLink::open)
}

/// The other libraries that the search would come to after `first`, each once.
pub fn all(environment: &SearchEnvironment, first: &NvJitLink) -> Vec<&'static LibraryFacts> {
    let mut found: Vec<&'static LibraryFacts> = Vec::new();
    // The search goes on for as long as it is given reasons.
    let _: Search<()> = library::search(None, environment, |path| {
        let facts = NvJitLink::open(path)?.facts();
        if facts.path != first.facts.path && !found.iter().any(|other| other.path == facts.path) {
            found.push(facts);
        }
        Err("looked at".to_owned())
    });
    found
}

impl NvJitLink {
    /// Opens the nvJitLink at an absolute path, or the one that the system's loader has under a bare name; each file once.
    pub(crate) fn open(path: &Path) -> Result<&'static Self, Reason> {
        // SAFETY: the file is named as nvJitLink, by the caller or by its own name in a folder of the search.
        let (file, _opened_by_name) = unsafe { library::resolve(path, &["nvJitLinkCreate", "__nvJitLinkCreate_12_0"]) }?;
        OPENED.get_or_try_build(file, |path| {
            // SAFETY: as above.
            let library = unsafe { library::open(path) }?;
            let symbols = Symbols::new(&library, "nvJitLink");
            // A library that is refused here is closed again: the loader would go on to answer its path with it, even
            // when another file is there. Nothing of it has been called.
            // SAFETY: each type is the C signature in nvJitLink.h of that entry point.
            let (entry_points, version_entry) = unsafe { (EntryPoints::fill(&symbols)?, symbols.optional("Version")) };
            let version = match version_entry {
                Some(version) => Some(version_of(version)?),
                None => symbols.highest_suffix("Create"),
            };
            let facts = LibraryFacts::nvjitlink(path.clone(), version, entry_points.linked_ltoir.is_some());
            std::mem::forget(library);
            Ok(Self { facts, path_for_c: c_string(&path.to_string_lossy()), has_version_entry: version_entry.is_some(), entry_points })
        })
    }

    /// What the policy has to know about it.
    pub fn facts(&self) -> &LibraryFacts {
        &self.facts
    }

    /// The file, absolute and without links, for a C caller.
    pub fn path_for_c(&self) -> &CStr {
        &self.path_for_c
    }

    /// Whether it exports the functions that give linked LTO-IR.
    pub fn exports_linked_ltoir(&self) -> bool {
        self.entry_points.linked_ltoir.is_some()
    }

    /// Whether it exports `nvJitLinkVersion`. 12.0 to 12.2 do not; their version is read from the suffixes of their names.
    pub fn has_version_entry(&self) -> bool {
        self.has_version_entry
    }
}

impl EntryPoints {
    /// All or nothing.
    ///
    /// # Safety
    /// The library is an nvJitLink: its entry points have the signatures of nvJitLink.h.
    unsafe fn fill(symbols: &Symbols<'_>) -> Result<Self, Reason> {
        // SAFETY: as the caller promises.
        unsafe {
            let getter =
                |call, size, bytes| Ok::<_, Reason>(Getter { call, size: symbols.required(size)?, bytes: symbols.required(bytes)? });
            Ok(Self {
                create: symbols.required("Create")?,
                destroy: symbols.required("Destroy")?,
                add_data: symbols.required("AddData")?,
                complete: symbols.required("Complete")?,
                linked_cubin: getter("nvJitLinkGetLinkedCubin", "GetLinkedCubinSize", "GetLinkedCubin")?,
                linked_ptx: getter("nvJitLinkGetLinkedPtx", "GetLinkedPtxSize", "GetLinkedPtx")?,
                linked_ltoir: getter("nvJitLinkGetLinkedLTOIR", "GetLinkedLTOIRSize", "GetLinkedLTOIR").ok(),
                error_log: getter("nvJitLinkGetErrorLog", "GetErrorLogSize", "GetErrorLog")?,
                info_log: getter("nvJitLinkGetInfoLog", "GetInfoLogSize", "GetInfoLog")?,
            })
        }
    }
}

fn version_of(version: unsafe extern "C" fn(*mut u32, *mut u32) -> Code) -> Result<Version, Reason> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: nvJitLinkVersion writes two unsigned ints.
    let code = unsafe { version(&mut major, &mut minor) };
    // The toolkit has a stub to link programs against, which answers an error to everything.
    if code == 0 { Ok(Version::new(major, minor)) } else { Err(format!("does not tell its version: nvJitLinkVersion answered {code}")) }
}
