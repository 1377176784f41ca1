//! The plan: exactly what a backend is told, and why.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use cudarc::driver::sys::CUjit_option;

use super::Version;
use crate::arch::Arch;
use crate::input::PartKind;
use crate::options::OutputKind;

/// What the policy has to know about a library that links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LibraryFacts {
    /// Whose library it is.
    #[serde(skip)]
    pub linker: LinkerLibrary,
    /// The file, without links.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The CUDA release; `None` if the library does not say. The policy takes such a library for the newest it knows.
    pub version: Option<Version>,
}

/// The libraries that can link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkerLibrary {
    /// nvJitLink.
    Nvjitlink {
        /// The functions that give linked LTO-IR are exported. From 13.4 on they work.
        exports_linked_ltoir: bool,
    },
    /// The CUDA driver.
    Driver,
}

impl LinkerLibrary {
    /// Its name, for a message.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvjitlink { .. } => "nvJitLink",
            Self::Driver => "the CUDA driver",
        }
    }
}

/// JSON is UTF-8, and a path need not be.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl LibraryFacts {
    /// An nvJitLink.
    pub fn nvjitlink(path: PathBuf, version: Option<Version>, exports_linked_ltoir: bool) -> Self {
        Self { linker: LinkerLibrary::Nvjitlink { exports_linked_ltoir }, path, version }
    }

    /// A CUDA driver, with the newest CUDA release that it runs.
    pub fn driver(path: PathBuf, version: Version) -> Self {
        Self { linker: LinkerLibrary::Driver, path, version: Some(version) }
    }

    /// The library for a message, such as "nvJitLink 13.5 (/usr/lib/libnvJitLink.so.13)".
    pub fn describe(&self) -> String {
        let version = self.version.map_or("of unknown version".to_owned(), |version| version.to_string());
        format!("{} {version} ({})", self.linker.name(), self.path.display())
    }
}

/// What a rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is there though the caller did not ask for it.
    Added,
    /// It is not there though the caller asked for it.
    Dropped,
    /// It is there in another form.
    Changed,
    /// It is as asked, where something spoke against it.
    Kept,
}

/// One thing that the policy decided beyond passing on what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The rule's name.
    pub rule: &'static str,
    /// What it is about: an option in nvJitLink's spelling, an input, `library`, `backend` or `cache`.
    pub option: String,
    /// What was done.
    pub action: Action,
    /// Why.
    pub reason: String,
}

/// Who links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedBackend {
    /// Nobody: the one input is the output.
    None,
    /// nvJitLink.
    Nvjitlink,
    /// The CUDA driver's cuLink functions.
    Driver,
}

/// An option as the backend gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedOption {
    /// A flag of nvJitLink.
    Flag(String),
    /// An option of cuLinkCreate, and its value.
    Jit(CUjit_option, u32),
}

impl fmt::Display for PlannedOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Jit(option, value) => write!(f, "{option:?}={value}"),
        }
    }
}

impl Serialize for PlannedOption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One image that the backend gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedImage {
    /// The index of the input.
    #[serde(skip)]
    pub input: usize,
    /// The index of the piece in the input.
    #[serde(skip)]
    pub piece: usize,
    /// The input's name, and the archive member's.
    #[serde(serialize_with = "as_text")]
    pub name: Arc<str>,
    /// The entry that is used of a fatbin, or all of any other image; `None` if only the library can tell.
    pub used: Option<UsedPart>,
    /// Whether its images are to be given uncompressed.
    #[serde(skip)]
    pub unpack: bool,
}

/// What is used of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UsedPart {
    /// What it is.
    #[serde(serialize_with = "as_text")]
    pub kind: PartKind,
    /// For which architecture; `None` if it does not say.
    pub arch: Option<Arch>,
}

fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl fmt::Display for UsedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.arch {
            Some(arch) => write!(f, "{arch} {}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

/// What a backend is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Who links.
    pub backend: PlannedBackend,
    /// With which library.
    pub library: Option<LibraryFacts>,
    /// What it gives.
    #[serde(skip)]
    pub output: OutputKind,
    /// The options, in the order and spelling in which the backend gets them.
    pub options: Vec<PlannedOption>,
    /// What was decided beyond passing on what was asked, and why.
    pub decisions: Vec<Decision>,
    /// The images, in the order in which the backend gets them.
    pub images: Vec<PlannedImage>,
}

impl Plan {
    /// Who links, for a message.
    pub fn describe_backend(&self) -> String {
        self.library.as_ref().map_or("nobody: the input is the output".to_owned(), LibraryFacts::describe)
    }
}
