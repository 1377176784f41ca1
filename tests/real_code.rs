//! Real code that links today links through us: no check of symbols or of damage is a false alarm.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::{NVJITLINKS, cudalink, fetch, fixture, nvjitlink, root, run};

fn link(release: &str, options: &[&str], inputs: &[PathBuf]) -> Value {
    let mut command = cudalink();
    command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink(release));
    support::json(command.args(options).args(inputs)).0
}

#[test]
fn two_units_that_share_a_header_link() {
    for release in NVJITLINKS {
        for kind in ["ptx", "o"] {
            if kind == "o" && release.starts_with("12.") {
                continue; // They are of CUDA 13.0.
            }
            let report = link(release, &[], &["first", "second"].map(|unit| fixture(format!("wide/{unit}.{kind}"))));
            assert_eq!(
                (&report["result"], &report["output"]["kernels"]),
                (&"ok".into(), &json!(["first", "second"])),
                "{kind} on {release}: {report}"
            );
        }
    }
}

#[test]
fn five_hundred_units_that_share_an_inline_function_link() {
    let folder = tempfile::tempdir().unwrap();
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let shared = ".weak .func (.param .b32 r) shared (.param .b32 p) { .reg .b32 %r; ld.param.b32 %r, [p]; st.param.b32 [r], %r; ret; }";
    let unit = |index: usize| {
        let path = folder.path().join(format!("unit{index}.ptx"));
        let own = format!(".visible .func own{index} () {{ ret; }}\n.visible .global .align 4 .b32 variable{index} = {index};");
        let kernel = if index == 0 { ".visible .entry kernel() { ret; }" } else { "" };
        fs::write(&path, format!("{head}{shared}\n{own}\n{kernel}\n")).unwrap();
        path
    };
    let units: Vec<PathBuf> = (0..500).map(unit).collect();
    let report = link("13.5.37", &[], &units);
    assert_eq!((&report["result"], &report["output"]["kernels"]), (&"ok".into(), &json!(["kernel"])), "{}", report["message"]);
}

/// The folder of an nvcc that finds everything it needs beside it, and CCCL's headers.
fn toolkit(folder: &Path) -> (PathBuf, PathBuf) {
    let tree = folder.join("cuda");
    fs::create_dir(&tree).unwrap();
    for package in ["nvcc", "nvvm", "crt", "runtime"] {
        run(Command::new("cp").arg("-rsn").arg(fetch(package, "13.0.88").join("nvidia/cu13/.")).arg(&tree));
    }
    (tree.join("bin/nvcc"), fetch("cccl", "13.0.85").join("nvidia/cu13/include/cccl"))
}

#[test]
#[ignore = "fetches 1 GB and compiles for minutes: cargo test --test real_code -- --ignored"]
fn cub_thrust_and_nvshmem_link() {
    let folder = tempfile::tempdir().unwrap();
    let (nvcc, cccl) = toolkit(folder.path());
    let nvshmem = fetch("nvshmem", "3.8.0").join("nvidia/nvshmem");
    let compile = |unit: &str| {
        let object = folder.path().join(format!("{unit}.o"));
        let mut command = Command::new(&nvcc);
        command.args(["-std=c++17", "-dc", "-arch=sm_80", "-I"]).arg(&cccl).arg("-I").arg(nvshmem.join("include"));
        run(command.arg(root().join(format!("tests/real_code/{unit}.cu"))).arg("-o").arg(&object));
        object
    };
    let units = ["reduce", "sort"].map(compile);
    let ring = [compile("ring"), nvshmem.join("lib/libnvshmem_device.a")];
    for release in ["13.0.88", "13.5.37"] {
        let report = link(release, &[], &units);
        let kernels: Vec<&str> = report["output"]["kernels"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(["sum", "scan", "sorted"].iter().all(|name| kernels.contains(name)), "{release}: {report}");
        for members in ["all", "needed"] {
            let report = link(release, &["--archive-members", members], &ring);
            assert_eq!(
                (&report["result"], &report["output"]["kernels"]),
                (&"ok".into(), &json!(["ring"])),
                "{members} on {release}: {report}"
            );
        }
    }
}
