//! The chunks of a PNG file, walked without decoding: whether it has its end, and EXIF data that is behind the pixels.

/// Returns whether the chunks run up to the end chunk.
pub(super) fn has_end(bytes: &[u8]) -> bool {
    chunks(bytes).any(|(name, _)| name == b"IEND")
}

/// The EXIF data, also where it follows the pixels: the decoder has read only what is before them.
pub(super) fn exif(bytes: &[u8]) -> Option<&[u8]> {
    chunks(bytes).find(|(name, _)| *name == b"eXIf").map(|(_, data)| data)
}

/// Name and data of every whole chunk; what follows its checksum is the next.
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
