//! Every command and example of the README works as it stands there.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{fixture, nvjitlink, root, run};

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
    let program = support::compile_c(source.to_str().unwrap(), folder.path());
    let inputs = ["12.4/kernel.ptx", "12.4/helper.ltoir"].map(fixture);
    let printed = run(Command::new(&program).env("CUDALINK_NVJITLINK", nvjitlink("13.5.37")).args(&inputs));
    assert!(printed.starts_with("linked "), "{printed}");
    let refused = Command::new(&program).env("CUDALINK_NVJITLINK", nvjitlink("13.5.37")).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stdout).starts_with("no_inputs: "), "{refused:?}");
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
