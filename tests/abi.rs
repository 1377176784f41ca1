//! What a program that was compiled with this header relies on in every later library.
#![cfg(target_pointer_width = "64")]

mod support;

use std::process::Command;

use support::{compile_c_as, dynamic_values, exported_functions, root, run, shared_library};

const C_LIBRARY: [&str; 7] =
    ["libc.so.6", "libgcc_s.so.1", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];

#[test]
fn the_exports_are_those_of_the_list() {
    let listed = std::fs::read_to_string(root().join("tests/abi/exports.txt")).unwrap();
    assert_eq!(exported_functions(&shared_library()), listed, "a name is only ever added to tests/abi/exports.txt");
}

#[test]
fn the_header_declares_the_exports() {
    let listed = std::fs::read_to_string(root().join("tests/abi/exports.txt")).unwrap();
    let header = std::fs::read_to_string(root().join("include/cudalink.h")).unwrap();
    let declared = |line: &str| {
        let (before, _) = line.split_once('(')?;
        let (_, name) = before.rsplit_once([' ', '*'])?;
        (line.starts_with(|first: char| first.is_ascii_lowercase()) && !line.starts_with("typedef")).then(|| format!("{name}\n"))
    };
    let mut names: Vec<String> = header.lines().filter_map(declared).collect();
    names.sort();
    assert_eq!(names.concat(), listed);
}

#[test]
fn nothing_of_cuda_is_linked_in() {
    let undefined = run(Command::new("nm").args(["-D", "--undefined-only"]).arg(shared_library()));
    let names: Vec<&str> = undefined.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert!(names.iter().any(|name| name.starts_with("dlopen")), "{names:?}");
    let of_cuda: Vec<_> =
        names.iter().filter(|name| ["nvJitLink", "__nvJitLink", "cu"].iter().any(|prefix| name.starts_with(prefix))).collect();
    assert!(of_cuda.is_empty(), "{of_cuda:?}");
}

#[test]
fn only_the_c_library_is_needed() {
    let needed = dynamic_values(&shared_library(), "NEEDED");
    assert!(needed.contains(&"libc.so.6".to_owned()), "{needed:?}");
    assert!(needed.iter().all(|name| C_LIBRARY.contains(&name.as_str())), "{needed:?}");
}

#[test]
fn it_stays_loaded() {
    let flags = dynamic_values(&shared_library(), "FLAGS_1");
    assert!(flags.concat().contains("NODELETE"), "{flags:?}");
}

#[test]
fn structures_constants_and_names_are_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("layout");
    compile_c_as("tests/abi/layout.c", &program, &["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
    run(&mut Command::new(program));
}

#[test]
fn every_constant_of_the_header_is_pinned() {
    let header = std::fs::read_to_string(root().join("include/cudalink.h")).unwrap();
    let layout = std::fs::read_to_string(root().join("tests/abi/layout.c")).unwrap();
    let constant = |line: &str| {
        let name = line.strip_prefix("#define ").unwrap_or(line.trim_start()).split([' ', ',']).next()?.to_owned();
        let is_value = line.starts_with("#define ") || line.contains(" = ");
        (name.starts_with("CL_") && !name.ends_with("_INIT") && is_value).then_some(name)
    };
    let constants: Vec<String> = header.lines().filter_map(constant).collect();
    assert!(constants.contains(&"CL_RESULT_PANIC".to_owned()) && constants.contains(&"CL_ZERO".to_owned()));
    let missing: Vec<_> = constants.iter().filter(|name| !layout.contains(&format!("({name}, "))).collect();
    assert!(missing.is_empty(), "tests/abi/layout.c does not pin {missing:?}");
}
