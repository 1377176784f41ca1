//! Small inputs made byte by byte, for the tests.

/// One fatbin entry to be.
pub struct Entry<'a> {
    pub kind: u16,
    pub version: (u16, u16),
    pub sm: u32,
    pub flags: u64,
    /// What follows the first 64 bytes, pointed at by the field at 20.
    pub extra: &'a [u8],
    pub payload: &'a [u8],
    /// The unpacked size; the payload is packed if it is not 0.
    pub unpacked: usize,
}

impl Default for Entry<'_> {
    fn default() -> Self {
        Entry { kind: 1, version: (8, 4), sm: 80, flags: 0x11, extra: b"", payload: b"", unpacked: 0 }
    }
}

impl Entry<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let packed = if self.unpacked == 0 { 0 } else { self.payload.len() };
        let mut out = Vec::new();
        out.extend(self.kind.to_le_bytes());
        out.extend(0x0101_u16.to_le_bytes());
        out.extend((64 + self.extra.len() as u32).to_le_bytes());
        out.extend((self.payload.len().next_multiple_of(8) as u64).to_le_bytes());
        out.extend((packed as u32).to_le_bytes());
        out.extend(if self.extra.is_empty() { 0_u32 } else { 64 }.to_le_bytes());
        out.extend(self.version.1.to_le_bytes());
        out.extend(self.version.0.to_le_bytes());
        out.extend(self.sm.to_le_bytes());
        out.extend([0; 8]);
        out.extend(self.flags.to_le_bytes());
        out.extend([0; 8]);
        out.extend((self.unpacked as u64).to_le_bytes());
        out.extend(self.extra);
        out.extend(self.payload);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    }
}

pub fn fatbin(entries: &[Entry]) -> Vec<u8> {
    container(&entries.iter().flat_map(Entry::bytes).collect::<Vec<u8>>())
}

pub fn container(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0];
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
}

/// An entry with two cubins in one block, as `fatbinary -concat` makes it; stored or zstd.
pub fn block(first: &[u8], second: &[u8], is_packed: bool) -> Vec<u8> {
    let images = [first, second].map(|image| {
        let mut image = image.to_vec();
        image.resize(image.len().next_multiple_of(8), 0);
        image
    });
    let mut table = 2_u32.to_le_bytes().to_vec();
    table.extend((8 + 2 * 64_u32).to_le_bytes());
    for (image, sm) in images.iter().zip([80, 90]) {
        let mut header = Entry { kind: 2, version: (1, 8), sm, payload: image, ..Entry::default() }.bytes();
        header.truncate(64);
        header[4..8].fill(0);
        table.extend(header);
    }
    let images = images.concat();
    let packed = zstd(&images);
    let (flags, payload, unpacked) = if is_packed { (0x8011, &packed, images.len()) } else { (0x11, &images, 0) };
    Entry { kind: 0x100, version: (0, 1), sm: 0, flags, extra: &table, payload, unpacked }.bytes()
}

/// Options as nvcc leaves them: offset and size, then the text.
pub fn options(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(72_u32.to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.bytes());
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(bytes)
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub const PTX: &[u8] =
    b"//\n// made by hand\n//\n\n.version 8.4\n.target sm_90a, debug\n.address_size 64\n\n.visible .entry k() { ret; }\n";

/// `attributes` are tag and value; the last one, 0x63, is added.
pub fn ltoir(kind: u16, ir: u8, attributes: &[(u16, u16)]) -> Vec<u8> {
    let end = 24 + 4 * (attributes.len() as u32 + 1);
    let mut out = vec![0xED, 0x43, 0x4E, 0x7F, 1, 61, 2, ir, 3, 1, 7, 0, 24, 0];
    out.extend(kind.to_le_bytes());
    out.extend(end.to_le_bytes());
    out.extend((end + 4).to_le_bytes());
    for (tag, value) in attributes {
        out.extend(tag.to_le_bytes());
        out.extend(value.to_le_bytes());
    }
    out.extend([0x63, 0, 0, 0]);
    out.extend(b"key.and a body");
    out
}

/// A 64-bit ELF file to be.
pub struct Elf<'a> {
    pub machine: u16,
    pub os_abi: u8,
    pub abi: u8,
    pub e_type: u16,
    pub e_version: u32,
    pub flags: u32,
    pub sections: &'a [(&'a str, &'a [u8])],
}

