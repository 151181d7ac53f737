//! JPEG files that the decoder of `image` does not decode, or decodes to wrong colours without an error: unusual sampling
//! factors, and components in separate scans. `jpeg-decoder` decodes them, but needs twice the time for the usual ones.

use std::borrow::Cow;

use jpeg_decoder::PixelFormat;
use sinew_base::Result;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::error::{broken, unsupported};
use crate::picture::keep_upper_bytes;
use crate::{Channels, MAX_BYTES, Orientation, Picture, cmyk, limits, orient};

/// The second byte of the marker at the start of a scan.
pub(super) const SCAN: u8 = 0xda;

/// The second byte of the marker at the end of an image.
pub(super) const END: u8 = 0xd9;

/// Returns the markers, each with the content of its segment, which is empty for a marker without a length. The data of
/// scans is skipped. Ends where the file is cut off. Takes O(n) time for all.
pub(super) fn segments(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = bytes.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        loop {
            rest = &rest[memchr::memchr(0xff, rest)?..];
            let marker = *rest.get(1)?;
            match marker {
                // A fill byte.
                0xff => rest = &rest[1..],
                // A stuffed byte of a scan, a restart marker, or another marker without a length.
                0x00 | 0x01 | 0xd0..=0xd8 => rest = &rest[2..],
                END => {
                    rest = &rest[2..];
                    return Some((marker, &[][..]));
                }
                _ => {
                    let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?])).max(2);
                    let content = rest.get(4..2 + length)?;
                    rest = &rest[2 + length..];
                    return Some((marker, content));
                }
            }
        }
    })
}

/// The header of a file.
#[derive(Debug)]
pub(super) struct Header<'a> {
    /// The second byte of the frame's marker, which names the kind of coding.
    coding: u8,
    size: (u16, u16),
    /// The horizontal and vertical sampling factors of each component.
    factors: Vec<(u8, u8)>,
    /// The number of components in the first scan.
    in_scan: usize,
    /// The first EXIF block; later ones belong to other programs' copies of the metadata.
    exif: Option<&'a [u8]>,
    /// True if a segment of Adobe exists, whose programs store inks inverted.
    is_adobe: bool,
}

impl<'a> Header<'a> {
    /// Reads the segments up to the first scan. `None` if they are invalid.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Header<'a>> {
        let mut header =
            Header { coding: 0, size: (0, 0), factors: Vec::new(), in_scan: 0, exif: None, is_adobe: false };
        for (marker, content) in segments(bytes) {
            match marker {
                0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => header.frame(marker, content)?,
                0xe1 if header.exif.is_none() && content.starts_with(b"Exif\0\0") => header.exif = Some(content),
                0xee if content.starts_with(b"Adobe") => header.is_adobe = true,
                SCAN => {
                    header.in_scan = usize::from(*content.first()?);
                    return Some(header);
                }
                _ => {}
            }
        }
        None
    }

    fn frame(&mut self, marker: u8, segment: &[u8]) -> Option<()> {
        let &[_depth, h1, h0, w1, w0, count, ref components @ ..] = segment else { return None };
        self.coding = marker;
        self.size = (u16::from_be_bytes([w1, w0]), u16::from_be_bytes([h1, h0]));
        let components = components.as_chunks::<3>().0.get(..count.into())?;
        self.factors = components.iter().map(|component| (component[1] >> 4, component[1] & 15)).collect();
        if let [factors] = &mut *self.factors {
            // `with_plain_factors` changes the file accordingly.
            *factors = (1, 1);
        }
        Some(())
    }

    /// Returns the width and height in pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.size.0.into(), self.size.1.into())
    }

    /// Returns the orientation in the first EXIF block.
    pub(super) fn orientation(&self) -> Orientation {
        self.exif.map_or(Orientation::NoTransforms, orient::of_exif)
    }

    /// Returns true if a decoder needs the coefficients of the whole image.
    pub(super) fn is_progressive(&self) -> bool {
        self.coding == 0xc2
    }

    /// Returns true if the image consists of inks.
    pub(super) fn is_cmyk(&self) -> bool {
        self.factors.len() == 4 && self.is_usual()
    }

    /// Returns true if the decoder of `image` decodes the file correctly, except for the colours of inks.
    pub(super) fn is_usual(&self) -> bool {
        let has_usual_factors = match *self.factors {
            [_] => true,
            [first, second, third] => {
                matches!(first, (1 | 2, 1 | 2)) && [second, third].iter().all(|factors| *factors == (1, 1))
            }
            ref factors => factors.len() == 4,
        };
        matches!(self.coding, 0xc0..=0xc2) && self.in_scan == self.factors.len() && has_usual_factors
    }

    /// Checks that `jpeg-decoder` decodes the file correctly. It takes the rows of a scan with one component to be as
    /// long as those of a scan with all of them, which are padded to the largest factor.
    fn check(&self) -> Result<()> {
        if self.coding > 0xc8 {
            return Err(unsupported("JPEG", "arithmetic coding"));
        }
        let has_single_scans = self.coding == 0xc2 || self.in_scan < self.factors.len();
        let most = self.factors.iter().fold((1, 1), |most, factors| (most.0.max(factors.0), most.1.max(factors.1)));
        let is_padded = |side: u16, factor: u8, most: u8| {
            let (side, factor, most) = (u32::from(side), u32::from(factor), u32::from(most));
            factor < most && side.div_ceil(8 * most) * factor != (side * factor).div_ceil(most).div_ceil(8)
        };
        for (across, down) in &self.factors {
            if *across == 0 || *down == 0 {
                return Err(broken("JPEG", "a sampling factor is 0"));
            }
            if has_single_scans && (is_padded(self.size.0, *across, most.0) || is_padded(self.size.1, *down, most.1)) {
                let (most_across, most_down) = most;
                let feature =
                    format!("sampling {across}×{down} beside {most_across}×{most_down} in scans of one component");
                return Err(unsupported("JPEG", feature));
            }
        }
        Ok(())
    }
}

