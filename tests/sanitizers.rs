//! The C programs have no memory error and no leak, and the tools that say so are on.

mod support;

use std::process::{Command, Output};

use support::{CProgram, FOUND, STRICT_C, compile_c_as, fake_driver, root, sanitizer_environment};

const WITH_STUBS: [&str; 4] = ["states", "arguments", "structs", "describe"];
const WITH_A_REAL_LIBRARY: [&str; 5] = ["memory_and_files", "getters", "diagnostics", "query", "threads"];
/// The others would take minutes, and show nothing of cudalink that address sanitizer does not see too.
const UNDER_VALGRIND: [&str; 2] = ["memory_and_files", "diagnostics"];

struct Tool {
    flags: &'static [&'static str],
    wrapper: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

fn memcheck() -> Tool {
    let suppressions = format!("--suppressions={}", root().join("tests/c/valgrind.supp").display());
    let error_exitcode = format!("--error-exitcode={FOUND}");
    let wrapper = ["valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", &error_exitcode, &suppressions];
    Tool { flags: &[], wrapper: wrapper.map(str::to_owned).to_vec(), environment: vec![] }
}

fn address_sanitizer() -> Tool {
    let flags = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    Tool { flags, wrapper: vec![], environment: sanitizer_environment().to_vec() }
}

impl Tool {
    fn run(&self, mut command: Command) -> Output {
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).output().unwrap()
    }

    fn finds_nothing(&self, name: &'static str, release: Option<&'static str>) {
        let wrapper: Vec<&str> = self.wrapper.iter().map(String::as_str).collect();
        let output = self.run(CProgram::new(name, release, self.flags).command(&wrapper));
        assert!(output.status.success(), "{name} on {release:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }

    /// The same for links through the stub driver, which reads and writes all that it was given up to the end of each link.
    fn finds_nothing_with_a_driver(&self) {
        let folder = tempfile::tempdir().unwrap();
        fake_driver(folder.path(), &[], self.flags);
        let wrapper: Vec<&str> = self.wrapper.iter().map(String::as_str).collect();
        let program = CProgram::new("driver", None, self.flags);
        let mut command = program.command(&wrapper);
        command.env("LD_LIBRARY_PATH", folder.path());
        let output = self.run(command);
        assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }

    /// A program that does something wrong is caught by the same flags and environment.
    fn finds(&self, fault: &str, report: &str) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("faulty");
        compile_c_as("tests/c/faulty.c", &program, &[&STRICT_C[..], self.flags].concat());
        let mut words = self.wrapper.iter().map(String::as_str).chain([program.to_str().unwrap(), fault]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        let output = self.run(command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(FOUND) && stderr.contains(report), "{fault}: {}\n{stderr}", output.status);
    }
}

#[test]
fn valgrind_is_on() {
    memcheck().finds("reads out of bounds", "Invalid read of size 1");
    memcheck().finds("leaks", "definitely lost");
}

#[test]
fn valgrind_finds_nothing_with_stubs() {
    WITH_STUBS.iter().for_each(|name| memcheck().finds_nothing(name, None));
}

#[test]
fn valgrind_finds_nothing_with_the_oldest_library() {
    UNDER_VALGRIND.iter().for_each(|name| memcheck().finds_nothing(name, Some("12.0.140")));
}

#[test]
fn valgrind_finds_nothing_with_the_newest_library() {
    UNDER_VALGRIND.iter().for_each(|name| memcheck().finds_nothing(name, Some("13.5.37")));
}

#[test]
fn valgrind_finds_nothing_with_a_driver() {
    memcheck().finds_nothing_with_a_driver();
}

#[test]
fn address_sanitizer_is_on() {
    address_sanitizer().finds("reads out of bounds", "heap-buffer-overflow");
    address_sanitizer().finds("leaks", "detected memory leaks");
    address_sanitizer().finds("overflows", "signed integer overflow");
}

/// About one thread-local block in 64 lies where it is mistaken for another kind.
#[test]
fn address_sanitizer_stands_thread_local_blocks_wherever_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    let (program, library) = (folder.path().join("program"), folder.path().join("library.so"));
    let tool = address_sanitizer();
    compile_c_as("tests/c/thread_local.c", &program, &[&STRICT_C[..], tool.flags].concat());
    compile_c_as("tests/c/thread_local.c", &library, &["-DLIBRARY", "-shared", "-fPIC"]);
    let mut command = Command::new(program);
    command.arg(library);
    let output = tool.run(command);
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}

#[test]
fn address_sanitizer_finds_nothing_with_stubs() {
    WITH_STUBS.iter().for_each(|name| address_sanitizer().finds_nothing(name, None));
}

#[test]
fn address_sanitizer_finds_nothing_with_real_libraries() {
    for release in ["12.0.140", "12.9.86", "13.5.37"] {
        WITH_A_REAL_LIBRARY.iter().for_each(|name| address_sanitizer().finds_nothing(name, Some(release)));
    }
}

#[test]
fn address_sanitizer_finds_nothing_with_a_driver() {
    address_sanitizer().finds_nothing_with_a_driver();
}
