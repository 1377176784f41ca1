//! The command line tool: what it prints, and its exit status.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{cudalink, fixture, nvjitlink};

/// Runs the tool with `--json`; gives its exit status and the object that it printed.
fn json(command: &mut Command) -> (i32, Value) {
    let (printed, status) = support::json(command.arg("--json"));
    (status, printed)
}

fn link(library: &Path, folder: &Path, arguments: &[&str]) -> (i32, Value) {
    json(cudalink().arg("link").arg("--library").arg(library).arg("-o").arg(folder.join("out.cubin")).args(arguments))
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_link_tells_everything_in_one_object() {
    let folder = tempfile::tempdir().unwrap();
    let library = nvjitlink("13.5.37");
    for (form, options) in [("ltoir", ["-arch=sm_80", "-lto"]), ("ptx", ["-arch=sm_80", "-g"])] {
        let inputs = ["kernel", "helper"].map(|unit| fixture(format!("12.9/{unit}.{form}")).display().to_string());
        let (status, report) = link(&library, folder.path(), &[options[0], options[1], &inputs[0], &inputs[1]]);
        assert_eq!((status, &report["result"], &report["message"]), (0, &"ok".into(), &"".into()), "{report}");
        assert_eq!(keys(&report), ["diagnostics", "logs", "message", "output", "plan", "result"]);
        assert_eq!(keys(&report["plan"]), ["backend", "decisions", "library", "options"]);
        assert_eq!(keys(&report["output"]), ["kernels", "kind", "path", "size", "undefined"]);
        assert_eq!(keys(&report["logs"]), ["error", "info"]);
        assert_eq!(report["plan"]["library"]["version"], "13.5");
        assert_eq!(report["plan"]["options"], serde_json::json!(options));
        assert_eq!(report["output"]["kernels"], serde_json::json!(["kernel"]));
        assert_eq!(report["output"]["size"], fs::metadata(folder.path().join("out.cubin")).unwrap().len());
    }
}

#[test]
fn each_mistake_has_its_class_and_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let text_file = folder.path().join("libnvJitLink.so.13");
    fs::write(&text_file, "not a library").unwrap();
    let library = nvjitlink("13.5.37");
    let kernel = fixture("12.0/kernel.ptx").display().to_string();
    for (class, library, arguments) in [
        ("missing_arch", &library, vec![kernel.as_str()]),
        ("unknown_option", &library, vec!["-arch=sm_80", "-bogus", &kernel]),
        ("bad_arch", &library, vec!["-arch=80", &kernel]),
        ("file_not_found", &library, vec!["-arch=sm_80", "no/such/file.ptx"]),
        ("no_inputs", &library, vec!["-arch=sm_80"]),
        ("library_unusable", &text_file, vec!["-arch=sm_80", &kernel]),
        ("unresolved_symbol", &library, vec!["-arch=sm_80", &kernel]),
        ("wrong_input_kind", &library, vec!["-arch=sm_80", "--kind", "cubin", &kernel]),
        ("driver_not_found", &library, vec!["-arch=sm_80", "--backend", "driver", &kernel]),
    ] {
        let (status, report) = link(library, folder.path(), &arguments);
        assert_eq!((status, &report["result"]), (1, &class.into()), "{report}");
        let last = report["diagnostics"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["result"], &last["severity"], &last["message"]), (&class.into(), &"error".into(), &report["message"]));
        assert!(report["output"].is_null());
        assert!(!folder.path().join("out.cubin").exists(), "{class}: an output was written");
    }
}

#[test]
fn without_any_library_every_place_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cudalink();
    command
        .env("CONDA_PREFIX", folder.path())
        .arg("link")
        .arg("-arch=sm_80")
        .arg("-o")
        .arg(folder.path().join("out"))
        .arg(fixture("12.0/kernel.ptx"));
    let (status, report) = json(&mut command);
    assert_eq!((status, &report["result"]), (1, &"library_not_found".into()), "{report}");
    let message = report["message"].as_str().unwrap();
    for place in
        [folder.path().join("lib").to_str().unwrap(), "$VIRTUAL_ENV", "libnvJitLink.so.12", "/usr/local/cuda/lib64", "/opt/cuda/lib64"]
    {
        assert!(message.contains(place), "{place} is not in: {message}");
    }
}

