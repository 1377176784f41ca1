//! What a link through cudalink takes, against the raw library in the same run.
//!
//! `cargo bench --bench link`

#![allow(unsafe_code)] // The raw library is called as a C caller would.

#[path = "../tests/support/mod.rs"]
#[allow(clippy::duplicate_mod)]
mod support;

use std::ffi::{CString, c_char, c_void};
use std::fs;
use std::path::Path;
use std::time::Instant;

use cudalink::{LinkOptions, Linker, OutputKind};
use libloading::Library;
use support::{fixture, nvjitlink};

const LINKS: usize = 200;

fn main() {
    println!("{:<10} {:<8} {:>12} {:>12} {:>8}", "nvJitLink", "form", "raw", "cudalink", "ratio");
    for version in ["12.9.86", "13.5.37"] {
        let path = nvjitlink(version);
        let raw = Raw::open(&path);
        for (form, kind, flags) in
            [("ptx", 2, &["-arch=sm_80"][..]), ("ltoir", 3, &["-arch=sm_80", "-lto"]), ("cubin", 1, &["-arch=sm_80"])]
        {
            let inputs = ["kernel", "helper"].map(|unit| fs::read(fixture(format!("12.4/{unit}.{form}"))).unwrap());
            let (mut ours, mut theirs) = (0.0, 0.0);
            // In turns, so that whatever else the machine does meets both.
            for _ in 0..LINKS {
                let start = Instant::now();
                let raw_output = raw.link(flags, kind, &inputs);
                theirs += start.elapsed().as_secs_f64();
                let start = Instant::now();
                let our_output = link(&path, flags, &inputs);
                ours += start.elapsed().as_secs_f64();
                assert!(raw_output == our_output);
            }
            let each = |total: f64| format!("{:.3} ms", total / LINKS as f64 * 1e3);
            println!("{version:<10} {form:<8} {:>12} {:>12} {:>8.3}", each(theirs), each(ours), ours / theirs);
        }
    }
}

fn link(library: &Path, flags: &[&str], inputs: &[Vec<u8>; 2]) -> Vec<u8> {
    let mut options = LinkOptions::default();
    options.library_path = Some(library.to_owned());
    flags.iter().try_for_each(|flag| options.set_flag(flag)).unwrap();
    let mut linker = Linker::new(options);
    inputs.iter().try_for_each(|input| linker.add(None, input, "input")).unwrap();
    linker.complete().unwrap();
    linker.output(OutputKind::Cubin).unwrap().bytes().to_vec()
}

struct Raw(Library);

impl Raw {
    fn open(path: &Path) -> Self {
        // SAFETY: a real nvJitLink.
        Self(unsafe { Library::new(path) }.unwrap())
    }

    fn link(&self, flags: &[&str], kind: u32, inputs: &[Vec<u8>; 2]) -> Vec<u8> {
        let flags: Vec<CString> = flags.iter().map(|flag| CString::new(*flag).unwrap()).collect();
        let pointers: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        let mut handle: *mut c_void = std::ptr::null_mut();
        // SAFETY: signatures and order of calls as in nvJitLink.h; everything that is passed lives through the call it is passed to.
        unsafe {
            let create =
                self.0.get::<unsafe extern "C" fn(*mut *mut c_void, u32, *const *const c_char) -> i32>(b"nvJitLinkCreate").unwrap();
            assert_eq!(create(&mut handle, pointers.len() as u32, pointers.as_ptr()), 0);
            let add =
                self.0.get::<unsafe extern "C" fn(*mut c_void, u32, *const u8, usize, *const c_char) -> i32>(b"nvJitLinkAddData").unwrap();
            for input in inputs {
                let mut input = input.clone();
                input.push(0);
                let size = input.len() - usize::from(kind != 2);
                assert_eq!(add(handle, kind, input.as_ptr(), size, c"input".as_ptr()), 0);
            }
            assert_eq!(self.0.get::<unsafe extern "C" fn(*mut c_void) -> i32>(b"nvJitLinkComplete").unwrap()(handle), 0);
            let mut size = 0;
            let get_size = self.0.get::<unsafe extern "C" fn(*mut c_void, *mut usize) -> i32>(b"nvJitLinkGetLinkedCubinSize").unwrap();
            assert_eq!(get_size(handle, &mut size), 0);
            let mut output = vec![0; size];
            assert_eq!(
                self.0.get::<unsafe extern "C" fn(*mut c_void, *mut u8) -> i32>(b"nvJitLinkGetLinkedCubin").unwrap()(
                    handle,
                    output.as_mut_ptr()
                ),
                0
            );
            self.0.get::<unsafe extern "C" fn(*mut *mut c_void) -> i32>(b"nvJitLinkDestroy").unwrap()(&mut handle);
            output
        }
    }
}
