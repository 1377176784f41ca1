//! What holds for every kind of input: each is recognised and listed, and no damage to it makes us panic or miss it.

use super::samples::{self, Elf, Entry};
use super::*;

fn facts(bytes: &[u8]) -> Result<Facts, Problem> {
    examine(bytes, &mut |_| None)
}

/// The members of the thin archive in [`samples::all`].
fn on_disk(name: &[u8]) -> Option<Vec<u8>> {
    let of = |kind| samples::all().into_iter().find(|(name, _)| *name == kind).map(|(_, bytes)| bytes);
    match name {
        b"a.o" => of("object"),
        b"dir/b.ltoir" => of("ltoir"),
        _ => None,
    }
}

/// Everything that can be asked about some bytes.
fn ask_all(bytes: &[u8], read_member: &mut MemberReader) -> Result<Facts, Problem> {
    let facts = examine(bytes, read_member)?;
    for container in &facts.containers {
        let fatbin = facts.container_bytes(bytes, container).expect("a container that was found is there");
        if let Ok(stored) = unpacked_fatbin(fatbin) {
            // What we write we read.
            examine(&stored, &mut |_| None).expect("a fatbin of our own");
        }
    }
    for part in &facts.parts {
        let _ = facts.part_bytes(bytes, part);
        let _ = facts.look_inside(bytes, part);
        let _ = facts.symbols(bytes, part);
    }
    Ok(facts)
}

fn kinds(facts: &Facts) -> Vec<String> {
    facts.parts.iter().map(|part| format!("{} {}", part.kind, part.arch.map_or_else(String::new, |arch| arch.to_string()))).collect()
}

#[test]
fn every_kind_is_recognised_and_listed() {
    let whole = ["cubin sm_90", "cubin sm_90", "ptx compute_80a", "ltoir compute_80", "tile ir compute_80"];
    let object = ["ptx compute_80"; 3];
    for (name, bytes) in samples::all() {
        let facts = ask_all(&bytes, &mut on_disk).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let (kind, parts): (_, &[&str]) = match name {
            "cubin" => (InputKind::Cubin, &["cubin sm_90a"]),
            "ltoir" => (InputKind::LtoIr, &["ltoir compute_80"]),
            "ptx" => (InputKind::Ptx, &["ptx compute_90a"]),
            "block" => (InputKind::Fatbin, &["cubin sm_80", "cubin sm_90", "cubin sm_80", "cubin sm_90"]),
            "fatbin" => (InputKind::Fatbin, &whole),
            "row" => (InputKind::Fatbin, &object[..2]),
            "object" | "coff" | "pe" => (InputKind::Object, &object),
            "archive" => (InputKind::Library, &[object, object].concat()),
            "bsd archive" => (InputKind::Library, &[&object[..], &["cubin sm_90a"]].concat()),
            "thin archive" => (InputKind::Library, &[&object[..], &["ltoir compute_80"]].concat()),
            _ => panic!("{name} is not tested"),
        };
        assert_eq!(facts.kind, kind, "{name}");
        assert_eq!(kinds(&facts), parts, "{name}");
        assert_eq!(facts.warnings, [""; 0], "{name}");
    }
}

#[test]
fn parts_are_where_the_facts_say() {
    for (name, bytes) in samples::all() {
        let facts = examine(&bytes, &mut on_disk).unwrap();
        for part in &facts.parts {
            let unpacked = facts.part_bytes(&bytes, part).unwrap();
            match part.kind {
                PartKind::Ptx => assert_eq!(unpacked, samples::PTX, "{name}"),
                PartKind::Cubin => assert!(unpacked.starts_with(&samples::cubin(90, "13.5", "sm_90a")), "{name}"),
                PartKind::LtoIr => assert_eq!(unpacked[..4], [0xED, 0x43, 0x4E, 0x7F], "{name}"),
                _ => assert!(unpacked.starts_with(b"tiles"), "{name}"),
            }
        }
        for container in &facts.containers {
            let fatbin = facts.container_bytes(&bytes, container).unwrap();
            assert!(fatbin.starts_with(&[0x50, 0xED, 0x55, 0xBA]), "{name}");
            assert_eq!(super::tests::facts(fatbin).unwrap().containers.len(), 1, "{name}");
        }
    }
}

