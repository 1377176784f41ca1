//! What can be known of an input: the types that every reader here fills, and the error they share.

use std::borrow::Cow;
use std::fmt;

use super::bytes::View;
use super::{Arch, Symbols, cubin, ltoir, unpack};
use crate::release::{self, Version};

/// What an input is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// An ELF file of device code.
    Cubin,
    /// PTX text.
    Ptx,
    /// LTO-IR as `nvcc -dlto` or NVRTC `-dlto` makes it.
    LtoIr,
    /// One or several fatbin containers.
    Fatbin,
    /// A host object, executable or shared library (ELF, COFF or PE).
    Object,
    /// An `ar` archive, thin or not, or a Windows `.lib`.
    Library,
}

impl fmt::Display for InputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InputKind::Cubin => "cubin",
            InputKind::Ptx => "ptx",
            InputKind::LtoIr => "ltoir",
            InputKind::Fatbin => "fatbin",
            InputKind::Object => "object",
            InputKind::Library => "library",
        })
    }
}

/// What a part of an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// An ELF file of device code.
    Cubin,
    /// PTX text.
    Ptx,
    /// LTO-IR.
    LtoIr,
    /// PTX that nvFatbin took out of a host object (fatbin entry kind 0x40).
    RelocatablePtx,
    /// Tile IR (fatbin entry kind 0x80).
    TileIr,
    /// A block of several images (fatbin entry kind 0x100) that does not say which: one that does is listed image by image.
    Concatenated,
    /// A fatbin entry of a kind that we do not know.
    Other(u16),
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PartKind::Cubin => "cubin",
            PartKind::Ptx => "ptx",
            PartKind::LtoIr => "ltoir",
            PartKind::RelocatablePtx => "relocatable ptx",
            PartKind::TileIr => "tile ir",
            PartKind::Concatenated => "concatenated",
            PartKind::Other(kind) => return write!(f, "kind {kind:#x}"),
        })
    }
}

/// What a part tells of its maker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producer {
    /// Nothing that we can read.
    Unknown,
    /// The PTX ISA version.
    Ptx {
        /// 8.4 of `.version 8.4`.
        isa: Version,
    },
    /// The versions in an LTO-IR header; a compressed fatbin entry tells only the container's.
    Nvvm {
        /// NVVM container version, 1.N.
        container: Version,
        /// NVVM IR version, 2.N: the number that decides which linker can read it.
        ir: Option<Version>,
        /// NVVM debug info version.
        debug: Option<Version>,
        /// Generation of the LLVM underneath: 7, or 20 and up for sm_100 and later.
        llvm: Option<u8>,
    },
    /// The versions in a cubin.
    Cubin {
        /// ELF ABI version: 7 up to CUDA 12, 8 from 13 on (and for sm_100 and up in 12.8 and 12.9).
        abi: u8,
        /// The toolkit, from `e_version` with ABI 7, from the tool note with ABI 8 where there is one.
        toolkit: Option<Version>,
    },
}

impl Producer {
    /// Whether its numbers are those of no release that we know, but of a later one.
    pub fn is_newer_than_known(&self) -> bool {
        match *self {
            Producer::Ptx { isa } => release::is_newer_ptx(isa),
            Producer::Nvvm { ir: Some(ir), .. } => release::is_newer_ir(ir),
            Producer::Cubin { toolkit: Some(toolkit), .. } => toolkit > release::NEWEST,
            Producer::Unknown | Producer::Nvvm { .. } | Producer::Cubin { .. } => false,
        }
    }

    /// The CUDA release that made the part; where several could have, the oldest of them. `None` if it is newer than every
    /// release we know, or tells nothing.
    pub fn cuda(&self) -> Option<Version> {
        match *self {
            Producer::Unknown => None,
            Producer::Ptx { isa } => release::of_ptx(isa),
            Producer::Nvvm { container, ir, .. } => release::of_nvvm(Some(container), ir),
            Producer::Cubin { toolkit, .. } => toolkit,
        }
    }
}

