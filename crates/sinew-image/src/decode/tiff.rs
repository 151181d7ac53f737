//! TIFF: the first page; grey, RGB, palette, CMYK and YCbCr, of 1 to 64 bits, including planar and floating-point
//! samples.
//!
//! Uses the `tiff` crate directly, as `image` does: `image` only supports grey of 1, 8 and 16 bits, RGB and CMYK, but
//! not scans (YCbCr), faxes and drawings (palettes, 2 and 4 bits), measurements (floats in grey) and planar CMYK.

use std::io::Cursor;

use sinew_base::{CancelTicker, CancelToken, Error, ErrorCode, Result};
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};

use super::error::{broken, unsupported};
use super::jpeg::rgb_of_ycc;
use crate::directory::Directory;
use crate::{Channels, MAX_BYTES, Orientation, Picture, cmyk, limits};

type Source<'a> = Decoder<Cursor<&'a [u8]>>;

pub(super) fn decode(bytes: &[u8], cancel: &CancelToken) -> Result<(Picture, Orientation)> {
    let grey = palette_as_grey(bytes);
    let mut decoder = open(grey.as_deref().unwrap_or(bytes))?;
    let (width, height) = size(&mut decoder)?;
    let color = match (decoder.colortype().map_err(refused)?, &grey) {
        (ColorType::Gray(bits), Some(_)) => ColorType::Palette(bits),
        (color, _) => color,
    };
    let layout = decoder.image_buffer_layout().map_err(refused)?;
    if layout.complete_len > MAX_BYTES {
        return Err(limits::too_large(width, height, layout.complete_len as u128));
    }
    let palette = match color {
        ColorType::Palette(_) => decoder.get_tag_u16_vec(Tag::ColorMap).map_err(refused)?,
        _ => Vec::new(),
    };
    let orientation = orientation(&mut decoder);
    let profile = decoder.find_tag(Tag::IccProfile).ok().flatten().and_then(|value| value.into_u8_vec().ok());
    cancel.check()?;
    let mut data = DecodingResult::U8(Vec::new());
    let layout = decoder.read_image_to_buffer(&mut data).map_err(refused)?;
    cancel.check()?;
    let bits = color.bit_depth();
    let (stored, turn) = reading(color)?;
    // Floats are linear light in colours (scRGB), but plain measurements in grey.
    let is_linear = profile.is_none() && matches!(color, ColorType::RGB(_) | ColorType::RGBA(_));
    let plane = layout.plane_stride.map_or(0, |stride| stride.get() / usize::from(bits / 8).max(1));
    let channel = |at: usize| if layout.planes > 1 { at / plane.max(1) } else { at % stored };
    let data = samples_of(data, bits, |at| is_linear && channel(at) < 3)?;
    let row = Row {
        width: width as usize,
        samples: stored,
        bits,
        planes: layout.planes.max(1),
        stride: row_stride(&layout, width, stored, bits),
        plane_stride: layout.plane_stride.map_or(data.len(), std::num::NonZeroUsize::get),
    };
    let mut samples = vec![0; limits::check(width, height, turn.width())?];
    let mut ticker = CancelTicker::new(cancel);
    let mut pixel = [0; 8];
    for (y, to) in samples.chunks_exact_mut(width as usize * turn.width()).enumerate() {
        ticker.step()?;
        for (x, to) in to.chunks_exact_mut(turn.width()).enumerate() {
            for (channel, sample) in pixel[..stored].iter_mut().enumerate() {
                *sample = row.sample(&data, x, y, channel);
            }
            turn.pixel(&pixel, to, &palette, bits);
        }
    }
    if matches!(turn, Turn::Cmyk) {
        samples = cmyk::to_rgb(&samples, profile.as_deref());
    }
    let picture = Picture::new(width, height, turn.channels(), samples)?;
    Ok((picture.with_profile(profile), orientation))
}

