//! Pages with checksums, which detect torn or flipped data on disk before it is used.
//!
//! A file is a sequence of pages of 4,096 bytes: 4,092 of content and a CRC-32 of the content, the number of the file
//! and the number of the page, which also detects pages of another file or position. The last page is padded with
//! zeros.

use std::io::{self, Write};

/// The size of a page on disk, in bytes.
const PAGE: usize = 4_096;
/// The size of its content, in bytes.
const CONTENT: usize = PAGE - 4;
/// Up to this number of pages is read without checking first whether the last of them exists.
const UNCHECKED: usize = 256;

/// Bytes that can be read at an offset without a position: a file, or memory.
pub trait ReadAt {
    /// Fills the buffer with the bytes at `offset`.
    ///
    /// # Errors
    /// Returns `UnexpectedEof` if the bytes end before the buffer is full, and the errors of the system.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for [u8] {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)?.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.as_slice().read_exact_at(buffer, offset)
    }
}

impl ReadAt for std::fs::File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset);
        #[cfg(windows)]
        {
            let mut filled = 0;
            while filled < buffer.len() {
                match std::os::windows::fs::FileExt::seek_read(self, &mut buffer[filled..], offset + filled as u64) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        }
    }
}

/// Writes content as pages; offsets only count content.
pub(crate) struct PageWriter<W> {
    to: W,
    file: u32,
    page: u32,
    content: Vec<u8>,
}

impl<W: Write> PageWriter<W> {
    pub(crate) fn new(to: W, file: u32) -> PageWriter<W> {
        PageWriter { to, file, page: 0, content: Vec::with_capacity(CONTENT) }
    }

    /// Returns the offset where the next page begins if the current one has content.
    pub(crate) fn after_page(&self) -> u64 {
        u64::from(self.page + 1) * CONTENT as u64
    }

    pub(crate) fn write(&mut self, mut content: &[u8]) -> io::Result<()> {
        while !content.is_empty() {
            let (taken, rest) = content.split_at(content.len().min(CONTENT - self.content.len()));
            self.content.extend_from_slice(taken);
            content = rest;
            if self.content.len() == CONTENT {
                self.flush_page()?;
            }
        }
        Ok(())
    }

    /// Pads the page with zeros, so that the next section begins on a new page.
    pub(crate) fn end_page(&mut self) -> io::Result<()> {
        if !self.content.is_empty() {
            self.content.resize(CONTENT, 0);
            self.flush_page()?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.end_page()?;
        Ok(self.to)
    }

    fn flush_page(&mut self) -> io::Result<()> {
        let sum = checksum(&self.content, self.file, self.page);
        self.to.write_all(&self.content)?;
        self.to.write_all(&sum.to_le_bytes())?;
        self.content.clear();
        self.page += 1;
        Ok(())
    }
}

/// Reads content from pages and verifies each page.
pub(crate) struct PageReader<R> {
    from: R,
    file: u32,
}

impl<R: ReadAt> PageReader<R> {
    pub(crate) fn new(from: R, file: u32) -> PageReader<R> {
        PageReader { from, file }
    }

    /// Reads `length` bytes of content at `offset`, in one system call.
    ///
    /// # Errors
    /// Returns `InvalidData` if a page is damaged, and `UnexpectedEof` if there are fewer bytes.
    pub(crate) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let first = offset / CONTENT as u64;
        let skip = (offset % CONTENT as u64) as usize;
        let count = (skip + length).div_ceil(CONTENT);
        if count > UNCHECKED {
            // A damaged length must not cause a huge allocation.
            self.from.read_exact_at(&mut [0; PAGE], (first + count as u64 - 1) * PAGE as u64)?;
        }
        let mut pages = vec![0; count * PAGE];
        self.from.read_exact_at(&mut pages, first * PAGE as u64)?;
        let mut content = Vec::with_capacity(count * CONTENT);
        for (at, page) in pages.chunks_exact(PAGE).enumerate() {
            let (text, sum) = page.split_at(CONTENT);
            let number = u32::try_from(first + at as u64).map_err(|_| damaged("a page number"))?;
            if sum != checksum(text, self.file, number).to_le_bytes() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("page {number} of file {} is damaged: the checksum does not match", self.file),
                ));
            }
            content.extend_from_slice(text);
        }
        content.drain(..skip);
        content.truncate(length);
        Ok(content)
    }
}

/// Returns the error for untrusted bytes that are not a valid `part`.
pub(crate) fn damaged(part: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the index is damaged: {part} is out of range"))
}

fn checksum(content: &[u8], file: u32, page: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(content);
    hasher.update(&file.to_le_bytes());
    hasher.update(&page.to_le_bytes());
    hasher.finalize()
}

/// Changes the content of pages and writes them again with valid checksums.
#[cfg(test)]
pub(crate) fn reseal(pages: &[u8], file: u32, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut content = PageReader::new(pages.to_vec(), file).read(0, pages.len() / PAGE * CONTENT).unwrap();
    change(&mut content);
    let mut writer = PageWriter::new(Vec::new(), file);
    writer.write(&content).unwrap();
    writer.finish().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(content: &[u8], file: u32) -> Vec<u8> {
        let mut writer = PageWriter::new(Vec::new(), file);
        writer.write(content).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn written_content_can_be_read_from_any_offset() {
        let content: Vec<u8> = (0..3 * CONTENT + 100).map(|at| (at % 251) as u8).collect();
        let written = pages(&content, 7);
        assert_eq!(written.len(), 4 * PAGE);
        let reader = PageReader::new(written, 7);
        for (offset, length) in
            [(0, 1), (0, content.len()), (CONTENT - 1, 2), (CONTENT, CONTENT), (3 * CONTENT, 100), (5, 0)]
        {
            assert_eq!(
                reader.read(offset as u64, length).unwrap(),
                content[offset..offset + length],
                "{offset} {length}"
            );
        }
        for (offset, length) in [(4 * CONTENT, 1), (0, 5 * CONTENT), (0, 1 << 45)] {
            let error = reader.read(offset as u64, length).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{offset} {length}");
        }
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let written = pages(b"some content", 1);
        for at in 0..written.len() {
            let mut flipped = written.clone();
            flipped[at] ^= 1 << (at % 8);
            assert_eq!(PageReader::new(flipped, 1).read(0, 12).unwrap_err().kind(), io::ErrorKind::InvalidData, "{at}");
        }
    }

    #[test]
    fn a_page_of_another_file_or_position_is_detected() {
        let written = pages(&vec![3; 2 * CONTENT], 1);
        assert!(PageReader::new(written.clone(), 2).read(0, 1).is_err());
        let exchanged = [&written[PAGE..], &written[..PAGE]].concat();
        assert!(PageReader::new(exchanged, 1).read(0, 1).is_err());
    }
}
