//! PNG: all colour types and depths, interlaced or not; of an APNG the default picture.

use std::io::Cursor;

use png::{ColorType, Decoder, DecodingError, Limits, Reader, Transformations};
use sinew_base::{Cancel, Error, Pace, Result};

use super::{broken, canvas, unsupported};
use crate::{Channels, MAX_BYTES, Orientation, Picture, limits};

type Source<'a> = Reader<Cursor<&'a [u8]>>;

pub(super) fn decode(bytes: &[u8], cancel: &Cancel) -> Result<(Picture, Orientation)> {
    let mut reader = open(bytes)?;
    let (width, height) = reader.info().size();
    // A row is needed twice more while the filters are undone; 16-bit rows are counted as they are stored.
    limits::check(width, height, reader.info().bytes_per_pixel())?;
    let channels = match reader.output_color_type().0 {
        ColorType::Grayscale => Channels::Gray,
        ColorType::GrayscaleAlpha => Channels::GrayAlpha,
        ColorType::Rgb => Channels::Rgb,
        ColorType::Rgba => Channels::Rgba,
        ColorType::Indexed => return Err(unsupported("PNG", "a palette that does not expand")),
    };
    let mut samples = canvas(width, height, channels)?;
    if reader.info().interlaced {
        reader.next_frame(&mut samples).map_err(|cause| refused(&cause))?;
    } else {
        let mut pace = Pace::new(cancel);
        for row in samples.chunks_exact_mut(width as usize * channels.count()) {
            pace.step()?;
            if reader.read_row(row).map_err(|cause| refused(&cause))?.is_none() {
                return Err(broken("PNG", "the file ends within the picture"));
            }
        }
    }
    // The rest is read too: a file that was cut off after its last row is cut off all the same.
    reader.finish().map_err(|cause| refused(&cause))?;
    let orientation = orientation(&reader);
    Ok((Picture::new(width, height, channels, samples)?, orientation))
}

pub(super) fn probe(bytes: &[u8]) -> Result<(u32, u32, Orientation)> {
    let reader = open(bytes)?;
    let (width, height) = reader.info().size();
    Ok((width, height, orientation(&reader)))
}

fn open(bytes: &[u8]) -> Result<Source<'_>> {
    // The limit of the decoder counts what it keeps beside the picture: chunks of metadata, one row.
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MAX_BYTES });
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let (width, height) = decoder.read_header_info().map_err(|cause| refused(&cause))?.size();
    limits::check(width, height, 1)?;
    decoder.read_info().map_err(|cause| refused(&cause))
}

fn orientation(reader: &Source<'_>) -> Orientation {
    reader.info().exif_metadata.as_deref().map(Orientation::of_exif).unwrap_or_default()
}

fn refused(cause: &DecodingError) -> Error {
    broken("PNG", cause)
}
