//! Damaged inputs: describing one never dies, a cut one never reaches a library, and linking one kills the process only where it is said.
//!
//! `CUDALINK_DAMAGE_CASES` says how many damaged copies of each file are linked on each library. With `--nocapture`, the tests print what
//! became of them.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cudalink::input::Input;
use cudalink::policy::{EntryRule, LinkBy, Request};
use cudalink::{LinkOptions, ResultClass};
use support::{calls, compile_c, fake, fixture, nvjitlink};

/// Files of CUDA 12.0, which every library reads.
const FILES: [&str; 7] = ["helper.fatbin", "helper.zip.fatbin", "helper.cubin", "helper.ltoir", "helper.o", "helper.ptx", "libhelper.a"];

/// Cut PTX is PTX, and how long an LTO-IR body is nobody but NVIDIA's libraries knows.
const MAY_BE_CUT: [&str; 2] = ["helper.ltoir", "helper.ptx"];

/// Where a death proves nothing against us. Bodies of LTO-IR are scrambled, so that no damage in them can be seen, and nvJitLink 12 ends
/// the process on it; 12.0 crashes on PTX that ends inside a comment.
const MAY_DIE: [(&str, &str); 5] = [
    ("12.0.140", "helper.ltoir"),
    ("12.9.86", "helper.ltoir"),
    ("13.0.88", "helper.ltoir"),
    ("13.5.37", "helper.ltoir"),
    ("12.0.140", "helper.ptx"),
];
/// Starting the process again after each death is slow.
const MOST_LTOIR_CASES: usize = 2000;

/// What we do not foresee is one case in this many, or fewer: another OSABI together with other damage, the last byte of `e_flags`,
/// `st_other` of a variable, and a type of relocation that exists and is out of place.
const RARE: usize = 5000;

fn cases() -> usize {
    std::env::var("CUDALINK_DAMAGE_CASES").map_or(150, |cases| cases.parse().unwrap())
}

/// What became of the damaged copies of one file.
#[derive(Debug, Default)]
struct Outcome {
    /// How many cases had each result.
    results: BTreeMap<String, usize>,
    /// The cases that killed the process: which, at what, and how.
    deaths: Vec<(usize, String, String)>,
}

struct Damage {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Damage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { program: compile_c("damage.c", folder.path()), folder }
    }

    /// Runs the cases in processes of their own; after a death, the rest in a fresh one.
    fn run(&self, library: &Path, file: &Path, cases: usize, truncations: usize) -> Outcome {
        let mut outcome = Outcome::default();
        let mut first = 0;
        let progress = self.folder.path().join("progress");
        while first < cases {
            let mut command = Command::new(&self.program);
            command.arg(library).arg(&progress).args([first, cases, truncations].map(|number| number.to_string()));
            command.arg("-arch=sm_80").arg(file).env("FAKE_LOG", self.log());
            let status = command.output().unwrap().status;
            let mut at = (first, "start".to_owned());
            for line in fs::read_to_string(&progress).unwrap().lines() {
                let (case, word) = line.split_once(' ').unwrap();
                if matches!(word, "describe" | "link") {
                    at = (case.parse().unwrap(), word.to_owned());
                } else {
                    *outcome.results.entry(word.to_owned()).or_default() += 1;
                }
            }
            if status.success() {
                break;
            }
            let how = status.signal().map_or_else(|| status.to_string(), |signal| format!("signal {signal}"));
            first = at.0 + 1;
            outcome.deaths.push((at.0, at.1, how));
        }
        outcome
    }

    /// What a stub library writes of the calls that reach it.
    fn log(&self) -> PathBuf {
        self.folder.path().join("calls")
    }
}

