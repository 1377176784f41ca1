//! Unpacking fatbin payloads, within limits.
//!
//! zstd is decoded by `ruzstd`: pure Rust, so `libcudalink.so` needs no C compiler and carries no second libzstd into processes that
//! often have one of another version; it lets us bound its window before it allocates, and gives the data block by block.

use std::borrow::Cow;

use lz4_flex::block::decompress_into;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::bytes::View;
use super::{Compression, Problem};

/// No part is unpacked to more than this, whatever it declares. The largest cubins we know of are some hundred megabytes.
pub const MAX_UNPACKED_SIZE: u64 = 1 << 30;

/// LZ4 adds at most 255 bytes for each byte it reads, so a larger declared size is a lie that need not cost memory.
const LZ4_MAX_RATIO: u64 = 256;

/// zstd may declare a window larger than what it holds; up to here we let it.
const ZSTD_MIN_WINDOW: u64 = 8 << 20;

/// How much zstd is decoded before the size is looked at.
const ZSTD_STEP: usize = 1 << 20;

pub(super) fn unpack(packed: View, compression: Compression, scrambled: bool, unpacked_size: u64) -> Result<Cow<[u8]>, Problem> {
    if scrambled {
        return Err(Problem::CannotUnpack { what: "compressed LTO-IR, which is scrambled", offset: packed.offset });
    }
    if compression == Compression::Stored {
        return Ok(Cow::Borrowed(packed.bytes));
    }
    if unpacked_size > MAX_UNPACKED_SIZE {
        return Err(Problem::TooLarge { size: unpacked_size, limit: MAX_UNPACKED_SIZE });
    }
    let bytes = match compression {
        Compression::Lz4 => unpack_lz4(packed, unpacked_size)?,
        Compression::Zstd => unpack_zstd(packed, unpacked_size)?,
        _ => return Err(Problem::CannotUnpack { what: "data compressed in a way we do not know", offset: packed.offset }),
    };
    let size = bytes.len();
    if size as u64 != unpacked_size {
        return Err(packed.damaged(0, format!("{unpacked_size} bytes are declared, and {size} were packed")));
    }
    Ok(Cow::Owned(bytes))
}

fn unpack_lz4(packed: View, unpacked_size: u64) -> Result<Vec<u8>, Problem> {
    if unpacked_size > packed.len().saturating_mul(LZ4_MAX_RATIO) {
        return Err(packed.damaged(0, format!("{unpacked_size} bytes are declared, more than {} bytes of LZ4 can hold", packed.len())));
    }
    let mut bytes = with_room_for(unpacked_size)?;
    bytes.resize(bytes.capacity(), 0);
    let size = decompress_into(packed.bytes, &mut bytes).map_err(|error| packed.damaged(0, format!("LZ4 data: {error}")))?;
    bytes.truncate(size);
    Ok(bytes)
}

/// Decodes one zstd frame, and stops when it holds more than was declared. Memory is taken as data comes, not as it is declared.
fn unpack_zstd(packed: View, unpacked_size: u64) -> Result<Vec<u8>, Problem> {
    let broken = |error: FrameDecoderError| packed.damaged(0, format!("zstd data: {error}"));
    let mut rest = packed.bytes;
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(unpacked_size.max(ZSTD_MIN_WINDOW));
    decoder.init(&mut rest).map_err(broken)?;
    let mut bytes = with_room_for(unpacked_size)?;
    loop {
        decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBytes(ZSTD_STEP)).map_err(broken)?;
        let size = bytes.len().saturating_add(decoder.can_collect());
        if size as u64 > unpacked_size {
            return Err(packed.damaged(0, format!("{unpacked_size} bytes are declared, and {size} or more were packed")));
        }
        bytes.extend(decoder.collect().unwrap_or_default());
        if decoder.is_finished() {
            break;
        }
    }
    if rest.is_empty() { Ok(bytes) } else { Err(packed.damaged(0, "zstd data with more after its end")) }
}

fn with_room_for(size: u64) -> Result<Vec<u8>, Problem> {
    let too_large = || Problem::TooLarge { size, limit: MAX_UNPACKED_SIZE };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size).map_err(|_| too_large())?).map_err(|_| too_large())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn of(packed: &[u8], compression: Compression, size: u64) -> Result<Vec<u8>, Problem> {
        unpack(View { bytes: packed, offset: 100 }, compression, false, size).map(Cow::into_owned)
    }

    #[test]
    fn unpacks_what_was_packed() {
        let text: Vec<u8> = (0..300_000_u32).map(|number| (number / 7 % 251) as u8).collect();
        let size = text.len() as u64;
        assert_eq!(of(&samples::lz4(&text), Compression::Lz4, size), Ok(text.clone()));
        assert_eq!(of(&samples::zstd(&text), Compression::Zstd, size), Ok(text.clone()));
        assert_eq!(of(&text, Compression::Stored, 5), Ok(text));
    }

    #[test]
    fn the_declared_size_is_the_limit() {
        let text = [7; 5000];
        for (packed, compression) in [(samples::lz4(&text), Compression::Lz4), (samples::zstd(&text), Compression::Zstd)] {
            for size in [1, 4999, 5001] {
                let Err(Problem::Damaged { offset: 100, .. }) = of(&packed, compression, size) else { panic!("{compression} {size}") };
            }
            for len in 0..packed.len() {
                assert!(of(&packed[..len], compression, 5000).is_err(), "{compression} cut to {len}");
            }
        }
    }

    #[test]
    fn no_declared_size_costs_more_than_the_limit() {
        for compression in [Compression::Lz4, Compression::Zstd] {
            for size in [MAX_UNPACKED_SIZE + 1, u64::MAX] {
                assert_eq!(of(b"x", compression, size), Err(Problem::TooLarge { size, limit: MAX_UNPACKED_SIZE }));
            }
        }
        // What no LZ4 block of this size can hold is refused before there is memory for it.
        assert!(matches!(of(&[0; 16], Compression::Lz4, MAX_UNPACKED_SIZE), Err(Problem::Damaged { .. })));
        // A frame that declares a window of 3.75 GiB.
        assert!(of(b"\x28\xB5\x2F\xFD\x00\xAF\x01\x00\x00", Compression::Zstd, 10).is_err());
    }

    #[test]
    fn what_we_cannot_unpack_we_do_not_touch() {
        assert!(matches!(of(b"x", Compression::Other, 10), Err(Problem::CannotUnpack { offset: 100, .. })));
    }
}
