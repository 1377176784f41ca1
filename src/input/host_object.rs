//! Device code in host objects, executables and shared libraries: ELF, COFF and PE.
//!
//! Device code stands in two sections. Where it stands tells what it is: `__nv_relfatbin` holds what `nvcc -dc` made to be linked,
//! `.nv_fatbin` whole-program code, or what a device link made of the former. Each may hold several fatbins: `ld -r` and every final link
//! put one after the other.

use object::endian::Endianness;
use object::read::coff::{CoffHeader, SectionTable};
use object::read::elf::{FileHeader, SectionHeader};
use object::read::pe::ImageNtHeaders;
use object::{elf, pe};

use super::bytes::{Budget, View};
use super::{Facts, InputKind, Place, Problem, cubin, fatbin};

const RELOCATABLE_SECTION: &str = "__nv_relfatbin";
const FINISHED_SECTION: &str = ".nv_fatbin";
/// Points at a fatbin; has none itself.
const WRAPPER_SECTION: &str = ".nvFatBinSegment";
const OFFLOAD_SECTION: &str = ".llvm.offloading";

/// PE images cut section names to this many bytes.
const SHORT_NAME: usize = 8;

/// The start of an object that has no COFF machine: an import library's member, a `/GL` object, or one with many sections.
const ANONYMOUS: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// Whether an ELF file is device code. `None` if it is too short to tell.
pub(super) fn elf_is_cubin(view: View) -> Option<bool> {
    let &[low, high] = view.bytes.get(18..20)? else { return None };
    let is_big_endian = view.bytes.get(5) == Some(&2);
    let machine = if is_big_endian { u16::from_be_bytes([low, high]) } else { u16::from_le_bytes([low, high]) };
    Some(machine == cubin::EM_CUDA)
}

/// Whether this is a COFF object: it has no magic number, so its machine, and that it has no optional header, must do.
pub(super) fn is_coff(view: View) -> bool {
    let machines = [pe::IMAGE_FILE_MACHINE_AMD64, pe::IMAGE_FILE_MACHINE_ARM64, pe::IMAGE_FILE_MACHINE_I386];
    let is_known = machines.iter().any(|machine| view.starts_with(&machine.0.to_le_bytes()));
    view.starts_with(&ANONYMOUS) || is_known && view.bytes.get(16..18) == Some(&[0, 0])
}

pub(super) fn read_elf(view: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    match view.bytes.get(4) {
        Some(2) => read_elf_class::<elf::FileHeader64<Endianness>>(view, place, facts),
        Some(1) => read_elf_class::<elf::FileHeader32<Endianness>>(view, place, facts),
        _ => Err(view.damaged(4, "ELF file of unknown class")),
    }
}

fn read_elf_class<Elf: FileHeader<Endian = Endianness>>(view: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    let broken = |what: &'static str| move |error| view.damaged(0, format!("ELF {what}: {error}"));
    let header = Elf::parse(view.bytes).map_err(broken("header"))?;
    let endian = header.endian().map_err(broken("header"))?;
    let sections = header.sections(endian, view.bytes).map_err(broken("section headers"))?;
    let mut found = Found::new(view);
    for section in sections.iter() {
        let name = sections.section_name(endian, section).map_err(broken("section name"))?;
        found.section(name, false, section.file_range(endian), place, facts)?;
    }
    found.warn(place, facts);
    Ok(())
}

pub(super) fn read_coff(view: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    if !view.starts_with(&ANONYMOUS) {
        return read_coff_header::<pe::ImageFileHeader>(view, place, facts);
    }
    match view.u16(4, "COFF header")? {
        // A member of an import library names a function of a DLL; there is no code in it.
        0 => Ok(()),
        _ if pe::AnonObjectHeaderBigobj::parse(view.bytes, &mut 0).is_ok() => {
            read_coff_header::<pe::AnonObjectHeaderBigobj>(view, place, facts)
        }
        _ => {
            warn(place, facts, "is no plain COFF object (compiled with /GL?), so its device code, if it has any, is not seen");
            Ok(())
        }
    }
}

