//! `cudalink.hpp` compiles without a warning wherever it promises to, covers all of `cudalink.h`, and does what it says with real libraries.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{STRICT_CPP, compile_cpp, fixture, nvjitlink, root, run, sanitizer_environment};

const COMPILERS: [&str; 2] = ["g++", "clang++"];
/// 2b is the name of C++23 that compilers knew before it was finished, and still know.
const STANDARDS: [&str; 3] = ["-std=c++17", "-std=c++20", "-std=c++2b"];
const EXCEPTIONS: [&str; 2] = ["-fexceptions", "-fno-exceptions"];

/// Programs of `tests/cpp`, each with its units.
const THROWING: &[&str] = &["throwing.cpp", "second_unit.cpp"];
const NO_EXCEPTIONS: &[&str] = &["no_exceptions.cpp", "second_unit.cpp"];
const OPTIONS: &[&str] = &["options.cpp"];

/// Compiles a source text in every way that the header promises.
fn compiles(text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("unit.cpp");
    std::fs::write(&source, text).unwrap();
    for compiler in COMPILERS {
        for standard in STANDARDS {
            for exceptions in EXCEPTIONS {
                let mut command = Command::new(compiler);
                command.args(STRICT_CPP).args([standard, exceptions, "-fsyntax-only", "-I"]).arg(root().join("include")).arg(&source);
                run(&mut command);
            }
        }
    }
}

#[test]
fn the_header_compiles_alone() {
    compiles("#include <cudalink.hpp>\n");
}

#[test]
fn the_header_compiles_twice_and_beside_the_one_of_c() {
    compiles("#include <cudalink.h>\n#include <cudalink.hpp>\n#include <cudalink.hpp>\n#include <cudalink.h>\n");
}

/// Runs a program with a real library.
fn passes(program: &Path, release: &str) {
    run(Command::new(program).arg(nvjitlink(release)).arg(release).arg(fixture("12.0")).env_remove("CUDALINK_NVJITLINK"));
}

fn compiled(units: &[&str], compiler: &str, flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    compile_cpp(compiler, units, &program, flags);
    (folder, program)
}

/// Every program in every language version, with the newest library.
fn passes_everywhere(units: &[&str], compiler: &str, flags: &[&str]) {
    for standard in STANDARDS {
        let (_folder, program) = compiled(units, compiler, &[&[standard], flags].concat());
        passes(&program, "13.5.37");
    }
}

/// The oldest, the last of 12 and the newest, with one compiler.
fn passes_with_each_library(units: &[&str], flags: &[&str]) {
    let (_folder, program) = compiled(units, "g++", flags);
    ["12.0.140", "12.9.86", "13.5.37"].iter().for_each(|release| passes(&program, release));
}

#[test]
fn what_throws_works_with_gcc_in_every_standard() {
    passes_everywhere(THROWING, "g++", &[]);
}

#[test]
fn what_throws_works_with_clang_in_every_standard() {
    passes_everywhere(THROWING, "clang++", &[]);
}

#[test]
fn what_throws_works_with_each_library() {
    passes_with_each_library(THROWING, &["-std=c++17"]);
}

#[test]
fn what_throws_nothing_works_without_exceptions() {
    for compiler in COMPILERS {
        passes_everywhere(NO_EXCEPTIONS, compiler, &["-fno-exceptions", "-fno-rtti"]);
    }
}

#[test]
fn what_throws_nothing_works_with_each_library() {
    passes_with_each_library(NO_EXCEPTIONS, &["-std=c++17"]);
}

#[test]
fn no_memory_is_told_and_not_thrown() {
    let (_folder, program) = compiled(&["no_memory.cpp"], "clang++", &["-std=c++17"]);
    passes(&program, "13.5.37");
}

/// No library is needed for it.
#[test]
fn every_setter_sets_its_field_and_no_other() {
    for compiler in COMPILERS {
        let (_folder, program) = compiled(OPTIONS, compiler, &["-std=c++17"]);
        run(&mut Command::new(program));
    }
}

/// That these sanitizers are on with these flags is shown in sanitizers.rs.
#[test]
fn sanitizers_find_nothing() {
    let flags = ["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    for units in [THROWING, NO_EXCEPTIONS, OPTIONS] {
        let (_folder, program) = compiled(units, "g++", &flags);
        let mut command = Command::new(program);
        command.arg(nvjitlink("13.5.37")).arg("13.5.37").arg(fixture("12.0"));
        run(command.envs(sanitizer_environment()));
    }
}

