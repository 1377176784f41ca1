//! Cubins: ELF files of device code, in the two flavours that CUDA 12 and CUDA 13 write.

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use super::bytes::{Budget, View};
use super::{Arch, ArchSuffix, Part, PartKind, Place, Problem, Producer, cubin_tables, ptx};
use crate::release::Version;

/// `e_machine` of device code.
pub(super) const EM_CUDA: u16 = 190;

/// EI_OSABI up to CUDA 12: SM number in `e_flags` bits 0-7, toolkit version in `e_version`.
pub(super) const OSABI_CUDA: u8 = 0x33;
/// EI_OSABI from CUDA 13 on, and of 12.8 and 12.9 for sm_100 and later: SM number in `e_flags` bits 8-15. AMD's code objects have the same
/// number, so `e_machine` comes first.
const OSABI_CUDA_V2: u8 = 0x41;

/// `EI_ABIVERSION` of the cubins whose tables we know: up to CUDA 12, and from then on.
const KNOWN_ABIS: std::ops::RangeInclusive<u8> = 7..=8;

/// `e_flags` bit of an `a` architecture, in the first flavour only.
const FLAG_ARCH_SPECIFIC: u32 = 0x800;

const TOOL_NOTE_SECTION: &[u8] = b".note.nv.tkinfo";
const TOOL_NOTE_NAME: &[u8] = b"NVIDIA Corp";
const TOOL_NOTE_TYPE: u32 = 2000;

pub(super) struct Cubin {
    arch: Option<Arch>,
    producer: Producer,
    relocatable: bool,
}

impl Cubin {
    /// Writes what the cubin says into a part; a fatbin entry's architecture stays, for it always has the suffix.
    pub fn tell(self, part: &mut Part) {
        part.producer = self.producer;
        part.arch = part.arch.or(self.arch);
        part.relocatable = Some(self.relocatable);
    }

    fn has_known_tables(&self) -> bool {
        self.arch.is_some() && matches!(self.producer, Producer::Cubin { abi, .. } if KNOWN_ABIS.contains(&abi))
    }
}

/// Reads the headers of a cubin, and checks that every section and segment is there, and the tables of one that can be linked: the linkers
/// trust them. No linker takes finished code.
pub(super) fn read(view: View) -> Result<Cubin, Problem> {
    match view.bytes.get(4) {
        Some(2) => {
            let cubin = read_elf::<elf::FileHeader64<Endianness>>(view)?;
            if cubin.relocatable && cubin.has_known_tables() {
                cubin_tables::check(view)?;
            }
            Ok(cubin)
        }
        Some(1) => read_elf::<elf::FileHeader32<Endianness>>(view),
        _ => Err(view.damaged(4, "cubin of unknown ELF class")),
    }
}

fn read_elf<Elf: FileHeader<Endian = Endianness>>(view: View) -> Result<Cubin, Problem> {
    let broken = |what: &'static str| move |error| view.damaged(0, format!("cubin {what}: {error}"));
    let header = Elf::parse(view.bytes).map_err(broken("header"))?;
    let endian = header.endian().map_err(broken("header"))?;
    if header.e_machine(endian).0 != EM_CUDA {
        return Err(view.damaged(18, "an ELF file that is no device code where a cubin is expected"));
    }
    let relocatable = match header.e_type(endian) {
        elf::ET_REL => true,
        elf::ET_EXEC | elf::ET_DYN => false,
        other => return Err(view.damaged(16, format!("cubin of ELF type {}", other.0))),
    };

    for segment in header.program_headers(endian, view.bytes).map_err(broken("program headers"))? {
        let (offset, size) = segment.file_range(endian);
        view.slice(offset, size, "cubin segment")?;
    }
    let sections = header.sections(endian, view.bytes).map_err(broken("section headers"))?;
    if sections.is_empty() {
        return Err(view.damaged(0, "cubin without section headers"));
    }
    let mut note = ToolNote::default();
    let mut names = Budget::new(view, 4);
    let mut notes = Budget::new(view, 1);
    for section in sections.iter() {
        let name = sections.section_name(endian, section).map_err(broken("section name"))?;
        names.spend(name.len() as u64, "section names")?;
        let shown = String::from_utf8_lossy(name);
        let is_in_file = cubin_tables::is_in_file(section.sh_type(endian));
        let (offset, size) = section.file_range(endian).filter(|_| is_in_file).unwrap_or_default();
        view.slice(offset, size, format_args!("cubin section '{shown}'"))?;
        if section.sh_link(endian) as usize >= sections.len() {
            return Err(view.damaged(0, format!("cubin section '{shown}' that refers to one that is not there")));
        }
        if name == TOOL_NOTE_SECTION {
            notes.spend(size, "sections")?;
            note.add::<Elf>(endian, section, view.bytes);
        }
    }

    let ident = header.e_ident();
    let flags = header.e_flags(endian).0;
    let version = header.e_version(endian);
    let [low, second, ..] = flags.to_le_bytes();
    let (number, suffix, toolkit) = match ident.os_abi.0 {
        OSABI_CUDA_V2 => (Some(second), ArchSuffix::None, None),
        OSABI_CUDA => {
            let suffix = if flags & FLAG_ARCH_SPECIFIC == 0 { ArchSuffix::None } else { ArchSuffix::A };
            (Some(low), suffix, toolkit_from(version))
        }
        _ => (None, ArchSuffix::None, None),
    };
    let arch = number.map(|number| {
        let arch = Arch { number: number.into(), suffix, is_virtual: false };
        // The note has the suffix that the flags lack, but it may be about one of several inputs.
        note.arch.filter(|noted| noted.number == arch.number).unwrap_or(arch)
    });
    let producer = Producer::Cubin { abi: ident.abi_version, toolkit: toolkit.or(note.toolkit) };
    Ok(Cubin { arch, producer, relocatable })
}

