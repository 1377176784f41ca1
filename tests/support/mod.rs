//! What the tests share: real libraries, fixtures, and the built library and tool.
#![allow(dead_code)] // Each test file uses its own part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// The nvJitLink releases that the tests link with: the oldest, the newest, and the ends of each major version between.
pub const NVJITLINKS: [&str; 5] = ["12.0.140", "12.4.127", "12.9.86", "13.0.88", "13.5.37"];

/// The CUDA releases that made the fixtures.
pub const PRODUCERS: [&str; 5] = ["12.0", "12.4", "12.9", "13.0", "13.5"];

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A package of NVIDIA's, fetched once; `scripts/fetch.py` says what that gives.
pub fn fetch(package: &str, version: &str) -> PathBuf {
    static FETCHED: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let requirement = format!("{package}=={version}");
    let mut fetched = FETCHED.lock().unwrap();
    let path = fetched.entry(requirement.clone()).or_insert_with(|| {
        let printed = run(Command::new("python3").arg(root().join("scripts/fetch.py")).arg(&requirement));
        PathBuf::from(printed.trim())
    });
    path.clone()
}

/// A real nvJitLink.
pub fn nvjitlink(version: &str) -> PathBuf {
    fetch("nvjitlink", version)
}

/// A file below `tests/fixtures`.
pub fn fixture(path: impl AsRef<Path>) -> PathBuf {
    root().join("tests/fixtures").join(path)
}

/// The folder of the tool that cargo built for this test.
pub fn build_folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_cudalink")).parent().unwrap()
}

/// The folder of the `libcudalink.so` and `libcudalink.a` that cargo built for this test. Beside the tool there are only
/// those of the last `cargo build`, if any.
pub fn library_folder() -> PathBuf {
    build_folder().join("deps")
}

/// The built `libcudalink.so`.
pub fn shared_library() -> PathBuf {
    library_folder().join("libcudalink.so")
}

/// The variables that lead to a library or choose one.
const LEADING_TO_A_LIBRARY: [&str; 7] =
    ["CUDALINK_NVJITLINK", "CUDALINK_BACKEND", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"];

/// The command line tool, with nothing in its environment that could lead it to a library.
pub fn cudalink() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudalink"));
    for variable in LEADING_TO_A_LIBRARY {
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
    compile_c_as(&format!("tests/c/{source}"), &program, &STRICT_C);
    program
}

// Stub libraries, small C programs, and what they report.

/// Compiles the stub nvJitLink as `file`; `tests/fake/nvjitlink.c` says what can be defined.
pub fn fake(file: impl AsRef<Path>, defines: &[&str]) -> PathBuf {
    fake_with_flags(file, defines, &[])
}

/// The same, with flags for gcc.
pub fn fake_with_flags(file: impl AsRef<Path>, defines: &[&str], flags: &[&str]) -> PathBuf {
    compile_fake("nvjitlink.c", file.as_ref(), defines, flags)
}

/// Compiles the stub CUDA driver into a folder, which `LD_LIBRARY_PATH` may then name; `tests/fake/cuda.c` says what can be defined.
pub fn fake_driver(folder: &Path, defines: &[&str], flags: &[&str]) -> PathBuf {
    compile_fake("cuda.c", &folder.join("libcuda.so.1"), defines, flags)
}

fn compile_fake(source: &str, file: &Path, defines: &[&str], flags: &[&str]) -> PathBuf {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let defines = defines.iter().map(|define| format!("-D{define}"));
    run(Command::new("gcc")
        .args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(file)
        .args(defines)
        .args(flags)
        .arg(format!("-DFIXTURES=\"{}\"", fixture("").display()))
        .arg(root().join("tests/fake").join(source)));
    file.to_owned()
}

/// `tests/c/steps.c`, with nothing in its environment that could lead it to a library.
pub fn steps(folder: &Path) -> Command {
    let mut command = Command::new(compile_c("steps.c", folder));
    for variable in LEADING_TO_A_LIBRARY {
        command.env_remove(variable);
    }
    command
}

/// The exit status of the tool for a result: wrong usage is what no other input or library would mend.
pub fn exit_status_of(result: &str) -> i32 {
    match result {
        "ok" => 0,
        "unknown_option" | "bad_option_value" | "incompatible_options" | "missing_arch" | "bad_arch" | "no_inputs" => 2,
        _ => 1,
    }
}

/// The one JSON object that the tool prints, whether it succeeds or not, and its exit status, which
/// must be 0, 1 or 2.
pub fn json(command: &mut Command) -> (serde_json::Value, i32) {
    let output = command.output().unwrap();
    let status = output.status.code();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(status, Some(0..=2)), "{command:?}: {}\n{stderr}", output.status);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command:?}: {error}\n{stderr}"));
    (json, status.unwrap())
}