#[test]
fn a_kind_holds_for_the_inputs_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let [ptx, ltoir] = ["12.0/kernel.ptx", "12.0/helper.ltoir"].map(|file| fixture(file).display().to_string());
    let link = |arguments: &[&str]| link(&nvjitlink("12.9.86"), folder.path(), &[&["-arch=sm_80"], arguments].concat()).1["result"].clone();
    assert_eq!(link(&["--kind", "ptx", &ptx, "--kind", "ltoir", &ltoir]), "ok");
    assert_eq!(link(&[&ptx, "--kind", "ltoir", &ltoir]), "ok");
    assert_eq!(link(&["--kind", "ltoir", &ptx, "--kind", "auto", &ltoir]), "wrong_input_kind");
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in [&["link", "-arch=sm_80"][..], &["nonsense"], &["link", "-o", "x", "--emit", "nonsense"], &["doctor", "-lto"], &[]] {
        let output = cudalink().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn explain_links_nothing_and_tells_why_lto_is_on() {
    let (status, report) =
        json(cudalink().args(["explain", "-g", "-arch=sm_80", "--library"]).arg(nvjitlink("12.4.127")).arg(fixture("12.0/kernel.ltoir")));
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["plan"]["options"], serde_json::json!(["-arch=sm_80", "-g", "-lto"]));
    let decision = &report["plan"]["decisions"][0];
    assert_eq!((&decision["rule"], &decision["option"], &decision["action"]), (&"lto_from_inputs".into(), &"-lto".into(), &"added".into()));
    assert!(decision["reason"].as_str().unwrap().contains("kernel.ltoir"));
}

#[test]
fn inspect_tells_kind_and_size_and_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "hello").unwrap();
    let (status, report) = json(cudalink().arg("inspect").arg(fixture("13.0/kernel.ltoir")).arg(&text).arg("missing"));
    assert_eq!(status, 1);
    let inputs = report["inputs"].as_array().unwrap();
    assert_eq!((&inputs[0]["kind"], &inputs[0]["size"], &inputs[0]["result"]), (&"ltoir".into(), &2084.into(), &"ok".into()));
    assert_eq!((&inputs[1]["kind"], &inputs[1]["result"]), (&Value::Null, &"unrecognized_input".into()));
    assert_eq!(inputs[2]["result"], "file_not_found");
}

#[test]
fn doctor_tells_which_library_and_why() {
    let library = nvjitlink("12.0.140");
    let (status, report) = json(cudalink().arg("doctor").env("CUDALINK_NVJITLINK", &library));
    assert_eq!((status, &report["result"]), (0, &"ok".into()), "{report}");
    assert_eq!(report["library"]["version"], "12.0");
    assert_eq!(report["library"]["found_by"], "variable");
    assert_eq!(report["library"]["has_version"], false);
    let folder = tempfile::tempdir().unwrap();
    for (variable, version) in [("conda", "12.4.127"), ("cuda", "13.0.88")] {
        let lib = folder.path().join(variable).join("lib");
        fs::create_dir_all(&lib).unwrap();
        let library = nvjitlink(version);
        std::os::unix::fs::symlink(&library, lib.join(library.file_name().unwrap())).unwrap();
    }
    let mut doctor = cudalink();
    doctor.arg("doctor").env("CONDA_PREFIX", folder.path().join("conda")).env("CUDA_PATH", folder.path().join("cuda"));
    let (_, report) = json(&mut doctor);
    assert_eq!((&report["library"]["version"], &report["also_here"][0]["version"]), (&"12.4".into(), &"13.0".into()), "{report}");
    let (status, report) = json(cudalink().arg("doctor").env("CUDA_HOME", "/nowhere"));
    assert_eq!((status, &report["result"]), (1, &"library_not_found".into()));
    assert!(report["tried"].as_array().unwrap().iter().any(|tried| tried["place"] == "/nowhere/lib64"));
}

#[test]
fn a_path_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let strange = folder.path().join(OsStr::from_bytes(b"\xFF.cubin"));
    let library = folder.path().join(OsStr::from_bytes(b"\xFE.so"));
    std::os::unix::fs::symlink(nvjitlink("13.5.37"), &library).unwrap();
    let input = folder.path().join(OsStr::from_bytes(b"\xFD.ptx"));
    fs::write(&input, [fs::read(fixture("12.0/helper.ptx")).unwrap()].concat()).unwrap();
    let (status, report) = json(cudalink().args(["link", "-arch=sm_80", "--library"]).arg(&library).arg("-o").arg(&strange).arg(&input));
    assert_eq!((status, &report["result"]), (0, &"ok".into()), "{report}");
    assert!(strange.exists());
    assert_eq!(json(cudalink().arg("doctor").env("CUDALINK_NVJITLINK", &library)).0, 0);
}
