//! Decodes JPEG at a half, a quarter or an eighth of its size, which the decoder of `image` does not support.

use sinew_base::Result;

use super::{complete, jpeg};
use crate::{Channels, MAX_BYTES, Picture, limits};

/// The minimum side of an image that is decoded at a reduced size; smaller ones are fast anyway.
const SMALLEST: u32 = 512;

/// Decodes the image of `width × height` pixels at the smallest scale with at least `wanted` pixels on both sides,
/// before the orientation is applied. `None` if only the full size is possible, and for files that this decoder does
/// not support: the other decoder reports errors.
///
/// A block of 8 × 8 pixels is decoded as one of 4 × 4, 2 × 2 or 1, which needs half the time of decoding and scaling
/// the full size.
///
/// The memory limit is that of the reduced image, except for a progressive file.
pub(super) fn decode(bytes: &[u8], header: &jpeg::Header<'_>, wanted: (u32, u32)) -> Result<Option<Picture>> {
    complete::check_jpeg(bytes)?;
    let (width, height) = header.size();
    if header.is_progressive() {
        limits::check(width, height, 3)?;
    }
    // Blocks extend beyond the last column and row: in a small image the excess part of a block would be visible.
    if width.min(height) < SMALLEST {
        return Ok(None);
    }
    let eighths = |side: u32, count: u32| (side * count).div_ceil(8) as u16;
    let small = [1, 2, 4].map(|count| (eighths(width, count), eighths(height, count)));
    let enough = |(width, height): &(u16, u16)| u32::from(*width) >= wanted.0 && u32::from(*height) >= wanted.1;
    let Some(small) = small.into_iter().find(enough) else { return Ok(None) };
    limits::check(small.0.into(), small.1.into(), 3)?;
    let bytes = &*jpeg::with_plain_factors(bytes);
    let mut decoder = jpeg_decoder::Decoder::new(bytes);
    decoder.set_max_decoding_buffer_size(MAX_BYTES);
    let Ok((small_width, small_height)) = decoder.scale(small.0, small.1) else { return Ok(None) };
    let Ok(samples) = decoder.decode() else { return Ok(None) };
    let channels = match decoder.info().map(|info| info.pixel_format) {
        Some(jpeg_decoder::PixelFormat::L8) => Channels::Gray,
        Some(jpeg_decoder::PixelFormat::RGB24) => Channels::Rgb,
        _ => return Ok(None),
    };
    let picture = Picture::new(small_width.into(), small_height.into(), channels, samples)?;
    Ok(Some(picture.with_profile(decoder.icc_profile())))
}

#[cfg(test)]
mod tests {
    use sinew_base::CancelToken;

    use super::*;
    use crate::ImageFormat;

    #[test]
    fn a_scaled_decode_is_used_if_it_has_enough_pixels() {
        let samples = (0..1_001 * 802 * 3).map(|n| (n / 7 % 251) as u8).collect();
        let picture = Picture::new(1_001, 802, Channels::Rgb, samples).unwrap();
        let file = picture.encode(ImageFormat::Jpeg, 90, &CancelToken::never()).unwrap();
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
            let decoded = decode(&file, &jpeg::Header::read(&file).unwrap(), wanted).unwrap();
            assert_eq!(decoded.map(|picture| (picture.width(), picture.height())), part, "{wanted:?}");
        }
    }
}
