//! cargo-c installs a library that a project outside, in C or C++, finds by pkg-config, shared and static, also after it was moved.
//! tests/cmake.rs is the same for CMake.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{
    STRICT_C, STRICT_CPP, dynamic_values, exported_functions, fixture, installed, links_and_refuses, moved, nvjitlink, root, run,
};

fn pkg_config(prefix: &Path, arguments: &[&str]) -> Vec<String> {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(arguments).arg("cudalink").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    run(&mut pkg_config).split_whitespace().map(str::to_owned).collect()
}

/// Builds the consumer in a folder of its own, which knows nothing of this one.
fn consumer(folder: &Path, flags: &[String]) -> PathBuf {
    let (source, program) = (folder.join("consumer.c"), folder.join("consumer"));
    std::fs::copy(root().join("tests/install/consumer.c"), &source).unwrap();
    run(Command::new("cc").args(STRICT_C).arg(&source).arg("-o").arg(&program).args(flags).current_dir(folder));
    program
}

/// Links real code; `library_folder` is where the loader looks for libcudalink.
fn links(program: &Path, library_folder: &Path) {
    let mut command = Command::new(program);
    command.arg(nvjitlink("13.5.37")).args(["kernel.ptx", "helper.ptx"].map(|file| fixture(Path::new("12.0").join(file))));
    let told = run(command.env("LD_LIBRARY_PATH", library_folder));
    assert!(told.starts_with("linked ") && told.contains(concat!("cudalink ", env!("CARGO_PKG_VERSION"))), "{told}");
}

#[test]
fn everything_is_there() {
    let version = env!("CARGO_PKG_VERSION");
    for file in ["libcudalink.a", "libcudalink.so", "libcudalink.so.0.1", &format!("libcudalink.so.{version}"), "pkgconfig/cudalink.pc"] {
        assert!(installed().join("lib").join(file).is_file(), "{file}");
    }
    for (file, source) in [
        ("include/cudalink/cudalink.h", "include/cudalink.h"),
        ("include/cudalink/cudalink.hpp", "include/cudalink.hpp"),
        ("share/cmake/cudalink/cudalinkConfig.cmake", "cmake/cudalinkConfig.cmake"),
        ("share/cmake/cudalink/cudalinkConfigVersion.cmake", "cmake/cudalinkConfigVersion.cmake"),
    ] {
        assert!(std::fs::read(installed().join(file)).unwrap() == std::fs::read(root().join(source)).unwrap(), "{file}");
    }
    assert_eq!(pkg_config(installed(), &["--modversion"]), [version]);
}

#[test]
fn the_shared_library_is_the_one_that_was_promised() {
    let library = installed().join("lib/libcudalink.so");
    assert_eq!(dynamic_values(&library, "SONAME"), ["libcudalink.so.0.1"]);
    assert!(dynamic_values(&library, "FLAGS_1").concat().contains("NODELETE"));
    assert_eq!(exported_functions(&library), std::fs::read_to_string(root().join("tests/abi/exports.txt")).unwrap());
}

/// A panic is caught at the C boundary, which it can only be if this build lets it unwind.
#[test]
fn a_panic_unwinds() {
    let undefined = run(Command::new("nm").args(["-D", "--undefined-only"]).arg(installed().join("lib/libcudalink.so")));
    assert!(undefined.contains("_Unwind_RaiseException"), "{undefined}");
}

#[test]
fn a_project_outside_builds_and_runs_with_the_shared_library() {
    let folder = tempfile::tempdir().unwrap();
    let program = consumer(folder.path(), &pkg_config(installed(), &["--cflags", "--libs"]));
    assert!(dynamic_values(&program, "NEEDED").contains(&"libcudalink.so.0.1".to_owned()));
    links(&program, &installed().join("lib"));
}

