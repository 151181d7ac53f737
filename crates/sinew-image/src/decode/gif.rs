//! GIF: the first frame, on the canvas that the file states. What of it lies outside of the canvas is cut.

use std::io::Cursor;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};
use sinew_base::{Cancel, Result};

use super::{broken, canvas};
use crate::{Channels, MAX_BYTES, Orientation, Picture, limits};

pub(super) fn decode(bytes: &[u8], cancel: &Cancel) -> Result<(Picture, Orientation)> {
    let mut decoder = open(bytes)?;
    let (width, height) = (u32::from(decoder.width()), u32::from(decoder.height()));
    limits::check(width, height, Channels::Rgba.count())?;
    let background = background(&decoder);
    let frame = decoder
        .next_frame_info()
        .map_err(|cause| broken("GIF", cause))?
        .ok_or_else(|| broken("GIF", "it holds no frame"))?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let frame_width = usize::from(frame.width);
    let size = limits::check(frame.width.into(), frame.height.into(), Channels::Rgba.count())?;
    let mut pixels = vec![0; size];
    cancel.check()?;
    decoder.read_into_buffer(&mut pixels).map_err(|cause| broken("GIF", cause))?;
    cancel.check()?;
    let samples = if (left, top) == (0, 0) && (frame_width, size) == (width as usize, (width * height) as usize * 4) {
        pixels
    } else {
        let mut samples = canvas(width, height, Channels::Rgba)?;
        // What the frame leaves out is transparent; its colour is the background, for who ignores opacity.
        for pixel in samples.as_chunks_mut::<4>().0 {
            *pixel = background;
        }
        // What lies outside of the canvas is cut, as browsers do.
        let columns = frame_width.min((width as usize).saturating_sub(left)) * 4;
        let rows = samples.chunks_exact_mut(width as usize * 4).skip(top).filter(|_| columns > 0);
        for (to, from) in rows.zip(pixels.chunks_exact(frame_width * 4)) {
            to[left * 4..][..columns].copy_from_slice(&from[..columns]);
        }
        samples
    };
    Ok((Picture::new(width, height, Channels::Rgba, samples)?, Orientation::Normal))
}

pub(super) fn probe(bytes: &[u8]) -> Result<(u32, u32, Orientation)> {
    let decoder = open(bytes)?;
    Ok((decoder.width().into(), decoder.height().into(), Orientation::Normal))
}

fn open(bytes: &[u8]) -> Result<gif::Decoder<Cursor<&[u8]>>> {
    if let Some(&[a, b, c, d]) = bytes.get(6..10) {
        limits::check(u16::from_le_bytes([a, b]).into(), u16::from_le_bytes([c, d]).into(), 1)?;
    }
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    options.set_memory_limit(
        std::num::NonZeroU64::new(MAX_BYTES as u64).map_or(MemoryLimit::Unlimited, MemoryLimit::Bytes),
    );
    options.read_info(Cursor::new(bytes)).map_err(|cause| broken("GIF", cause))
}

/// The background colour of the canvas, fully transparent.
fn background(decoder: &gif::Decoder<Cursor<&[u8]>>) -> [u8; 4] {
    let color = decoder.bg_color().and_then(|index| decoder.global_palette()?.get(index * 3..index * 3 + 3));
    match color {
        Some(&[r, g, b]) => [r, g, b, 0],
        _ => [0; 4],
    }
}