impl Default for Elf<'_> {
    fn default() -> Self {
        Elf { machine: 62, os_abi: 0, abi: 0, e_type: 1, e_version: 1, flags: 0, sections: &[] }
    }
}

impl Elf<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut names = vec![0];
        let mut contents: Vec<(usize, u32, Vec<u8>)> = vec![(0, 0, Vec::new())];
        for (name, content) in self.sections {
            contents.push((names.len(), if name.starts_with(".note") { 7 } else { 1 }, content.to_vec()));
            names.extend(name.bytes());
            names.push(0);
        }
        contents.push((names.len(), 3, Vec::new()));
        names.extend(b".shstrtab\0");
        contents.last_mut().unwrap().2 = names;

        let mut out = vec![0; 64];
        let mut headers = Vec::new();
        for (name, kind, content) in &contents {
            out.resize(out.len().next_multiple_of(8), 0);
            headers.extend((*name as u32).to_le_bytes());
            headers.extend(kind.to_le_bytes());
            headers.extend([0; 16]);
            headers.extend((out.len() as u64).to_le_bytes());
            headers.extend((content.len() as u64).to_le_bytes());
            headers.extend([0; 8]);
            headers.extend(4_u64.to_le_bytes());
            headers.extend([0; 8]);
            out.extend(content);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        let section_headers = out.len() as u64;
        out.extend(headers);

        out[..16].copy_from_slice(&[0x7F, b'E', b'L', b'F', 2, 1, 1, self.os_abi, self.abi, 0, 0, 0, 0, 0, 0, 0]);
        out[16..18].copy_from_slice(&self.e_type.to_le_bytes());
        out[18..20].copy_from_slice(&self.machine.to_le_bytes());
        out[20..24].copy_from_slice(&self.e_version.to_le_bytes());
        out[40..48].copy_from_slice(&section_headers.to_le_bytes());
        out[48..52].copy_from_slice(&self.flags.to_le_bytes());
        out[52..54].copy_from_slice(&64_u16.to_le_bytes());
        out[58..60].copy_from_slice(&64_u16.to_le_bytes());
        out[60..62].copy_from_slice(&(contents.len() as u16).to_le_bytes());
        out[62..64].copy_from_slice(&(contents.len() as u16 - 1).to_le_bytes());
        out
    }
}

/// A cubin as CUDA 13 writes it, relocatable, for sm_`sm`, with a tool note.
pub fn cubin(sm: u8, release: &str, arch: &str) -> Vec<u8> {
    let note = tool_note(release, arch);
    let sections: &[(&str, &[u8])] = &[(".note.nv.tkinfo", &note), (".text.k", &[0; 32])];
    let flags = 0x0600_0004 | u32::from(sm) << 8;
    Elf { machine: 190, os_abi: 0x41, abi: 8, flags, sections, ..Elf::default() }.bytes()
}

/// A cubin with these symbols: `st_info`, `st_other`, section, size and name.
pub fn cubin_with_symbols(symbols: &[(u8, u8, u16, u64, &str)]) -> Vec<u8> {
    let mut table = vec![0; 24];
    let mut names: Vec<u8> = vec![0];
    for (info, other, section, size, name) in symbols {
        // The same name is there once.
        let bytes = [name.as_bytes(), b"\0"].concat();
        let at = names.windows(bytes.len()).position(|found| found == bytes).unwrap_or_else(|| {
            names.extend(&bytes);
            names.len() - bytes.len()
        });
        table.extend((at as u32).to_le_bytes());
        table.extend([*info, *other]);
        table.extend(section.to_le_bytes());
        table.extend([0; 8]);
        table.extend(size.to_le_bytes());
    }
    let sections: &[(&str, &[u8])] = &[(".text", &[0; 32]), (".symtab", &table), (".strtab", &names)];
    let mut elf = Elf { machine: 190, os_abi: 0x41, abi: 8, flags: 0x0600_5A04, sections, ..Elf::default() }.bytes();
    let headers = u64::from_le_bytes(elf[40..48].try_into().unwrap()) as usize;
    let (symtab, strtab) = (headers + 2 * 64, headers + 3 * 64);
    elf[symtab + 4..symtab + 8].copy_from_slice(&2_u32.to_le_bytes());
    elf[symtab + 40..symtab + 44].copy_from_slice(&3_u32.to_le_bytes());
    elf[symtab + 56..symtab + 64].copy_from_slice(&24_u64.to_le_bytes());
    elf[strtab + 4..strtab + 8].copy_from_slice(&3_u32.to_le_bytes());
    elf
}

