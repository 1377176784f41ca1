//! What the CUDA driver is told, in which order, what is made of its answers, and when it is chosen. The driver is a stub that writes down every
//! call and ends the process if it is misused, so each test here also says that it was not.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use cudalink::policy::table::OPTIONS;
use serde_json::{Value, json};
use support::{CProgram, FakeLink, calls, cudalink, fake_driver, fixture, json, nvjitlink, run, steps};
use tempfile::TempDir;

/// The entry points, as the driver exports them.
const ENTRY_POINTS: [&str; 16] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuLinkCreate_v2",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuLinkDestroy",
];

/// A folder with a stub driver, or with a file in its place that is no library, which hides the driver of the machine too.
struct Stub(TempDir);

impl Stub {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(defines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fake_driver(folder.path(), defines, &[]);
        Self(folder)
    }

    fn absent() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("libcuda.so.1"), "no library").unwrap();
        Self(folder)
    }

    fn log(&self) -> std::path::PathBuf {
        self.0.path().join("calls")
    }

    /// A command that finds this driver.
    fn lead(&self, mut command: Command) -> Command {
        let _ = fs::remove_file(self.log());
        command.env("LD_LIBRARY_PATH", self.0.path()).env("FAKE_CUDA_LOG", self.log());
        command
    }

    fn tool(&self, arguments: &[&str]) -> Command {
        let mut tool = self.lead(cudalink());
        tool.args(arguments);
        tool
    }

    /// `cudalink link --json --backend driver <arguments>`, with these variables.
    fn link(&self, variables: &[(&str, &str)], arguments: &[&str]) -> FakeLink {
        let output = self.0.path().join("output");
        let _ = fs::remove_file(&output);
        let mut tool = self.tool(&["link", "--json", "--backend", "driver", "-o"]);
        tool.arg(&output).args(arguments).envs(variables.iter().copied());
        let (json, status) = json(&mut tool);
        let link = FakeLink { json, status, calls: calls(&self.log()), output: fs::read(output).ok() };
        assert_eq!((link.status, link.output.is_some()), if link.result() == "ok" { (0, true) } else { (1, false) }, "{}", link.json);
        link
    }

    fn explain(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Value {
        let mut tool = self.tool(&["explain", "--json"]);
        json(tool.args(arguments).envs(variables.iter().copied())).0
    }
}

fn file(path: &str) -> String {
    fixture(path).to_str().unwrap().to_owned()
}

fn decision<'a>(report: &'a Value, rule: &str) -> Option<&'a Value> {
    report["plan"]["decisions"].as_array()?.iter().find(|decision| decision["rule"] == rule)
}

fn reason<'a>(report: &'a Value, rule: &str) -> &'a str {
    decision(report, rule).unwrap_or_else(|| panic!("{rule} in {report:#}"))["reason"].as_str().unwrap()
}

/// The finding that is an error.
fn error(report: &Value) -> &Value {
    report["diagnostics"].as_array().unwrap().iter().find(|found| found["severity"] == "error").unwrap()
}

fn has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "'{part}' in: {text}"));
}

/// Whether the machine has no nvJitLink where a test cannot hide it.
fn machine_has_no_nvjitlink() -> bool {
    let (doctor, _) = json(cudalink().args(["doctor", "--json"]));
    let none = doctor["library"].is_null();
    if !none {
        eprintln!("skipped: it needs a machine without nvJitLink, and here is {}", doctor["library"]["path"]);
    }
    none
}

const LINK_IN_PRIMARY_CONTEXT: [&str; 12] = [
    "cuDriverGetVersion",
    "cuInit",
    "cuCtxGetCurrent",
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuCtxPushCurrent",
    "cuLinkCreate",
    "cuLinkAddData",
    "cuLinkComplete",
    "cuLinkDestroy",
    "cuCtxPopCurrent",
    "cuDevicePrimaryCtxRelease",
];

// What is a driver, and which.