/// The calls that reached a stub, one line each; none if it was not even loaded.
pub fn calls(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// What the tool made of a link through a stub.
pub struct FakeLink {
    pub json: serde_json::Value,
    pub status: i32,
    pub calls: Vec<String>,
    /// What was written as output, if anything was.
    pub output: Option<Vec<u8>>,
}

impl FakeLink {
    /// The first words of the calls, without the loading.
    pub fn call_names(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.split(' ').next().unwrap()).filter(|name| !matches!(*name, "loaded" | "Version")).collect()
    }

    /// The one call of this name.
    pub fn call(&self, name: &str) -> &str {
        let found: Vec<&String> = self.calls.iter().filter(|call| call.split(' ').next() == Some(name)).collect();
        assert_eq!(found.len(), 1, "{name} in {:?}", self.calls);
        found[0]
    }

    /// The class by its name.
    pub fn result(&self) -> &str {
        self.json["result"].as_str().unwrap()
    }

    /// Our sentence.
    pub fn message(&self) -> &str {
        self.json["message"].as_str().unwrap()
    }
}

/// `cudalink link --json --library <library> <arguments>`. Everything is written into `folder`, the log afresh.
pub fn link_with_fake(folder: &Path, library: &Path, arguments: &[&str]) -> FakeLink {
    let (log, output) = (folder.join("calls"), folder.join("output"));
    let _ = (std::fs::remove_file(&log), std::fs::remove_file(&output));
    let mut tool = cudalink();
    tool.args(["link", "--json", "--library"]).arg(library).arg("-o").arg(&output).args(arguments).env("FAKE_LOG", &log);
    let (json, status) = json(&mut tool);
    FakeLink { json, status, calls: calls(&log), output: std::fs::read(output).ok() }
}

// What the tests in C share.

/// A tool's own exit status, which no program of ours has.
pub const FOUND: i32 = 66;

