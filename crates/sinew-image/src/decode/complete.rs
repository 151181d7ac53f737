//! Detects truncated files. A decoder that has all rows, or fills missing ones with grey, succeeds, but a partial image
//! is an error here.

use sinew_base::Result;

use super::error::broken;
use super::{jpeg, png};
use crate::SourceFormat;

/// Checks that a file ends as its format requires. Runs in linear time at most; decodes no pixels.
pub(super) fn check(format: SourceFormat, bytes: &[u8]) -> Result<()> {
    match format {
        SourceFormat::Png if !png::has_end(bytes) => Err(broken("PNG", "the file is cut off: it has no end chunk")),
        SourceFormat::Jpeg => check_jpeg(bytes),
        SourceFormat::Webp => check_webp(bytes),
        _ => Ok(()),
    }
}

fn check_webp(bytes: &[u8]) -> Result<()> {
    let Some(&[a, b, c, d]) = bytes.get(4..8) else { return Ok(()) };
    let stated = u64::from(u32::from_le_bytes([a, b, c, d])) + 8;
    if stated > bytes.len() as u64 {
        let size = bytes.len();
        return Err(broken("WebP", format!("the file is cut off: it states {stated} bytes and has {size}")));
    }
    Ok(())
}

/// Parses the segments, so that the end marker of a thumbnail in the metadata does not count. Runs in linear time.
pub(super) fn check_jpeg(bytes: &[u8]) -> Result<()> {
    let mut has_scan = false;
    for (marker, _) in jpeg::segments(bytes) {
        match marker {
            jpeg::END if has_scan => return Ok(()),
            jpeg::SCAN => has_scan = true,
            _ => {}
        }
    }
    Err(broken("JPEG", "the file is cut off: it has no end mark"))
}
