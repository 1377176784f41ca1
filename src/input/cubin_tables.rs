//! The tables of a relocatable cubin. The linkers follow them without a look: where one points at nothing, they crash or never end.
//!
//! ```text
//! symbols      Elf64_Sym, linked to their names
//! relocations  Elf64_Rel and Elf64_Rela, linked to their symbols
//! attributes   u8 format, u8 attribute, u16 value; in format 4 the u16 is the size of the value, and that follows
//! calls        u32 caller, u32 callee: functions. Caller 0 is a mark: what follows -2 and -3 are calls through pointers, and their
//!              callee is the name of a prototype
//! prototypes   u32 function, u32 name
//! ```
//! From sm_100 on a cubin has a second form of its code, Mercury, and these tables once more for it, in section types of their own.
//!
//! Nothing of this but the ELF part is documented. It is measured on what NVRTC 11.8 to 13.5 and nvJitLink 12.0 to 13.5 (`-r`) write for
//! every architecture, on libcudadevrt and on libnvshmem_device; what those do not obey is not asked for. So a relocation of `.debug_frame`
//! may have an addend past its section's end, and global symbols may stand among the local ones. Unknown sections, attributes and types of
//! relocation pass, and cubins of an ABI that we do not know are not looked at.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use object::pod::Pod;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym};
use object::{Endianness, SectionIndex, elf};

use super::Problem;
use super::bytes::{Budget, View};
use super::cubin::OSABI_CUDA;

type Header = elf::FileHeader64<Endianness>;
type Section = elf::SectionHeader64<Endianness>;
type Symbol = elf::Sym64<Endianness>;

const NULL: u32 = elf::SHT_NULL.0;
const PROGBITS: u32 = elf::SHT_PROGBITS.0;
const NOTE: u32 = elf::SHT_NOTE.0;
const SYMTAB: u32 = elf::SHT_SYMTAB.0;
const STRTAB: u32 = elf::SHT_STRTAB.0;
const RELA: u32 = elf::SHT_RELA.0;
const REL: u32 = elf::SHT_REL.0;
const NV_INFO: u32 = 0x7000_0000;
const NV_CALLGRAPH: u32 = 0x7000_0001;
const NV_PROTOTYPE: u32 = 0x7000_0002;
const MERCURY_TEXT: u32 = 0x7000_0016;
const MERCURY_RELA: u32 = 0x7000_0082;
const MERCURY_INFO: u32 = 0x7000_0083;
const MERCURY_SYMTAB: u32 = 0x7000_0085;
const MERCURY_CALLGRAPH: u32 = 0x7000_008A;
const MERCURY_PROTOTYPE: u32 = 0x7000_008B;

const NV_GLOBAL_INIT: u32 = 0x7000_0008;
/// Space for variables: as with SHT_NOBITS, none of it is in the file.
const NV_GLOBAL: u32 = 0x7000_0007;
const NV_LOCAL: u32 = 0x7000_0009;
const NV_SHARED: u32 = 0x7000_000A;
const NV_SHARED_RESERVED: u32 = 0x7000_0015;

/// An `e_flags` bit of cubins up to CUDA 12; nvJitLink 12.9 crashes on it.
const UNKNOWN_FLAG: u32 = 0x4000;

/// `sh_flags` of what belongs to the Mercury form.
const MERCURY: u64 = 1 << 28;

/// Data is aligned as its source asks for. The file is padded to it, so a larger one than the file is none; linking takes as long as it is.
const ANY_ALIGNMENT: u64 = 1 << 20;
/// Some 120 types of relocation are known, numbered from 0 on, and some 60 for Mercury.
const RELOCATION_TYPES: Range<u32> = 0..0x100;
const MERCURY_RELOCATION_TYPES: Range<u32> = 0x1_0000..0x1_0100;

/// `STT_` of textures, surfaces and other CUDA objects.
const CUDA_SYMBOLS: RangeInclusive<u8> = 10..=15;

/// Attributes of a function: its symbol, and a number.
const FRAME_SIZE: u8 = 0x11;
const MIN_STACK_SIZE: u8 = 0x12;
const MAX_STACK_SIZE: u8 = 0x23;
const REGISTERS: u8 = 0x2F;
/// The functions that some code calls.
const EXTERNS: u8 = 0x0F;
/// The constants that hold the parameters of a kernel: the symbol of their section, u16 offset, u16 size.
const PARAMETER_BANK: u8 = 0x0A;
/// A parameter of a kernel: u32 index of a table, u16 number, u16 offset, u32 size and space.
const PARAMETER: u8 = 0x17;
/// It is 0 in all that we have seen; nvJitLink takes it as it comes.
const MAX_PARAMETER_TABLE: u32 = 0x0F;

/// The size of an entry of calls or prototypes.
const PAIR: usize = 8;

enum Content {
    Symbols,
    Rel,
    Rela,
    MercuryRela,
    Attributes,
    Calls,
    Prototypes,
}

struct Table {
    /// `sh_type`.
    kind: u32,
    content: Content,
    /// 0 if the entries are not all of one size.
    entry_size: u64,
    /// The `sh_type` of the section that `sh_link` names.
    link: u32,
}

const fn table(kind: u32, content: Content, entry_size: u64, link: u32) -> Table {
    Table { kind, content, entry_size, link }
}

const TABLES: [Table; 11] = [
    table(SYMTAB, Content::Symbols, 24, STRTAB),
    table(REL, Content::Rel, 16, SYMTAB),
    table(RELA, Content::Rela, 24, SYMTAB),
    table(NV_INFO, Content::Attributes, 0, SYMTAB),
    table(NV_CALLGRAPH, Content::Calls, 8, SYMTAB),
    table(NV_PROTOTYPE, Content::Prototypes, 8, SYMTAB),
    table(MERCURY_SYMTAB, Content::Symbols, 24, STRTAB),
    table(MERCURY_RELA, Content::MercuryRela, 24, MERCURY_SYMTAB),
    table(MERCURY_INFO, Content::Attributes, 0, MERCURY_SYMTAB),
    table(MERCURY_CALLGRAPH, Content::Calls, 8, MERCURY_SYMTAB),
    table(MERCURY_PROTOTYPE, Content::Prototypes, 8, MERCURY_SYMTAB),
];

