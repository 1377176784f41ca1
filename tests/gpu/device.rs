//! The GPU, and kernels on it.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudalink::backend::driver::Driver;
use cudarc::driver::sys::{CUcontext, CUdeviceptr, CUfunction, CUfunction_attribute, CUmodule};
use cudarc::driver::{CudaContext, DriverError, result};

/// The first GPU, with its primary context.
pub struct Gpu {
    context: Arc<CudaContext>,
    arch: String,
    driver: &'static Driver,
}

impl Gpu {
    /// The first GPU. A test that needs one was asked for, so it fails where there is none, and says why there is none.
    pub fn first() -> Self {
        let driver = Driver::find().unwrap_or_else(|error| panic!("there is no GPU to run on: {error}"));
        let devices = driver.devices().unwrap_or_else(|error| panic!("there is no GPU to run on: {error}"));
        let device = devices.first().expect("there is no GPU to run on: the CUDA driver has none");
        // Made on a thread of its own, so that the test's thread has no context yet.
        let context = std::thread::spawn(|| CudaContext::new(0)).join().unwrap().unwrap();
        Self { context, arch: device.arch.clone(), driver }
    }

    /// Such as "sm_90".
    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// The newest CUDA release that the driver runs.
    pub fn driver_version(&self) -> (u32, u32) {
        let version = self.driver.facts().version.unwrap();
        (version.major, version.minor)
    }

    /// The primary context.
    pub fn context(&self) -> CUcontext {
        self.context.cu_ctx()
    }

    /// Loads a cubin. The context becomes current.
    pub fn load(&self, cubin: &[u8]) -> Result<Module<'_>, String> {
        self.context.bind_to_thread().map_err(told("cuCtxSetCurrent"))?;
        // SAFETY: a whole cubin: the crate has looked at it.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast()) }.map_err(told("cuModuleLoadData"))?;
        Ok(Module { gpu: self, module })
    }
}

/// A loaded cubin.
pub struct Module<'a> {
    gpu: &'a Gpu,
    module: CUmodule,
}

impl Module<'_> {
    pub fn kernel(&self, name: &str) -> Result<Kernel<'_>, String> {
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.module, CString::new(name).unwrap()) };
        Ok(Kernel { module: self, function: function.map_err(told("cuModuleGetFunction"))? })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        let _ = self.gpu.context.bind_to_thread();
        // SAFETY: loaded, and no kernel of it runs: each is waited for.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// A kernel of a module.
pub struct Kernel<'a> {
    module: &'a Module<'a>,
    function: CUfunction,
}

impl Kernel<'_> {
    /// Registers of a thread.
    pub fn registers(&self) -> i32 {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
        // SAFETY: the function lives as long as the module.
        unsafe { result::function::get_function_attribute(self.function, attribute) }.unwrap()
    }

    /// What a `kernel(int *out, int value)` writes.
    pub fn answer(&self, value: i32) -> Result<i32, String> {
        // Something that no kernel writes by chance.
        let mut out = [0x5EED_5EED_i32];
        self.launch(&mut out, &mut [ptr::from_ref(&value).cast_mut().cast()])?;
        Ok(out[0])
    }

    /// One thread of a kernel whose first parameter is `data` on the GPU, which is copied there and back.
    pub fn launch<T: Copy>(&self, data: &mut [T], more: &mut [*mut c_void]) -> Result<(), String> {
        self.module.gpu.context.bind_to_thread().map_err(told("cuCtxSetCurrent"))?;
        // SAFETY: a context is current.
        let memory = unsafe { result::malloc_sync(size_of_val(data)) }.map_err(told("cuMemAlloc"))?;
        let outcome = self.launch_on(memory, data, more);
        // SAFETY: allocated above; the copy back has waited for the kernel.
        unsafe { result::free_sync(memory) }.map_err(told("cuMemFree"))?;
        outcome
    }

    fn launch_on<T: Copy>(&self, memory: CUdeviceptr, data: &mut [T], more: &mut [*mut c_void]) -> Result<(), String> {
        let mut parameters: Vec<*mut c_void> = vec![ptr::from_ref(&memory).cast_mut().cast()];
        parameters.extend_from_slice(more);
        let one = (1, 1, 1);
        // SAFETY: `memory` has the size of `data`; the parameters are those of the kernel, by the caller's word.
        unsafe {
            result::memcpy_htod_sync(memory, data).map_err(told("cuMemcpyHtoD"))?;
            result::launch_kernel(self.function, one, one, 0, ptr::null_mut(), &mut parameters).map_err(told("cuLaunchKernel"))?;
            result::memcpy_dtoh_sync(data, memory).map_err(told("cuMemcpyDtoH"))
        }
    }
}

fn told(call: &'static str) -> impl Fn(DriverError) -> String {
    move |error| format!("{call} answered {error}")
}
