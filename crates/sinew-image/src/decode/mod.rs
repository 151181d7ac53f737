//! Decodes images: the decoders of the `image` crate with limits, checks and cancellation.
//!
//! `image` decodes PNG, JPEG, GIF, WebP and BMP. The modules of this directory handle the remaining cases:
//!
//! | module | case |
//! |---|---|
//! | `source` | decoders that read from memory cannot be cancelled |
//! | `complete` | truncated files are decoded to partial images |
//! | `jpeg`, `scaled_jpeg` | unusual sampling and scans; JPEG at a half, a quarter or an eighth of its size |
//! | `reduced_png` | PNG that exceeds the memory limit, by averaging its rows |
//! | `png`, `webp`, `gif`, `bmp` | EXIF after the pixels; a blended first frame; screens and backgrounds; headers and run-length encoding |
//! | `tiff` | palettes, YCbCr, 2 and 4 bits, floats and wide integers in grey, which `image` does not support |

mod bmp;
mod complete;
mod error;
mod gif;
mod jpeg;
mod png;
mod reduced_png;
mod scaled_jpeg;
mod source;
mod tiff;
mod webp;

use std::borrow::Cow;

use error::{refused, unsupported};
use image::{ColorType, ImageDecoder, ImageReader};
use sinew_base::{CancelToken, Error, ErrorCode, Result};
use source::Source;

use crate::picture::keep_upper_bytes;
use crate::{Channels, MAX_BYTES, Orientation, Picture, SourceFormat, limits, orient};

/// Decodes the image in `bytes`: PNG, JPEG, GIF, WebP, BMP or TIFF, recognised by its first bytes. EXIF orientation is
/// applied, and an ICC profile is kept; only the first frame or page is read. 16-bit samples keep their upper byte, and
/// gamma values are ignored. Grey images stay grey, and opaque ones have no alpha channel. CMYK becomes sRGB: by its
/// profile if that has a table of type `mft1` or `mft2`, otherwise approximately as on coated paper. Floating-point
/// colours without a profile are linear (scRGB) and become sRGB.
///
/// Checks `cancel` between stages and, except for JPEG, every 16 KiB of input.
///
/// # Errors
/// Returns [`ErrorCode::InvalidData`] if the file is corrupt, truncated or of an unknown format,
/// [`ErrorCode::LimitExceeded`] if it exceeds [`crate::MAX_BYTES`] (before that much is allocated), [`ErrorCode::Unsupported`] if it uses an unsupported feature of the format, and an error if the call is
/// cancelled.
pub fn decode(bytes: &[u8], cancel: &CancelToken) -> Result<Picture> {
    cancel.check()?;
    let (picture, orientation) = match format_of(bytes)? {
        SourceFormat::Tiff => tiff::decode(bytes, cancel)?,
        format => read(format, bytes, cancel)?,
    };
    cancel.check()?;
    orient::apply(picture, orientation, cancel)
}

/// Does the same as [`decode`], but at a reduced size if the format allows it: the result has at least `sides` pixels
/// after the orientation is applied, or the full size.
pub(crate) fn decode_at_least(bytes: &[u8], head: &Probe, sides: (u32, u32), cancel: &CancelToken) -> Result<Picture> {
    cancel.check()?;
    let stored = if orient::swaps_sides(head.orientation) { (sides.1, sides.0) } else { sides };
    let reduced = match head.format {
        SourceFormat::Jpeg => match jpeg::Header::read(bytes).filter(|header| header.is_usual() && !header.is_cmyk()) {
            Some(header) => scaled_jpeg::decode(bytes, &header, stored)?,
            None => None,
        },
        SourceFormat::Png => reduced_png::decode(bytes, stored, cancel)?,
        _ => None,
    };
    match reduced {
        Some(picture) => {
            cancel.check()?;
            orient::apply(picture, head.orientation, cancel)
        }
        None => decode(bytes, cancel),
    }
}

