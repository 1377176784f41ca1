//! The LTO-IR header. Its body is scrambled, so the header is all there is to read.
//!
//! ```text
//!  0  ED 43 4E 7F
//!  4  container major, minor     6  NVVM IR major, minor     8  debug major, minor     10  LLVM generation, 0
//! 12  u16 offset of the attributes (24)                      14  u16 kind: 1 LTO-IR, 2 OptiX-IR
//! 16  u32 end of the attributes: the key word                20  u32 start of the body
//! 24  attributes, four bytes each: u16 tag, u16 value; the last has tag 0x63
//! ```
//! Measured on NVRTC 12.0 to 13.5; nothing of it is documented.

use super::bytes::View;
use super::{Arch, ArchSuffix, Part, PartKind, Place, Problem, Producer};
use crate::release::Version;

pub(super) const MAGIC: [u8; 4] = [0xED, 0x43, 0x4E, 0x7F];

const KIND_LTOIR: u16 = 1;
/// What nvJitLink itself gives as linked LTO-IR (13.5).
const KIND_LINKED: u16 = 0;
const KIND_OPTIX: u16 = 2;

/// SM number times ten.
const TAG_ARCH: u16 = 1;
/// Value 1 for `sm_90a`. There is none for `sm_100f`.
const TAG_ARCH_SPECIFIC: u16 = 0x20;
const TAG_END: u16 = 0x63;

pub(super) struct LtoIr {
    arch: Option<Arch>,
    producer: Producer,
}

impl LtoIr {
    /// Writes what the header says into a part; what the part knows already from a fatbin entry stays where the header has less.
    pub fn tell(self, part: &mut Part) {
        part.producer = self.producer;
        part.arch = part.arch.or(self.arch);
    }
}

pub(super) fn read(view: View) -> Result<LtoIr, Problem> {
    let version = |at, what| -> Result<Version, Problem> {
        let [major, minor] = view.array(at, what)?;
        Ok((major.into(), minor.into()))
    };
    if !view.starts_with(&MAGIC) {
        return Err(view.damaged(0, "LTO-IR without its magic number"));
    }
    let producer = Producer::Nvvm {
        container: version(4, "LTO-IR container version")?,
        ir: Some(version(6, "LTO-IR version")?),
        debug: Some(version(8, "LTO-IR debug version")?),
        llvm: Some(view.u8(10, "LTO-IR generation")?),
    };
    match view.u16(14, "LTO-IR kind")? {
        KIND_LTOIR | KIND_LINKED => {}
        KIND_OPTIX => return Err(Problem::Unrecognized { looks_like: Some("OptiX-IR") }),
        kind => return Err(view.damaged(14, format!("LTO-IR of unknown kind {kind}"))),
    }
    let start: u64 = view.u16(12, "LTO-IR header size")?.into();
    let end: u64 = view.u32(16, "LTO-IR attribute size")?.into();
    let body: u64 = view.u32(20, "LTO-IR body offset")?.into();
    if start < 24 || end < start || body < end {
        return Err(view.damaged(12, "LTO-IR header offsets that contradict each other"));
    }
    let attributes = view.slice(start, end.saturating_sub(start), "LTO-IR attributes")?;
    if body >= view.len() {
        return Err(view.damaged(body, "LTO-IR without its body"));
    }
    Ok(LtoIr { arch: arch(attributes), producer })
}

fn arch(attributes: View) -> Option<Arch> {
    let mut number = None;
    let mut suffix = ArchSuffix::None;
    for attribute in attributes.bytes.chunks_exact(4) {
        let &[tag_low, tag_high, low, high] = attribute else { break };
        match (u16::from_le_bytes([tag_low, tag_high]), u16::from_le_bytes([low, high])) {
            (TAG_END, _) => break,
            (TAG_ARCH, value) => number = Some(u32::from(value) / 10),
            (TAG_ARCH_SPECIFIC, 1) => suffix = ArchSuffix::A,
            _ => {}
        }
    }
    Some(Arch { number: number?, suffix, is_virtual: true })
}

pub(super) fn part(view: View, place: &Place) -> Result<Part, Problem> {
    // It exists only to be linked; `-rdc` makes no difference to it.
    let mut part = Part { relocatable: Some(true), ..Part::stored(PartKind::LtoIr, view, place) };
    read(view)?.tell(&mut part);
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn arch_of(attributes: &[(u16, u16)]) -> Option<String> {
        let bytes = samples::ltoir(1, 71, attributes);
        part(View::new(&bytes), &Place::default()).unwrap().arch.map(|arch| arch.to_string())
    }

    #[test]
    fn reads_the_header() {
        let bytes = samples::ltoir(1, 131, &[(1, 1000), (0x0203, 2)]);
        let part = part(View::new(&bytes), &Place::default()).unwrap();
        let producer = Producer::Nvvm { container: (1, 61), ir: Some((2, 131)), debug: Some((3, 1)), llvm: Some(7) };
        assert_eq!(part.producer, producer);
        assert_eq!(part.producer.cuda(), Some((13, 5)));
        assert_eq!((part.relocatable, part.size), (Some(true), bytes.len() as u64));
    }

    #[test]
    fn the_attributes_tell_the_architecture() {
        assert_eq!(arch_of(&[(1, 800), (0x0203, 2)]).unwrap(), "compute_80");
        assert_eq!(arch_of(&[(1, 900), (0x0203, 2), (0x20, 1)]).unwrap(), "compute_90a");
        assert_eq!(arch_of(&[(0x0203, 2), (0x63, 0), (1, 900)]), None);
    }

    #[test]
    fn a_header_that_points_out_of_the_file_is_damage() {
        let sound = samples::ltoir(1, 71, &[(1, 800)]);
        for (at, value) in [(12, 0xFFFF_u32), (12, 23), (16, u32::MAX), (16, 8), (20, u32::MAX), (20, 0), (20, sound.len() as u32), (14, 3)]
        {
            let mut bytes = sound.clone();
            let len = if at < 16 { 2 } else { 4 };
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
            assert!(matches!(read(View::new(&bytes)), Err(Problem::Damaged { .. })), "{value} at {at}");
        }
        for len in 0..36 {
            assert!(matches!(read(View::new(&sound[..len])), Err(Problem::Damaged { .. })), "{len}");
        }
    }

    #[test]
    fn optix_ir_is_not_lto_ir() {
        let bytes = samples::ltoir(2, 71, &[(1, 800)]);
        assert_eq!(read(View::new(&bytes)).err(), Some(Problem::Unrecognized { looks_like: Some("OptiX-IR") }));
    }
}
