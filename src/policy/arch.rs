//! Which architectures a release knows, and which code links for which target.
//!
//! Measured: a kernel compiled for each architecture, linked for each target, on nvJitLink 12.9.86 and 13.5.37 (and the
//! target list on every release). Where 12.9 is more lenient with `a` code than 13.5, 13.5 is right: such code runs on one
//! architecture alone.

use super::Version;
use crate::arch::{Arch, ArchSuffix};
use crate::input::PartKind;

/// The targets of nvJitLink 12.0 to 12.6.
const SINCE_12_0: &[&str] = &["50", "52", "53", "60", "61", "62", "70", "72", "75", "80", "86", "87", "89", "90", "90a"];
/// What 12.8 added.
const SINCE_12_8: &[&str] = &["100", "100a", "101", "101a", "120", "120a"];
/// What 12.9 added.
const SINCE_12_9: &[&str] = &["100f", "101f", "103", "103a", "103f", "120f", "121", "121a", "121f"];
/// The targets of nvJitLink 13.0 to 13.5.
const SINCE_13_0: &[&str] = &[
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f", "110", "110a", "110f", "120", "120a",
    "120f", "121", "121a", "121f",
];

/// The targets that a release links for, without their `sm_`.
pub fn targets_of(version: Version) -> impl Iterator<Item = &'static str> {
    let lists: &[&[&str]] = match (version.major, version.minor) {
        (..=12, ..=7) => &[SINCE_12_0],
        (..=12, 8) => &[SINCE_12_0, SINCE_12_8],
        (..=12, _) => &[SINCE_12_0, SINCE_12_8, SINCE_12_9],
        _ => &[SINCE_13_0],
    };
    lists.iter().copied().flatten().copied()
}

/// Whether code of this kind, made for `code`, can be linked for `target`.
pub fn links_for(kind: PartKind, code: Arch, target: Arch) -> bool {
    let newer = code.number > target.number;
    let same_generation = code.number / 10 == target.number / 10;
    let exactly = code.number == target.number && target.suffix == ArchSuffix::A;
    match (kind, code.suffix) {
        _ if newer => false,
        // What an `a` or `f` allows is decided when LTO-IR is compiled, not when it is read.
        (PartKind::LtoIr, _) => true,
        (_, ArchSuffix::A) => exactly,
        (PartKind::Cubin, _) | (_, ArchSuffix::F) => same_generation,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(kind: PartKind, code: &str, targets: &[&str]) -> Vec<bool> {
        let arch = |name: &str| format!("sm_{name}").parse().unwrap();
        targets.iter().map(|target| links_for(kind, arch(code), arch(target))).collect()
    }

    // Each row as measured on 13.5.37.
    #[test]
    fn code_links_where_the_library_links_it() {
        const TARGETS: [&str; 10] = ["80", "89", "90", "90a", "100", "100a", "100f", "103", "103f", "120"];
        let marks = |text: &str| text.bytes().map(|byte| byte == b'x').collect::<Vec<_>>();
        for (kind, code, expected) in [
            (PartKind::Cubin, "80", "xx........"),
            (PartKind::Cubin, "90", "..xx......"),
            (PartKind::Cubin, "90a", "...x......"),
            (PartKind::Cubin, "100", "....xxxxx."),
            (PartKind::Cubin, "100a", ".....x...."),
            (PartKind::Cubin, "100f", "....xxxxx."),
            (PartKind::Cubin, "103", ".......xx."),
            (PartKind::Ptx, "80", "xxxxxxxxxx"),
            (PartKind::Ptx, "90a", "...x......"),
            (PartKind::Ptx, "100", "....xxxxxx"),
            (PartKind::Ptx, "100f", "....xxxxx."),
            (PartKind::LtoIr, "90a", "..xxxxxxxx"),
            (PartKind::LtoIr, "100f", "....xxxxxx"),
        ] {
            assert_eq!(links(kind, code, &TARGETS), marks(expected), "{kind:?} {code}");
        }
    }

    #[test]
    fn a_release_knows_its_targets() {
        let knows = |major, minor, name| targets_of(Version::new(major, minor)).any(|target| target == name);
        assert!(knows(12, 0, "50") && knows(12, 6, "90a") && !knows(12, 6, "100"));
        assert!(knows(12, 8, "120a") && !knows(12, 8, "100f") && knows(12, 9, "121f"));
        assert!(!knows(13, 0, "70") && knows(13, 5, "110f") && knows(11, 0, "50") && knows(14, 0, "75"));
    }
}
