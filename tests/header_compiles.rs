//! `cudalink.h` compiles in C and C++, alone and in company, without a warning.

mod support;

use std::path::PathBuf;
use std::process::Command;

use support::{root, run};

const COMPILERS: [(&str, &str, &str); 4] =
    [("gcc", "-std=c99", "c"), ("gcc", "-std=c11", "c"), ("g++", "-std=c++11", "c++"), ("g++", "-std=c++17", "c++")];

/// Compiles a source text in every language version that the header promises.
fn compiles(text: &str, flags: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("unit");
    std::fs::write(&source, text).unwrap();
    for (compiler, standard, language) in COMPILERS {
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]).args(flags);
        command.arg("-I").arg(root().join("include")).args(["-x", language]).arg(&source);
        run(&mut command);
    }
}

#[test]
fn alone() {
    compiles("#include <cudalink.h>\n", &[]);
}

#[test]
fn twice() {
    compiles("#include <cudalink.h>\n#include <cudalink.h>\n", &[]);
}

#[test]
fn with_every_init_macro_used() {
    let mut uses = String::from("#include <cudalink.h>\n");
    for (structure, macro_name) in [
        ("cl_linker_options", "CL_LINKER_OPTIONS_INIT"),
        ("cl_diagnostic", "CL_DIAGNOSTIC_INIT"),
        ("cl_library_info", "CL_LIBRARY_INFO_INIT"),
    ] {
        uses.push_str(&format!("size_t size_of_{structure}(void);\n"));
        uses.push_str(&format!("size_t size_of_{structure}(void) {{ {structure} value = {macro_name}; return value.struct_size; }}\n"));
    }
    let header = std::fs::read_to_string(root().join("include/cudalink.h")).unwrap();
    let macros: Vec<&str> = header.split_whitespace().filter(|word| word.starts_with("CL_") && word.ends_with("_INIT")).collect();
    assert!(!macros.is_empty() && macros.iter().all(|name| uses.contains(name)), "{macros:?}");
    compiles(&uses, &[]);
}

/// The folder that holds `CL/cl.h`.
fn opencl_headers() -> PathBuf {
    let places = [PathBuf::from("/usr/include"), root().join("target/opencl-headers/usr/include")];
    let found = places.into_iter().find(|folder| folder.join("CL/cl.h").is_file());
    found.expect("CL/cl.h is neither in /usr/include nor in target/opencl-headers/usr/include; scripts/test sets it up")
}

#[test]
fn beside_opencl_in_both_orders() {
    let flags = ["-DCL_TARGET_OPENCL_VERSION=300".to_owned(), "-isystem".to_owned(), opencl_headers().display().to_string()];
    compiles("#include <CL/cl.h>\n#include <cudalink.h>\n", &flags);
    compiles("#include <cudalink.h>\n#include <CL/cl.h>\n", &flags);
}
