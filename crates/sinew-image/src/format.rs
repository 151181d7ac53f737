//! File formats, recognised by their first bytes.

use sinew_base::{Error, Result};

/// A supported input format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG, baseline or progressive.
    Jpeg,
    /// GIF 87a and 89a; the first frame.
    Gif,
    /// WebP, lossy or lossless; the first frame.
    Webp,
    /// Windows bitmap.
    Bmp,
    /// TIFF; the first page.
    Tiff,
}

impl SourceFormat {
    /// Returns the format of a file that begins with `bytes`; `None` if it is not supported.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<SourceFormat> {
        Some(match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => SourceFormat::Png,
            [0xff, 0xd8, 0xff, ..] => SourceFormat::Jpeg,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => SourceFormat::Gif,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => SourceFormat::Webp,
            [b'B', b'M', ..] => SourceFormat::Bmp,
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => SourceFormat::Tiff,
            _ => return None,
        })
    }

    /// Returns the displayed name, such as `WebP`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SourceFormat::Png => "PNG",
            SourceFormat::Jpeg => "JPEG",
            SourceFormat::Gif => "GIF",
            SourceFormat::Webp => "WebP",
            SourceFormat::Bmp => "BMP",
            SourceFormat::Tiff => "TIFF",
        }
    }

    /// Returns the MIME type, such as `image/png`.
    #[must_use]
    pub fn mime_type(self) -> &'static str {
        match self {
            SourceFormat::Png => "image/png",
            SourceFormat::Jpeg => "image/jpeg",
            SourceFormat::Gif => "image/gif",
            SourceFormat::Webp => "image/webp",
            SourceFormat::Bmp => "image/bmp",
            SourceFormat::Tiff => "image/tiff",
        }
    }
}

/// A supported output format. The numbers are those of the JavaScript `ImageFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ImageFormat {
    /// PNG, 8 bits per sample.
    Png = 0,
    /// JPEG; transparency is blended with white.
    Jpeg = 1,
    /// WebP, lossless.
    Webp = 2,
    /// GIF with one frame and at most 256 colours.
    Gif = 3,
}

impl ImageFormat {
    /// Returns the format of a JavaScript number.
    ///
    /// # Errors
    /// Returns `Invalid image format: 7` if the number is not that of a format.
    pub fn from_id(id: u32) -> Result<ImageFormat> {
        Ok(match id {
            0 => ImageFormat::Png,
            1 => ImageFormat::Jpeg,
            2 => ImageFormat::Webp,
            3 => ImageFormat::Gif,
            _ => return Err(Error::invalid(format!("Invalid image format: {id}"))),
        })
    }

    /// Returns the displayed name, such as `WebP`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ImageFormat::Png => "PNG",
            ImageFormat::Jpeg => "JPEG",
            ImageFormat::Webp => "WebP",
            ImageFormat::Gif => "GIF",
        }
    }

    /// Returns the MIME type, such as `image/png`.
    #[must_use]
    pub fn mime_type(self) -> &'static str {
        match self {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Webp => "image/webp",
            ImageFormat::Gif => "image/gif",
        }
    }
}
