//! The first directory of TIFF data, which EXIF data is too.

/// The tags of the first page.
pub(crate) struct Directory<'a> {
    bytes: &'a [u8],
    is_little: bool,
    /// True for BigTIFF, with numbers of eight bytes.
    pub(crate) is_big: bool,
    /// The position of the first tag.
    start: usize,
    count: u64,
}

impl<'a> Directory<'a> {
    /// Reads the header. `None` if it is invalid.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Directory<'a>> {
        let is_little = match bytes.get(..2)? {
            b"II" => true,
            b"MM" => false,
            _ => return None,
        };
        let mut directory = Directory { bytes, is_little, is_big: false, start: 0, count: 0 };
        directory.is_big = match directory.number(2, 2)? {
            42 => false,
            43 => true,
            _ => return None,
        };
        let (offset, count) =
            if directory.is_big { (directory.number(8, 8)?, 8) } else { (directory.number(4, 4)?, 2) };
        let start = usize::try_from(offset).ok()?;
        directory.count = directory.number(start, count)?;
        directory.start = start.checked_add(count)?;
        Some(directory)
    }

    /// Returns the number of `length` bytes at a position; `None` outside of the data.
    pub(crate) fn number(&self, at: usize, length: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    }

    /// Returns the type of a tag and the position of its value; `None` without such a tag. Takes O(n) time in the number
    /// of tags, and follows no offset.
    pub(crate) fn find(&self, tag: u64) -> Option<(u64, usize)> {
        let (size, value) = if self.is_big { (20, 12) } else { (12, 8) };
        for index in 0..usize::try_from(self.count).ok()? {
            let at = self.start.checked_add(index.checked_mul(size)?)?;
            // The whole entry is there.
            self.bytes.get(at..at.checked_add(size)?)?;
            if self.number(at, 2)? == tag {
                return Some((self.number(at + 2, 2)?, at + value));
            }
        }
        None
    }

    /// Returns the position of the lowest byte of a short number.
    pub(crate) fn low_byte(&self, at: usize) -> usize {
        at + usize::from(!self.is_little)
    }
}

/// Returns the big-endian number of four bytes at a position.
pub(crate) fn big_endian(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