/// How sections of some types are named, as the linkers go by the one or the other. A name that ends in a dot has more after it.
const NAMES: [(u32, &[&str]); 18] = [
    (PROGBITS, &[".text.", ".debug_frame", ".nv.merc.debug_frame"]),
    (NOTE, &[".note.nv."]),
    (SYMTAB, &[".symtab"]),
    (REL, &[".rel."]),
    (RELA, &[".rela."]),
    (NV_INFO, &[".nv.info", ".nv.info."]),
    (NV_CALLGRAPH, &[".nv.callgraph"]),
    (NV_PROTOTYPE, &[".nv.prototype"]),
    (NV_GLOBAL, &[".nv.global"]),
    (NV_GLOBAL_INIT, &[".nv.global.init", ".nv.merc.nv.global.init"]),
    (NV_SHARED_RESERVED, &[".nv.shared.reserved.", ".nv.merc.nv.shared.reserved."]),
    (NV_SHARED, &[".nv.shared.", ".nv_debug.shared"]),
    (MERCURY_TEXT, &[".nv.capmerc.text."]),
    (MERCURY_RELA, &[".nv.merc.rela."]),
    (MERCURY_INFO, &[".nv.merc.nv.info", ".nv.merc.nv.info."]),
    (MERCURY_SYMTAB, &[".nv.merc.symtab"]),
    (MERCURY_CALLGRAPH, &[".nv.merc.nv.callgraph"]),
    (MERCURY_PROTOTYPE, &[".nv.merc.nv.prototype"]),
];
/// Types that sections of other names have as well.
const COMMON_TYPES: [u32; 2] = [PROGBITS, NOTE];

/// Whether a section of this type has its content in the file.
pub(super) fn is_in_file(kind: elf::SectionType) -> bool {
    !matches!(kind.0, NV_GLOBAL | NV_LOCAL | NV_SHARED | NV_SHARED_RESERVED)
}

/// Checks the tables of a 64-bit relocatable cubin whose sections are all there.
pub(super) fn check(view: View) -> Result<(), Problem> {
    let broken = |error| view.damaged(0, format!("cubin tables: {error}"));
    let header = Header::parse(view.bytes).map_err(broken)?;
    let endian = header.endian().map_err(broken)?;
    let sections = header.sections(endian, view.bytes).map_err(broken)?;
    let names = header.shstrndx(endian, view.bytes).map_err(broken)?;
    if header.e_ident().os_abi.0 == OSABI_CUDA && header.e_flags(endian).0 & UNKNOWN_FLAG != 0 {
        return Err(view.damaged(48, "cubin with a flag that no compiler sets"));
    }
    let cubin = Cubin { view, endian, headers: header.e_shoff(endian), sections };
    if cubin.names(names)?.is_none() {
        return Err(view.damaged(62, "cubin without the names of its sections"));
    }
    let mut budget = Budget::new(view, 2);
    for (index, section) in cubin.sections.enumerate() {
        let part = SectionAt { cubin: &cubin, index, section };
        part.check_header()?;
        if let Some(table) = TABLES.iter().find(|table| table.kind == part.kind()) {
            budget.spend(section.sh_size(endian), "cubin tables")?;
            part.check_table(table)?;
        }
    }
    Ok(())
}

struct Cubin<'a> {
    view: View<'a>,
    endian: Endianness,
    /// Where the section headers start.
    headers: u64,
    sections: SectionTable<'a, Header>,
}

impl<'a> Cubin<'a> {
    fn section(&self, index: u32) -> Option<SectionAt<'a, '_>> {
        let index = SectionIndex(index as usize);
        // Index 0 is "no section", and an error.
        let section = self.sections.section(index).ok()?;
        Some(SectionAt { cubin: self, index, section })
    }

    /// The names in a section; `None` if it has no names, or the last of them does not end.
    fn names(&self, index: u32) -> Result<Option<View<'a>>, Problem> {
        match self.section(index) {
            Some(section) if section.kind() == STRTAB => Ok(Some(section.content()?).filter(|names| names.bytes.ends_with(&[0]))),
            _ => Ok(None),
        }
    }
}

struct SectionAt<'a, 'c> {
    cubin: &'c Cubin<'a>,
    index: SectionIndex,
    section: &'a Section,
}

