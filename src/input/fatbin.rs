//! Fatbins: containers of images for several architectures, one or several in a row.
//!
//! ```text
//! container   0 u32 magic   4 u16 version 1   6 u16 header size (16)   8 u64 size of all entries
//! entry       0 u16 kind    2 u16 0x0101      4 u32 header size (64 or more)   8 u64 payload size
//!            16 u32 compressed size, 0 if stored      20 u32 offset of what follows the 64 bytes (options, attributes, block table)
//!            24 u16 minor  26 u16 major version of the payload's format       28 u32 SM number
//!            32 u32 offset, 36 u32 length of the name 40 u64 flags
//!            48 u64 key of scrambled LTO-IR           56 u64 unpacked size, 0 if stored
//! ```
//! Measured on nvcc and nvFatbin 12.4 to 13.5; the public readers listed in facts/containers.md agree.

use super::bytes::View;
use super::{Arch, ArchSuffix, Block, Compression, Container, Facts, MAX_UNPACKED_SIZE, Part, PartKind, Place, Problem, Producer, unpack};
use crate::release::Version;

pub(super) const MAGIC: [u8; 4] = [0x50, 0xED, 0x55, 0xBA];

const VERSION: u16 = 1;
const CONTAINER_HEADER: u64 = 16;
const ENTRY_HEADER: u64 = 64;

const KIND_PTX: u16 = 1;
const KIND_CUBIN: u16 = 2;
const KIND_LTOIR: u16 = 8;
const KIND_RELOCATABLE_PTX: u16 = 0x40;
const KIND_TILE_IR: u16 = 0x80;
const KIND_CONCATENATED: u16 = 0x100;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_SCRAMBLED: u64 = 0x1_0000;
const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY_SPECIFIC: u64 = 0x20_0000;

/// The option that nvcc leaves with PTX of `-dc`.
const RELOCATABLE_OPTION: &[u8] = b"--compile-only";

