//! The CUDA driver as a backend: its cuLink functions.

mod answer;
mod link;

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute, CUlinkState, CUresult};
use serde::Serialize;

use super::library::{self, Reason};
use super::published::Published;
use super::symbols::Symbols;
use crate::c_string::c_string;
use crate::error::{BackendAnswer, Error, Result, ResultClass};
use crate::policy::{LibraryFacts, Version};

/// The SONAME under which NVIDIA's driver installs itself. The system's loader knows where.
const LIBRARY_NAME: &str = "libcuda.so.1";

/// A `CUresult`. A newer driver may answer what an enum of ours does not have.
type Code = i32;

/// The entry points of the driver; signatures as in cuda.h 12.0. Where a name has a version, it is the one that cuda.h gives the plain
/// name, and has been since CUDA 11 or before. So `cuGetProcAddress`, which chooses between versions, has nothing to choose.
struct EntryPoints {
    init: unsafe extern "C" fn(c_uint) -> Code,
    error_name: unsafe extern "C" fn(Code, *mut *const c_char) -> Code,
    device_count: unsafe extern "C" fn(*mut i32) -> Code,
    device_get: unsafe extern "C" fn(*mut CUdevice, i32) -> Code,
    device_name: unsafe extern "C" fn(*mut c_char, i32, CUdevice) -> Code,
    device_attribute: unsafe extern "C" fn(*mut i32, u32, CUdevice) -> Code,
    primary_context_retain: unsafe extern "C" fn(*mut CUcontext, CUdevice) -> Code,
    primary_context_release: unsafe extern "C" fn(CUdevice) -> Code,
    context_current: unsafe extern "C" fn(*mut CUcontext) -> Code,
    context_push: unsafe extern "C" fn(CUcontext) -> Code,
    context_pop: unsafe extern "C" fn(*mut CUcontext) -> Code,
    link_create: unsafe extern "C" fn(c_uint, *mut u32, *mut *mut c_void, *mut CUlinkState) -> Code,
    link_add_data: unsafe extern "C" fn(CUlinkState, u32, *mut c_void, usize, *const c_char, c_uint, *mut u32, *mut *mut c_void) -> Code,
    link_complete: unsafe extern "C" fn(CUlinkState, *mut *mut c_void, *mut usize) -> Code,
    link_destroy: unsafe extern "C" fn(CUlinkState) -> Code,
}

/// The opened driver: its facts and its table of entry points. It is never closed.
pub struct Driver {
    facts: LibraryFacts,
    path_for_c: CString,
    entry_points: EntryPoints,
    /// The process that has called `cuInit` first; 0 for none. The driver does not work in a child of it.
    belongs_to: AtomicU32,
    /// The process in which `cuInit` has succeeded; 0 for none.
    initialized_in: AtomicU32,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its architecture, such as "sm_90".
    pub arch: String,
}

static OPENED: Published<PathBuf, Driver> = Published::new();