/// How a part's bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are.
    Stored,
    /// One LZ4 block.
    Lz4,
    /// One zstd frame.
    Zstd,
    /// In a way the flags do not name.
    Other,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Stored => "stored",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
            Compression::Other => "unknown compression",
        })
    }
}

/// Where in an input something was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The archive member, by its index in [`Facts::members`].
    pub member: Option<usize>,
    /// The section of the host object: `__nv_relfatbin` or `.nv_fatbin`, also where the file has its name cut to eight letters.
    pub section: Option<&'static str>,
    /// The index in [`Facts::outside`] of the file that offsets count in, for a member of a thin archive; else they count in the input.
    pub outside: Option<usize>,
}

/// One piece of device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// For which architecture; `None` if it does not say.
    pub arch: Option<Arch>,
    /// Who made it.
    pub producer: Producer,
    /// Whether it can be linked with others (`nvcc -dc`), or is finished or whole-program code. `None` where headers do not tell:
    /// for a compressed cubin in a bare fatbin [`Facts::look_inside`] does.
    pub relocatable: Option<bool>,
    /// How it is packed.
    pub compression: Compression,
    /// Whether it is scrambled as well, so that only NVIDIA's libraries can unpack it (compressed LTO-IR).
    pub scrambled: bool,
    /// Where its packed bytes start.
    pub offset: u64,
    /// How many packed bytes there are; of PTX text without byte order mark and closing NULs.
    pub size: u64,
    /// How many bytes it is unpacked.
    pub unpacked_size: u64,
    /// If it is packed together with others: where in the unpacked block it starts.
    pub block: Option<Block>,
    /// The index in [`Facts::containers`] of the fatbin it is in.
    pub container: Option<usize>,
    /// Where it was found.
    pub place: Place,
    /// Its own index in [`Facts::parts`].
    pub index: usize,
}

impl Part {
    /// A part that stands in the input as it is, of which nothing else is known yet.
    pub(super) fn stored(kind: PartKind, image: View, place: &Place) -> Self {
        Self {
            kind,
            arch: None,
            producer: Producer::Unknown,
            relocatable: None,
            compression: Compression::Stored,
            scrambled: false,
            offset: image.offset,
            size: image.len(),
            unpacked_size: image.len(),
            block: None,
            container: None,
            place: place.clone(),
            index: 0,
        }
    }

    /// Bytes that unpacking it takes, of the whole block where it is packed with others: none if it is stored, or cannot be
    /// unpacked here.
    pub fn bytes_to_unpack(&self) -> u64 {
        match self.compression {
            Compression::Lz4 | Compression::Zstd if !self.scrambled => self.block.map_or(self.unpacked_size, |block| block.size),
            _ => 0,
        }
    }

    /// Whether the two are packed in one block.
    pub(super) fn is_packed_with(&self, other: &Part) -> bool {
        self.block.is_some() && other.block.is_some() && (self.offset, self.container) == (other.offset, other.container)
    }

    /// Its own bytes in what it is packed in; of PTX without closing NULs.
    pub(super) fn image_in<'a>(&self, unpacked: &'a [u8]) -> Result<&'a [u8], Problem> {
        let bytes = match self.block {
            Some(block) => View::new(unpacked).slice(block.offset, self.unpacked_size, "image in its block")?.bytes,
            None => unpacked,
        };
        if !matches!(self.kind, PartKind::Ptx | PartKind::RelocatablePtx) {
            return Ok(bytes);
        }
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
        Ok(bytes.get(..end).unwrap_or_default())
    }

    /// Adds what the image itself says, and checks it.
    pub(super) fn tell(&mut self, image: View) -> Result<(), Problem> {
        match self.kind {
            PartKind::Cubin => cubin::read(image)?.tell(self),
            PartKind::LtoIr => ltoir::read(image)?.tell(self),
            PartKind::Ptx | PartKind::RelocatablePtx => without_nul(image)?,
            _ => {}
        }
        Ok(())
    }

    /// The same for an image that is packed in the input. Damage is then told to be where the packed bytes start.
    pub(super) fn tell_unpacked(&mut self, image: &[u8]) -> Result<(), Problem> {
        self.tell(View::new(image)).map_err(|problem| self.once_unpacked(problem))
    }

    /// A problem of the unpacked image, told where the packed bytes start.
    pub(super) fn once_unpacked(&self, problem: Problem) -> Problem {
        match problem {
            Problem::Damaged { what, offset } => {
                Problem::Damaged { what: format!("{what} (at {offset} once unpacked)"), offset: self.offset }
            }
            other => other,
        }
    }
}

