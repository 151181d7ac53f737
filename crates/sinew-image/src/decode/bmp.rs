//! Windows bitmaps: headers of every size, 1 to 32 bits per pixel, bit fields and run lengths, both directions.

use sinew_base::{Cancel, Pace, Result};

use super::{broken, canvas, unsupported};
use crate::{Channels, Orientation, Picture, limits};

const RGB: u32 = 0;
const RLE8: u32 = 1;
const RLE4: u32 = 2;
const BIT_FIELDS: u32 = 3;
const ALPHA_BIT_FIELDS: u32 = 6;

pub(super) fn decode(bytes: &[u8], cancel: &Cancel) -> Result<(Picture, Orientation)> {
    let head = Head::read(bytes)?;
    let channels = if head.masks[3] == 0 { Channels::Rgb } else { Channels::Rgba };
    limits::check(head.width, head.height, channels.count())?;
    let data = bytes.get(head.pixels..).ok_or_else(cut)?;
    let samples = match head.compression {
        RLE8 | RLE4 => {
            let indices = run_lengths(&head, data, cancel)?;
            let row = |y: usize| &indices[y * head.width as usize..][..head.width as usize];
            paint(&head, channels, cancel, |y, to| {
                for (to, &index) in to.as_chunks_mut::<3>().0.iter_mut().zip(row(y)) {
                    *to = head.color(bytes, index.into());
                }
                Ok(())
            })?
        }
        _ => {
            let stride = (head.width as usize * usize::from(head.bits)).div_ceil(32) * 4;
            let needed =
                stride * (head.height as usize - 1) + (head.width as usize * usize::from(head.bits)).div_ceil(8);
            if data.len() < needed {
                return Err(cut());
            }
            paint(&head, channels, cancel, |y, to| {
                head.plain_row(bytes, &data[y * stride..], to);
                Ok(())
            })?
        }
    };
    Ok((Picture::new(head.width, head.height, channels, samples)?, Orientation::Normal))
}

pub(super) fn probe(bytes: &[u8]) -> Result<(u32, u32, Orientation)> {
    let head = Head::read(bytes)?;
    limits::check(head.width, head.height, 1)?;
    Ok((head.width, head.height, Orientation::Normal))
}

fn cut() -> sinew_base::Error {
    broken("BMP", "the file is cut off")
}

/// Paints every row, given its number as stored, to where it is seen.
fn paint(
    head: &Head,
    channels: Channels,
    cancel: &Cancel,
    mut row: impl FnMut(usize, &mut [u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut samples = canvas(head.width, head.height, channels)?;
    let mut pace = Pace::new(cancel);
    let last = head.height as usize - 1;
    for (seen, to) in samples.chunks_exact_mut(head.width as usize * channels.count()).enumerate() {
        pace.step()?;
        row(if head.top_down { seen } else { last - seen }, to)?;
    }
    Ok(samples)
}

struct Head {
    width: u32,
    height: u32,
    top_down: bool,
    bits: u16,
    compression: u32,
    /// Of red, green, blue, alpha in a pixel of 16 or 32 bits.
    masks: [u32; 4],
    /// Where the palette begins, how many colours it has, and the bytes of one.
    palette: (usize, usize, usize),
    /// Where the pixels begin.
    pixels: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Head> {
        let u16_at = |at: usize| match bytes.get(at..at + 2) {
            Some(&[a, b]) => Ok(u16::from_le_bytes([a, b])),
            _ => Err(cut()),
        };
        let u32_at = |at: usize| match bytes.get(at..at + 4) {
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
            _ => Err(cut()),
        };
        let pixels = u32_at(10)? as usize;
        let size = u32_at(14)? as usize;
        if size == 12 {
            let (width, height, bits) = (u16_at(18)?, u16_at(20)?, u16_at(24)?);
            check_depth(bits, RGB)?;
            let room = pixels.saturating_sub(26) / 3;
            let colors = if bits <= 8 { room.min(1 << bits) } else { 0 };
            return Ok(Head {
                width: width.into(),
                height: height.into(),
                top_down: false,
                bits,
                compression: RGB,
                masks: default_masks(bits),
                palette: (26, colors, 3),
                pixels,
            });
        }
        if !(16..=124).contains(&size) {
            return Err(broken("BMP", format!("a header of {size} bytes is not known")));
        }
        // Fields behind the end of a short header are 0.
        let field = |at: usize| if at + 4 <= 14 + size { u32_at(at) } else { Ok(0) };
        let (width, height) = (u32_at(18)?.cast_signed(), u32_at(22)?.cast_signed());
        let (bits, compression) = (u16_at(28)?, field(30)?);
        if width <= 0 || height == 0 || height == i32::MIN {
            return Err(broken("BMP", format!("{width}×{height} is not a size")));
        }
        check_depth(bits, compression)?;
        let mut palette_at = 14 + size;
        let mut masks = default_masks(bits);
        if matches!(compression, BIT_FIELDS | ALPHA_BIT_FIELDS) {
            masks = [u32_at(54)?, u32_at(58)?, u32_at(62)?, 0];
            if size >= 56 || compression == ALPHA_BIT_FIELDS {
                masks[3] = u32_at(66)?;
            }
            if size == 40 {
                palette_at += if compression == ALPHA_BIT_FIELDS { 16 } else { 12 };
            }
        }
        let stated = field(46)? as usize;
        let all = if bits <= 8 { 1 << bits } else { 0 };
        let room = pixels.saturating_sub(palette_at) / 4;
        let colors = if stated == 0 { all } else { stated.min(all) }.min(room);
        Ok(Head {
            width: width.unsigned_abs(),
            height: height.unsigned_abs(),
            top_down: height < 0,
            bits,
            compression,
            masks,
            palette: (palette_at, colors, 4),
            pixels,
        })
    }

    /// Red, green, blue of a palette entry; black beyond its end.
    fn color(&self, bytes: &[u8], index: usize) -> [u8; 3] {
        let (start, colors, size) = self.palette;
        if index >= colors {
            return [0; 3];
        }
        match bytes.get(start + index * size..) {
            Some(&[b, g, r, ..]) => [r, g, b],
            _ => [0; 3],
        }
    }

    fn plain_row(&self, bytes: &[u8], from: &[u8], to: &mut [u8]) {
        let width = self.width as usize;
        match self.bits {
            1 | 2 | 4 | 8 => {
                let bits = usize::from(self.bits);
                for (x, to) in to.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                    let bit = x * bits;
                    let index = (usize::from(from[bit / 8]) >> (8 - bits - bit % 8)) & ((1 << bits) - 1);
                    *to = self.color(bytes, index);
                }
            }
            24 => {
                for (to, &[b, g, r]) in to.as_chunks_mut::<3>().0.iter_mut().zip(from.as_chunks::<3>().0) {
                    *to = [r, g, b];
                }
            }
            16 => {
                let values = from.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair).into());
                self.fields(values.take(width), to);
            }
            _ => {
                let values = from.as_chunks::<4>().0.iter().map(|&four| u32::from_le_bytes(four));
                self.fields(values.take(width), to);
            }
        }
    }

    fn fields(&self, values: impl Iterator<Item = u32>, to: &mut [u8]) {
        let count = if self.masks[3] == 0 { 3 } else { 4 };
        for (to, value) in to.chunks_exact_mut(count).zip(values) {
            for (to, &mask) in to.iter_mut().zip(&self.masks) {
                *to = field_of(value, mask);
            }
        }
    }
}

