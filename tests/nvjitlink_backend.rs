//! What an nvJitLink is told, in which order, and what is made of its answers. The library is a stub that writes down every call.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use support::{FakeLink, calls, fake, fixture, link_with_fake, run, steps};
use tempfile::TempDir;

const V12_4: [&str; 3] = ["PLAIN", "MAJOR=12", "MINOR=4"];
const V12_8: [&str; 3] = ["PLAIN", "MAJOR=12", "MINOR=8"];
const V13_5: [&str; 4] = ["PLAIN", "MAJOR=13", "MINOR=5", "LINKED_LTOIR"];

/// A stub of the release `version` that has `defines` too.
fn stub(version: &[&str], defines: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let library = fake(folder.path().join("libnvJitLink.so"), &[version, defines].concat());
    (folder, library)
}

fn ptx() -> String {
    fixture("12.0/helper.ptx").to_str().unwrap().to_owned()
}

fn ltoir() -> String {
    fixture("12.0/kernel.ltoir").to_str().unwrap().to_owned()
}

fn link(version: &[&str], defines: &[&str], arguments: &[&str]) -> FakeLink {
    let (folder, library) = stub(version, defines);
    let link = link_with_fake(folder.path(), &library, arguments);
    destroyed_once(&link.calls);
    assert_eq!(link.status, support::exit_status_of(link.result()));
    assert_eq!(link.output.is_some(), link.result() == "ok", "an output is written by a link that succeeded, and by no other");
    link
}

/// Every handle is destroyed once, by the last call that it is in.
fn destroyed_once(calls: &[String]) {
    let of_handle = |call: &str| call.split(' ').nth(1).map(str::to_owned);
    for handle in calls.iter().filter(|call| call.starts_with("Create")).map(|call| of_handle(call)) {
        let of_this: Vec<_> = calls.iter().filter(|call| of_handle(call) == handle).collect();
        let destroys: Vec<_> = of_this.iter().filter(|call| call.starts_with("Destroy")).collect();
        assert_eq!(destroys.len(), 1, "{calls:#?}");
        assert_eq!(*destroys[0], of_this[of_this.len() - 1], "{calls:#?}");
    }
}

/// FNV-1a, as the stub has it.
fn hash(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf29ce484222325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100000001b3));
    format!("{hash:016x}")
}

#[test]
fn a_link_calls_in_order_and_reads_the_logs_before_destroy() {
    let link = link(&V13_5, &["INFO=\"told\""], &["-arch=sm_80", &ptx(), fixture("12.0/kernel.ptx").to_str().unwrap()]);
    let expected = [
        "Create",
        "AddData",
        "AddData",
        "Complete",
        "GetLinkedCubinSize",
        "GetLinkedCubin",
        "GetErrorLogSize",
        "GetInfoLogSize",
        "GetInfoLog",
        "Destroy",
    ];
    assert_eq!(link.call_names(), expected);
    assert_eq!(link.json["logs"], json!({ "error": "", "info": "told" }));
    assert_eq!(link.output.unwrap(), std::fs::read(fixture("wide/whole.cubin")).unwrap());
}

#[test]
fn each_output_kind_is_got_by_its_own_getter() {
    for (emit, getter) in [("cubin", "GetLinkedCubin"), ("ptx", "GetLinkedPtx"), ("ltoir", "GetLinkedLTOIR")] {
        let link = link(&V13_5, &[], &["-arch=sm_80", "--emit", emit, &ltoir()]);
        let got: Vec<_> = link.call_names().into_iter().filter(|name| name.starts_with("GetLinked")).collect();
        assert_eq!(got, [format!("{getter}Size"), getter.to_owned()]);
    }
}