#[test]
fn the_section_tells_what_is_relocatable() {
    for kind in ["object", "coff", "pe"] {
        let bytes = samples::all().into_iter().find(|(name, _)| *name == kind).unwrap().1;
        let facts = facts(&bytes).unwrap();
        let told: Vec<_> =
            facts.parts.iter().map(|part| (part.place.section.unwrap(), part.relocatable.unwrap(), part.container)).collect();
        let expected = [("__nv_relfatbin", true, Some(0)), ("__nv_relfatbin", true, Some(1)), (".nv_fatbin", false, Some(2))];
        assert_eq!(told, expected, "{kind}");
    }
}

#[test]
fn every_truncation_is_seen() {
    for (name, bytes) in samples::all() {
        for len in 0..bytes.len() {
            let cut = ask_all(&bytes[..len], &mut on_disk);
            let may_pass = match name {
                // A text, or a header before a body of unknown size, can end anywhere; containers and members can end early in their row;
                // nothing of ours comes after a PE image's last section, or the names of a COFF object's.
                "ptx" | "ltoir" => true,
                "row" => len >= bytes.len() / 2 - 32,
                "archive" | "bsd archive" | "thin archive" => true,
                "coff" | "pe" => len + 24 >= bytes.len(),
                _ => false,
            };
            assert!(may_pass || cut.is_err(), "{name} of {} bytes cut to {len}: {cut:?}", bytes.len());
        }
    }
}

#[test]
fn a_truncated_archive_lists_whole_members_only() {
    for (name, bytes) in samples::all().into_iter().filter(|(name, _)| name.contains("archive")) {
        let whole = examine(&bytes, &mut on_disk).unwrap();
        for len in 0..bytes.len() {
            if let Ok(facts) = examine(&bytes[..len], &mut on_disk) {
                assert!(whole.parts.starts_with(&facts.parts), "{name} cut to {len}");
            }
        }
    }
}

/// xorshift: the same damage on every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    /// One to four changes: a byte, a bit, a block of one value, a number that likes to overflow, or bytes moved from elsewhere.
    fn damage(&mut self, bytes: &mut [u8]) {
        for _ in 0..=self.next(4) {
            let at = self.next(bytes.len());
            let len = self.next(16).min(bytes.len() - at);
            match self.next(5) {
                0 => bytes[at] = self.next(256) as u8,
                1 => bytes[at] ^= 1 << self.next(8),
                2 => bytes[at..at + len].fill([0, 0xFF, b' ', b'9'][self.next(4)]),
                3 => {
                    let numbers = [u64::MAX, 1 << 63, u64::from(u32::MAX), 1 << 31, bytes.len() as u64, 0, 1, 64];
                    let number = numbers[self.next(numbers.len())].to_le_bytes();
                    let len = [2, 4, 8][self.next(3)].min(bytes.len() - at);
                    bytes[at..at + len].copy_from_slice(&number[..len]);
                }
                _ => {
                    let from = self.next(bytes.len() - len + 1);
                    bytes.copy_within(from..from + len, at);
                }
            }
        }
    }
}

#[test]
fn no_damage_makes_us_panic() {
    let mut random = Random(0x5EED_CAFE);
    for (_, bytes) in samples::all() {
        for _ in 0..100_000 / 12 {
            let mut damaged = bytes.clone();
            random.damage(&mut damaged);
            let _ = ask_all(&damaged, &mut |name| on_disk(name));
        }
    }
}

#[test]
fn the_members_of_a_thin_archive_may_be_damaged_too() {
    let (_, archive) = samples::all().into_iter().find(|(name, _)| *name == "thin archive").unwrap();
    let (_, object) = samples::all().into_iter().find(|(name, _)| *name == "object").unwrap();
    let mut random = Random(7);
    for _ in 0..5_000 {
        let mut damaged = object.clone();
        random.damage(&mut damaged);
        let _ = ask_all(&archive, &mut |name| (name == b"a.o").then(|| damaged.clone()));
    }
}