impl<'a> SectionAt<'a, '_> {
    fn kind(&self) -> u32 {
        self.section.sh_type(self.cubin.endian).0
    }

    fn info(&self) -> u32 {
        self.section.sh_info(self.cubin.endian)
    }

    fn is_code(&self) -> bool {
        self.section.sh_flags(self.cubin.endian).contains(elf::SHF_EXECINSTR)
    }

    fn content(&self) -> Result<View<'a>, Problem> {
        let (offset, size) = self.section.file_range(self.cubin.endian).unwrap_or_default();
        self.cubin.view.slice(offset, size, "cubin section")
    }

    fn array<T: Pod>(&self) -> Result<&'a [T], Problem> {
        let array = self.section.data_as_array(self.cubin.endian, self.cubin.view.bytes);
        array.map_err(|error| self.damaged(error))
    }

    /// The section that this one is linked to.
    fn linked(&self) -> Result<SectionAt<'a, '_>, Problem> {
        let link = self.section.sh_link(self.cubin.endian);
        self.cubin.section(link).ok_or_else(|| self.damaged(format_args!("it is linked to section {link}, which is not there")))
    }

    /// The symbols that the section is linked to.
    fn symbols(&self) -> Result<&'a [Symbol], Problem> {
        let symbols = self.linked()?;
        match symbols.kind() {
            SYMTAB | MERCURY_SYMTAB => symbols.array(),
            _ => Err(self.damaged("it is linked to a section that has no symbols")),
        }
    }

    /// Damage in the header.
    fn damaged(&self, what: impl Display) -> Problem {
        let at = (self.index.0 as u64).saturating_mul(size_of::<Section>() as u64).saturating_add(self.cubin.headers);
        self.cubin.view.damaged(at, self.sentence(what))
    }

    /// Damage in an entry of a table.
    fn damaged_entry(&self, index: usize, size: usize, what: impl Display) -> Problem {
        self.damaged_at((index as u64).saturating_mul(size as u64), format_args!("entry {index}: {what}"))
    }

    /// Damage in the content.
    fn damaged_at(&self, at: u64, what: impl Display) -> Problem {
        self.cubin.view.damaged(self.section.sh_offset(self.cubin.endian).saturating_add(at), self.sentence(what))
    }

    fn sentence(&self, what: impl Display) -> String {
        format!("cubin section '{}': {what}", String::from_utf8_lossy(self.name()))
    }

    fn name(&self) -> &'a [u8] {
        self.cubin.sections.section_name(self.cubin.endian, self.section).unwrap_or_default()
    }

    /// Whether the section is of the type that its name tells, and the other way round.
    fn has_its_name(&self) -> bool {
        let name = self.name();
        let fits = |pattern: &&str| if pattern.ends_with('.') { name.starts_with(pattern.as_bytes()) } else { name == pattern.as_bytes() };
        let is_mercury = name.starts_with(b".nv.merc.") || name.starts_with(b".nv.capmerc.");
        let has_flag = self.section.sh_flags(self.cubin.endian).0 & MERCURY != 0;
        is_mercury == has_flag
            && match NAMES.iter().find(|(_, names)| names.iter().any(&fits)) {
                Some(&(kind, _)) => self.kind() == kind,
                None => COMMON_TYPES.contains(&self.kind()) || NAMES.iter().all(|&(kind, _)| self.kind() != kind),
            }
    }

    /// Whether the section is named after another: ".rela.text.f" after ".text.f", for one.
    fn is_named_after(&self, target: &SectionAt) -> bool {
        let (own, others): (&[u8], &[&[u8]]) = match self.kind() {
            REL => (b".rel", &[b""]),
            RELA => (b".rela", &[b""]),
            NV_INFO => (b".nv.info", &[b".text"]),
            MERCURY_RELA => (b".nv.merc.rela", &[b".nv.merc", b".nv.capmerc"]),
            MERCURY_INFO => (b".nv.merc.nv.info", &[b".nv.capmerc.text"]),
            _ => return true,
        };
        let own = self.name().strip_prefix(own);
        own.is_some() && others.iter().any(|other| target.name().strip_prefix(*other) == own)
    }

    fn check_header(&self) -> Result<(), Problem> {
        if self.index.0 == 0 {
            return if self.kind() == NULL { Ok(()) } else { Err(self.damaged("the first section is there to be empty")) };
        }
        let alignment = self.section.sh_addralign(self.cubin.endian);
        if !alignment.is_power_of_two() || alignment > self.cubin.view.len().max(ANY_ALIGNMENT) {
            return Err(self.damaged(format_args!("it is aligned to {alignment} bytes")));
        }
        if !self.has_its_name() {
            return Err(self.damaged(format_args!("it is of type {:#x}, and its name tells another", self.kind())));
        }
        if self.is_code() || self.kind() == MERCURY_TEXT {
            return self.check_code();
        }
        if self.has_its_info()? { Ok(()) } else { Err(self.damaged(format_args!("its sh_info cannot be {}", self.info()))) }
    }

    /// Whether `sh_info` is what it can be: of most sections another one that they are about.
    fn has_its_info(&self) -> Result<bool, Problem> {
        let about = self.cubin.section(self.info());
        let is_named_after = |target: &SectionAt| self.is_named_after(target);
        Ok(match self.kind() {
            // How many symbols are local. That global ones come after them does not hold.
            SYMTAB | MERCURY_SYMTAB => self.info() as usize <= self.array::<Symbol>()?.len(),
            REL | RELA | MERCURY_RELA => about.as_ref().is_some_and(is_named_after),
            // Attributes are about some code, or all of it.
            _ => self.info() == 0 || about.as_ref().is_some_and(is_named_after),
        })
    }

    /// The header of code tells its function, in 24 bits of `sh_info`.
    fn check_code(&self) -> Result<(), Problem> {
        let function = self.info() & 0xFF_FFFF;
        let symbol = self.function(self.symbols()?, function);
        let has_many_sections = self.cubin.sections.len() >= usize::from(elf::SHN_LORESERVE);
        match symbol.map(|symbol| symbol.st_shndx(self.cubin.endian).0) {
            Some(section) if usize::from(section) == self.index.0 || has_many_sections => Ok(()),
            _ => Err(self.damaged(format_args!("symbol {function} is not the function that it holds"))),
        }
    }

    fn function<'s>(&self, symbols: &'s [Symbol], index: u32) -> Option<&'s Symbol> {
        symbols.get(index as usize).filter(|symbol| symbol.st_type() == elf::STT_FUNC)
    }

    fn check_table(&self, table: &Table) -> Result<(), Problem> {
        let endian = self.cubin.endian;
        let (size, entry_size) = (self.section.sh_size(endian), self.section.sh_entsize(endian));
        if entry_size != table.entry_size || size.checked_rem(entry_size).unwrap_or(0) != 0 {
            return Err(self.damaged(format_args!("{size} bytes of entries that are {entry_size} each")));
        }
        if self.linked()?.kind() != table.link {
            return Err(self.damaged(format_args!("it is linked to section {}, of another kind", self.section.sh_link(endian))));
        }
        match table.content {
            Content::Symbols => self.check_symbols(),
            Content::Rel => self.check_relocations(self.rel()?, RELOCATION_TYPES),
            Content::Rela => self.check_relocations(self.rela()?, RELOCATION_TYPES),
            Content::MercuryRela => self.check_relocations(self.rela()?, MERCURY_RELOCATION_TYPES),
            Content::Attributes => self.check_attributes(),
            Content::Calls => self.check_calls(),
            Content::Prototypes => self.check_prototypes(),
        }
    }

    fn check_symbols(&self) -> Result<(), Problem> {
        let names = self.linked_names()?;
        for (index, symbol) in self.array::<Symbol>()?.iter().enumerate() {
            let (kind, binding) = (symbol.st_type().0, symbol.st_bind().0);
            let name = u64::from(symbol.st_name(self.cubin.endian));
            let what = if name >= names.len() {
                "a name that is not there"
            } else if !self.has_section(symbol) {
                "a section that is not there"
            } else if !self.has_its_code(symbol) {
                "a section that does not hold it"
            } else if symbol.st_type() == elf::STT_SECTION && names.tail(name).starts_with(&[0]) {
                "no name, though it is that of a section"
            } else if kind > elf::STT_FILE.0 && !CUDA_SYMBOLS.contains(&kind) || binding > elf::STB_WEAK.0 {
                "an unknown type or binding"
            } else {
                continue;
            };
            return Err(self.damaged_entry(index, size_of::<Symbol>(), what));
        }
        Ok(())
    }

    fn has_section(&self, symbol: &Symbol) -> bool {
        let count = self.cubin.sections.len();
        match symbol.st_shndx(self.cubin.endian) {
            elf::SHN_ABS | elf::SHN_COMMON => true,
            elf::SHN_XINDEX => count >= elf::SHN_LORESERVE.into(),
            index => usize::from(index.0) < count,
        }
    }

    /// Whether a symbol, if it is a function that is here, is in code. Where in code for Mercury is not to be told: that is packed.
    fn has_its_code(&self, symbol: &Symbol) -> bool {
        let endian = self.cubin.endian;
        let section = symbol.st_shndx(endian).index().and_then(|index| self.cubin.section(index.into()));
        let Some(section) = section.filter(|_| symbol.st_type() == elf::STT_FUNC) else { return true };
        let end = symbol.st_value(endian).saturating_add(symbol.st_size(endian));
        section.kind() == MERCURY_TEXT || section.is_code() && end <= section.section.sh_size(endian)
    }

    /// The names that a table of symbols is linked to.
    fn linked_names(&self) -> Result<View<'a>, Problem> {
        let link = self.section.sh_link(self.cubin.endian);
        self.cubin.names(link)?.ok_or_else(|| self.damaged(format_args!("it is linked to section {link}, which has no names")))
    }

    fn rel(&self) -> Result<impl Iterator<Item = Relocation> + use<'a>, Problem> {
        let endian = self.cubin.endian;
        Ok(self.array::<elf::Rel64<Endianness>>()?.iter().map(move |entry| Relocation {
            offset: Rel::r_offset(entry, endian),
            symbol: Rel::r_sym(entry, endian),
            kind: Rel::r_type(entry, endian).0,
        }))
    }

    fn rela(&self) -> Result<impl Iterator<Item = Relocation> + use<'a>, Problem> {
        let endian = self.cubin.endian;
        Ok(self.array::<elf::Rela64<Endianness>>()?.iter().map(move |entry| Relocation {
            offset: Rela::r_offset(entry, endian),
            symbol: Rela::r_sym(entry, endian, false),
            kind: Rela::r_type(entry, endian, false).0,
        }))
    }

    fn check_relocations(&self, entries: impl Iterator<Item = Relocation>, kinds: Range<u32>) -> Result<(), Problem> {
        let symbols = self.symbols()?.len();
        let target = self.cubin.section(self.info());
        // In code for Mercury, offsets count in what it will be once it is unpacked.
        let end =
            target.filter(|target| target.kind() != MERCURY_TEXT).map_or(u64::MAX, |target| target.section.sh_size(self.cubin.endian));
        for (index, entry) in entries.enumerate() {
            let what = if entry.symbol as usize >= symbols {
                "a symbol that is not there"
            } else if !kinds.contains(&entry.kind) {
                "an unknown type"
            } else if entry.offset >= end {
                "an offset past the end of what it changes"
            } else {
                continue;
            };
            return Err(self.damaged_entry(index, self.section.sh_entsize(self.cubin.endian) as usize, what));
        }
        Ok(())
    }

    fn check_attributes(&self) -> Result<(), Problem> {
        let content = self.content()?;
        let symbols = self.symbols()?;
        let mut at = 0;
        while at < content.len() {
            let [format, attribute, low, high] = content.array(at, "cubin attribute")?;
            let size = match format {
                1..=3 => 0,
                4 => u64::from(u16::from_le_bytes([low, high])),
                _ => return Err(self.damaged_at(at, format_args!("an attribute of format {format}"))),
            };
            let value = at.saturating_add(4);
            // Formats 1 to 3 have no value that follows, and so none for an attribute that needs one.
            if !self.can_have(attribute, content.slice(value, size, "cubin attribute")?, symbols) {
                return Err(self.damaged_at(value, format_args!("attribute {attribute:#x} has a value that it cannot have")));
            }
            at = value.saturating_add(size);
        }
        Ok(())
    }

    /// Whether an attribute can have this value. One that we do not know can have any.
    fn can_have(&self, attribute: u8, value: View, symbols: &[Symbol]) -> bool {
        let (words, rest) = value.bytes.as_chunks();
        let words: Vec<u32> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let is_function = |&word: &u32| self.function(symbols, word).is_some();
        match (attribute, &words[..], rest) {
            (FRAME_SIZE | MIN_STACK_SIZE | MAX_STACK_SIZE | REGISTERS, [function, _], []) => is_function(function),
            (EXTERNS, functions @ [_, ..], []) => functions.iter().all(is_function),
            (PARAMETER_BANK, [section, _], []) => symbols.get(*section as usize).is_some(),
            (PARAMETER, [table, _, _], []) => *table <= MAX_PARAMETER_TABLE,
            (FRAME_SIZE | MIN_STACK_SIZE | MAX_STACK_SIZE | REGISTERS | EXTERNS | PARAMETER_BANK | PARAMETER, ..) => false,
            _ => true,
        }
    }

    fn check_calls(&self) -> Result<(), Problem> {
        let symbols = self.symbols()?;
        let names = self.linked()?.linked_names()?;
        let mut mark = None;
        for (index, (caller, callee)) in self.pairs()?.enumerate() {
            if caller == 0 {
                mark = Some(callee.wrapping_neg());
                continue;
            }
            let has_callee = match mark {
                Some(1 | 4) => self.function(symbols, callee).is_some(),
                Some(2 | 3) => u64::from(callee) < names.len(),
                _ => true,
            };
            if self.function(symbols, caller).is_none() || !has_callee {
                return Err(self.damaged_entry(index, PAIR, "a call of something that is no function, or by such a thing"));
            }
        }
        Ok(())
    }

    fn check_prototypes(&self) -> Result<(), Problem> {
        let symbols = self.symbols()?;
        let names = self.linked()?.linked_names()?;
        for (index, (function, name)) in self.pairs()?.enumerate() {
            if self.function(symbols, function).is_none() || u64::from(name) >= names.len() {
                return Err(self.damaged_entry(index, PAIR, "a prototype without its function or its name"));
            }
        }
        Ok(())
    }

    fn pairs(&self) -> Result<impl Iterator<Item = (u32, u32)> + use<'a>, Problem> {
        let (pairs, _) = self.content()?.bytes.as_chunks::<PAIR>();
        Ok(pairs.iter().map(|&[a, b, c, d, e, f, g, h]| (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))))
    }
}