#[test]
fn options_have_one_order_and_lto_is_last() {
    let given = ["-dlto", "-verbose", "-Xptxas=-v", "-lineinfo", "-Xptxas=-w", "-ftz=1", "-O3", "-arch=sm_80", "-maxrregcount=32"];
    let expected = "Create 1 -arch=sm_80 -O3 -lineinfo -maxrregcount=32 -ftz=1 -Xptxas=-v -Xptxas=-w -verbose -lto";
    let mut reversed = given;
    reversed.reverse();
    // The order within a list is the caller's.
    let expected_reversed = expected.replace("-Xptxas=-v -Xptxas=-w", "-Xptxas=-w -Xptxas=-v");
    let ltoir = ltoir();
    for (flags, expected) in [(given, expected), (reversed, &expected_reversed)] {
        let arguments: Vec<&str> = flags.into_iter().chain([ltoir.as_str()]).collect();
        assert_eq!(link(&V13_5, &[], &arguments).call("Create"), expected);
    }
    let lto_of_ours = link(&V13_5, &[], &["-verbose", "-arch=sm_80", &ltoir]);
    assert_eq!(lto_of_ours.call("Create"), "Create 1 -arch=sm_80 -verbose -lto");
}

#[test]
fn ptx_ends_in_one_nul_whatever_the_caller_passed() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read(ptx()).unwrap();
    assert_ne!(text.last(), Some(&0));
    let with_nul = [&text[..], b"\0"].concat();
    for nuls in [0, 1, 3] {
        let file = folder.path().join(format!("{nuls}.ptx"));
        fs::write(&file, [&text[..], &vec![0; nuls]].concat()).unwrap();
        let file = file.to_str().unwrap();
        let link = link(&V13_5, &[], &["-arch=sm_80", file]);
        let expected = format!("AddData 1 type 2 size {} nuls 1 hash {} name {file}", with_nul.len(), hash(&with_nul));
        assert_eq!(link.call("AddData"), expected);
    }
}

#[test]
fn cubins_and_ltoir_are_passed_byte_for_byte_under_their_types() {
    for (file, input_type) in [("13.0/kernel.cubin", 1), ("13.0/kernel.ltoir", 3), ("12.0/kernel.ltoir", 3)] {
        let bytes = fs::read(fixture(file)).unwrap();
        let link = link(&V13_5, &[], &["-arch=sm_80", fixture(file).to_str().unwrap()]);
        let call = link.call("AddData");
        assert!(call.starts_with(&format!("AddData 1 type {input_type} size {} ", bytes.len())), "{file}: {call}");
        assert!(call.contains(&format!(" hash {} ", hash(&bytes))), "{file}: {call}");
    }
}

#[test]
fn names_live_until_the_handle_is_destroyed() {
    let (folder, library) = stub(&V13_5, &[]);
    let log = folder.path().join("calls");
    // Long enough that freed memory would not still hold them.
    let names = ["the-first-of-the-two-units-of-this-link", "the-second-of-the-two-units-of-this-link"];
    let mut steps = steps(folder.path());
    steps.env("FAKE_LOG", &log).arg("library").arg(library).args(["flag", "-arch=sm_80", "create"]);
    let files = ["12.0/helper.ptx", "12.0/kernel.ptx"].map(fixture);
    files.iter().zip(names).for_each(|(file, name)| _ = steps.arg("add").arg(file).arg(name));
    run(steps.args(["complete", "destroy"]));
    let calls = calls(&log);
    for call in ["Complete", "Destroy"] {
        assert!(calls.contains(&format!("{call} 1 {} {}", names[0], names[1])), "{call}: {calls:#?}");
    }
}

#[test]
fn the_getter_of_an_empty_log_is_not_called() {
    let ptx = ptx();
    // The stub writes a byte if it is.
    for defines in [&[][..], &["CREATE=1"], &["ADD=3"], &["COMPLETE=6"]] {
        let link = link(&V13_5, defines, &["-arch=sm_80", &ptx]);
        let names = link.call_names();
        assert!(names.contains(&"GetErrorLogSize"), "{defines:?}: {names:?}");
        assert!(!names.contains(&"GetErrorLog") && !names.contains(&"GetInfoLog"), "{defines:?}: {names:?}");
        assert_eq!(link.json["logs"], json!({ "error": "", "info": "" }), "{defines:?}");
    }
}

