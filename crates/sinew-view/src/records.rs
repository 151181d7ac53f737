//! Files of records, whose fields end with a NUL byte. Paths cannot contain that byte.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use sinew_base::{Error, ErrorCode, Result};

/// Collects fields.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn field(&mut self, field: &[u8]) {
        self.bytes.extend(field.iter().filter(|byte| **byte != 0));
        self.bytes.push(0);
    }

    pub(crate) fn number(&mut self, number: impl std::fmt::Display) {
        self.field(number.to_string().as_bytes());
    }

    /// Writes the fields to a file that is complete or missing, whenever the process is killed.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn save(mut self, path: &Path) -> Result<()> {
        self.field(b"end");
        let failed = |cause: &std::io::Error| Error::io(format!("view: failed to write {path:?}"), cause);
        let aside = path.with_extension("new");
        let mut file = File::create(&aside).map_err(|cause| failed(&cause))?;
        file.write_all(&self.bytes).and_then(|()| file.sync_all()).map_err(|cause| failed(&cause))?;
        std::fs::rename(&aside, path).map_err(|cause| failed(&cause))
    }
}

/// Reads fields.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Returns true if all records were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty() || self.rest == b"end\0"
    }

    pub(crate) fn field(&mut self) -> Result<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
        let (field, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Ok(field)
    }

    /// Reads a path below a directory.
    pub(crate) fn path(&mut self) -> Result<Vec<u8>> {
        let path = self.field()?;
        let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
        if path.split(|byte| *byte == b'/').all(is_name) { Ok(path.to_vec()) } else { Err(damaged()) }
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        String::from_utf8(self.field()?.to_vec()).map_err(|_| damaged())
    }

    pub(crate) fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        self.text()?.parse().map_err(|_| damaged())
    }
}

pub(crate) fn damaged() -> Error {
    Error::new(ErrorCode::InvalidData, "view: a file of the view is damaged")
}
