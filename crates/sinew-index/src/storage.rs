//! The bytes of a segment, wherever they lie.

use std::fs::File;
use std::io;

use crate::page::ReadAt;

/// The bytes of a segment.
pub(crate) enum Storage {
    Memory(Vec<u8>),
    Disk(File),
}

impl ReadAt for Storage {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Storage::Memory(bytes) => bytes.read_exact_at(buffer, offset),
            Storage::Disk(file) => ReadAt::read_exact_at(file, buffer, offset),
        }
    }
}