/// What is common to every refusal: its log is read before destroy, and is kept whole, beside its number.
fn refused(link: &FakeLink, call: &str, code: i32, class: &str) {
    assert_eq!(link.result(), class, "{}", link.json);
    let diagnostic = &link.json["diagnostics"][0];
    assert_eq!(diagnostic["backend"], json!({ "call": call, "code": code, "text": "first line\nsecond line" }));
    assert_eq!((&diagnostic["result"], &diagnostic["severity"]), (&json!(class), &json!("error")));
    assert!(link.message().contains("first line\nsecond line"), "{}", link.message());
    assert_eq!(link.json["logs"]["error"], "first line\nsecond line");
    assert!(link.json["output"].is_null());
    let at = |name| link.call_names().iter().position(|call| *call == name);
    assert!(at("GetErrorLog").is_some() && (at("Destroy").is_none() || at("GetErrorLog") < at("Destroy")), "{:?}", link.calls);
    assert!(!link.call_names().iter().any(|name| name.starts_with("GetLinked")) || call.starts_with("nvJitLinkGet"), "{:?}", link.calls);
}

const LOG: &str = "LOG=\"first line\\nsecond line\"";

#[test]
fn a_failed_create_is_read_and_destroyed() {
    for version in [&V12_4[..], &V12_8, &V13_5] {
        let link = link(version, &["CREATE=1", LOG, "CRASHING_DESTROY"], &["-arch=sm_80", "--lto", "off", &ptx()]);
        refused(&link, "nvJitLinkCreate", 1, "unknown_option");
        assert_eq!(link.call_names().last(), Some(&"Destroy"));
        assert!(!link.call_names().contains(&"AddData"), "{:?}", link.calls);
    }
    let link = link(&V12_8, &["CREATE=1", LOG], &["-arch=sm_80", "-lto", &ltoir()]);
    refused(&link, "nvJitLinkCreate", 1, "unknown_option");
}

/// 12.0 to 12.6 crash there. The names of 12.0 to 12.2 tell their version too.
#[test]
fn a_failed_create_with_lto_is_read_and_left_behind_where_destroy_would_crash() {
    for version in [&V12_4[..], &["SUFFIXED_12_2"], &["SUFFIXED_12_0"]] {
        let (folder, library) = stub(version, &["CREATE=1", LOG, "CRASHING_DESTROY"]);
        let mut link = link_with_fake(folder.path(), &library, &["-arch=sm_80", "-lto", &ltoir()]);
        for call in &mut link.calls {
            *call = call.replace("_12_0", "").replace("_12_2", "");
        }
        refused(&link, "nvJitLinkCreate", 1, "unknown_option");
        assert!(!link.call_names().contains(&"Destroy"), "{:?}", link.calls);
        assert!(link.json["plan"]["options"].as_array().unwrap().contains(&json!("-lto")));
    }
}

#[test]
fn a_refused_input_ends_the_link() {
    let (first, second) = (fixture("12.0/kernel.ptx"), fixture("12.0/helper.ptx"));
    let first = first.to_str().unwrap();
    let link = link(&V12_4, &["ADD=3", LOG], &["-arch=sm_80", first, second.to_str().unwrap()]);
    refused(&link, "nvJitLinkAddData", 3, "bad_input");
    assert_eq!(link.json["diagnostics"][0]["input"], first);
    assert!(link.message().contains(first), "{}", link.message());
    assert_eq!(link.call_names().iter().filter(|name| **name == "AddData").count(), 1, "{:?}", link.calls);
    assert!(!link.call_names().contains(&"Complete"), "{:?}", link.calls);
}

/// The stub, as the real library, would give bytes all the same.
#[test]
fn nothing_is_got_after_a_failed_complete() {
    let link = link(&V13_5, &["COMPLETE=6", LOG], &["-arch=sm_80", &ptx()]);
    refused(&link, "nvJitLinkComplete", 6, "link_failed");
    assert!(link.json["diagnostics"][0]["input"].is_null());
}

