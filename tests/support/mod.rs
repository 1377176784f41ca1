//! What the tests share: real libraries, fixtures, and the built library and tool.
#![allow(dead_code)] // Each test file uses its own part.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The nvJitLink releases that the tests link with: the oldest, the newest, and the ends of each major version between.
pub const NVJITLINKS: [&str; 5] = ["12.0.140", "12.4.127", "12.9.86", "13.0.88", "13.5.37"];

/// The CUDA releases that made the fixtures.
pub const PRODUCERS: [&str; 5] = ["12.0", "12.4", "12.9", "13.0", "13.5"];

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A real nvJitLink, fetched from PyPI once.
pub fn nvjitlink(version: &str) -> PathBuf {
    let fetched = run(Command::new("python3").arg(root().join("scripts/fetch.py")).arg(format!("nvjitlink=={version}")));
    PathBuf::from(fetched.trim())
}

/// A file below `tests/fixtures`.
pub fn fixture(path: impl AsRef<Path>) -> PathBuf {
    root().join("tests/fixtures").join(path)
}

/// The folder of what cargo built for this test: `libcudalink.so`, `libcudalink.a` and the tool.
pub fn build_folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_cudalink")).parent().unwrap()
}

/// The built `libcudalink.so`.
pub fn shared_library() -> PathBuf {
    build_folder().join("libcudalink.so")
}

/// The command line tool, with nothing in its environment that could lead it to a library.
pub fn cudalink() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudalink"));
    for variable in ["CUDALINK_NVJITLINK", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a command that must succeed, and gives what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    stdout
}

/// Compiles a C program of `tests/c` against the built library, into a folder.
pub fn compile_c(source: &str, folder: &Path) -> PathBuf {
    let program = folder.join(Path::new(source).file_stem().unwrap());
    let library_folder = build_folder();
    run(Command::new("gcc")
        .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-g", "-I"])
        .arg(root().join("include"))
        .arg(root().join("tests/c").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(library_folder)
        .args(["-lcudalink", "-lpthread"])
        .arg(format!("-Wl,-rpath,{}", library_folder.display())));
    program
}
