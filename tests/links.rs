//! Every kind of input links on every nvJitLink that can read it, to the same bytes that the raw library gives.
//! Options are given to the raw library in our order: `-lto` last.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{PRODUCERS, fixture, nvjitlink, root, run};

/// A link of two units: what is passed to the raw library, and beside it to us.
struct Form {
    name: &'static str,
    wanted: &'static str,
    raw_options: &'static [&'static str],
    /// What says the same to us, where we would decide otherwise by ourselves.
    our_options: &'static [&'static str],
    inputs: [&'static str; 2],
    /// The same device code as fatbins, for a raw 12.0: it links objects from memory that it has freed, and crashes on archives.
    as_fatbins: Option<[&'static str; 2]>,
}

const fn form(
    name: &'static str,
    raw_options: &'static [&'static str],
    our_options: &'static [&'static str],
    inputs: [&'static str; 2],
) -> Form {
    Form { name, wanted: "cubin", raw_options, our_options, inputs, as_fatbins: None }
}

const fn host_form(name: &'static str, options: &'static [&'static str], inputs: [&'static str; 2], as_fatbins: [&'static str; 2]) -> Form {
    Form { as_fatbins: Some(as_fatbins), ..form(name, options, &[], inputs) }
}

const FATBINS: [&str; 2] = ["fatbin:kernel.zip.fatbin", "fatbin:helper.zip.fatbin"];
const LTO_FATBINS: [&str; 2] = ["fatbin:kernel.lto.fatbin", "fatbin:helper.lto.fatbin"];

const FORMS: &[Form] = &[
    form("PTX", &[], &[], ["ptx:kernel.ptx", "ptx:helper.ptx"]),
    form("LTO-IR", &["-lto"], &[], ["ltoir:kernel.ltoir", "ltoir:helper.ltoir"]),
    form("cubin", &[], &[], ["cubin:kernel.cubin", "cubin:helper.cubin"]),
    form("fatbin", &[], &[], ["fatbin:kernel.fatbin", "fatbin:helper.fatbin"]),
    form("fatbin of LTO-IR", &["-lto"], &[], ["fatbin:kernel.lto.fatbin", "fatbin:helper.lto.fatbin"]),
    form("compressed fatbin", &[], &[], ["fatbin:kernel.zip.fatbin", "fatbin:helper.zip.fatbin"]),
    host_form("object", &[], ["object:kernel.o", "object:helper.o"], FATBINS),
    host_form("object of LTO-IR", &["-lto"], ["object:kernel.lto.o", "object:helper.lto.o"], LTO_FATBINS),
    host_form("archive", &[], ["object:kernel.o", "library:libhelper.a"], FATBINS),
    host_form("archive of LTO-IR", &["-lto"], ["object:kernel.lto.o", "library:libhelper.lto.a"], LTO_FATBINS),
    form("PTX and LTO-IR", &["-lto"], &[], ["ptx:kernel.ptx", "ltoir:helper.ltoir"]),
    form("debug", &["-g", "-lineinfo", "-O0"], &["-O0", "-lineinfo", "-g"], ["ptx:kernel.ptx", "ptx:helper.ptx"]),
    Form {
        name: "to PTX",
        wanted: "ptx",
        raw_options: &["-ptx", "-lto"],
        our_options: &[],
        inputs: ["ltoir:kernel.ltoir", "ltoir:helper.ltoir"],
        as_fatbins: None,
    },
    Form {
        name: "to LTO-IR",
        wanted: "ltoir",
        raw_options: &["-lto"],
        our_options: &[],
        inputs: ["ltoir:kernel.ltoir", "ltoir:helper.ltoir"],
        as_fatbins: None,
    },
];

/// What an nvJitLink makes of every form from every producer is what it makes of it through us; gives how many it links.
fn compare(version: &str) -> usize {
    let library = nvjitlink(version);
    let folder = tempfile::tempdir().unwrap();
    let program = support::compile_c("link.c", folder.path());
    let [raw_output, our_output] = ["raw", "ours"].map(|name| folder.path().join(name));
    let mut linked = 0;
    for producer in PRODUCERS {
        for form in FORMS {
            let arguments = |options: &[&str], inputs: [&str; 2]| -> Vec<String> {
                let inputs = inputs.map(|input| {
                    let (kind, file) = input.split_once(':').unwrap();
                    format!("{kind}:{}", fixture(Path::new(producer).join(file)).display())
                });
                ["-arch=sm_80"].iter().chain(options).map(|option| option.to_string()).chain(inputs).collect()
            };
            let raw_inputs = form.as_fatbins.filter(|_| version == "12.0.140").unwrap_or(form.inputs);
            let mut raw = Command::new("python3");
            raw.arg(root().join("tests/support/raw_nvjitlink.py"));
            raw.arg(&library).arg(&raw_output).arg(form.wanted).args(arguments(form.raw_options, raw_inputs));
            let raw = raw.output().unwrap();
            let raw_linked = raw.status.success() && raw.stdout.ends_with(b"ok\n");
            let ours =
                run(Command::new(&program).arg(&library).arg(&our_output).arg(form.wanted).args(arguments(form.our_options, form.inputs)));
            let what = format!("{} from CUDA {producer} on nvJitLink {version}", form.name);
            if !raw_linked {
                assert!(ours != "ok\n", "{what}: linked, and the raw library answers {}", String::from_utf8_lossy(&raw.stdout));
                continue;
            }
            assert_eq!(ours, "ok\n", "{what}");
            assert!(fs::read(&raw_output).unwrap() == fs::read(&our_output).unwrap(), "{what}: other bytes than the raw library gives");
            linked += 1;
        }
    }
    linked
}

// The counts are those of the fixtures' table: forms that this release can read.

#[test]
fn nvjitlink_12_0_links_what_the_raw_library_links() {
    assert_eq!(compare("12.0.140"), 13);
}

#[test]
fn nvjitlink_12_4_links_what_the_raw_library_links() {
    assert_eq!(compare("12.4.127"), 26);
}

#[test]
fn nvjitlink_12_9_links_what_the_raw_library_links() {
    assert_eq!(compare("12.9.86"), 49);
}

#[test]
fn nvjitlink_13_0_links_what_the_raw_library_links() {
    assert_eq!(compare("13.0.88"), 52);
}

#[test]
fn nvjitlink_13_5_links_what_the_raw_library_links() {
    assert_eq!(compare("13.5.37"), 70);
}
