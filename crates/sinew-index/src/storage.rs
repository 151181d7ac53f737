//! The bytes of a segment, wherever they lie, and the memory in which it is made.

#[cfg(target_os = "linux")]
use std::fs::File;
#[cfg(target_os = "linux")]
use std::io;

#[cfg(target_os = "linux")]
use crate::page::ReadAt;

/// The room of a buffer that is for the time of a build alone, in bytes. An allocator that sees smaller ones go keeps as much
/// for later (glibc up to 32 MiB a thread, and twice that at the end of its heap); larger ones go back to the system at once.
/// Of the room only what is written to takes memory.
pub(crate) const ROOM: usize = 36 << 20;

/// Makes a buffer for the time of a build.
pub(crate) fn roomy<T>() -> Vec<T> {
    Vec::with_capacity(ROOM / size_of::<T>())
}

/// The bytes of a segment.
#[cfg(target_os = "linux")]
pub(crate) enum Storage {
    Memory(Box<[u8]>),
    Disk(File),
}

#[cfg(target_os = "linux")]
impl ReadAt for Storage {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Storage::Memory(bytes) => bytes.read_exact_at(buffer, offset),
            Storage::Disk(file) => ReadAt::read_exact_at(file, buffer, offset),
        }
    }
}
