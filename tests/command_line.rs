//! The command line tool: what it prints, and its exit status.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{cudalink, fixture, nvjitlink, run};

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
        assert_eq!(keys(&report["plan"]), ["backend", "decisions", "images", "library", "options"]);
        assert_eq!(keys(&report["output"]), ["kernels", "kind", "path", "size", "undefined"]);
        assert_eq!(keys(&report["logs"]), ["error", "info"]);
        assert_eq!(report["plan"]["library"]["version"], "13.5");
        assert_eq!(report["plan"]["options"], serde_json::json!(options));
        assert_eq!(report["output"]["kernels"], serde_json::json!(["kernel"]));
        assert_eq!(report["output"]["size"], fs::metadata(folder.path().join("out.cubin")).unwrap().len());
    }
}

#[test]
fn each_mistake_has_its_class_and_wrong_usage_another_status_than_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let text_file = folder.path().join("libnvJitLink.so.13");
    fs::write(&text_file, "not a library").unwrap();
    let library = nvjitlink("13.5.37");
    let kernel = fixture("12.0/kernel.ptx").display().to_string();
    for (class, exit, library, arguments) in [
        ("missing_arch", 2, &library, vec![kernel.as_str()]),
        ("unknown_option", 2, &library, vec!["-arch=sm_80", "-bogus", &kernel]),
        ("bad_option_value", 2, &library, vec!["-arch=sm_80", "-O9", &kernel]),
        ("incompatible_options", 2, &library, vec!["-arch=sm_80", "-g", "-O3", &kernel]),
        ("bad_arch", 2, &library, vec!["-arch=80", &kernel]),
        ("no_inputs", 2, &library, vec!["-arch=sm_80"]),
        ("unsupported_arch", 1, &library, vec!["-arch=sm_199", &kernel]),
        ("file_not_found", 1, &library, vec!["-arch=sm_80", "no/such/file.ptx"]),
        ("library_unusable", 1, &text_file, vec!["-arch=sm_80", &kernel]),
        ("unresolved_symbol", 1, &library, vec!["-arch=sm_80", &kernel]),
        ("wrong_input_kind", 1, &library, vec!["-arch=sm_80", "--kind", "cubin", &kernel]),
        ("driver_not_found", 1, &library, vec!["-arch=sm_80", "--backend", "driver", &kernel]),
    ] {
        let (status, report) = link(library, folder.path(), &arguments);
        assert_eq!((status, &report["result"]), (exit, &class.into()), "{report}");
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
        symlink(&library, lib.join(library.file_name().unwrap())).unwrap();
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
    symlink(nvjitlink("13.5.37"), &library).unwrap();
    let input = folder.path().join(OsStr::from_bytes(b"\xFD.ptx"));
    fs::write(&input, [fs::read(fixture("12.0/helper.ptx")).unwrap()].concat()).unwrap();
    let (status, report) = json(cudalink().args(["link", "-arch=sm_80", "--library"]).arg(&library).arg("-o").arg(&strange).arg(&input));
    assert_eq!((status, &report["result"]), (0, &"ok".into()), "{report}");
    assert!(strange.exists());
    assert_eq!(json(cudalink().arg("doctor").env("CUDALINK_NVJITLINK", &library)).0, 0);
}

/// `cudalink link` of two files that link, without `--json`; what it is told besides follows.
fn plain_link(release: &str) -> Command {
    let mut command = cudalink();
    command.args(["link", "-arch=sm_80", "--library"]).arg(nvjitlink(release));
    command.args(["12.0/kernel.ptx", "12.0/helper.ptx"].map(fixture));
    command
}

/// The same below a shell that first does something.
fn below(shell: &str, command: &Command) -> Command {
    let mut below = Command::new("sh");
    below.arg("-c").arg(format!("{shell}; exec \"$0\" \"$@\"")).arg(command.get_program()).args(command.get_args());
    below
}

#[test]
fn an_output_is_there_as_a_whole_or_as_it_was() {
    for release in ["12.0.140", "12.9.86", "13.5.37"] {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.cubin");
        fs::write(&output, "as it was").unwrap();
        let mut full = plain_link(release);
        full.arg("-o").arg(&output);
        let failed = below("trap '' XFSZ; ulimit -f 1", &full).output().unwrap();
        let stderr = String::from_utf8_lossy(&failed.stderr);
        assert!(failed.status.code() == Some(1) && stderr.contains("(io_error)"), "{stderr}");
        let mut wrong = cudalink();
        wrong.args(["link", "-arch=sm_80", "--library"]).arg(nvjitlink(release)).arg(fixture("12.0/kernel.ptx")).arg("-o").arg(&output);
        assert_eq!(wrong.output().unwrap().status.code(), Some(1));
        assert_eq!(fs::read_to_string(&output).unwrap(), "as it was");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
        run(&mut full);
        assert!(fs::read(&output).unwrap().starts_with(b"\x7FELF"));
    }
    let full = plain_link("13.5.37").args(["-o", "/dev/full"]).output().unwrap();
    assert_eq!(full.status.code(), Some(1));
}

