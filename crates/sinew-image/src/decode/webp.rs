//! Animated WebP: decodes the first frame as it is stored.

use std::borrow::Cow;

/// The offset of the flags of a `VP8X` file, and their bits.
const FLAGS: usize = 20;
const ANIMATED: u8 = 0x02;
const ALPHA: u8 = 0x10;

/// The offset of the flags of a frame, relative to its chunk, and the bit that disables blending.
const FRAME_FLAGS: usize = 8 + 15;
const NO_BLENDING: u8 = 0x02;

/// Returns the file with its first frame marked to replace the canvas. The decoder blends a frame even with an empty
/// canvas, which rounds the colours of half-transparent pixels, and shows the area outside the frame as black if the
/// file declares no transparency.
pub(super) fn without_blending(bytes: &[u8]) -> Cow<'_, [u8]> {
    let animated = bytes.get(12..16) == Some(b"VP8X") && bytes.get(FLAGS).is_some_and(|flags| flags & ANIMATED != 0);
    let Some(frame) = animated.then(|| first_frame(bytes)).flatten() else { return Cow::Borrowed(bytes) };
    let mut file = bytes.to_vec();
    file[FLAGS] |= ALPHA;
    if let Some(flags) = file.get_mut(frame + FRAME_FLAGS) {
        *flags |= NO_BLENDING;
    }
    Cow::Owned(file)
}

/// Returns the offset of the first frame; `None` if there is none.
fn first_frame(bytes: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        let (name, rest) = bytes.get(at..)?.split_first_chunk::<4>()?;
        if name == b"ANMF" {
            return Some(at);
        }
        let size = u32::from_le_bytes(*rest.first_chunk::<4>()?) as usize;
        at += 8 + size.next_multiple_of(2);
    }
}
