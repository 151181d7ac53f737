//! JPEG: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.

use sinew_base::{Error, ErrorCode, Result};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{broken, canvas};
use crate::{Channels, MAX_BYTES, MAX_SIDE, Orientation, Picture, limits};

type Decoder<'a> = JpegDecoder<ZCursor<&'a [u8]>>;

/// Scans of a progressive picture: encoders write about ten, an attacker writes thousands.
const MAX_SCANS: usize = 128;

/// The shortest side of a picture that is decoded at a part of its size; smaller ones take little time anyway.
const SMALLEST: u32 = 512;

pub(super) fn decode(bytes: &[u8]) -> Result<(Picture, Orientation)> {
    check_end(bytes)?;
    let mut decoder = open(bytes)?;
    let (width, height) = size(&decoder)?;
    // A progressive picture is kept as two-byte coefficients until its last scan, besides its pixels.
    limits::check(width, height, 3)?;
    let channels = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => Channels::Gray,
        _ => Channels::Rgb,
    };
    let out = if channels == Channels::Gray { ColorSpace::Luma } else { ColorSpace::RGB };
    let options = decoder.options().jpeg_set_out_colorspace(out);
    decoder.set_options(options);
    let mut samples = canvas(width, height, channels)?;
    decoder.decode_into(&mut samples).map_err(|cause| broken("JPEG", cause_text(&cause)))?;
    let orientation = orientation(&decoder);
    Ok((Picture::new(width, height, channels, samples)?, orientation))
}

/// The picture at a half, a quarter or an eighth of its size, the smallest that has at least `wanted` pixels on both sides,
/// before it is turned. `None` where only the whole can be had, and for what the other decoder does not read: that one
/// decides what is broken.
///
/// A block of 8 × 8 pixels is decoded as one of 4 × 4, 2 × 2 or 1: half the time of decoding and shrinking the whole.
pub(super) fn decode_small(bytes: &[u8], wanted: (u32, u32)) -> Result<Option<(Picture, Orientation)>> {
    check_end(bytes)?;
    let head = open(bytes)?;
    let (width, height) = size(&head)?;
    limits::check(width, height, 3)?;
    // Blocks reach beyond the last column and row: on a small picture the part of a block that is too much would be seen.
    if width.min(height) < SMALLEST {
        return Ok(None);
    }
    let eighths = |side: u32, count: u32| (side * count).div_ceil(8) as u16;
    let small = [1, 2, 4].map(|count| (eighths(width, count), eighths(height, count)));
    let enough = |(width, height): &(u16, u16)| u32::from(*width) >= wanted.0 && u32::from(*height) >= wanted.1;
    let Some(small) = small.into_iter().find(enough) else { return Ok(None) };
    let mut decoder = jpeg_decoder::Decoder::new(bytes);
    decoder.set_max_decoding_buffer_size(MAX_BYTES);
    let Ok((small_width, small_height)) = decoder.scale(small.0, small.1) else { return Ok(None) };
    let Ok(samples) = decoder.decode() else { return Ok(None) };
    let channels = match decoder.info().map(|info| info.pixel_format) {
        Some(jpeg_decoder::PixelFormat::L8) => Channels::Gray,
        Some(jpeg_decoder::PixelFormat::RGB24) => Channels::Rgb,
        _ => return Ok(None),
    };
    Ok(Some((Picture::new(small_width.into(), small_height.into(), channels, samples)?, orientation(&head))))
}

pub(super) fn probe(bytes: &[u8]) -> Result<(u32, u32, Orientation)> {
    let decoder = open(bytes)?;
    let (width, height) = size(&decoder)?;
    Ok((width, height, orientation(&decoder)))
}

fn open(bytes: &[u8]) -> Result<Decoder<'_>> {
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize)
        .jpeg_set_max_scans(MAX_SCANS);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|cause| match cause {
        zune_jpeg::errors::DecodeErrors::LargeDimensions(side) => Error::new(
            ErrorCode::LimitExceeded,
            format!("image: {side} pixels in a row or column are too many: a side may be {MAX_SIDE} at most"),
        ),
        cause => broken("JPEG", cause_text(&cause)),
    })?;
    Ok(decoder)
}

fn size(decoder: &Decoder<'_>) -> Result<(u32, u32)> {
    let (width, height) = decoder.dimensions().ok_or_else(|| broken("JPEG", "it states no size"))?;
    // Both are 16-bit fields of the file.
    Ok((width as u32, height as u32))
}

fn orientation(decoder: &Decoder<'_>) -> Orientation {
    decoder.exif().map(|exif| Orientation::of_exif(exif)).unwrap_or_default()
}

fn cause_text(cause: &zune_jpeg::errors::DecodeErrors) -> String {
    let text = format!("{cause:?}");
    // The causes are words in quotes; the quotes are of no use to a reader.
    text.trim_matches('"').trim().to_string()
}

/// Whether the file runs to its end mark. The decoder fills what is missing with grey, as browsers do;
/// half a picture is an error here.
///
/// Walks the segments, so that the end mark of a thumbnail inside the metadata does not count. Linear.
fn check_end(bytes: &[u8]) -> Result<()> {
    let cut = || broken("JPEG", "the file is cut off: it has no end mark");
    let mut at = 2;
    let mut scans = 0;
    loop {
        at += memchr::memchr(0xff, bytes.get(at..).ok_or_else(cut)?).ok_or_else(cut)?;
        let marker = *bytes.get(at + 1).ok_or_else(cut)?;
        match marker {
            0xd9 if scans > 0 => return Ok(()),
            // A filler, a stuffed byte of the scan, a restart mark, or a mark without a length.
            0xff => at += 1,
            0x00 | 0x01 | 0xd0..=0xd9 => at += 2,
            _ => {
                if marker == 0xda {
                    scans += 1;
                }
                let length = bytes.get(at + 2..at + 4).ok_or_else(cut)?;
                at += 2 + usize::from(u16::from_be_bytes([length[0], length[1]])).max(2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_base::Cancel;

    use super::*;
    use crate::ImageFormat;

    #[test]
    fn a_part_is_decoded_where_it_has_enough_pixels() {
        let samples = (0..1_001 * 802 * 3).map(|n| (n / 7 % 251) as u8).collect();
        let picture = Picture::new(1_001, 802, Channels::Rgb, samples).unwrap();
        let file = picture.encode(ImageFormat::Jpeg, 90, &Cancel::never()).unwrap();
        for (wanted, part) in [
            ((501, 401), Some((501, 401))),
            ((500, 300), Some((501, 401))),
            ((251, 201), Some((251, 201))),
            ((126, 101), Some((126, 101))),
            ((1, 1), Some((126, 101))),
            ((127, 1), Some((251, 201))),
            ((1, 102), Some((251, 201))),
            ((502, 1), None),
            ((1, 402), None),
            ((1_001, 802), None),
        ] {
            let found = decode_small(&file, wanted).unwrap().map(|(picture, _)| (picture.width(), picture.height()));
            assert_eq!(found, part, "{wanted:?}");
        }
    }
}
