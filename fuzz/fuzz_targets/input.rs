//! Any bytes: what is found in them is really there.
#![no_main]

use cudalink::input::examine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(facts) = examine(bytes, &mut |_| None) else { return };
    for container in &facts.containers {
        facts.container_bytes(bytes, container).expect("a container that was found is there");
    }
    for part in &facts.parts {
        let end = part.offset.checked_add(part.size).expect("no part ends beyond all bytes");
        assert!(end <= bytes.len() as u64);
        let _ = facts.symbols(bytes, part);
        assert!(part.container.is_none_or(|container| container < facts.containers.len()));
    }
});
