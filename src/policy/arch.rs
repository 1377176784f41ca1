//! Which code links for which target.
//!
//! Measured: a kernel compiled for each architecture, linked for each target, on nvJitLink 12.9.86 and 13.5.37. Where 12.9 is more lenient with `a` code than 13.5, 13.5 is right: such code runs on one
//! architecture alone.

use crate::arch::{Arch, ArchSuffix};
use crate::input::PartKind;

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
}