/// The information in the header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The format.
    pub format: SourceFormat,
    /// The stored width in pixels, before the orientation is applied.
    pub width: u32,
    /// The stored height in pixels.
    pub height: u32,
    /// The rotation that shows the image upright.
    pub orientation: Orientation,
}

impl Probe {
    /// Returns the width and height after the orientation is applied.
    #[must_use]
    pub fn upright_size(&self) -> (u32, u32) {
        if orient::swaps_sides(self.orientation) { (self.height, self.width) } else { (self.width, self.height) }
    }
}

/// Reads the size and orientation of an image without its pixels: cheap for images of any size.
///
/// # Errors
/// Returns the errors of [`decode`] that the header alone reveals.
pub fn probe(bytes: &[u8]) -> Result<Probe> {
    let format = format_of(bytes)?;
    if format == SourceFormat::Tiff {
        let (width, height, orientation) = tiff::probe(bytes)?;
        return Ok(Probe { format, width, height, orientation });
    }
    if let Some(header) = unusual_jpeg(format, bytes) {
        let (width, height) = header.size();
        limits::check(width, height, 1)?;
        return Ok(Probe { format, width, height, orientation: header.orientation() });
    }
    let never = CancelToken::never();
    let prepared = prepare(format, bytes);
    let mut decoder = open(format, &prepared, &never)?;
    let (width, height) = decoder.dimensions();
    limits::check(width, height, 1)?;
    Ok(Probe { format, width, height, orientation: orientation(format, bytes, &mut decoder) })
}

/// Decodes a complete image as it is stored.
fn read(format: SourceFormat, bytes: &[u8], cancel: &CancelToken) -> Result<(Picture, Orientation)> {
    complete::check(format, bytes)?;
    if let Some(header) = unusual_jpeg(format, bytes) {
        let picture = if header.is_cmyk() { jpeg::decode_cmyk(bytes, &header) } else { jpeg::decode(bytes, &header) };
        return Ok((picture?, header.orientation()));
    }
    let prepared = prepare(format, bytes);
    let mut decoder = open(format, &prepared, cancel)?;
    let (width, height) = decoder.dimensions();
    let color_type = decoder.color_type();
    limits::check(width, height, usize::from(color_type.bytes_per_pixel()).max(least_memory(format)))?;
    let mut samples = vec![0; limits::check(width, height, color_type.bytes_per_pixel().into())?];
    let orientation = orientation(format, bytes, &mut decoder);
    // An invalid profile leaves the colours as they are stored.
    let profile = decoder.icc_profile().ok().flatten();
    decoder.read_image(&mut samples).map_err(|cause| refused(format, &cause, cancel))?;
    match format {
        SourceFormat::Gif => gif::paint_background(&prepared, (width, height), &mut samples)?,
        SourceFormat::Bmp => bmp::fill_gaps(&prepared, (width, height), &mut samples, cancel)?,
        _ => {}
    }
    let channels = match color_type {
        ColorType::L8 | ColorType::L16 => Channels::Gray,
        ColorType::La8 | ColorType::La16 => Channels::GrayAlpha,
        ColorType::Rgb8 | ColorType::Rgb16 => Channels::Rgb,
        ColorType::Rgba8 | ColorType::Rgba16 => Channels::Rgba,
        other => return Err(unsupported(format.name(), format!("the colour type {other:?}"))),
    };
    if matches!(color_type, ColorType::L16 | ColorType::La16 | ColorType::Rgb16 | ColorType::Rgba16) {
        keep_upper_bytes(&mut samples);
    }
    let picture = Picture::new(width, height, channels, samples)?;
    Ok((picture.with_profile(profile), orientation))
}

/// Returns the header of a JPEG that the decoder of `image` does not decode correctly; `None` for all other files.
fn unusual_jpeg(format: SourceFormat, bytes: &[u8]) -> Option<jpeg::Header<'_>> {
    let header = (format == SourceFormat::Jpeg).then(|| jpeg::Header::read(bytes)).flatten();
    header.filter(|header| !header.is_usual() || header.is_cmyk())
}

