//! What is known about an input, as `cudalink inspect` and `cl_input_describe` say it.

use serde::Serialize;

use super::added::error;
use super::symbols::{Summary, Symbols};
use super::{Facts, MemberReader, Part, PartKind, examine};
use crate::error::{Error, ResultClass};

/// An input, described. What cannot be linked is described too: `result` and `message` say why it cannot.
#[derive(Debug, Serialize)]
pub struct Description {
    /// What the caller calls it.
    pub name: String,
    /// The kind of the input as a whole; `None` if it was not recognized.
    pub kind: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Whether LTO-IR is among the parts.
    pub has_ltoir: bool,
    /// The names of an archive's members that have device code, in the order of the archive.
    pub members: Vec<String>,
    /// Every piece of device code, in the order of the input.
    pub parts: Vec<PartDescription>,
    /// What it defines and needs, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<SymbolsDescription>,
    /// What is worth telling and no error.
    pub warnings: Vec<String>,
    /// `ok`, or why it cannot be linked.
    pub result: ResultClass,
    /// Why it cannot be linked; empty if it can.
    pub message: String,
}

/// One piece of device code.
#[derive(Debug, Serialize)]
pub struct PartDescription {
    /// `cubin`, `ptx`, `ltoir`, or a kind of fatbin entry that is not linked.
    pub kind: String,
    /// The architecture it was made for.
    pub arch: Option<String>,
    /// The CUDA release that made it, or the oldest one that can read it.
    pub cuda: Option<String>,
    /// Whether it can be linked with others; `None` if its headers do not tell.
    pub relocatable: Option<bool>,
    /// `stored`, `lz4` or `zstd`.
    pub compressed: String,
    /// Where its bytes start in the input, or in the file of a thin archive's member.
    pub offset: u64,
    /// Bytes, as they stand there.
    pub size: u64,
    /// Bytes, unpacked.
    pub unpacked_size: u64,
    /// The archive member it is in, by its index in `members`.
    pub member: Option<usize>,
    /// The section of the host object it is in.
    pub section: Option<&'static str>,
}

/// The symbols of an input as a whole, sorted by name.
#[derive(Debug, Serialize)]
pub struct SymbolsDescription {
    /// What other inputs can see.
    pub defined: Vec<DefinedSymbol>,
    /// What a part needs and none of the input's parts defines; of these, [the driver](super::is_provided_by_the_driver) has some.
    pub undefined: Vec<String>,
    /// Whether there are no others: false if there is LTO-IR, or a part that cannot be read.
    pub complete: bool,
}

/// A symbol that an input defines.
#[derive(Debug, Serialize)]
pub struct DefinedSymbol {
    /// Its name as the linker sees it.
    pub name: String,
    /// `kernel`, `function` or `variable`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `strong`, `weak` or `common`; the first of these where parts differ.
    pub binding: &'static str,
}

/// Describes `bytes` without keeping them. `read_member` reads the files that a thin archive names.
pub fn describe(bytes: &[u8], name: &str, read_member: &mut MemberReader) -> Description {
    let mut description = match examine(bytes, read_member) {
        Ok(facts) => Description::of_facts(name, facts),
        Err(problem) => Description::of_failure(name, &error(&problem, name)),
    };
    description.size = bytes.len() as u64;
    description
}

/// The same with the symbols. Every part is unpacked and read for that, so the cost follows the size of what is packed: up to
/// `max_unpacked_bytes` for all parts together.
pub fn describe_with_symbols(bytes: &[u8], name: &str, read_member: &mut MemberReader, max_unpacked_bytes: u64) -> Description {
    let mut description = match examine(bytes, read_member) {
        Ok(facts) => {
            let (symbols, unreadable) = SymbolsDescription::new(&facts, bytes, max_unpacked_bytes);
            let mut description = Description::of_facts(name, facts);
            description.symbols = Some(symbols);
            description.warnings.extend(unreadable);
            description
        }
        Err(problem) => Description::of_failure(name, &error(&problem, name)),
    };
    description.size = bytes.len() as u64;
    description
}