pub fn tool_note(release: &str, arch: &str) -> Vec<u8> {
    let texts = ["".to_owned(), "ptxas".to_owned(), format!("Cuda compilation tools, release {release}, V{release}.1"), "Build".to_owned()];
    let mut offsets = Vec::new();
    let mut text = Vec::new();
    for part in texts.iter().map(String::as_str).chain([&*format!("-arch {arch} -m 64 ")]) {
        offsets.extend((text.len() as u32).to_le_bytes());
        text.extend(part.bytes());
        text.push(0);
    }
    text.resize(text.len().next_multiple_of(4), 0);
    let mut out = Vec::new();
    for word in [12, 24 + text.len() as u32, 2000] {
        out.extend(word.to_le_bytes());
    }
    out.extend(b"NVIDIA Corp\0");
    out.extend(2_u32.to_le_bytes());
    out.extend(offsets);
    out.extend(text);
    out
}

/// A COFF object for x86-64; names longer than eight bytes go to the string table.
pub fn coff(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut data = vec![0; 20 + 40 * sections.len()];
    let mut headers = Vec::new();
    let mut strings = vec![0; 4];
    for (name, content) in sections {
        let mut short = [0; 8];
        if name.len() > 8 {
            let name_offset = format!("/{}", strings.len());
            short[..name_offset.len()].copy_from_slice(name_offset.as_bytes());
            strings.extend(name.bytes());
            strings.push(0);
        } else {
            short[..name.len()].copy_from_slice(name.as_bytes());
        }
        headers.extend(section_header(short, data.len(), content.len()));
        data.extend(*content);
    }
    let size = strings.len() as u32;
    strings[..4].copy_from_slice(&size.to_le_bytes());
    data[..2].copy_from_slice(&0x8664_u16.to_le_bytes());
    data[2..4].copy_from_slice(&(sections.len() as u16).to_le_bytes());
    let symbols = data.len() as u32;
    data[8..12].copy_from_slice(&symbols.to_le_bytes());
    data[20..20 + headers.len()].copy_from_slice(&headers);
    data.extend(strings);
    data
}

/// A 64-bit PE image; names are cut to eight bytes.
pub fn pe(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let optional = 112 + 16 * 8;
    let mut data = vec![0; 64 + 24 + optional + 40 * sections.len()];
    let mut headers = Vec::new();
    for (name, content) in sections {
        let mut short = [0; 8];
        let len = name.len().min(8);
        short[..len].copy_from_slice(&name.as_bytes()[..len]);
        headers.extend(section_header(short, data.len(), content.len()));
        data.extend(*content);
    }
    data[..2].copy_from_slice(b"MZ");
    data[60] = 64;
    data[64..68].copy_from_slice(b"PE\0\0");
    data[68..70].copy_from_slice(&0x8664_u16.to_le_bytes());
    data[70..72].copy_from_slice(&(sections.len() as u16).to_le_bytes());
    data[84..86].copy_from_slice(&(optional as u16).to_le_bytes());
    data[88..90].copy_from_slice(&0x20B_u16.to_le_bytes());
    data[88 + 108] = 16;
    data[88 + optional..88 + optional + headers.len()].copy_from_slice(&headers);
    data
}

