//! What a link may take, so that a small input cannot cost a large machine.

use crate::error::{Error, Result, ResultClass};
use crate::options::LinkOptions;

/// Bytes that are unpacked in one link. They are counted as headers declare them, before anything is unpacked: unpacking that
/// gives more than was declared is stopped as damage.
#[derive(Clone, Copy, Debug)]
pub struct UnpackBudget {
    limit: u64,
    spent: u64,
}

impl UnpackBudget {
    /// The budget that a caller asks for.
    pub fn new(options: &LinkOptions) -> Self {
        Self { limit: options.unpack_limit(), spent: 0 }
    }

    /// Counts what is unpacked of `input`. Fails with over_limit.
    pub fn spend(&mut self, bytes: u64, input: &str) -> Result<()> {
        let spent = self.spent.saturating_add(bytes);
        if spent > self.limit {
            let limit = self.limit;
            let text = format!("'{input}' takes the link to {spent} bytes of unpacked code, and max_unpacked_bytes allows {limit}");
            let error = Error::new(ResultClass::OverLimit, text).on_input(input);
            return Err(error.hint("set max_unpacked_bytes to more if the input can be trusted"));
        }
        self.spent = spent;
        Ok(())
    }
}
