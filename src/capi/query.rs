//! Questions that need no linker.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use super::boundary::{self, guard, guard_class};
use super::linker::to_json;
use super::options::{self, CL_BACKEND_AUTO, CL_BACKEND_DRIVER, CL_BACKEND_NVJITLINK, cl_backend, cl_linker_options};
use crate::backend::driver::Driver;
use crate::backend::library::{FoundBy, SearchEnvironment};
use crate::backend::nvjitlink;
use crate::c_string::c_string;
use crate::error::{Result, ResultClass};
use crate::input;
use crate::linker::asked_backend;
use crate::policy::{LibraryFacts, choose};

/// Which library would be used, and why.
///
/// Initialise it with `CL_LIBRARY_INFO_INIT`. The strings are static.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cl_library_info {
    /// `sizeof(cl_library_info)`, set by `CL_LIBRARY_INFO_INIT`.
    pub struct_size: usize,
    /// In: where a failure's message is written, with a NUL, cut if it is longer. May be NULL.
    pub message: *mut c_char,
    /// In: the bytes at `message`.
    pub message_capacity: usize,
    /// Out: the bytes that the whole message needs, with its NUL; 1 on success.
    pub message_size: usize,
    /// Out: the file, absolute and without links. NULL on failure.
    pub path: *const c_char,
    /// Out: by which rule it was found, for a person. NULL on failure.
    pub found_by: *const c_char,
    /// Out: the CUDA release, such as 13 and 5; both 0 if the library does not say. nvJitLink 12.0 to 12.2 have no function that tells,
    /// so theirs is read from the names that they export. The driver tells the newest release that it runs.
    pub version_major: u32,
    /// Out: see `version_major`.
    pub version_minor: u32,
    /// Out: 1 if the library exports `nvJitLinkVersion`, else 0.
    pub has_version: u32,
    /// Out: 1 if the library exports `nvJitLinkGetLinkedLTOIR`, else 0. It works from 13.4 on.
    pub has_linked_ltoir: u32,
    /// Out: whose library it is, `CL_BACKEND_NVJITLINK` or `CL_BACKEND_DRIVER`. `CL_BACKEND_AUTO` on failure.
    pub backend: cl_backend,
    /// Out: 0.
    pub reserved: u32,
}

// SAFETY: repr(C), integers and pointers only, `struct_size` first.
unsafe impl boundary::VersionedStruct for cl_library_info {}

/// Says which library links: the nvJitLink that is found first, or the CUDA driver where there is none or `backend` asks for it. The library is
/// searched for and opened; nothing is linked or initialised.
///
/// Of the options `backend` and `library_path` count. A link takes a later nvJitLink of the search, or the driver, where the first cannot do what
/// is asked, and says so in its plan. The driver is `libcuda.so.1` of the system's loader.
///
/// The search for nvJitLink takes the first of these that can be used: `library_path` of the options; the variable `CUDALINK_NVJITLINK`;
/// an NVIDIA wheel in the site-packages that libcudalink itself is in; one in `$VIRTUAL_ENV`; `$CONDA_PREFIX`; `$CUDA_PATH`;
/// `$CUDA_HOME`; the system's loader; `/usr/local/cuda`; `/opt/cuda`. In each place it looks for `libnvJitLink.so.13`,
/// `libnvJitLink.so.12` and `libnvJitLink.so`. The first two are never passed over: what they name is used or is an error.
/// A library is opened once, by its absolute path, for itself only (`RTLD_LOCAL`), and never closed.
///
/// `options` may be NULL. Results: `CL_RESULT_NULL_ARGUMENT` (`info_out`), `..._BAD_STRUCT_SIZE`, `..._LIBRARY_NOT_FOUND` (the message lists every
/// place tried), `..._LIBRARY_UNUSABLE` (the message keeps the loader's reason), `..._DRIVER_NOT_FOUND`, and those of `cl_linker_create`. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_library_query(options: *const cl_linker_options, info_out: *mut cl_library_info) -> ResultClass {
    guard_class(|| {
        // SAFETY: by the header's contract for `info_out`.
        let asked = unsafe { boundary::read_struct(info_out, "info_out") }?;
        let empty = cl_library_info {
            path: ptr::null(),
            found_by: ptr::null(),
            version_major: 0,
            version_minor: 0,
            has_version: 0,
            has_linked_ltoir: 0,
            backend: CL_BACKEND_AUTO,
            reserved: 0,
            ..asked
        };
        // SAFETY: by the header's contract for `options`.
        let found = guard(|| unsafe { find(options, empty) }).and_then(|result| result);
        let message = found.as_ref().map_or_else(|error| c_string(&error.to_string()), |_| CString::default());
        let message = message.to_str().unwrap_or_default();
        let info = cl_library_info { message_size: message.len() + 1, ..*found.as_ref().unwrap_or(&empty) };
        if !asked.message.is_null() && asked.message_capacity > 0 {
            let cut = message.floor_char_boundary(asked.message_capacity - 1);
            // SAFETY: `message` has `message_capacity` writable bytes, by the header's contract.
            unsafe {
                ptr::copy_nonoverlapping(message.as_ptr(), asked.message.cast(), cut);
                asked.message.add(cut).write(0);
            }
        }
        // SAFETY: by the header's contract for `info_out`.
        unsafe { boundary::write_struct(info_out, &info) }?;
        found.map(|_| ())
    })
}

