//! What the inputs are: bytes in, [`Facts`] out.
//!
//! Nothing here is trusted: every length is checked against the bytes that are there, and damage is reported with what and where.
//! Nothing is copied and nothing unpacked: [`examine`] reads headers, so its cost follows their number and not the size of the input.
//! (PTX text is the exception: that no NUL is inside can only be seen by looking at all of it.)
//!
//! - `recognize` tells the kind by how the bytes start;
//! - `ptx`, `ltoir` and `cubin` each read one image, and `cubin_tables` what a linker follows in a relocatable cubin;
//! - `fatbin` reads containers of images, `host_object` the sections that hold containers, `archive` the members of an archive;
//! - `symbols` lists what an image defines and needs, of PTX with the help of `ptx_symbols`;
//! - `added` holds an input for the linker, `describe` says what is known of it;
//! - `unpack` is the only place that decompresses, and only when a caller asks for a part's bytes or symbols.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::arithmetic_side_effects)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::arithmetic_side_effects)
)]

mod added;
mod archive;
mod bytes;
mod cubin;
mod cubin_tables;
mod describe;
mod facts;
mod fatbin;
mod host_object;
mod ltoir;
mod ptx;
mod ptx_symbols;
mod recognize;
mod symbols;
mod unpack;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use crate::arch::{Arch, ArchSuffix};
pub use crate::release::Version;
pub use added::{Input, Piece, PieceKind, members_beside};
pub use archive::MemberReader;
pub use describe::{DefinedSymbol, Description, PartDescription, SymbolsDescription, describe, describe_with_symbols};
pub use facts::{Block, Compression, Container, Facts, InputKind, Inside, OutsideFile, Part, PartKind, Place, Problem, Producer};
pub use fatbin::unpacked_fatbin;
pub use ptx::{Ptx, read_ptx};
pub use symbols::{Binding, Memory, Symbol, SymbolKind, Symbols, is_provided_by_the_driver, name_without_static, symbols};
pub use unpack::MAX_UNPACKED_SIZE;

use bytes::View;

/// Tells what `bytes` are and what is in them.
///
/// `read_member` is asked for the files that a thin archive names, each once; it may always answer `None`, which gives a warning. Offsets in
/// the facts count from the start of `bytes`, or of the file for a member of a thin archive.
pub fn examine(bytes: &[u8], read_member: &mut MemberReader) -> Result<Facts, Problem> {
    let view = View::new(bytes);
    let kind = recognize::kind_of(view)?;
    let mut facts = Facts::new(kind);
    match kind {
        InputKind::Library => archive::read(view, read_member, &mut facts)?,
        _ => recognize::read_single(kind, view, &Place::default(), &mut facts)?,
    }
    Ok(facts)
}