/// 12.4 of 124.
fn toolkit_from(e_version: u32) -> Option<Version> {
    let version = u16::try_from(e_version).ok().filter(|&version| version >= 10)?;
    Some((version / 10, version % 10))
}

/// What the notes of the tools that made a cubin say: for each tool its name, release and command line.
#[derive(Default)]
struct ToolNote {
    toolkit: Option<Version>,
    arch: Option<Arch>,
}

impl ToolNote {
    /// A note that cannot be read is passed over: nothing depends on it but what we can tell.
    fn add<Elf: FileHeader<Endian = Endianness>>(&mut self, endian: Endianness, section: &Elf::SectionHeader, bytes: &[u8]) {
        let Ok(Some(mut notes)) = section.notes(endian, bytes) else { return };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == TOOL_NOTE_NAME && note.n_type(endian).0 == TOOL_NOTE_TYPE {
                self.read(View::new(note.desc()));
            }
        }
    }

    /// A note is a version, five offsets (object, tool, release, build, options) and the texts that they point to.
    fn read(&mut self, note: View) -> Option<()> {
        let texts = note.tail(24);
        let text = |index: u64| {
            let offset = note.u32(index.checked_mul(4)?, "note").ok()?;
            let text = texts.tail(offset.into()).bytes.split(|&byte| byte == 0).next()?;
            std::str::from_utf8(text).ok()
        };
        // "Cuda compilation tools, release 13.5, V13.5.37"
        let release = text(3)?.split_once("release ")?.1;
        let (major, minor) = release.split([',', ' ']).next()?.split_once('.')?;
        let toolkit = (major.parse().ok()?, minor.parse().ok()?);
        // A linked cubin has a note of each tool, and needs what the newest of them writes.
        self.toolkit = self.toolkit.max(Some(toolkit));
        // "-arch sm_90a -m 64 "
        let mut options = text(5)?.split_whitespace();
        options.find(|&option| option == "-arch")?;
        self.arch = Some(ptx::parse_real_arch(options.next()?)?);
        Some(())
    }
}

