//! One row a CUDA release: what it writes into what it makes, and what it links for. This is the table to extend for the next one.

/// A `(major, minor)` version.
pub type Version = (u16, u16);

/// A CUDA release, which is a release of nvJitLink too.
struct Release {
    cuda: Version,
    /// NVVM container minor (its major is 1).
    container: u16,
    /// NVVM IR minor (its major is 2).
    ir: u16,
    /// PTX ISA version.
    ptx: Version,
    /// The targets that its nvJitLink links for, without their `sm_`.
    targets: &'static [&'static str],
}

const TARGETS_12_0: &[&str] = &["50", "52", "53", "60", "61", "62", "70", "72", "75", "80", "86", "87", "89", "90", "90a"];
#[rustfmt::skip]
const TARGETS_12_8: &[&str] = &[
    "50", "52", "53", "60", "61", "62", "70", "72", "75", "80", "86", "87", "89", "90", "90a", "100", "100a", "101", "101a", "120", "120a",
];
#[rustfmt::skip]
const TARGETS_12_9: &[&str] = &[
    "50", "52", "53", "60", "61", "62", "70", "72", "75", "80", "86", "87", "89", "90", "90a", "100", "100a", "100f", "101", "101a", "101f",
    "103", "103a", "103f", "120", "120a", "120f", "121", "121a", "121f",
];
#[rustfmt::skip]
const TARGETS_13_0: &[&str] = &[
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f", "110", "110a", "110f", "120", "120a", "120f",
    "121", "121a", "121f",
];

/// Measured: versions on NVRTC's `-dlto` output of each release, targets by a link for each (`cargo test --test option_table`). Oldest first;
/// no version ever goes down.
const RELEASES: [Release; 15] = [
    release((12, 0), 57, 51, (8, 0), TARGETS_12_0),
    release((12, 1), 57, 53, (8, 1), TARGETS_12_0),
    release((12, 2), 59, 58, (8, 2), TARGETS_12_0),
    release((12, 3), 60, 63, (8, 3), TARGETS_12_0),
    release((12, 4), 61, 71, (8, 4), TARGETS_12_0),
    release((12, 5), 61, 83, (8, 5), TARGETS_12_0),
    release((12, 6), 62, 84, (8, 5), TARGETS_12_0),
    release((12, 8), 64, 89, (8, 7), TARGETS_12_8),
    release((12, 9), 64, 93, (8, 8), TARGETS_12_9),
    release((13, 0), 65, 98, (9, 0), TARGETS_13_0),
    release((13, 1), 66, 107, (9, 1), TARGETS_13_0),
    release((13, 2), 66, 114, (9, 2), TARGETS_13_0),
    release((13, 3), 67, 115, (9, 3), TARGETS_13_0),
    release((13, 4), 67, 120, (9, 4), TARGETS_13_0),
    release((13, 5), 67, 131, (9, 5), TARGETS_13_0),
];

const fn release(cuda: Version, container: u16, ir: u16, ptx: Version, targets: &'static [&'static str]) -> Release {
    Release { cuda, container, ir, ptx, targets }
}

/// The oldest release in the table.
pub const OLDEST: Version = RELEASES[0].cuda;
/// The newest release in the table.
pub const NEWEST: Version = NEWEST_RELEASE.cuda;

const NEWEST_RELEASE: &Release = &RELEASES[RELEASES.len() - 1];

/// Whether no release in the table reads this PTX ISA version.
pub fn is_newer_ptx(isa: Version) -> bool {
    isa > NEWEST_RELEASE.ptx
}

/// Whether no release in the table reads this NVVM IR version.
pub fn is_newer_ir(ir: Version) -> bool {
    ir > (2, NEWEST_RELEASE.ir)
}

/// The targets of a release, or of the nearest older one in the table.
pub fn targets_of(cuda: Version) -> &'static [&'static str] {
    RELEASES.iter().rfind(|release| release.cuda <= cuda).or(RELEASES.first()).map_or(&[], |release| release.targets)
}

