//! What cargo-c installs is found by a CMake project outside, also after it was moved, and in the folder of a Python package.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{dynamic_values, installed, links_and_refuses, moved, root, run};

/// A CMake project in a folder of its own: the example, and other text for its CMakeLists.txt if there is any.
fn project(lists: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["CMakeLists.txt", "link_two.cpp"] {
        fs::copy(root().join("examples/cpp-cmake").join(file), folder.path().join(file)).unwrap();
    }
    if let Some(lists) = lists {
        fs::write(folder.path().join("CMakeLists.txt"), lists).unwrap();
    }
    folder
}

fn cmake(project: &Path, prefix: &Path) -> Command {
    let mut cmake = Command::new("cmake");
    cmake.args(["-S", ".", "-B", "build"]).arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())).current_dir(project);
    cmake
}

/// Configures and builds by the commands that the example says.
fn built(project: &Path, prefix: &Path) -> PathBuf {
    let text = fs::read_to_string(root().join("examples/cpp-cmake/CMakeLists.txt")).unwrap();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#   cmake ")).collect();
    assert_eq!(commands.len(), 2);
    for arguments in commands {
        let mut shell = Command::new("sh");
        run(shell.args(["-euc", &format!("cmake {arguments}")]).current_dir(project).env("PREFIX", prefix));
    }
    project.join("build/link_two")
}

/// Nothing leads the loader to the library but what CMake wrote into the program.
fn works(program: &Path) {
    links_and_refuses(program, Path::new(""));
}

/// The example's CMakeLists.txt with another target of ours.
fn static_lists() -> String {
    let text = fs::read_to_string(root().join("examples/cpp-cmake/CMakeLists.txt")).unwrap();
    text.replace("cudalink::cudalink)", "cudalink::cudalink_static)")
}

#[test]
fn the_example_builds_and_runs_as_it_says() {
    let project = project(None);
    let program = built(project.path(), installed());
    assert!(dynamic_values(&program, "NEEDED").contains(&"libcudalink.so.0.1".to_owned()));
    works(&program);
}

#[test]
fn it_builds_and_runs_with_the_static_library() {
    let project = project(Some(&static_lists()));
    let program = built(project.path(), installed());
    let needed = dynamic_values(&program, "NEEDED");
    assert!(!needed.is_empty() && !needed.iter().any(|name| name.contains("cudalink")), "{needed:?}");
    works(&program);
}

/// Also in C alone, whose compiler driver adds less by itself.
#[test]
fn a_project_in_c_builds_with_either_library() {
    let lists = "cmake_minimum_required(VERSION 3.15)\nproject(c C)\nfind_package(cudalink REQUIRED)\n\
                 add_executable(shared main.c)\ntarget_link_libraries(shared PRIVATE cudalink::cudalink)\n\
                 add_executable(static main.c)\ntarget_link_libraries(static PRIVATE cudalink::cudalink_static)\n";
    let project = project(Some(lists));
    fs::copy(root().join("examples/c-pkg-config/link_two.c"), project.path().join("main.c")).unwrap();
    run(&mut cmake(project.path(), installed()));
    run(Command::new("cmake").args(["--build", "build"]).current_dir(project.path()));
    for program in ["shared", "static"] {
        works(&project.path().join("build").join(program));
    }
}

#[test]
fn it_builds_and_runs_after_the_prefix_was_moved() {
    for lists in [None, Some(&*static_lists())] {
        let project = project(lists);
        let program = built(project.path(), &moved(project.path()));
        let old = installed().display().to_string();
        for file in ["CMakeCache.txt", "CMakeFiles/link_two.dir/build.make", "CMakeFiles/link_two.dir/flags.make"] {
            assert!(!fs::read_to_string(project.path().join("build").join(file)).unwrap().contains(&old), "{file}");
        }
        works(&program);
    }
}

/// Where Debian keeps libraries, which is also where cargo-c puts them if it is not told otherwise.
#[test]
fn it_builds_and_runs_with_the_libraries_in_the_systems_folder() {
    let project = project(None);
    let prefix = moved(project.path());
    let folder = run(Command::new("cc").arg("-print-multiarch"));
    if folder.trim().is_empty() {
        fs::rename(prefix.join("lib"), prefix.join("lib64")).unwrap();
    } else {
        fs::rename(prefix.join("lib"), prefix.join("libraries")).unwrap();
        fs::create_dir(prefix.join("lib")).unwrap();
        fs::rename(prefix.join("libraries"), prefix.join("lib").join(folder.trim())).unwrap();
    }
    works(&built(project.path(), &prefix));
}