impl Driver {
    /// The driver that the system's loader has. It is opened, and nothing of it is initialised.
    ///
    /// Fails with driver_not_found. The toolkit's stub, which is there to link programs against, is not taken for a driver.
    pub fn find() -> Result<&'static Self> {
        Self::open().map_err(|reason| {
            let error = Error::new(ResultClass::DriverNotFound, format!("no CUDA driver was found: {LIBRARY_NAME}: {reason}"));
            error.hint("install NVIDIA's driver; in a container, run it with access to the GPU")
        })
    }

    /// The driver, for a remark about it: looked for once in the life of the process, since that costs a good part of a small link.
    pub fn for_remarks() -> Option<&'static Self> {
        static LOOKED_FOR: OnceLock<Option<&'static Driver>> = OnceLock::new();
        *LOOKED_FOR.get_or_init(|| Self::find().ok())
    }

    fn open() -> std::result::Result<&'static Self, Reason> {
        // SAFETY: the SONAME is the driver's, and the system's loader is trusted with it.
        let (file, opened_by_name) = unsafe { library::resolve(Path::new(LIBRARY_NAME), &["cuInit"]) }?;
        OPENED.get_or_try_build(file, |path| {
            let library = opened_by_name.ok_or("the loader did not open it")?;
            let symbols = Symbols::new(&library, "cu");
            // SAFETY: each type is the C signature in cuda.h of that entry point.
            let (entry_points, driver_version) = unsafe { (EntryPoints::fill(&symbols)?, symbols.exactly("DriverGetVersion")?) };
            let version = version_of(driver_version).map_err(|reason| format!("{}: {reason}", path.display()))?;
            let facts = LibraryFacts::driver(path.clone(), version);
            std::mem::forget(library);
            Ok(Self {
                facts,
                path_for_c: c_string(&path.to_string_lossy()),
                entry_points,
                belongs_to: AtomicU32::new(0),
                initialized_in: AtomicU32::new(0),
            })
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

    /// The GPUs that this process may use. The driver is initialised for it; no context is made.
    ///
    /// Fails with driver_error.
    pub fn devices(&self) -> Result<Vec<Device>> {
        self.initialize()?;
        let mut count = 0;
        // SAFETY: the driver is initialised, and `count` is writable.
        self.check("cuDeviceGetCount", unsafe { (self.entry_points.device_count)(&mut count) })?;
        (0..count).map(|ordinal| self.device(ordinal)).collect()
    }

    fn device(&self, ordinal: i32) -> Result<Device> {
        let device = self.device_handle(ordinal)?;
        let mut name = [0_u8; 256];
        // SAFETY: the device is the driver's, and `name` has as many bytes as are told.
        let code = unsafe { (self.entry_points.device_name)(name.as_mut_ptr().cast(), 256, device) };
        self.check("cuDeviceGetName", code)?;
        let attribute = |attribute: CUdevice_attribute| {
            let mut value = 0;
            // SAFETY: as above, and `value` is writable.
            let code = unsafe { (self.entry_points.device_attribute)(&mut value, attribute as u32, device) };
            self.check("cuDeviceGetAttribute", code).map(|()| value)
        };
        let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(Device { name: super::log_text(&name), arch: format!("sm_{major}{minor}") })
    }

    fn device_handle(&self, ordinal: i32) -> Result<CUdevice> {
        let mut device = 0;
        // SAFETY: the driver is initialised, and `device` is writable.
        self.check("cuDeviceGet", unsafe { (self.entry_points.device_get)(&mut device, ordinal) })?;
        Ok(device)
    }

    /// Initialises the driver, which it may be already.
    ///
    /// Fails with driver_error, also in a child of the process that initialised it: CUDA does not work there, and some of its calls hang.
    fn initialize(&self) -> Result<()> {
        let process = process::id();
        if self.initialized_in.load(Ordering::Relaxed) == process {
            return Ok(());
        }
        let forked = |error: Error| error.hint("CUDA does not work in a process forked after its parent used it: start a new one instead");
        // Noted before cuInit is called, since a child must not call it either while a thread of its parent is in it.
        match self.belongs_to.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
            Err(owner) if owner != process => {
                let text = format!("{}: this process was forked after its parent used the driver", self.facts.describe());
                return Err(forked(Error::new(ResultClass::DriverError, text)));
            }
            _ => {}
        }
        // SAFETY: cuInit may be called by any thread at any time. Where a parent used CUDA without us, it answers that it is not initialised.
        let code = unsafe { (self.entry_points.init)(0) };
        self.check("cuInit", code).map_err(|error| if code == NOT_INITIALIZED { forked(error) } else { error })?;
        self.initialized_in.store(process, Ordering::Relaxed);
        Ok(())
    }

    /// Fails with driver_error unless `code` is success.
    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS { Ok(()) } else { Err(self.error(None, BackendAnswer { call, code, text: String::new() })) }
    }

    fn error(&self, input: Option<&str>, answer: BackendAnswer) -> Error {
        let name = self.name_of(answer.code);
        answer::error(&self.facts, input, answer, &name)
    }

    fn name_of(&self, code: Code) -> String {
        let mut name = ptr::null();
        // SAFETY: `name` is writable; what it is set to is static, or NULL for a number that is no result.
        let known = unsafe { (self.entry_points.error_name)(code, &mut name) } == SUCCESS && !name.is_null();
        // SAFETY: as above.
        if known { unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned() } else { String::new() }
    }
}

const SUCCESS: Code = CUresult::CUDA_SUCCESS as Code;
const NOT_INITIALIZED: Code = CUresult::CUDA_ERROR_NOT_INITIALIZED as Code;
/// What every function of the toolkit's stub answers.
const STUB_LIBRARY: Code = CUresult::CUDA_ERROR_STUB_LIBRARY as Code;

impl EntryPoints {
    /// All or nothing.
    ///
    /// # Safety
    /// The library is a CUDA driver: its entry points have the signatures of cuda.h.
    unsafe fn fill(symbols: &Symbols<'_>) -> std::result::Result<Self, Reason> {
        // SAFETY: as the caller promises.
        unsafe {
            Ok(Self {
                init: symbols.exactly("Init")?,
                error_name: symbols.exactly("GetErrorName")?,
                device_count: symbols.exactly("DeviceGetCount")?,
                device_get: symbols.exactly("DeviceGet")?,
                device_name: symbols.exactly("DeviceGetName")?,
                device_attribute: symbols.exactly("DeviceGetAttribute")?,
                primary_context_retain: symbols.exactly("DevicePrimaryCtxRetain")?,
                primary_context_release: symbols.exactly("DevicePrimaryCtxRelease_v2")?,
                context_current: symbols.exactly("CtxGetCurrent")?,
                context_push: symbols.exactly("CtxPushCurrent_v2")?,
                context_pop: symbols.exactly("CtxPopCurrent_v2")?,
                link_create: symbols.exactly("LinkCreate_v2")?,
                link_add_data: symbols.exactly("LinkAddData_v2")?,
                link_complete: symbols.exactly("LinkComplete")?,
                link_destroy: symbols.exactly("LinkDestroy")?,
            })
        }
    }
}

/// 13000 is CUDA 13.0.
fn version_of(driver_version: unsafe extern "C" fn(*mut i32) -> Code) -> std::result::Result<Version, Reason> {
    let mut number = 0;
    // SAFETY: cuDriverGetVersion writes an int; it needs no initialised driver.
    let code = unsafe { driver_version(&mut number) };
    match u32::try_from(number) {
        _ if code == STUB_LIBRARY => Err("is the stub of the CUDA toolkit, to link programs against, and no driver".to_owned()),
        Ok(number) if code == SUCCESS && number >= 1000 => Ok(Version::new(number / 1000, number % 1000 / 10)),
        _ => Err(format!("does not tell its version: cuDriverGetVersion answered {code}")),
    }
}