/// PTX ISA versions before CUDA 12, from the release history in the PTX manual, oldest first. Every linker we know reads them.
const OLD_PTX: [(Version, Version); 17] = [
    ((4, 3), (7, 5)),
    ((5, 0), (8, 0)),
    ((6, 0), (9, 0)),
    ((6, 1), (9, 1)),
    ((6, 2), (9, 2)),
    ((6, 3), (10, 0)),
    ((6, 4), (10, 1)),
    ((6, 5), (10, 2)),
    ((7, 0), (11, 0)),
    ((7, 1), (11, 1)),
    ((7, 2), (11, 2)),
    ((7, 3), (11, 3)),
    ((7, 4), (11, 4)),
    ((7, 5), (11, 5)),
    ((7, 6), (11, 6)),
    ((7, 7), (11, 7)),
    ((7, 8), (11, 8)),
];

/// The oldest release that reads this PTX ISA version; `None` if none that we know of does, or it is older than the table.
pub fn of_ptx(isa: Version) -> Option<Version> {
    let old = OLD_PTX.iter().find(|(ptx, _)| *ptx == isa).map(|(_, cuda)| *cuda);
    let oldest = RELEASES.first()?;
    if isa < oldest.ptx { old } else { RELEASES.iter().find(|release| release.ptx >= isa).map(|release| release.cuda) }
}

/// The oldest release that reads this NVVM IR version, or, where only the container's is known, that container version.
/// Several releases share a container version, so that answer can be too old by a release or two.
pub fn of_nvvm(container: Option<Version>, ir: Option<Version>) -> Option<Version> {
    let oldest = RELEASES.first()?;
    let reads: &dyn Fn(&&Release) -> bool = match (ir, container) {
        (Some((2, minor)), _) if minor >= oldest.ir => &move |release| release.ir >= minor,
        (None, Some((1, minor))) if minor >= oldest.container => &move |release| release.container >= minor,
        _ => return None,
    };
    RELEASES.iter().find(reads).map(|release| release.cuda)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_named_by_what_they_write() {
        assert_eq!(of_ptx((9, 5)), Some((13, 5)));
        assert_eq!(of_ptx((8, 5)), Some((12, 5)));
        assert_eq!(of_ptx((7, 8)), Some((11, 8)));
        assert_eq!(of_ptx((8, 6)), Some((12, 8)));
        assert_eq!(of_ptx((9, 6)), None);
        assert_eq!(of_ptx((1, 0)), None);
        assert_eq!(of_nvvm(Some((1, 67)), Some((2, 131))), Some((13, 5)));
        assert_eq!(of_nvvm(Some((1, 67)), None), Some((13, 3)));
        // A number between two rows needs the later release.
        assert_eq!(of_nvvm(None, Some((2, 100))), Some((13, 1)));
        assert_eq!(of_nvvm(None, Some((2, 132))), None);
        assert_eq!(of_nvvm(None, Some((2, 40))), None);
        assert_eq!(of_nvvm(None, Some((3, 51))), None);
        assert_eq!(of_nvvm(None, None), None);
    }

    #[test]
    fn a_release_knows_its_targets() {
        let knows = |cuda, name| targets_of(cuda).contains(&name);
        assert!(knows((12, 0), "50") && knows((12, 6), "90a") && !knows((12, 7), "100"));
        assert!(knows((12, 8), "120a") && !knows((12, 8), "100f") && knows((12, 9), "121f"));
        assert!(!knows((13, 0), "70") && knows((13, 5), "110f") && knows((11, 0), "50") && knows((14, 0), "75"));
    }

    #[test]
    fn no_number_goes_down() {
        assert!(RELEASES.is_sorted_by_key(|r| r.cuda));
        assert!(RELEASES.is_sorted_by_key(|r| r.container));
        assert!(RELEASES.is_sorted_by_key(|r| r.ir));
        assert!(RELEASES.is_sorted_by_key(|r| r.ptx));
    }
}