/// Returns the file with the indexes of its palette declared as grey values, which the decoder reads; it does not read
/// palettes. `None` if the first page has no palette. Runs in time linear in the number of tags.
fn palette_as_grey(bytes: &[u8]) -> Option<Vec<u8>> {
    const PHOTOMETRIC: u64 = 262;
    const PALETTE: u64 = 3;
    const GREY: u8 = 1;
    let directory = Directory::read(bytes)?;
    let (_, value) = directory.find(PHOTOMETRIC)?;
    if directory.number(value, 2)? != PALETTE {
        return None;
    }
    let mut grey = bytes.to_vec();
    grey[directory.low_byte(value)] = GREY;
    Some(grey)
}

pub(super) fn probe(bytes: &[u8]) -> Result<(u32, u32, Orientation)> {
    let mut decoder = open(bytes)?;
    let (width, height) = size(&mut decoder)?;
    Ok((width, height, orientation(&mut decoder)))
}

fn open(bytes: &[u8]) -> Result<Source<'_>> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = MAX_BYTES;
    limits.intermediate_buffer_size = MAX_BYTES;
    limits.ifd_value_size = 16 << 20;
    Ok(Decoder::new(Cursor::new(bytes)).map_err(refused)?.with_limits(limits))
}

fn size(decoder: &mut Source<'_>) -> Result<(u32, u32)> {
    let (width, height) = decoder.dimensions().map_err(refused)?;
    limits::check(width, height, 1)?;
    Ok((width, height))
}

fn orientation(decoder: &mut Source<'_>) -> Orientation {
    // An invalid tag leaves the image as it is stored.
    let value = decoder.find_tag_unsigned::<u8>(Tag::Orientation).ok().flatten();
    value.and_then(Orientation::from_exif).unwrap_or(Orientation::NoTransforms)
}

fn refused(cause: TiffError) -> Error {
    match cause {
        TiffError::UnsupportedError(what) => {
            Error::new(ErrorCode::Unsupported, format!("image: failed to decode TIFF: {what}"))
        }
        TiffError::LimitsExceeded => Error::new(
            ErrorCode::LimitExceeded,
            "image: failed to decode TIFF: it needs more than the limit of 512 MiB",
        ),
        cause => broken("TIFF", cause),
    }
}

/// Returns eight bits of every sample; packed samples of fewer bits stay packed. `is_linear` tells from the position of
/// a float whether it is linear light.
fn samples_of(data: DecodingResult, bits: u8, is_linear: impl Fn(usize) -> bool) -> Result<Vec<u8>> {
    // Floats range from 0 to 1; NaN becomes 0.
    let unit = |(at, value): (usize, f64)| {
        let value = value.clamp(0.0, 1.0);
        let value = match is_linear(at) {
            false => value,
            true if value <= 0.003_130_8 => value * 12.92,
            true => 1.055 * value.powf(1.0 / 2.4) - 0.055,
        };
        (value * 255.0).round() as u8
    };
    Ok(match data {
        DecodingResult::U8(data) => data,
        DecodingResult::U16(data) if bits == 16 => data.into_iter().map(|v| (v >> 8) as u8).collect(),
        DecodingResult::U32(data) if bits == 32 => data.into_iter().map(|v| (v >> 24) as u8).collect(),
        DecodingResult::U64(data) if bits == 64 => data.into_iter().map(|v| (v >> 56) as u8).collect(),
        DecodingResult::F16(data) => data.into_iter().map(|v| f64::from(f32::from(v))).enumerate().map(unit).collect(),
        DecodingResult::F32(data) => data.into_iter().map(f64::from).enumerate().map(unit).collect(),
        DecodingResult::F64(data) => data.into_iter().enumerate().map(unit).collect(),
        DecodingResult::I8(data) => data.into_iter().map(|v| (v as u8) ^ 0x80).collect(),
        DecodingResult::I16(data) => data.into_iter().map(|v| ((v >> 8) as u8) ^ 0x80).collect(),
        DecodingResult::I32(data) => data.into_iter().map(|v| ((v >> 24) as u8) ^ 0x80).collect(),
        DecodingResult::I64(data) => data.into_iter().map(|v| ((v >> 56) as u8) ^ 0x80).collect(),
        _ => return Err(unsupported("TIFF", format!("a depth of {bits} bits"))),
    })
}