/// A NUL ends PTX for whoever reads it, so there is none but at its end.
fn without_nul(image: View) -> Result<(), Problem> {
    let text = image.bytes.iter().rposition(|&byte| byte != 0).and_then(|last| image.bytes.get(..last)).unwrap_or_default();
    if !text.contains(&0) {
        return Ok(());
    }
    let at = text.iter().position(|&byte| byte == 0).unwrap_or_default();
    Err(image.damaged(at as u64, "a NUL inside PTX text"))
}

/// What the bytes of a part tell.
#[derive(Clone, Debug)]
pub struct Inside {
    /// The part with what only its bytes can tell.
    pub part: Part,
    /// Its symbols.
    pub symbols: Symbols,
}

/// Where a part stands in a block that is packed as one (`fatbinary -concat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where in the unpacked block the part starts.
    pub offset: u64,
    /// The size of the unpacked block.
    pub size: u64,
}

/// One complete fatbin container, header included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Where it starts.
    pub offset: u64,
    /// Its size, header included.
    pub size: u64,
    /// Where it was found.
    pub place: Place,
}

/// A file that a thin archive names, read because it has device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideFile {
    /// Its name as the archive has it, relative to the archive's folder.
    pub name: Vec<u8>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// All that is known of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the input is as a whole.
    pub kind: InputKind,
    /// Every piece of device code, in the order of the input.
    pub parts: Vec<Part>,
    /// Every fatbin, in the order of the input.
    pub containers: Vec<Container>,
    /// The names of an archive's members that have device code, in the order of the archive.
    pub members: Vec<String>,
    /// The members of a thin archive.
    pub outside: Vec<OutsideFile>,
    /// What is worth telling and no error, one sentence each.
    pub warnings: Vec<String>,
}

impl Facts {
    pub(super) fn new(kind: InputKind) -> Self {
        Facts { kind, parts: Vec::new(), containers: Vec::new(), members: Vec::new(), outside: Vec::new(), warnings: Vec::new() }
    }

    /// The name of the archive member that a place is in.
    pub fn member(&self, place: &Place) -> Option<&str> {
        self.members.get(place.member?).map(String::as_str)
    }

    /// Adds the next part.
    pub(super) fn push(&mut self, mut part: Part) {
        part.index = self.parts.len();
        self.parts.push(part);
    }

    /// The bytes of a fatbin as a library takes them. `input` is what was examined.
    pub fn container_bytes<'a>(&'a self, input: &'a [u8], container: &Container) -> Result<&'a [u8], Problem> {
        Ok(self.file(input, &container.place)?.slice(container.offset, container.size, "fatbin")?.bytes)
    }

    /// The unpacked bytes of a part. `input` is what was examined.
    ///
    /// Unpacking stops at the size that the part declares, and is refused beyond [`MAX_UNPACKED_SIZE`](super::MAX_UNPACKED_SIZE).
    /// PTX comes without closing NULs.
    pub fn part_bytes<'a>(&'a self, input: &'a [u8], part: &Part) -> Result<Cow<'a, [u8]>, Problem> {
        Ok(match self.unpack(input, part)? {
            Cow::Borrowed(bytes) => Cow::Borrowed(part.image_in(bytes)?),
            Cow::Owned(bytes) if part.block.is_some() => Cow::Owned(part.image_in(&bytes)?.to_vec()),
            Cow::Owned(mut bytes) => {
                let size = part.image_in(&bytes)?.len();
                bytes.truncate(size);
                Cow::Owned(bytes)
            }
        })
    }

