//! A table of entry points is filled from one library, whichever way that library spells its names.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use support::{compile_c, cudalink, fake, fixture, json, link_with_fake, nvjitlink, run, steps};

const NAMES_OF_A_LINK: [&str; 8] =
    ["Create", "AddData", "Complete", "GetLinkedCubinSize", "GetLinkedCubin", "GetErrorLogSize", "GetInfoLogSize", "Destroy"];

fn doctor(library: &Path) -> serde_json::Value {
    json(cudalink().args(["doctor", "--json"]).env("CUDALINK_NVJITLINK", library)).0
}

/// Links through a stub, and checks under which names and which version it was used.
fn works_as(defines: &[&str], suffix: &str, version: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let library = fake(folder.path().join("libnvJitLink.so"), defines);
    let ptx = fixture("12.0/kernel.ptx");
    let link = link_with_fake(folder.path(), &library, &["-arch=sm_80", ptx.to_str().unwrap()]);
    assert_eq!((link.result(), link.status), ("ok", 0), "{defines:?}: {}", link.json);
    assert_eq!(link.json["plan"]["library"]["version"], json!(version), "{defines:?}");
    assert_eq!(link.call_names(), NAMES_OF_A_LINK.map(|name| format!("{name}{suffix}")), "{defines:?}");

    let library_found = &doctor(&library)["library"];
    assert_eq!(library_found["version"], json!(version), "{defines:?}");
    assert_eq!(library_found["has_version"], json!(defines.iter().any(|define| define.starts_with("MAJOR"))), "{defines:?}");

    let file = fs::canonicalize(&library).unwrap();
    let queried = run(steps(folder.path()).arg("library").arg(&library).arg("query"));
    let expected = format!("query ok: {} {}, by the option library_path\n", version.unwrap_or("0.0"), file.display());
    assert_eq!(queried, expected, "{defines:?}");
}

#[test]
fn a_library_with_names_of_12_0_only_works_as_12_0() {
    works_as(&["SUFFIXED_12_0"], "_12_0", Some("12.0"));
}

#[test]
fn of_several_suffixes_the_highest_is_taken() {
    works_as(&["SUFFIXED_12_2"], "_12_2", Some("12.2"));
}

#[test]
fn plain_names_are_taken_before_those_with_a_suffix() {
    works_as(&["PLAIN", "SUFFIXED_12_2", "MAJOR=12", "MINOR=9"], "", Some("12.9"));
}

#[test]
fn plain_names_work_alone_with_and_without_a_version() {
    works_as(&["PLAIN", "MAJOR=12", "MINOR=3"], "", Some("12.3"));
    works_as(&["PLAIN"], "", None);
}

#[test]
fn releases_to_come_work_under_their_own_version() {
    works_as(&["PLAIN", "MAJOR=13", "MINOR=6", "LINKED_LTOIR"], "", Some("13.6"));
    works_as(&["PLAIN", "MAJOR=14", "MINOR=0", "LINKED_LTOIR"], "", Some("14.0"));
}

#[test]
fn a_library_that_lacks_complete_is_refused_by_file_and_name() {
    let folder = tempfile::tempdir().unwrap();
    for (defines, file) in [(["PLAIN", "NO_COMPLETE"], "plain.so"), (["SUFFIXED_12_2", "NO_COMPLETE"], "suffixed.so")] {
        let library = fake(folder.path().join(file), &defines);
        let link = link_with_fake(folder.path(), &library, &["-arch=sm_80", fixture("12.0/kernel.ptx").to_str().unwrap()]);
        assert_eq!((link.result(), link.status), ("library_unusable", 1));
        assert_eq!(link.call_names(), [""; 0], "nothing of a table that is not whole is called");
        let doctor = doctor(&library);
        assert_eq!(doctor["result"], "library_unusable");
        let queried = run(steps(folder.path()).arg("library").arg(&library).arg("query"));
        assert!(queried.starts_with("query library_unusable: "), "{queried}");
        for message in [link.message(), doctor["message"].as_str().unwrap(), &queried] {
            assert!(message.contains(library.to_str().unwrap()) && message.contains("nvJitLinkComplete"), "{message}");
        }
    }
}