/// Lists every container in `view` and every image in them. Between containers, and after the last, may be zeros.
pub(super) fn read(view: View, place: &Place, relocatable: Option<bool>, facts: &mut Facts) -> Result<(), Problem> {
    for container in containers(view) {
        let (container, body) = container?;
        let index = facts.containers.len();
        facts.containers.push(Container { offset: container.offset, size: container.len(), place: place.clone() });
        for entry in entries(body) {
            let entry = entry?;
            let mut part = entry.part(place, relocatable)?;
            part.container = Some(index);
            match entry.images()? {
                None => facts.push(part),
                Some(images) => {
                    for image in images {
                        facts.push(image.part(&entry, &part)?);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The same containers with every image stored, for the linkers that cannot read zstd (before 12.4) or concatenated blocks (before 13.4),
/// which are taken apart. Each image is unpacked within the limits of [`Facts::part_bytes`], all of them together within
/// [`MAX_UNPACKED_SIZE`].
///
/// Compressed LTO-IR is scrambled, so that nobody else can unpack it: it is left out. The linkers that this is for cannot read it either.
pub fn unpacked_fatbin(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    for container in containers(View::new(bytes)) {
        let (_, body) = container?;
        let mut stored = Vec::new();
        for entry in entries(body) {
            let entry = entry?;
            if entry.is_scrambled() {
                continue;
            }
            let size = (out.len() as u64).saturating_add(stored.len() as u64).saturating_add(entry.unpacked_size());
            if size > MAX_UNPACKED_SIZE {
                return Err(Problem::TooLarge { size, limit: MAX_UNPACKED_SIZE });
            }
            let mut part = entry.part(&Place::default(), None)?;
            let payload = unpack::unpack(entry.packed()?, part.compression, part.scrambled, part.unpacked_size)?;
            match entry.images()? {
                None => {
                    part.tell_unpacked(&payload)?;
                    write_stored(entry.header, entry.flags, &payload, &mut stored);
                }
                Some(images) => {
                    for image in images {
                        let payload = View::new(&payload).slice(image.offset, image.size, "image in its block")?;
                        image.part(&entry, &part)?.tell_unpacked(payload.bytes)?;
                        write_stored(image.header, image.flags, payload.bytes, &mut stored);
                    }
                }
            }
        }
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(CONTAINER_HEADER as u16).to_le_bytes());
        out.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        out.append(&mut stored);
    }
    Ok(out)
}

/// Writes an entry with a stored payload: its header as it was, but for sizes and flags.
fn write_stored(header: View, flags: u64, payload: &[u8], out: &mut Vec<u8>) {
    let header = header.bytes;
    let field = |at: usize, len: usize| header.get(at..at.saturating_add(len)).unwrap_or_default();
    let (kind, extra, version_and_sm, name, key) = (field(0, 2), field(20, 4), field(24, 8), field(32, 8), field(48, 8));
    let texts = header.get(ENTRY_HEADER as usize..).unwrap_or_default();
    // The header of an image in a block has no texts of its own, so what it says of them is nothing to copy.
    let (extra, name) = if texts.is_empty() { (&[0; 4][..], &[0; 8][..]) } else { (extra, name) };
    let is_ptx = [KIND_PTX, KIND_RELOCATABLE_PTX].iter().any(|ptx| kind == ptx.to_le_bytes());
    // Payloads are padded to eight bytes; PTX needs the NUL that ends it besides.
    let padding = match payload.len() % 8 {
        0 if is_ptx && !payload.ends_with(&[0]) => 8,
        0 => 0,
        rest => 8_usize.saturating_sub(rest),
    };
    let size = (payload.len() as u64).saturating_add(padding as u64);
    out.extend_from_slice(field(0, 4));
    out.extend_from_slice(&(header.len() as u32).to_le_bytes());
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&0_u32.to_le_bytes());
    out.extend_from_slice(extra);
    out.extend_from_slice(version_and_sm);
    out.extend_from_slice(name);
    out.extend_from_slice(&(flags & !(FLAG_LZ4 | FLAG_ZSTD)).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(&0_u64.to_le_bytes());
    out.extend_from_slice(texts);
    out.extend_from_slice(payload);
    out.resize(out.len().saturating_add(padding), 0);
}

/// The containers in `view`, each as a whole and without its header. Ends after the first damage.
fn containers(view: View<'_>) -> impl Iterator<Item = Result<(View<'_>, View<'_>), Problem>> {
    let mut rest = view;
    std::iter::from_fn(move || {
        let zeros = rest.bytes.iter().take_while(|&&byte| byte == 0).count();
        rest = rest.tail(zeros as u64);
        if rest.is_empty() {
            return None;
        }
        let container = container(rest);
        rest = rest.tail(container.as_ref().map_or(rest.len(), |(whole, _)| whole.len()));
        Some(container)
    })
}

fn container(view: View) -> Result<(View, View), Problem> {
    if !view.starts_with(&MAGIC) {
        return Err(view.damaged(0, "neither a fatbin nor the zeros that may follow one"));
    }
    let version = view.u16(4, "fatbin header")?;
    if version != VERSION {
        return Err(view.damaged(4, format!("fatbin of version {version}; only version {VERSION} is known")));
    }
    let header_size: u64 = view.u16(6, "fatbin header")?.into();
    if header_size < CONTAINER_HEADER {
        return Err(view.damaged(6, format!("fatbin header of {header_size} bytes")));
    }
    let body_size = view.u64(8, "fatbin header")?;
    let body = view.slice(header_size, body_size, "fatbin entries")?;
    let whole = view.slice(0, header_size.saturating_add(body_size), "fatbin")?;
    Ok((whole, body))
}

/// The entries in a container's body. Ends after the first damage.
fn entries(body: View<'_>) -> impl Iterator<Item = Result<Entry<'_>, Problem>> {
    let mut rest = body;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let entry = Entry::read(rest);
        let size = entry.as_ref().map_or(rest.len(), |entry| entry.header.len().saturating_add(entry.payload.len()));
        rest = rest.tail(size);
        Some(entry)
    })
}

struct Entry<'a> {
    header: View<'a>,
    payload: View<'a>,
    kind: u16,
    compressed_size: u64,
    /// Of the texts or tables after the first 64 bytes; 0 if there are none.
    extra: u64,
    version: Version,
    sm: u32,
    flags: u64,
    /// As declared: 0 for stored payloads.
    declared_size: u64,
}

impl<'a> Entry<'a> {
    fn read(view: View<'a>) -> Result<Self, Problem> {
        const WHAT: &str = "fatbin entry header";
        let header_size: u64 = view.u32(4, WHAT)?.into();
        if header_size < ENTRY_HEADER {
            return Err(view.damaged(4, format!("fatbin entry header of {header_size} bytes")));
        }
        let payload_size = view.u64(8, WHAT)?;
        let header = view.slice(0, header_size, WHAT)?;
        let payload = view.slice(header_size, payload_size, "fatbin payload")?;
        let entry = Entry {
            header,
            payload,
            kind: header.u16(0, WHAT)?,
            compressed_size: header.u32(16, WHAT)?.into(),
            extra: header.u32(20, WHAT)?.into(),
            version: (header.u16(26, WHAT)?, header.u16(24, WHAT)?),
            sm: header.u32(28, WHAT)?,
            flags: header.u64(40, WHAT)?,
            declared_size: header.u64(56, WHAT)?,
        };
        let name_offset: u64 = header.u32(32, WHAT)?.into();
        let name_size: u64 = header.u32(36, WHAT)?.into();
        header.slice(name_offset, name_size, "fatbin entry name")?;
        if entry.extra != 0 && entry.kind != KIND_CONCATENATED {
            entry.options()?;
        }
        if entry.compressed_size > payload_size {
            return Err(view.damaged(16, format!("{} compressed bytes in a fatbin payload of {payload_size}", entry.compressed_size)));
        }
        if entry.compression()? != Compression::Stored && entry.declared_size == 0 {
            return Err(view.damaged(56, "compressed fatbin payload that is nothing when unpacked"));
        }
        Ok(entry)
    }

    fn compression(&self) -> Result<Compression, Problem> {
        let compression = match (self.flags & FLAG_LZ4 != 0, self.flags & FLAG_ZSTD != 0) {
            _ if self.compressed_size == 0 => Compression::Stored,
            (true, false) => Compression::Lz4,
            (false, true) => Compression::Zstd,
            (false, false) => Compression::Other,
            (true, true) => return Err(self.header.damaged(40, "fatbin payload that is LZ4 and zstd at once")),
        };
        if compression == Compression::Stored && self.flags & (FLAG_LZ4 | FLAG_ZSTD) != 0 {
            return Err(self.header.damaged(16, "compressed fatbin payload of no bytes"));
        }
        Ok(compression)
    }

    /// The payload without the padding that follows what was compressed.
    fn packed(&self) -> Result<View<'a>, Problem> {
        match self.compressed_size {
            0 => Ok(self.payload),
            size => self.payload.slice(0, size, "fatbin payload"),
        }
    }

    fn unpacked_size(&self) -> u64 {
        if self.compressed_size == 0 { self.payload.len() } else { self.declared_size }
    }

    fn is_scrambled(&self) -> bool {
        self.compressed_size != 0 && self.flags & FLAG_SCRAMBLED != 0
    }

    /// The text or table that an offset and a length after the first 64 bytes tell of: the compiler's options, for PTX and LTO-IR.
    fn options(&self) -> Result<View<'a>, Problem> {
        const WHAT: &str = "fatbin entry options";
        if self.extra == 0 {
            return self.header.slice(0, 0, WHAT);
        }
        let offset = self.header.u32(self.extra, WHAT)?.into();
        let size = self.header.u32(self.extra.saturating_add(4), WHAT)?.into();
        self.header.slice(offset, size, WHAT)
    }

    /// The entry as one part.
    fn part(&self, place: &Place, relocatable: Option<bool>) -> Result<Part, Problem> {
        let packed = self.packed()?;
        let compression = self.compression()?;
        let kind = part_kind(self.kind);
        let mut part = Part {
            kind,
            arch: arch(kind, self.sm, self.flags),
            producer: producer(kind, self.version),
            relocatable: match kind {
                PartKind::LtoIr | PartKind::RelocatablePtx => Some(true),
                // No option proves nothing: nvFatbin leaves there what its caller says.
                PartKind::Ptx if contains(self.options()?.bytes, RELOCATABLE_OPTION) => Some(true),
                _ => relocatable,
            },
            compression,
            scrambled: self.is_scrambled(),
            offset: packed.offset,
            size: packed.len(),
            unpacked_size: self.unpacked_size(),
            block: None,
            container: None,
            place: place.clone(),
            index: 0,
        };
        if compression == Compression::Stored {
            part.tell(packed)?;
        }
        Ok(part)
    }

    /// The images of a concatenated block; `None` if this is none, or has no table.
    ///
    /// The table is a count, its own size, and for each image an entry header of 64 bytes with header size 0; the images follow each
    /// other without a gap.
    fn images(&self) -> Result<Option<Vec<Image<'a>>>, Problem> {
        const WHAT: &str = "table of a concatenated fatbin block";
        if self.kind != KIND_CONCATENATED || self.extra == 0 {
            return Ok(None);
        }
        let count = self.header.u32(self.extra, WHAT)?.into();
        let size = self.header.u32(self.extra.saturating_add(4), WHAT)?.into();
        let table = self.header.slice(self.extra, size, WHAT)?;
        let mut images = Vec::new();
        let mut offset = 0_u64;
        for index in 0..count {
            let at = ENTRY_HEADER.saturating_mul(index).saturating_add(8);
            let header = table.slice(at, ENTRY_HEADER, WHAT)?;
            let size = header.u64(8, WHAT)?;
            let end = offset.checked_add(size).filter(|&end| end <= self.unpacked_size());
            let Some(end) = end else {
                return Err(header.damaged(8, "image that ends after the concatenated fatbin block it is in"));
            };
            images.push(Image {
                header,
                offset,
                size,
                kind: header.u16(0, WHAT)?,
                version: (header.u16(26, WHAT)?, header.u16(24, WHAT)?),
                sm: header.u32(28, WHAT)?,
                flags: header.u64(40, WHAT)?,
            });
            offset = end;
        }
        Ok(Some(images))
    }
}

