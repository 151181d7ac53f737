//! Prepares an image for a model.

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::decode::decode_at_least;
use crate::encode::max_side;
use crate::{ImageFormat, Orientation, Picture, SamplingFilter, SourceFormat, decode, probe};

/// The limits of an image. The defaults work with every provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitOptions {
    /// The maximum width in pixels; default 2000.
    pub max_width: u32,
    /// The maximum height in pixels; default 2000.
    pub max_height: u32,
    /// The maximum size of the result **as base64 text**, which is how providers count and a third more than the file
    /// itself; default 4.5 MiB.
    pub max_bytes: usize,
    /// The format of the result. Default `None`: the format of the input, PNG for BMP and TIFF, JPEG if PNG is too
    /// large.
    pub format: Option<ImageFormat>,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions { max_width: 2000, max_height: 2000, max_bytes: 9 << 19, format: None }
    }
}

/// An image within the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitResult {
    /// The file.
    pub data: Vec<u8>,
    /// The MIME type.
    pub mime_type: &'static str,
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// True if the size in pixels differs from that of the input.
    pub resized: bool,
}

/// JPEG qualities in descending order: the best useful one first, the worst acceptable one last.
const QUALITIES: [u8; 4] = [85, 70, 55, 40];

/// Scales and encodes an image to fit `max_width × max_height` pixels and `max_bytes`, keeping its aspect ratio.
///
/// - A PNG, JPEG, GIF (including an animated one) or WebP within the limits is returned unchanged, unless EXIF contains
///   an orientation, which models ignore.
/// - Otherwise the (first) image is scaled down and encoded again: a JPEG stays JPEG, all others become PNG or, if that
///   is too large, JPEG of quality 85, 70, 55, 40 on white.
/// - If that is still too large, the sides are reduced to ¾ and the steps are repeated.
/// - If `format` is set, only that format is used.
///
/// # Errors
/// Returns the errors of [`decode`], [`ErrorCode::InvalidArgument`] if a limit is 0, and [`ErrorCode::LimitExceeded`]
/// if even one pixel exceeds `max_bytes`. Checks `cancel` between the steps.
pub fn fit_image(bytes: &[u8], options: &FitOptions, cancel: &CancelToken) -> Result<FitResult> {
    let FitOptions { max_width, max_height, max_bytes, format } = *options;
    if max_width == 0 || max_height == 0 || max_bytes == 0 {
        return Err(Error::invalid(format!(
            "fitImage: nothing fits into {max_width}×{max_height} pixels and {max_bytes} bytes: no limit may be 0"
        )));
    }
    let head = probe(bytes)?;
    let (width, height) = head.upright_size();
    let same = written_as(head.format);
    if width <= max_width
        && height <= max_height
        && base64_len(bytes.len()) <= max_bytes
        && head.orientation == Orientation::NoTransforms
        && same.is_some_and(|same| format.is_none_or(|format| format == same))
    {
        // An unchanged file is decoded too: a model would reject a corrupt one, and with it the whole conversation.
        decode(bytes, cancel)?;
        let mime_type = head.format.mime_type();
        return Ok(FitResult { data: bytes.to_vec(), mime_type, width, height, resized: false });
    }
    let steps = steps(head.format, format);
    let mut size = fit_sides((width, height), (max_width, max_height));
    let picture = decode_at_least(bytes, &head, size, cancel)?.into_srgb();
    loop {
        let small = picture.resize(size.0, size.1, SamplingFilter::Lanczos3, cancel)?;
        if let Some((data, format)) = first_that_fits(&small, &steps, max_bytes, cancel)? {
            let resized = size != (width, height);
            let mime_type = format.mime_type();
            return Ok(FitResult { data, mime_type, width: size.0, height: size.1, resized });
        }
        if size == (1, 1) {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!("fitImage: not even one pixel fits into {max_bytes} bytes"),
            ));
        }
        size = ((size.0 * 3 / 4).max(1), (size.1 * 3 / 4).max(1));
    }
}

/// Returns the result of the first step that is within the limits.
fn first_that_fits(
    picture: &Picture,
    steps: &[(ImageFormat, u8)],
    max_bytes: usize,
    cancel: &CancelToken,
) -> Result<Option<(Vec<u8>, ImageFormat)>> {
    for &(format, quality) in steps {
        if picture.width().max(picture.height()) > max_side(format) {
            continue;
        }
        let data = picture.encode(format, quality, cancel)?;
        if base64_len(data.len()) <= max_bytes {
            return Ok(Some((data, format)));
        }
    }
    Ok(None)
}

fn steps(from: SourceFormat, wanted: Option<ImageFormat>) -> Vec<(ImageFormat, u8)> {
    let jpegs = QUALITIES.map(|quality| (ImageFormat::Jpeg, quality));
    match wanted {
        Some(ImageFormat::Jpeg) => jpegs.to_vec(),
        Some(format) => vec![(format, 100)],
        None if from == SourceFormat::Jpeg => jpegs.to_vec(),
        None => [(ImageFormat::Png, 100)].into_iter().chain(jpegs).collect(),
    }
}

/// Returns the format of the file if models accept it; `None` otherwise.
fn written_as(format: SourceFormat) -> Option<ImageFormat> {
    match format {
        SourceFormat::Png => Some(ImageFormat::Png),
        SourceFormat::Jpeg => Some(ImageFormat::Jpeg),
        SourceFormat::Webp => Some(ImageFormat::Webp),
        SourceFormat::Gif => Some(ImageFormat::Gif),
        SourceFormat::Bmp | SourceFormat::Tiff => None,
    }
}

/// Returns the largest size with the same aspect ratio within the limits; never larger than the input, never 0.
fn fit_sides((width, height): (u32, u32), (max_width, max_height): (u32, u32)) -> (u32, u32) {
    let scaled = |side: u32, max: u32, of: u32| {
        // Rounded; the products stay far below the range of u64.
        let value = (u64::from(side) * u64::from(max) + u64::from(of) / 2) / u64::from(of);
        (value as u32).max(1)
    };
    let (mut new_width, mut new_height) = (width, height);
    if new_width > max_width {
        (new_width, new_height) = (max_width, scaled(height, max_width, width));
    }
    if new_height > max_height {
        (new_width, new_height) = (scaled(width, max_height, height).min(max_width), max_height);
    }
    (new_width, new_height)
}

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
