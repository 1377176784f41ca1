//! Finding an nvJitLink and opening it.

use std::ffi::{CStr, OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use serde::Serialize;

use crate::error::{Error, Result, ResultClass};

/// The variable that names the nvJitLink to use.
pub const LIBRARY_VARIABLE: &str = "CUDALINK_NVJITLINK";

/// The variable that says which backend links where the options leave it open.
pub const BACKEND_VARIABLE: &str = "CUDALINK_BACKEND";

/// The names under which nvJitLink is installed, the first that is there is taken.
pub const LIBRARY_NAMES: [&str; 3] = ["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"];

/// By which rule a library was found. The order is the order of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// The option `library_path`.
    Option,
    /// The environment variable `CUDALINK_NVJITLINK`.
    Variable,
    /// An NVIDIA wheel in the site-packages that libcudalink itself is in.
    SitePackages,
    /// An NVIDIA wheel in `$VIRTUAL_ENV`.
    VirtualEnv,
    /// `$CONDA_PREFIX`.
    Conda,
    /// `$CUDA_PATH`.
    CudaPath,
    /// `$CUDA_HOME`.
    CudaHome,
    /// The system's loader: `LD_LIBRARY_PATH` and its cache.
    Loader,
    /// `/usr/local/cuda` or `/opt/cuda`.
    DefaultRoot,
}

impl FoundBy {
    /// For a person: where the library comes from.
    pub fn describe(self) -> &'static CStr {
        match self {
            Self::Option => c"the option library_path",
            Self::Variable => c"the variable CUDALINK_NVJITLINK",
            Self::SitePackages => c"the site-packages of libcudalink",
            Self::VirtualEnv => c"$VIRTUAL_ENV",
            Self::Conda => c"$CONDA_PREFIX",
            Self::CudaPath => c"$CUDA_PATH",
            Self::CudaHome => c"$CUDA_HOME",
            Self::Loader => c"the system's loader",
            Self::DefaultRoot => c"the default folder of the CUDA toolkit",
        }
    }
}

/// What the search depends on, as a value.
#[derive(Clone, Debug, Default)]
pub struct SearchEnvironment {
    /// `CUDALINK_NVJITLINK`
    pub variable: Option<OsString>,
    /// `CUDALINK_BACKEND`
    pub backend: Option<OsString>,
    /// The file that this code was loaded from.
    pub own_file: Option<PathBuf>,
    /// `VIRTUAL_ENV`
    pub virtual_env: Option<OsString>,
    /// `CONDA_PREFIX`
    pub conda_prefix: Option<OsString>,
    /// `CUDA_PATH`
    pub cuda_path: Option<OsString>,
    /// `CUDA_HOME`
    pub cuda_home: Option<OsString>,
    /// `LD_LIBRARY_PATH`
    pub ld_library_path: Option<OsString>,
    /// Whether the system's loader may be asked by name.
    pub ask_loader: bool,
    /// Where toolkits are installed by default.
    pub default_roots: Vec<PathBuf>,
}

impl SearchEnvironment {
    /// The environment of this process. A variable that is empty counts as not set.
    pub fn of_process() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            variable: variable(LIBRARY_VARIABLE),
            backend: variable(BACKEND_VARIABLE),
            own_file: own_file(),
            virtual_env: variable("VIRTUAL_ENV"),
            conda_prefix: variable("CONDA_PREFIX"),
            cuda_path: variable("CUDA_PATH"),
            cuda_home: variable("CUDA_HOME"),
            ld_library_path: variable("LD_LIBRARY_PATH"),
            ask_loader: true,
            default_roots: vec!["/usr/local/cuda".into(), "/opt/cuda".into()],
        }
    }
}

/// A place that was searched, and why nothing there is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The rule by which the place was searched.
    pub found_by: FoundBy,
    /// A file, a folder, or a name that the loader was asked for.
    pub place: String,
    /// Why it is not used.
    pub reason: String,
}

/// What a search came to.
pub struct Search<T> {
    /// The first library that could be used, or library_not_found or library_unusable.
    pub found: Result<(T, FoundBy)>,
    /// The places before it, in the order of the search.
    pub tried: Vec<Tried>,
}

/// Why a file cannot be used, in words that follow its name and a colon.
pub type Reason = String;

