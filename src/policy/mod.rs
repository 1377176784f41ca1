//! From what the caller asked, what the inputs are and what the library can do, to a plan or one clear contradiction.
//!
//! Pure: no I/O, no `unsafe`, no clock. Every version is tested here without any library at hand.

pub mod arch;
pub mod plan;
mod request;
mod rules;
pub mod table;

use std::fmt;

use serde::{Serialize, Serializer};

pub use plan::{Action, Decision, LibraryFacts, Plan, PlannedBackend, PlannedImage};
pub use request::Request;

/// The release of an nvJitLink: 12.9, 13.5. No patch level is reported by any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version, which the SONAME carries too.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl Version {
    /// `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
