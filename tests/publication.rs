//! A table is published once, whole, whichever thread comes first.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Barrier;

use cudalink::backend::library::SearchEnvironment;
use cudalink::backend::nvjitlink;
use support::{calls, fake, nvjitlink, root};

/// Runs the model on `published.rs` as it is, or with one text replaced, in a crate of its own.
///
/// The crates share one target folder, so that loom is compiled once, and have the versions of this crate's Cargo.lock.
fn model(name: &str, change: Option<(&str, &str)>) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("loom");
    let (package, target) = (folder.join(name), folder.join("target"));
    let mut source = fs::read_to_string(root().join("src/backend/published.rs")).unwrap();
    if let Some((from, to)) = change {
        assert_eq!(source.matches(from).count(), 1, "'{from}' in published.rs");
        source = source.replace(from, to);
    }
    // The same code on loom's types; loom's are not made in constants.
    assert!(source.contains("use std::sync::{") && source.contains("pub const fn new"));
    source = source.replace("use std::sync::{", "use loom::sync::{").replace("pub const fn new", "pub fn new");
    let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\nloom = \"0.7\"\n[workspace]\n");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    fs::copy(root().join("tests/loom/model.rs"), package.join("src/lib.rs")).unwrap();
    fs::write(package.join("src/published.rs"), source).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&package).args(["test", "--lib", "--target-dir"]).arg(target);
    // Flags of the outer build are not for the model.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env("LOOM_LOG", "off");
    cargo.output().unwrap()
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_model_holds() {
    let output = model("as_it_is", None);
    let text = text_of(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("test result: ok. 4 passed"), "{text}");
}

/// What each weakening lets happen, in loom's words or the model's.
#[test]
fn the_model_fails_if_the_ordering_is_weakened() {
    let race = "Causality violation";
    for (name, from, to, expected) in [
        ("no_release", "Ordering::Release", "Ordering::Relaxed", race),
        ("no_acquire", "Ordering::Acquire", "Ordering::Relaxed", race),
        ("no_lock", "let _one_at_a_time =", "let _ =", "assertion `left == right` failed"),
    ] {
        let output = model(name, Some((from, to)));
        let text = text_of(&output);
        assert_eq!(output.status.code(), Some(101), "{name}: {text}");
        assert!(text.contains("test result: FAILED") && text.contains(expected), "{name}: {text}");
    }
}

/// Each of 24 threads asks for the library at the same moment; all get one table.
fn race_of_24(library: &std::path::Path) {
    let barrier = Barrier::new(24);
    let tables: Vec<usize> = std::thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            let (table, _) = nvjitlink::find(Some(library), &SearchEnvironment::default()).found.unwrap();
            assert!(table.facts().version.is_some());
            std::ptr::from_ref(table) as usize
        };
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:x?}");
}

#[test]
fn threads_that_come_at_once_get_one_table() {
    race_of_24(&nvjitlink("12.9.86"));
    race_of_24(&nvjitlink("12.0.140"));
}

/// The stub tells how often its version was asked for: once for each table that is filled.
#[test]
fn a_table_is_filled_once() {
    const NAME: &str = "a_table_is_filled_once";
    if let Some(library) = std::env::var_os("STUB_TO_RACE_FOR") {
        return race_of_24(library.as_ref());
    }
    let folder = tempfile::tempdir().unwrap();
    let library = fake(folder.path().join("libnvJitLink.so"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    // In a process of its own, whose environment tells the stub where to write.
    for round in 0..10 {
        let log = folder.path().join(format!("calls {round}"));
        let mut this = Command::new(std::env::current_exe().unwrap());
        support::run(this.args(["--exact", NAME]).env("STUB_TO_RACE_FOR", &library).env("FAKE_LOG", &log));
        assert_eq!(calls(&log), ["loaded", "Version"]);
    }
}
