//! An input as the linker holds it: owned, looked at, and cut into what a backend takes one by one.

use std::borrow::Cow;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::{Facts, InputKind, Inside, MemberReader, Part, PartKind, Problem, Symbols, examine, unpacked_fatbin};
use crate::error::{Error, Result, ResultClass};

/// One thing to link.
#[derive(Debug)]
pub struct Input {
    name: String,
    bytes: Vec<u8>,
    facts: Facts,
    pieces: Vec<Piece>,
    /// What the packed parts tell that were looked into, by their index: each is unpacked once for it, however often it is asked.
    inside: Box<[OnceLock<Box<Inside>>]>,
}

/// What a backend takes as one image: a whole input, or one fatbin of many in it.
///
/// A host object or archive is never given as it is. nvJitLink reads only the first fatbin of an `ld -r` object, 12.0 crashes on
/// archives and links objects from memory that it has freed, and no release reads objects of another platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How the image is to be read.
    pub kind: PieceKind,
    /// For messages: the input's name, and the archive member's, of which only the end where it is long.
    pub name: Arc<str>,
    /// The archive member that it is of, by its index in the facts.
    pub member: Option<usize>,
    /// Its parts, by their index in the facts.
    pub parts: Range<usize>,
    container: Option<usize>,
}

/// Ends PTX as every backend reads it. nvJitLink from 12.3 on reads past the end of PTX that has no NUL, and 12.0 dies of a comment that the NUL
/// ends (measured).
fn end_ptx(text: &mut Vec<u8>) {
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
    text.push(0);
}

/// The kinds of image that every nvJitLink reads; the driver reads all but LTO-IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// One cubin.
    Cubin,
    /// PTX text.
    Ptx,
    /// One LTO-IR.
    LtoIr,
    /// One fatbin container.
    Fatbin,
}

impl Input {
    /// Looks at `bytes`. `declared` is what the caller says they are; `read_member` reads the files that a thin archive names.
    ///
    /// Fails with empty_input, bad_input, unrecognized_input, or wrong_input_kind if `declared` is another kind than the bytes are.
    pub fn new(declared: Option<InputKind>, mut bytes: Vec<u8>, name: &str, read_member: &mut MemberReader) -> Result<Self> {
        let facts = examine(&bytes, read_member).map_err(|problem| error(&problem, name))?;
        if let Some(declared) = declared.filter(|declared| *declared != facts.kind) {
            let text = format!("'{name}' is declared as {declared} and is {}", facts.kind);
            return Err(Error::new(ResultClass::WrongInputKind, text).on_input(name));
        }
        if let (InputKind::Ptx, [ptx]) = (facts.kind, &facts.parts[..]) {
            bytes.truncate(usize::try_from(ptx.offset.saturating_add(ptx.size)).unwrap_or(usize::MAX));
            end_ptx(&mut bytes);
        }
        let pieces = pieces(&facts, name);
        let inside = facts.parts.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { name: name.to_owned(), bytes, facts, pieces, inside })
    }

    /// The name that the caller gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All that is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What a backend takes of it, in the order of the input. Empty if there is no device code in it.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The parts of a piece.
    pub fn parts(&self, piece: &Piece) -> &[Part] {
        self.facts.parts.get(piece.parts.clone()).unwrap_or_default()
    }

    /// The image as a backend takes it: PTX ends in a newline and exactly one NUL, everything else is as it came.
    pub fn image(&self, piece: &Piece) -> Result<Cow<'_, [u8]>> {
        let found = match (piece.container, self.parts(piece)) {
            (Some(index), _) => {
                self.facts.containers.get(index).map(|fatbin| self.facts.container_bytes(&self.bytes, fatbin).map(Cow::Borrowed))
            }
            (None, [part, ..]) => Some(self.facts.part_bytes(&self.bytes, part).map(|bytes| match part.kind {
                PartKind::Ptx => self.with_end(part, bytes),
                _ => bytes,
            })),
            (None, []) => None,
        };
        match found {
            Some(image) => image.map_err(|problem| error(&problem, &piece.name)),
            None => Err(Error::new(ResultClass::Internal, format!("'{}' has no such image", piece.name))),
        }
    }

    /// Bytes that [`unpacked_image`](Self::unpacked_image) unpacks: every packed image once, and a block of several as a whole.
    pub fn bytes_to_unpack(&self, piece: &Piece) -> u64 {
        let packed_together = self.parts(piece).chunk_by(|one, next| one.is_packed_with(next));
        packed_together.filter_map(|parts| parts.first()).fold(0, |sum, part| sum.saturating_add(part.bytes_to_unpack()))
    }

    /// The same fatbin with every image stored, for a backend that cannot read how they are compressed.
    pub fn unpacked_image(&self, piece: &Piece) -> Result<Vec<u8>> {
        unpacked_fatbin(&self.image(piece)?).map_err(|problem| error(&problem, &piece.name))
    }

    /// A part with what only its payload tells, which is unpacked for it.
    pub fn look_inside(&self, part: &Part) -> Result<Part> {
        self.inside(part).map(|inside| inside.part.clone())
    }

    /// The bytes of a part, unpacked.
    pub fn part_bytes(&self, part: &Part) -> Result<Cow<'_, [u8]>> {
        self.facts.part_bytes(&self.bytes, part).map_err(|problem| error(&problem, &self.name))
    }

    /// The symbols of a part, which is unpacked for it.
    pub fn symbols(&self, part: &Part) -> Result<Symbols> {
        if part.bytes_to_unpack() > 0 {
            return self.inside(part).map(|inside| inside.symbols.clone());
        }
        self.facts.symbols(&self.bytes, part).map_err(|problem| error(&problem, &self.name))
    }

    fn inside(&self, part: &Part) -> Result<&Inside> {
        let kept = self.inside.get(part.index).ok_or_else(|| Error::new(ResultClass::Internal, "a part of another input"))?;
        if let Some(inside) = kept.get() {
            return Ok(inside);
        }
        let inside = self.facts.inside(&self.bytes, part).map_err(|problem| error(&problem, &self.name))?;
        Ok(kept.get_or_init(|| Box::new(inside)))
    }

    /// The text of an input that is PTX is followed by our own end; that of an archive member is not.
    fn with_end<'a>(&'a self, part: &Part, text: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        match (self.facts.kind, usize::try_from(part.offset)) {
            (InputKind::Ptx, Ok(start)) => self.bytes.get(start..).map_or(text, Cow::Borrowed),
            _ => {
                let mut text = text.into_owned();
                end_ptx(&mut text);
                Cow::Owned(text)
            }
        }
    }
}

