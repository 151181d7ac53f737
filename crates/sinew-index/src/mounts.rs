//! Notice of mounts: the system marks its table of mounts when one appears or goes.

use std::fs::File;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The open table of mounts.
pub(crate) struct Mounts(Option<File>);

impl Mounts {
    pub(crate) fn open() -> Mounts {
        let mounts = Mounts(File::open("/proc/self/mountinfo").ok());
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