/// Searches, and gives what `open` gives for the first library that it accepts.
///
/// `open` gets an absolute path, or a bare name where the system's loader is asked. A library named by `explicit` or by
/// the environment's variable is the only one looked at, and fails with library_unusable; else library_not_found lists
/// every place tried.
pub fn search<T>(
    explicit: Option<&Path>,
    environment: &SearchEnvironment,
    mut open: impl FnMut(&Path) -> std::result::Result<T, Reason>,
) -> Search<T> {
    let variable = environment.variable.as_deref().map(Path::new);
    if let Some((path, found_by)) = explicit.map(|path| (path, FoundBy::Option)).or(variable.map(|path| (path, FoundBy::Variable))) {
        let absolute = std::path::absolute(path).map_err(|error| error.to_string());
        let found = absolute.and_then(|path| open(&path)).map(|opened| (opened, found_by)).map_err(|reason| {
            let text = format!("{}, named by {}, cannot be used: {reason}", path.display(), found_by.describe().to_string_lossy());
            Error::new(ResultClass::LibraryUnusable, text)
        });
        return Search { found, tried: Vec::new() };
    }
    let mut tried = Vec::new();
    for (found_by, place) in places(environment) {
        let candidates: Vec<PathBuf> = match &place {
            Place::Folder(folder) => LIBRARY_NAMES.iter().map(|name| folder.join(name)).filter(|file| file.exists()).collect(),
            Place::Loader => LIBRARY_NAMES.iter().map(PathBuf::from).collect(),
            Place::NotSet(_) => Vec::new(),
        };
        if candidates.is_empty() {
            let (place, reason) = match place {
                Place::NotSet(reason) => (found_by.describe().to_string_lossy().into_owned(), reason.to_owned()),
                Place::Folder(folder) => (folder.display().to_string(), format!("has no {}", LIBRARY_NAMES.join(", "))),
                Place::Loader => continue,
            };
            tried.push(Tried { found_by, place, reason });
        }
        for candidate in candidates {
            match open(&candidate) {
                Ok(opened) => return Search { found: Ok((opened, found_by)), tried },
                Err(reason) => tried.push(Tried { found_by, place: candidate.display().to_string(), reason }),
            }
        }
    }
    let list: String = tried.iter().map(|tried| format!("\n  {}: {}", tried.place, tried.reason)).collect();
    let error = Error::new(ResultClass::LibraryNotFound, format!("no nvJitLink was found; tried, in this order:{list}"))
        .hint(format!("install the wheel nvidia-nvjitlink, or name the library with library_path or {LIBRARY_VARIABLE}"));
    Search { found: Err(error), tried }
}

