//! Detects mounts: the system marks its mount table when a mount is added or removed.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The mount table.
const TABLE: &str = "/proc/self/mountinfo";

/// The open mount table; `None` if it cannot be opened.
pub(crate) struct Mounts(Option<File>);

impl Mounts {
    pub(crate) fn open() -> Mounts {
        let mounts = Mounts(File::open(TABLE).ok());
        // The first poll always reports a change.
        mounts.changed();
        mounts
    }

    /// Returns true if a mount was added or removed since the last call, or if that is unknown.
    pub(crate) fn changed(&self) -> bool {
        let Some(table) = &self.0 else { return true };
        let mut polled = [PollFd::new(table, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut polled, Some(&now)) {
            Ok(_) => polled[0].revents().intersects(PollFlags::PRI | PollFlags::ERR),
            Err(_) => true,
        }
    }
}

/// Returns the mount points below `root`, relative to it. A file with another file mounted over it changes through the
/// other path, which has no event here.
pub(crate) fn mounted_below(root: &Path) -> Vec<Vec<u8>> {
    // Without the table there is no watch either, and every stamp is checked.
    std::fs::read(TABLE).map_or_else(|_| Vec::new(), |table| places_below(&table, root))
}

fn places_below(table: &[u8], root: &Path) -> Vec<Vec<u8>> {
    let root = root.as_os_str().as_bytes();
    let fields = table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let relative = |place: Vec<u8>| Some(place.strip_prefix(root)?.strip_prefix(b"/")?.to_vec());
    fields.map(unescaped).filter_map(relative).filter(|path| !path.is_empty()).collect()
}

/// Decodes a field of the table: blanks and backslashes are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut left = field;
    while let Some((first, rest)) = left.split_first() {
        let digits = rest.get(..3).filter(|_| *first == b'\\');
        let octal = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(*first));
        left = if octal.is_some() { &rest[3..] } else { rest };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_mounts_below_a_root() {
        let table = b"22 1 0:21 / / rw - ext4 /dev/a rw\n\
            23 22 0:22 / /work/tree rw shared:1 - tmpfs t rw\n\
            24 22 0:22 /f /work/tree/a\\040b/f\\134x rw - tmpfs t rw\n\
            25 22 0:22 / /work/trees/c rw - tmpfs t rw\n\
            26 22 0:22 / /work/tree/d rw - tmpfs t rw\nbroken";
        assert_eq!(places_below(table, Path::new("/work/tree")), [&b"a b/f\\x"[..], b"d"]);
        assert!(places_below(table, Path::new("/work/tree/d")).is_empty());
    }
}
