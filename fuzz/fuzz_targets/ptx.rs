//! PTX text: what is left of it has no NUL, and reads the same again. Any bytes have symbols.
#![no_main]

use cudalink::input::{PartKind, Symbols, read_ptx, symbols};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(Symbols::Known(_)) = symbols(PartKind::Ptx, bytes) else { panic!("PTX is never refused") };
    let Ok(ptx) = read_ptx(bytes) else { return };
    assert!(!ptx.text.contains(&0));
    let terminated = [ptx.text, b"\0"].concat();
    let again = read_ptx(&terminated).expect("the text of a sound PTX");
    assert_eq!((again.text, again.version, again.target), (ptx.text, ptx.version, ptx.target));
});
