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
fn kernels_that_are_asked_for_come_out_or_are_an_error() {
    let inputs = ["12.0/kernel.ptx", "12.0/helper.ptx"].map(fixture);
    let ltoir = ["12.0/kernel.ltoir", "12.0/helper.ltoir"].map(fixture);
    for release in RELEASES {
        for inputs in [&inputs, &ltoir] {
            assert_eq!(link(release, &["-kernels-used=kernel"], inputs)["result"], "ok", "{release}");
            assert_eq!(link(release, &["-kernels-used=kernal"], inputs)["result"], "missing_kernel", "{release}");
            assert_eq!(link(release, &["--require-kernel", "kernel"], inputs)["result"], "ok", "{release}");
            let report = link(release, &["--require-kernel", "kernal"], inputs);
            assert_eq!(report["result"], "missing_kernel", "{release}");
            assert!(report["message"].as_str().unwrap().contains("'kernal'"), "{report}");
        }
        assert_eq!(link(release, &["-variables-used=nothing"], &inputs)["result"], "unresolved_symbol", "{release}");
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
