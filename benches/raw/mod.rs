//! The raw library, called as a C caller would.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::path::Path;

use libloading::Library;

/// An nvJitLink with plain names, as 12.3 and later have.
pub struct Raw(Library);

type Handle = *mut c_void;

impl Raw {
    pub fn open(path: &Path) -> Self {
        // SAFETY: a real nvJitLink.
        Self(unsafe { Library::new(path) }.unwrap())
    }

    /// Links to a cubin. Fails with the library's error log.
    pub fn link(&self, flags: &[&str], kind: u32, inputs: &[Vec<u8>]) -> Result<Vec<u8>, Vec<u8>> {
        let flags: Vec<CString> = flags.iter().map(|flag| CString::new(*flag).unwrap()).collect();
        let pointers: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: signatures and order of calls as in nvJitLink.h; everything that is passed lives through the call it is passed to.
        unsafe {
            let create = self.0.get::<unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> i32>(b"nvJitLinkCreate").unwrap();
            assert_eq!(create(&mut handle, pointers.len() as u32, pointers.as_ptr()), 0);
            let add = self.0.get::<unsafe extern "C" fn(Handle, u32, *const u8, usize, *const c_char) -> i32>(b"nvJitLinkAddData").unwrap();
            for input in inputs {
                let mut input = input.clone();
                input.push(0);
                let size = input.len() - usize::from(kind != 2);
                assert_eq!(add(handle, kind, input.as_ptr(), size, c"input".as_ptr()), 0);
            }
            let complete = self.0.get::<unsafe extern "C" fn(Handle) -> i32>(b"nvJitLinkComplete").unwrap();
            let linked = if complete(handle) == 0 { Ok(self.get(handle, "LinkedCubin")) } else { Err(self.get(handle, "ErrorLog")) };
            self.0.get::<unsafe extern "C" fn(*mut Handle) -> i32>(b"nvJitLinkDestroy").unwrap()(&mut handle);
            linked
        }
    }

    /// # Safety
    /// The handle is live.
    unsafe fn get(&self, handle: Handle, what: &str) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: as above; a byte more, for a log of size 0 is written to as well.
        unsafe {
            let get_size = format!("nvJitLinkGet{what}Size");
            assert_eq!(self.0.get::<unsafe extern "C" fn(Handle, *mut usize) -> i32>(get_size).unwrap()(handle, &mut size), 0);
            let mut bytes = vec![0; size + 1];
            let get = self.0.get::<unsafe extern "C" fn(Handle, *mut u8) -> i32>(format!("nvJitLinkGet{what}")).unwrap();
            assert_eq!(get(handle, bytes.as_mut_ptr()), 0);
            bytes.truncate(size);
            bytes
        }
    }
}
