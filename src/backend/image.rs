//! What a backend is given, one by one.

use std::borrow::Cow;
use std::ffi::CString;

use crate::c_string::c_string;
use crate::error::{Error, Result, ResultClass};
use crate::input::{Input, PieceKind};
use crate::policy::{Plan, PlannedImage};

/// One thing to add. nvJitLink keeps the address of the name, and 12.0 also that of a cubin, so it outlives the link.
pub struct Image<'a> {
    pub kind: PieceKind,
    pub bytes: Cow<'a, [u8]>,
    pub name: CString,
    /// The name of the input that it is of.
    pub input: &'a str,
}

/// The images of a plan, in its order.
pub fn images<'a>(plan: &Plan, inputs: &'a [Input]) -> Result<Vec<Image<'a>>> {
    let image = |planned: &PlannedImage| {
        let (input, piece) = inputs
            .get(planned.input)
            .and_then(|input| Some((input, input.pieces().get(planned.piece)?)))
            .ok_or_else(|| Error::new(ResultClass::Internal, "the plan is not about these inputs"))?;
        let bytes = if planned.unpack { Cow::Owned(input.unpacked_image(piece)?) } else { input.image(piece)? };
        Ok(Image { kind: piece.kind, bytes, name: c_string(short(&piece.name)), input: input.name() })
    };
    plan.images.iter().map(image).collect()
}

/// nvJitLink and the driver corrupt their heap over a name of 100,000 bytes in a message (measured). Its end tells more than its beginning.
fn short(name: &str) -> &str {
    const LONGEST: usize = 1024;
    name.get(name.ceil_char_boundary(name.len().saturating_sub(LONGEST))..).unwrap_or(name)
}