#[test]
fn an_output_that_the_library_does_not_give_is_a_failure() {
    let link = link(&V13_5, &["GET=6", LOG], &["-arch=sm_80", &ptx()]);
    refused(&link, "nvJitLinkGetLinkedCubin", 6, "link_failed");
}

#[test]
fn an_empty_output_is_a_failure() {
    let link = link(&V13_5, &["EMPTY"], &["-arch=sm_80", &ptx()]);
    assert_ne!(link.result(), "ok", "{}", link.json);
    assert!(!link.call_names().contains(&"GetLinkedCubin"), "{:?}", link.calls);
}

#[test]
fn numbers_become_classes_by_the_major_version() {
    let classes = [
        (1, "unknown_option", "unknown_option"),
        (2, "missing_arch", "missing_arch"),
        (3, "bad_input", "bad_input"),
        (4, "compile_failed", "compile_failed"),
        (5, "compile_failed", "compile_failed"),
        (6, "link_failed", "link_failed"),
        (7, "link_failed", "link_failed"),
        (8, "unrecognized_input", "unrecognized_input"),
        (9, "link_failed", "link_failed"),
        // Numbers of 13.0. A 12.x that answers one of them means something else.
        (11, "link_failed", "incompatible_options"),
        (12, "link_failed", "wrong_input_kind"),
        (13, "link_failed", "arch_mismatch"),
        (14, "link_failed", "input_too_new"),
        (16, "link_failed", "unsupported_arch"),
        (17, "link_failed", "unsupported_arch"),
        (18, "link_failed", "incompatible_options"),
        (99, "link_failed", "link_failed"),
        (-1, "link_failed", "link_failed"),
    ];
    // The stub reads its answer when it is called, so one of each version does.
    let code = "COMPLETE=atoi(getenv(\"CODE\"))";
    let ptx = ptx();
    let stub_of = |defines: &[&str]| stub(defines, &[code, LOG]);
    let (v12_0, v12_8, v13_5, unknown) = (stub_of(&["SUFFIXED_12_0"]), stub_of(&V12_8), stub_of(&V13_5), stub_of(&["PLAIN"]));
    for (code, in_12, in_13) in classes {
        for ((folder, library), class) in [(&v12_0, in_12), (&v12_8, in_12), (&v13_5, in_13), (&unknown, in_13)] {
            let link = answered(folder.path(), library, code, &ptx);
            assert_eq!(link.0, class, "{code} of {:?}", library);
            assert_eq!(link.1, json!({ "call": "nvJitLinkComplete", "code": code, "text": "first line\nsecond line" }));
        }
    }
}

fn answered(folder: &Path, library: &Path, code: i32, input: &str) -> (String, serde_json::Value) {
    let mut tool: Command = support::cudalink();
    tool.args(["link", "--json", "-arch=sm_80", "-o"]).arg(folder.join("output")).arg("--library").arg(library).arg(input);
    let (json, _) = support::json(tool.env("CODE", code.to_string()));
    (json["result"].as_str().unwrap().to_owned(), json["diagnostics"][0]["backend"].clone())
}

/// One mistake has one class, whatever number a release has for it.
#[test]
fn the_librarys_text_decides_where_it_says_more_than_the_number() {
    for (version, code, text, class) in [
        (
            &V12_4[..],
            "COMPLETE=6",
            "ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer version of nvJitLink library",
            "input_too_new",
        ),
        (&V13_5, "ADD=14", "whatever it says", "input_too_new"),
        (
            &V12_8,
            "ADD=4",
            "ptxas application ptx input, line 1; fatal : Unsupported .version 9.2; current version is '8.7'",
            "input_too_new",
        ),
        (&V12_4, "ADD=6", "ERROR 100 in LTOIR arch newer than target arch", "arch_mismatch"),
        (&V13_5, "COMPLETE=6", "ERROR 9: Undefined reference to '_Z1fi' in 'unit'", "unresolved_symbol"),
        (&V13_5, "COMPLETE=4", "Unresolved extern function '_Z1fi'", "unresolved_symbol"),
        (&V12_4, "ADD=3", "Multiple definition of '_Z1fi' in 'unit'", "duplicate_symbol"),
    ] {
        let link = link(version, &[code, &format!("LOG=\"{text}\"")], &["-arch=sm_80", &ptx()]);
        assert_eq!(link.result(), class, "{text}");
        assert_eq!(link.json["diagnostics"][0]["backend"]["text"], text);
    }
}

