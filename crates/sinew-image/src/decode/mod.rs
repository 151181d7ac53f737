//! Bytes → pixels.

mod bmp;
mod gif;
mod jpeg;
mod png;
mod tiff;
mod webp;

use sinew_base::{Cancel, Error, ErrorCode, Result};

use crate::{Channels, Orientation, Picture, SourceFormat, limits, orient};

/// Decodes the picture in `bytes`: PNG, JPEG, GIF, WebP, BMP or TIFF, told by its first bytes. EXIF
/// orientation is applied; of several frames or pages the first is read. 16-bit samples keep their upper
/// byte, a gamma value is not applied. Grey pictures stay grey, opaque ones stay without an alpha channel.
///
/// `cancel` is looked at between stages and, where the format allows, between rows.
///
/// # Errors
/// [`ErrorCode::InvalidData`] for a file that is broken, cut off or of no known format,
/// [`ErrorCode::LimitExceeded`] beyond [`crate::MAX_SIDE`] or [`crate::MAX_BYTES`] (before anything of that
/// size is allocated), [`ErrorCode::Unsupported`] for a feature of the format that is not read, and
/// cancellation.
pub fn decode(bytes: &[u8], cancel: &Cancel) -> Result<Picture> {
    cancel.check()?;
    let (picture, orientation) = match format_of(bytes)? {
        SourceFormat::Png => png::decode(bytes, cancel)?,
        SourceFormat::Jpeg => jpeg::decode(bytes)?,
        SourceFormat::Gif => gif::decode(bytes, cancel)?,
        SourceFormat::Webp => webp::decode(bytes)?,
        SourceFormat::Bmp => bmp::decode(bytes, cancel)?,
        SourceFormat::Tiff => tiff::decode(bytes, cancel)?,
    };
    cancel.check()?;
    orient::apply(picture, orientation, cancel)
}

/// As [`decode`], but where the format allows the picture may be smaller than it is: it has at least `sides` pixels, after
/// it was turned, or is whole.
pub(crate) fn decode_at_least(bytes: &[u8], head: &Probe, sides: (u32, u32), cancel: &Cancel) -> Result<Picture> {
    cancel.check()?;
    if head.format == SourceFormat::Jpeg {
        let stored = if head.orientation.swaps_sides() { (sides.1, sides.0) } else { sides };
        if let Some((picture, orientation)) = jpeg::decode_small(bytes, stored)? {
            cancel.check()?;
            return orient::apply(picture, orientation, cancel);
        }
    }
    decode(bytes, cancel)
}

/// What the head of a file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The format.
    pub format: SourceFormat,
    /// Pixels in a row as stored, before the orientation is applied.
    pub width: u32,
    /// Rows as stored.
    pub height: u32,
    /// How the picture has to be turned.
    pub orientation: Orientation,
}

impl Probe {
    /// Pixels in a row and rows after the orientation is applied.
    pub(crate) fn turned(&self) -> (u32, u32) {
        if self.orientation.swaps_sides() { (self.height, self.width) } else { (self.width, self.height) }
    }
}

/// Reads only the head of a picture: cheap, whatever the size of the picture is.
///
/// # Errors
/// As [`decode`], for what the head alone shows.
pub fn probe(bytes: &[u8]) -> Result<Probe> {
    let format = format_of(bytes)?;
    let (width, height, orientation) = match format {
        SourceFormat::Png => png::probe(bytes)?,
        SourceFormat::Jpeg => jpeg::probe(bytes)?,
        SourceFormat::Gif => gif::probe(bytes)?,
        SourceFormat::Webp => webp::probe(bytes)?,
        SourceFormat::Bmp => bmp::probe(bytes)?,
        SourceFormat::Tiff => tiff::probe(bytes)?,
    };
    Ok(Probe { format, width, height, orientation })
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

/// A file that is not what it says it is.
fn broken(format: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidData, format!("image: failed to decode {format}: {cause}"))
}

/// A file that may be right and that we do not read.
fn unsupported(format: &str, what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unsupported, format!("image: failed to decode {format}: {what} is not supported"))
}

/// Memory for `width × height` pixels, once the limits allow it.
fn canvas(width: u32, height: u32, channels: Channels) -> Result<Vec<u8>> {
    Ok(vec![0; limits::check(width, height, channels.count())?])
}
