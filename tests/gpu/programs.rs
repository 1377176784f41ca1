//! The C programs beside this file. `run-elsewhere` runs them with large numbers; here they are shown to work, and to tell a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::device::Gpu;
use super::link::{By, nvjitlink};
use super::support::{STRICT_C, compile_c_as, fixture, nvjitlink as fetched};

fn compile(name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    compile_c_as(&format!("tests/gpu/{name}.c"), &program, &STRICT_C);
    program
}

/// Compiles and runs a program, with fixtures of CUDA 12.0 after its arguments.
fn program(name: &str, arguments: &[&str], fixtures: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(compile(name, folder.path()));
    command.args(arguments).args(fixtures.iter().map(|file| fixture("12.0").join(file))).env_remove("CUDALINK_NVJITLINK");
    command.output().unwrap()
}

/// The nvJitLink of the first release, or else of the second, if that is there; where there is neither, the first is fetched.
fn library(wanted: &'static str, also: &'static str) -> String {
    let file = match [wanted, also].into_iter().find_map(nvjitlink) {
        Some(By::Nvjitlink { file, .. }) => file,
        _ => fetched(wanted),
    };
    file.to_str().unwrap().to_owned()
}

fn printed(output: &Output) -> String {
    format!("{}\n{}{}", output.status, String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_stress_program_counts_links_and_failures() {
    let library = library("13.0.88", "13.4.92");
    let arguments = ["nvjitlink", &library, "4", "30"];
    let good = program("stress", &arguments, &["kernel.ptx", "helper.ptx"]);
    assert!(good.status.success() && printed(&good).contains("4 threads x 30 links: 0 failures"), "{}", printed(&good));
    let bad = program("stress", &arguments, &["kernel.ptx"]);
    assert_eq!(bad.status.code(), Some(1), "{}", printed(&bad));
    assert!(printed(&bad).contains("120 failures") && printed(&bad).contains("first failure: unresolved_symbol"), "{}", printed(&bad));
}

#[test]
fn the_round_trips_count_failures_and_crashes() {
    let library = library("13.5.37", "13.4.92");
    for how in ["cudalink", "raw"] {
        let arguments = [how, &library, "2", "3"];
        let good = program("round_trips", &arguments, &["kernel.ltoir", "helper.ltoir"]);
        let counted = printed(&good).contains("2 processes x 3 round trips: 0 failures, 0 crashed");
        assert!(good.status.success() && counted, "{}", printed(&good));
        let bad = program("round_trips", &arguments, &["kernel.ltoir", "kernel.ltoir"]);
        assert!(bad.status.code() == Some(1) && printed(&bad).contains(": 6 failures, 0 crashed"), "{}", printed(&bad));
    }
    let crashing = program("round_trips", &["raw", "/none", "2", "1"], &["kernel.ltoir", "helper.ltoir"]);
    assert!(crashing.status.code() == Some(1) && printed(&crashing).contains("2 crashed processes"), "{}", printed(&crashing));
}

#[test]
fn a_child_links_with_nvjitlink_after_its_parent_did() {
    let library = library("13.0.88", "13.4.92");
    let linked = program("forked", &["nvjitlink", &library, "ok"], &["kernel.ptx", "helper.ptx"]);
    assert!(linked.status.success(), "{}", printed(&linked));
}

/// CUDA does not work in a child of a process that has used it, and some of its calls hang there.
#[test]
#[ignore = "needs a GPU"]
fn a_child_is_told_that_the_driver_does_not_work_there() {
    let _gpu = Gpu::first();
    let told = program("forked", &["driver", "-", "driver_error"], &["kernel.ptx", "helper.ptx"]);
    assert!(told.status.success(), "{}", printed(&told));
    assert!(printed(&told).contains("forked after its parent used the driver"), "{}", printed(&told));
}

#[test]
#[ignore = "needs a GPU"]
fn the_stress_program_links_with_the_driver() {
    let _gpu = Gpu::first();
    for how in ["driver", "driver-without-context"] {
        let linked = program("stress", &[how, "-", "2", "22"], &["kernel.ptx", "helper.ptx"]);
        assert!(linked.status.success() && printed(&linked).contains(": 0 failures"), "{}", printed(&linked));
    }
}