/// The bits under the mask, stretched to eight.
fn field_of(value: u32, mask: u32) -> u8 {
    if mask == 0 {
        return 0;
    }
    let shift = mask.trailing_zeros();
    let (value, highest) = (u64::from((value & mask) >> shift), u64::from(mask >> shift));
    ((value * 255 + highest / 2) / highest) as u8
}

fn check_depth(bits: u16, compression: u32) -> Result<()> {
    match (compression, bits) {
        (RGB, 1 | 2 | 4 | 8 | 16 | 24 | 32) | (RLE8, 8) | (RLE4, 4) | (BIT_FIELDS | ALPHA_BIT_FIELDS, 16 | 32) => {
            Ok(())
        }
        (4 | 5, _) => Err(unsupported("BMP", "a JPEG or PNG inside")),
        _ => Err(broken("BMP", format!("{bits} bits per pixel do not go with compression {compression}"))),
    }
}

fn default_masks(bits: u16) -> [u32; 4] {
    match bits {
        16 => [0x7c00, 0x03e0, 0x001f, 0],
        // The fourth byte of a plain pixel is filler, not opacity.
        32 => [0x00ff_0000, 0x0000_ff00, 0x0000_00ff, 0],
        _ => [0; 4],
    }
}

/// The palette index of every pixel, in stored order. Pixels that the runs leave out are index 0.
fn run_lengths(head: &Head, data: &[u8], cancel: &Cancel) -> Result<Vec<u8>> {
    let (width, height) = (head.width as usize, head.height as usize);
    let mut out = vec![0; limits::check(head.width, head.height, 1)?];
    let (mut x, mut y) = (0, 0);
    let mut at = 0;
    let mut pace = Pace::new(cancel);
    let nibbles = head.compression == RLE4;
    while y < height {
        pace.step()?;
        let &[count, value] = data.get(at..at + 2).and_then(|pair| pair.as_array()).ok_or_else(cut)?;
        at += 2;
        match (count, value) {
            (0, 0) => (x, y) = (0, y + 1),
            (0, 1) => break,
            (0, 2) => {
                let &[right, down] = data.get(at..at + 2).and_then(|pair| pair.as_array()).ok_or_else(cut)?;
                at += 2;
                (x, y) = (x + usize::from(right), y + usize::from(down));
            }
            (0, count) => {
                let count = usize::from(count);
                let size = if nibbles { count.div_ceil(2) } else { count };
                let literal = data.get(at..at + size).ok_or_else(cut)?;
                // Literals are padded to an even number of bytes.
                at += size.next_multiple_of(2);
                for index in 0..count {
                    let value = if nibbles { literal[index / 2] >> (4 * (1 - index % 2)) & 15 } else { literal[index] };
                    put(&mut out, width, (x + index, y), value);
                }
                x += count;
            }
            (count, value) => {
                let pair = if nibbles { [value >> 4, value & 15] } else { [value; 2] };
                for index in 0..usize::from(count) {
                    put(&mut out, width, (x + index, y), pair[index % 2]);
                }
                x += usize::from(count);
            }
        }
    }
    Ok(out)
}

/// Sets a pixel; runs that reach beyond their row are cut there.
fn put(out: &mut [u8], width: usize, (x, y): (usize, usize), value: u8) {
    if x < width
        && let Some(pixel) = out.get_mut(y * width + x)
    {
        *pixel = value;
    }
}
