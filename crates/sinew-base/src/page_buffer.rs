//! A page-aligned buffer for the beginning of files.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// The size of a memory page in bytes; on systems with larger pages, this divides the page size.
const PAGE: usize = 4096;

/// The beginning of a file in page-aligned memory, as the system caches it.
///
/// The system copies with the processor's string instruction. Some processors run it at half the speed if the copy
/// starts a few bytes further into its page than the original, and that is where allocators place large buffers.
pub struct PageBuffer {
    bytes: Vec<u8>,
    /// The offset of the first page boundary.
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// Creates an empty buffer. If the system returns zeroed pages lazily, only the bytes that are written use memory.
    #[must_use]
    pub fn with_room(room: usize) -> PageBuffer {
        let bytes = vec![0; room + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        PageBuffer { bytes, start, length: 0 }
    }

    /// Discards the content.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Returns the bytes that were read.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    /// Reads more of `file` until the buffer contains `most` bytes. Returns true if the file ended before that. The
    /// file's position must follow the bytes in the buffer (the start of the file if it is empty), and does so again
    /// afterwards.
    ///
    /// # Errors
    /// Returns an error if reading or seeking `file` fails.
    pub fn read(&mut self, file: &mut (impl Read + Seek), most: usize) -> io::Result<bool> {
        while self.length < most {
            let room = self.bytes.len() - PAGE;
            if self.length == room {
                let mut larger = PageBuffer::with_room((room * 2).max(PAGE));
                larger.bytes[larger.start..larger.start + self.length].copy_from_slice(self.content());
                *self = PageBuffer { length: self.length, ..larger };
                continue;
            }
            let end = self.start + most.min(room);
            let free = &mut self.bytes[self.start + self.length..end];
            let wanted = free.len();
            match file.read(free) {
                Ok(0) => return Ok(true),
                Ok(read) => {
                    self.length += read;
                    if read < wanted && self.is_all_of(file)? {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Returns true if the file ends at the current position. After a short read, seeking to the end is half as
    /// expensive as another read that returns nothing. If the file has no such end, or a different one, reading
    /// continues.
    fn is_all_of(&self, file: &mut impl Seek) -> io::Result<bool> {
        let here = self.length as u64;
        match file.seek(SeekFrom::End(0)) {
            Ok(end) if end == here => Ok(true),
            Ok(_) => file.seek(SeekFrom::Start(here)).map(|_| false),
            Err(_) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that returns at most `step` bytes per read.
    struct Steps {
        content: Vec<u8>,
        at: usize,
        step: usize,
        /// The reported end; `None` makes seeking fail.
        end: Option<u64>,
        reads: usize,
    }

    impl Read for Steps {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            if self.reads % 3 == 1 && self.step == 1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = buffer.len().min(self.step).min(self.content.len().saturating_sub(self.at));
            buffer[..count].copy_from_slice(&self.content[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }

    impl Seek for Steps {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            let to = match to {
                SeekFrom::Start(at) => at,
                _ => self.end.ok_or(ErrorKind::NotSeekable)?,
            };
            self.at = usize::try_from(to).expect("small");
            Ok(to)
        }
    }

    #[test]
    fn reads_the_whole_file_in_any_steps_and_with_any_reported_end() {
        for length in [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 5] {
            let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            for (step, end) in [(usize::MAX, length), (usize::MAX, 0), (1000, length), (1000, 7), (1, 1 << 40)] {
                for end in [Some(end as u64), None] {
                    let mut file = Steps { content: content.clone(), at: 0, step, end, reads: 0 };
                    let mut buffer = PageBuffer::with_room(PAGE / 2);
                    // In two steps, like a caller that checks the beginning first.
                    let first = buffer.read(&mut file, PAGE).expect("it can be read");
                    assert_eq!(buffer.content(), &content[..length.min(PAGE)]);
                    assert_eq!(first, length < PAGE);
                    assert_eq!(file.at, buffer.content().len());
                    assert!(first || buffer.read(&mut file, usize::MAX).expect("it can be read"));
                    assert_eq!(buffer.content(), content, "{length} {step} {end:?}");
                    assert_eq!(buffer.content().as_ptr().addr() % PAGE, 0);
                    buffer.clear();
                    assert!(buffer.content().is_empty());
                }
            }
        }
    }

    #[test]
    fn reads_a_file_with_a_known_end_once() {
        let mut file = Steps { content: vec![7; 100], at: 0, step: usize::MAX, end: Some(100), reads: 0 };
        assert!(PageBuffer::with_room(PAGE).read(&mut file, PAGE).expect("it can be read"));
        assert_eq!(file.reads, 1);
    }
}
