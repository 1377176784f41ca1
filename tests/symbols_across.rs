//! What is wrong with the symbols of a link is told on every release: twice defined, nowhere defined, kernels that do not come out.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{cudalink, fixture, nvjitlink};

const RELEASES: [&str; 6] = ["12.0.140", "12.4.127", "12.6.85", "12.9.86", "13.0.88", "13.5.37"];

fn link(release: &str, options: &[&str], inputs: &[PathBuf]) -> Value {
    let mut command = cudalink();
    command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink(release));
    support::json(command.args(options).args(inputs)).0
}

/// A unit in PTX, written into a folder.
fn unit(folder: &Path, name: &str, body: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}\n")).unwrap();
    path
}

const CALLS: &str = ".extern .func (.param .b32 r) f (.param .b32 p);
.visible .entry kernel() { .param .b32 a; .param .b32 b; .reg .b32 %r<2>; st.param.b32 [a], 1; call.uni (b), f, (a); ld.param.b32 %r1, [b]; ret; }";

fn function(linkage: &str) -> String {
    format!("{linkage} .func (.param .b32 r) f (.param .b32 p) {{ .reg .b32 %r<2>; ld.param.b32 %r1, [p]; st.param.b32 [r], %r1; ret; }}")
}

#[test]
fn definitions_go_together_as_their_linkage_says() {
    let folder = tempfile::tempdir().unwrap();
    let unit = |name: &str, body: &str| unit(folder.path(), name, body);
    let caller = unit("caller.ptx", CALLS);
    let strong = unit("strong.ptx", &function(".visible"));
    let again = unit("again.ptx", &function(".visible"));
    let weak = unit("weak.ptx", &function(".weak"));
    let weak_again = unit("weak_again.ptx", &function(".weak"));
    let fixed = unit("static.ptx", &function(""));
    let kernel_again = unit("kernel_again.ptx", ".visible .entry kernel() { ret; }");
    let variable = unit("variable.ptx", ".visible .global .align 4 .b32 f;");
    let reader =
        unit("reader.ptx", ".extern .global .align 4 .b32 f;\n.visible .entry reads() { .reg .b32 %r; ld.global.u32 %r, [f]; ret; }");
    let texture = unit("texture.ptx", ".visible .global .texref t;");
    let texture_again = unit("texture_again.ptx", ".visible .global .texref t;");
    let constant = unit("constant.ptx", ".visible .const .align 4 .b32 c = 1;");
    let constant_again = unit("constant_again.ptx", ".visible .const .align 4 .b32 c = 1;");
    let mangled = unit("mangled.ptx", &function(".visible").replace(" f ", " _ZN5space1fEi "));
    let mangled_again = unit("mangled_again.ptx", &function(".visible").replace(" f ", " _ZN5space1fEi "));
    let larger =
        unit("larger.ptx", ".extern .const .align 4 .b32 c[2];\n.visible .entry reads() { .reg .b32 %r; ld.const.u32 %r, [c]; ret; }");
    let unsized_one =
        unit("unsized.ptx", ".extern .const .align 4 .b32 c[];\n.visible .entry reads() { .reg .b32 %r; ld.const.u32 %r, [c]; ret; }");
    let elsewhere =
        unit("elsewhere.ptx", ".extern .global .align 4 .b32 c;\n.visible .entry reads() { .reg .b32 %r; ld.global.u32 %r, [c]; ret; }");
    let common_variable = unit("common.ptx", ".common .global .align 4 .b32 g;");
    let weak_variable = unit("weak_variable.ptx", ".weak .global .align 4 .b32 g = 7;");
    let cases: &[(&str, &[&PathBuf])] = &[
        ("ok", &[&caller, &strong]),
        ("duplicate_symbol", &[&caller, &strong, &again]),
        ("duplicate_symbol", &[&caller, &strong, &strong]),
        ("ok", &[&caller, &weak, &weak_again]),
        ("ok", &[&caller, &strong, &weak]),
        ("ok", &[&caller, &weak, &strong]),
        ("ok", &[&caller, &strong, &fixed]),
        ("duplicate_symbol", &[&caller, &strong, &kernel_again]),
        ("duplicate_symbol", &[&caller, &strong, &variable]),
        ("duplicate_symbol", &[&caller, &variable]),
        ("duplicate_symbol", &[&reader, &strong]),
        ("ok", &[&weak_variable, &common_variable]),
        ("duplicate_symbol", &[&common_variable, &weak_variable]),
        ("ok", &[&texture, &texture_again]),
        ("ok", &[&common_variable, &common_variable]),
        ("duplicate_symbol", &[&constant, &constant_again]),
        ("duplicate_symbol", &[&mangled, &mangled_again]),
        ("ok", &[&constant, &unsized_one]),
        ("duplicate_symbol", &[&constant, &larger]),
        ("duplicate_symbol", &[&constant, &elsewhere]),
        ("unresolved_symbol", &[&caller]),
        ("unresolved_symbol", &[&caller, &fixed]),
    ];
    for release in RELEASES {
        for (class, inputs) in cases {
            let inputs: Vec<PathBuf> = inputs.iter().map(|path| (*path).clone()).collect();
            let report = link(release, &[], &inputs);
            assert_eq!(report["result"], *class, "{inputs:?} on {release}: {report}");
            if *class != "ok" {
                let finding = report["diagnostics"].as_array().unwrap().last().unwrap();
                assert!(matches!(finding["symbol"].as_str(), Some("f" | "g" | "c" | "_ZN5space1fEi" | "kernel")), "{finding}");
                assert!(finding["input"].is_string(), "{finding}");
            }
        }
    }
    let report = link("12.0.140", &[], &[caller, fixed]);
    let hint = report["diagnostics"].as_array().unwrap().last().unwrap()["hint"].as_str().unwrap();
    assert!(hint.contains("static.ptx") && hint.contains("static"), "{hint}");
}