#[test]
fn what_a_library_lacks_is_not_taken_from_another_that_the_host_opened_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fake(folder.path().join("whole.so"), &["PLAIN", "MAJOR=13", "MINOR=5", "LINKED_LTOIR"]);
    let lacks_complete = fake(folder.path().join("lacks_complete.so"), &["PLAIN", "NO_COMPLETE"]);
    let lacks_ltoir = fake(folder.path().join("lacks_ltoir.so"), &["PLAIN"]);
    let log = folder.path().join("calls");
    let mut steps = steps(folder.path());
    steps.env("FAKE_LOG", &log).arg("open").arg(&whole).arg("library").arg(&lacks_complete).arg("query");
    let out = run(steps.arg("library").arg(&lacks_ltoir).arg("query"));
    let (refused, taken) = out.split_once('\n').unwrap();
    assert!(refused.starts_with("query library_unusable") && refused.contains("nvJitLinkComplete"), "{out}");
    assert!(taken.starts_with("query ok: 0.0 "), "the version is not the other library's: {out}");
}

#[test]
fn a_library_without_linked_ltoir_works_until_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let without = fake(folder.path().join("without.so"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let with = fake(folder.path().join("with.so"), &["PLAIN", "MAJOR=13", "MINOR=5", "LINKED_LTOIR"]);
    let ltoir = fixture("12.0/kernel.ltoir");
    let ltoir = ltoir.to_str().unwrap();

    let link = link_with_fake(folder.path(), &without, &["-arch=sm_80", ltoir]);
    assert_eq!(link.result(), "ok", "{}", link.json);
    let link = link_with_fake(folder.path(), &without, &["-arch=sm_80", "--emit", "ltoir", ltoir]);
    assert_eq!((link.result(), link.status), ("unsupported_option", 1));
    assert!(link.message().contains("nvJitLinkGetLinkedLTOIR") && link.message().contains("without.so"), "{}", link.message());
    assert_eq!(link.call_names(), [""; 0]);
    let link = link_with_fake(folder.path(), &with, &["-arch=sm_80", "--emit", "ltoir", ltoir]);
    assert_eq!(link.result(), "ok", "{}", link.json);
    assert!(link.call_names().contains(&"GetLinkedLTOIR"), "{:?}", link.calls);

    assert_eq!(doctor(&without)["library"]["has_linked_ltoir"], false);
    assert_eq!(doctor(&with)["library"]["has_linked_ltoir"], true);
}

/// Each file stands at the library's path until a good one takes its place, in one process.
#[test]
fn a_failure_is_not_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let library = at("libnvJitLink.so");
    fs::write(at("text"), "no library").unwrap();
    fake(at("lacks_complete"), &["PLAIN", "NO_COMPLETE"]);
    for first in ["missing", "text", "lacks_complete"] {
        let _ = fs::remove_file(&library);
        let good = fake(at("good"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
        let mut steps = steps(folder.path());
        if first != "missing" {
            steps.arg("rename").arg(at(first)).arg(&library);
        }
        steps.arg("library").arg(&library).arg("query").arg("rename").arg(good).arg(&library).arg("query");
        steps.args(["flag", "-arch=sm_80", "create", "add"]).arg(fixture("12.0/kernel.ptx")).args(["kernel", "complete"]);
        let out = run(&mut steps);
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].starts_with("query library_unusable: "), "{first}: {out}");
        assert!(lines[1].starts_with("query ok: 13.5 "), "{first}: {out}");
        assert_eq!(lines[2..], ["create ok", "add ok", "complete ok"], "{first}");
    }
}

/// The real 12.9 and 13.5 in one process, from several threads; each output is the one that the library gives when it is called directly.
fn side_by_side(host: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_c("side_by_side.c", folder.path());
    let inputs = [fixture("12.0/kernel.ltoir"), fixture("12.0/helper.ltoir")];
    let libraries = ["12.9.86", "13.5.37"].map(|version| {
        let (library, expected) = (nvjitlink(version), folder.path().join(version));
        run(Command::new(&program).arg("raw").arg(&library).arg(&expected).args(&inputs));
        [library, expected]
    });
    let mut command = Command::new(&program);
    command.args(libraries.as_flattened()).arg(host.map_or("-".into(), nvjitlink)).args(&inputs);
    assert_eq!(run(&mut command), "24 links\n");
}

#[test]
fn two_libraries_live_side_by_side() {
    side_by_side(None);
}

#[test]
fn what_the_host_opened_for_all_neither_disturbs_nor_is_disturbed() {
    side_by_side(Some("12.4.127"));
}
