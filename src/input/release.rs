//! Which CUDA release made a part, told by the version numbers that stand in it.

/// A `(major, minor)` version.
pub type Version = (u16, u16);

/// What a CUDA release writes into the headers of what it makes.
struct Release {
    cuda: Version,
    /// NVVM container minor (its major is 1).
    container: u16,
    /// NVVM IR minor (its major is 2).
    ir: u16,
    ptx: Version,
}

/// Measured on NVRTC's `-dlto` output of each release; oldest first, and no number ever goes down.
const RELEASES: [Release; 15] = [
    release((12, 0), 57, 51, (8, 0)),
    release((12, 1), 57, 53, (8, 1)),
    release((12, 2), 59, 58, (8, 2)),
    release((12, 3), 60, 63, (8, 3)),
    release((12, 4), 61, 71, (8, 4)),
    release((12, 5), 61, 83, (8, 5)),
    release((12, 6), 62, 84, (8, 5)),
    release((12, 8), 64, 89, (8, 7)),
    release((12, 9), 64, 93, (8, 8)),
    release((13, 0), 65, 98, (9, 0)),
    release((13, 1), 66, 107, (9, 1)),
    release((13, 2), 66, 114, (9, 2)),
    release((13, 3), 67, 115, (9, 3)),
    release((13, 4), 67, 120, (9, 4)),
    release((13, 5), 67, 131, (9, 5)),
];

const fn release(cuda: Version, container: u16, ir: u16, ptx: Version) -> Release {
    Release { cuda, container, ir, ptx }
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
pub(super) fn of_ptx(isa: Version) -> Option<Version> {
    let old = OLD_PTX.iter().find(|(ptx, _)| *ptx == isa).map(|(_, cuda)| *cuda);
    let oldest = RELEASES.first()?;
    if isa < oldest.ptx { old } else { RELEASES.iter().find(|release| release.ptx >= isa).map(|release| release.cuda) }
}

/// The oldest release that reads this NVVM IR version, or, where only the container's is known, that container version.
/// Several releases share a container version, so that answer can be too old by a release or two.
pub(super) fn of_nvvm(container: Option<Version>, ir: Option<Version>) -> Option<Version> {
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
    fn no_number_goes_down() {
        assert!(RELEASES.is_sorted_by_key(|r| r.cuda));
        assert!(RELEASES.is_sorted_by_key(|r| r.container));
        assert!(RELEASES.is_sorted_by_key(|r| r.ir));
        assert!(RELEASES.is_sorted_by_key(|r| r.ptx));
    }
}
