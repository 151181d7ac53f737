//! The bytes of a segment in memory or on disk, and the memory for building it.

#[cfg(target_os = "linux")]
use std::fs::File;
#[cfg(target_os = "linux")]
use std::io;

#[cfg(target_os = "linux")]
use crate::page::ReadAt;

/// The capacity in bytes of a buffer that is only needed during a build. An allocator keeps freed smaller buffers
/// (glibc up to 32 MiB per thread, and twice that at the end of its heap), but returns larger ones to the system at
/// once. Only the written part uses memory.
pub(crate) const ROOM: usize = 36 << 20;

/// Creates a buffer for the duration of a build.
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
