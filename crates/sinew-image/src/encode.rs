//! Encodes images.

use std::io::Write;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::{Channels, ImageFormat, Picture, picture};

/// The number of bytes passed to the PNG encoder between two checks for cancellation.
const PNG_STEP: usize = 1 << 18;

impl Picture {
    /// Encodes the image as a file. `quality` is 0–100 and only applies to JPEG, where transparency is blended with
    /// white. PNG and WebP are lossless; GIF has at most 256 colours.
    ///
    /// Checks `cancel` between stages, and while a PNG is written.
    ///
    /// # Errors
    /// Returns [`ErrorCode::InvalidArgument`] if `quality` is above 100, [`ErrorCode::LimitExceeded`] if a side exceeds
    /// 65,535 pixels for JPEG and GIF or 16,384 for WebP, and an error if the call is cancelled.
    pub fn encode(&self, format: ImageFormat, quality: u8, cancel: &CancelToken) -> Result<Vec<u8>> {
        cancel.check()?;
        if quality > 100 {
            return Err(Error::invalid(format!("image: quality {quality} is not in 0–100")));
        }
        let (width, height, most) = (self.width(), self.height(), max_side(format));
        if width.max(height) > most {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!(
                    "image: cannot encode {width}×{height} pixels as {}: the limit is {most} per side",
                    format.name()
                ),
            ));
        }
        let bytes = match format {
            ImageFormat::Png => png(self, cancel)?,
            ImageFormat::Jpeg => jpeg(&self.to_srgb(), quality)?,
            ImageFormat::Webp => webp(&self.to_srgb())?,
            ImageFormat::Gif => gif(&self.to_srgb(), cancel)?,
        };
        cancel.check()?;
        Ok(bytes)
    }
}

/// Returns the maximum width and height that a format can store.
pub(crate) fn max_side(format: ImageFormat) -> u32 {
    match format {
        ImageFormat::Png => i32::MAX as u32,
        ImageFormat::Jpeg | ImageFormat::Gif => u16::MAX.into(),
        ImageFormat::Webp => 16_384,
    }
}

fn failed(format: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Internal, format!("image: failed to encode {format}: {cause}"))
}

fn png(picture: &Picture, cancel: &CancelToken) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut info = png::Info::with_size(picture.width(), picture.height());
    info.icc_profile = picture.profile.as_deref().map(Into::into);
    let mut encoder = png::Encoder::with_info(&mut out, info).map_err(|cause| failed("PNG", cause))?;
    encoder.set_color(match picture.channels() {
        Channels::Gray => png::ColorType::Grayscale,
        Channels::GrayAlpha => png::ColorType::GrayscaleAlpha,
        Channels::Rgb => png::ColorType::Rgb,
        Channels::Rgba => png::ColorType::Rgba,
    });
    encoder.set_depth(png::BitDepth::Eight);
    // Against libpng in its default mode, which does not filter, level 5 needs 0.3 to 0.9 of the time for photographs and
    // screenshots, and its files are at most a hundredth larger. Level 6 needs up to twice the time for 2 % less.
    encoder.set_deflate_compression(png::DeflateCompression::Level(5));
    encoder.set_filter(png::Filter::Adaptive);
    let mut writer = encoder.write_header().map_err(|cause| failed("PNG", cause))?;
    let mut stream = writer.stream_writer().map_err(|cause| failed("PNG", cause))?;
    for part in picture.samples().chunks(PNG_STEP) {
        cancel.check()?;
        stream.write_all(part).map_err(|cause| failed("PNG", cause))?;
    }
    stream.finish().map_err(|cause| failed("PNG", cause))?;
    writer.finish().map_err(|cause| failed("PNG", cause))?;
    Ok(out)
}

fn jpeg(picture: &Picture, quality: u8) -> Result<Vec<u8>> {
    let picture = picture.on_white();
    let mut out = Vec::with_capacity(picture.samples().len() / 8);
    let color = match picture.channels() {
        Channels::Gray | Channels::GrayAlpha => jpeg_encoder::ColorType::Luma,
        Channels::Rgb | Channels::Rgba => jpeg_encoder::ColorType::Rgb,
    };
    // `encode` has checked that the sides fit the 16-bit fields of the file.
    let (width, height) = (picture.width() as u16, picture.height() as u16);
    jpeg_encoder::Encoder::new(&mut out, quality.max(1))
        .encode(picture.samples(), width, height, color)
        .map_err(|cause| failed("JPEG", cause))?;
    Ok(out)
}

fn webp(picture: &Picture) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let color = match picture.channels() {
        Channels::Gray => image_webp::ColorType::L8,
        Channels::GrayAlpha => image_webp::ColorType::La8,
        Channels::Rgb => image_webp::ColorType::Rgb8,
        Channels::Rgba => image_webp::ColorType::Rgba8,
    };
    image_webp::WebPEncoder::new(&mut out)
        .encode(picture.samples(), picture.width(), picture.height(), color)
        .map_err(|cause| failed("WebP", cause))?;
    Ok(out)
}

fn gif(picture: &Picture, cancel: &CancelToken) -> Result<Vec<u8>> {
    // `encode` has checked that the sides fit the 16-bit fields of the file.
    let (width, height) = (picture.width() as u16, picture.height() as u16);
    let frame = match picture.channels() {
        // Grey needs no colour quantisation: its 256 levels are the palette.
        Channels::Gray => {
            let palette = (0..=255).flat_map(|step| [step; 3]).collect::<Vec<u8>>();
            gif::Frame::from_palette_pixels(width, height, picture.samples().to_vec(), palette, None)
        }
        Channels::Rgb => gif::Frame::from_rgb_speed(width, height, picture.samples(), 10),
        Channels::GrayAlpha | Channels::Rgba => {
            let mut pixels = picture.to_rgba();
            // GIF pixels are either opaque or transparent.
            for pixel in pixels.as_chunks_mut::<4>().0 {
                *pixel = if pixel[3] < 128 { [0; 4] } else { [pixel[0], pixel[1], pixel[2], 255] };
            }
            if pixels.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 255) {
                let rgb = picture::expand(&pixels, |&[r, g, b, _]: &[u8; 4]| [r, g, b]);
                gif::Frame::from_rgb_speed(width, height, &rgb, 10)
            } else {
                gif::Frame::from_rgba_speed(width, height, &mut pixels, 10)
            }
        }
    };
    cancel.check()?;
    let mut out = Vec::new();
    let mut encoder = gif::Encoder::new(&mut out, width, height, &[]).map_err(|cause| failed("GIF", cause))?;
    encoder.write_frame(&frame).map_err(|cause| failed("GIF", cause))?;
    drop(encoder);
    Ok(out)
}
