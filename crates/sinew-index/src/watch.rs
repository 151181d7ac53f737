//! Announcements of changes: inotify, read without waiting. The kernel queues an event within the system call that causes it, so
//! a queue that was read to its end holds no news of a call that had returned before.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use sinew_walk::{FolderObserver, Stamp};

/// The most watches of one workspace.
const MAX_WATCHES: usize = 65_536;
/// The buffer in which events are read, in bytes.
const BUFFER: usize = 64 << 10;

/// The trust in the announcements and stamps of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Events tell of every change.
    Events,
    /// Events may be missing, stamps are right.
    Stamps,
    /// A stamp may be of another moment than the content.
    Nothing,
}

/// One event: the watch, what happened, and the name in the watched folder; none where it happened to the folder itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) watch: i32,
    pub(crate) flags: ReadFlags,
    pub(crate) name: Option<Vec<u8>>,
}

/// The watches of one tree.
pub(crate) struct Watcher {
    /// None where the system gives no queue, or none is wanted.
    queue: Option<OwnedFd>,
    watches: Mutex<HashSet<i32>>,
    budget: usize,
    devices: Mutex<HashMap<u64, Trust>>,
    /// A folder lies where stamps cannot be trusted.
    untrusted: AtomicBool,
}

impl Watcher {
    /// Opens a queue. Without `wants_events`, or where the system refuses, nothing is announced.
    pub(crate) fn new(wants_events: bool, max_watches: Option<usize>) -> Watcher {
        let queue = wants_events.then(|| inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()).flatten();
        let granted = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
        let granted = granted.ok().and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(8_192);
        Watcher {
            queue,
            watches: Mutex::default(),
            budget: max_watches.unwrap_or(MAX_WATCHES).min(MAX_WATCHES).min(granted / 2),
            devices: Mutex::default(),
            untrusted: AtomicBool::new(false),
        }
    }

    /// Returns the number of watches.
    pub(crate) fn len(&self) -> usize {
        self.watches.lock().len()
    }

    /// Tells whether a folder was met where not even stamps can be trusted.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.untrusted.load(Ordering::Relaxed)
    }

    /// Reads the queue to its end and gives each event to `each`; false where events were lost.
    pub(crate) fn drain(&self, mut each: impl FnMut(Event)) -> bool {
        let Some(queue) = &self.queue else { return true };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = inotify::Reader::new(queue, &mut buffer);
        let mut complete = true;
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => complete = false,
                Ok(event) => {
                    if event.events().contains(ReadFlags::IGNORED) {
                        self.watches.lock().remove(&event.wd());
                    }
                    let name = event.file_name().map(CStr::to_bytes).filter(|name| !name.is_empty());
                    each(Event { watch: event.wd(), flags: event.events(), name: name.map(<[u8]>::to_vec) });
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return complete,
                // What was queued is unknown.
                Err(_) => return false,
            }
        }
    }

    fn trust(&self, folder: BorrowedFd<'_>, device: u64) -> Trust {
        let mut devices = self.devices.lock();
        let trust = *devices.entry(device).or_insert_with(|| trust_of(folder));
        if trust == Trust::Nothing {
            self.untrusted.store(true, Ordering::Relaxed);
        }
        trust
    }
}

impl FolderObserver for Watcher {
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32> {
        if self.trust(folder, stamp.device) != Trust::Events {
            return None;
        }
        let queue = self.queue.as_ref()?;
        let mut watches = self.watches.lock();
        // Through the open folder: a path may lead elsewhere by now.
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let watch = inotify::add_watch(queue, path.as_str(), mask()).ok()?;
        if watches.len() >= self.budget && !watches.contains(&watch) {
            // A watch that cannot be removed only reports to nobody.
            let _ = inotify::remove_watch(queue, watch);
            return None;
        }
        watches.insert(watch);
        Some(watch)
    }

    fn leave(&self, watch: i32) {
        if let (true, Some(queue)) = (self.watches.lock().remove(&watch), &self.queue) {
            // It is gone already where the folder is.
            let _ = inotify::remove_watch(queue, watch);
        }
    }
}

fn mask() -> WatchFlags {
    WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR
        | WatchFlags::EXCL_UNLINK
}

/// Judges by the kind of the file system, not by the name of its mount.
fn trust_of(folder: BorrowedFd<'_>) -> Trust {
    const EVENTS: [i64; 7] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // xfs
        0x9123_683E, // btrfs
        0x2FC1_2FC1, // zfs
        0xF2F5_2010, // f2fs
        0xCA45_1A4E, // bcachefs
        0x0102_1994, // tmpfs
    ];
    const OVERLAY: i64 = 0x794C_7630;
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the type differs between systems")]
    match rustix::fs::fstatfs(folder).map(|stat| stat.f_type as i64) {
        Ok(kind) if EVENTS.contains(&kind) => Trust::Events,
        Ok(OVERLAY) => Trust::Stamps,
        _ => Trust::Nothing,
    }
}
