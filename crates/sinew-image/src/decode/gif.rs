//! GIF: a screen that is smaller than the first frame, and the background of one that the frame does not cover.

use std::borrow::Cow;
use std::io::Cursor;

use sinew_base::Result;

use super::error::broken;

/// Returns the file with a screen that contains its first frame. Some programs write a screen of 0 × 0 pixels or that of
/// an earlier version; viewers show the frame.
pub(super) fn with_screen_of_frame(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Ok(mut decoder) = gif::DecodeOptions::new().read_info(Cursor::new(bytes)) else { return bytes.into() };
    let (width, height) = (decoder.width(), decoder.height());
    let Ok(Some(frame)) = decoder.next_frame_info() else { return bytes.into() };
    let size = [(width, frame.left, frame.width), (height, frame.top, frame.height)]
        .map(|(side, start, length)| side.max(start.saturating_add(length)));
    if size == [width, height] {
        return bytes.into();
    }
    let mut bytes = bytes.to_vec();
    bytes[6..10].copy_from_slice(size.map(u16::to_le_bytes).as_flattened());
    bytes.into()
}

/// Sets the pixels outside the first frame to the background colour of the file, still fully transparent: a viewer that
/// ignores opacity shows that colour, where the decoder leaves black. The pixels of the frame are not decoded again.
pub(super) fn paint_background(bytes: &[u8], (width, height): (u32, u32), samples: &mut [u8]) -> Result<()> {
    let mut decoder = gif::DecodeOptions::new().read_info(Cursor::new(bytes)).map_err(|cause| broken("GIF", cause))?;
    let color = decoder.bg_color().and_then(|index| decoder.global_palette()?.get(index * 3..index * 3 + 3));
    let background = match color {
        Some(&[r, g, b]) if [r, g, b] != [0; 3] => [r, g, b, 0],
        _ => return Ok(()),
    };
    let frame = decoder.next_frame_info().map_err(|cause| broken("GIF", cause))?;
    let Some(frame) = frame else { return Ok(()) };
    let columns = u32::from(frame.left)..u32::from(frame.left) + u32::from(frame.width);
    let rows = u32::from(frame.top)..u32::from(frame.top) + u32::from(frame.height);
    if columns.start == 0 && columns.end >= width && rows.start == 0 && rows.end >= height {
        return Ok(());
    }
    for (y, row) in (0..).zip(samples.chunks_exact_mut(width as usize * 4)) {
        for (x, pixel) in (0..).zip(row.as_chunks_mut::<4>().0) {
            if !(columns.contains(&x) && rows.contains(&y)) {
                *pixel = background;
            }
        }
    }
    Ok(())
}
