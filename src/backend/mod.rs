//! The only place that calls foreign code.
#![allow(unsafe_code)]

pub mod library;
pub mod nvjitlink;
mod published;
mod symbols;