    /// What a part is packed in, unpacked: itself, or the whole block that it is in.
    pub(super) fn unpack<'a>(&'a self, input: &'a [u8], part: &Part) -> Result<Cow<'a, [u8]>, Problem> {
        let packed = self.file(input, &part.place)?.slice(part.offset, part.size, "part")?;
        let unpacked_size = part.block.map_or(part.unpacked_size, |block| block.size);
        unpack::unpack(packed, part.compression, part.scrambled, unpacked_size)
    }

    /// The part with what only its own bytes can tell: which toolkit made a compressed cubin, and whether it is relocatable. They are
    /// checked as those of a stored part are. This unpacks the part, so it costs more than looking at headers; `examine` never does it.
    pub fn look_inside(&self, input: &[u8], part: &Part) -> Result<Part, Problem> {
        self.inside(input, part).map(|inside| inside.part)
    }

    /// The same, and the symbols: all that the bytes of a part tell, from unpacking it once.
    pub fn inside(&self, input: &[u8], part: &Part) -> Result<Inside, Problem> {
        let is_read = matches!(part.kind, PartKind::Cubin | PartKind::LtoIr | PartKind::Ptx | PartKind::RelocatablePtx);
        if !is_read || part.scrambled {
            return Ok(Inside { part: part.clone(), symbols: Symbols::Unknown });
        }
        let bytes = self.part_bytes(input, part)?;
        let mut part = part.clone();
        match part.compression {
            Compression::Stored => part.tell(View { bytes: &bytes, offset: part.offset })?,
            _ => part.tell_unpacked(&bytes)?,
        }
        let symbols = part.symbols(&bytes)?;
        Ok(Inside { part, symbols })
    }

    fn file<'a>(&'a self, input: &'a [u8], place: &Place) -> Result<View<'a>, Problem> {
        match place.outside {
            None => Ok(View::new(input)),
            Some(index) => match self.outside.get(index) {
                Some(file) => Ok(View::new(&file.bytes)),
                None => Err(View::new(input).damaged(0, "part of a file that these facts do not hold")),
            },
        }
    }
}

/// Why an input, or a part of it, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is nothing in it, or only blanks.
    Empty,
    /// It is cut off, or contradicts itself.
    Damaged {
        /// What is wrong, and in which archive member.
        what: String,
        /// Where, counted from the start of the input (of the file, for a member of a thin archive).
        offset: u64,
    },
    /// It is nothing that is linked.
    Unrecognized {
        /// What it looks like, with its article.
        looks_like: Option<&'static str>,
    },
    /// It is sound, but only NVIDIA's libraries can unpack it, or only newer code of ours.
    CannotUnpack {
        /// What cannot be unpacked, and why.
        what: &'static str,
        /// Where it starts.
        offset: u64,
    },
    /// It would be larger than we let it be.
    TooLarge {
        /// The bytes it would take.
        size: u64,
        /// The bytes it may take.
        limit: u64,
    },
}

impl Problem {
    /// The same problem, telling the archive member that has it.
    pub(super) fn in_member(self, member: &str) -> Problem {
        match self {
            Problem::Damaged { what, offset } => Problem::Damaged { what: format!("member '{member}': {what}"), offset },
            other => other,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => f.write_str("the input is empty"),
            Problem::Damaged { what, offset } => write!(f, "damaged at offset {offset}: {what}"),
            Problem::Unrecognized { looks_like: Some(what) } => write!(f, "not a kind of input that can be linked: it looks like {what}"),
            Problem::Unrecognized { looks_like: None } => f.write_str("not a kind of input that can be linked"),
            Problem::CannotUnpack { what, offset } => write!(f, "cannot be unpacked: {what} at offset {offset}"),
            Problem::TooLarge { size, limit } => write!(f, "{size} bytes are more than the {limit} that are allowed"),
        }
    }
}

impl std::error::Error for Problem {}
