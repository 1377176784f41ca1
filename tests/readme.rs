//! Every command and example of the README works as it stands there.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use cudalink::policy::Version;
use cudalink::policy::table::{OPTIONS, OptionRow, ValueType};
use support::{fixture, installed, nvjitlink, root, run};

/// The blocks of a language, each with the heading that it stands under.
fn blocks(language: &str) -> Vec<(String, String)> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut heading = "";
    let mut blocks = Vec::new();
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text;
        }
        if line.strip_prefix("```") == Some(language) {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((heading.to_owned(), block.join("\n") + "\n"));
        }
    }
    blocks
}

fn shell_block(heading: &str) -> String {
    blocks("sh").into_iter().find(|(under, _)| under == heading).unwrap().1
}

#[test]
fn the_c_example_links_real_code() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("readme.c");
    fs::write(&source, &blocks("c")[0].1).unwrap();
    let program = folder.path().join("readme");
    support::compile_c_as(source.to_str().unwrap(), &program, &support::STRICT_C);
    let inputs = ["12.4/kernel.ptx", "12.4/helper.ltoir"].map(fixture);
    let printed = run(Command::new(&program).env("CUDALINK_NVJITLINK", nvjitlink("13.5.37")).args(&inputs));
    assert!(printed.starts_with("linked "), "{printed}");
    let refused = Command::new(&program).env("CUDALINK_NVJITLINK", nvjitlink("13.5.37")).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stdout).starts_with("no_inputs: "), "{refused:?}");
}

#[test]
fn the_installation_works_as_it_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.c"), &blocks("c")[0].1).unwrap();
    let block = shell_block("From C");
    let [install, compile] = block.lines().collect::<Vec<_>>()[..] else { panic!("{block}") };
    // Not the target folder of the cargo that runs this test, which it has locked.
    let shell = |line: &str, at: &Path| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", line]).current_dir(at).env("PREFIX", folder.path().join("prefix"));
        run(shell.env("CARGO_TARGET_DIR", root().join("target/install-test/build")));
    };
    shell(install, root());
    shell(compile, folder.path());
    let mut program = Command::new(folder.path().join("program"));
    program.env_remove("LD_LIBRARY_PATH").env("CUDALINK_NVJITLINK", nvjitlink("12.9.86"));
    let printed = run(program.args(["12.4/kernel.ptx", "12.4/helper.ptx"].map(fixture)));
    assert!(printed.starts_with("linked "), "{printed}");
}

#[test]
fn the_cpp_example_builds_with_cmake_as_it_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.cpp"), &blocks("cpp")[0].1).unwrap();
    let lists = &blocks("cmake")[0].1;
    let static_lists = lists.replace("cudalink::cudalink)   # or ", "cudalink::cudalink_static)   # ");
    assert!(*lists != static_lists);
    for text in [lists, &static_lists] {
        fs::write(folder.path().join("CMakeLists.txt"), text).unwrap();
        let mut shell = Command::new("sh");
        run(shell.args(["-euc", &shell_block("From C++ and CMake")]).current_dir(folder.path()).env("PREFIX", installed()));
        let mut program = Command::new(folder.path().join("build/program"));
        program.env("CUDALINK_NVJITLINK", nvjitlink("12.9.86")).env_remove("LD_LIBRARY_PATH");
        let printed = run(program.args(["12.4/kernel.ptx", "12.4/helper.ptx"].map(fixture)));
        assert!(printed.starts_with("linked "), "{printed}");
        let refused = program.arg(fixture("12.4/kernel.ptx")).output().unwrap();
        assert!(
            refused.status.code() == Some(1) && String::from_utf8_lossy(&refused.stdout).starts_with("duplicate_symbol: "),
            "{refused:?}"
        );
    }
}

#[test]
fn the_demo_links_from_ptx_and_from_ltoir() {
    let commands: Vec<String> = shell_block("Try it").lines().map(|line| line.split('#').next().unwrap().trim().to_owned()).collect();
    assert_eq!(commands, ["scripts/demo", "scripts/test"]);
    assert!(fs::read_to_string(root().join(".ci/run")).unwrap().contains("exec scripts/test"));
    let printed = run(Command::new(root().join("scripts/demo")).current_dir(root()));
    for part in ["ptx.cubin: ", "ltoir.cubin: ", "  kernel kernel"] {
        assert!(printed.contains(part), "{printed}");
    }
}

/// The rows of the options' table, as the README has them.
fn option_rows() -> String {
    let row = |row: &OptionRow| {
        let value = match row.value {
            ValueType::Switch => "",
            ValueType::Bool => "true, false",
            ValueType::Integer(..) => "N",
            ValueType::Choice(choices) => &choices.join(", "),
            ValueType::Arch => "sm_XX",
            ValueType::List => "OPTION",
            ValueType::Names => "NAME",
        };
        let since = row.since.map_or("none".to_owned(), |since| since.to_string());
        let driver = row.driver.map_or(String::new(), |driver| format!("`{driver:?}`"));
        format!("| {} | `{}{value}` | {since} | {driver} | {} |\n", row.name, row.spelling, row.help)
    };
    OPTIONS.iter().map(row).collect()
}

#[test]
fn the_options_are_those_of_the_table() {
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (head, rest) = readme.split_once("| --- | --- | --- | --- | --- |\n").unwrap();
    let (_, tail) = rest.split_once("\n\n").map_or(("", rest), |(_, tail)| ("", tail));
    let expected = format!("{head}| --- | --- | --- | --- | --- |\n{}\n{tail}", option_rows());
    if std::env::var_os("CUDALINK_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == expected, "CUDALINK_BLESS=1 cargo test --test readme writes the README's options");
}

#[test]
fn the_header_says_of_each_option_what_the_table_says() {
    let header = fs::read_to_string(root().join("include/cudalink.h")).unwrap();
    let structure = &header[header.find("typedef struct cl_linker_options").unwrap()..];
    for row in OPTIONS.iter() {
        let field = structure
            .lines()
            .position(|line| line.trim_start().trim_end_matches(';').ends_with(row.name))
            .unwrap_or_else(|| panic!("no field {}", row.name));
        let before: Vec<&str> = structure.lines().take(field).collect();
        let start = before.iter().rposition(|line| line.trim() == "/**").unwrap();
        let text = before[start..].join(" ");
        assert!(text.contains(&format!("(`{}`)", row.spelling)), "{}: {text}", row.name);
        if let Some(since) = row.since.filter(|since| *since > Version::new(12, 0)) {
            assert!(text.contains(&format!("nvJitLink {since}.")), "{}: {text}", row.name);
        }
    }
}

#[test]
fn the_terminal_commands_work() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["kernel.ptx", "helper.ptx", "kernel.ltoir", "helper.ltoir"] {
        fs::copy(fixture(Path::new("13.0").join(file)), folder.path().join(file)).unwrap();
    }
    let path = format!("{}:{}", support::build_folder().display(), std::env::var("PATH").unwrap());
    let script = shell_block("From a terminal");
    assert_eq!(script.lines().count(), 4);
    run(Command::new("sh")
        .args(["-euc", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("CUDALINK_NVJITLINK", nvjitlink("13.5.37")));
    assert!(folder.path().join("out.cubin").exists());
}