fn row_stride(layout: &tiff::decoder::BufferLayoutPreference, width: u32, stored: usize, bits: u8) -> usize {
    let in_plane = if layout.planes > 1 { 1 } else { stored };
    let count = width as usize * in_plane;
    if bits < 8 { (count * usize::from(bits)).div_ceil(8) } else { count }
}

/// The layout of the decoded bytes, which [`Row::sample`] uses to find a sample.
struct Row {
    width: usize,
    samples: usize,
    bits: u8,
    planes: usize,
    stride: usize,
    plane_stride: usize,
}

impl Row {
    fn sample(&self, data: &[u8], x: usize, y: usize, channel: usize) -> u8 {
        debug_assert!(x < self.width, "a pixel outside of its row");
        let (start, index) = if self.planes > 1 {
            // Strides are in decoded bytes; samples of several bytes were reduced to one.
            let bytes = usize::from(self.bits / 8).max(1);
            (channel * (self.plane_stride / bytes) + y * self.stride, x)
        } else {
            (y * self.stride, x * self.samples + channel)
        };
        if self.bits >= 8 {
            return data.get(start + index).copied().unwrap_or(0);
        }
        let bit = index * usize::from(self.bits);
        let byte = data.get(start + bit / 8).copied().unwrap_or(0);
        // A sample of 1, 2 or 4 bits never spans two bytes.
        (byte >> (8 - usize::from(self.bits) - bit % 8)) & ((1 << self.bits) - 1)
    }
}

/// The conversion of stored samples to a pixel.
#[derive(Clone, Copy)]
enum Turn {
    Copy(Channels),
    Palette,
    Cmyk,
    Ycc,
}

impl Turn {
    fn channels(self) -> Channels {
        match self {
            Turn::Copy(channels) => channels,
            Turn::Palette | Turn::Cmyk | Turn::Ycc => Channels::Rgb,
        }
    }

    /// Returns the number of bytes that [`Turn::pixel`] writes.
    fn width(self) -> usize {
        if matches!(self, Turn::Cmyk) { 4 } else { self.channels().count() }
    }

    fn pixel(self, from: &[u8; 8], to: &mut [u8], palette: &[u16], bits: u8) {
        match self {
            Turn::Copy(_) => {
                let scale = if bits < 8 { 255 / ((1u16 << bits) - 1) as u8 } else { 1 };
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from * scale;
                }
            }
            Turn::Palette => {
                // The red values of all colours, then the green ones, then the blue ones, 16 bits each.
                let colors = palette.len() / 3;
                for (part, to) in to.iter_mut().enumerate() {
                    let at = part * colors + usize::from(from[0]).min(colors.saturating_sub(1));
                    *to = palette.get(at).map_or(0, |value| (value >> 8) as u8);
                }
            }
            // Inks are converted together, which is faster.
            Turn::Cmyk => to.copy_from_slice(&from[..4]),
            Turn::Ycc => to.copy_from_slice(&rgb_of_ycc([from[0], from[1], from[2]])),
        }
    }
}

/// Returns the number of samples in a stored pixel, and their conversion.
fn reading(color: ColorType) -> Result<(usize, Turn)> {
    if !matches!(color.bit_depth(), 1 | 2 | 4 | 8 | 16 | 32 | 64) {
        return Err(unsupported("TIFF", format!("a depth of {} bits", color.bit_depth())));
    }
    Ok(match color {
        ColorType::Gray(_) => (1, Turn::Copy(Channels::Gray)),
        ColorType::GrayA(_) => (2, Turn::Copy(Channels::GrayAlpha)),
        ColorType::RGB(_) => (3, Turn::Copy(Channels::Rgb)),
        ColorType::RGBA(_) => (4, Turn::Copy(Channels::Rgba)),
        ColorType::Palette(1 | 2 | 4 | 8) => (1, Turn::Palette),
        ColorType::CMYK(_) => (4, Turn::Cmyk),
        ColorType::CMYKA(_) => (5, Turn::Cmyk),
        ColorType::YCbCr(8) => (3, Turn::Ycc),
        ColorType::Multiband { num_samples: 1, .. } => (1, Turn::Copy(Channels::Gray)),
        color => return Err(unsupported("TIFF", format!("the colour type {color:?}"))),
    })
}