/// # Safety
/// `options` is NULL or as the header says.
unsafe fn find(options: *const cl_linker_options, empty: cl_library_info) -> Result<cl_library_info> {
    // SAFETY: as the caller promises.
    let options = unsafe { options::read(options) }?;
    let environment = SearchEnvironment::of_process();
    let (asked, _) = asked_backend(&options, &environment)?;
    let info = |facts: &LibraryFacts, path: &'static CStr, found_by: FoundBy| cl_library_info {
        path: path.as_ptr(),
        found_by: found_by.describe().as_ptr(),
        version_major: facts.version.map_or(0, |version| version.major),
        version_minor: facts.version.map_or(0, |version| version.minor),
        ..empty
    };
    let nvjitlink = || {
        let (library, found_by) = nvjitlink::find(options.library_path.as_deref(), &environment).found?;
        Ok(cl_library_info {
            has_version: library.has_version_entry().into(),
            has_linked_ltoir: library.exports_linked_ltoir().into(),
            backend: CL_BACKEND_NVJITLINK,
            ..info(library.facts(), library.path_for_c(), found_by)
        })
    };
    let driver = || {
        let driver = Driver::find()?;
        Ok(cl_library_info { backend: CL_BACKEND_DRIVER, ..info(driver.facts(), driver.path_for_c(), FoundBy::Loader) })
    };
    choose(asked, nvjitlink, driver).map(|(info, _)| info)
}

/// Describes an input as one JSON object:
///
/// - `name`; `kind`: "cubin", "ptx", "ltoir", "fatbin", "object", "library" or null; `size` in bytes; `has_ltoir`
/// - `members`, the names of an archive's members that have device code
/// - `parts`, every piece of device code in the order of the input: `kind`; `arch`, such as "sm_90a"; `cuda`, the release that made it, or the
///   oldest that can read it; `relocatable`; `compressed`: "stored", "lz4" or "zstd"; `offset`, `size` and `unpacked_size` in bytes; `member`,
///   the index in `members` of the one that it is in; `section` of a host object. What is not known is null.
/// - `warnings`, sentences; `result` and `message`, which say why it cannot be linked
///
/// `data` is only read during the call. `name` may be NULL. Sizes and buffers as for `cl_linker_get_log`. What cannot be linked is described
/// as well as what can, so the call succeeds for damaged input too.
///
/// Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT`, `..._BUFFER_TOO_SMALL`. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cl_input_describe(
    data: *const c_void,
    size: usize,
    name: *const c_char,
    buffer: *mut c_char,
    capacity: usize,
    size_out: *mut usize,
) -> ResultClass {
    if !size_out.is_null() {
        // SAFETY: by the header's contract for `size_out`.
        unsafe { size_out.write(0) };
    }
    guard_class(|| {
        // SAFETY: by the header's contract for each.
        unsafe {
            let bytes = boundary::bytes(data.cast(), size, "data")?;
            let name = boundary::text(name, "name")?.unwrap_or("input");
            boundary::give_text(&to_json(&input::describe(bytes, name, &mut |_| None))?, buffer, capacity, size_out)
        }
    })
}

/// The name of a result, such as "missing_arch"; "unknown" for a number that is none. Static; never NULL. Any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn cl_result_string(result: i32) -> *const c_char {
    ResultClass::name_of(result).unwrap_or(c"unknown").as_ptr()
}
