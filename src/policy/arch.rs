//! Which code links for which target, and which entry of a fatbin is taken.
//!
//! Measured: a kernel compiled for each architecture, bare and as an entry of a fatbin, alone and
//! beside others, linked for each target on nvJitLink 12.0.140, 12.4.127, 12.6.85, 12.8.93, 12.9.86,
//! 13.0.88, 13.3.33 and 13.5.37. Where 12.9 is more lenient with `a` code than 13.5, 13.5 is right:
//! such code runs on one architecture alone.

use super::{NEWEST, Version};
use crate::arch::{Arch, ArchSuffix};
use crate::input::{Part, PartKind};

/// How a release takes the entries of a fatbin, in an object or archive too. Of LTO-IR the rules
/// differ most:
///
/// | an entry for | 12.0 to 12.9 | 13.0 to 13.5 |
/// | --- | --- | --- |
/// | `compute_90` | from sm_90 on | from sm_90 on |
/// | `compute_100f` | from sm_100 on | from sm_100 to sm_109 |
/// | `compute_90a` | from sm_90 on | sm_90a alone |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRule {
    /// By their numbers.
    ByNumber,
    /// By their suffixes too.
    BySuffix,
}

impl EntryRule {
    /// The rule of a release; of one that is not told, that of the newest.
    pub fn of(version: Option<Version>) -> Self {
        const BY_SUFFIX_SINCE: Version = Version::new(13, 0);
        if version.unwrap_or(NEWEST) < BY_SUFFIX_SINCE { Self::ByNumber } else { Self::BySuffix }
    }

    /// Whether the rules can differ over it.
    pub fn matters_for(part: &Part) -> bool {
        part.container.is_some() && part.arch.is_some_and(|arch| arch.suffix != ArchSuffix::None)
    }
}

/// Whether code of this kind, made for `code`, can be linked for `target`. `entry` is the rule for an
/// entry of a fatbin, and `None` for code that stands by itself.
pub fn links_for(kind: PartKind, code: Arch, target: Arch, entry: Option<EntryRule>) -> bool {
    let newer = code.number > target.number;
    let same_generation = code.number / 10 == target.number / 10;
    let exactly = code.number == target.number && target.suffix == ArchSuffix::A;
    match (kind, code.suffix, entry) {
        _ if newer => false,
        // What an `a` or `f` allows is decided when LTO-IR is compiled, not when it is read.
        (PartKind::LtoIr, _, None | Some(EntryRule::ByNumber)) => true,
        (_, ArchSuffix::A, _) => exactly,
        (PartKind::Cubin, ArchSuffix::F, Some(EntryRule::BySuffix)) if target.suffix == ArchSuffix::A => false,
        // As an entry a cubin for sm_100 is none for sm_103; that for sm_120 is one for sm_121.
        (PartKind::Cubin, _, Some(_)) if code.number / 10 == 10 => code.number == target.number,
        (PartKind::Cubin, ..) | (_, ArchSuffix::F, _) => same_generation,
        _ => true,
    }
}

/// Of the entries that link for a target the one is taken where this is largest, of all LTO-IR with
/// `-lto`, else of all cubins and PTX.
pub fn precedence(kind: PartKind, code: Option<Arch>) -> (u32, bool, u8) {
    let suffix = code.map_or(ArchSuffix::None, |arch| arch.suffix);
    let narrowness = match suffix {
        ArchSuffix::None => 0,
        ArchSuffix::F => 1,
        ArchSuffix::A => 2,
    };
    (code.map_or(0, |arch| arch.number), kind == PartKind::Cubin, narrowness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use EntryRule::{ByNumber, BySuffix};

    const TARGETS: [&str; 10] = ["80", "89", "90", "90a", "100", "100a", "100f", "103", "103f", "120"];

    fn arch(name: &str) -> Arch {
        format!("sm_{name}").parse().unwrap()
    }

    // Each row as measured; what is bare on 13.5.37.
    #[test]
    fn code_links_where_the_library_links_it() {
        for (kind, code, entry, expected) in [
            (PartKind::Cubin, "80", None, "xx........"),
            (PartKind::Cubin, "90", None, "..xx......"),
            (PartKind::Cubin, "90a", None, "...x......"),
            (PartKind::Cubin, "100", None, "....xxxxx."),
            (PartKind::Cubin, "100a", None, ".....x...."),
            (PartKind::Cubin, "100f", None, "....xxxxx."),
            (PartKind::Cubin, "103", None, ".......xx."),
            (PartKind::Ptx, "80", None, "xxxxxxxxxx"),
            (PartKind::Ptx, "90a", None, "...x......"),
            (PartKind::Ptx, "100", None, "....xxxxxx"),
            (PartKind::Ptx, "100f", None, "....xxxxx."),
            (PartKind::LtoIr, "90a", None, "..xxxxxxxx"),
            (PartKind::LtoIr, "100f", None, "....xxxxxx"),
            (PartKind::Cubin, "80", Some(ByNumber), "xx........"),
            (PartKind::Cubin, "100", Some(ByNumber), "....xxx..."),
            (PartKind::Cubin, "100f", Some(ByNumber), "....xxx..."),
            (PartKind::Cubin, "100f", Some(BySuffix), "....x.x..."),
            (PartKind::Cubin, "103f", Some(BySuffix), ".......xx."),
            (PartKind::Ptx, "90a", Some(BySuffix), "...x......"),
            (PartKind::Ptx, "100f", Some(BySuffix), "....xxxxx."),
            (PartKind::LtoIr, "90", Some(ByNumber), "..xxxxxxxx"),
            (PartKind::LtoIr, "90a", Some(ByNumber), "..xxxxxxxx"),
            (PartKind::LtoIr, "100a", Some(ByNumber), "....xxxxxx"),
            (PartKind::LtoIr, "100f", Some(ByNumber), "....xxxxxx"),
            (PartKind::LtoIr, "90", Some(BySuffix), "..xxxxxxxx"),
            (PartKind::LtoIr, "90a", Some(BySuffix), "...x......"),
            (PartKind::LtoIr, "100", Some(BySuffix), "....xxxxxx"),
            (PartKind::LtoIr, "100a", Some(BySuffix), ".....x...."),
            (PartKind::LtoIr, "100f", Some(BySuffix), "....xxxxx."),
        ] {
            let found: String =
                TARGETS.iter().map(|target| if links_for(kind, arch(code), arch(target), entry) { 'x' } else { '.' }).collect();
            assert_eq!(found, expected, "{kind:?} {code} {entry:?}");
        }
    }

    #[test]
    fn the_rule_of_the_entries_changed_with_13_0() {
        let of = |major, minor| EntryRule::of(Some(Version::new(major, minor)));
        assert_eq!([of(12, 0), of(12, 9), of(13, 0), of(13, 5), EntryRule::of(None)], [ByNumber, ByNumber, BySuffix, BySuffix, BySuffix]);
    }
}