struct Relocation {
    offset: u64,
    symbol: u32,
    kind: u32,
}

#[cfg(test)]
mod tests {
    use object::read::elf::SectionTable;

    use super::super::PartKind;
    use super::*;

    const KIND: usize = 4;
    const FLAGS: usize = 8;
    const OFFSET: usize = 24;
    const SIZE: usize = 32;
    const LINK: usize = 40;
    const INFO: usize = 44;
    const ALIGNMENT: usize = 48;
    const ENTRY_SIZE: usize = 56;

    /// A real cubin to change: a kernel that calls a function of another unit.
    #[derive(Clone)]
    struct Cubin(Vec<u8>);

    impl Cubin {
        fn kernel() -> Self {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/13.5/kernel.cubin");
            Self(std::fs::read(file).unwrap())
        }

        /// The same with its code and tables as those of Mercury, but for SHT_REL, which is not among them.
        fn mercury() -> Self {
            let mut cubin = Self::kernel();
            let mut names = Vec::new();
            for (index, section) in cubin.section_names().iter().enumerate() {
                let header = cubin.word(40) as usize + 64 * index;
                let name = mercury(section);
                let kind = match cubin.word(header + KIND) {
                    SYMTAB => MERCURY_SYMTAB,
                    RELA => MERCURY_RELA,
                    REL => PROGBITS,
                    NV_INFO => MERCURY_INFO,
                    NV_CALLGRAPH => MERCURY_CALLGRAPH,
                    NV_PROTOTYPE => MERCURY_PROTOTYPE,
                    PROGBITS if section.starts_with(".text") => MERCURY_TEXT,
                    other => other,
                };
                if kind == MERCURY_RELA {
                    for entry in (0..cubin.word(header + SIZE) as usize).step_by(24) {
                        let content = cubin.word(header + OFFSET) as usize;
                        cubin.0[content + entry + 10] = 1;
                    }
                }
                cubin = cubin.with(header + KIND, kind).with(header, names.len() as u32);
                if name.contains("merc.") {
                    cubin = cubin.with(header + FLAGS, MERCURY as u32);
                }
                names.extend(name.bytes().chain([0]));
            }
            let names_header = cubin.word(40) as usize + 64 * usize::from(cubin.0[62]);
            cubin = cubin.with(names_header + OFFSET, cubin.0.len() as u32).with(names_header + SIZE, names.len() as u32);
            cubin.0.extend(names);
            cubin
        }