pub(super) fn part(view: View, place: &Place) -> Result<Part, Problem> {
    let mut part = Part::stored(PartKind::Cubin, view, place);
    read(view)?.tell(&mut part);
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, Elf};
    use super::*;

    const SECTIONS: &[(&str, &[u8])] = &[(".text.k", &[0; 32])];

    fn told(bytes: &[u8]) -> (String, Producer, bool) {
        let part = part(View::new(bytes), &Place::default()).unwrap();
        (part.arch.map(|arch| arch.to_string()).unwrap_or_default(), part.producer, part.relocatable.unwrap())
    }

    fn is_damaged(bytes: &[u8]) -> bool {
        matches!(read(View::new(bytes)), Err(Problem::Damaged { .. }))
    }

    #[test]
    fn reads_what_cuda_12_writes() {
        // Flags and version of NVRTC 12.0's sm_80 and sm_90a.
        let mut elf =
            Elf { machine: EM_CUDA, os_abi: 0x33, abi: 7, e_version: 120, flags: 0x0050_0550, sections: SECTIONS, ..Elf::default() };
        let producer = Producer::Cubin { abi: 7, toolkit: Some((12, 0)) };
        assert_eq!(told(&elf.bytes()), ("sm_80".to_owned(), producer, true));
        elf.flags = 0x005A_0D5A;
        elf.e_type = 2;
        assert_eq!(told(&elf.bytes()), ("sm_90a".to_owned(), producer, false));
        elf.e_version = 1;
        assert_eq!(told(&elf.bytes()).1.cuda(), None);
    }

    #[test]
    fn reads_what_cuda_13_writes() {
        let cubin = samples::cubin(100, "13.5", "sm_100f");
        let producer = Producer::Cubin { abi: 8, toolkit: Some((13, 5)) };
        assert_eq!(told(&cubin), ("sm_100f".to_owned(), producer, true));
        // The note is about another architecture than the cubin is.
        assert_eq!(told(&samples::cubin(90, "13.5", "sm_80a")).0, "sm_90");
    }

    #[test]
    fn the_newest_tool_counts() {
        let notes = ["13.1", "13.4", "12.9"].map(|release| samples::tool_note(release, "sm_90")).concat();
        let sections: &[(&str, &[u8])] = &[(".note.nv.tkinfo", &notes)];
        let elf = Elf { machine: EM_CUDA, os_abi: 0x41, abi: 8, flags: 0x5A00, sections, ..Elf::default() };
        assert_eq!(told(&elf.bytes()).1.cuda(), Some((13, 4)));
    }

    #[test]
    fn a_note_that_says_nothing_is_passed_over() {
        let sound = samples::tool_note("13.5", "sm_90a");
        for at in 0..sound.len() {
            let mut note = sound.clone();
            note[at] = 0xFF;
            let sections: &[(&str, &[u8])] = &[(".note.nv.tkinfo", &note)];
            let elf = Elf { machine: EM_CUDA, os_abi: 0x41, abi: 8, flags: 0x5A00, sections, ..Elf::default() };
            assert!(told(&elf.bytes()).0.starts_with("sm_90"));
        }
    }

    #[test]
    fn every_section_and_segment_must_be_there() {
        let sound = samples::cubin(90, "13.5", "sm_90");
        let headers = u64::from_le_bytes(sound[40..48].try_into().unwrap()) as usize;
        let change = |at: usize, bytes: &[u8]| {
            let mut cubin = sound.clone();
            cubin[at..at + bytes.len()].copy_from_slice(bytes);
            cubin
        };
        assert!(!is_damaged(&sound));
        let text = headers + 2 * 64;
        assert!(is_damaged(&change(text + 24, &u64::MAX.to_le_bytes())), "section offset");
        assert!(is_damaged(&change(text + 32, &u64::MAX.to_le_bytes())), "section size");
        assert!(is_damaged(&change(text + 32, &(sound.len() as u64).to_le_bytes())), "section size");
        assert!(is_damaged(&change(text + 40, &9_u32.to_le_bytes())), "section link");
        assert!(is_damaged(&change(text, &u32::MAX.to_le_bytes())), "section name");
        assert!(is_damaged(&change(62, &9_u16.to_le_bytes())), "index of the names");
        assert!(is_damaged(&change(60, &99_u16.to_le_bytes())), "number of sections");
        assert!(is_damaged(&change(40, &[0; 8])), "no sections");
        assert!(is_damaged(&change(40, &u64::MAX.to_le_bytes())), "offset of the sections");
        assert!(is_damaged(&change(58, &[0; 2])), "size of a section header");
        assert!(is_damaged(&change(16, &7_u16.to_le_bytes())), "type");
        assert!(is_damaged(&change(18, &62_u16.to_le_bytes())), "machine");
        assert!(is_damaged(&change(4, &[3])), "class");
        // A section without bytes in the file may claim any size.
        let mut nobits = change(text + 4, &8_u32.to_le_bytes());
        nobits[16] = 2;
        assert!(!is_damaged(&nobits));
        // A segment that is not there: 56 bytes of program header, at the end of the file.
        let mut segment = change(32, &(sound.len() as u64).to_le_bytes());
        segment[54..56].copy_from_slice(&56_u16.to_le_bytes());
        segment[56..58].copy_from_slice(&1_u16.to_le_bytes());
        segment.extend([1, 0, 0, 0, 5, 0, 0, 0]);
        segment.extend([0; 48]);
        assert!(!is_damaged(&segment));
        let size = segment.len() - 24;
        segment[size..size + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(is_damaged(&segment));
    }

    #[test]
    fn the_tables_of_what_can_be_linked_are_checked() {
        let fixture = |name: &str| std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for name in ["12.0/kernel.cubin", "13.5/kernel.cubin"] {
            let sound = fixture(name);
            assert!(!is_damaged(&sound));
            // The second section is aligned to three bytes.
            let headers = u64::from_le_bytes(sound[40..48].try_into().unwrap()) as usize;
            let mut damaged = sound.clone();
            damaged[headers + 64 + 48] = 3;
            assert!(is_damaged(&damaged), "{name}");
            let change = |at: usize, value: u8| {
                let mut cubin = damaged.clone();
                cubin[at] = value;
                cubin
            };
            assert!(!is_damaged(&change(16, 2)), "{name}: finished code reaches no linker");
            assert!(!is_damaged(&change(8, 9)), "{name}: an ABI that we do not know");
            assert!(!is_damaged(&change(7, 0)), "{name}: code of somebody else");
        }
    }
}
