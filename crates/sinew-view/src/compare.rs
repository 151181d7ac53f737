//! Compares files of any size without reading them into memory.

use std::fs::File;
use std::io::{self, Read, Seek};

use sha2::{Digest, Sha256};
use sinew_base::CancelToken;

use crate::copy::check;

/// The number of bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// Fills the buffer as far as the file has bytes.
fn read_block(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Returns true if both files have the same content. `cancel` is checked before each 64 KiB.
///
/// # Errors
/// Returns the system's error, and `Interrupted` if the call is cancelled.
pub(crate) fn is_equal(mut one: &File, mut two: &File, cancel: &CancelToken) -> io::Result<bool> {
    if one.metadata()?.len() != two.metadata()?.len() {
        return Ok(false);
    }
    one.rewind()?;
    two.rewind()?;
    let (mut left, mut right) = (vec![0; BLOCK], vec![0; BLOCK]);
    loop {
        check(cancel)?;
        let (from_one, from_two) = (read_block(one, &mut left)?, read_block(two, &mut right)?);
        if left[..from_one] != right[..from_two] {
            return Ok(false);
        }
        if from_one == 0 {
            return Ok(true);
        }
    }
}

/// Returns the SHA-256 hash of a file. `cancel` is checked before each 64 KiB.
///
/// # Errors
/// Returns the system's error, and `Interrupted` if the call is cancelled.
pub(crate) fn digest(mut file: &File, cancel: &CancelToken) -> io::Result<[u8; 32]> {
    file.rewind()?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        check(cancel)?;
        match read_block(file, &mut block)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&block[..count]),
        }
    }
}
