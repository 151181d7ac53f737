//! JPEG: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.

use sinew_base::{Error, ErrorCode, Result};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{broken, canvas};
use crate::{Channels, MAX_SIDE, Orientation, Picture, limits};

type Decoder<'a> = JpegDecoder<ZCursor<&'a [u8]>>;

/// Scans of a progressive picture: encoders write about ten, an attacker writes thousands.
const MAX_SCANS: usize = 128;

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
