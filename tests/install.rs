//! cargo-c installs a library that a C project outside finds by pkg-config, shared and static, also after it was moved.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::{STRICT_C, dynamic_values, exported_functions, fixture, nvjitlink, root, run};

/// Installs below `target/install-test`, once for all tests, and gives the prefix.
fn installed() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = root().join("target/install-test");
        let prefix = folder.join("prefix");
        if prefix.exists() {
            std::fs::remove_dir_all(&prefix).unwrap();
        }
        // Not the target folder of the cargo that runs this test, which it has locked.
        let mut install = Command::new("cargo-cinstall");
        install.args(["cinstall", "--release", "--locked", "--target-dir"]).arg(folder.join("build"));
        install.arg("--prefix").arg(&prefix).arg("--libdir").arg(prefix.join("lib")).current_dir(root());
        run(&mut install);
        prefix
    })
}

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
    let header = installed().join("include/cudalink/cudalink.h");
    assert!(std::fs::read(header).unwrap() == std::fs::read(root().join("include/cudalink.h")).unwrap());
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

#[test]
fn a_project_outside_builds_and_runs_with_the_static_library() {
    let folder = tempfile::tempdir().unwrap();
    // The linker takes the shared library of two under one name, so the static one is named as a file.
    let library = |flag: String| if flag == "-lcudalink" { "-l:libcudalink.a".to_owned() } else { flag };
    let flags: Vec<String> = pkg_config(installed(), &["--cflags", "--libs", "--static"]).into_iter().map(library).collect();
    let program = consumer(folder.path(), &flags);
    let needed = dynamic_values(&program, "NEEDED");
    assert!(!needed.is_empty() && !needed.iter().any(|name| name.contains("cudalink")), "{needed:?}");
    links(&program, folder.path());
}

#[test]
fn a_project_outside_builds_and_runs_after_the_prefix_was_moved() {
    let folder = tempfile::tempdir().unwrap();
    let moved = folder.path().join("moved");
    run(Command::new("cp").arg("-a").arg(installed()).arg(&moved));
    let flags = pkg_config(&moved, &["--define-prefix", "--cflags", "--libs"]);
    let old = installed().display().to_string();
    assert!(flags.iter().all(|flag| !flag.contains(&old)), "{flags:?}");
    links(&consumer(folder.path(), &flags), &moved.join("lib"));
}