#[test]
fn an_output_has_the_permissions_that_writing_in_place_gives() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let mode = |name: &str| fs::metadata(file(name)).unwrap().permissions().mode() & 0o7777;
    let link_to = |name: &str| below("umask 027", plain_link("13.5.37").arg("-o").arg(file(name))).output().unwrap().status.success();
    assert!(link_to("new"));
    assert_eq!(mode("new"), 0o640);
    fs::set_permissions(file("new"), fs::Permissions::from_mode(0o705)).unwrap();
    assert!(link_to("new"));
    assert_eq!(mode("new"), 0o705);
    fs::create_dir(file("folder")).unwrap();
    symlink("folder/target", file("dangling")).unwrap();
    symlink("dangling", file("link")).unwrap();
    assert!(link_to("link"));
    assert!(file("link").is_symlink() && file("dangling").is_symlink());
    assert_eq!((mode("folder/target"), fs::read(file("folder/target")).unwrap()), (0o640, fs::read(file("new")).unwrap()));
    symlink("loop", file("loop")).unwrap();
    assert!(!link_to("loop") && !link_to("folder") && !link_to("no/such/folder"));
}

#[test]
fn an_output_to_stdout_is_bytes_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.cubin");
    run(plain_link("13.5.37").arg("-o").arg(&file));
    let expected = fs::read(&file).unwrap();
    for arguments in [&["-o", "-"][..], &["-o", "/dev/stdout"], &["-o", "/dev/fd/1"], &["-o", "-", "--json"]] {
        let output = plain_link("13.5.37").args(arguments).output().unwrap();
        assert!(output.stdout == expected, "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("kernel"), "{arguments:?}");
    }
    // What is before it in a file that stdout is stays.
    fs::write(&file, "before").unwrap();
    let appended = fs::OpenOptions::new().append(true).open(&file).unwrap();
    assert!(plain_link("13.5.37").args(["-o", "/dev/stdout"]).stdout(appended).status().unwrap().success());
    assert_eq!(fs::read(&file).unwrap(), [b"before", &expected[..]].concat());
    let failed = cudalink().args(["link", "-o", "-", "-arch=sm_80"]).arg(fixture("12.0/kernel.ptx")).output().unwrap();
    assert!(!failed.status.success() && failed.stdout.is_empty());
}

#[test]
fn what_the_library_logs_is_printed_where_it_was_asked_for() {
    for release in ["12.0.140", "12.9.86", "13.5.37"] {
        for (option, logged) in [("-verbose", "registers"), ("-time", "nvJitLink time"), ("-Xptxas=-v", "registers")] {
            let printed = plain_link(release).args([option, "-o", "/dev/null"]).output().unwrap();
            assert!(String::from_utf8_lossy(&printed.stderr).contains(logged), "{option} on {release}");
        }
        let quiet = plain_link(release).args(["-o", "/dev/null"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&quiet.stderr), "", "{release}");
    }
}

#[test]
fn arguments_are_read_from_files_quoted_as_for_gcc() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        format!("@{}", folder.path().join(name).display())
    };
    for name in ["a b.ptx", "c'd.ptx", "e\\f.ptx", "#g.ptx"] {
        fs::copy(fixture("12.0/helper.ptx"), folder.path().join(name)).unwrap();
    }
    let inner = file("inner", "'a b.ptx'\r\n\tc\\'d.ptx 'e\\\\f'.ptx \"\"#g.ptx");
    let outer = file("outer", &format!("-arch=sm_80\n-g --json\n{inner}"));
    let mut explain = cudalink();
    explain.args(["explain", "--library"]).arg(nvjitlink("13.5.37")).current_dir(folder.path());
    let (report, status) = support::json(explain.arg(outer));
    // The same function four times: all four inputs were read.
    assert_eq!((status, &report["result"]), (1, &"duplicate_symbol".into()), "{report}");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("a b.ptx") && message.contains("c'd.ptx"), "{message}");
    for name in ["e\\\\f.ptx", "\"#g.ptx\""] {
        let one = file("one", &format!("inspect --json {name}"));
        let (report, status) = support::json(cudalink().arg(one).current_dir(folder.path()));
        assert_eq!((status, &report["inputs"][0]["kind"]), (0, &"ptx".into()), "{report}");
    }
    let (report, _) = support::json(cudalink().args(["inspect", "--json", "@missing", "--", "@outer"]).current_dir(folder.path()));
    assert_eq!((&report["inputs"][0]["name"], &report["inputs"][1]["name"]), (&"@missing".into(), &"@outer".into()), "{report}");
    let endless = file("endless", "@endless @endless");
    let refused = cudalink().arg(endless).current_dir(folder.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("@file"));
}

#[test]
fn who_slips_is_told_what_was_meant() {
    for (argument, meant) in [
        ("--arch=sm_90", "'-arch='"),
        ("--lineinfo", "'-lineinfo'"),
        ("-linefo", "-lineinfo?"),
        ("-json", "--json?"),
        ("-emit=ptx", "--emit?"),
        ("--libary=x", "'--library'"),
    ] {
        let output = cudalink().args(["link", "-o", "/dev/null", argument, "input"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(meant), "{argument}: {stderr}");
    }
}

#[test]
fn help_names_the_variables() {
    for arguments in [&["--help"][..], &["link", "--help"], &["explain", "--help"], &["doctor", "--help"]] {
        let help = run(cudalink().args(arguments));
        for variable in
            ["CUDALINK_NVJITLINK", "CUDALINK_BACKEND", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"]
        {
            assert!(help.contains(variable), "{arguments:?} does not name {variable}");
        }
    }
}