/// The flags for the static library. Of two libraries under one name the linker takes the shared one, so it is named as a file.
fn static_flags() -> Vec<String> {
    let library = |flag: String| if flag == "-lcudalink" { "-l:libcudalink.a".to_owned() } else { flag };
    pkg_config(installed(), &["--cflags", "--libs", "--static"]).into_iter().map(library).collect()
}

fn needs_no_cudalink(program: &Path) {
    let needed = dynamic_values(program, "NEEDED");
    assert!(!needed.is_empty() && !needed.iter().any(|name| name.contains("cudalink")), "{needed:?}");
}

#[test]
fn a_project_outside_builds_and_runs_with_the_static_library() {
    let folder = tempfile::tempdir().unwrap();
    let program = consumer(folder.path(), &static_flags());
    needs_no_cudalink(&program);
    links(&program, folder.path());
}

/// The flags of a prefix that was moved, which name nothing of where it was.
fn moved_flags(prefix: &Path) -> Vec<String> {
    let flags = pkg_config(prefix, &["--define-prefix", "--cflags", "--libs"]);
    let old = installed().display().to_string();
    assert!(flags.iter().all(|flag| !flag.contains(&old)), "{flags:?}");
    flags
}

#[test]
fn a_project_outside_builds_and_runs_after_the_prefix_was_moved() {
    let folder = tempfile::tempdir().unwrap();
    let moved = moved(folder.path());
    links(&consumer(folder.path(), &moved_flags(&moved)), &moved.join("lib"));
    // The static library too, which the linker takes where there is no shared one beside it.
    for file in std::fs::read_dir(moved.join("lib")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.to_string_lossy().contains(".so") {
            std::fs::remove_file(file).unwrap();
        }
    }
    let program = consumer(folder.path(), &pkg_config(&moved, &["--define-prefix", "--cflags", "--libs", "--static"]));
    needs_no_cudalink(&program);
    links(&program, folder.path());
}

/// Builds the program of `examples/cpp-cmake` in a folder of its own, by pkg-config.
fn cpp_example(folder: &Path, flags: &[String]) -> PathBuf {
    let (source, program) = (folder.join("link_two.cpp"), folder.join("link_two"));
    std::fs::copy(root().join("examples/cpp-cmake/link_two.cpp"), &source).unwrap();
    run(Command::new("c++").args(STRICT_CPP).arg("-std=c++17").arg(&source).arg("-o").arg(&program).args(flags).current_dir(folder));
    program
}

#[test]
fn a_project_in_cpp_builds_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = cpp_example(folder.path(), &pkg_config(installed(), &["--cflags", "--libs"]));
    links_and_refuses(&program, &installed().join("lib"));
    let moved = moved(folder.path());
    links_and_refuses(&cpp_example(folder.path(), &moved_flags(&moved)), &moved.join("lib"));
}

#[test]
fn a_project_in_cpp_builds_and_runs_with_the_static_library() {
    let folder = tempfile::tempdir().unwrap();
    let program = cpp_example(folder.path(), &static_flags());
    needs_no_cudalink(&program);
    links_and_refuses(&program, folder.path());
}

/// The example of `examples/c-pkg-config`, by the command that it says.
#[test]
fn the_c_example_builds_and_runs_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("examples/c-pkg-config/link_two.c");
    std::fs::copy(&source, folder.path().join("link_two.c")).unwrap();
    let text = std::fs::read_to_string(&source).unwrap();
    let command = text.lines().find_map(|line| line.strip_prefix(" *   cc ")).unwrap();
    for (prefix, option) in [(installed().to_owned(), ""), (moved(folder.path()), "--define-prefix ")] {
        let line = format!("cc {} {}", STRICT_C.join(" "), command.replace("--cflags", &format!("{option}--cflags")));
        let mut shell = Command::new("sh");
        shell.args(["-euc", &line]).current_dir(folder.path()).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        run(&mut shell);
        links_and_refuses(&folder.path().join("link_two"), &prefix.join("lib"));
    }
}
