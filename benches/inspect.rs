//! How long looking into an input takes, against `cuobjdump` and against reading the file.
//!
//! `cargo bench --bench inspect`. The files are made once, below `target/bench`.

#[path = "../tests/support/mod.rs"]
#[allow(clippy::duplicate_mod)]
mod support;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cudalink::input::examine;
use support::{fetch, fixture, root};

fn main() {
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder).unwrap();
    println!("{:<28} {:>9} {:>10} {:>12} {:>12} {:>14}", "file", "MB", "inspect", "plain read", "cuobjdump", "of plain read");
    report("archive of 1,000 objects", &large_archive(&folder.join("large.a")));
    report("fatbin of 1,000 entries", &wide_fatbin(&folder.join("wide.fatbin")));
}

fn report(name: &str, file: &Path) {
    let mut bytes = Vec::new();
    let read = fastest(3, || bytes = fs::read(file).unwrap());
    let inspected = fastest(5, || assert!(examine(&bytes, &mut |_| None).unwrap().parts.len() >= 1000));
    let mut cuobjdump = Command::new(fetch("cuobjdump", "13.5.37").join("nvidia/cu13/bin/cuobjdump"));
    cuobjdump.args(["-lelf", "-lptx"]).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    let listed = fastest(1, || assert!(cuobjdump.status().unwrap().success()));
    let megabytes = bytes.len() as f64 / 1e6;
    let share = inspected.as_secs_f64() / read.as_secs_f64();
    println!("{name:<28} {megabytes:>9.1} {inspected:>10.1?} {read:>12.1?} {listed:>12.1?} {share:>14.4}");
}

fn fastest(times: usize, mut run: impl FnMut()) -> Duration {
    let timed = (0..times).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    timed.min().unwrap()
}

/// Objects of 1 MB each: a real one, followed by what a large host object has beside its device code.
fn large_archive(path: &Path) -> PathBuf {
    if !path.exists() {
        let mut object = fs::read(fixture("13.0/helper.o")).unwrap();
        object.resize(1 << 20, 0);
        let mut out = BufWriter::new(fs::File::create(path).unwrap());
        out.write_all(b"!<arch>\n").unwrap();
        for index in 0..1000 {
            let name = format!("m{index}.o/");
            writeln!(out, "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`", 0, 0, 0, "100644", object.len()).unwrap();
            out.write_all(&object).unwrap();
        }
    }
    path.to_owned()
}

/// The entries of a real fatbin, 500 times.
fn wide_fatbin(path: &Path) -> PathBuf {
    let fatbin = fs::read(fixture("13.0/helper.fatbin")).unwrap();
    let (header, entries) = fatbin.split_at(16);
    let size = (entries.len() * 500) as u64;
    let bytes = [&header[..8], &size.to_le_bytes(), &entries.repeat(500)].concat();
    fs::write(path, bytes).unwrap();
    path.to_owned()
}
