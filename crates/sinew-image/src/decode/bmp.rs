//! Windows bitmaps: rewrites headers that the decoder does not support, and fills the pixels that run-length encoding
//! skips.

use std::borrow::Cow;

use image::ImageDecoder;
use sinew_base::{CancelToken, Result};

use super::error::refused;
use super::open;
use crate::{SourceFormat, limits};

// Offsets of fields in the file.
const PIXELS: usize = 10;
const HEADER_SIZE: usize = 14;
const HEADER: usize = 14;
const WIDTH: usize = 18;
const HEIGHT: usize = 22;
const BITS: usize = 28;
const COMPRESSION: usize = 30;
const COLORS: usize = 46;

const RLE8: u32 = 1;
const RLE4: u32 = 2;
const BIT_FIELDS: u32 = 3;
const ALPHA_BIT_FIELDS: u32 = 6;

/// Returns the width and height in the header. The oldest header has 16-bit sides, which are always within the limits.
pub(super) fn stated_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let (width, height) = (u32_at(bytes, WIDTH)?.cast_signed(), u32_at(bytes, HEIGHT)?.cast_signed());
    // The decoder rejects a negative width; a negative height means that the image is stored from the top.
    let new = u32_at(bytes, HEADER_SIZE)? > 12 && width > 0 && height != i32::MIN;
    new.then(|| (width.unsigned_abs(), height.unsigned_abs()))
}

/// Returns the file with a header that the decoder supports:
/// - OS/2 headers of 16 to 64 bytes begin like the common one of 40 bytes; missing fields are 0;
/// - bit fields with opacity after a header of 40 bytes are the same as inside a header of 56 bytes;
/// - a palette that is shorter than the depth allows, without a count in the header, ends where the pixels begin.
pub(super) fn with_known_header(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut file = Cow::Borrowed(bytes);
    let (Some(pixels), Some(mut size)) = (u32_at(bytes, PIXELS), u32_at(bytes, HEADER_SIZE)) else { return file };
    let (mut pixels, end) = (pixels, HEADER + size as usize);
    if (16..=124).contains(&size) && !matches!(size, 40 | 52 | 56 | 108 | 124) && end <= bytes.len() {
        let mut header = bytes[..end.min(HEADER + 40)].to_vec();
        header.resize(HEADER + 40, 0);
        pixels = (pixels + 40).saturating_sub(size);
        size = 40;
        put(&mut header, PIXELS, pixels);
        put(&mut header, HEADER_SIZE, size);
        header.extend_from_slice(&bytes[end..]);
        file = Cow::Owned(header);
    }
    if size < 40 || file.len() < HEADER + 40 {
        return file;
    }
    if u32_at(&file, COMPRESSION) == Some(ALPHA_BIT_FIELDS) {
        put(file.to_mut(), COMPRESSION, BIT_FIELDS);
        if size == 40 {
            put(file.to_mut(), HEADER_SIZE, 56);
        }
    }
    let bits = file[BITS];
    if bits <= 8 {
        let (stated, all) = (u32_at(&file, COLORS).unwrap_or(0), 1 << bits);
        let room = pixels.saturating_sub(HEADER as u32 + size) / 4;
        let colors = if stated == 0 { all } else { stated.min(all) }.min(room).max(1);
        if colors != stated && colors != all {
            put(file.to_mut(), COLORS, colors);
        }
    }
    file
}

/// Fills the pixels that run-length encoding skips with the first colour of the palette; the decoder leaves them black.
/// Decoding the same runs with an all-white palette identifies these pixels.
pub(super) fn fill_gaps(
    bytes: &[u8],
    (width, height): (u32, u32),
    samples: &mut [u8],
    cancel: &CancelToken,
) -> Result<()> {
    let size = u32_at(bytes, HEADER_SIZE).unwrap_or(0);
    let palette = HEADER + size as usize;
    if size < 40 || !matches!(u32_at(bytes, COMPRESSION), Some(RLE8 | RLE4)) {
        return Ok(());
    }
    let Some(&[blue, green, red]) = bytes.get(palette..palette + 3) else { return Ok(()) };
    if [red, green, blue] == [0; 3] {
        return Ok(());
    }
    let mut mask = vec![0; limits::check(width, height, 2 * 3)? / 2];
    let mut white = bytes.to_vec();
    let colors = match u32_at(bytes, COLORS) {
        Some(0) | None => 1 << bytes[BITS],
        Some(stated) => stated as usize,
    };
    let end = palette.saturating_add(colors.saturating_mul(4)).min(white.len());
    white[palette..end].fill(u8::MAX);
    let decoder = open(SourceFormat::Bmp, &white, cancel)?;
    decoder.read_image(&mut mask).map_err(|cause| refused(SourceFormat::Bmp, &cause, cancel))?;
    for (pixel, painted) in samples.as_chunks_mut::<3>().0.iter_mut().zip(mask.as_chunks::<3>().0) {
        if *painted == [0; 3] {
            *pixel = [red, green, blue];
        }
    }
    Ok(())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.first_chunk().map(|field| u32::from_le_bytes(*field))
}

fn put(file: &mut [u8], at: usize, value: u32) {
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
