//! The input of decoders: a read fails once the call was cancelled.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use sinew_base::CancelToken;

/// The number of bytes read between two checks for cancellation. At a compression of 1,000 they are 16 MiB of pixels: a
/// few milliseconds.
const CHECK_INTERVAL: u64 = 16 << 10;

/// A reader over memory that fails if its [`CancelToken`] is set; the caller asks the token for the reason.
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    /// May be beyond the end, where reads return nothing.
    position: u64,
    next_check: u64,
    cancel: &'a CancelToken,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8], cancel: &'a CancelToken) -> Source<'a> {
        Source { bytes, position: 0, next_check: 0, cancel }
    }

    #[inline]
    fn rest(&mut self) -> io::Result<&'a [u8]> {
        if self.position >= self.next_check {
            self.cancel.check().map_err(|aborted| io::Error::other(aborted.to_string()))?;
            self.next_check = self.position.saturating_add(CHECK_INTERVAL);
        }
        Ok(usize::try_from(self.position).ok().and_then(|at| self.bytes.get(at..)).unwrap_or_default())
    }
}

impl Read for Source<'_> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.rest()?.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }

    // The JPEG decoder reads the whole file at once: without this it would grow a buffer read by read.
    fn read_to_end(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let rest = self.rest()?;
        buffer.extend_from_slice(rest);
        self.position += rest.len() as u64;
        Ok(rest.len())
    }
}

impl BufRead for Source<'_> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let rest = self.rest()?;
        Ok(&rest[..rest.len().min(CHECK_INTERVAL as usize)])
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.position += count as u64;
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let target = match target {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => (self.bytes.len() as u64).checked_add_signed(by),
        };
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "a position before the start of the file");
        self.position = target.ok_or_else(outside)?;
        self.next_check = self.next_check.min(self.position.saturating_add(CHECK_INTERVAL));
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use sinew_base::CancelHandle;

    use super::*;

    #[test]
    fn a_source_reads_and_seeks_like_a_cursor() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let never = CancelToken::never();
        let mut source = Source::new(&bytes, &never);
        let mut cursor = io::Cursor::new(&bytes[..]);
        let mut buffers = ([0; 300], [0; 300]);
        for target in [
            SeekFrom::Start(0),
            SeekFrom::Start(50_000),
            SeekFrom::Current(-100),
            SeekFrom::Current(100),
            SeekFrom::End(-200),
            SeekFrom::End(0),
        ] {
            assert_eq!(source.seek(target).unwrap(), cursor.seek(target).unwrap());
            let counts = (source.read(&mut buffers.0).unwrap(), cursor.read(&mut buffers.1).unwrap());
            assert_eq!(counts.0, counts.1);
            assert_eq!(buffers.0, buffers.1);
        }
        assert!(source.seek(SeekFrom::End(-100_001)).is_err());
        source.seek(SeekFrom::Start(u64::MAX)).unwrap();
        assert_eq!(source.read(&mut buffers.0).unwrap(), 0);
        source.seek(SeekFrom::Start(7)).unwrap();
        let mut rest = Vec::new();
        source.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, bytes[7..]);
    }

    #[test]
    fn a_cancelled_source_fails_within_one_interval() {
        let bytes = vec![0; 4 * CHECK_INTERVAL as usize];
        let (handle, cancel) = CancelHandle::new();
        let mut source = Source::new(&bytes, &cancel);
        assert!(source.read(&mut [0]).is_ok());
        handle.cancel();
        let read = (0..bytes.len()).take_while(|_| source.read(&mut [0]).is_ok()).count();
        assert_eq!(read as u64, CHECK_INTERVAL - 1);
    }
}
