//! Reading a file at an offset, whoever else reads it.

use std::fs::File;
use std::io;

/// Fills `bytes` from `offset` on, as far as the file goes; gives how many it got.
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

/// Fills `bytes` from `offset` on; a file that ends before is an error.
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
