//! A fatbin around any entries: what we rebuild of it we can read.
#![no_main]

use cudalink::input::{Compression, examine, unpacked_fatbin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let mut bytes = vec![0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0];
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    let facts = examine(&bytes, &mut |_| None);
    let Ok(stored) = unpacked_fatbin(&bytes) else { return };
    let facts = facts.expect("what can be unpacked can be examined");
    let unpacked = examine(&stored, &mut |_| None).expect("a fatbin of our own");
    let readable: Vec<_> = facts.parts.iter().filter(|part| !part.scrambled).collect();
    assert_eq!(readable.len(), unpacked.parts.len());
    for (before, after) in readable.into_iter().zip(&unpacked.parts) {
        assert_eq!(before.kind, after.kind);
        // An entry that does not say its architecture may hold an image that does.
        assert!(before.arch.is_none() || before.arch == after.arch);
        assert_eq!(after.compression, Compression::Stored);
    }
});
