//! Notice of mounts: the system marks its table of mounts when one appears or goes.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The table of mounts.
const TABLE: &str = "/proc/self/mountinfo";

/// The open table of mounts.
pub(crate) struct Mounts(Option<File>);

impl Mounts {
    pub(crate) fn open() -> Mounts {
        let mounts = Mounts(File::open(TABLE).ok());
        // The first look says that the table is new.
        mounts.changed();
        mounts
    }

    /// Tells whether a mount appeared or went since the last look; true where that cannot be known.
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

/// Returns the places below `root` on which something is mounted, relative to it. A file on which another one is mounted
/// changes through the other's name, which nobody announces here.
pub(crate) fn mounted_below(root: &Path) -> Vec<Vec<u8>> {
    // Without the table there is no watch either, and every stamp is looked at.
    std::fs::read(TABLE).map_or_else(|_| Vec::new(), |table| places_below(&table, root))
}

fn places_below(table: &[u8], root: &Path) -> Vec<Vec<u8>> {
    let root = root.as_os_str().as_bytes();
    let fields = table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let relative = |place: Vec<u8>| Some(place.strip_prefix(root)?.strip_prefix(b"/")?.to_vec());
    fields.map(unescaped).filter_map(relative).filter(|path| !path.is_empty()).collect()
}

/// Reads a field of the table: blanks and backslashes are three octal digits behind a backslash.
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
