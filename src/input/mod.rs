//! What an input is: looked at, not guessed from a file name or from the caller's word.

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::FileHeader;
use serde::Serialize;

use crate::error::{Error, Result, ResultClass};

/// What an input can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    /// A CUDA binary: an ELF file for the machine `EM_CUDA`.
    Cubin,
    /// PTX text.
    Ptx,
    /// LTO-IR, as `nvcc -dlto` and NVRTC's `-dlto` make it.
    LtoIr,
    /// A fat binary: code for several architectures.
    Fatbin,
    /// An ELF file for the host that may carry device code.
    Object,
    /// An archive of objects (`ar`).
    Library,
}

impl InputKind {
    /// The kind as the command line and JSON say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LtoIr => "ltoir",
            Self::Fatbin => "fatbin",
            Self::Object => "object",
            Self::Library => "library",
        }
    }
}

/// One thing to link, owned.
#[derive(Debug)]
pub struct Input {
    name: String,
    kind: InputKind,
    bytes: Vec<u8>,
}

impl Input {
    /// Looks at `bytes`.
    ///
    /// Fails with empty_input, bad_input, unrecognized_input, or wrong_input_kind if `declared` is another kind than the bytes are.
    pub fn new(declared: Option<InputKind>, mut bytes: Vec<u8>, name: &str) -> Result<Self> {
        let fail = |class, text: String| Err(Error::new(class, format!("'{name}' {text}")).on_input(name));
        let text_end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        if bytes[..text_end].trim_ascii().is_empty() {
            return fail(ResultClass::EmptyInput, "is empty".into());
        }
        let Some(kind) = recognize(&bytes) else {
            return fail(ResultClass::UnrecognizedInput, "is neither PTX, LTO-IR, a cubin, a fatbin, a host object nor an archive".into());
        };
        if let Some(declared) = declared.filter(|declared| *declared != kind) {
            return fail(ResultClass::WrongInputKind, format!("is declared as {} and is {}", declared.name(), kind.name()));
        }
        if kind == InputKind::Ptx {
            bytes.truncate(text_end);
            if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
                return fail(ResultClass::BadInput, format!("has a NUL byte in its text, at offset {offset}"));
            }
            // nvJitLink from 12.3 on reads past the end of PTX that has no NUL.
            bytes.push(0);
        }
        Ok(Self { name: name.to_owned(), kind, bytes })
    }

    /// The name that the caller gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// The bytes as a backend gets them: PTX ends in exactly one NUL, everything else is as it came.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What is known about one input, as `cudalink inspect` and `cl_input_describe` say it.
#[derive(Debug, Serialize)]
pub struct Description {
    name: String,
    kind: Option<InputKind>,
    size: usize,
    result: ResultClass,
    message: String,
}

/// Looks at `bytes` without keeping them. What cannot be linked is described too: its result and message say why.
pub fn describe(bytes: &[u8], name: &str) -> Description {
    let (kind, result, message) = match Input::new(None, bytes.to_vec(), name) {
        Ok(input) => (Some(input.kind), ResultClass::Ok, String::new()),
        Err(error) => (recognize(bytes), error.class(), error.to_string()),
    };
    Description { name: name.to_owned(), kind, size: bytes.len(), result, message }
}

impl Description {
    /// The kind, if it was recognized.
    pub fn kind(&self) -> Option<InputKind> {
        self.kind
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// ok, or why it cannot be linked.
    pub fn result(&self) -> ResultClass {
        self.result
    }

    /// Why it cannot be linked; empty if it can.
    pub fn message(&self) -> &str {
        &self.message
    }
}

const LTOIR_MAGIC: [u8; 4] = 0x7F4E_43ED_u32.to_le_bytes();
const FATBIN_MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
/// OptiX-IR shares LTO-IR's magic; this half-word tells them apart.
const LTOIR_FLAVOR: std::ops::Range<usize> = 0x0E..0x10;

fn recognize(bytes: &[u8]) -> Option<InputKind> {
    if bytes.starts_with(&LTOIR_MAGIC) {
        let optix = bytes.get(LTOIR_FLAVOR) == Some(&[2, 0]);
        return (!optix).then_some(InputKind::LtoIr);
    }
    if bytes.starts_with(&FATBIN_MAGIC) {
        return Some(InputKind::Fatbin);
    }
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        return Some(InputKind::Library);
    }
    if bytes.starts_with(b"\x7FELF") {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let machine = header.e_machine.get(header.endian().ok()?);
        return Some(if machine == object::elf::EM_CUDA { InputKind::Cubin } else { InputKind::Object });
    }
    starts_as_ptx(bytes).then_some(InputKind::Ptx)
}

/// PTX begins with `.version`, after blanks and comments.
fn starts_as_ptx(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        rest = rest.trim_ascii_start();
        let comment_end: &[u8] = match rest {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => return rest.starts_with(b".version"),
        };
        let Some(at) = rest.windows(comment_end.len()).skip(2).position(|window| window == comment_end) else { return false };
        rest = &rest[at + 2 + comment_end.len()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_ends_in_one_nul_whatever_the_caller_passed() {
        for tail in ["", "\0", "\0\0\0"] {
            let input = Input::new(None, format!(".version 8.0\n{tail}").into_bytes(), "unit").unwrap();
            assert_eq!(input.bytes(), b".version 8.0\n\0");
        }
    }

    #[test]
    fn ptx_may_begin_with_blanks_and_comments() {
        for text in [
            ".version 8.0",
            "\n\n  .version 8.0",
            "// a\n.version 8.0",
            "/* a\n*/ // b\n.version 8.0",
            "//\n\r\n.version 8.0",
            "/**/.version 8.0",
        ] {
            assert_eq!(recognize(text.as_bytes()), Some(InputKind::Ptx), "{text}");
        }
        for text in ["", "/", "//", "/*", "/*/", "// .version", "text", ".versio"] {
            assert_eq!(recognize(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_linked_is_refused_by_name() {
        for (bytes, class) in [
            (&b""[..], ResultClass::EmptyInput),
            (b" \n\0\0", ResultClass::EmptyInput),
            (b"just text", ResultClass::UnrecognizedInput),
            (b".version 8.0\0\n.target sm_80", ResultClass::BadInput),
            (b"\xED\x43\x4E\x7F\0\0\0\0\0\0\0\0\0\0\x02\0", ResultClass::UnrecognizedInput),
        ] {
            let error = Input::new(None, bytes.to_vec(), "unit").unwrap_err();
            assert_eq!(error.class(), class);
            assert!(error.to_string().contains("'unit'"), "{error}");
        }
    }

    #[test]
    fn a_declared_kind_that_the_bytes_contradict_names_both() {
        let error = Input::new(Some(InputKind::Cubin), b".version 8.0".to_vec(), "unit").unwrap_err();
        assert_eq!((error.class(), error.to_string()), (ResultClass::WrongInputKind, "'unit' is declared as cubin and is ptx".into()));
    }
}
