//! Reading from bytes that nobody vouches for.

use std::fmt::Display;

use super::Problem;

/// Some bytes of the input, with the offset at which they stand in it, so that damage is reported where the caller can find it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub bytes: &'a [u8],
    pub offset: u64,
}

impl<'a> View<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        View { bytes, offset: 0 }
    }

    pub fn len(self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    pub fn starts_with(self, magic: &[u8]) -> bool {
        self.bytes.starts_with(magic)
    }

    /// The `len` bytes from `at` on; `what` names them should they not be there.
    pub fn slice(self, at: u64, len: u64, what: impl Display) -> Result<View<'a>, Problem> {
        let range = || {
            let start = usize::try_from(at).ok()?;
            let end = start.checked_add(usize::try_from(len).ok()?)?;
            self.bytes.get(start..end)
        };
        match range() {
            Some(bytes) => Ok(View { bytes, offset: self.offset.saturating_add(at) }),
            None => {
                let left = self.len().saturating_sub(at);
                Err(self.damaged(at, format!("{what} is cut off: {len} bytes are declared, {left} are there")))
            }
        }
    }

    /// Everything from `at` on; nothing if `at` is past the end.
    pub fn tail(self, at: u64) -> View<'a> {
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes.len());
        View { bytes: self.bytes.get(start..).unwrap_or_default(), offset: self.offset.saturating_add(start as u64) }
    }

    pub fn array<const N: usize>(self, at: u64, what: &str) -> Result<[u8; N], Problem> {
        let bytes = self.slice(at, N as u64, what)?.bytes;
        <[u8; N]>::try_from(bytes).map_err(|_| self.damaged(at, what))
    }

    pub fn u8(self, at: u64, what: &str) -> Result<u8, Problem> {
        self.array(at, what).map(|[byte]| byte)
    }

    pub fn u16(self, at: u64, what: &str) -> Result<u16, Problem> {
        self.array(at, what).map(u16::from_le_bytes)
    }

    pub fn u32(self, at: u64, what: &str) -> Result<u32, Problem> {
        self.array(at, what).map(u32::from_le_bytes)
    }

    pub fn u64(self, at: u64, what: &str) -> Result<u64, Problem> {
        self.array(at, what).map(u64::from_le_bytes)
    }

    /// Damage at `at`, counted from the start of this view.
    pub fn damaged(self, at: u64, what: impl Into<String>) -> Problem {
        Problem::Damaged { what: what.into(), offset: self.offset.saturating_add(at) }
    }
}

/// Keeps hostile headers from making us look at the same bytes again and again: what is looked at may overlap, as names in string tables do,
/// but not so much that it adds up to many times the file.
pub(super) struct Budget<'a> {
    file: View<'a>,
    left: u64,
}

impl<'a> Budget<'a> {
    pub fn new(file: View<'a>, times: u64) -> Self {
        Budget { file, left: file.len().saturating_mul(times) }
    }

    pub fn spend(&mut self, bytes: u64, what: &str) -> Result<(), Problem> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.file.damaged(0, format!("{what} that overlap"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_no_byte_that_is_not_there() {
        let view = View { bytes: &[1, 2, 3, 4], offset: 100 };
        assert_eq!(view.u32(0, "x"), Ok(0x0403_0201));
        assert_eq!(view.slice(4, 0, "x").unwrap().bytes, b"");
        for (at, len) in [(4, 1), (5, 0), (0, 5), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            let Err(Problem::Damaged { offset, .. }) = view.slice(at, len, "x") else { panic!("{at} {len}") };
            assert_eq!(offset, at.saturating_add(100));
        }
        assert_eq!(view.tail(3).bytes, [4]);
        assert_eq!(view.tail(3).offset, 103);
        assert!(view.tail(u64::MAX).is_empty());
    }

    #[test]
    fn a_budget_ends() {
        let mut budget = Budget::new(View::new(&[0; 10]), 2);
        assert_eq!(budget.spend(20, "names"), Ok(()));
        assert_eq!(budget.spend(0, "names"), Ok(()));
        assert!(budget.spend(1, "names").is_err());
    }
}
