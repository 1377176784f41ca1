//! An archive, thin or not, of any members. The second half is the file that every thin member is.
#![no_main]

use cudalink::input::examine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&thin, rest)) = bytes.split_first() else { return };
    let (archive, file) = rest.split_at(rest.len() / 2);
    let magic: &[u8] = if thin % 2 == 0 { b"!<arch>\n" } else { b"!<thin>\n" };
    let archive = [magic, archive].concat();
    let Ok(facts) = examine(&archive, &mut |_| Some(file.to_vec())) else { return };
    for part in &facts.parts {
        let _ = facts.part_bytes(&archive, part);
        assert!(part.place.outside.is_none_or(|index| index < facts.outside.len()));
    }
});