fn header(name: &str) -> String {
    std::fs::read_to_string(root().join("include").join(name)).unwrap()
}

/// A structure of the C header: each field that is no count, with the text before it in one line.
fn fields(structure: &str) -> Vec<(String, String)> {
    let text = header("cudalink.h");
    let start = text.find(&format!("typedef struct {structure} {{")).unwrap();
    let body = &text[start..start + text[start..].find("\n}").unwrap()];
    let words = |text: &str| {
        text.replace('`', "").split(['\n', ' ', '*']).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    let field = |part: &str| {
        let (documentation, declaration) = part.split_once("*/")?;
        let name = declaration.trim().trim_end_matches(';').rsplit([' ', '*']).next()?;
        Some((name.to_owned(), words(documentation)))
    };
    let all = body.split("/**").skip(1).filter_map(field);
    all.filter(|(name, _)| !name.ends_with("_count") && !["struct_size", "reserved"].contains(&name.as_str())).collect()
}

/// Flags and releases are said of each setter as they are of the field, and the test of the setters has a line for it.
#[test]
fn every_option_has_a_setter() {
    let (cpp, test) = (header("cudalink.hpp"), std::fs::read_to_string(root().join("tests/cpp/options.cpp")).unwrap());
    let fields = fields("cl_linker_options");
    assert_eq!(fields.len(), 32);
    for (name, c_text) in fields {
        let setter = cpp.find(&format!("  options &{name}(")).unwrap_or_else(|| panic!("no setter {name}"));
        let text = &cpp[cpp[..setter].rfind("/**").unwrap()..setter].replace('`', "");
        for part in c_text.split(['(', ')']).filter(|part| part.starts_with('-')) {
            assert!(text.contains(&format!("({part})")), "{name}: {text}");
        }
        for part in c_text.split(". ").filter(|part| part.starts_with("nvJitLink 1")) {
            assert!(text.contains(&format!("{part}.")), "{name}: {text}");
        }
        let lines =
            ["SETS", "SETS_SWITCH", "SETS_NUMBER", "SETS_TEXT", "SETS_LIST"].map(|name_of_macro| format!("  {name_of_macro}({name}"));
        assert!(lines.iter().any(|line| test.contains(line.as_str())), "tests/cpp/options.cpp has no {name}");
    }
}

#[test]
fn every_field_that_comes_back_is_given() {
    let cpp = header("cudalink.hpp");
    for (structure, count) in [("cl_diagnostic", 10), ("cl_library_info", 10)] {
        let names: Vec<String> = fields(structure).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), count, "{names:?}");
        for name in names {
            assert!(cpp.contains(&format!("raw.{name}")), "{structure}.{name}");
        }
    }
}

/// Every value of an argument, and every function but those that need no wrapper.
#[test]
fn everything_of_the_c_header_is_used() {
    let (c, cpp) = (header("cudalink.h"), header("cudalink.hpp"));
    let starts = ["INPUT", "OUTPUT", "LOG", "SEVERITY", "BACKEND", "OPTIMIZATION", "FAST_COMPILE", "ARCHIVE_MEMBERS", "TRISTATE"];
    let define = |line: &str| line.strip_prefix("#define ").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
    let constants = c.lines().filter_map(define).filter(|name| starts.iter().any(|start| name.starts_with(&format!("CL_{start}_"))));
    let function = |line: &str| line.split_once('(').and_then(|(start, _)| start.rsplit([' ', '*']).next()).map(str::to_owned);
    let declared = |line: &&str| ["cl_result cl_", "void cl_", "size_t cl_", "const char *cl_"].iter().any(|start| line.starts_with(start));
    let functions = c.lines().filter(declared).filter_map(function);
    let names: Vec<String> = constants.chain(functions).collect();
    assert!(names.len() > 40 && names.contains(&"cl_linker_create".to_owned()), "{names:?}");
    for name in names {
        let is_a_word = |at: usize| !cpp[at + name.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        assert!(cpp.match_indices(&name).any(|(at, _)| is_a_word(at)), "{name}");
    }
}
