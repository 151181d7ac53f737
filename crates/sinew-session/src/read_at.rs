//! Reads a file at an offset, independently of other readers.

use std::fs::File;
use std::io;

/// Fills `bytes` from `offset` on, up to the end of the file; returns the number of bytes read.
pub(super) fn read(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match some(file, &mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(done)
}

/// Fills `bytes` from `offset` on; returns an error if the file ends before.
pub(super) fn exactly(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    if read(file, bytes, offset)? < bytes.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(unix)]
fn some(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn some(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}