/// A Python package: headers in `include` itself, the one library under one name, no archive. The files are copied as they are.
#[test]
fn it_builds_and_runs_with_a_python_package() {
    for cmake_folder in ["share/cmake/cudalink", "lib/cmake/cudalink"] {
        let project = project(None);
        let package = project.path().join("site-packages/cudalink");
        let copy = |from: &str, to: &str| {
            let to = package.join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(installed().join(from), to).unwrap();
        };
        for file in ["cudalink.h", "cudalink.hpp"] {
            copy(&format!("include/cudalink/{file}"), &format!("include/{file}"));
        }
        copy("lib/libcudalink.so.0.1", "lib/libcudalink.so.0.1");
        for file in ["cudalinkConfig.cmake", "cudalinkConfigVersion.cmake"] {
            copy(&format!("share/cmake/cudalink/{file}"), &format!("{cmake_folder}/{file}"));
        }
        works(&built(project.path(), &package));

        // Without the archive there is no target for it.
        fs::write(project.path().join("CMakeLists.txt"), static_lists()).unwrap();
        let refused = cmake(project.path(), &package).output().unwrap();
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && stderr.contains("cudalink::cudalink_static"), "{stderr}");
    }
}

#[test]
fn what_is_missing_is_told() {
    let project = project(None);
    let prefix = moved(project.path());
    fs::remove_dir_all(prefix.join("lib")).unwrap();
    let refused = cmake(project.path(), &prefix).output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && stderr.contains("does not have cudalink.h"), "{stderr}");
}

/// The answers to requests for a version, in one configuration.
fn answers(requests: &[&str]) -> Vec<bool> {
    let mut lists = "cmake_minimum_required(VERSION 3.19)\nproject(versions CXX)\n".to_owned();
    for request in requests {
        lists += &format!("unset(cudalink_DIR CACHE)\nfind_package(cudalink {request} QUIET)\nmessage(\"answer: ${{cudalink_FOUND}}\")\n");
    }
    let project = project(Some(&lists));
    let output = cmake(project.path(), installed()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    stderr.lines().filter_map(|line| line.strip_prefix("answer: ")).map(|answer| answer == "1").collect()
}

#[test]
fn a_version_that_may_differ_is_refused() {
    let taken = ["", "0.1", "0.1.0", "0.1.0 EXACT", "0.1...0.2", "0.1...<0.2", "0.0.5...0.1.0", "0.0...1"];
    assert_eq!(answers(&taken), [true; 8]);
    let refused =
        ["0", "0.0", "0.0.9", "0.1.1", "0.2", "0.10", "1", "1.1.0", "0.1.1...0.2", "0.0...<0.1.0", "0.0.1...0.0.9", "0.1.1 EXACT"];
    assert_eq!(answers(&refused), [false; 12]);
}

/// The version is that of Cargo.toml, and the library's name for the loader is made of it.
#[test]
fn the_version_is_the_librarys() {
    let text = fs::read_to_string(root().join("cmake/cudalinkConfigVersion.cmake")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("\nset(PACKAGE_VERSION \"{version}\")\n")), "{version}");
    let (minor, _) = version.rsplit_once('.').unwrap();
    assert_eq!(dynamic_values(&installed().join("lib/libcudalink.so"), "SONAME"), [format!("libcudalink.so.{minor}")]);
}

/// What the static library needs is what rustc says of this machine, as in `cudalink.pc`.
#[test]
fn the_static_library_has_what_it_needs() {
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("empty.rs"), "").unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["--crate-type", "staticlib", "--print", "native-static-libs", "empty.rs"]).current_dir(source.path());
    let printed = String::from_utf8(rustc.output().unwrap().stderr).unwrap();
    let line = printed.lines().find_map(|line| line.split_once("native-static-libs: ")).unwrap().1;
    let wanted: BTreeSet<&str> = line.split_whitespace().map(|flag| flag.strip_prefix("-l").unwrap()).collect();
    let text = fs::read_to_string(root().join("cmake/cudalinkConfig.cmake")).unwrap();
    let (_, rest) = text.split_once("INTERFACE_LINK_LIBRARIES \"").unwrap();
    assert_eq!(rest.split('"').next().unwrap().split(';').collect::<BTreeSet<_>>(), wanted);

    let pc = fs::read_to_string(installed().join("lib/pkgconfig/cudalink.pc")).unwrap();
    let private = pc.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    assert_eq!(private.split_whitespace().map(|flag| flag.strip_prefix("-l").unwrap()).collect::<BTreeSet<_>>(), wanted);
}