/// The environment of a program that address sanitizer is in.
///
/// Without `intercept_tls_get_addr=0` the sanitizers up to those of gcc 13 and LLVM 16 end now and
/// then with "Tracer caught signal 11": they take a thread-local block of nvJitLink for one with a
/// header of an old glibc if the heap has put it 16 bytes behind a page's start, and follow that.
/// No leak is missed: the block is on the heap and is searched as that.
pub fn sanitizer_environment() -> [(&'static str, String); 3] {
    let suppressions = root().join("tests/c/lsan.supp").display().to_string();
    [
        ("ASAN_OPTIONS", format!("detect_leaks=1:intercept_tls_get_addr=0:exitcode={FOUND}")),
        ("LSAN_OPTIONS", format!("suppressions={suppressions}:print_suppressions=0:exitcode={FOUND}")),
        ("UBSAN_OPTIONS", format!("exitcode={FOUND}")),
    ]
}

/// The flags with which every C test compiles without a warning.
pub const STRICT_C: [&str; 5] = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Compiles a C file, a path in the repository, against the header and the built library.
pub fn compile_c_as(source: &str, program: &Path, flags: &[&str]) {
    run(with_the_built_library(Command::new("gcc").args(flags).arg(root().join(source)).arg("-o").arg(program)));
}

/// The flags with which every C++ test compiles without a warning; those beyond `-pedantic` are asked for by callers, not by us.
pub const STRICT_CPP: [&str; 6] = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Werror"];

/// Compiles the units of a C++ program of `tests/cpp` in the same way.
pub fn compile_cpp(compiler: &str, units: &[&str], program: &Path, flags: &[&str]) {
    let units = units.iter().map(|unit| root().join("tests/cpp").join(unit));
    run(with_the_built_library(Command::new(compiler).args(STRICT_CPP).args(flags).args(units).arg("-o").arg(program)));
}

fn with_the_built_library(compiler: &mut Command) -> &mut Command {
    let library_folder = library_folder();
    compiler.arg("-g").arg("-I").arg(root().join("include"));
    // cargo sets LD_LIBRARY_PATH to the folder of the tool first, which may hold an old library; only the old kind of tag is stronger.
    compiler.arg("-L").arg(&library_folder).arg(format!("-Wl,--disable-new-dtags,-rpath,{}", library_folder.display()));
    compiler.args(["-lcudalink", "-lpthread", "-ldl"])
}

/// A program of `tests/c`, with the arguments that tests/c/check.h says.
pub struct CProgram {
    name: &'static str,
    release: Option<&'static str>,
    folder: tempfile::TempDir,
}

impl CProgram {
    /// Compiles it for a real nvJitLink of that release, or for stubs.
    pub fn new(name: &'static str, release: Option<&'static str>, flags: &[&str]) -> Self {
        let program = Self { name, release, folder: tempfile::tempdir().unwrap() };
        compile_c_as(&format!("tests/c/{name}.c"), &program.file(), &[&STRICT_C[..], flags].concat());
        program
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    /// The command that runs it below `wrapper`, which may be empty.
    pub fn command(&self, wrapper: &[&str]) -> Command {
        let mut command = match wrapper {
            [] => Command::new(self.file()),
            [tool, arguments @ ..] => {
                let mut command = Command::new(tool);
                command.args(arguments).arg(self.file());
                command
            }
        };
        let folder = self.folder.path();
        match self.release {
            Some(release) => command.arg(nvjitlink(release)).arg(release),
            None => {
                let failing = ["PLAIN", "COMPLETE=6", "LOG=\"told to fail\"", "INFO=\"told too\""];
                command.env("FAKE_LOG", folder.join("calls"));
                command.arg(fake(folder.join("stub.so"), &["PLAIN"])).arg(fake(folder.join("failing.so"), &failing))
            }
        };
        command.arg(fixture("12.0")).env_remove("CUDALINK_NVJITLINK").env_remove("CUDALINK_BACKEND");
        command
    }
}

/// What a shared library exports, sorted, one a line: functions by name, anything else with the letter of `nm` before it.
pub fn exported_functions(library: &Path) -> String {
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let mut names: Vec<&str> = symbols.lines().map(|line| line.trim_start_matches(|c: char| c.is_ascii_hexdigit()).trim_start()).collect();
    names.sort_unstable();
    names.iter().map(|name| format!("{}\n", name.strip_prefix("T ").unwrap_or(name))).collect()
}

/// What `readelf -d` says of a shared library or program: the values of one tag, such as `NEEDED`.
pub fn dynamic_values(file: &Path, tag: &str) -> Vec<String> {
    let table = run(Command::new("readelf").args(["-d", "-W"]).arg(file));
    let value = |line: &str| {
        line.split_once(&format!("({tag})")).map(|(_, rest)| rest.rsplit(": ").next().unwrap().trim_matches(['[', ']', ' ']).to_owned())
    };
    table.lines().filter_map(value).collect()
}

// What is installed, for projects outside.

/// Installs below `target/install-test`, once for all tests of a file, and gives the prefix.
pub fn installed() -> &'static Path {
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

/// A copy of what is installed, in another place.
pub fn moved(folder: &Path) -> PathBuf {
    let moved = folder.join("moved");
    run(Command::new("cp").arg("-a").arg(installed()).arg(&moved));
    moved
}

/// Runs a program of `examples`, which links two files, with real code, and once with code that does not link. `library_folder` is where
/// the loader looks for libcudalink.
pub fn links_and_refuses(program: &Path, library_folder: &Path) {
    let example = |files: [&str; 2]| {
        let mut command = Command::new(program);
        command.arg("sm_80").args(files.map(fixture)).env("LD_LIBRARY_PATH", library_folder);
        command.env("CUDALINK_NVJITLINK", nvjitlink("13.5.37"));
        command
    };
    for files in [["12.0/kernel.ptx", "12.0/helper.ptx"], ["12.4/kernel.ltoir", "12.4/helper.ltoir"]] {
        let printed = run(&mut example(files));
        let told: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert!(told["kind"] == "cubin" && told["parts"][0]["arch"] == "sm_80", "{printed}");
    }
    let refused = example(["12.0/kernel.ptx", "12.0/kernel.ptx"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && stderr.starts_with("duplicate_symbol: "), "{stderr}");
}
