//! Extended attributes and access control lists of files.

use std::os::fd::BorrowedFd;

#[cfg(target_os = "linux")]
use crate::codec::{Reader, Writer};

/// The attributes that are stored: user attributes and access control lists.
#[cfg(target_os = "linux")]
const KEPT: [&[u8]; 2] = [b"user.", b"system.posix_acl_access"];
/// The maximum size of a list of names and of a value in Linux.
#[cfg(target_os = "linux")]
const MOST: usize = 64 << 10;

/// Reads the attributes of a file; `None` if it has none to store.
#[cfg(target_os = "linux")]
pub(crate) fn read(file: BorrowedFd<'_>) -> Option<Vec<u8>> {
    // Most files have no attributes, which one call with an empty buffer detects.
    let size = rustix::fs::flistxattr(file, &mut [0u8; 0][..]).ok().filter(|size| *size > 0 && *size <= MOST)?;
    let mut names = vec![0u8; size];
    let length = rustix::fs::flistxattr(file, &mut names[..]).ok()?;
    let mut writer = Writer::default();
    let mut buffer = Vec::new();
    for name in names[..length].split(|byte| *byte == 0) {
        if !KEPT.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        buffer.resize(MOST, 0);
        if let Ok(length) = rustix::fs::fgetxattr(file, name, &mut buffer[..]) {
            writer.block(name);
            writer.block(&buffer[..length]);
        }
    }
    (!writer.bytes.is_empty()).then_some(writer.bytes)
}

/// Sets the attributes that [`read`] returned, as far as the user and the file system allow.
#[cfg(target_os = "linux")]
pub(crate) fn write(file: BorrowedFd<'_>, bytes: &[u8]) {
    let mut reader = Reader::plain(bytes);
    while !reader.is_empty() {
        let (Ok(name), Ok(value)) = (reader.block(), reader.block()) else { return };
        // A file with a missing attribute is better than no file.
        let _ = rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty());
    }
}

/// Does nothing: attributes are not stored on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read(_file: BorrowedFd<'_>) -> Option<Vec<u8>> {
    None
}

/// Does nothing: attributes are not stored on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn write(_file: BorrowedFd<'_>, _bytes: &[u8]) {}
