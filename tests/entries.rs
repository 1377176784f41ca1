//! A fatbin of LTO-IR and other code links where a raw nvJitLink links it, by the entry that it takes.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{cudalink, fixture, json, nvjitlink, root, run};

const PTX: u16 = 1;
const CUBIN: u16 = 2;
const LTOIR: u16 = 8;

/// What a fatbin is made of: kind and architecture of each entry.
type Entries = &'static [(u16, &'static str)];

/// Those of a unit of CUDA 12.0 for sm_80, said to be for other architectures: the library believes
/// what an entry says.
fn fatbin(unit: &str, entries: Entries) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, arch) in entries {
        let file = if *kind == LTOIR { "lto.fatbin" } else { "fatbin" };
        let bytes = fs::read(fixture(format!("12.0/{unit}.{file}"))).unwrap();
        let mut rest = &bytes[16..];
        let mut entry = loop {
            let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
            let (entry, next) = rest.split_at(number(4) + number(8));
            if u16::from_le_bytes(entry[..2].try_into().unwrap()) == *kind {
                break entry.to_vec();
            }
            rest = next;
        };
        let number: u32 = arch.trim_end_matches(['a', 'f']).parse().unwrap();
        entry[28..32].copy_from_slice(&number.to_le_bytes());
        entry[42] |= if arch.ends_with('a') { 0x10 } else { 0 } | if arch.ends_with('f') { 0x20 } else { 0 };
        body.append(&mut entry);
    }
    [&[0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0][..], &(body.len() as u64).to_le_bytes(), &body].concat()
}

fn write(folder: &Path, entries: Entries) -> [PathBuf; 2] {
    ["kernel", "helper"].map(|unit| {
        let file = folder.join(format!("{unit}.fatbin"));
        fs::write(&file, fatbin(unit, entries)).unwrap();
        file
    })
}

fn link(release: &str, target: &str, files: &[PathBuf], output: &Path) -> Value {
    let mut command = cudalink();
    command.args(["link", "--json", &format!("-arch=sm_{target}"), "--library"]).arg(nvjitlink(release));
    json(command.arg("-o").arg(output).args(files)).0
}

/// Whether the library itself links them.
fn raw(release: &str, options: &[&str], files: &[PathBuf], output: &Path) -> bool {
    let mut command = Command::new("python3");
    command.arg(root().join("tests/support/raw_nvjitlink.py")).arg(nvjitlink(release)).arg(output).arg("cubin");
    command.args(options).args(files.iter().map(|file| format!("fatbin:{}", file.display())));
    String::from_utf8_lossy(&command.output().unwrap().stdout).trim() == "ok"
}

#[test]
fn a_fatbin_links_where_it_links_raw_by_the_entry_that_the_release_takes() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path().join(name));
    let on = |release: &str| match release {
        "12.0.140" => &["80", "90", "90a"][..],
        _ => &["80", "90", "90a", "100", "120"],
    };
    for release in ["12.0.140", "12.9.86", "13.5.37"] {
        for entries in [
            &[(LTOIR, "90a")][..],
            &[(LTOIR, "90a"), (PTX, "80")],
            &[(LTOIR, "90a"), (CUBIN, "80"), (PTX, "80")],
            &[(PTX, "80"), (LTOIR, "80"), (LTOIR, "90a")],
            &[(LTOIR, "90"), (PTX, "90")],
            &[(LTOIR, "100f"), (PTX, "90")],
            &[(LTOIR, "100f"), (LTOIR, "103")],
        ] {
            let files = write(folder.path(), entries);
            for target in on(release) {
                let case = format!("{entries:?} for sm_{target} on {release}");
                let report = link(release, target, &files, &ours);
                if report["result"] != "ok" {
                    let arch = format!("-arch=sm_{target}");
                    let links_raw = |options: &[&str]| raw(release, options, &files, &theirs);
                    assert_eq!(report["result"], "arch_mismatch", "{case}: {report}");
                    assert!(!links_raw(&[&arch]) && !links_raw(&[&arch, "-lto"]), "{case}: {report}");
                    continue;
                }
                let options: Vec<&str> =
                    report["plan"]["options"].as_array().unwrap().iter().map(|option| option.as_str().unwrap()).collect();
                assert!(raw(release, &options, &files, &theirs), "{case}: {report}");
                assert_eq!(fs::read(&ours).unwrap(), fs::read(&theirs).unwrap(), "{case}");
                let images = report["plan"]["images"].as_array().unwrap();
                assert_eq!(images.len(), 2, "{case}: {report}");
                for image in images {
                    assert_eq!(image["used"]["kind"] == "ltoir", options.contains(&"-lto"), "{case}: {report}");
                }
            }
        }
    }
}

#[test]
fn the_plan_tells_which_entry_of_each_input_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[(LTOIR, "90a"), (CUBIN, "80"), (PTX, "80")]);
    for (release, target, kind, arch) in [
        ("12.9.86", "90", "ltoir", "compute_90a"),
        ("13.5.37", "90", "ptx", "compute_80"),
        ("13.5.37", "90a", "ltoir", "compute_90a"),
        ("13.5.37", "86", "cubin", "sm_80"),
    ] {
        let explain = |json: &[&str]| {
            let mut command = cudalink();
            command.arg("explain").args(json).args([&format!("-arch=sm_{target}"), "--library"]).arg(nvjitlink(release)).args(&files);
            run(&mut command)
        };
        let report: Value = serde_json::from_str(&explain(&["--json"])).unwrap();
        let text = explain(&[]);
        for (index, file) in files.iter().enumerate() {
            let expected = serde_json::json!({"name": file, "used": {"kind": kind, "arch": arch}});
            assert_eq!(report["plan"]["images"][index], expected, "{release} for sm_{target}");
            assert!(text.contains(&format!("{}: {arch} {kind} is used\n", file.display())), "{text}");
        }
    }
}

#[test]
fn ltoir_of_an_unfit_suffix_alone_is_told_as_that_in_a_fatbin_an_object_and_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[(LTOIR, "90a")]);
    let objects = files.each_ref().map(|file| file.with_extension("o"));
    for (file, object) in files.iter().zip(&objects) {
        let section = ".data=__nv_relfatbin,alloc,load,readonly,data,contents";
        let mut objcopy = Command::new("objcopy");
        objcopy.args(["-I", "binary", "-O", "elf64-x86-64", "-B", "i386:x86-64", "--rename-section", section]);
        run(objcopy.arg(file).arg(object));
    }
    let archive = folder.path().join("both.a");
    run(Command::new("ar").arg("rcs").arg(&archive).args(&objects));
    let output = folder.path().join("out");
    for inputs in [&files[..], &objects, &[archive]] {
        for (release, target, result) in [
            ("12.0.140", "90", "ok"),
            ("12.9.86", "90", "ok"),
            ("12.9.86", "100", "ok"),
            ("13.5.37", "90a", "ok"),
            ("13.5.37", "90", "arch_mismatch"),
            ("13.5.37", "100", "arch_mismatch"),
        ] {
            let report = link(release, target, inputs, &output);
            assert_eq!(report["result"], result, "{inputs:?} for sm_{target} on {release}: {report}");
            if result != "ok" {
                let finding = report["diagnostics"].as_array().unwrap().last().unwrap();
                assert!(finding["hint"].as_str().unwrap().contains("sm_90a only"), "{report}");
            }
        }
    }
}