        fn is_mercury(&self) -> bool {
            self.section_names().contains(&".nv.merc.symtab".to_owned())
        }

        fn word(&self, at: usize) -> u32 {
            u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
        }

        fn sections(&self) -> SectionTable<'_, Header> {
            let header = Header::parse(&*self.0).unwrap();
            header.sections(Endianness::Little, &*self.0).unwrap()
        }

        fn section_names(&self) -> Vec<String> {
            let sections = self.sections();
            let name = |section| String::from_utf8(sections.section_name(Endianness::Little, section).unwrap().to_vec()).unwrap();
            sections.iter().map(name).collect()
        }

        /// The index of a section, which may have its Mercury name.
        fn index(&self, section: &str) -> u32 {
            let is_it = |name: &String| name == section || *name == mercury(section);
            self.section_names().iter().position(is_it).unwrap_or_else(|| panic!("{section}")) as u32
        }

        fn header(&self, section: &str) -> usize {
            let headers = u64::from_le_bytes(self.0[40..48].try_into().unwrap()) as usize;
            headers + 64 * self.index(section) as usize
        }

        fn content(&self, section: &str) -> usize {
            let header = self.header(section);
            u64::from_le_bytes(self.0[header + OFFSET..header + OFFSET + 8].try_into().unwrap()) as usize
        }

        fn with(&self, at: usize, value: u32) -> Self {
            let mut cubin = self.clone();
            cubin.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
            cubin
        }

        /// With the low half of a field of a section's header set.
        fn with_header(&self, section: &str, field: usize, value: u32) -> Self {
            self.with(self.header(section) + field, value)
        }

        /// With four bytes of a section's content set.
        fn with_content(&self, section: &str, at: usize, value: u32) -> Self {
            self.with(self.content(section) + at, value)
        }

        fn symbol(&self, name: &str) -> u32 {
            let sections = self.sections();
            let symbols = sections.symbols(Endianness::Little, &*self.0, elf::SHT_SYMTAB).unwrap();
            let is_it = |symbol: &&Symbol| symbols.symbol_name(Endianness::Little, symbol).unwrap() == name.as_bytes();
            symbols.iter().position(|symbol| is_it(&symbol)).unwrap() as u32
        }

        /// What is wrong, if anything, and where.
        fn damage(&self) -> Option<(String, usize)> {
            match check(View::new(&self.0)) {
                Ok(()) => None,
                Err(Problem::Damaged { what, offset }) => Some((what, offset as usize)),
                Err(other) => panic!("{other:?}"),
            }
        }

