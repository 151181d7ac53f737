//! WebP: lossy, lossless, with or without alpha; of an animation the first frame.

use std::io::Cursor;

use image_webp::WebPDecoder;
use sinew_base::Result;

use super::{broken, canvas};
use crate::{Channels, MAX_BYTES, Orientation, Picture, limits};

pub(super) fn decode(bytes: &[u8]) -> Result<(Picture, Orientation)> {
    let mut decoder = open(bytes)?;
    let (width, height) = decoder.dimensions();
    // A lossless picture is decoded with alpha and narrowed afterwards.
    limits::check(width, height, Channels::Rgba.count())?;
    if decoder.is_animated() {
        let orientation = orientation(&mut decoder);
        return Ok((first_frame(bytes, width, height)?, orientation));
    }
    let channels = if decoder.has_alpha() { Channels::Rgba } else { Channels::Rgb };
    let mut samples = canvas(width, height, channels)?;
    decoder.read_image(&mut samples).map_err(|cause| broken("WebP", cause))?;
    let orientation = orientation(&mut decoder);
    Ok((Picture::new(width, height, channels, samples)?, orientation))
}

pub(super) fn probe(bytes: &[u8]) -> Result<(u32, u32, Orientation)> {
    let mut decoder = open(bytes)?;
    let (width, height) = decoder.dimensions();
    limits::check(width, height, 1)?;
    Ok((width, height, orientation(&mut decoder)))
}

fn open(bytes: &[u8]) -> Result<WebPDecoder<Cursor<&[u8]>>> {
    if let Some(&[a, b, c, d]) = bytes.get(4..8) {
        let stated = u64::from(u32::from_le_bytes([a, b, c, d])) + 8;
        if stated > bytes.len() as u64 {
            return Err(broken(
                "WebP",
                format!("the file is cut off: it states {stated} bytes and has {}", bytes.len()),
            ));
        }
    }
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(|cause| broken("WebP", cause))?;
    decoder.set_memory_limit(MAX_BYTES);
    Ok(decoder)
}

fn orientation(decoder: &mut WebPDecoder<Cursor<&[u8]>>) -> Orientation {
    // EXIF data that cannot be read leaves the picture as it is stored.
    let exif = decoder.exif_metadata().ok().flatten();
    exif.as_deref().map(Orientation::of_exif).unwrap_or_default()
}

/// The first frame of an animation, laid on a transparent canvas.
///
/// The frame is taken out and decoded as a picture of its own: on an empty canvas there is nothing to blend
/// with, and blending would round the colours.
fn first_frame(bytes: &[u8], width: u32, height: u32) -> Result<Picture> {
    let frame = chunks(bytes.get(12..).unwrap_or_default())
        .find(|(name, _)| name == b"ANMF")
        .map(|(_, data)| data)
        .ok_or_else(|| broken("WebP", "the animation has no frame"))?;
    let (head, data) = frame.split_at_checked(16).ok_or_else(|| broken("WebP", "a frame is cut off"))?;
    let field = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], 0]);
    let (left, top) = (field(0) as usize * 2, field(3) as usize * 2);
    let (frame_width, frame_height) = (field(6) + 1, field(9) + 1);
    if left + frame_width as usize > width as usize || top + frame_height as usize > height as usize {
        return Err(broken("WebP", "a frame reaches beyond the canvas"));
    }
    let (frame, _) = decode(&still(frame_width, frame_height, data))?;
    if (frame.width(), frame.height()) != (frame_width, frame_height) {
        return Err(broken("WebP", "a frame has another size than it states"));
    }
    let pixels = frame.to_rgba();
    if (frame_width, frame_height) == (width, height) {
        return Picture::new(width, height, Channels::Rgba, pixels);
    }
    let mut samples = canvas(width, height, Channels::Rgba)?;
    let rows = samples.chunks_exact_mut(width as usize * 4).skip(top);
    for (to, from) in rows.zip(pixels.chunks_exact(frame_width as usize * 4)) {
        to[left * 4..][..from.len()].copy_from_slice(from);
    }
    Picture::new(width, height, Channels::Rgba, samples)
}

/// A file of one picture, made of the chunks of a frame.
fn still(width: u32, height: u32, data: &[u8]) -> Vec<u8> {
    const ALPHA: u32 = 0x10;
    let mut out = Vec::with_capacity(data.len() + 30);
    let chunks: Vec<_> = chunks(data).filter(|(name, _)| matches!(name, b"ALPH" | b"VP8 " | b"VP8L")).collect();
    let size = 22 + chunks.iter().map(|(_, data)| 8 + data.len().next_multiple_of(2)).sum::<usize>();
    out.extend(b"RIFF");
    // All of it comes out of a file whose size is a 32-bit field.
    out.extend((size as u32).to_le_bytes());
    out.extend(b"WEBPVP8X\x0a\0\0\0");
    let alpha = chunks.iter().any(|(name, _)| matches!(name, b"ALPH" | b"VP8L"));
    out.extend(if alpha { ALPHA } else { 0 }.to_le_bytes());
    out.extend(&(width - 1).to_le_bytes()[..3]);
    out.extend(&(height - 1).to_le_bytes()[..3]);
    for (name, data) in chunks {
        out.extend(name);
        out.extend((data.len() as u32).to_le_bytes());
        out.extend(data);
        out.extend(std::iter::repeat_n(0, data.len() % 2));
    }
    out
}

/// Name and data of every whole chunk.
fn chunks(mut bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, rest) = bytes.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size) as usize;
        let data = rest.get(..size)?;
        bytes = rest.get(size.next_multiple_of(2)..).unwrap_or_default();
        Some((*name, data))
    })
}
