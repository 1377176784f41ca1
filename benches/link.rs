//! What a link through cudalink takes, against the raw library in the same run.
//!
//! `cargo bench --bench link`

#[path = "../tests/support/mod.rs"]
#[allow(clippy::duplicate_mod)]
mod support;

mod raw;

use std::fs;
use std::path::Path;
use std::time::Instant;

use cudalink::{LinkOptions, Linker, OutputKind};
use raw::Raw;
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
                let raw_output = raw.link(flags, kind, &inputs).unwrap();
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
