//! What a raw nvJitLink would lose, crash on, or refuse for its packing is linked all the same.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{NVJITLINKS, cudalink, fixture, nvjitlink, run};

/// Links for sm_80 and gives the tool's report.
fn link(version: &str, inputs: &[PathBuf], more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cudalink();
    command.args(["link", "-arch=sm_80", "--json", "--library"]).arg(nvjitlink(version)).arg("-o").arg(folder.path().join("out"));
    support::json(command.args(more).args(inputs)).0
}

fn has_linked_kernel(report: &Value) -> bool {
    report["result"] == "ok"
        && report["output"]["kernels"] == serde_json::json!(["kernel"])
        && report["output"]["undefined"] == serde_json::json!([])
}

fn in_folder(folder: &Path, program: &str, arguments: &[&str]) {
    run(Command::new(program).args(arguments).current_dir(folder));
}

/// A folder with `kernel.o` and `helper.o` of CUDA 12.0, which every nvJitLink reads.
fn objects() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["kernel.o", "helper.o"] {
        fs::copy(fixture(format!("12.0/{file}")), folder.path().join(file)).unwrap();
    }
    folder
}

#[test]
fn an_object_merged_by_ld_keeps_all_its_fatbins() {
    let folder = objects();
    in_folder(folder.path(), "ld", &["-r", "-o", "merged.o", "kernel.o", "helper.o"]);
    for version in NVJITLINKS {
        let report = link(version, &[folder.path().join("merged.o")], &[]);
        assert!(has_linked_kernel(&report), "{version}: {report}");
    }
}

#[test]
fn archives_of_every_kind_link() {
    let folder = objects();
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::copy(fixture("12.0/helper.o"), folder.path().join("deep/a_helper_whose_name_is_longer_than_sixteen.o")).unwrap();
    in_folder(folder.path(), "ar", &["rcs", "plain.a", "kernel.o", "helper.o"]);
    in_folder(folder.path(), "ar", &["rcsT", "thin.a", "kernel.o", "deep/a_helper_whose_name_is_longer_than_sixteen.o"]);
    for file in ["kernel.ptx", "helper.cubin"] {
        fs::copy(fixture(format!("12.0/{file}")), folder.path().join(file)).unwrap();
    }
    in_folder(folder.path(), "ar", &["rcs", "mixed.a", "kernel.ptx", "helper.cubin"]);
    for version in NVJITLINKS {
        for archive in ["plain.a", "thin.a", "mixed.a"] {
            let report = link(version, &[folder.path().join(archive)], &[]);
            assert!(has_linked_kernel(&report), "{archive} on {version}: {report}");
        }
    }
}

#[test]
fn a_thin_archive_without_its_files_is_told_by_name() {
    let folder = objects();
    in_folder(folder.path(), "ar", &["rcsT", "thin.a", "kernel.o", "helper.o"]);
    fs::remove_file(folder.path().join("helper.o")).unwrap();
    let report = link("13.5.37", &[folder.path().join("thin.a")], &[]);
    let told = |finding: &Value| finding["severity"] == "warning" && finding["message"].as_str().unwrap().contains("'helper.o'");
    assert!(report["diagnostics"].as_array().unwrap().iter().any(told), "{report}");
    assert_eq!(report["result"], "unresolved_symbol");
}

#[test]
fn what_an_old_library_cannot_unpack_is_unpacked_for_it() {
    let inputs = ["kernel", "helper"].map(|unit| fixture(format!("wide/{unit}.old.zstd.fatbin")));
    let ltoir = ["kernel", "helper"].map(|unit| fixture(format!("wide/{unit}.old.zstd.lto.fatbin")));
    for version in NVJITLINKS {
        let report = link(version, &inputs, &[]);
        assert!(has_linked_kernel(&report), "{version}: {report}");
        let report = link(version, &ltoir, &[]);
        match version {
            "12.0.140" => assert_eq!(report["result"], "input_too_new", "{report}"),
            _ => assert!(has_linked_kernel(&report), "{version}: {report}"),
        }
    }
}

#[test]
fn host_code_without_device_code_is_told_and_does_no_harm() {
    for version in NVJITLINKS {
        let with_device_code = ["wide/host_only.o", "wide/host_only.a", "12.0/kernel.ptx", "12.0/helper.ptx"].map(fixture);
        let report = link(version, &with_device_code, &[]);
        assert!(has_linked_kernel(&report), "{version}: {report}");
        let warned = report["diagnostics"].as_array().unwrap().iter().filter(|finding| finding["result"] == "no_device_code").count();
        assert_eq!(warned, 2, "{report}");
        assert_eq!(link(version, &with_device_code[..2], &[])["result"], "no_device_code");
    }
}