fn read_coff_header<Coff: CoffHeader>(view: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    let broken = |what: &'static str| move |error| view.damaged(0, format!("COFF {what}: {error}"));
    let mut offset = 0;
    let header = Coff::parse(view.bytes, &mut offset).map_err(broken("header"))?;
    let sections = header.sections(view.bytes, offset).map_err(broken("section headers"))?;
    let symbols = header.symbols(view.bytes).map_err(broken("symbols"))?;
    let mut found = Found::new(view);
    for section in sections.iter() {
        let name = section.name(symbols.strings()).map_err(broken("section name"))?;
        let range = section.coff_file_range().map(|(offset, size)| (offset.into(), size.into()));
        found.section(name, false, range, place, facts)?;
    }
    found.warn(place, facts);
    Ok(())
}

pub(super) fn read_pe(view: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    let broken = |what: &'static str| move |error| view.damaged(0, format!("PE {what}: {error}"));
    let sections = pe_sections(view).map_err(broken("headers"))?;
    let mut found = Found::new(view);
    for section in sections.iter() {
        let (offset, size) = section.pe_file_range();
        found.section(section.raw_name(), true, Some((offset.into(), size.into())), place, facts)?;
    }
    found.warn(place, facts);
    Ok(())
}

fn pe_sections<'a>(view: View<'a>) -> object::Result<SectionTable<'a>> {
    let dos = pe::ImageDosHeader::parse(view.bytes)?;
    let mut offset = dos.nt_headers_offset().into();
    if object::read::pe::optional_header_magic(view.bytes)? == pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC {
        let (header, _) = pe::ImageNtHeaders64::parse(view.bytes, &mut offset)?;
        header.sections(view.bytes, offset)
    } else {
        let (header, _) = pe::ImageNtHeaders32::parse(view.bytes, &mut offset)?;
        header.sections(view.bytes, offset)
    }
}

/// What the sections of one object have shown so far.
struct Found<'a> {
    object: View<'a>,
    fatbin: bool,
    wrapper: bool,
    offload: bool,
    names: Budget<'a>,
    contents: Budget<'a>,
}

impl<'a> Found<'a> {
    fn new(object: View<'a>) -> Self {
        let (names, contents) = (Budget::new(object, 4), Budget::new(object, 1));
        Found { object, fatbin: false, wrapper: false, offload: false, names, contents }
    }

    /// Reads a section if it holds device code. `range` is `None` for one that takes no room in the file.
    fn section(
        &mut self,
        name: &[u8],
        may_be_cut: bool,
        range: Option<(u64, u64)>,
        place: &Place,
        facts: &mut Facts,
    ) -> Result<(), Problem> {
        self.names.spend(name.len() as u64, "section names")?;
        let is = |full: &str| {
            let full = full.as_bytes();
            name == full || may_be_cut && name.len() == SHORT_NAME && full.starts_with(name)
        };
        self.wrapper |= is(WRAPPER_SECTION);
        self.offload |= is(OFFLOAD_SECTION);
        let (section, relocatable) = if is(RELOCATABLE_SECTION) {
            (RELOCATABLE_SECTION, true)
        } else if is(FINISHED_SECTION) {
            (FINISHED_SECTION, false)
        } else {
            return Ok(());
        };
        let Some((offset, size)) = range else { return Ok(()) };
        let content = self.object.slice(offset, size, format_args!("section '{section}'"))?;
        self.contents.spend(size, "sections")?;
        self.fatbin = true;
        let place = Place { section: Some(section), ..place.clone() };
        fatbin::read(content, &place, Some(relocatable), facts)
    }

    fn warn(&self, place: &Place, facts: &mut Facts) {
        if self.wrapper && !self.fatbin {
            warn(place, facts, "was made with device code (.nvFatBinSegment), but has none any more");
        }
        if self.offload {
            warn(place, facts, "has device code in LLVM's offload form (.llvm.offloading), which is not read");
        }
    }
}

