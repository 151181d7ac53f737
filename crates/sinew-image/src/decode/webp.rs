//! Animated WebP: the first frame as it is stored.

use std::borrow::Cow;

/// Position of the flags of a `VP8X` file, and the bits in them.
const FLAGS: usize = 20;
const ANIMATED: u8 = 0x02;
const ALPHA: u8 = 0x10;

/// Position of the flags of a frame, counted from the start of its chunk, and the bit that forbids blending.
const FRAME_FLAGS: usize = 8 + 15;
const NO_BLENDING: u8 = 0x02;

/// The file with its first frame marked to replace the canvas. The decoder lays a frame on the canvas even where that is
/// empty, which rounds the colours of half-transparent pixels, and shows what the frame leaves out as black where the file
/// promises no transparency.
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

/// Returns the position of the first frame.
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