/// Reads the members of a thin archive beside it: their names are relative to its folder.
pub fn members_beside(archive: &Path) -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = archive.parent().unwrap_or(Path::new("")).to_owned();
    move |name| {
        let path = folder.join(OsStr::from_bytes(name));
        // A device or a pipe may never end.
        path.is_file().then(|| fs::read(path).ok()).flatten()
    }
}

fn pieces(facts: &Facts, name: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let whole: Arc<str> = name.into();
    for (index, part) in facts.parts.iter().enumerate() {
        let next = index.saturating_add(1);
        let last = pieces.last_mut();
        let same_name = last.as_ref().filter(|last| last.member == part.place.member).map(|last| last.name.clone());
        if let Some(last) = last.filter(|last| last.container.is_some() && last.container == part.container) {
            last.parts.end = next;
            continue;
        }
        let kind = match (part.container, part.kind) {
            (Some(_), _) => PieceKind::Fatbin,
            (None, PartKind::Ptx) => PieceKind::Ptx,
            (None, PartKind::LtoIr) => PieceKind::LtoIr,
            (None, _) => PieceKind::Cubin,
        };
        let name = same_name.unwrap_or_else(|| match facts.member(&part.place) {
            Some(member) => format!("{name}({})", ending(member)).into(),
            None => whole.clone(),
        });
        pieces.push(Piece { kind, name, member: part.place.member, parts: index..next, container: part.container });
    }
    pieces
}

/// A member's name for a message, of which there may be one for each of its symbols. Its end tells more than its beginning.
fn ending(member: &str) -> Cow<'_, str> {
    const LONGEST: usize = 256;
    match member.get(member.ceil_char_boundary(member.len().saturating_sub(LONGEST))..) {
        Some(end) if end.len() < member.len() => format!("...{end}").into(),
        _ => member.into(),
    }
}

