//! What the policy decides is told with its reason, by `explain` and after the link.

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::{cudalink, fake, fixture, nvjitlink};

fn explain(library: &Path, arguments: &[&str], file: &str) -> Value {
    support::json(cudalink().args(["explain", "--json", "--library"]).arg(library).args(arguments).arg(fixture(file))).0
}

fn decision<'a>(report: &'a Value, rule: &str) -> Option<&'a Value> {
    report["plan"]["decisions"].as_array()?.iter().find(|decision| decision["rule"] == rule)
}

#[test]
fn an_incremental_lto_link_goes_without_the_cache_until_13_6() {
    let folder = tempfile::tempdir().unwrap();
    let library =
        |name: &str, minor: &str| fake(folder.path().join(name), &["PLAIN", "LINKED_LTOIR", "MAJOR=13", &format!("MINOR={minor}")]);
    let report = explain(&library("13.4.so", "4"), &["-arch=sm_90", "-r"], "12.0/kernel.ltoir");
    assert_eq!(report["plan"]["options"], json!(["-arch=sm_90", "-r", "-no-cache", "-lto"]), "{report}");
    assert_eq!(decision(&report, "lto_from_inputs").unwrap()["action"], "added");
    assert_eq!(decision(&report, "no_cache_for_incremental_lto").unwrap()["action"], "added");
    let report = explain(&library("13.6.so", "6"), &["-arch=sm_90", "-r"], "12.0/kernel.ltoir");
    assert_eq!(report["plan"]["options"], json!(["-arch=sm_90", "-r", "-lto"]), "{report}");
    assert_eq!(decision(&report, "no_cache_for_incremental_lto").unwrap()["action"], "kept");
    assert!(decision(&report, "unknown_version").unwrap()["reason"].as_str().unwrap().contains("13.6"));
    let report = explain(&nvjitlink("12.9.86"), &["-arch=sm_90", "-r"], "12.0/kernel.ltoir");
    let message = report["message"].as_str().unwrap();
    assert_eq!(report["result"], "unsupported_option");
    assert!(message.contains("13.0") && message.contains("12.9"), "{message}");
}

#[test]
fn lto_without_any_ltoir_is_dropped_and_the_link_goes_on() {
    for version in support::NVJITLINKS {
        let mut command = cudalink();
        command.args(["link", "--json", "-arch=sm_80", "-lto", "-o", "/dev/null", "--library"]).arg(nvjitlink(version));
        let (report, _) = support::json(command.arg(fixture("12.0/kernel.ptx")).arg(fixture("12.0/helper.cubin")));
        assert_eq!(report["result"], "ok", "{version}: {report}");
        assert_eq!(decision(&report, "lto_from_inputs").unwrap()["action"], "dropped");
    }
}

#[test]
fn no_cache_is_dropped_where_there_is_no_cache() {
    for version in support::NVJITLINKS {
        let mut command = cudalink();
        command.args(["link", "--json", "-arch=sm_80", "-no-cache", "-o", "/dev/null", "--library"]).arg(nvjitlink(version));
        let (report, _) = support::json(command.arg(fixture("12.0/kernel.ptx")).arg(fixture("12.0/helper.ptx")));
        assert_eq!(report["result"], "ok", "{version}: {report}");
        let is_before_12_5 = ["12.0.140", "12.4.127"].contains(&version);
        let dropped = decision(&report, "is_so_anyway");
        assert_eq!(dropped.is_some(), is_before_12_5, "{version}: {report}");
        assert_eq!(report["plan"]["options"].as_array().unwrap().contains(&json!("-no-cache")), !is_before_12_5, "{version}: {report}");
        if let Some(dropped) = dropped {
            assert_eq!((&dropped["option"], &dropped["action"]), (&json!("-no-cache"), &json!("dropped")));
            assert!(dropped["reason"].as_str().unwrap().contains("12.5"), "{dropped}");
        }
    }
}

// numba-cuda #696: -lto was decided before the inputs were known.
#[test]
fn a_debug_kernel_links_with_ltoir_from_a_file() {
    for version in support::NVJITLINKS {
        let mut command = cudalink();
        command.args(["link", "--json", "-arch=sm_80", "-g", "-o", "/dev/null", "--library"]).arg(nvjitlink(version));
        let (report, _) = support::json(command.arg(fixture("12.0/kernel.ptx")).arg(fixture("12.0/helper.ltoir")));
        assert_eq!((&report["result"], &report["output"]["kernels"]), (&"ok".into(), &json!(["kernel"])), "{version}: {report}");
    }
}

#[test]
fn another_library_is_used_where_the_first_cannot_do_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let place = |folder: &Path, version: &str| {
        std::fs::create_dir_all(folder).unwrap();
        let library = nvjitlink(version);
        std::os::unix::fs::symlink(&library, folder.join(library.file_name().unwrap())).unwrap();
    };
    place(&folder.path().join("conda/lib"), "12.4.127");
    place(&folder.path().join("cuda/lib64"), "12.9.86");
    place(&folder.path().join("home/lib64"), "13.0.88");
    let link = |file: &str| {
        let mut command = cudalink();
        for (variable, name) in [("CONDA_PREFIX", "conda"), ("CUDA_PATH", "cuda"), ("CUDA_HOME", "home")] {
            command.env(variable, folder.path().join(name));
        }
        command.args(["explain", "--json", "-arch=sm_80"]).arg(fixture(file));
        support::json(&mut command).0
    };
    assert_eq!(link("12.0/kernel.ltoir")["plan"]["library"]["version"], "12.4");
    assert_eq!(link("12.0/kernel.ltoir")["plan"]["decisions"].as_array().unwrap().len(), 1, "nothing was passed over");
    let report = link("12.9/kernel.ltoir");
    assert_eq!(report["plan"]["library"]["version"], "12.9");
    let passed_over = decision(&report, "library_for_the_job").unwrap()["reason"].as_str().unwrap();
    assert!(passed_over.contains("12.4") && passed_over.contains("12.9"), "{passed_over}");
    assert_eq!(link("13.0/kernel.ptx")["plan"]["library"]["version"], "13.0");
    // None can: the newest is named, with what is needed.
    let report = link("13.5/kernel.ltoir");
    assert_eq!(report["result"], "input_too_new");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("13.5") && message.contains("nvJitLink 13.0"), "{message}");
    // One that was named is never replaced.
    let mut command = cudalink();
    command.env("CUDA_HOME", folder.path().join("home")).args(["explain", "--json", "-arch=sm_80", "--library"]);
    let report = support::json(command.arg(nvjitlink("12.4.127")).arg(fixture("13.0/kernel.ptx"))).0;
    assert_eq!(report["result"], "input_too_new", "{report}");
}
