//! The one thing that we ask of EXIF: which way up the picture is.
//!
//! EXIF data is a TIFF file of its own. Only the first directory is read, entry by entry, and no offset is
//! followed from there: a directory that points at itself costs nothing.

/// How the stored rows have to be turned to be seen the right way up: the values 1–8 of the EXIF tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Orientation {
    /// 1: as it is.
    #[default]
    Normal,
    /// 2: left and right exchanged.
    FlipHorizontal,
    /// 3: half a turn.
    Rotate180,
    /// 4: top and bottom exchanged.
    FlipVertical,
    /// 5: rows and columns exchanged.
    Transpose,
    /// 6: a quarter turn to the right.
    Rotate90,
    /// 7: rows and columns exchanged, then half a turn.
    Transverse,
    /// 8: a quarter turn to the left.
    Rotate270,
}

impl Orientation {
    /// The orientation of a tag value; a value that the standard does not know leaves the picture as it is.
    #[must_use]
    pub fn from_tag(value: u16) -> Orientation {
        match value {
            2 => Orientation::FlipHorizontal,
            3 => Orientation::Rotate180,
            4 => Orientation::FlipVertical,
            5 => Orientation::Transpose,
            6 => Orientation::Rotate90,
            7 => Orientation::Transverse,
            8 => Orientation::Rotate270,
            _ => Orientation::Normal,
        }
    }

    /// The orientation that EXIF data states; [`Orientation::Normal`] where it states none or is broken.
    /// At most 65,535 entries are looked at.
    #[must_use]
    pub fn of_exif(exif: &[u8]) -> Orientation {
        // JPEG puts a name before the data, some PNG and WebP writers too.
        let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
        read(exif).map(Orientation::from_tag).unwrap_or_default()
    }

    /// Whether width and height change places.
    #[must_use]
    pub fn swaps_sides(self) -> bool {
        matches!(
            self,
            Orientation::Transpose | Orientation::Rotate90 | Orientation::Transverse | Orientation::Rotate270
        )
    }
}

const TAG: u16 = 0x0112;
const SHORT: u16 = 3;

fn read(exif: &[u8]) -> Option<u16> {
    let big = match exif.get(..4)? {
        b"II\x2a\0" => false,
        b"MM\0\x2a" => true,
        _ => return None,
    };
    let u16_at = |at: usize| {
        let bytes = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let u32_at = |at: usize| {
        let bytes = exif.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let directory = usize::try_from(u32_at(4)?).ok()?;
    let entries = usize::from(u16_at(directory)?);
    (0..entries).find_map(|entry| {
        let at = directory.checked_add(2 + 12 * entry)?;
        (u16_at(at)? == TAG && u16_at(at + 2)? == SHORT && u32_at(at + 4)? >= 1).then(|| u16_at(at + 8))?
    })
}