fn warn(place: &Place, facts: &mut Facts, what: &str) {
    let subject = match (facts.member(place), facts.kind) {
        (Some(member), _) => format!("member '{member}'"),
        (None, InputKind::Object) => "the object".to_owned(),
        (None, kind) => format!("the {kind}"),
    };
    facts.warnings.push(format!("{subject} {what}"));
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, Elf, Entry};
    use super::super::{Facts, examine};
    use super::*;

    fn facts(bytes: &[u8]) -> Facts {
        examine(bytes, &mut |_| None).unwrap_or_else(|problem| panic!("{problem}"))
    }

    #[test]
    fn an_object_without_device_code_has_no_parts() {
        for bytes in [Elf::default().bytes(), samples::coff(&[(".text", b"code")]), samples::pe(&[(".text", b"code")])] {
            let facts = facts(&bytes);
            assert_eq!((facts.kind, facts.parts.len(), facts.warnings.len()), (InputKind::Object, 0, 0));
        }
    }

    #[test]
    fn what_was_taken_out_or_is_not_read_is_told() {
        let facts = facts(&Elf { sections: &[(".nvFatBinSegment", &[0; 24]), (".llvm.offloading", b"")], ..Elf::default() }.bytes());
        assert_eq!(facts.warnings.len(), 2);
        assert!(facts.warnings[0].starts_with("the object was made with device code"));
    }

    #[test]
    fn a_big_coff_object_is_read_and_an_import_is_nothing() {
        let fatbin = samples::fatbin(&[Entry { payload: samples::PTX, ..Entry::default() }]);
        let small = samples::coff(&[("__nv_relfatbin", &fatbin)]);
        // The same with the header of /bigobj, which is 36 bytes longer.
        let mut big = vec![0, 0, 0xFF, 0xFF, 2, 0, 0x64, 0x86, 0, 0, 0, 0];
        big.extend(b"\xC7\xA1\xBA\xD1\xEE\xBA\xA9\x4B\xAF\x20\xFA\xF6\x6A\xA4\xDC\xB8");
        big.extend([0; 16]);
        big.extend(1_u32.to_le_bytes());
        big.extend((u32::from_le_bytes(small[8..12].try_into().unwrap()) + 36).to_le_bytes());
        big.extend(0_u32.to_le_bytes());
        big.extend(&small[20..]);
        let content = 56 + 20;
        let offset = u32::from_le_bytes(big[content..content + 4].try_into().unwrap()) + 36;
        big[content..content + 4].copy_from_slice(&offset.to_le_bytes());
        assert_eq!(facts(&big).parts.len(), 1);

        assert_eq!(facts(b"\0\0\xFF\xFF\0\0\x64\x86and more").parts.len(), 0);
        assert_eq!(facts(b"\0\0\xFF\xFF\x01\0\x64\x86and more").warnings.len(), 1);
    }

    #[test]
    fn section_names_are_cut_in_images_only() {
        let fatbin = samples::fatbin(&[Entry { payload: samples::PTX, ..Entry::default() }]);
        assert_eq!(facts(&samples::coff(&[(".nv_fatb", &fatbin)])).parts.len(), 0);
        assert_eq!(facts(&samples::pe(&[(".nv_fatb", &fatbin)])).parts.len(), 1);
        assert_eq!(facts(&samples::pe(&[(".nv_fat", &fatbin)])).parts.len(), 0);
    }

    #[test]
    fn a_section_that_is_not_there_is_damage() {
        let fatbin = samples::fatbin(&[Entry { payload: samples::PTX, ..Entry::default() }]);
        let mut elf = Elf { sections: &[("__nv_relfatbin", &fatbin)], ..Elf::default() }.bytes();
        let headers = u64::from_le_bytes(elf[40..48].try_into().unwrap()) as usize;
        elf[headers + 64 + 24..headers + 64 + 32].copy_from_slice(&u64::MAX.to_le_bytes());
        let mut coff = samples::coff(&[("__nv_relfatbin", &fatbin)]);
        coff[20 + 20..20 + 24].copy_from_slice(&u32::MAX.to_le_bytes());
        let mut pe = samples::pe(&[("__nv_relfatbin", &fatbin)]);
        let header = 88 + 112 + 128;
        pe[header + 20..header + 24].copy_from_slice(&u32::MAX.to_le_bytes());
        for bytes in [elf, coff, pe] {
            let Err(Problem::Damaged { what, .. }) = examine(&bytes, &mut |_| None) else { panic!() };
            assert!(what.starts_with("section '__nv_relfatbin' is cut off"), "{what}");
        }
    }

    #[test]
    fn an_elf_file_of_either_class_and_order_is_told_from_a_cubin() {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7FELF\x01\x02");
        bytes[18..20].copy_from_slice(&190_u16.to_be_bytes());
        assert_eq!(elf_is_cubin(View::new(&bytes)), Some(true));
        bytes[18..20].copy_from_slice(&20_u16.to_be_bytes());
        assert_eq!(elf_is_cubin(View::new(&bytes)), Some(false));
        assert_eq!(elf_is_cubin(View::new(&bytes[..19])), None);
    }
}