/// Returns the file with a sampling factor of 1 if it has one component, because the factor then has no meaning: it is
/// relative to other components. Decoders refuse some factors, or pad rows by them.
pub(super) fn with_plain_factors(bytes: &[u8]) -> Cow<'_, [u8]> {
    let frame = segments(bytes).find(|(marker, _)| matches!(*marker, 0xc0..=0xc3 | 0xc9..=0xcb | SCAN));
    match frame {
        Some((marker, &[_, _, _, _, _, 1, _, ref factors, ..])) if marker != SCAN && *factors != 0x11 => {
            let at = std::ptr::from_ref(factors).addr() - bytes.as_ptr().addr();
            let mut bytes = bytes.to_vec();
            bytes[at] = 0x11;
            bytes.into()
        }
        _ => bytes.into(),
    }
}

/// Decodes an image of inks as sRGB.
pub(super) fn decode_cmyk(bytes: &[u8], header: &Header<'_>) -> Result<Picture> {
    let (width, height) = header.size();
    limits::check(width, height, 4)?;
    let options = DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|cause| broken("JPEG", cause))?;
    let stored = decoder.input_colorspace().unwrap_or(ColorSpace::CMYK);
    decoder.set_options(options.jpeg_set_out_colorspace(stored));
    let mut samples = decoder.decode().map_err(|cause| broken("JPEG", cause))?;
    for pixel in samples.as_chunks_mut::<4>().0 {
        if stored == ColorSpace::YCCK {
            let [r, g, b] = rgb_of_ycc([pixel[0], pixel[1], pixel[2]]);
            *pixel = [255 - r, 255 - g, 255 - b, pixel[3]];
        }
        if header.is_adobe {
            *pixel = pixel.map(|sample| 255 - sample);
        }
    }
    let rgb = cmyk::to_rgb(&samples, decoder.icc_profile().as_deref());
    Picture::new(width, height, Channels::Rgb, rgb)
}

/// Converts brightness and two colour differences to red, green and blue, as JFIF defines them.
pub(super) fn rgb_of_ycc([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (y, cb, cr) = (f32::from(y), f32::from(cb) - 128.0, f32::from(cr) - 128.0);
    [y + 1.402 * cr, y - 0.344_136 * cb - 0.714_136 * cr, y + 1.772 * cb].map(|value| value.round() as u8)
}

/// Decodes an unusual file as it is stored.
pub(super) fn decode(bytes: &[u8], header: &Header<'_>) -> Result<Picture> {
    let (width, height) = header.size();
    limits::check(width, height, 3)?;
    header.check()?;
    let bytes = &*with_plain_factors(bytes);
    let mut decoder = jpeg_decoder::Decoder::new(bytes);
    decoder.set_max_decoding_buffer_size(MAX_BYTES);
    let mut samples = decoder.decode().map_err(|cause| match cause {
        jpeg_decoder::Error::Unsupported(feature) => unsupported("JPEG", format!("{feature:?}")),
        cause => broken("JPEG", cause),
    })?;
    let channels = match decoder.info().map(|info| info.pixel_format) {
        Some(PixelFormat::L8) => Channels::Gray,
        Some(PixelFormat::RGB24) => Channels::Rgb,
        Some(PixelFormat::L16) => {
            keep_upper_bytes(&mut samples);
            Channels::Gray
        }
        format => return Err(unsupported("JPEG", format!("the colour type {format:?}"))),
    };
    Ok(Picture::new(width, height, channels, samples)?.with_profile(decoder.icc_profile()))
}