/// A unit with a variable, and a kernel that reads it.
fn variable(folder: &Path, name: &str, kernel: usize, declaration: &str) -> PathBuf {
    let reads = format!(".visible .entry k{kernel}(.param .u64 p) {{ .reg .b32 %r; ld.global.u32 %r, [v]; ret; }}");
    unit(folder, &format!("{name}.{kernel}.ptx"), &format!("{declaration}\n{reads}"))
}

const VARIABLES: [(&str, &str); 13] = [
    ("common4", ".common .global .align 4 .b8 v[4];"),
    ("common8", ".common .global .align 4 .b8 v[8];"),
    ("common4 = 1", ".common .global .align 4 .b8 v[4] = {1};"),
    ("common8 = 1", ".common .global .align 4 .b8 v[8] = {1};"),
    ("strong4", ".visible .global .align 4 .b8 v[4];"),
    ("strong8", ".visible .global .align 4 .b8 v[8];"),
    ("strong4 = 1", ".visible .global .align 4 .b8 v[4] = {1};"),
    ("strong8 = 1", ".visible .global .align 4 .b8 v[8] = {1};"),
    ("weak4 = 1", ".weak .global .align 4 .b8 v[4] = {1};"),
    ("weak8 = 1", ".weak .global .align 4 .b8 v[8] = {1};"),
    ("extern", ".extern .global .align 4 .b8 v[];"),
    ("extern4", ".extern .global .align 4 .b8 v[4];"),
    ("extern8", ".extern .global .align 4 .b8 v[8];"),
];

/// Links units of [`VARIABLES`] in this order.
fn link_variables(release: &str, folder: &Path, names: &[&str]) -> Value {
    let declaration = |name: &str| VARIABLES.iter().find(|(known, _)| *known == name).unwrap().1;
    let units: Vec<PathBuf> = names.iter().enumerate().map(|(kernel, name)| variable(folder, name, kernel, declaration(name))).collect();
    link(release, &[], &units)
}

