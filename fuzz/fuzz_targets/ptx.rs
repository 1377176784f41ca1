//! PTX text: what is left of it has no NUL, and reads the same again.
#![no_main]

use cudalink::input::read_ptx;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(ptx) = read_ptx(bytes) else { return };
    assert!(!ptx.text.contains(&0));
    let terminated = [ptx.text, b"\0"].concat();
    let again = read_ptx(&terminated).expect("the text of a sound PTX");
    assert_eq!((again.text, again.version, again.target), (ptx.text, ptx.version, ptx.target));
});