#[test]
fn a_nul_inside_ptx_is_damage_however_it_is_packed() {
    let damage = |text: &[u8], flags: u64| {
        let packed = [text.to_vec(), samples::lz4(text), samples::zstd(text)];
        let (payload, unpacked) = match flags {
            0x11 => (&packed[0], 0),
            0x2011 => (&packed[1], text.len()),
            _ => (&packed[2], text.len()),
        };
        let fatbin = samples::fatbin(&[Entry { flags, payload, unpacked, ..Entry::default() }]);
        let facts = facts(&fatbin)?;
        facts.look_inside(&fatbin, &facts.parts[0]).map(|_| ())
    };
    let closed = [samples::PTX, b"\0\0\0"].concat();
    let mut broken = closed.clone();
    broken[9] = 0;
    for flags in [0x11, 0x2011, 0x8011] {
        assert_eq!(damage(samples::PTX, flags), Ok(()));
        assert_eq!(damage(&closed, flags), Ok(()));
        let Err(Problem::Damaged { what, offset }) = damage(&broken, flags) else { panic!("{flags:#x}") };
        assert!(what.starts_with("a NUL inside PTX text"), "{what}");
        assert_eq!(offset, if flags == 0x11 { 89 } else { 80 });
    }
}

#[test]
fn nothing_and_blanks_are_empty() {
    for bytes in [&b""[..], b" ", b"\n\r\n\t ", b"\0", b"\0\0\0", b"\xEF\xBB\xBF", b"\xEF\xBB\xBF \n\0"] {
        assert_eq!(facts(bytes), Err(Problem::Empty), "{bytes:?}");
    }
}

#[test]
fn what_is_no_input_is_named() {
    let mut optix = samples::ltoir(2, 71, &[(1, 900)]);
    optix.truncate(40);
    let cases: [(&[u8], Option<&str>); 12] = [
        (&optix, Some("OptiX-IR")),
        (b"\x10\xFF\x10\xAD\x03\0\0\0", Some("an LLVM offload binary")),
        (b"BC\xC0\xDE\x35\x14", Some("LLVM bitcode")),
        (b"\xCF\xFA\xED\xFE\x07\0", Some("a Mach-O file")),
        (b"\xB1\x43\x62\x46\x01\0", Some("a .nvFatBinSegment, which only points at a fatbin")),
        (b"\x7FTileIR\0", Some("Tile IR bytecode")),
        (b"\xFF\xFE.\0v\0", Some("UTF-16 text")),
        (b"__global__ void k() {}", Some("text, but no PTX: it does not start with .version")),
        (b".target sm_80\n.version 8.0", Some("text, but no PTX: it does not start with .version")),
        (b"// .version 8.0\n", Some("text, but no PTX: it does not start with .version")),
        (b"\x89PNG\r\n\x1A\n", None),
        (b"\x7FEL", None),
    ];
    for (bytes, looks_like) in cases {
        assert_eq!(facts(bytes), Err(Problem::Unrecognized { looks_like }), "{bytes:?}");
    }
}

#[test]
fn a_hostile_string_table_costs_no_more_than_its_file() {
    // Every section has the same name, as long as a tenth of the file: quadratic if all were read.
    let name = "n".repeat(1 << 16);
    let names: Vec<(&str, &[u8])> = vec![(&name, b""); 10];
    let mut bytes = Elf { sections: &names, ..Elf::default() }.bytes();
    let section_headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    for _ in 0..1000 {
        bytes.extend_from_within(section_headers + 64..section_headers + 128);
    }
    // The names' section stays where it is in the table.
    bytes[60..62].copy_from_slice(&1012_u16.to_le_bytes());
    let Err(Problem::Damaged { what, .. }) = facts(&bytes) else { panic!() };
    assert_eq!(what, "section names that overlap");
}

#[test]
fn sections_that_share_their_bytes_are_refused() {
    let fatbin = samples::fatbin(&[Entry { payload: &[b' '; 4096], ..Entry::default() }]);
    let sections: Vec<(&str, &[u8])> = vec![("__nv_relfatbin", &fatbin), ("__nv_relfatbin", b"")];
    let mut bytes = Elf { sections: &sections, ..Elf::default() }.bytes();
    let headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    bytes.copy_within(headers + 64 + 24..headers + 64 + 40, headers + 128 + 24);
    let Err(Problem::Damaged { what, .. }) = facts(&bytes) else { panic!() };
    assert_eq!(what, "sections that overlap");
}