enum Place {
    Folder(PathBuf),
    Loader,
    NotSet(&'static str),
}

fn places(environment: &SearchEnvironment) -> Vec<(FoundBy, Place)> {
    let mut places = Vec::new();
    let mut add = |found_by, folders: Option<Vec<PathBuf>>, otherwise| match folders {
        Some(folders) if !folders.is_empty() => {
            places.extend(folders.into_iter().map(|folder| (found_by, Place::Folder(std::path::absolute(&folder).unwrap_or(folder)))))
        }
        _ => places.push((found_by, Place::NotSet(otherwise))),
    };
    let site = environment.own_file.as_deref().and_then(site_packages_of).map(|site| wheel_folders(&site));
    add(FoundBy::SitePackages, site, "libcudalink is not in one");
    let venv = environment
        .virtual_env
        .as_deref()
        .map(|root| virtual_env_sites(Path::new(root)).iter().flat_map(|site| wheel_folders(site)).collect());
    add(FoundBy::VirtualEnv, venv, "not set, or has no site-packages");
    add(FoundBy::Conda, environment.conda_prefix.as_deref().map(toolkit_folders), "not set");
    add(FoundBy::CudaPath, environment.cuda_path.as_deref().map(toolkit_folders), "not set");
    add(FoundBy::CudaHome, environment.cuda_home.as_deref().map(toolkit_folders), "not set");
    // The loader answers a bare name with whatever library of that SONAME the process has opened before, so the
    // folders that it would search first are looked at by path.
    let loader =
        environment.ld_library_path.as_deref().map(|list| std::env::split_paths(list).filter(|folder| folder.is_absolute()).collect());
    add(FoundBy::Loader, loader, "LD_LIBRARY_PATH is not set");
    if environment.ask_loader {
        places.push((FoundBy::Loader, Place::Loader));
    }
    places.extend(
        environment
            .default_roots
            .iter()
            .flat_map(|root| toolkit_folders(root.as_os_str()))
            .map(|folder| (FoundBy::DefaultRoot, Place::Folder(folder))),
    );
    places
}

fn wheel_folders(site_packages: &Path) -> Vec<PathBuf> {
    ["nvidia/cu13/lib", "nvidia/nvjitlink/lib"].iter().map(|folder| site_packages.join(folder)).collect()
}

fn site_packages_of(file: &Path) -> Option<PathBuf> {
    let is_site = |folder: &&Path| matches!(folder.file_name().and_then(OsStr::to_str), Some("site-packages" | "dist-packages"));
    file.ancestors().find(is_site).map(Path::to_owned)
}

fn virtual_env_sites(root: &Path) -> Vec<PathBuf> {
    sorted_entries(&root.join("lib")).into_iter().map(|python| python.join("site-packages")).filter(|site| site.is_dir()).collect()
}

fn toolkit_folders(root: &OsStr) -> Vec<PathBuf> {
    let root = Path::new(root);
    let targets = sorted_entries(&root.join("targets")).into_iter().map(|target| target.join("lib"));
    [root.join("lib64"), root.join("lib")].into_iter().chain(targets).collect()
}

/// Sorted, so that the search does not depend on the file system's order.
fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// The file behind an absolute path, without links, or behind a bare name that the system's loader is asked for. To
/// answer for a name the loader opens the library, which is given too; it exports one of `known_symbols`.
///
/// # Safety
/// For a bare name the library's constructors run; the caller trusts the loader's files.
pub(super) unsafe fn resolve(path: &Path, known_symbols: &[&str]) -> std::result::Result<(PathBuf, Option<Library>), Reason> {
    let (file, opened) = if path.is_absolute() {
        (path.to_owned(), None)
    } else {
        // SAFETY: as the caller promises.
        let library = unsafe { open(path) }?;
        // SAFETY: only the address is used.
        let address = |name: &&str| unsafe { library.get::<*const ()>(name.as_bytes()) }.ok().map(|symbol| *symbol);
        let symbol = known_symbols.iter().find_map(address);
        let file = symbol.and_then(file_at).ok_or_else(|| format!("what the loader found exports no {}", known_symbols.join(" or ")))?;
        (file, Some(library))
    };
    fs::canonicalize(file).map(|file| (file, opened)).map_err(|error| error.to_string())
}

/// The machine that this code runs on.
const HOST_MACHINE: elf::Machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

/// What the system's loader does not tell: it calls a library for another machine missing, and opening one that was cut
/// short ends the process with SIGBUS. Everything else is left to the loader.
fn check(file: &Path) -> std::result::Result<(), Reason> {
    let opened = fs::File::open(file).map_err(|error| error.to_string())?;
    let size = opened.metadata().map_err(|error| error.to_string())?.len();
    let data = &object::ReadCache::new(opened);
    let Ok(header) = FileHeader64::<Endianness>::parse(data) else { return Ok(()) };
    let Ok(endian) = header.endian() else { return Ok(()) };
    let machine = header.e_machine(endian);
    if machine != HOST_MACHINE {
        return Err(format!("is for another machine, number {} in ELF", machine.0));
    }
    let segments = header.program_headers(endian, data).map_err(|_| "is cut short".to_owned())?;
    let end = |segment: &elf::ProgramHeader64<Endianness>| segment.p_offset(endian).saturating_add(segment.p_filesz(endian));
    let needed = segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD).map(end).max().unwrap_or(0);
    if size < needed {
        return Err(format!("is cut short: it has {size} bytes and needs at least {needed}"));
    }
    Ok(())
}

/// Opens a library. Local: its symbols do not disturb what others loaded, nor theirs ours. Whoever uses it never closes it.
///
/// # Safety
/// The library's constructors run; the caller trusts the file.
pub(super) unsafe fn open(path: &Path) -> std::result::Result<Library, Reason> {
    if path.is_absolute() {
        check(path)?;
    }
    // SAFETY: as the caller promises.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), |source| source.to_string());
        reason.strip_prefix(&format!("{}: ", path.display())).map_or(reason.clone(), str::to_owned)
    })
}

fn own_file() -> Option<PathBuf> {
    file_at(own_file as *const ()).and_then(|file| fs::canonicalize(file).ok())
}

/// The loaded file that an address belongs to.
fn file_at(address: *const ()) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr reads no memory at `address` and fills `info`.
    let known = unsafe { libc::dladdr(address.cast(), info.as_mut_ptr()) } != 0;
    // SAFETY: zeroed, and perhaps filled: both are valid values.
    let name = unsafe { info.assume_init() }.dli_fname;
    if !known || name.is_null() {
        return None;
    }
    // SAFETY: a C string that lives as long as the file is loaded.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
