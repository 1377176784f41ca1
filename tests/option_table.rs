//! Every row of the option table and of the architecture table is what the real library of each release does.

mod support;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use cudalink::policy::table::{OPTIONS, OptionId, OptionRow, ValueType};
use cudalink::policy::{Version, targets_of};
use cudalink::{LinkOptions, Linker};
use support::{NVJITLINKS, fixture, nvjitlink, root};

/// The last patch of each minor release, and the others that the facts of the table were measured on.
const ALL_RELEASES: [&str; 18] = [
    "12.0.140", "12.1.105", "12.2.140", "12.3.101", "12.4.127", "12.5.82", "12.6.85", "12.8.93", "12.9.86", "13.0.39", "13.0.88",
    "13.1.115", "13.2.51", "13.2.86", "13.3.33", "13.4.52", "13.4.92", "13.5.37",
];

fn version_of(release: &str) -> Version {
    let mut numbers = release.split('.').map(|number| number.parse().unwrap());
    Version::new(numbers.next().unwrap(), numbers.next().unwrap())
}

/// A raw library's answer to each question; see `raw_answers.py`.
fn ask(release: &str, questions: &[String]) -> Vec<String> {
    let mut child = Command::new("python3")
        .arg(root().join("tests/support/raw_answers.py"))
        .arg(nvjitlink(release))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = questions.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), questions.len());
    answers
}

/// Each row with each kind of value that it takes, and whether the table says that this version has it.
fn flags(version: Version) -> Vec<(&'static OptionRow, String, bool)> {
    let mut flags = Vec::new();
    for row in OPTIONS.iter().filter(|row| row.id != OptionId::Arch) {
        let has = row.since.is_some_and(|since| since <= version);
        let values: Vec<String> = match row.value {
            ValueType::Switch => vec![String::new()],
            ValueType::Bool => vec!["true".into(), "false".into()],
            ValueType::Integer(least, most) => vec![least.to_string(), 2.to_string(), most.min(101).to_string()],
            ValueType::Choice(choices) => choices.iter().map(|choice| choice.to_string()).collect(),
            ValueType::List if row.id == OptionId::NvvmOptions => vec!["-opt=0".into(), "-opt=3".into()],
            ValueType::List => vec!["-v".into()],
            ValueType::Names | ValueType::Arch => vec!["kernel".into()],
        };
        for value in values {
            let limits = row.limits.iter().filter(|limit| limit.value == value);
            let has = has && limits.into_iter().all(|limit| limit.since <= version && limit.before.is_none_or(|before| version < before));
            flags.push((row, format!("{}{value}", row.spelling), has));
        }
    }
    flags
}

/// `-ptx` is nothing without `-lto`, which goes last.
fn question(flags: &[&str]) -> String {
    let lto = flags.iter().any(|flag| matches!(*flag, "-ptx" | "-lto"));
    let others: Vec<&str> = flags.iter().copied().filter(|flag| *flag != "-lto").collect();
    format!("-arch=sm_80 {} {}", others.join(" "), if lto { "-lto" } else { "" })
}

fn check_options(release: &str) {
    let flags = flags(version_of(release));
    let questions: Vec<String> = flags.iter().map(|(_, flag, _)| question(&[flag])).collect();
    for ((_, flag, has), answer) in flags.iter().zip(ask(release, &questions)) {
        assert_eq!(answer == "ok", *has, "{flag} on {release}: the library answers {answer}");
    }
    let known: Vec<&(&OptionRow, String, bool)> = flags.iter().filter(|(_, _, has)| *has).collect();
    let mut pairs = Vec::new();
    for (index, (row, flag, _)) in known.iter().enumerate() {
        for (other_row, other, _) in &known[index + 1..] {
            // What the policy refuses on every version.
            let contradict = row.id == other_row.id
                || (row.id, other_row.id) == (OptionId::Ptx, OptionId::Relocatable)
                || (flag.as_str(), other.as_str()) == ("-O3", "-g");
            if !contradict {
                pairs.push([flag.as_str(), other.as_str()]);
            }
        }
    }
    let questions: Vec<String> = pairs.iter().map(|pair| question(pair)).collect();
    for (pair, answer) in pairs.iter().zip(ask(release, &questions)) {
        assert_eq!(answer, "ok", "{pair:?} on {release}");
    }
}

fn check_architectures(release: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("least.ptx");
    fs::write(&ptx, ".version 7.8\n.target sm_50\n.address_size 64\n.visible .entry kernel() { ret; }\n").unwrap();
    let mut names: Vec<&str> = [Version::new(12, 9), Version::new(13, 5)].into_iter().flat_map(targets_of).copied().collect();
    names.extend(["35", "110b", "90f", "80a", "130"]);
    names.sort();
    names.dedup();
    let questions: Vec<String> = names.iter().map(|name| format!("-arch=sm_{name} | {}", ptx.display())).collect();
    let known = targets_of(version_of(release));
    for (name, answer) in names.iter().zip(ask(release, &questions)) {
        assert_eq!(answer == "ok", known.contains(name), "sm_{name} on {release}: the library answers {answer}");
    }
}

fn link(release: &str, flag: &str, files: [&str; 2]) -> Vec<u8> {
    let mut options = LinkOptions::default();
    options.library_path = Some(nvjitlink(release));
    ["-arch=sm_80", flag].into_iter().try_for_each(|flag| options.set_flag(flag)).unwrap();
    let kind = options.output();
    let mut linker = Linker::new(options);
    files.iter().try_for_each(|file| linker.add_file(None, &fixture(file))).unwrap();
    linker.complete().unwrap_or_else(|error| panic!("{flag} on {release}, {files:?}: {error}"));
    linker.output(kind).unwrap().bytes().to_vec()
}

fn check_values_with_ltoir(release: &str) {
    let version = version_of(release);
    // See `rules::relocatable_lto`.
    let fails = |row: &OptionRow| row.id == OptionId::Relocatable && version < Version::new(13, 3);
    for (row, flag, _) in flags(version).into_iter().filter(|(row, _, has)| *has && !fails(row)) {
        link(release, &flag, ["12.0/kernel.ltoir", "12.0/helper.ltoir"]);
        if row.id != OptionId::Ptx {
            link(release, &flag, ["12.0/kernel.ptx", "12.0/helper.ltoir"]);
        }
    }
    let at_level = |level: &str| link(release, level, ["12.0/kernel.ltoir", "12.0/helper.ltoir"]);
    assert_ne!(at_level("-O0"), at_level("-O3"), "{release}: the level does nothing");
}

// Creating a handle with a value does not tell: a release may accept the value there and fail in the link.
#[test]
fn each_value_that_a_release_accepts_links_ltoir_there() {
    for release in NVJITLINKS {
        check_values_with_ltoir(release);
    }
}

#[test]
fn the_tables_are_what_five_releases_do() {
    for release in NVJITLINKS {
        check_options(release);
        check_architectures(release);
    }
}

#[test]
#[ignore = "fetches 1.4 GB: cargo test --test option_table -- --ignored"]
fn the_tables_are_what_every_release_does() {
    for release in ALL_RELEASES {
        check_options(release);
        check_architectures(release);
        check_values_with_ltoir(release);
        println!("{release}: as the tables say");
    }
}