#[test]
fn a_cut_input_is_refused_before_any_library() {
    let damage = Damage::new();
    let library = fake(damage.folder.path().join("libnvJitLink.so"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    for name in FILES.iter().filter(|name| !MAY_BE_CUT.contains(name)) {
        let file = fixture(format!("12.0/{name}"));
        let every_length = fs::metadata(&file).unwrap().len() as usize;
        let outcome = damage.run(&library, &file, every_length, every_length);
        println!("{name} cut: {:?}", outcome.results);
        assert_eq!(outcome.deaths, [], "{name}");
        assert_eq!(outcome.results.values().sum::<usize>(), every_length, "{name}");
        assert!(!outcome.results.contains_key("ok"), "{name}: {outcome:?}");
        assert!(calls(&damage.log()).iter().all(|call| ["loaded", "Version"].contains(&&**call)), "{name}: {:?}", calls(&damage.log()));
    }
    // Had they reached the library, we would know.
    damage.run(&library, &fixture("12.0/helper.cubin"), 2, 1);
    assert!(calls(&damage.log()).iter().any(|call| call.starts_with("Create")));
}

/// A fatbin of one LZ4 image for sm_80.
fn packed_fatbin(kind: u16, image: &[u8]) -> Vec<u8> {
    let payload = lz4_flex::block::compress(image);
    let size = payload.len().next_multiple_of(8);
    let mut fatbin = vec![0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0];
    fatbin.extend((64 + size as u64).to_le_bytes());
    fatbin.extend([kind.to_le_bytes(), [1, 1]].concat());
    for word in [64, size as u32, 0, payload.len() as u32, 0, 8 << 16, 80, 0, 0, 0x2011, 0, 0, 0, image.len() as u32, 0] {
        fatbin.extend(word.to_le_bytes());
    }
    fatbin.extend(payload);
    fatbin.resize(80 + size, 0);
    fatbin
}

#[test]
fn what_is_packed_is_looked_at_before_a_library_unpacks_it() {
    let request = |bytes: Vec<u8>| {
        let mut options = LinkOptions::default();
        options.set_flag("-arch=sm_80").unwrap();
        let inputs = [Input::new(None, bytes, "unit", &mut |_| None).unwrap()];
        let by = LinkBy::Nvjitlink(EntryRule::of(None));
        Request::new(&options, &inputs, by, &mut Vec::new()).map(|_| ()).map_err(|error| (error.class(), error.to_string()))
    };
    let damaged = |bytes: Vec<u8>, words: &str| {
        let (class, text) = request(bytes).unwrap_err();
        assert_eq!(class, ResultClass::BadInput);
        assert!(text.starts_with("'unit' is damaged") && text.contains(words), "{text}");
    };
    let cubin = fs::read(fixture("12.0/helper.cubin")).unwrap();
    let ptx = fs::read(fixture("12.0/helper.ptx")).unwrap();
    let section_headers = u64::from_le_bytes(cubin[40..48].try_into().unwrap()) as usize;
    for (kind, sound, at) in [(2, cubin, section_headers + 64 + 48), (1, ptx, 100)] {
        assert_eq!(request(packed_fatbin(kind, &sound)), Ok(()));
        let mut broken = sound.clone();
        broken[at] = 0;
        damaged(packed_fatbin(kind, &broken), "once unpacked");
        let mut cut_block = packed_fatbin(kind, &sound);
        cut_block[72..76].copy_from_slice(&(sound.len() as u32 + 1).to_le_bytes());
        damaged(cut_block, "declared");
        // The same in a section that says what is relocatable.
        let object = host_object(&packed_fatbin(kind, &broken));
        damaged(object, "once unpacked");
    }
}

/// The fatbin as `nvcc -dc` leaves it in an object.
fn host_object(fatbin: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fatbin"), fatbin).unwrap();
    fs::write(folder.path().join("unit.s"), ".section __nv_relfatbin, \"a\"\n.align 8\n.incbin \"fatbin\"\n").unwrap();
    support::run(Command::new("gcc").args(["-c", "unit.s", "-o", "unit.o"]).current_dir(folder.path()));
    fs::read(folder.path().join("unit.o")).unwrap()
}

fn survives(version: &str) {
    let damage = Damage::new();
    let library = nvjitlink(version);
    for name in FILES {
        let cases = if name == "helper.ltoir" { cases().min(MOST_LTOIR_CASES) } else { cases() };
        let outcome = damage.run(&library, &fixture(format!("12.0/{name}")), cases, cases / 4);
        let at_link = outcome.deaths.iter().filter(|(_, at, _)| at == "link").count();
        let some: Vec<_> = outcome.deaths.iter().take(5).collect();
        println!("{version} {name}: {cases} cases, {:?}, {} deaths {some:?}", outcome.results, outcome.deaths.len());
        assert_eq!(at_link, outcome.deaths.len(), "{version} {name}: {some:?}");
        assert_eq!(outcome.results.values().sum::<usize>() + at_link, cases, "{version} {name}");
        assert!(MAY_DIE.contains(&(version, name)) || at_link <= cases / RARE, "{version} {name}: {some:?}");
    }
}

#[test]
fn nvjitlink_12_0_survives_what_we_let_through() {
    survives("12.0.140");
}

#[test]
fn nvjitlink_12_9_survives_what_we_let_through() {
    survives("12.9.86");
}

#[test]
fn nvjitlink_13_0_survives_what_we_let_through() {
    survives("13.0.88");
}

#[test]
fn nvjitlink_13_5_survives_what_we_let_through() {
    survives("13.5.37");
}