impl SymbolsDescription {
    /// The symbols, and why those of some parts cannot be read.
    fn new(facts: &Facts, bytes: &[u8], max_unpacked_bytes: u64) -> (Self, Vec<String>) {
        let mut summary = Summary::default();
        let mut complete = true;
        let mut unreadable = Vec::new();
        let (mut unpacked, mut left_out) = (0_u64, 0_usize);
        // The images of a block follow each other, and it is unpacked once for them.
        for together in facts.parts.chunk_by(|one, next| one.is_packed_with(next)) {
            let [first, ..] = together else { continue };
            if !together.iter().any(Part::has_known_symbols) {
                complete = false;
                continue;
            }
            let index = first.index;
            let size = unpacked.saturating_add(first.bytes_to_unpack());
            if size > max_unpacked_bytes {
                complete = false;
                left_out = left_out.saturating_add(together.len());
                continue;
            }
            unpacked = size;
            let packed_in = match facts.unpack(bytes, first) {
                Ok(packed_in) => packed_in,
                Err(problem) => {
                    complete = false;
                    unreadable.push(format!("the symbols of part {index} cannot be read: {problem}"));
                    continue;
                }
            };
            for part in together {
                match part.image_in(&packed_in).and_then(|image| part.symbols(image)) {
                    Ok(Symbols::Known(symbols)) => summary.add(symbols),
                    Ok(Symbols::Unknown) => complete = false,
                    Err(problem) => {
                        complete = false;
                        unreadable.push(format!("the symbols of part {} cannot be read: {problem}", part.index));
                    }
                }
            }
        }
        if left_out > 0 {
            let parts = if left_out == 1 { "part" } else { "parts" };
            unreadable.push(format!(
                "the symbols of {left_out} {parts} are not read: max_unpacked_bytes allows {max_unpacked_bytes} bytes of unpacked code \
                 for all parts together"
            ));
        }
        let undefined = summary.undefined().cloned().collect();
        let defined = summary.defined.into_iter();
        let defined = defined.map(|(name, (kind, binding))| DefinedSymbol { name, kind: kind.name(), binding: binding.name() });
        (Self { defined: defined.collect(), undefined, complete }, unreadable)
    }
}

impl Description {
    /// What is left to say of an input that could not be read or understood.
    pub fn of_failure(name: &str, error: &Error) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            size: 0,
            has_ltoir: false,
            members: Vec::new(),
            parts: Vec::new(),
            symbols: None,
            warnings: Vec::new(),
            result: error.class(),
            message: error.to_string(),
        }
    }

    fn of_facts(name: &str, facts: Facts) -> Self {
        let is_empty = facts.parts.is_empty();
        Self {
            name: name.to_owned(),
            kind: Some(facts.kind.to_string()),
            size: 0,
            has_ltoir: facts.parts.iter().any(|part| part.kind == PartKind::LtoIr),
            parts: facts.parts.iter().map(PartDescription::new).collect(),
            symbols: None,
            members: facts.members,
            warnings: facts.warnings,
            result: if is_empty { ResultClass::NoDeviceCode } else { ResultClass::Ok },
            message: if is_empty { format!("'{name}' has no device code") } else { String::new() },
        }
    }
}

impl PartDescription {
    fn new(part: &Part) -> Self {
        Self {
            kind: part.kind.to_string(),
            arch: part.arch.map(|arch| arch.to_string()),
            cuda: part.producer.cuda().map(|(major, minor)| format!("{major}.{minor}")),
            relocatable: part.relocatable,
            compressed: part.compression.to_string(),
            offset: part.offset,
            size: part.size,
            unpacked_size: part.unpacked_size,
            member: part.place.member,
            section: part.place.section,
        }
    }
}
