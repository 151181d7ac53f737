//! The limit of an image's memory, checked before anything is allocated.

use sinew_base::{Error, ErrorCode, Result};

/// The maximum memory for one decoded image, in bytes (512 MiB). The sides have no limit of their own.
pub const MAX_BYTES: usize = 512 << 20;

/// Returns the size of `width × height` pixels of `bytes_per_pixel`.
pub(crate) fn check(width: u32, height: u32, bytes_per_pixel: usize) -> Result<usize> {
    if width == 0 || height == 0 {
        return Err(Error::new(ErrorCode::InvalidData, format!("image: {width}×{height} pixels: a side is 0")));
    }
    let bytes = u128::from(width) * u128::from(height) * bytes_per_pixel as u128;
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_BYTES => Ok(bytes),
        _ => Err(too_large(width, height, bytes)),
    }
}

/// The error for an image that needs this much memory.
pub(crate) fn too_large(width: u32, height: u32, bytes: u128) -> Error {
    let (need, limit) = (bytes.div_ceil(1 << 20), MAX_BYTES >> 20);
    let message = format!("image: {width}×{height} pixels need {need} MiB: the limit is {limit} MiB");
    Error::new(ErrorCode::LimitExceeded, message)
}