/// One image of a concatenated block.
struct Image<'a> {
    header: View<'a>,
    /// Where it starts in the unpacked block.
    offset: u64,
    size: u64,
    kind: u16,
    version: Version,
    sm: u32,
    flags: u64,
}

impl Image<'_> {
    /// The image as a part, given its block as one.
    fn part(&self, entry: &Entry, block: &Part) -> Result<Part, Problem> {
        let kind = part_kind(self.kind);
        let mut part = Part {
            kind,
            arch: arch(kind, self.sm, self.flags),
            producer: producer(kind, self.version),
            unpacked_size: self.size,
            ..block.clone()
        };
        if matches!(kind, PartKind::LtoIr | PartKind::RelocatablePtx) {
            part.relocatable = Some(true);
        }
        if block.compression == Compression::Stored {
            let image = entry.payload.slice(self.offset, self.size, "image in its block")?;
            part.offset = image.offset;
            part.size = image.len();
            part.tell(image)?;
        } else {
            part.block = Some(Block { offset: self.offset, size: block.unpacked_size });
        }
        Ok(part)
    }
}

fn part_kind(kind: u16) -> PartKind {
    match kind {
        KIND_PTX => PartKind::Ptx,
        KIND_CUBIN => PartKind::Cubin,
        KIND_LTOIR => PartKind::LtoIr,
        KIND_RELOCATABLE_PTX => PartKind::RelocatablePtx,
        KIND_TILE_IR => PartKind::TileIr,
        KIND_CONCATENATED => PartKind::Concatenated,
        other => PartKind::Other(other),
    }
}