#[test]
fn finished_code_is_refused_beside_others_and_given_back_alone() {
    let whole = fixture("wide/whole.cubin");
    for version in NVJITLINKS {
        assert_eq!(link(version, &[whole.clone(), fixture("12.0/helper.ptx")], &[])["result"], "not_relocatable");
        let report = link(version, std::slice::from_ref(&whole), &[]);
        assert!(has_linked_kernel(&report), "{version}: {report}");
        assert_eq!((&report["plan"]["backend"], &report["output"]["size"]), (&"none".into(), &3240.into()));
    }
    // What was asked of a link that does not happen is told, and a named library must be one.
    let report = link("13.5.37", std::slice::from_ref(&whole), &["-g", "-O0"]);
    let dropped = report["plan"]["decisions"].as_array().unwrap().iter().filter(|decision| decision["action"] == "dropped");
    assert_eq!(dropped.map(|decision| decision["option"].as_str().unwrap()).collect::<Vec<_>>(), ["-O0", "-g"]);
    let mut command = cudalink();
    command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library", "/etc/passwd"]).arg(&whole);
    assert_eq!(support::json(&mut command).0["result"], "library_unusable");
}

#[test]
fn linked_ltoir_is_an_input_again() {
    let folder = tempfile::tempdir().unwrap();
    let linked = folder.path().join("linked.ltoir");
    for (options, inputs) in [(&["-r"][..], &["12.0/kernel.ltoir"][..]), (&[], &["12.0/kernel.ltoir", "12.0/helper.ltoir"])] {
        let mut command = cudalink();
        command.args(["link", "--json", "-arch=sm_80", "--emit", "ltoir", "--library"]).arg(nvjitlink("13.5.37")).args(options);
        let (report, _) = support::json(command.arg("-o").arg(&linked).args(inputs.iter().map(fixture)));
        assert_eq!(report["result"], "ok", "{report}");
        let mut rest = vec![linked.clone()];
        if inputs.len() == 1 {
            rest.push(fixture("12.0/helper.ltoir"));
        }
        let report = link("13.5.37", &rest, &[]);
        assert!(has_linked_kernel(&report), "{report}");
    }
}

// Each of these ends the process in the library.
#[test]
fn texts_that_the_library_dies_of_do_not_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(100_000);
    for version in NVJITLINKS {
        assert_eq!(link(version, &[fixture("12.0/helper.ptx")], &[&format!("-Xptxas={long}")])["result"], "bad_option_value");
        assert_eq!(link(version, &[fixture("12.0/helper.ptx")], &["--pass-through=-lto2"])["result"], "bad_option_value");
    }
    // A name that long can come from an archive's member.
    let member = folder.path().join("m".repeat(200));
    fs::copy(fixture("12.0/kernel.o"), &member).unwrap();
    let archive = folder.path().join("long.a");
    run(Command::new("ar").arg("rcs").arg(&archive).arg(&member));
    for version in NVJITLINKS {
        assert_eq!(link(version, std::slice::from_ref(&archive), &[])["result"], "unresolved_symbol", "{version}");
    }
}

#[test]
fn ltoir_that_is_not_used_is_told() {
    let report = link("13.5.37", &[fixture("12.9/kernel.lto.o"), fixture("12.9/helper.lto.o")], &["--lto", "off"]);
    assert!(has_linked_kernel(&report), "{report}");
    assert_eq!(report["plan"]["decisions"][0]["action"], "dropped");
    assert!(report["diagnostics"][0]["message"].as_str().unwrap().contains("LTO-IR"), "{report}");
}

#[test]
fn ptx_may_end_in_a_comment_or_without_a_newline() {
    let folder = tempfile::tempdir().unwrap();
    let helper = fs::read_to_string(fixture("12.0/helper.ptx")).unwrap();
    for (name, end) in [("comment.ptx", "// the end"), ("block.ptx", "/* the end */"), ("brace.ptx", ""), ("newlines.ptx", "\n\n\n")] {
        let file = folder.path().join(name);
        fs::write(&file, format!("{}{end}", helper.trim_end())).unwrap();
        for version in NVJITLINKS {
            let report = link(version, &[fixture("12.0/kernel.ptx"), file.clone()], &[]);
            assert!(has_linked_kernel(&report), "{name} on {version}: {report}");
        }
    }
}