#[test]
fn common_variables_of_different_sizes_merge_to_the_largest() {
    let folder = tempfile::tempdir().unwrap();
    let ok: &[&[&str]] = &[
        &["common4", "common8"],
        &["common8", "common4"],
        &["extern", "common4", "common8"],
        // A declaration is compared with what is there so far.
        &["common4", "extern4", "common8"],
        &["common8", "common4", "extern8"],
        &["common4", "common8 = 1"],
        &["common8 = 1", "common4"],
        &["common4", "strong4"],
        &["common4", "strong8 = 1"],
        &["strong8 = 1", "common4"],
        &["weak8 = 1", "common4"],
        &["common4", "common8", "strong8 = 1", "common4"],
    ];
    let refused: &[&[&str]] = &[
        &["common8", "common4 = 1"],
        &["common4 = 1", "common8"],
        &["common4 = 1", "common4 = 1"],
        &["common4", "strong8"],
        &["common8", "strong4"],
        &["strong8", "common4"],
        &["strong4", "common4"],
        &["common8", "strong4 = 1"],
        &["strong4 = 1", "common8"],
        &["common4", "weak4 = 1"],
        &["common8", "weak4 = 1"],
        &["weak4 = 1", "common8"],
        &["weak4 = 1", "weak8 = 1"],
    ];
    for release in RELEASES {
        for (class, cases) in [("ok", ok), ("duplicate_symbol", refused)] {
            for names in cases {
                let report = link_variables(release, folder.path(), names);
                assert_eq!(report["result"], class, "{names:?} on {release}: {report}");
                if class != "ok" {
                    let finding = report["diagnostics"].as_array().unwrap().last().unwrap();
                    assert!(finding["hint"].is_string() && finding["symbol"] == "v" && finding["backend"].is_null(), "{finding}");
                }
            }
        }
    }
}

#[test]
fn a_declaration_that_is_not_its_definition_is_told_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["extern8", "strong4"], "'v' is declared as a 8-byte global variable in '#0' and defined as a 4-byte global variable in '#1'"),
        (&["strong4", "extern8"], "'v' is declared as a 8-byte global variable in '#1' and defined as a 4-byte global variable in '#0'"),
        (
            &["extern4", "common8"],
            "'v' is declared as a 4-byte global variable in '#0' and defined as a common 8-byte global variable in '#1'",
        ),
        (&["extern4", "extern8", "strong4"], "'v' is declared as a 4-byte global variable in '#0' and as a 8-byte global variable in '#1'"),
        (&["extern", "extern4", "extern8"], "'v' is declared as a 4-byte global variable in '#0' and as a 8-byte global variable in '#2'"),
    ];
    for release in RELEASES {
        for (names, text) in cases {
            let report = link_variables(release, folder.path(), names);
            let place = |kernel: usize| folder.path().join(format!("{}.{kernel}.ptx", names.get(kernel).unwrap_or(&"")));
            let text =
                (0..3).fold((*text).to_owned(), |text, kernel| text.replace(&format!("#{kernel}"), &place(kernel).to_string_lossy()));
            assert_eq!((&report["result"], &report["message"]), (&"duplicate_symbol".into(), &text.into()), "{release}");
            let hint = &report["diagnostics"].as_array().unwrap().last().unwrap()["hint"];
            assert_eq!(hint, "declare it as it is defined: a header that all units include keeps them the same", "{names:?} on {release}");
        }
    }
}

#[test]
fn a_duplicate_is_found_between_all_kinds_that_can_be_looked_into() {
    let helpers = ["12.0/helper.ptx", "12.0/helper.cubin", "12.0/helper.fatbin", "12.0/helper.o", "12.0/libhelper.a"].map(fixture);
    for release in RELEASES {
        for first in &helpers {
            for second in &helpers {
                let report = link(release, &[], &[fixture("12.0/kernel.ptx"), first.clone(), second.clone()]);
                assert_eq!(report["result"], "duplicate_symbol", "{first:?} {second:?} on {release}: {report}");
                let message = report["message"].as_str().unwrap();
                assert!(message.contains("'helper'") && message.contains(&*second.to_string_lossy()), "{message}");
            }
        }
        // The library itself tells of two LTO-IR.
        let twice = ["12.0/kernel.ltoir", "12.0/helper.ltoir", "12.0/helper.ltoir"].map(fixture);
        assert_eq!(link(release, &[], &twice)["result"], "duplicate_symbol", "LTO-IR on {release}");
    }
}

