//! Any bytes as LZ4 or zstd payload of any declared size: as many bytes come out as were declared, or none.
#![no_main]

use cudalink::input::examine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[flags, size_low, size_high], packed)) = bytes.split_first_chunk::<3>() else { return };
    let unpacked = u64::from(u16::from_le_bytes([size_low, size_high])) << (flags >> 4);
    let padded = packed.len().next_multiple_of(8);
    let mut entry = vec![1, 0, 1, 1, 64, 0, 0, 0];
    entry.extend((padded as u64).to_le_bytes());
    entry.extend((packed.len() as u32).to_le_bytes());
    entry.extend([0; 4]);
    entry.extend([4, 0, 8, 0, 80, 0, 0, 0]);
    entry.extend([0; 8]);
    entry.extend(if flags % 2 == 0 { 0x2011_u64 } else { 0x8011 }.to_le_bytes());
    entry.extend([0; 8]);
    entry.extend(unpacked.to_le_bytes());
    entry.extend(packed);
    entry.resize(64 + padded, 0);
    let mut fatbin = vec![0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0];
    fatbin.extend((entry.len() as u64).to_le_bytes());
    fatbin.extend(entry);
    let Ok(facts) = examine(&fatbin, &mut |_| None) else { return };
    for part in &facts.parts {
        if let Ok(text) = facts.part_bytes(&fatbin, part) {
            // Closing NULs of PTX are left out.
            assert!(text.len() as u64 <= part.unpacked_size);
        }
    }
});