/// Runs steps against a fresh stub; gives what each came to and the calls that arrived.
fn steps_of(defines: &[&str], steps_and_arguments: &[&str]) -> (Vec<String>, Vec<String>) {
    let (folder, library) = stub(&V13_5, defines);
    let log = folder.path().join("calls");
    let mut steps = steps(folder.path());
    steps.env("FAKE_LOG", &log).arg("library").arg(library).args(["flag", "-arch=sm_80"]).args(steps_and_arguments);
    let out = run(&mut steps).lines().map(str::to_owned).collect();
    let calls = calls(&log);
    destroyed_once(&calls);
    (out, calls.iter().filter_map(|call| call.split(' ').next()).map(str::to_owned).collect())
}

#[test]
fn no_call_out_of_order_reaches_the_library() {
    let (good, bad) = (ptx(), fixture("README.md")); // No input at all.
    let bad = bad.to_str().unwrap();

    let (out, calls) = steps_of(&[], &["create", "get-cubin", "add", &good, "a", "get-cubin", "destroy"]);
    assert_eq!(out, ["create ok", "get-cubin 0 bytes, invalid_state", "add ok", "get-cubin 0 bytes, invalid_state", "destroy "]);
    assert_eq!(calls, [""; 0], "before complete");

    let (out, calls) = steps_of(&[], &["create", "add", bad, "a", "add", &good, "b", "complete", "get-cubin", "destroy"]);
    let refused = "add invalid_state|complete invalid_state|get-cubin 0 bytes, invalid_state|destroy ";
    assert_eq!(out.join("|"), format!("create ok|add unrecognized_input|{refused}"));
    assert_eq!(calls, [""; 0], "after an input that was refused");

    let (_, of_a_link) = steps_of(&[], &["create", "add", &good, "a", "complete", "destroy"]);
    let (out, calls) =
        steps_of(&[], &["create", "add", &good, "a", "complete", "add", &good, "b", "complete", "get-cubin", "get-ltoir", "destroy"]);
    let after = "add invalid_state|complete invalid_state|get-cubin 3240 bytes, ok|get-ltoir 0 bytes, output_not_available|destroy ";
    assert_eq!(out.join("|"), format!("create ok|add ok|complete ok|{after}"));
    assert_eq!(calls, of_a_link, "after complete");

    let (_, of_a_failure) = steps_of(&["COMPLETE=6"], &["create", "add", &good, "a", "complete", "destroy"]);
    let (out, calls) =
        steps_of(&["COMPLETE=6"], &["create", "add", &good, "a", "complete", "add", &good, "b", "complete", "get-cubin", "destroy"]);
    assert_eq!(out.join("|"), format!("create ok|add ok|complete link_failed|{refused}"));
    assert_eq!(calls, of_a_failure, "after a failed complete");
}

#[test]
fn logs_and_message_can_be_read_after_a_failure() {
    let (out, _) = steps_of(
        &["COMPLETE=6", "LOG=\"why\"", "INFO=\"told\""],
        &["create", "add", &ptx(), "a", "complete", "error-log", "info-log", "message"],
    );
    assert_eq!(out[2..5], ["complete link_failed", "error-log ok: why", "info-log ok: told"]);
    assert!(out[5].starts_with("message nvJitLink 13.5") && out[5].ends_with(" failed: why"), "{out:?}");
}
