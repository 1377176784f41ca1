//! From what the caller asked, what the inputs are and what the library can do, to a plan or one clear contradiction.
//!
//! Pure: no I/O, no `unsafe`, no clock. Every version is tested here without any library at hand.

pub mod arch;
mod choice;
mod limits;
pub mod plan;
mod request;
mod rules;
mod symbols;
pub mod table;
mod used;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::release;

pub use arch::EntryRule;
pub use choice::{DRIVER_FOR_THE_JOB, choose};
pub use plan::{Action, Decision, LibraryFacts, LinkerLibrary, Plan, PlannedBackend, PlannedImage, PlannedOption, UsedPart};
pub use request::{LinkBy, Request};
pub use rules::newer_than_driver;
pub use symbols::LinkSymbols;

/// The CUDA release of a library: 12.9, 13.5. No patch level is reported by any of them.
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

    /// From the pair that inputs tell.
    pub const fn of((major, minor): release::Version) -> Self {
        Self { major: major as u32, minor: minor as u32 }
    }
}

/// The oldest release that the tables know.
pub const OLDEST: Version = Version::of(release::OLDEST);
/// The newest release that the tables know.
pub const NEWEST: Version = Version::of(release::NEWEST);

/// The targets that a release links for, without their `sm_`; those of the nearest older one for a release that is in no table.
pub fn targets_of(version: Version) -> &'static [&'static str] {
    let part = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    release::targets_of((part(version.major), part(version.minor)))
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