#[test]
fn an_unresolved_symbol_names_every_input_that_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let first = unit(folder.path(), "first.ptx", CALLS);
    let second = unit(folder.path(), "second.ptx", &CALLS.replace("kernel", "other"));
    for release in RELEASES {
        let report = link(release, &[], &[first.clone(), second.clone()]);
        let message = report["message"].as_str().unwrap();
        assert_eq!(report["result"], "unresolved_symbol", "{release}: {report}");
        assert!(message.contains("'f'") && message.contains("first.ptx") && message.contains("second.ptx"), "{message}");
    }
    // Where a partial link leaves them open they are listed.
    let report = link("13.5.37", &["-r"], &[first, second]);
    assert_eq!((&report["result"], &report["output"]["undefined"]), (&"ok".into(), &serde_json::json!(["f"])), "{report}");
}

#[test]
fn unresolved_symbols_have_one_copy_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let count = 500;
    let lines = |line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let declared = lines(&|index| format!(".extern .func f{index}();\n"));
    let called = lines(&|index| format!("call.uni f{index};\n"));
    let caller = unit(folder.path(), "caller.ptx", &format!("{declared}.visible .entry kernel() {{\n{called}ret; }}"));
    for release in RELEASES {
        let report = link(release, &[], std::slice::from_ref(&caller));
        let findings = report["diagnostics"].as_array().unwrap();
        assert_eq!((&report["result"], findings.len()), (&"unresolved_symbol".into(), count), "{release}");
        // Each has the answer, and the last one, which is the error, its text.
        let (last, others) = findings.split_last().unwrap();
        assert_eq!(last["backend"]["text"], report["logs"]["error"], "{release}");
        for finding in others {
            let backend = &finding["backend"];
            assert!(backend["call"] == "nvJitLinkComplete" && backend["code"] == last["backend"]["code"], "{release}: {finding}");
            assert!(backend["text"].is_null(), "{release}: {finding}");
        }
    }
}

#[test]
fn kernels_that_are_required_come_out_or_are_an_error() {
    let inputs = ["12.0/kernel.ptx", "12.0/helper.ptx"].map(fixture);
    let ltoir = ["12.0/kernel.ltoir", "12.0/helper.ltoir"].map(fixture);
    for release in RELEASES {
        for inputs in [&inputs, &ltoir] {
            assert_eq!(link(release, &["--require-kernel", "kernel"], inputs)["result"], "ok", "{release}");
            for options in [&["--require-kernel", "kernal"][..], &["--require-kernel", "kernel", "-kernels-used=absent"]] {
                let report = link(release, options, inputs);
                assert_eq!(report["result"], "missing_kernel", "{release}");
                assert!(report["message"].as_str().unwrap().contains(&format!("'{}'", options[1])), "{report}");
            }
        }
    }
}

/// What is said of one rule: option and reason.
fn decided(report: &Value, rule: &str) -> Vec<(String, String)> {
    let text = |decision: &Value, field: &str| decision[field].as_str().unwrap().to_owned();
    let decisions = report["plan"]["decisions"].as_array().unwrap().iter().filter(|decision| decision["rule"] == rule);
    decisions.map(|decision| (text(decision, "option"), text(decision, "reason"))).collect()
}

/// What is said, all of it as warnings.
fn findings(report: &Value) -> Vec<&str> {
    let all = report["diagnostics"].as_array().unwrap().iter();
    all.inspect(|finding| assert_eq!(finding["severity"], "warning")).map(|finding| finding["message"].as_str().unwrap()).collect()
}

