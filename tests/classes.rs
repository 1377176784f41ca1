//! One mistake has one class, whatever nvJitLink is underneath.

mod support;

use std::fs;
use std::path::Path;

use support::{cudalink, fixture, nvjitlink};

const RELEASES: [&str; 6] = ["12.0.140", "12.4.127", "12.9.86", "13.0.88", "13.2.86", "13.5.37"];

/// Files with one mistake each.
fn broken_files(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    let ptx = |version: &str, body: &str| format!(".version {version}\n.target sm_80\n.address_size 64\n{body}\n");
    write("empty.ptx", b" \n");
    write("text.txt", b"hello");
    write("inner_nul.ptx", ptx("8.0", "\0").as_bytes());
    write("syntax.ptx", ptx("8.0", ".visible .entry kernel() { nonsense; }").as_bytes());
    write("too_new.ptx", ptx("99.9", ".visible .entry kernel() { ret; }").as_bytes());
    for file in ["12.0/kernel.fatbin", "12.0/kernel.cubin", "12.0/kernel.ltoir", "12.0/libhelper.a", "12.0/kernel.o"] {
        let bytes = fs::read(fixture(file)).unwrap();
        let ending = file.rsplit('.').next().unwrap();
        let rest = if ending == "ltoir" { 20 } else { bytes.len() / 2 };
        write(&format!("half.{ending}"), &bytes[..rest]);
    }
    fs::create_dir(folder.join("folder")).unwrap();
}

#[test]
fn a_mistake_has_the_same_class_on_every_release() {
    let folder = tempfile::tempdir().unwrap();
    broken_files(folder.path());
    // Class, options, inputs: of the fixtures by their path, or of the broken files.
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("unknown_option", &["-arch=sm_80", "-bogus"], &["12.0/kernel.ptx"]),
        ("bad_option_value", &["-arch=sm_80", "-O7"], &["12.0/kernel.ptx"]),
        ("incompatible_options", &["-arch=sm_80", "-g", "-O3"], &["12.0/kernel.ptx"]),
        ("incompatible_options", &["-arch=sm_80", "-g", "-O1"], &["12.0/kernel.ptx"]),
        ("incompatible_options", &["-arch=sm_80", "-lto=false"], &["12.0/kernel.ltoir"]),
        ("missing_arch", &[], &["12.0/kernel.ptx"]),
        ("bad_arch", &["-arch=sm_8"], &["12.0/kernel.ptx"]),
        ("bad_arch", &["-arch=80"], &["12.0/kernel.ptx"]),
        ("unsupported_option", &["-arch=sm_80", "-device-stack-protector"], &["12.0/kernel.ptx"]),
        ("unsupported_arch", &["-arch=sm_999"], &["12.0/kernel.ptx"]),
        ("file_not_found", &["-arch=sm_80"], &["missing.ptx"]),
        ("io_error", &["-arch=sm_80"], &["folder"]),
        ("no_inputs", &["-arch=sm_80"], &[]),
        ("empty_input", &["-arch=sm_80"], &["empty.ptx"]),
        ("bad_input", &["-arch=sm_80"], &["inner_nul.ptx"]),
        ("bad_input", &["-arch=sm_80"], &["half.fatbin"]),
        ("bad_input", &["-arch=sm_80"], &["half.cubin"]),
        ("bad_input", &["-arch=sm_80"], &["half.ltoir"]),
        ("bad_input", &["-arch=sm_80"], &["half.a"]),
        ("bad_input", &["-arch=sm_80"], &["half.o"]),
        ("unrecognized_input", &["-arch=sm_80"], &["text.txt"]),
        ("unrecognized_input", &["-arch=sm_80"], &["wide/optix.optixir"]),
        ("wrong_input_kind", &["-arch=sm_80", "--kind", "cubin"], &["12.0/kernel.ptx"]),
        ("input_too_new", &["-arch=sm_80"], &["too_new.ptx"]),
        ("arch_mismatch", &["-arch=sm_75"], &["12.0/kernel.ptx"]),
        ("arch_mismatch", &["-arch=sm_90"], &["12.0/kernel.cubin"]),
        ("arch_mismatch", &["-arch=sm_75"], &["12.0/kernel.ltoir"]),
        ("arch_mismatch", &["-arch=sm_75"], &["12.0/kernel.fatbin"]),
        ("no_device_code", &["-arch=sm_80"], &["wide/host_only.o"]),
        ("not_relocatable", &["-arch=sm_80"], &["wide/whole.cubin", "12.0/helper.ptx"]),
        ("not_ltoir", &["-arch=sm_80", "-ptx"], &["12.0/helper.ltoir", "12.0/kernel.ptx"]),
        ("over_limit", &["-arch=sm_80", "--max-unpacked-bytes=100"], &["wide/kernel.old.zstd.fatbin"]),
        ("compile_failed", &["-arch=sm_80"], &["syntax.ptx"]),
        ("unresolved_symbol", &["-arch=sm_80"], &["12.0/kernel.ltoir"]),
    ];
    for release in RELEASES {
        for (class, options, inputs) in cases {
            let mut command = cudalink();
            command.args(["link", "--json", "-o", "/dev/null", "--library"]).arg(nvjitlink(release)).args(*options);
            for input in *inputs {
                let broken = folder.path().join(input);
                command.arg(if broken.exists() || *class == "file_not_found" { broken } else { fixture(input) });
            }
            let (report, status) = support::json(&mut command);
            let expected = (support::exit_status_of(class), &(*class).into());
            assert_eq!((status, &report["result"]), expected, "{options:?} {inputs:?} on {release}: {report}");
            assert!(!report["message"].as_str().unwrap().is_empty());
        }
    }
}

/// Of CUDA 13.5, so that every older library finds it too new.
#[test]
fn what_is_too_new_for_a_release_is_told_with_both_releases() {
    for release in &RELEASES[..5] {
        for file in ["13.5/kernel.ltoir", "13.5/kernel.ptx", "13.5/kernel.lto.o"] {
            let mut command = cudalink();
            command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink(release));
            let (report, _) = support::json(command.arg(fixture(file)));
            assert_eq!(report["result"], "input_too_new", "{file} on {release}: {report}");
            let message = report["message"].as_str().unwrap();
            let found = release.rsplit_once('.').unwrap().0;
            assert!(message.contains("13.") && message.contains(found) && message.contains(file), "{message}");
        }
    }
}
