//! The C interface: the only place that reads the caller's pointers.
//!
//! The documentation of every item here is the text of `cudalink.h`, written for its reader: what a caller has to keep
//! to stands there in prose, not under a Rust heading.
#![allow(unsafe_code, non_camel_case_types, clippy::missing_safety_doc)]

mod boundary;
pub mod linker;
pub mod options;
pub mod query;
pub mod version;