/// What is wrong with an input, as the linker says it.
pub(super) fn error(problem: &Problem, name: &str) -> Error {
    let (class, text) = match problem {
        Problem::Empty => (ResultClass::EmptyInput, "is empty".to_owned()),
        Problem::Damaged { .. } => (ResultClass::BadInput, format!("is {problem}")),
        Problem::TooLarge { .. } => (ResultClass::OverLimit, format!("is too large: {problem}")),
        Problem::Unrecognized { looks_like: Some(what) } => (ResultClass::UnrecognizedInput, format!("cannot be linked: it is {what}")),
        Problem::Unrecognized { looks_like: None } => {
            (ResultClass::UnrecognizedInput, "is neither PTX, LTO-IR, a cubin, a fatbin, a host object nor an archive".to_owned())
        }
        Problem::CannotUnpack { .. } => (ResultClass::InputTooNew, problem.to_string()),
    };
    Error::new(class, format!("'{name}' {text}")).on_input(name)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn input(bytes: &[u8]) -> Result<Input> {
        Input::new(None, bytes.to_vec(), "unit", &mut |_| None)
    }

    #[test]
    fn ptx_ends_in_a_newline_and_one_nul_whatever_the_caller_passed() {
        for (head, tail) in [("", "\n"), ("", ""), ("", "\0"), ("", "\n\0\0\0"), ("\u{feff}", ""), ("\u{feff}", "\n\0")] {
            let input = input(format!("{head}.version 8.0\n.target sm_80{tail}").as_bytes()).unwrap();
            let [piece] = input.pieces() else { panic!("{:?}", input.pieces()) };
            assert_eq!(input.image(piece).unwrap(), &b".version 8.0\n.target sm_80\n\0"[..]);
        }
    }

    #[test]
    fn every_fatbin_of_an_object_is_a_piece() {
        for (name, bytes) in samples::all() {
            let expected = match name {
                "row" => 2,
                "object" | "coff" | "pe" => 3,
                "archive" => 6,
                "bsd archive" => 4,
                "thin archive" => 0,
                _ => 1,
            };
            let input = input(&bytes).unwrap();
            assert_eq!(input.pieces().len(), expected, "{name}: {:?}", input.pieces());
            for piece in input.pieces() {
                assert!(!input.image(piece).unwrap().is_empty());
                assert!(piece.name.starts_with("unit"));
            }
        }
    }

    #[test]
    fn a_packed_part_is_unpacked_once_however_often_it_is_asked() {
        let cubin = samples::cubin(90, "13.5", "sm_90");
        for (flags, payload) in [(0x2011, samples::lz4(&cubin)), (0x8011, samples::zstd(&cubin))] {
            let (kind, unpacked) = (2, cubin.len());
            let entry = samples::Entry { kind, version: (1, 8), sm: 90, flags, payload: &payload, unpacked, ..Default::default() };
            let mut input = input(&samples::fatbin(&[entry])).unwrap();
            let part = input.facts.parts[0].clone();
            let told = input.look_inside(&part).unwrap();
            // What is not there any more cannot be unpacked.
            input.bytes.fill(0);
            assert_eq!(input.look_inside(&part).unwrap(), told);
            assert_eq!(input.symbols(&told).unwrap(), input.symbols(&part).unwrap());
        }
    }

    #[test]
    fn what_cannot_be_linked_is_refused_by_name() {
        for (bytes, class) in [
            (&b""[..], ResultClass::EmptyInput),
            (b" \n\0\0", ResultClass::EmptyInput),
            (b"just text", ResultClass::UnrecognizedInput),
            (b".version 8.0\0\n.target sm_80", ResultClass::BadInput),
        ] {
            let error = input(bytes).unwrap_err();
            assert_eq!(error.class(), class);
            assert!(error.to_string().contains("'unit'"), "{error}");
        }
    }

    #[test]
    fn a_declared_kind_that_the_bytes_contradict_names_both() {
        let error = Input::new(Some(InputKind::Cubin), b".version 8.0\n.target sm_80\n".to_vec(), "unit", &mut |_| None).unwrap_err();
        assert_eq!((error.class(), error.to_string()), (ResultClass::WrongInputKind, "'unit' is declared as cubin and is ptx".into()));
    }
}