/// What five releases of CUDA wrote (tests/fixtures/README.md), and the release.
fn fixtures() -> Vec<(String, Version, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files = Vec::new();
    for (folder_name, release) in
        [("12.0", (12, 0)), ("12.4", (12, 4)), ("12.9", (12, 9)), ("13.0", (13, 0)), ("13.5", (13, 5)), ("wide", (13, 0))]
    {
        for entry in std::fs::read_dir(folder.join(folder_name)).unwrap() {
            let path = entry.unwrap().path();
            files.push((path.file_name().unwrap().to_string_lossy().into_owned(), release, std::fs::read(&path).unwrap()));
        }
    }
    assert!(files.len() > 90);
    files
}

#[test]
fn real_files_are_what_they_are() {
    for (name, release, bytes) in fixtures() {
        if name == "optix.optixir" {
            assert_eq!(facts(&bytes), Err(Problem::Unrecognized { looks_like: Some("OptiX-IR") }));
            continue;
        }
        let facts = facts(&bytes).unwrap_or_else(|problem| panic!("{release:?} {name}: {problem}"));
        let stem = name.trim_start_matches("lib").trim_start_matches("helper").trim_start_matches("kernel");
        let (kind, parts): (_, &[&str]) = match (stem, release) {
            ("whole.cubin", _) => (InputKind::Cubin, &["cubin sm_80"]),
            ("multi.fatbin", _) => (InputKind::Fatbin, &["cubin sm_80", "cubin sm_90", "ptx compute_90"]),
            ("multi.o", _) => (InputKind::Object, &["cubin sm_80", "cubin sm_90", "ltoir compute_90"]),
            ("host_only.o", _) => (InputKind::Object, &[]),
            ("host_only.a", _) => (InputKind::Library, &[]),
            (".ptx", _) => (InputKind::Ptx, &["ptx compute_80"]),
            (".ltoir", _) => (InputKind::LtoIr, &["ltoir compute_80"]),
            (".cubin", _) => (InputKind::Cubin, &["cubin sm_80"]),
            (".lto.fatbin" | ".old.zstd.lto.fatbin", _) => (InputKind::Fatbin, &["ltoir compute_80"]),
            ("first.ptx" | "second.ptx", _) => (InputKind::Ptx, &["ptx compute_80"]),
            ("first.o" | "second.o", _) => (InputKind::Object, &["cubin sm_80", "ptx compute_80"]),
            (".old.zstd.fatbin", _) => (InputKind::Fatbin, &["ptx compute_80"]),
            (".fatbin" | ".zip.fatbin", _) => (InputKind::Fatbin, &["cubin sm_80", "ptx compute_80"]),
            (".o", _) => (InputKind::Object, &["cubin sm_80", "ptx compute_80"]),
            (".lto.o", _) => (InputKind::Object, &["ptx compute_80", "ltoir compute_80"]),
            (".a", _) => (InputKind::Library, &["cubin sm_80", "ptx compute_80"]),
            (".lto.a", _) => (InputKind::Library, &["ptx compute_80", "ltoir compute_80"]),
            _ => panic!("{name} is not tested"),
        };
        assert_eq!(
            (facts.kind, kinds(&facts).iter().map(String::as_str).collect::<Vec<_>>()),
            (kind, parts.to_vec()),
            "{release:?} {name}"
        );
        assert!(facts.warnings.is_empty(), "{release:?} {name}");
        for part in &facts.parts {
            let part = facts.look_inside(&bytes, part).unwrap();
            // Of packed LTO-IR only the container version can be read, which 12.8 shares with 12.9, and 13.3 with 13.5.
            let made_by = match release {
                _ if stem.starts_with(".old") || matches!(stem, "first.ptx" | "second.ptx") => (12, 0),
                (12, 9) if part.scrambled => (12, 8),
                (13, 5) if part.scrambled => (13, 3),
                release => release,
            };
            assert_eq!(part.producer.cuda(), Some(made_by), "{release:?} {name}");
            assert_ne!(part.relocatable, Some(name == "whole.cubin"), "{release:?} {name}");
        }
    }
}

#[test]
fn truncated_and_damaged_real_files_are_survived() {
    let mut random = Random(0xF00D);
    for (name, release, bytes) in fixtures() {
        let may_pass = [".ptx", ".ltoir", ".a"].iter().any(|end| name.ends_with(end));
        for len in 0..bytes.len() {
            let cut = facts(&bytes[..len]);
            assert!(may_pass || cut.is_err(), "{release:?} {name} cut to {len}: {cut:?}");
        }
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            random.damage(&mut damaged);
            let _ = ask_all(&damaged, &mut |_| None);
        }
    }
}