fn arch(kind: PartKind, sm: u32, flags: u64) -> Option<Arch> {
    if sm == 0 {
        return None;
    }
    let suffix = match (flags & FLAG_ARCH_SPECIFIC != 0, flags & FLAG_FAMILY_SPECIFIC != 0) {
        (true, _) => ArchSuffix::A,
        (false, true) => ArchSuffix::F,
        (false, false) => ArchSuffix::None,
    };
    let is_virtual = matches!(kind, PartKind::Ptx | PartKind::LtoIr | PartKind::RelocatablePtx | PartKind::TileIr);
    Some(Arch { number: sm, suffix, is_virtual })
}

/// What an entry's version field says of its payload. That of a cubin is 1.7 or 1.8, by its ELF ABI.
fn producer(kind: PartKind, version: Version) -> Producer {
    match kind {
        PartKind::Ptx | PartKind::RelocatablePtx => Producer::Ptx { isa: version },
        PartKind::LtoIr => Producer::Nvvm { container: version, ir: None, debug: None, llvm: None },
        PartKind::Cubin => match u8::try_from(version.1) {
            Ok(abi) => Producer::Cubin { abi, toolkit: None },
            Err(_) => Producer::Unknown,
        },
        _ => Producer::Unknown,
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::super::samples::Entry as Sample;
    use super::super::{InputKind, samples};
    use super::*;

    fn list(bytes: &[u8]) -> Result<Vec<Part>, Problem> {
        let mut facts = Facts::new(InputKind::Fatbin);
        read(View::new(bytes), &Place::default(), None, &mut facts)?;
        Ok(facts.parts)
    }

    fn damage(bytes: &[u8]) -> (String, u64) {
        match list(bytes) {
            Err(Problem::Damaged { what, offset }) => (what, offset),
            other => panic!("{other:?}"),
        }
    }

    fn one(entry: Sample) -> Part {
        list(&samples::fatbin(&[entry])).unwrap().remove(0)
    }

    #[test]
    fn the_header_tells_kind_architecture_and_version() {
        let kinds = [
            (1, PartKind::Ptx),
            (2, PartKind::Cubin),
            (8, PartKind::LtoIr),
            (0x40, PartKind::RelocatablePtx),
            (0x80, PartKind::TileIr),
            (0x100, PartKind::Concatenated),
            (0x200, PartKind::Other(0x200)),
        ];
        for (kind, part_kind) in kinds {
            let part = one(Sample { kind, flags: 0x8000, payload: b"packed", unpacked: 9, ..Sample::default() });
            assert_eq!((part.kind, part.compression, part.size, part.unpacked_size), (part_kind, Compression::Zstd, 6, 9));
            assert_eq!((part.offset, part.container), (80, Some(0)));
        }
        let arch = |sm, flags| one(Sample { sm, flags, ..Sample::default() }).arch.map(|arch| arch.to_string()).unwrap_or_default();
        assert_eq!([arch(90, 0), arch(90, 0x10_0000), arch(100, 0x20_0000), arch(0, 0)], ["compute_90", "compute_90a", "compute_100f", ""]);
        let made = |kind, version| {
            one(Sample { kind, version, flags: 0x8000, payload: b"packed", unpacked: 9, ..Sample::default() }).producer.cuda()
        };
        assert_eq!(made(1, (8, 4)), Some((12, 4)));
        assert_eq!(made(8, (1, 67)), Some((13, 3)));
        assert_eq!(made(2, (1, 8)), None);
    }

    #[test]
    fn the_options_tell_relocatable_ptx() {
        let with = |options: &[u8]| one(Sample { extra: options, ..Sample::default() }).relocatable;
        assert_eq!(with(b""), None);
        assert_eq!(with(&samples::options("")), None);
        assert_eq!(with(&samples::options("-v --compile-only  ")), Some(true));
    }

    #[test]
    fn a_container_must_hold_what_it_declares() {
        let sound = samples::fatbin(&[Sample { payload: samples::PTX, ..Sample::default() }]);
        let change = |at: usize, bytes: &[u8]| {
            let mut fatbin = sound.clone();
            fatbin[at..at + bytes.len()].copy_from_slice(bytes);
            damage(&fatbin)
        };
        assert_eq!(change(4, &[2]).1, 4);
        assert_eq!(change(6, &[15]).1, 6);
        assert_eq!(change(6, &[0xFF, 0xFF]).1, 0xFFFF);
        assert_eq!(change(8, &u64::MAX.to_le_bytes()).1, 16);
        assert_eq!(change(8, &(u64::MAX - 15).to_le_bytes()).1, 16);
        assert_eq!(change(8, &[63, 0]).0, "fatbin entry header is cut off: 64 bytes are declared, 63 are there");
    }

    #[test]
    fn an_entry_must_hold_what_it_declares() {
        let extra = samples::options("-v");
        let sound = samples::fatbin(&[Sample { extra: &extra, payload: samples::PTX, ..Sample::default() }]);
        let change = |at: usize, bytes: &[u8]| {
            let mut fatbin = sound.clone();
            fatbin[16 + at..16 + at + bytes.len()].copy_from_slice(bytes);
            damage(&fatbin)
        };
        assert_eq!(change(4, &63_u32.to_le_bytes()).0, "fatbin entry header of 63 bytes");
        assert_eq!(change(4, &u32::MAX.to_le_bytes()).1, 16);
        for size in [u64::MAX, u64::MAX - 79, 1 << 63, 113] {
            assert!(change(8, &size.to_le_bytes()).0.starts_with("fatbin payload is cut off"), "{size}");
        }
        assert!(change(16, &999_u32.to_le_bytes()).0.contains("compressed bytes"));
        assert!(change(20, &999_u32.to_le_bytes()).0.starts_with("fatbin entry options"));
        assert!(change(64, &999_u32.to_le_bytes()).0.starts_with("fatbin entry options"));
        assert!(change(68, &999_u32.to_le_bytes()).0.starts_with("fatbin entry options"));
        assert!(change(32, &999_u32.to_le_bytes()).0.starts_with("fatbin entry name"));
        assert!(change(36, &999_u32.to_le_bytes()).0.starts_with("fatbin entry name"));
        assert_eq!(change(40, &0x2011_u64.to_le_bytes()).0, "compressed fatbin payload of no bytes");
        let packed = Sample { flags: 0xA000, payload: b"packed", unpacked: 9, ..Sample::default() };
        assert!(damage(&samples::fatbin(&[packed])).0.ends_with("LZ4 and zstd at once"));
    }

    #[test]
    fn only_zeros_may_stand_between_containers() {
        let fatbin = samples::fatbin(&[]);
        assert_eq!(list(&[&fatbin[..], &[0; 5], &fatbin[..], &[0; 3]].concat()), Ok(Vec::new()));
        let (what, offset) = damage(&[&fatbin[..], &[0; 5], b"x", &fatbin[..]].concat());
        assert_eq!((&*what, offset), ("neither a fatbin nor the zeros that may follow one", 21));
    }

    #[test]
    fn the_images_of_a_block_must_fit_into_it() {
        let cubin = samples::cubin(90, "13.5", "sm_90");
        for is_packed in [true, false] {
            let sound = samples::container(&samples::block(&cubin, &cubin, is_packed));
            let parts = list(&sound).unwrap();
            assert_eq!(parts.len(), 2);
            assert!(parts.iter().all(|part| part.kind == PartKind::Cubin && part.block.is_some() == is_packed));
            let change = |at: usize, bytes: &[u8]| {
                let mut fatbin = sound.clone();
                fatbin[16 + at..16 + at + bytes.len()].copy_from_slice(bytes);
                damage(&fatbin).0
            };
            assert!(change(64, &3_u32.to_le_bytes()).starts_with("table of a concatenated"));
            assert!(change(68, &u32::MAX.to_le_bytes()).starts_with("table of a concatenated"));
            assert!(change(72 + 8, &u64::MAX.to_le_bytes()).starts_with("image that ends after"));
            assert!(change(136 + 8, &(cubin.len() as u64 + 16).to_le_bytes()).starts_with("image that ends after"));
        }
    }

    #[test]
    fn unpacking_keeps_everything_but_the_packing() {
        let cubin = samples::cubin(90, "13.5", "sm_90");
        let extra = samples::options("--compile-only  ");
        let packed = samples::fatbin(&[
            Sample {
                flags: 0x10_2011,
                extra: &extra,
                payload: &samples::lz4(samples::PTX),
                unpacked: samples::PTX.len(),
                ..Sample::default()
            },
            Sample { kind: 2, version: (1, 8), flags: 0x8011, payload: &samples::zstd(&cubin), unpacked: cubin.len(), ..Sample::default() },
            Sample { payload: samples::PTX, ..Sample::default() },
        ]);
        let text = [samples::PTX, b"\0"].concat();
        let stored = samples::fatbin(&[
            Sample { flags: 0x10_0011, extra: &extra, payload: &text, ..Sample::default() },
            Sample { kind: 2, version: (1, 8), payload: &cubin, ..Sample::default() },
            Sample { payload: &text, ..Sample::default() },
        ]);
        assert_eq!(unpacked_fatbin(&packed), Ok(stored.clone()));
        assert_eq!(unpacked_fatbin(&stored), Ok(stored.clone()));
        let row = [&packed[..], &[0; 8], &packed[..]].concat();
        assert_eq!(unpacked_fatbin(&row), Ok([&stored[..], &stored[..]].concat()));
    }

    #[test]
    fn unpacking_takes_blocks_apart() {
        let cubin = samples::cubin(90, "13.5", "sm_90");
        for is_packed in [true, false] {
            let fatbin = samples::container(&samples::block(&cubin, &cubin, is_packed));
            let image = |sm| Sample { kind: 2, version: (1, 8), sm, payload: &cubin, ..Sample::default() };
            assert_eq!(unpacked_fatbin(&fatbin), Ok(samples::fatbin(&[image(80), image(90)])));
        }
    }

    #[test]
    fn scrambled_lto_ir_cannot_be_unpacked() {
        let entry = Sample { kind: 8, version: (1, 61), flags: 0x1_2011, payload: b"scrambled", unpacked: 99, ..Sample::default() };
        let fatbin = samples::fatbin(&[entry]);
        let parts = list(&fatbin).unwrap();
        assert!(parts[0].scrambled);
        assert_eq!(unpacked_fatbin(&fatbin).unwrap(), super::super::samples::fatbin(&[]), "it is left out");
    }

    #[test]
    fn a_packed_image_is_checked_once_it_is_unpacked() {
        let mut cubin = samples::cubin(90, "13.5", "sm_90");
        cubin[60] = 99;
        let entry = Sample { kind: 2, flags: 0x8011, payload: &samples::zstd(&cubin), unpacked: cubin.len(), ..Sample::default() };
        let Err(Problem::Damaged { what, offset: 80 }) = unpacked_fatbin(&samples::fatbin(&[entry])) else { panic!() };
        assert!(what.ends_with("once unpacked)"), "{what}");
    }
}
