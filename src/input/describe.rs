//! What is known about an input, as `cudalink inspect` and `cl_input_describe` say it.

use serde::Serialize;

use super::added::error;
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
    /// Every piece of device code, in the order of the input.
    pub parts: Vec<PartDescription>,
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
    /// The archive member it is in.
    pub member: Option<String>,
    /// The section of the host object it is in.
    pub section: Option<&'static str>,
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

impl Description {
    /// What is left to say of an input that could not be read or understood.
    pub fn of_failure(name: &str, error: &Error) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            size: 0,
            has_ltoir: false,
            parts: Vec::new(),
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
            member: part.place.member.as_deref().map(str::to_owned),
            section: part.place.section,
        }
    }
}
