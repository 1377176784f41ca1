//! Links CUDA device code at run time behind a C ABI that stays the same whatever NVIDIA library is underneath: nvJitLink or the CUDA driver.
//!
//! The way through the code is the data's way through the program, and there is no way back:
//!
//! ```text
//!  C call          what is it?      what follows?       do it             what came out?     caller
//!  capi      ->    input      ->    policy       ->     backend     ->    output      ->     capi
//!            \______________ linker wires them; nothing else sees two of them _______/
//! ```
//!
//! - [`input`] turns bytes into facts, and trusts none of them.
//! - [`policy`] is a pure function: what was asked, facts of the inputs, facts of the library -> a plan or a contradiction.
//! - [`backend`] is the only place that calls foreign code, `capi` the only one that reads the caller's pointers.
//!
//! The C header `cudalink.h` is the manual of the C interface.

pub mod arch;
pub mod backend;
mod c_string;
#[cfg(feature = "capi")]
pub mod capi;
pub mod error;
pub mod input;
pub mod linker;
pub mod options;
pub mod output;
pub mod policy;
pub mod release;

pub use error::{Diagnostic, Error, Result, ResultClass};
pub use input::InputKind;
pub use linker::Linker;
pub use options::{LinkOptions, OutputKind};
