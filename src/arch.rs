//! A CUDA target architecture, as a name.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::{Error, Result, ResultClass};

/// What follows the number of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArchSuffix {
    /// Nothing: code runs on later devices of the family too.
    None,
    /// `a`: architecture-specific, runs on exactly this one.
    A,
    /// `f`: family-specific.
    F,
}

/// `sm_90`, `sm_90a`, `compute_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    /// 90 in `sm_90a`.
    pub number: u32,
    /// `a` in `sm_90a`.
    pub suffix: ArchSuffix,
    /// `compute_XX` is virtual, `sm_XX` is real.
    pub is_virtual: bool,
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::new(ResultClass::BadArch, format!("'{text}' is no architecture"))
                .hint("an architecture is sm_ or compute_, two or three digits, and a or f where it has one: sm_90, sm_100a")
        };
        let (name, is_virtual) = match (text.strip_prefix("sm_"), text.strip_prefix("compute_")) {
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
            _ => return Err(bad()),
        };
        let (digits, suffix) = match (name.strip_suffix('a'), name.strip_suffix('f')) {
            (Some(digits), _) => (digits, ArchSuffix::A),
            (_, Some(digits)) => (digits, ArchSuffix::F),
            _ => (name, ArchSuffix::None),
        };
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) || digits.starts_with('0') {
            return Err(bad());
        }
        Ok(Self { number: digits.parse().map_err(|_| bad())?, suffix, is_virtual })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_virtual { "compute" } else { "sm" };
        let suffix = match self.suffix {
            ArchSuffix::None => "",
            ArchSuffix::A => "a",
            ArchSuffix::F => "f",
        };
        write!(f, "{prefix}_{}{suffix}", self.number)
    }
}

impl Serialize for Arch {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_reads_back_as_it_was_written() {
        for text in ["sm_75", "sm_90a", "sm_100f", "compute_80", "compute_121a"] {
            assert_eq!(text.parse::<Arch>().unwrap().to_string(), text);
        }
    }

    // Some of these end the whole process when nvJitLink sees them.
    #[test]
    fn what_is_no_architecture_is_refused() {
        for text in [
            "", "80", "sm_8", "SM_80", "sm_", "sm_1234", "sm_90b", "sm_90af", "sm_9a", "sm_x0", "lto_80", " sm_80", "sm_80 ", "sm_08",
            "sm_٣٣",
        ] {
            assert_eq!(text.parse::<Arch>().unwrap_err().class(), ResultClass::BadArch, "{text}");
        }
    }
}
