//! Limits of an image's sides and memory, checked before anything is allocated.

use sinew_base::{Error, ErrorCode, Result};

/// The maximum width and height of an image, in pixels.
pub const MAX_SIDE: u32 = 16_384;

/// The maximum memory for decoding one image, in bytes (512 MiB).
pub const MAX_BYTES: usize = 512 << 20;

/// Returns the size of `width × height` pixels of `bytes_per_pixel`.
pub(crate) fn check(width: u32, height: u32, bytes_per_pixel: usize) -> Result<usize> {
    let refuse = |why: &str| Err(Error::new(ErrorCode::LimitExceeded, format!("image: {width}×{height} pixels {why}")));
    if width == 0 || height == 0 {
        return Err(Error::new(ErrorCode::InvalidData, format!("image: {width}×{height} pixels: a side is 0")));
    }
    if width > MAX_SIDE || height > MAX_SIDE {
        return refuse(&format!("are too many: a side may be {MAX_SIDE} at most"));
    }
    // Sides of 16,384 and a few bytes per pixel stay far below the range of u64.
    let bytes = u64::from(width) * u64::from(height) * bytes_per_pixel as u64;
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_BYTES => Ok(bytes),
        _ => refuse(&format!("need {} MiB: the limit is {} MiB", bytes >> 20, MAX_BYTES >> 20)),
    }
}
