//! Which kind of input some bytes are, told by how they start.

use super::bytes::View;
use super::{Facts, InputKind, Place, Problem, archive, cubin, fatbin, host_object, ltoir, ptx};

const ELF: &[u8] = b"\x7FELF";

/// What people hand in by mistake, so that the message can say it.
const LOOKS_LIKE: [(&[u8], &str); 21] = [
    (b"\x10\xFF\x10\xAD", "an LLVM offload binary"),
    (b"__CLANG_OFFLOAD_BUNDLE__", "a clang offload bundle"),
    (b"BC\xC0\xDE", "LLVM bitcode"),
    (b"\xDE\xC0\x17\x0B", "LLVM bitcode"),
    (b"\xB1\x43\x62\x46", "a .nvFatBinSegment, which only points at a fatbin"),
    (b"\x01\x5A\xE5\x1E", "a fatbin of the old kind, before CUDA 4"),
    (b"\x7FTileIR", "Tile IR bytecode"),
    (b"\x03\x02\x23\x07", "SPIR-V"),
    (b"\xCF\xFA\xED\xFE", "a Mach-O file"),
    (b"\xCE\xFA\xED\xFE", "a Mach-O file"),
    (b"\xFE\xED\xFA\xCF", "a Mach-O file"),
    (b"\xFE\xED\xFA\xCE", "a Mach-O file"),
    (b"\xCA\xFE\xBA\xBE", "a Mach-O universal file"),
    (b"<bigaf>\n", "an AIX archive"),
    (b"\x28\xB5\x2F\xFD", "zstd-compressed data"),
    (b"\x1F\x8B", "gzip-compressed data"),
    (b"PK\x03\x04", "a zip file"),
    (b"\xFF\xFE", "UTF-16 text"),
    (b"\xFE\xFF", "UTF-16 text"),
    (b"; ModuleID", "LLVM IR text"),
    (b"target datalayout", "LLVM IR text"),
];

/// The kind of `view`; PTX and COFF are only looked for when no magic number is found.
pub(super) fn kind_of(view: View) -> Result<InputKind, Problem> {
    if view.is_empty() {
        return Err(Problem::Empty);
    }
    if view.starts_with(ELF) {
        return match host_object::elf_is_cubin(view) {
            Some(true) => Ok(InputKind::Cubin),
            Some(false) => Ok(InputKind::Object),
            None => Err(view.damaged(view.len(), "ELF header that is cut off")),
        };
    }
    let magics: [(&[u8], InputKind); 5] = [
        (&fatbin::MAGIC, InputKind::Fatbin),
        (&ltoir::MAGIC, InputKind::LtoIr),
        (archive::MAGIC, InputKind::Library),
        (archive::THIN_MAGIC, InputKind::Library),
        (b"MZ", InputKind::Object),
    ];
    if let Some((_, kind)) = magics.iter().find(|(magic, _)| view.starts_with(magic)) {
        return Ok(*kind);
    }
    if let Some((_, what)) = LOOKS_LIKE.iter().find(|(magic, _)| view.starts_with(magic)) {
        return Err(Problem::Unrecognized { looks_like: Some(what) });
    }
    if host_object::is_coff(view) {
        return Ok(InputKind::Object);
    }
    if ptx::is_ptx(view) {
        return Ok(InputKind::Ptx);
    }
    if ptx::is_blank(view) {
        return Err(Problem::Empty);
    }
    Err(Problem::Unrecognized { looks_like: ptx::is_text(view).then_some("text, but no PTX: it does not start with .version") })
}

/// Reads an input of any kind but an archive.
pub(super) fn read_single(kind: InputKind, view: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    match kind {
        InputKind::Cubin => facts.push(cubin::part(view, place)?),
        InputKind::Ptx => facts.push(ptx::part(view, place)?),
        InputKind::LtoIr => facts.push(ltoir::part(view, place)?),
        InputKind::Fatbin => fatbin::read(view, place, None, facts)?,
        InputKind::Object if view.starts_with(ELF) => host_object::read_elf(view, place, facts)?,
        InputKind::Object if view.starts_with(b"MZ") => host_object::read_pe(view, place, facts)?,
        InputKind::Object => host_object::read_coff(view, place, facts)?,
        InputKind::Library => {}
    }
    Ok(())
}