const TWO_KERNELS: &str = ".visible .global .align 4 .b32 variable = 1;
.visible .entry _Z5firstPi(.param .u64 p) { ret; }
.visible .entry _Z6secondPi(.param .u64 p) { ret; }";

#[test]
fn kernels_used_keeps_every_kernel_whose_symbol_contains_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = unit(folder.path(), "two.ptx", TWO_KERNELS);
    let cubin = folder.path().join("two.cubin");
    let mut tool = cudalink();
    tool.args(["link", "-arch=sm_80", "-r", "-o"]).arg(&cubin).arg("--library").arg(nvjitlink("13.0.88")).arg(&ptx);
    support::run(&mut tool);
    let ltoir = fixture("12.0/kernel.ltoir");
    for release in RELEASES {
        // 12.5 is the oldest that reads a cubin of 13.0.
        let cubin = (!matches!(release, "12.0.140" | "12.4.127")).then_some(&cubin);
        for input in std::iter::once(&ptx).chain(cubin) {
            for (text, kept, reason) in [
                ("first", &["_Z5firstPi"][..], "'first' keeps '_Z5firstPi'"),
                ("Pi", &["_Z5firstPi", "_Z6secondPi"], "'Pi' keeps '_Z5firstPi', '_Z6secondPi'"),
                ("absent", &[], "'absent' is in no symbol of the inputs"),
            ] {
                let flag = format!("-kernels-used={text}");
                let report = link(release, &[&flag], std::slice::from_ref(input));
                assert_eq!(report["result"], "ok", "{text} on {release}: {report}");
                let mut kernels: Vec<&str> = report["output"]["kernels"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                kernels.sort_unstable();
                assert_eq!(kernels, kept, "{text} on {release}");
                assert_eq!(decided(&report, "used_names"), [(flag, reason.to_owned())], "{release}");
                let expected: &[&str] =
                    if kept.is_empty() { &["kernels_used has 'absent', which is in the name of no kernel"] } else { &[] };
                assert_eq!(findings(&report), expected, "{release}");
            }
        }
        // Of LTO-IR only the output tells.
        let helper = fixture("12.0/helper.ltoir");
        for (text, kernels, count) in [("kern", 1, 0), ("absent", 0, 1)] {
            let report = link(release, &[&format!("-kernels-used={text}")], &[ltoir.clone(), helper.clone()]);
            assert_eq!((&report["result"], report["output"]["kernels"].as_array().unwrap().len()), (&"ok".into(), kernels), "{release}");
            assert_eq!(findings(&report).len(), count, "{text} on {release}: {report}");
        }
    }
}

#[test]
fn variables_used_links_whatever_it_names_and_costs_no_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = unit(folder.path(), "two.ptx", TWO_KERNELS);
    for release in RELEASES {
        for (text, count) in [("aria", 0), ("absent", 1)] {
            let report = link(release, &[&format!("-variables-used={text}")], std::slice::from_ref(&ptx));
            assert_eq!((&report["result"], report["output"]["kernels"].as_array().unwrap().len()), (&"ok".into(), 2), "{release}");
            assert_eq!(findings(&report).len(), count, "{text} on {release}: {report}");
            assert_eq!(decided(&report, "names_to_keep").len(), 1, "{release}: {report}");
        }
    }
}

#[test]
fn of_ltoir_one_kind_of_names_to_keep_without_the_other_crashes_no_release() {
    let ltoir = ["12.0/kernel.ltoir", "12.0/helper.ltoir"].map(fixture);
    for (release, dropped) in [("12.0.140", 0), ("12.1.105", 1), ("12.9.86", 0), ("13.5.37", 0)] {
        for flag in ["-kernels-used=kernel", "-variables-used=absent"] {
            let report = link(release, &[flag], &ltoir);
            assert_eq!((&report["result"], &report["output"]["kernels"]), (&"ok".into(), &serde_json::json!(["kernel"])), "{release}");
            assert_eq!(decided(&report, "names_to_keep").len(), dropped, "{flag} on {release}: {report}");
        }
        let report = link(release, &["-kernels-used=kernel", "-variables-used=absent"], &ltoir);
        assert_eq!((&report["result"], decided(&report, "names_to_keep").len()), (&"ok".into(), 0), "{release}");
    }
}

