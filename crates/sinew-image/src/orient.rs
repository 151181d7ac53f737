//! Rotates and mirrors images, in blocks that fit the cache.

use sinew_base::{CancelToken, Result};

use crate::directory::Directory;
use crate::{Orientation, Picture};

/// Returns true if an orientation exchanges width and height.
pub(crate) fn swaps_sides(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate90FlipH | Rotate270 | Rotate270FlipH)
}

/// Returns the orientation in EXIF data, or `NoTransforms` if there is none or the data is invalid. Reads at most
/// 65,535 entries of the first directory and follows no offset from there, so that a directory that refers to itself is
/// harmless. The number may have any integer type: cameras and programs do not agree on one.
pub(crate) fn of_exif(exif: &[u8]) -> Orientation {
    // JPEG has a name before the data, and some PNG and WebP writers add it too.
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    orientation_tag(exif).and_then(Orientation::from_exif).unwrap_or(Orientation::NoTransforms)
}

fn orientation_tag(exif: &[u8]) -> Option<u8> {
    const ORIENTATION: u64 = 0x112;
    let directory = Directory::read(exif).filter(|directory| !directory.is_big)?;
    let (kind, value) = directory.find(ORIENTATION)?;
    let size = match kind {
        // Bytes, shorts and longs, with and without a sign.
        1 | 6 => 1,
        3 | 8 => 2,
        4 | 9 => 4,
        _ => return None,
    };
    u8::try_from(directory.number(value, size)?).ok()
}

/// Returns the image with its orientation applied. Runs in linear time.
pub(crate) fn apply(picture: Picture, orientation: Orientation, cancel: &CancelToken) -> Result<Picture> {
    if orientation == Orientation::NoTransforms { Ok(picture) } else { picture.orient(orientation, cancel) }
}

impl Picture {
    /// Returns the image rotated and mirrored as an EXIF orientation specifies. Runs in linear time. Checks `cancel`
    /// every 64 rows.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn orient(&self, orientation: Orientation, cancel: &CancelToken) -> Result<Picture> {
        match self.channels().count() {
            1 => turn::<1>(self, orientation, cancel),
            2 => turn::<2>(self, orientation, cancel),
            3 => turn::<3>(self, orientation, cancel),
            _ => turn::<4>(self, orientation, cancel),
        }
    }
}

/// The number of rows and columns that are moved together: a block of 64 × 64 pixels of 4 bytes has 16 KB.
const BLOCK: usize = 64;

fn turn<const N: usize>(picture: &Picture, orientation: Orientation, cancel: &CancelToken) -> Result<Picture> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (from, _) = picture.samples().as_chunks::<N>();
    let mut samples = vec![0; from.len() * N];
    let (to, _) = samples.as_chunks_mut::<N>();
    let new_width = if swaps_sides(orientation) { height } else { width };
    for top in (0..height).step_by(BLOCK) {
        cancel.check()?;
        for left in (0..width).step_by(BLOCK) {
            for y in top..(top + BLOCK).min(height) {
                for x in left..(left + BLOCK).min(width) {
                    let (right, down) = (width - 1 - x, height - 1 - y);
                    let (new_x, new_y) = match orientation {
                        Orientation::NoTransforms => (x, y),
                        Orientation::FlipHorizontal => (right, y),
                        Orientation::Rotate180 => (right, down),
                        Orientation::FlipVertical => (x, down),
                        Orientation::Rotate90FlipH => (y, x),
                        Orientation::Rotate90 => (down, x),
                        Orientation::Rotate270FlipH => (down, right),
                        Orientation::Rotate270 => (y, right),
                    };
                    to[new_y * new_width + new_x] = from[y * width + x];
                }
            }
        }
    }
    let (width, height) = if swaps_sides(orientation) {
        (picture.height(), picture.width())
    } else {
        (picture.width(), picture.height())
    };
    picture.with_pixels(width, height, samples)
}