        #[track_caller]
        fn is_refused(&self, words: &str) {
            let (what, _) = self.damage().expect(words);
            assert!(what.contains(words), "{what}");
        }
    }

    fn mercury(section: &str) -> String {
        match section {
            ".symtab" | ".nv.callgraph" | ".nv.prototype" | ".debug_frame" => format!(".nv.merc{section}"),
            _ if section.starts_with(".nv.info") || section.starts_with(".rela.") => format!(".nv.merc{section}"),
            _ if section.starts_with(".text.") => format!(".nv.capmerc{section}"),
            _ if section.starts_with(".rel.") => format!(".unused{section}"),
            _ => section.to_owned(),
        }
    }

    const TABLE_SECTIONS: [&str; 6] = [".symtab", ".rel.text.kernel", ".rela.text.kernel", ".nv.info", ".nv.callgraph", ".nv.prototype"];

    #[test]
    fn real_tables_are_sound() {
        assert_eq!(Cubin::kernel().damage(), None);
        assert_eq!(Cubin::mercury().damage(), None);
    }

    #[test]
    fn damage_is_told_with_its_section_and_place() {
        let sound = Cubin::kernel();
        let (what, offset) = sound.with_header(".nv.callgraph", ENTRY_SIZE, 0).damage().unwrap();
        assert!(what.starts_with("cubin section '.nv.callgraph': "), "{what}");
        assert_eq!(offset, sound.header(".nv.callgraph"));
        let (what, offset) = sound.with_content(".rel.text.kernel", 12, 99).damage().unwrap();
        assert_eq!(what, "cubin section '.rel.text.kernel': entry 0: a symbol that is not there");
        assert_eq!(offset, sound.content(".rel.text.kernel"));
    }

    #[test]
    fn a_table_has_entries_of_one_size() {
        let sound = Cubin::kernel();
        for section in TABLE_SECTIONS {
            sound.with_header(section, ENTRY_SIZE, 1).is_refused("entries");
            if section != ".nv.info" {
                sound.with_header(section, ENTRY_SIZE, 0).is_refused("entries");
                sound.with_header(section, SIZE, 12).is_refused("");
            }
        }
        let mercury = Cubin::mercury();
        for section in [".symtab", ".rela.text.kernel", ".nv.callgraph", ".nv.prototype"] {
            mercury.with_header(section, ENTRY_SIZE, 0).is_refused("entries");
        }
    }

    #[test]
    fn a_table_is_linked_to_the_kind_that_it_refers_to() {
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            for section in TABLE_SECTIONS.iter().filter(|section| !section.starts_with(".rel.")) {
                cubin.with_header(section, LINK, cubin.index(".text.kernel")).is_refused("of another kind");
                cubin.with_header(section, LINK, 0).is_refused("linked to section 0");
                cubin.with_header(section, LINK, 99).is_refused("linked to section 99");
            }
        }
        let sound = Cubin::kernel();
        sound.with_header(".strtab", KIND, PROGBITS).is_refused("linked to");
        sound.with_header(".text.kernel", LINK, sound.index(".strtab")).is_refused("no symbols");
        // The names are there, but the last one does not end.
        let end = sound.content(".strtab") + 0x11D;
        assert_eq!(sound.0[end], 0, "the end of the names");
        let mut endless = sound.clone();
        endless.0[end] = b'x';
        endless.is_refused("no names");
    }

    #[test]
    fn a_flag_that_no_compiler_sets_is_damage() {
        let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/12.0/kernel.cubin");
        let old = Cubin(std::fs::read(old).unwrap());
        assert_eq!(old.damage(), None);
        old.with(48, old.word(48) | UNKNOWN_FLAG).is_refused("a flag");
        // From CUDA 13 on, the number of the architecture is there.
        let new = Cubin::kernel();
        assert_eq!(new.with(48, new.word(48) | UNKNOWN_FLAG).damage(), None);
    }

    #[test]
    fn the_sections_have_names() {
        let sound = Cubin::kernel();
        sound.with_header(".shstrtab", KIND, 1).is_refused("names of its sections");
        sound.with_header(".shstrtab", SIZE, 0x104).is_refused("names of its sections");
    }

    #[test]
    fn a_section_is_aligned_to_what_real_ones_are() {
        let sound = Cubin::kernel();
        for alignment in [0, 3, 0x81, ANY_ALIGNMENT as u32 * 2] {
            sound.with_header(".debug_frame", ALIGNMENT, alignment).is_refused("aligned");
        }
        let high = sound.header(".debug_frame") + ALIGNMENT + 4;
        sound.with(high, 1).is_refused("aligned");
        assert_eq!(sound.with_header(".debug_frame", ALIGNMENT, ANY_ALIGNMENT as u32).damage(), None);
        let mut large = sound.with_header(".debug_frame", ALIGNMENT, ANY_ALIGNMENT as u32 * 2);
        large.0.resize(ANY_ALIGNMENT as usize * 2, 0);
        assert_eq!(large.damage(), None, "the file has room for it");
    }

    #[test]
    fn the_first_section_is_empty() {
        let sound = Cubin::kernel();
        sound.with_header("", KIND, 1).is_refused("first section");
    }

    #[test]
    fn names_and_types_tell_the_same() {
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            let flags = |section: &str| cubin.word(cubin.header(section) + FLAGS);
            for section in cubin.section_names().iter().skip(1) {
                cubin.with_header(section, FLAGS, flags(section) ^ MERCURY as u32).is_refused("its name tells another");
            }
            // Another type.
            let known = [".symtab", ".text.kernel", ".debug_frame", ".nv.info", ".nv.info.kernel", ".nv.callgraph", ".nv.prototype"];
            for section in known.iter().chain(&[".rela.text.kernel", ".note.nv.tkinfo"]) {
                // The symbols come first.
                let is_packed_code = *section == ".text.kernel" && cubin.is_mercury();
                let words = if is_packed_code { "does not hold it" } else { "its name tells another" };
                cubin.with_header(section, KIND, 0x7000_00FF).is_refused(words);
            }
            // Another name. Code has its relocations and attributes named after it, and they come first.
            for section in known.iter().filter(|section| ![".debug_frame", ".text.kernel"].contains(section)) {
                let name = cubin.word(cubin.header(section)) as usize;
                let at = cubin.content(".shstrtab") + name + 4;
                let mut renamed = cubin.clone();
                renamed.0[at] = b'_';
                renamed.is_refused("its name tells another");
            }
        }
        let sound = Cubin::kernel();
        for kind in [NV_GLOBAL, NV_GLOBAL_INIT, NV_SHARED, NV_SHARED_RESERVED] {
            sound.with_header(".nv.constant0.kernel", KIND, kind).is_refused("its name tells another");
        }
    }

    #[test]
    fn names_that_others_have_are_told_apart() {
        let named = |kind: u32, name: &str| {
            let sound = Cubin::kernel();
            let header = sound.header(".nv.constant0.kernel");
            let name_at = sound.0.len() as u32;
            let mut cubin = sound.with(header + KIND, kind);
            let names = cubin.header(".shstrtab");
            let (start, size) = (cubin.content(".shstrtab"), cubin.word(names + SIZE) as usize);
            let table = [&cubin.0[start..start + size], name.as_bytes(), b"\0"].concat();
            cubin.0.extend(&table);
            cubin.with(header, size as u32).with(names + OFFSET, name_at).with(names + SIZE, table.len() as u32).damage()
        };
        for (kind, name) in [
            (NV_GLOBAL, ".nv.global"),
            (NV_GLOBAL_INIT, ".nv.global.init"),
            (NV_SHARED, ".nv.shared.kernel"),
            (NV_SHARED, ".nv_debug.shared"),
            (NV_SHARED_RESERVED, ".nv.shared.reserved.0"),
            (PROGBITS, ".nv_debug_ptx_txt"),
            (NOTE, ".note.gnu.build-id"),
            (0x7000_00FF, ".nv.yet.unknown"),
        ] {
            assert_eq!(named(kind, name), None, "{name}");
        }
        for (kind, name) in [
            (NV_GLOBAL_INIT, ".nv.global"),
            (NV_GLOBAL, ".nv.global.init"),
            (NV_SHARED, ".nv.shared.reserved.0"),
            (NV_SHARED_RESERVED, ".nv.shared.kernel"),
            (PROGBITS, ".note.nv.cuinfo"),
        ] {
            assert!(named(kind, name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_a_section_is_about_is_there() {
        let about = "its sh_info cannot be";
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            let count = cubin.section_names().len() as u32;
            for section in [".debug_frame", ".nv.constant0.kernel", ".nv.info.kernel", ".rela.text.kernel", ".note.nv.tkinfo"] {
                cubin.with_header(section, INFO, count).is_refused(about);
                cubin.with_header(section, INFO, u32::MAX).is_refused(about);
            }
            cubin.with_header(".rela.text.kernel", INFO, 0).is_refused(about);
            cubin.with_header(".symtab", INFO, 12).is_refused(about);
            assert_eq!(cubin.with_header(".symtab", INFO, 11).damage(), None);
            // Attributes and relocations are named after what they are about.
            for section in [".nv.info.kernel", ".rela.text.kernel"] {
                cubin.with_header(section, INFO, cubin.index(".debug_frame")).is_refused(about);
            }
            cubin.with_header(".nv.info", INFO, cubin.index(".text.kernel")).is_refused(about);
            cubin.with_header(".rela.debug_frame", INFO, cubin.index(".text.kernel")).is_refused(about);
        }
        let sound = Cubin::kernel();
        sound.with_header(".rel.text.kernel", INFO, 0).is_refused(about);
        sound.with_header(".rel.text.kernel", INFO, sound.index(".debug_frame")).is_refused(about);
    }

    #[test]
    fn code_tells_the_function_that_it_holds() {
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            let (kernel, helper) = (Cubin::kernel().symbol("kernel"), Cubin::kernel().symbol("helper"));
            for symbol in [0, 1, helper, 11, 0xFF_FFFF] {
                cubin.with_header(".text.kernel", INFO, symbol).is_refused("not the function");
            }
            assert_eq!(cubin.with_header(".text.kernel", INFO, kernel | 0xFF00_0000).damage(), None, "registers");
        }
    }

    #[test]
    fn functions_are_in_code() {
        let sound = Cubin::kernel();
        let kernel = 24 * sound.symbol("kernel") as usize;
        for (at, value) in [(8, 1), (8, 0x181), (12, 1), (16, 0x181), (20, 1)] {
            sound.with_content(".symtab", kernel + at, value).is_refused("does not hold it");
        }
        // What code for Mercury will be, its section does not tell.
        assert_eq!(Cubin::mercury().with_content(".symtab", kernel + 16, 0x181).damage(), None);
        // The symbol of a section that is no code.
        let frame = 24 * sound.symbol(".debug_frame") as usize;
        sound.with_content(".symtab", frame + 4, sound.index(".debug_frame") << 16 | 2).is_refused("does not hold it");
    }

    #[test]
    fn symbols_have_a_name_a_section_and_a_known_type() {
        let sound = Cubin::kernel();
        let kernel = 24 * sound.symbol("kernel") as usize;
        let names = 0x11E;
        sound.with_content(".symtab", kernel, names).is_refused("a name that is not there");
        assert_eq!(sound.with_content(".symtab", kernel, names - 1).damage(), None);
        let helper = 24 * sound.symbol("helper") as usize;
        let with_tail = |info: u32, section: u32| sound.with_content(".symtab", helper + 4, info | section << 16);
        for section in [17, 0xFEFF, 0xFF00, 0xFFFF] {
            with_tail(0x12, section).is_refused("a section that is not there");
        }
        for section in [0xFFF1, 0xFFF2] {
            assert_eq!(with_tail(0x12, section).damage(), None);
        }
        let constant = sound.symbol(".nv.constant0.kernel") as usize * 24;
        sound.with_content(".symtab", constant, 0).is_refused("no name");
        assert_eq!(sound.with_content(".symtab", kernel, 0).damage(), None);
        let constant = constant + 4;
        for info in [5, 9, 0x33, 0x83, 0xFF] {
            sound.with_content(".symtab", constant, info).is_refused("an unknown type or binding");
        }
        for info in [1, 4, 0x1A, 0x2F] {
            assert_eq!(sound.with_content(".symtab", constant, info).damage(), None, "{info:#x}");
        }
    }

    #[test]
    fn relocations_have_a_symbol_a_type_and_a_place() {
        let sound = Cubin::kernel();
        for section in [".rel.text.kernel", ".rela.text.kernel", ".rel.debug_frame"] {
            sound.with_content(section, 12, 11).is_refused("a symbol that is not there");
            sound.with_content(section, 12, u32::MAX).is_refused("a symbol that is not there");
            sound.with_content(section, 8, 0x100).is_refused("an unknown type");
            sound.with_content(section, 8, 0x1_0002).is_refused("an unknown type");
            sound.with_content(section, 0, 0x180).is_refused("an offset past the end");
            sound.with_content(section, 4, 1).is_refused("an offset past the end");
        }
        let mercury = Cubin::mercury();
        mercury.with_content(".rela.text.kernel", 12, 11).is_refused("a symbol that is not there");
        mercury.with_content(".rela.text.kernel", 8, 2).is_refused("an unknown type");
        // Code for Mercury is packed, and the offset counts in what it will be.
        assert_eq!(mercury.with_content(".rela.text.kernel", 0, 0x180).damage(), None);
    }

    #[test]
    fn attributes_stay_inside_and_have_their_values() {
        // Of ".nv.info": three attributes of a function and a number, each 04 kind 08 00.
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            for at in [0, 12, 24] {
                let value = at + 4;
                cubin.with_content(".nv.info", value, 0).is_refused("cannot have");
                cubin.with_content(".nv.info", value, 11).is_refused("cannot have");
                cubin.with_content(".nv.info", value, u32::MAX).is_refused("cannot have");
                let head = u32::from_le_bytes(cubin.0[cubin.content(".nv.info") + at..][..4].try_into().unwrap());
                cubin.with_content(".nv.info", at, head & 0xFFFF_FF00).is_refused("format 0");
                cubin.with_content(".nv.info", at, head | 5).is_refused("format 5");
                cubin.with_content(".nv.info", at, head & 0xFFFF).is_refused("cannot have");
                cubin.with_content(".nv.info", at, head | 0xFFFF_0000).is_refused("cut off");
                // An attribute that we do not know may hold anything.
                let unknown = cubin.with_content(".nv.info", at, 0x0008_F004).with_content(".nv.info", value, u32::MAX);
                assert_eq!(unknown.damage(), None);
            }
            cubin.with_header(".nv.info", SIZE, 34).is_refused("cut off");
            cubin.with_header(".nv.info", SIZE, 26).is_refused("cut off");
        }
        let sound = Cubin::kernel();
        let info = sound.content(".nv.info.kernel");
        let value_of = |head: [u8; 4]| sound.0[info..info + 0x5C].windows(4).position(|bytes| bytes == head).unwrap() + 4;
        sound.with_content(".nv.info.kernel", value_of([4, EXTERNS, 4, 0]), 1).is_refused("cannot have");
        sound.with_content(".nv.info.kernel", value_of([4, PARAMETER_BANK, 8, 0]), 11).is_refused("cannot have");
        let parameter = value_of([4, PARAMETER, 12, 0]);
        sound.with_content(".nv.info.kernel", parameter, 0x10).is_refused("cannot have");
        assert_eq!(sound.with_content(".nv.info.kernel", parameter, 0x0F).damage(), None);
        // No value at all, or half a value more.
        for head in [0x0000_1101, 0x0000_0F03, 0x0000_0F04, 0x0000_1702] {
            sound.with_content(".nv.info.kernel", 0, head).is_refused("cannot have");
        }
        sound.with_content(".nv.info.kernel", parameter - 4, 0x000E_1704).is_refused("cannot have");
    }

    #[test]
    fn calls_are_between_functions() {
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            let sound = Cubin::kernel();
            let (kernel, helper) = (sound.symbol("kernel"), sound.symbol("helper"));
            // Mark -1, and the call of the helper.
            let content = cubin.content(".nv.callgraph");
            let call = (0..0x28).step_by(8).find(|at| cubin.0[content + at] as u32 == kernel).unwrap();
            let mark = call - 8;
            let with_call =
                |caller, callee| cubin.with_content(".nv.callgraph", call, caller).with_content(".nv.callgraph", call + 4, callee);
            for (caller, callee) in [(1, helper), (11, helper), (u32::MAX, helper), (kernel, 1), (kernel, 11), (kernel, u32::MAX)] {
                with_call(caller, callee).is_refused("a call");
            }
            for pointer_calls in [2_u32, 3] {
                let with_name = |name| with_call(kernel, name).with_content(".nv.callgraph", mark + 4, pointer_calls.wrapping_neg());
                assert_eq!(with_name(0x11D).damage(), None);
                with_name(0x11E).is_refused("a call");
            }
        }
    }

    #[test]
    fn prototypes_have_a_function_and_a_name() {
        for cubin in [Cubin::kernel(), Cubin::mercury()] {
            cubin.with_content(".nv.prototype", 0, 1).is_refused("a prototype");
            cubin.with_content(".nv.prototype", 0, 11).is_refused("a prototype");
            cubin.with_content(".nv.prototype", 4, 0x11E).is_refused("a prototype");
            assert_eq!(cubin.with_content(".nv.prototype", 4, 0x11D).damage(), None);
        }
    }

    #[test]
    fn tables_that_share_their_bytes_are_refused() {
        let mut cubin = Cubin::kernel();
        let info = cubin.header(".nv.info");
        let copy = cubin.0[info..info + 64].to_vec();
        let count = 1000;
        let headers = u64::from_le_bytes(cubin.0[40..48].try_into().unwrap()) as usize;
        assert_eq!(cubin.0.len(), headers + 64 * cubin.section_names().len(), "the headers are the end");
        let sections = cubin.section_names().len() as u16 + count;
        for _ in 0..count {
            cubin.0.extend_from_slice(&copy);
        }
        cubin.0[60..62].copy_from_slice(&sections.to_le_bytes());
        assert_eq!(cubin.damage(), None, "36 bytes each");
        let (start, end) = (cubin.content(".nv.info"), cubin.0.len());
        // One attribute as long as it can be, seen through every header.
        cubin = cubin.with_content(".nv.info", 0, 0xF800_F004);
        for index in 0..count as usize {
            let header = end - 64 * (index + 1);
            cubin = cubin.with(header + SIZE, 0xF804);
        }
        cubin = cubin.with_header(".nv.info", SIZE, 0xF804);
        assert!(start + 0xF804 <= end);
        cubin.is_refused("overlap");
    }

    #[test]
    fn variables_take_no_space_in_the_file() {
        for kind in [NV_GLOBAL, NV_LOCAL, NV_SHARED, NV_SHARED_RESERVED] {
            assert!(!is_in_file(elf::SectionType(kind)));
        }
        assert!(is_in_file(elf::SHT_PROGBITS));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/12.0/helper.cubin");
        let cubin = Cubin(std::fs::read(file).unwrap()).with_header(".nv.global", SIZE, 1 << 30);
        let part = super::super::cubin::part(View::new(&cubin.0), &super::super::Place::default());
        assert_eq!(part.unwrap().kind, PartKind::Cubin);
    }
}
