//! The bytes of a file as text: UTF-8 is streamed, other encodings are converted.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

use sha2::{Digest, Sha256};
use sinew::base::read_limited;

use crate::document::Document;
use crate::notebook;
use crate::read_tracker::Hash;
use crate::text_form::TextForm;

/// The number of bytes that identify the type of a file.
const HEAD: usize = 8 * 1024;
/// The maximum size of a file that has to be converted.
const CONVERTED: u64 = 64 << 20;

/// Returns the first bytes and the size of a file, and seeks back to its start.
pub(super) fn head(mut file: &File) -> io::Result<(Vec<u8>, u64)> {
    let size = file.metadata()?.len();
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok((head, size))
}

/// Text that is read from its start.
pub(super) struct Source {
    input: Box<dyn Read + Send>,
    digest: Option<Sha256>,
    at_end: bool,
    binary: bool,
    /// True if the lines equal those of the file.
    plain: bool,
}

impl Source {
    /// Opens the file `path` whose first bytes are `head`.
    pub(super) fn new(path: &Path, mut file: File, head: &[u8]) -> io::Result<Source> {
        let form = TextForm::of(head);
        let plain = |input: Box<dyn Read + Send>| Source {
            input,
            digest: Some(Sha256::new()),
            at_end: false,
            binary: form.is_binary(),
            plain: true,
        };
        if form.is_binary() || !(form.is_utf16() || notebook::is_name(path)) {
            return Ok(plain(Box::new(file)));
        }
        let bytes = whole(&mut file)?;
        let document = Document::open(path, &bytes);
        if document.is_plain() {
            return Ok(plain(Box::new(Cursor::new(bytes))));
        }
        Ok(Source {
            input: Box::new(Cursor::new(document.text().to_vec())),
            digest: Some(Sha256::new_with_prefix(&bytes)),
            at_end: false,
            binary: false,
            plain: false,
        })
    }

    /// Returns true if the first 8 KB contain a NUL character.
    pub(super) fn is_binary(&self) -> bool {
        self.binary
    }

    /// Reads the next bytes; returns 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.at_end |= count == 0;
        if let (true, Some(digest)) = (self.plain, &mut self.digest) {
            digest.update(&buffer[..count]);
        }
        Ok(count)
    }

    /// Returns the hash of the complete content on disk; `None` until all of it was read.
    pub(super) fn hash(&mut self) -> Option<Hash> {
        if self.plain && !self.at_end {
            return None;
        }
        self.digest.clone().map(|digest| digest.finalize().into())
    }
}

/// Reads all bytes, within a limit.
fn whole(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    let text = "it is larger than 64 MB, the limit for UTF-16 files and notebooks";
    read_limited(input, CONVERTED)?.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, text))
}

/// Returns the media type that the first bytes of a binary file show.
pub(super) fn mime_type(head: &[u8]) -> &'static str {
    const MARKS: &[(&[u8], &str)] = &[
        (b"\x7fELF", "application/x-elf"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
        (b"\0asm", "application/wasm"),
        (b"\xfd7zXZ\0", "application/x-xz"),
        (b"(\xb5/\xfd", "application/zstd"),
        (b"OggS", "audio/ogg"),
        (b"ID3", "audio/mpeg"),
    ];
    MARKS.iter().find(|(mark, _)| head.starts_with(mark)).map_or("application/octet-stream", |(_, name)| name)
}