#[test]
fn without_a_driver_that_is_what_is_told() {
    let link = Stub::absent().link(&[], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
    assert_eq!(link.result(), "driver_not_found");
    has(link.message(), &["no CUDA driver was found", "libcuda.so.1"]);
    assert!(error(&link.json)["hint"].as_str().unwrap().contains("driver"), "{}", link.json);
}

#[test]
fn without_either_library_one_message_names_both() {
    if machine_has_no_nvjitlink() {
        let report = Stub::absent().explain(&[], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
        assert_eq!(report["result"], "library_not_found");
        has(report["message"].as_str().unwrap(), &["no nvJitLink was found", "$CUDA_HOME", "no CUDA driver was found", "libcuda.so.1"]);
        assert_eq!(report["diagnostics"].as_array().unwrap().len(), 1, "{report:#}");
    }
}

/// The toolkit's library to link programs against answers 34 to everything.
#[test]
fn the_stub_of_the_toolkit_is_no_driver() {
    let stub = Stub::new();
    let variables = [("FAKE_CUDA_FAIL", "*=34")];
    let link = stub.link(&variables, &["-arch=sm_80", &file("12.0/kernel.ptx")]);
    assert_eq!(link.result(), "driver_not_found");
    has(link.message(), &["stub of the CUDA toolkit"]);
    assert_eq!(link.call_names(), ["cuDriverGetVersion"]);
    let (doctor, _) = json(stub.tool(&["doctor", "--json"]).envs(variables));
    assert_eq!(doctor["driver"]["result"], "driver_not_found");
}

#[test]
fn a_driver_that_does_not_tell_its_version_is_none() {
    for variable in [("FAKE_CUDA_FAIL", "cuDriverGetVersion=999"), ("FAKE_CUDA_VERSION", "0"), ("FAKE_CUDA_VERSION", "-1")] {
        let link = Stub::new().link(&[variable], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
        assert_eq!(link.result(), "driver_not_found");
        has(link.message(), &["does not tell its version"]);
    }
}

#[test]
fn a_driver_that_lacks_an_entry_point_is_refused_by_its_name() {
    for entry in ENTRY_POINTS {
        let stub = Stub::with(&[&format!("{entry}=lacking")]);
        let link = stub.link(&[], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
        assert_eq!(link.result(), "driver_not_found", "{entry}");
        has(link.message(), &["libcuda.so.1", "export", entry]);
        assert_eq!(link.call_names(), [""; 0], "nothing of a driver that is not whole is called");
    }
}

#[test]
fn the_version_of_the_driver_decides_what_it_is_given() {
    let stub = Stub::new();
    let at = |version: &str, arguments: &[&str]| stub.link(&[("FAKE_CUDA_VERSION", version)], arguments);

    let zstd = file("wide/helper.old.zstd.fatbin");
    let size = fs::metadata(&zstd).unwrap().len();
    let added_size = |link: &FakeLink| link.call("cuLinkAddData").split(' ').nth(5).unwrap().parse::<u64>().unwrap();
    for version in ["11080", "12020"] {
        let link = at(version, &["-arch=sm_80", &zstd]);
        assert_eq!(link.result(), "ok", "{}", link.json);
        has(reason(&link.json, "unpack_images"), &["the CUDA driver before 12.4", "zstd"]);
        assert!(added_size(&link) > size, "{:?}", link.calls);
    }
    let link = at("12040", &["-arch=sm_80", &zstd]);
    assert!(decision(&link.json, "unpack_images").is_none(), "{}", link.json);
    assert_eq!(added_size(&link), size);

    let link = at("12020", &["-arch=sm_100", &file("12.0/kernel.ptx")]);
    assert_eq!(link.result(), "unsupported_arch");
    has(link.message(), &["the CUDA driver 12.2", "sm_100"]);
    assert_eq!(link.call_names(), ["cuDriverGetVersion"]);

    for input in ["13.0/kernel.ptx", "13.0/kernel.cubin"] {
        let link = at("12040", &["-arch=sm_80", &file(input)]);
        assert_eq!(link.result(), "input_too_new", "{}", link.json);
        has(link.message(), &["13.0", "the CUDA driver 12.4", input]);
        assert_eq!(link.call_names(), ["cuDriverGetVersion"]);
    }
}

#[test]
fn a_driver_outside_the_table_is_taken_for_the_nearest_in_it() {
    let stub = Stub::new();
    for (version, told) in [("11080", ["11.8", "12.0"]), ("14030", ["14.3", "13.5"])] {
        let link = stub.link(&[("FAKE_CUDA_VERSION", version)], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
        assert_eq!(link.result(), "ok", "{}", link.json);
        assert_eq!(link.json["plan"]["library"]["version"], told[0]);
        has(reason(&link.json, "unknown_version"), &[&["the CUDA driver"][..], &told].concat());
    }
}

// One link.

#[test]
fn a_link_makes_the_primary_context_current_and_lets_it_go() {
    let link = Stub::new().link(&[("FAKE_CUDA_INFO", "told")], &["-arch=sm_80", &file("12.0/helper.ptx")]);
    assert_eq!(link.call_names(), LINK_IN_PRIMARY_CONTEXT);
    assert_eq!(link.call("cuDeviceGet"), "cuDeviceGet 0");
    assert_eq!(link.json["logs"], json!({ "error": "", "info": "told" }));
    assert_eq!(link.json["plan"]["backend"], "driver");
    assert_eq!(link.json["output"]["kernels"], json!(["kernel"]));
    assert_eq!(link.output.unwrap(), fs::read(fixture("wide/whole.cubin")).unwrap());
}

#[test]
fn a_context_of_the_host_is_used_and_left_alone() {
    let stub = Stub::new();
    let expected = ["cuDriverGetVersion", "cuInit", "cuCtxGetCurrent", "cuLinkCreate", "cuLinkAddData", "cuLinkComplete", "cuLinkDestroy"];
    let ptx = file("12.0/helper.ptx");
    let link = stub.link(&[("FAKE_CUDA_CURRENT", "1")], &["-arch=sm_80", &ptx]);
    assert_eq!((link.result(), link.call_names()), ("ok", expected.to_vec()));
    let link = stub.link(&[("FAKE_CUDA_CURRENT", "1"), ("FAKE_CUDA_FAIL", "cuLinkAddData=200")], &["-arch=sm_80", &ptx]);
    let names: Vec<&str> = link.call_names().into_iter().filter(|name| *name != "cuGetErrorName").collect();
    let expected: Vec<&str> = expected.into_iter().filter(|name| *name != "cuLinkComplete").collect();
    assert_eq!((link.result(), names), ("bad_input", expected));
}

#[test]
fn inputs_are_passed_byte_for_byte_under_their_types() {
    let stub = Stub::new();
    for (name, input_type, nuls) in
        [("12.0/kernel.cubin", 0, 0), ("12.0/kernel.ptx", 1, 1), ("12.0/kernel.fatbin", 2, 0), ("12.4/kernel.zip.fatbin", 2, 0)]
    {
        let link = stub.link(&[], &["-arch=sm_80", &file(name)]);
        assert_eq!(link.result(), "ok", "{}", link.json);
        let bytes = [fs::read(fixture(name)).unwrap(), vec![0; nuls]].concat();
        let hash = bytes.iter().fold(0xcbf29ce484222325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100000001b3));
        let call = link.call("cuLinkAddData");
        has(call, &[&format!("cuLinkAddData 1 type {input_type} size {} ", bytes.len()), &format!(" hash {hash:016x} "), name]);
        assert!(nuls == 0 || call.contains(" nuls 1 "), "{call}");
    }
}

#[test]
fn every_failure_has_its_class_and_everything_is_released() {
    let stub = Stub::new();
    let ptx = file("12.0/helper.ptx");
    for (call, code, class) in [
        ("cuInit", 100, "driver_error"),
        ("cuInit", 999, "driver_error"),
        ("cuCtxGetCurrent", 4, "driver_error"),
        ("cuDeviceGet", 101, "driver_error"),
        ("cuDevicePrimaryCtxRetain", 2, "out_of_memory"),
        ("cuCtxPushCurrent", 201, "driver_error"),
        ("cuLinkCreate", 1, "link_failed"),
        ("cuLinkCreate", 2, "out_of_memory"),
        ("cuLinkCreate", 221, "driver_error"),
        ("cuLinkAddData", 200, "bad_input"),
        ("cuLinkAddData", 209, "arch_mismatch"),
        ("cuLinkAddData", 218, "compile_failed"),
        ("cuLinkAddData", 222, "input_too_new"),
        ("cuLinkComplete", 999, "link_failed"),
        ("cuLinkComplete", 12345, "driver_error"),
        ("cuLinkComplete", -1, "driver_error"),
    ] {
        for text in ["", "first line\nsecond line"] {
            let fail = format!("{call}={code}");
            let link = stub.link(&[("FAKE_CUDA_FAIL", &fail), ("FAKE_CUDA_ERROR", text)], &["-arch=sm_80", &ptx]);
            let text = if call.starts_with("cuLink") { text } else { "" };
            assert_eq!(link.result(), class, "{fail}: {}", link.json);
            assert_eq!(error(&link.json)["backend"], json!({ "call": call, "code": code, "text": text }));
            assert_eq!(link.json["logs"]["error"], text);
            has(link.message(), &["the CUDA driver 13.0", if text.is_empty() { call } else { text }]);
            if text.is_empty() {
                has(link.message(), &[&code.to_string()]);
            }
            let names_input = if call == "cuLinkAddData" { json!(ptx) } else { Value::Null };
            assert_eq!(error(&link.json)["input"], names_input);
            // The same calls up to the failure, then what undoes them.
            let names: Vec<&str> = link.call_names().into_iter().filter(|name| *name != "cuGetErrorName").collect();
            let at = |name: &str| LINK_IN_PRIMARY_CONTEXT.iter().position(|known| *known == name).unwrap();
            let undo = [
                ("cuLinkCreate", "cuLinkDestroy"),
                ("cuCtxPushCurrent", "cuCtxPopCurrent"),
                ("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease"),
            ];
            let undone = undo.iter().filter(|(done, _)| at(done) < at(call)).map(|(_, undo)| *undo);
            let expected: Vec<&str> = LINK_IN_PRIMARY_CONTEXT[..=at(call)].iter().copied().chain(undone).collect();
            assert_eq!(names, expected, "{fail}");
        }
    }
}

#[test]
fn a_failure_of_what_cleans_up_fails_no_link() {
    for call in ["cuLinkDestroy", "cuCtxPopCurrent", "cuDevicePrimaryCtxRelease"] {
        let link = Stub::new().link(&[("FAKE_CUDA_FAIL", &format!("{call}=999"))], &["-arch=sm_80", &file("12.0/helper.ptx")]);
        assert_eq!((link.result(), link.call_names()), ("ok", LINK_IN_PRIMARY_CONTEXT.to_vec()), "{}", link.json);
    }
}

#[test]
fn a_failure_is_told_by_the_drivers_name_where_it_has_one() {
    let stub = Stub::new();
    let message = |fail: &str| stub.link(&[("FAKE_CUDA_FAIL", fail)], &["-arch=sm_80", &file("12.0/helper.ptx")]).message().to_owned();
    has(&message("cuInit=100"), &["cuInit answered 100 CUDA_ERROR_NO_DEVICE"]);
    assert!(message("cuInit=100,cuGetErrorName=1").ends_with("cuInit answered 100"));
    assert!(message("cuInit=7654").ends_with("cuInit answered 7654"));
}

#[test]
fn a_driver_that_its_process_was_forked_away_from_says_so() {
    let link = Stub::new().link(&[("FAKE_CUDA_FAIL", "cuInit=3")], &["-arch=sm_80", &file("12.0/helper.ptx")]);
    assert_eq!(link.result(), "driver_error");
    has(error(&link.json)["hint"].as_str().unwrap(), &["fork"]);
}

#[test]
fn the_drivers_text_decides_where_it_says_more_than_the_number() {
    let stub = Stub::new();
    for (fail, text, class, symbol) in [
        ("cuLinkComplete=999", "error   : Undefined reference to 'helper' in 'kernel'", "unresolved_symbol", json!("helper")),
        ("cuLinkAddData=999", "error   : Multiple definition of 'helper' in 'again'", "duplicate_symbol", json!("helper")),
        (
            "cuLinkAddData=218",
            "ptxas application ptx input, line 9; fatal   : Unsupported .version 9.5; current version is '9.0'",
            "input_too_new",
            Value::Null,
        ),
    ] {
        let link = stub.link(&[("FAKE_CUDA_FAIL", fail), ("FAKE_CUDA_ERROR", text)], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
        assert_eq!((link.result(), &error(&link.json)["symbol"]), (class, &symbol), "{}", link.json);
    }
}

#[test]
fn both_logs_are_kept_on_failure() {
    let variables = [("FAKE_CUDA_FAIL", "cuLinkComplete=999"), ("FAKE_CUDA_ERROR", "why"), ("FAKE_CUDA_INFO", "told")];
    let link = Stub::new().link(&variables, &["-arch=sm_80", &file("12.0/helper.ptx")]);
    assert_eq!(link.json["logs"], json!({ "error": "why", "info": "told" }));
}

#[test]
fn a_log_longer_than_its_buffer_says_that_it_was_cut() {
    let stub = Stub::new();
    for flood in ["0", "1"] {
        let link = stub.link(&[("FAKE_CUDA_FLOOD", flood)], &["-arch=sm_80", &file("12.0/helper.ptx")]);
        assert_eq!(link.result(), "ok");
        for log in ["info", "error"] {
            let text = link.json["logs"][log].as_str().unwrap();
            assert!(text.starts_with(&"x".repeat(100_000)) && text.ends_with("(cut by the CUDA driver at 262144 bytes)"), "{}", text.len());
        }
    }
}

#[test]
fn what_the_driver_gives_is_looked_at() {
    let stub = Stub::new();
    let ptx = file("12.0/helper.ptx");
    for (output, arch, class) in
        [("", "sm_80", "internal"), (&*ptx, "sm_80", "link_failed"), (&*file("wide/whole.cubin"), "sm_90", "link_failed")]
    {
        let link = stub.link(&[("FAKE_CUDA_OUTPUT", output)], &[&format!("-arch={arch}"), &ptx]);
        assert_eq!(link.result(), class, "{}", link.json);
        assert_eq!(link.call_names(), LINK_IN_PRIMARY_CONTEXT);
    }
}

// Options.

/// `7=0` is `CU_JIT_OPTIMIZATION_LEVEL` with 0, by the numbers of `CUjit_option` in cuda.h. `None` is refused, and nothing is empty.
#[test]
fn every_option_reaches_the_driver_or_is_refused() {
    let stub = Stub::new();
    let ptx = stub.0.path().join("unit.ptx");
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .u32 variable;\n.visible .entry kernel() { ret; }\n";
    fs::write(&ptx, text).unwrap();
    let ptx = ptx.to_str().unwrap();
    let mut covered = Vec::new();
    for (name, flag, passed) in [
        ("arch", "", Some("")),
        ("output", "-ptx", None),
        ("relocatable", "-r", None),
        ("optimization", "-O0", Some("7=0")),
        ("optimization", "-O1", Some("7=1")),
        ("optimization", "-O2", Some("7=2")),
        ("optimization", "-O3", Some("7=3")),
        ("fast_compile", "-Ofc=min", None),
        ("debug", "-g", Some("11=1")),
        ("debug", "-g=false", Some("")),
        ("lineinfo", "-lineinfo", Some("13=1")),
        ("max_register_count", "-maxrregcount=32", Some("0=32")),
        ("max_register_count", "-maxrregcount=2147483647", Some("0=2147483647")),
        ("ftz", "-ftz=true", None),
        ("ftz", "-ftz=false", None),
        ("prec_div", "-prec-div=true", None),
        ("prec_sqrt", "-prec-sqrt=true", None),
        ("fma", "-fma=true", None),
        ("kernels_used", "-kernels-used=kernel", None),
        ("variables_used", "-variables-used=variable", None),
        ("optimize_unused_variables", "-optimize-unused-variables", None),
        ("ptxas_options", "-Xptxas=-v", None),
        ("nvvm_options", "-Xnvvm=-v", None),
        ("nvvm_latest", "-nvvm-latest", None),
        ("split_compile", "-split-compile=2", None),
        ("split_compile_extended", "-split-compile-extended=2", None),
        ("jump_table_density", "-jump-table-density=2", None),
        ("no_cache", "-no-cache", None),
        ("no_cache", "-no-cache=false", Some("")),
        ("device_stack_protector", "-device-stack-protector", None),
        ("time", "-time", None),
        ("verbose", "-verbose", Some("12=1")),
        ("lto", "-lto", None),
        ("lto", "-lto=false", Some("")),
    ] {
        covered.push(name);
        let arguments: Vec<&str> = ["-arch=sm_80", flag, ptx].into_iter().filter(|argument| !argument.is_empty()).collect();
        let link = stub.link(&[], &arguments);
        match passed {
            Some(passed) => {
                // In the order of the table, where the target is first.
                let expected = format!("cuLinkCreate 1 9=80 {passed}");
                assert_eq!(link.call("cuLinkCreate"), expected.trim_end(), "{flag}: {}", link.json);
                assert_eq!(link.json["plan"]["options"].as_array().unwrap().len(), if passed.is_empty() { 1 } else { 2 }, "{flag}");
            }
            None => {
                assert_eq!(link.result(), "unsupported_option", "{flag}: {}", link.json);
                let told = if flag == "-ptx" { "PTX output" } else { flag.split('=').next().unwrap() };
                has(link.message(), &["the CUDA driver", "does not have", told, "nvJitLink"]);
                assert!(!link.call_names().contains(&"cuInit"), "{:?}", link.calls);
            }
        }
    }
    for row in OPTIONS {
        assert!(covered.contains(&row.name), "{} is not tested", row.name);
    }
}

#[test]
fn options_come_together_in_the_order_of_the_table() {
    let flags = ["-verbose", "-maxrregcount=64", "-lineinfo", "-O1", "-arch=sm_80"];
    let link = Stub::new().link(&[], &[&flags[..], &[&file("12.0/helper.ptx")]].concat());
    assert_eq!(link.call("cuLinkCreate"), "cuLinkCreate 1 9=80 7=1 13=1 0=64 12=1");
    let told = ["TARGET=80", "OPTIMIZATION_LEVEL=1", "GENERATE_LINE_INFO=1", "MAX_REGISTERS=64", "LOG_VERBOSE=1"];
    assert_eq!(link.json["plan"]["options"], json!(told.map(|option| format!("CU_JIT_{option}"))));
}

/// `CUjit_target`: an `a` adds 0x10000 to the number, an `f` 0x20000.
#[test]
fn every_suffix_of_an_architecture_reaches_the_driver() {
    let stub = Stub::new();
    let cubin = stub.0.path().join("cubin");
    let inputs = [file("12.0/kernel.ptx"), file("12.0/helper.ptx")];
    for (arch, target) in
        [("sm_75", None), ("sm_90", Some(90)), ("sm_90a", Some(65626)), ("sm_100f", Some(131172)), ("sm_120a", Some(65656))]
    {
        let flag = format!("-arch={arch}");
        let arguments = [flag.as_str(), &inputs[0], &inputs[1]];
        let Some(target) = target else {
            assert_eq!(stub.link(&[], &arguments).result(), "arch_mismatch");
            continue;
        };
        run(cudalink().arg("link").args(arguments).arg("-o").arg(&cubin).arg("--library").arg(nvjitlink("13.5.37")));
        let link = stub.link(&[("FAKE_CUDA_OUTPUT", cubin.to_str().unwrap())], &arguments);
        assert_eq!((link.result(), link.call("cuLinkCreate")), ("ok", &*format!("cuLinkCreate 1 9={target}")), "{}", link.json);
    }
}

#[test]
fn what_only_nvjitlink_can_is_refused_with_the_reason() {
    let stub = Stub::new();
    let (ptx, ltoir) = (file("12.0/kernel.ptx"), file("12.0/kernel.ltoir"));
    let lto_fatbin = file("12.4/kernel.lto.fatbin");
    for (arguments, told) in [
        (&["-r", &*ptx][..], "an incremental link (-r)"),
        (&["--emit", "ptx", &ltoir], "PTX output"),
        (&["--emit", "ltoir", &ltoir], "LTO-IR output"),
        (&["-lto", &ptx], "link-time optimization (-lto)"),
        (&["--lto", "on", &ptx], "link-time optimization (-lto)"),
        (&[&ltoir], "does not link LTO-IR"),
        (&["-lto=false", &ltoir], "does not link LTO-IR"),
        (&[&lto_fatbin], "does not link LTO-IR"),
        (&["--pass-through=-of-the-future", &ptx], "-of-the-future, which is passed through to nvJitLink only"),
    ] {
        let link = stub.link(&[], &[&["-arch=sm_80"], arguments].concat());
        assert_eq!(link.result(), "unsupported_option", "{arguments:?}: {}", link.json);
        has(link.message(), &["the CUDA driver", told]);
        assert!(!link.call_names().contains(&"cuInit"), "{:?}", link.calls);
    }
}

#[test]
fn an_object_with_ltoir_and_ptx_is_linked_by_its_ptx_with_a_warning() {
    let object = file("12.4/kernel.lto.o");
    let link = Stub::new().link(&[], &["-arch=sm_80", &object]);
    assert_eq!(link.result(), "ok", "{}", link.json);
    let warnings = link.json["diagnostics"].as_array().unwrap();
    assert_eq!((warnings.len(), &warnings[0]["severity"], &warnings[0]["input"]), (1, &json!("warning"), &json!(object)));
    has(warnings[0]["message"].as_str().unwrap(), &["the CUDA driver does not link LTO-IR", "kernel.lto.o"]);
    assert_eq!(decision(&link.json, "lto_from_inputs").unwrap()["action"], "dropped");
    has(link.call("cuLinkAddData"), &[" type 2 "]);
}

#[test]
fn the_warnings_are_those_of_who_links() {
    if machine_has_no_nvjitlink() {
        let report = Stub::new().explain(&[], &["-arch=sm_80", &file("12.4/kernel.lto.o")]);
        assert_eq!((&report["result"], &report["plan"]["backend"]), (&json!("ok"), &json!("driver")), "{report:#}");
        assert_eq!(report["diagnostics"].as_array().unwrap().len(), 2, "{report:#}");
        has(report["diagnostics"][0]["message"].as_str().unwrap(), &["the CUDA driver does not link LTO-IR"]);
    }
}

#[test]
fn a_finished_cubin_needs_no_driver() {
    let stub = Stub::absent();
    let cubin = file("wide/whole.cubin");
    let link = stub.link(&[], &["-arch=sm_80", &cubin]);
    assert_eq!((link.result(), &link.json["plan"]["backend"]), ("ok", &json!("none")), "{}", link.json);
    assert_eq!(link.output.unwrap(), fs::read(cubin).unwrap());
}

/// As with nvJitLink, a name of 100,000 bytes in a message would damage the driver's heap.
#[test]
fn a_long_name_is_shortened_to_its_end() {
    let stub = Stub::new();
    let name = format!("{}the end", "n".repeat(100_000));
    let mut steps = stub.lead(steps(stub.0.path()));
    steps.env("CUDALINK_BACKEND", "driver").args(["flag", "-arch=sm_80", "create", "add"]).arg(fixture("12.0/kernel.ptx")).arg(name);
    assert_eq!(run(steps.args(["complete", "destroy"])), "create ok\nadd ok\ncomplete ok\ndestroy \n");
    let calls = calls(&stub.log());
    let added = calls.iter().find(|call| call.starts_with("cuLinkAddData")).unwrap();
    has(added, &[" name 1024 nnn"]);
}

// Who links.

/// A toolkit's folder with a real nvJitLink.
fn toolkit(folder: &Path, version: &str) -> String {
    let lib = folder.join(version).join("lib64");
    fs::create_dir_all(&lib).unwrap();
    symlink(nvjitlink(version), lib.join("libnvJitLink.so")).unwrap();
    lib.parent().unwrap().to_str().unwrap().to_owned()
}

/// What is here, what is asked, and whether it is about LTO-IR.
#[derive(Debug)]
struct Case {
    nvjitlink_here: bool,
    driver_here: bool,
    option: &'static str,
    variable: &'static str,
    is_ltoir: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        (0..96).map(|number| Self {
            nvjitlink_here: number % 2 == 0,
            driver_here: number / 2 % 2 == 0,
            is_ltoir: number / 4 % 2 == 0,
            option: ["auto", "nvjitlink", "driver"][number / 8 % 3],
            variable: ["", "auto", "nvjitlink", "driver"][number / 24],
        })
    }

    fn variable_counts(&self) -> bool {
        self.option == "auto" && !self.variable.is_empty()
    }

    fn asked(&self) -> &str {
        if self.variable_counts() { self.variable } else { self.option }
    }

    /// The class, and who links.
    fn expected(&self) -> (&str, Option<&str>) {
        let driver_can = self.driver_here && !self.is_ltoir;
        match self.asked() {
            "driver" if driver_can => ("ok", Some("driver")),
            "driver" if self.is_ltoir => ("unsupported_option", None),
            "driver" => ("driver_not_found", None),
            _ if self.nvjitlink_here => ("ok", Some("nvjitlink")),
            "auto" if driver_can => ("ok", Some("driver")),
            _ => ("library_not_found", None),
        }
    }
}

#[test]
fn the_backend_is_chosen_by_what_is_asked_what_is_here_and_what_it_can() {
    if !machine_has_no_nvjitlink() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let home = toolkit(folder.path(), "13.5.37");
    let (driver, no_driver) = (Stub::new(), Stub::absent());
    for case in Case::all() {
        let mut variables = vec![("CUDALINK_BACKEND", case.variable)];
        variables.extend(case.nvjitlink_here.then_some(("CUDA_HOME", home.as_str())));
        let stub = if case.driver_here { &driver } else { &no_driver };
        let input = file(if case.is_ltoir { "12.0/kernel.ltoir" } else { "12.0/kernel.ptx" });
        let report = stub.explain(&variables, &["-arch=sm_80", "--backend", case.option, &input]);
        assert_eq!((report["result"].as_str().unwrap(), report["plan"]["backend"].as_str()), case.expected(), "{case:?}: {report:#}");

        let is_fallback = case.asked() == "auto" && !case.nvjitlink_here;
        let message = report["message"].as_str().unwrap();
        let names_both = message.contains("no nvJitLink was found") && message.contains("CUDA driver");
        assert_eq!(names_both, is_fallback && report["result"] != "ok", "{case:?}: {report:#}");
        if report["result"] == "ok" {
            let by_variable = decision(&report, "backend_by_variable").map(|decision| decision["action"].as_str().unwrap());
            let expected = match (case.variable_counts(), case.variable) {
                (_, "" | "auto") => None,
                (true, _) => Some("changed"),
                (false, variable) => (variable != case.option).then_some("dropped"),
            };
            assert_eq!(by_variable, expected, "{case:?}: {report:#}");
            assert_eq!(decision(&report, "driver_for_the_job").is_some(), is_fallback, "{case:?}: {report:#}");
            let warned = report["diagnostics"].as_array().unwrap().iter().any(|found| found["severity"] == "warning");
            assert_eq!(warned, is_fallback, "{case:?}: {report:#}");
        }
        let needs_no_driver = case.is_ltoir && case.asked() == "driver" || case.asked() == "nvjitlink" && !case.nvjitlink_here;
        let calls = calls(&stub.log());
        assert!(!needs_no_driver || calls.is_empty(), "{case:?}: {calls:?}");
        assert!(!calls.contains(&"cuInit".to_owned()), "{case:?}: a plan initialises nothing");
    }
}

#[test]
fn the_driver_links_what_the_nvjitlink_here_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let home = toolkit(folder.path(), "12.4.127");
    let stub = Stub::new();
    let report = stub.explain(&[("CUDA_HOME", &home)], &["-arch=sm_80", &file("13.0/kernel.ptx")]);
    assert_eq!((&report["result"], &report["plan"]["backend"]), (&json!("ok"), &json!("driver")), "{report:#}");
    has(reason(&report, "driver_for_the_job"), &["nvJitLink 12.4", "13.0"]);
    for (flags, told) in [(&["-arch=sm_100"][..], "does not know sm_100"), (&["-arch=sm_80", "-O1"], "does not have -O1")] {
        let report = stub.explain(&[("CUDA_HOME", &home)], &[flags, &[&file("12.0/kernel.ptx")]].concat());
        assert_eq!((&report["result"], &report["plan"]["backend"]), (&json!("ok"), &json!("driver")), "{report:#}");
        has(reason(&report, "driver_for_the_job"), &["nvJitLink 12.4", told]);
    }
    // What is too new for both is told of both.
    let report = stub.explain(&[("CUDA_HOME", &home)], &["-arch=sm_80", &file("13.5/kernel.ptx")]);
    assert_eq!(report["result"], "input_too_new", "{report:#}");
    has(report["message"].as_str().unwrap(), &["nvJitLink 12.4", "\nand ", "the CUDA driver 13.0"]);
    // An nvJitLink that is named is the only one.
    let named = nvjitlink("12.4.127");
    let report = stub.explain(&[("CUDALINK_NVJITLINK", named.to_str().unwrap())], &["-arch=sm_80", &file("13.0/kernel.ptx")]);
    assert_eq!(report["result"], "input_too_new", "{report:#}");
    assert!(!report["message"].as_str().unwrap().contains("CUDA driver"), "{report:#}");
}

#[test]
fn a_variable_that_names_no_backend_is_an_error() {
    let stub = Stub::new();
    let report = stub.explain(&[("CUDALINK_BACKEND", "nonsense")], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
    assert_eq!(report["result"], "bad_option_value");
    has(report["message"].as_str().unwrap(), &["CUDALINK_BACKEND", "'nonsense'", "auto, nvjitlink, driver"]);
    let (doctor, status) = json(stub.tool(&["doctor", "--json"]).env("CUDALINK_BACKEND", "nonsense"));
    assert_eq!((&doctor["result"], status), (&json!("bad_option_value"), 2), "{doctor:#}");
    let queried = run(stub.lead(steps(stub.0.path())).env("CUDALINK_BACKEND", "nonsense").arg("query"));
    has(&queried, &["query bad_option_value", "nonsense"]);
    // The option counts before the variable.
    let report = stub.explain(&[("CUDALINK_BACKEND", "nonsense")], &["-arch=sm_80", "--backend", "driver", &file("12.0/kernel.ptx")]);
    assert_eq!(report["result"], "ok", "{report:#}");
}

#[test]
fn a_library_path_that_the_driver_does_not_need_is_told() {
    let link = Stub::new().link(&[], &["-arch=sm_80", "--library", "/no/such/library.so", &file("12.0/kernel.ptx")]);
    assert_eq!((link.result(), &link.json["plan"]["backend"]), ("ok", &json!("driver")), "{}", link.json);
    assert_eq!(decision(&link.json, "no_library").unwrap()["action"], "dropped");
    has(reason(&link.json, "no_library"), &["/no/such/library.so"]);
    let finished = Stub::new().link(&[], &["-arch=sm_80", "--library", "/no/such/library.so", &file("wide/whole.cubin")]);
    has(reason(&finished.json, "no_library"), &["/no/such/library.so"]);
}

/// What a caller says counts before what its environment says.
#[test]
fn a_library_path_counts_before_the_variable() {
    let library = nvjitlink("13.5.37").display().to_string();
    let stub = Stub::new();
    let arguments = ["-arch=sm_80", "--library", &library, "--backend", "auto", &file("12.0/kernel.ptx")];
    let report = stub.explain(&[("CUDALINK_BACKEND", "driver")], &arguments);
    assert_eq!(report["plan"]["backend"], "nvjitlink", "{report:#}");
    assert_eq!(decision(&report, "backend_by_variable").unwrap()["action"], "dropped", "{report:#}");
    let report =
        stub.explain(&[("CUDALINK_BACKEND", "driver"), ("CUDALINK_NVJITLINK", &library)], &["-arch=sm_80", &file("12.0/kernel.ptx")]);
    assert_eq!(report["plan"]["backend"], "driver", "{report:#}");
    has(reason(&report, "no_library"), &[&library]);
}

/// The driver is the second choice only: that it cannot link either is half of what a caller has to know.
#[test]
fn a_driver_without_a_device_does_not_hide_that_nvjitlink_is_missing() {
    if machine_has_no_nvjitlink() {
        let stub = Stub::new();
        let (report, status) = json(
            stub.tool(&["link", "--json", "-arch=sm_80", "-o", "/dev/null", &file("12.0/kernel.ptx")]).env("FAKE_CUDA_FAIL", "cuInit=100"),
        );
        assert_eq!((&report["result"], status), (&json!("driver_error"), 1), "{report:#}");
        has(report["message"].as_str().unwrap(), &["cuInit answered 100", "no nvJitLink was found"]);
    }
}

/// Driver 580 compiles for what the toolkit of its release has dropped (measured on one).
#[test]
fn the_driver_of_cuda_13_0_knows_more_than_the_toolkit() {
    let stub = Stub::new();
    let result = |version: &str, arch: &str| {
        let unit = stub.0.path().join("low.ptx");
        fs::write(&unit, ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry kernel() { ret; }\n").unwrap();
        stub.explain(&[("FAKE_CUDA_VERSION", version), ("CUDALINK_BACKEND", "driver")], &[arch, unit.to_str().unwrap()])["result"].clone()
    };
    for (version, arch, expected) in [
        ("13000", "-arch=sm_70", "ok"),
        ("13000", "-arch=sm_50", "ok"),
        ("13000", "-arch=sm_62", "unsupported_arch"),
        ("13010", "-arch=sm_70", "unsupported_arch"),
        ("12040", "-arch=sm_70", "ok"),
        ("12040", "-arch=sm_100", "unsupported_arch"),
    ] {
        assert_eq!(result(version, arch), expected, "{version} {arch}");
    }
}

#[test]
fn an_nvjitlink_newer_than_the_driver_is_used_with_a_warning() {
    let stub = Stub::new();
    let library = nvjitlink("13.5.37");
    let link = |version: &str, arguments: &[&str]| {
        let mut tool = stub.tool(&["link", "--json", "-arch=sm_80", "-o"]);
        tool.arg(stub.0.path().join("output")).arg("--library").arg(&library).args(arguments).env("FAKE_CUDA_VERSION", version);
        json(&mut tool).0
    };
    let (kernel, helper) = (file("12.0/kernel.ptx"), file("12.0/helper.ptx"));
    let report = link("12040", &[&kernel, &helper]);
    assert_eq!((&report["result"], &report["plan"]["backend"]), (&json!("ok"), &json!("nvjitlink")), "{report:#}");
    has(reason(&report, "newer_than_driver"), &["the CUDA driver 12.4", "nvJitLink 13.5"]);
    let warning = &report["diagnostics"][0];
    assert_eq!((&warning["severity"], &warning["result"]), (&json!("warning"), &json!("ok")));
    has(warning["message"].as_str().unwrap(), &["the CUDA driver 12.4", "nvJitLink 13.5"]);
    // nvJitLink itself asks more of a driver in a link, but not in a plan.
    let library_path = library.to_str().unwrap();
    let explained = stub.explain(&[("FAKE_CUDA_VERSION", "12040")], &["-arch=sm_80", "--library", library_path, &kernel, &helper]);
    has(reason(&explained, "newer_than_driver"), &["the CUDA driver 12.4", "nvJitLink 13.5"]);
    assert_eq!(calls(&stub.log()), ["loaded", "cuDriverGetVersion"], "the driver is asked for its version only");
    // Of the same major release it loads what a later minor links, and PTX is not loaded as it is.
    assert!(decision(&link("13000", &[&kernel, &helper]), "newer_than_driver").is_none());
    assert!(decision(&link("12040", &["--emit", "ptx", &file("12.0/kernel.ltoir")]), "newer_than_driver").is_none());
}

// What is told about it.

#[test]
fn doctor_tells_the_driver_its_devices_and_the_choice() {
    let stub = Stub::new();
    let (doctor, _) = json(&mut stub.tool(&["doctor", "--json"]));
    let path = fs::canonicalize(stub.0.path().join("libcuda.so.1")).unwrap();
    let devices = json!([{ "name": "Stub 0", "arch": "sm_80" }, { "name": "Stub 1", "arch": "sm_121" }]);
    assert_eq!(doctor["driver"], json!({ "path": path, "version": "13.0", "devices": devices, "result": "ok", "message": "" }));
    let text = run(&mut stub.tool(&["doctor"]));
    has(&text, &[&format!("the CUDA driver 13.0 ({})", path.display()), "\n  Stub 0, sm_80\n", "\n  Stub 1, sm_121\n"]);

    if machine_has_no_nvjitlink() {
        assert_eq!((&doctor["result"], &doctor["choice"]["backend"]), (&json!("ok"), &json!("driver")), "{doctor:#}");
        has(doctor["choice"]["reason"].as_str().unwrap(), &["no nvJitLink was found"]);
        has(&text, &["links by driver: "]);
    }
    let (asked, _) = json(stub.tool(&["doctor", "--json"]).env("CUDALINK_BACKEND", "driver"));
    assert_eq!(asked["choice"], json!({ "backend": "driver", "reason": "CUDALINK_BACKEND is driver" }));
    let folder = tempfile::tempdir().unwrap();
    let (both, _) = json(stub.tool(&["doctor", "--json"]).env("CUDA_HOME", toolkit(folder.path(), "13.5.37")));
    assert_eq!((&both["choice"]["backend"], &both["driver"]["version"]), (&json!("nvjitlink"), &json!("13.0")));
}

#[test]
fn doctor_tells_what_the_driver_refuses() {
    let stub = Stub::new();
    for call in ["cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"] {
        let fail = format!("{call}=100");
        let (doctor, status) = json(stub.tool(&["doctor", "--json"]).env("FAKE_CUDA_FAIL", &fail).env("CUDALINK_BACKEND", "driver"));
        assert_eq!((&doctor["choice"]["backend"], &doctor["result"], status), (&Value::Null, &json!("driver_error"), 1), "{doctor:#}");
        let driver = &doctor["driver"];
        assert_eq!((&driver["result"], &driver["version"]), (&json!("driver_error"), &json!("13.0")), "{doctor:#}");
        has(driver["message"].as_str().unwrap(), &[call, "100 CUDA_ERROR_NO_DEVICE"]);
        assert!(driver["devices"].is_null());
        let text = stub.tool(&["doctor"]).env("FAKE_CUDA_FAIL", &fail).output().unwrap();
        has(&String::from_utf8_lossy(&text.stdout), &["the CUDA driver 13.0 (", call]);
    }
}

#[test]
fn doctor_tells_that_there_is_no_driver() {
    let (doctor, _) = json(&mut Stub::absent().tool(&["doctor", "--json"]));
    assert_eq!((&doctor["driver"]["result"], &doctor["driver"]["path"]), (&json!("driver_not_found"), &Value::Null));
    if machine_has_no_nvjitlink() {
        assert_eq!((&doctor["result"], &doctor["choice"]["backend"]), (&json!("library_not_found"), &Value::Null), "{doctor:#}");
        has(doctor["message"].as_str().unwrap(), &["no nvJitLink was found", "no CUDA driver was found"]);
        let text = Stub::absent().tool(&["doctor"]).output().unwrap();
        assert_eq!(text.status.code(), Some(1));
        has(&String::from_utf8_lossy(&text.stdout), &["no CUDA driver was found", "links by nothing: "]);
    }
}

// From C: the query, children of fork, threads, and a long name. tests/sanitizers.rs runs the same with valgrind and address sanitizer.

#[test]
fn a_program_in_c_links_in_threads_and_is_refused_in_a_fork() {
    let stub = Stub::new();
    let program = CProgram::new("driver", None, &[]);
    let mut command = stub.lead(program.command(&[]));
    // Once without a context, once with one of the host's in every thread.
    run(&mut command);
    let named = |name: &str| calls(&stub.log()).iter().filter(|call| call.split(' ').next() == Some(name)).count();
    assert_eq!((named("cuLinkCreate"), named("cuLinkDestroy"), named("cuDevicePrimaryCtxRetain")), (163, 163, 163));
    assert!(calls(&stub.log()).iter().any(|call| call.contains(" name 1024 nnn")));
    fs::remove_file(stub.log()).unwrap();
    run(command.env("FAKE_CUDA_CURRENT", "1"));
    assert_eq!((named("cuLinkCreate"), named("cuLinkDestroy"), named("cuDevicePrimaryCtxRetain")), (163, 163, 0));
}