fn section_header(name: [u8; 8], offset: usize, size: usize) -> Vec<u8> {
    let mut out = name.to_vec();
    out.extend((size as u32).to_le_bytes());
    out.extend(0_u32.to_le_bytes());
    out.extend((size as u32).to_le_bytes());
    out.extend((offset as u32).to_le_bytes());
    out.resize(40, 0);
    out
}

/// An archive with names as GNU `ar` writes them.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut body = Vec::new();
    for (name, content) in members {
        let short = if name.len() < 16 {
            format!("{name}/")
        } else {
            let offset = names.len();
            names.extend(format!("{name}/\n").bytes());
            format!("/{offset}")
        };
        body.extend(member(&short, content.len()));
        body.extend(*content);
        pad(&mut body);
    }
    let mut out = b"!<arch>\n".to_vec();
    if !names.is_empty() {
        out.extend(member("//", names.len()));
        out.extend(names);
        pad(&mut out);
    }
    out.extend(body);
    out
}

/// An archive with names as BSD `ar` writes them: in front of the content.
pub fn bsd_archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, content) in members {
        out.extend(member(&format!("#1/{}", name.len()), name.len() + content.len()));
        out.extend(name.bytes());
        out.extend(*content);
        pad(&mut out);
    }
    out
}

/// A thin archive: names and sizes only.
pub fn thin_archive(members: &[(&str, usize)]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut body = Vec::new();
    for (name, size) in members {
        body.extend(member(&format!("/{}", names.len()), *size));
        names.extend(format!("{name}/\n").bytes());
    }
    let mut out = b"!<thin>\n".to_vec();
    out.extend(member("//", names.len()));
    out.extend(names);
    pad(&mut out);
    out.extend(body);
    out
}

fn member(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

fn pad(out: &mut Vec<u8>) {
    if !out.len().is_multiple_of(2) {
        out.push(b'\n');
    }
}

/// One of every kind, each sound, with a name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let cubin = cubin(90, "13.5", "sm_90a");
    let ltoir = ltoir(1, 71, &[(1, 800), (0x0203, 2)]);
    let text = options("--compile-only  ");
    let whole = fatbin(&[
        Entry { kind: 2, version: (1, 8), sm: 90, payload: &cubin, ..Entry::default() },
        Entry { kind: 2, version: (1, 8), sm: 90, flags: 0x8011, payload: &zstd(&cubin), unpacked: cubin.len(), ..Entry::default() },
        Entry { flags: 0x10_2011, extra: &text, payload: &lz4(PTX), unpacked: PTX.len(), ..Entry::default() },
        Entry { kind: 8, version: (1, 61), payload: &ltoir, ..Entry::default() },
        Entry { kind: 0x80, payload: b"tiles", ..Entry::default() },
    ]);
    let small = fatbin(&[Entry { payload: PTX, ..Entry::default() }]);
    let row = [&small[..], &[0; 24], &small[..], &[0; 8]].concat();
    let sections: &[(&str, &[u8])] =
        &[(".text", b"code"), ("__nv_relfatbin", &row), (".nv_fatbin", &small), (".nvFatBinSegment", &[0; 24])];
    let object = Elf { sections, ..Elf::default() }.bytes();
    let coff = coff(sections);
    let archive = archive(&[("a.o", &object), ("a member with a long name.obj", &coff), ("README", b"no code")]);
    vec![
        ("block", container(&[block(&cubin, &cubin, true), block(&cubin, &cubin, false)].concat())),
        ("cubin", cubin.clone()),
        ("ltoir", ltoir.clone()),
        ("ptx", PTX.to_vec()),
        ("fatbin", whole),
        ("row", row.clone()),
        ("object", object.clone()),
        ("coff", coff),
        ("pe", pe(sections)),
        ("archive", archive),
        ("bsd archive", bsd_archive(&[("a.o", &object), ("b.cubin", &cubin)])),
        ("thin archive", thin_archive(&[("a.o", object.len()), ("dir/b.ltoir", ltoir.len())])),
    ]
}