#[test]
fn of_an_archive_only_needed_members_are_linked_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let unit = |name: &str, body: &str| unit(folder.path(), name, body);
    let caller = unit("caller.ptx", CALLS);
    let calls_g = "{ .reg .b32 %r<2>; .param .b32 a; .param .b32 b; st.param.b32 [a], 1; call.uni (b), g, (a); ld.param.b32 %r1, [b]; st.param.b32 [r], %r1; ret; }";
    unit("f.ptx", &format!(".extern .func (.param .b32 x) g (.param .b32 y);\n.visible .func (.param .b32 r) f (.param .b32 p) {calls_g}"));
    unit("g.ptx", &function(".visible").replace(" f ", " g "));
    unit("unneeded.ptx", &function(".visible").replace(" f ", " h "));
    let archive = folder.path().join("lib.a");
    let members = ["unneeded.ptx", "g.ptx", "f.ptx"];
    support::run(std::process::Command::new("ar").arg("rcs").arg(&archive).args(members).current_dir(folder.path()));
    for release in RELEASES {
        let report = link(release, &["--archive-members", "needed"], &[caller.clone(), archive.clone()]);
        assert_eq!(report["result"], "ok", "{release}: {report}");
        let decision =
            report["plan"]["decisions"].as_array().unwrap().iter().find(|decision| decision["rule"] == "needed_members").unwrap();
        let reason = decision["reason"].as_str().unwrap();
        assert!(reason.starts_with("2 of 3 members are needed: ") && reason.contains("f.ptx") && reason.contains("g.ptx"), "{reason}");
    }
    // libcudadevrt.a is needed by nothing here, and is as large as ten of these links.
    let devrt = support::fetch("runtime", "13.0.88").join("nvidia/cu13/lib/libcudadevrt.a");
    let inputs = [fixture("13.0/kernel.ptx"), fixture("13.0/helper.ptx"), devrt];
    let size = |options: &[&str]| link("13.5.37", options, &inputs)["output"]["size"].as_u64().unwrap();
    let (all, needed) = (size(&[]), size(&["--archive-members", "needed"]));
    assert!(all > 100_000 && needed < 10_000, "{all} and {needed} bytes");
}

#[test]
fn what_ltoir_may_need_of_an_archive_is_linked() {
    let folder = tempfile::tempdir().unwrap();
    // A member that nothing needs, and one that only the LTO-IR does.
    unit(folder.path(), "unneeded.ptx", &function(".visible").replace(" f ", " h "));
    let archive = folder.path().join("lib.a");
    let members = [fixture("12.0/helper.cubin"), folder.path().join("unneeded.ptx")];
    support::run(std::process::Command::new("ar").arg("rcs").arg(&archive).args(members));
    for release in RELEASES {
        let report = link(release, &["--archive-members", "needed"], &[fixture("12.0/kernel.ltoir"), archive.clone()]);
        let all = link(release, &[], &[fixture("12.0/kernel.ltoir"), archive.clone()]);
        assert_eq!((&report["result"], &report["output"]["kernels"]), (&all["result"], &all["output"]["kernels"]), "{release}: {report}");
        let [(_, reason)] = &decided(&report, "needed_members")[..] else { panic!("{report}") };
        assert!(reason.starts_with("all members are linked, for '") && reason.contains("kernel.ltoir"), "{reason}");
        assert_eq!(
            (&report["result"], &report["output"]["kernels"]),
            (&"ok".into(), &serde_json::json!(["kernel"])),
            "{release}: {report}"
        );
    }
}
