//! The C interface: the only place that reads the caller's pointers.
//!
//! The documentation of every item here is the text of `cudalink.h`, written for its reader.
#![allow(unsafe_code, non_camel_case_types)]

mod boundary;
pub mod linker;
pub mod options;
pub mod query;
pub mod version;
