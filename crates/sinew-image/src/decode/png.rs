//! Parses the chunks of a PNG file without decoding: whether the end is present, and EXIF data after the pixels.

/// Returns true if the chunks are complete up to the end chunk.
pub(super) fn has_end(bytes: &[u8]) -> bool {
    chunks(bytes).any(|(name, _)| name == b"IEND")
}

/// Returns the EXIF data, even if it follows the pixels, where the decoder does not read; `None` if there is none.
pub(super) fn exif(bytes: &[u8]) -> Option<&[u8]> {
    chunks(bytes).find(|(name, _)| *name == b"eXIf").map(|(_, data)| data)
}

/// Returns the name and data of every complete chunk.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let mut rest = bytes.get(8..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (size, after) = rest.split_first_chunk::<4>()?;
        let (name, after) = after.split_first_chunk::<4>()?;
        let (data, after) = after.split_at_checked(u32::from_be_bytes(*size) as usize)?;
        let (_checksum, after) = after.split_first_chunk::<4>()?;
        rest = after;
        Some((name, data))
    })
}
