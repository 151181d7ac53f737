//! Decodes a PNG that exceeds the memory limit at a reduced size: row by row, each block of pixels averaged.

use std::io::Cursor;

use sinew_base::{CancelToken, Result};

use super::complete;
use super::error::broken;
use crate::{Channels, MAX_BYTES, Picture, SourceFormat};

/// Decodes a PNG to at least `wanted` pixels on both sides, before the orientation is applied. `None` if the whole image
/// is within the memory limit, or cannot be reduced: it is interlaced, or `wanted` is more than half of a side.
///
/// Checks `cancel` for every row.
pub(super) fn decode(bytes: &[u8], wanted: (u32, u32), cancel: &CancelToken) -> Result<Option<Picture>> {
    decode_above(MAX_BYTES, bytes, wanted, cancel)
}

fn decode_above(limit: usize, bytes: &[u8], wanted: (u32, u32), cancel: &CancelToken) -> Result<Option<Picture>> {
    let failed = |cause: png::DecodingError| broken("PNG", cause);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: MAX_BYTES });
    let header = decoder.read_header_info().map_err(failed)?;
    let (width, height) = header.size();
    // 16-bit samples, which the other decoder keeps until the end.
    let largest =
        u64::from(width) * u64::from(height) * 4 * if header.bit_depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let by = (width / wanted.0.max(1)).min(height / wanted.1.max(1));
    if largest <= limit as u64 || header.interlaced || by < 2 {
        return Ok(None);
    }
    complete::check(SourceFormat::Png, bytes)?;
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(failed)?;
    let channels = match reader.output_color_type().0 {
        png::ColorType::Grayscale => Channels::Gray,
        png::ColorType::GrayscaleAlpha => Channels::GrayAlpha,
        png::ColorType::Rgb => Channels::Rgb,
        png::ColorType::Rgba => Channels::Rgba,
        png::ColorType::Indexed => return Ok(None),
    };
    let count = channels.count();
    let small = (width.div_ceil(by), height.div_ceil(by));
    let mut samples = Vec::with_capacity(crate::limits::check(small.0, small.1, count)?);
    let mut block = Block { sums: vec![[0; 5]; small.0 as usize], by: by as usize, channels };
    for y in 1..=height {
        cancel.check()?;
        let row = reader.next_row().map_err(failed)?;
        let row = row.ok_or_else(|| broken("PNG", "it has too few rows"))?;
        block.add(row.data());
        if y % by == 0 || y == height {
            block.finish(&mut samples);
        }
    }
    reader.finish().map_err(failed)?;
    let profile = reader.info().icc_profile.as_deref().map(<[u8]>::to_vec);
    Ok(Some(Picture::new(small.0, small.1, channels, samples)?.with_profile(profile)))
}

/// The rows that become one.
struct Block {
    /// For each pixel the sums of its samples, weighted by their opacity, of the opacities, and the number of pixels.
    sums: Vec<[u64; 5]>,
    /// The width of a block.
    by: usize,
    channels: Channels,
}

impl Block {
    fn add(&mut self, row: &[u8]) {
        let count = self.channels.count();
        for (sums, pixels) in self.sums.iter_mut().zip(row.chunks(self.by * count)) {
            for pixel in pixels.chunks_exact(count) {
                let colors = if self.channels.has_alpha() { count - 1 } else { count };
                let alpha = if self.channels.has_alpha() { u64::from(pixel[colors]) } else { 255 };
                for (sum, sample) in sums.iter_mut().zip(&pixel[..colors]) {
                    *sum += u64::from(*sample) * alpha;
                }
                sums[3] += alpha;
                sums[4] += 1;
            }
        }
    }

    fn finish(&mut self, samples: &mut Vec<u8>) {
        let colors = self.channels.count() - usize::from(self.channels.has_alpha());
        let rounded = |sum: u64, of: u64| ((sum + of / 2) / of.max(1)) as u8;
        for sums in &mut self.sums {
            samples.extend(sums[..colors].iter().map(|sum| rounded(*sum, sums[3])));
            if self.channels.has_alpha() {
                samples.push(rounded(sums[3], sums[4]));
            }
            *sums = [0; 5];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImageFormat, SamplingFilter, decode as decode_whole};

    #[test]
    fn a_reduced_image_looks_like_a_resized_one() {
        let never = CancelToken::never();
        for channels in [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba] {
            let (width, height) = (97, 41);
            let value = |n: usize| (n % (width * channels.count()) * 200 / (width * channels.count()) + n / 400) as u8;
            let samples = (0..width * height * channels.count()).map(value).collect();
            let picture = Picture::new(width as u32, height as u32, channels, samples).unwrap();
            let file = picture.encode(ImageFormat::Png, 100, &never).unwrap();
            for (wanted, size) in
                [((30, 12), Some((33, 14))), ((7, 1), Some((8, 4))), ((1, 1), Some((3, 1))), ((49, 1), None)]
            {
                let reduced = decode_above(0, &file, wanted, &never).unwrap();
                assert_eq!(reduced.as_ref().map(|picture| (picture.width(), picture.height())), size, "{wanted:?}");
                let Some(reduced) = reduced else { continue };
                let expect = decode_whole(&file, &never).unwrap();
                let expect =
                    expect.resize(reduced.width(), reduced.height(), SamplingFilter::Triangle, &never).unwrap();
                let pairs = reduced.samples().iter().zip(expect.samples());
                let off = pairs.map(|(a, b)| usize::from(a.abs_diff(*b))).sum::<usize>() / expect.samples().len();
                // The last block may be narrower than the others.
                assert!(off < 12 || wanted == (1, 1), "{channels:?} {wanted:?}: {off} off");
            }
            assert!(decode_above(0, &file[..file.len() - 20], (7, 1), &never).is_err());
        }
    }
}