/// Returns the minimum number of bytes per pixel that a decoder needs while it works.
fn least_memory(format: SourceFormat) -> usize {
    match format {
        // A progressive image is stored as two-byte coefficients until its last scan, in addition to its pixels.
        SourceFormat::Jpeg => 3,
        // A lossless image is decoded with an alpha channel, which is removed afterwards.
        SourceFormat::Webp => 4,
        _ => 1,
    }
}

/// Returns the file in the form that its decoder supports.
fn prepare(format: SourceFormat, bytes: &[u8]) -> Cow<'_, [u8]> {
    match format {
        SourceFormat::Bmp => bmp::with_known_header(bytes),
        SourceFormat::Webp => webp::without_blending(bytes),
        SourceFormat::Gif => gif::with_screen_of_frame(bytes),
        SourceFormat::Jpeg => jpeg::with_plain_factors(bytes),
        SourceFormat::Png | SourceFormat::Tiff => Cow::Borrowed(bytes),
    }
}

fn open<'a>(format: SourceFormat, bytes: &'a [u8], cancel: &'a CancelToken) -> Result<impl ImageDecoder + 'a> {
    if let Some((width, height)) = stated_size(format, bytes) {
        limits::check(width, height, 1)?;
    }
    let mut reader = ImageReader::with_format(
        Source::new(bytes, cancel),
        match format {
            SourceFormat::Png => image::ImageFormat::Png,
            SourceFormat::Jpeg => image::ImageFormat::Jpeg,
            SourceFormat::Gif => image::ImageFormat::Gif,
            SourceFormat::Webp => image::ImageFormat::WebP,
            SourceFormat::Bmp => image::ImageFormat::Bmp,
            SourceFormat::Tiff => image::ImageFormat::Tiff,
        },
    );
    let mut limits = image::Limits::no_limits();
    limits.max_alloc = Some(MAX_BYTES as u64);
    reader.limits(limits);
    reader.into_decoder().map_err(|cause| refused(format, &cause, cancel))
}

/// Returns the width and height if the format has them at a fixed offset: a size beyond the limits is then reported
/// before a decoder allocates a row, or finds the rest of the file missing.
fn stated_size(format: SourceFormat, bytes: &[u8]) -> Option<(u32, u32)> {
    match format {
        SourceFormat::Png => match bytes.get(16..24)? {
            &[a, b, c, d, e, f, g, h] => Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))),
            _ => None,
        },
        SourceFormat::Gif => match bytes.get(6..10)? {
            &[a, b, c, d] => Some((u16::from_le_bytes([a, b]).into(), u16::from_le_bytes([c, d]).into())),
            _ => None,
        },
        SourceFormat::Bmp => bmp::stated_size(bytes),
        _ => None,
    }
}

/// Returns the EXIF orientation. Invalid data leaves the image as it is stored.
fn orientation(format: SourceFormat, bytes: &[u8], decoder: &mut impl ImageDecoder) -> Orientation {
    let exif = match format {
        SourceFormat::Png => png::exif(bytes).map(Cow::Borrowed),
        SourceFormat::Jpeg => {
            return jpeg::Header::read(bytes).map_or(Orientation::NoTransforms, |header| header.orientation());
        }
        _ => decoder.exif_metadata().ok().flatten().map(Cow::Owned),
    };
    exif.as_deref().map(orient::of_exif).unwrap_or(Orientation::NoTransforms)
}

fn format_of(bytes: &[u8]) -> Result<SourceFormat> {
    SourceFormat::of(bytes).ok_or_else(|| {
        let head = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        Error::new(
            ErrorCode::InvalidData,
            if bytes.is_empty() {
                "image: no data".to_string()
            } else {
                format!("image: unknown format (first bytes {head}): PNG, JPEG, GIF, WebP, BMP and TIFF are read")
            },
        )
    })
}
