//! Announcements of changes: inotify, read without waiting. The kernel queues an event within the system call that causes it, so
//! a queue that was read to its end holds no news of a call that had returned before.
//!
//! All indexes share one queue, because the system grants a user few of them. Whoever reads it gives each event to the indexes that
//! watch the folder; two that watch one folder have one watch.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use sinew_walk::{FolderObserver, Stamp};
use smallvec::SmallVec;

/// The most watches of one queue.
const MAX_WATCHES: usize = 65_536;
/// The most events that are kept for an index that does not ask; beyond, they are lost to it.
const MAX_EVENTS: usize = 64 << 10;
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
pub struct Event {
    /// The watch of the folder.
    pub watch: i32,
    /// The kinds of the change.
    pub flags: ReadFlags,
    /// The number that the two events of one rename share.
    pub cookie: u32,
    /// The name in the folder.
    pub name: Option<Vec<u8>>,
}

/// The queue of events that the indexes of one program share.
#[derive(Debug, Default)]
pub struct WatchQueue {
    /// Held shared while a watch is made, until its owner is known, and alone by who reads events or takes watches away. Taken
    /// before the other locks.
    making: RwLock<()>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Open while an index wants events; none where the system gives no queue.
    queue: Option<Arc<OwnedFd>>,
    /// The indexes that watch each folder.
    owners: HashMap<i32, SmallVec<[u64; 2]>>,
    inboxes: HashMap<u64, Inbox>,
    next: u64,
    /// Events are read and given to nobody, for tests.
    deaf: bool,
}

/// Called when an inbox that was empty has events, on the thread that reads the queue.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

/// The events that one owner of watches has not taken yet.
#[derive(Default)]
struct Inbox {
    events: Vec<Event>,
    lost: bool,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("events", &self.events.len()).field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Inbox {
    fn add(&mut self, event: &Event) {
        self.wake();
        if self.events.len() < MAX_EVENTS {
            self.events.push(event.clone());
        } else {
            self.lose();
        }
    }

    /// Empties the inbox. Returns its events, and whether some were lost.
    fn take(&mut self) -> (Vec<Event>, bool) {
        (std::mem::take(&mut self.events), std::mem::take(&mut self.lost))
    }

    fn wake(&self) {
        if let (Some(waker), true, false) = (&self.waker, self.events.is_empty(), self.lost) {
            waker();
        }
    }

    fn lose(&mut self) {
        self.wake();
        self.lost = true;
        self.events = Vec::new();
    }
}

impl Shared {
    /// Reads the queue to its end and gives each event to those whose folder it is.
    fn read(&mut self) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = inotify::Reader::new(queue, &mut buffer);
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    self.inboxes.values_mut().for_each(Inbox::lose);
                }
                Ok(_) if self.deaf => {}
                Ok(event) => {
                    let name = event.file_name().map(CStr::to_bytes).filter(|name| !name.is_empty());
                    let event = Event {
                        watch: event.wd(),
                        flags: event.events(),
                        cookie: event.cookie(),
                        name: name.map(<[u8]>::to_vec),
                    };
                    for owner in self.owners.get(&event.watch).into_iter().flatten() {
                        if let Some(inbox) = self.inboxes.get_mut(owner) {
                            inbox.add(&event);
                        }
                    }
                    // The system took the watch away: the folder is gone.
                    if event.flags.contains(ReadFlags::IGNORED) {
                        self.owners.remove(&event.watch);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => {
                    // What was queued is unknown.
                    self.inboxes.values_mut().for_each(Inbox::lose);
                    return;
                }
            }
        }
    }

    fn leave(&mut self, watch: i32, owner: u64) {
        let Some(owners) = self.owners.get_mut(&watch) else { return };
        owners.retain(|other| *other != owner);
        if owners.is_empty() {
            self.owners.remove(&watch);
            if let Some(queue) = &self.queue {
                // It is gone already where the folder is.
                let _ = inotify::remove_watch(queue, watch);
            }
        }
    }
}

/// The watches of the folders of one tree. It is the observer by which a [`sinew_walk::Tree`] has its folders watched.
pub struct FolderWatches {
    queue: Arc<WatchQueue>,
    /// The number in the queue; none where the system gives none, or none is wanted.
    number: Option<u64>,
    wants_events: bool,
    watches: Mutex<HashSet<i32>>,
    budget: usize,
    granted: usize,
    devices: Mutex<HashMap<u64, Trust>>,
    /// A folder lies where stamps cannot be trusted.
    untrusted: AtomicBool,
}

impl FolderWatches {
    /// Joins a queue. Without `wants_events`, or where the system refuses, nothing is announced.
    #[must_use]
    pub fn new(queue: Arc<WatchQueue>, wants_events: bool, max_watches: Option<usize>) -> FolderWatches {
        FolderWatches::with_waker(queue, wants_events, max_watches, None)
    }

    /// Joins a queue whose events may be read by others; `waker` is called when they read events of this tree.
    pub(crate) fn with_waker(
        queue: Arc<WatchQueue>,
        wants_events: bool,
        max_watches: Option<usize>,
        waker: Option<Waker>,
    ) -> FolderWatches {
        let granted = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
        let granted = granted.ok().and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(8_192);
        let number = if wants_events { queue.join(waker) } else { None };
        FolderWatches {
            queue,
            number,
            wants_events,
            watches: Mutex::default(),
            budget: max_watches.unwrap_or(MAX_WATCHES),
            granted: MAX_WATCHES.min(granted / 2),
            devices: Mutex::default(),
            untrusted: AtomicBool::new(false),
        }
    }

    /// Says why no folder has a watch.
    #[must_use]
    pub fn refusal(&self) -> &'static str {
        match self.number {
            _ if !self.wants_events => "a look at every file was asked for",
            None => "the system gives no queue of events",
            Some(_) if self.devices.lock().values().any(|trust| *trust == Trust::Stamps) => {
                "this file system does not announce every change"
            }
            Some(_) => "the system grants no watch",
        }
    }

    /// The descriptor that is readable when the system has announced something to anyone who shares the queue.
    pub(crate) fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.number?;
        self.queue.shared.lock().queue.clone()
    }

    /// Returns true without any watch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of watches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.watches.lock().len()
    }

    /// Tells whether a folder was met where not even stamps can be trusted.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.untrusted.load(Ordering::Relaxed)
    }

    /// Reads the queue to its end and gives each event of this tree to `each`; false where events were lost.
    pub fn drain(&self, mut each: impl FnMut(Event)) -> bool {
        let Some(number) = self.number else { return true };
        let inbox = {
            let _alone = self.queue.making.write();
            let mut shared = self.queue.shared.lock();
            shared.read();
            shared.inboxes.get_mut(&number).map(Inbox::take).unwrap_or_default()
        };
        let (events, lost) = inbox;
        for event in events {
            if event.flags.contains(ReadFlags::IGNORED) {
                self.watches.lock().remove(&event.watch);
            }
            each(event);
        }
        !lost
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

impl WatchQueue {
    /// Loses every event from now on, or none any more: for tests of what happens then.
    #[doc(hidden)]
    pub fn lose_events(&self, lose: bool) {
        let _alone = self.making.write();
        let mut shared = self.shared.lock();
        shared.read();
        shared.deaf = lose;
    }

    /// Gives a number to one more index and opens the queue for the first one.
    fn join(&self, waker: Option<Waker>) -> Option<u64> {
        let mut shared = self.shared.lock();
        if shared.queue.is_none() {
            shared.queue = Some(Arc::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?));
        }
        shared.next += 1;
        let number = shared.next;
        shared.inboxes.insert(number, Inbox { waker, ..Inbox::default() });
        Some(number)
    }

    /// Takes a watch away that no index has. One that cannot be removed only reports to nobody.
    fn remove_unowned(&self, watch: i32) {
        let _alone = self.making.write();
        let shared = self.shared.lock();
        if let (false, Some(queue)) = (shared.owners.contains_key(&watch), &shared.queue) {
            let _ = inotify::remove_watch(queue, watch);
        }
    }
}

impl Drop for FolderWatches {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let _alone = self.queue.making.write();
        let mut shared = self.queue.shared.lock();
        shared.inboxes.remove(&number);
        if shared.inboxes.is_empty() {
            // The watches go with the queue.
            shared.queue = None;
            shared.owners.clear();
        } else {
            self.watches.get_mut().drain().for_each(|watch| shared.leave(watch, number));
        }
    }
}

impl FolderObserver for FolderWatches {
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32> {
        if self.trust(folder, stamp.device) != Trust::Events {
            return None;
        }
        let number = self.number?;
        let making = self.queue.making.read();
        let queue = self.queue.shared.lock().queue.clone()?;
        // Through the open folder: a path may lead elsewhere by now.
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let watch = inotify::add_watch(&queue, path.as_str(), mask()).ok()?;
        let mut watches = self.watches.lock();
        let mut shared = self.queue.shared.lock();
        let is_mine = watches.contains(&watch);
        let is_new = !shared.owners.contains_key(&watch);
        let has_room = is_mine || (watches.len() < self.budget && (!is_new || shared.owners.len() < self.granted));
        if !has_room {
            drop((shared, watches, making));
            self.queue.remove_unowned(watch);
            return None;
        }
        if !is_mine {
            watches.insert(watch);
        }
        let owners = shared.owners.entry(watch).or_default();
        if !owners.contains(&number) {
            owners.push(number);
        }
        Some(watch)
    }

    fn leave(&self, watch: i32) {
        let was_mine = self.watches.lock().remove(&watch);
        if let (true, Some(number)) = (was_mine, self.number) {
            let _alone = self.queue.making.write();
            self.queue.shared.lock().leave(watch, number);
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

/// Tells whether files in a folder can be locked and flushed as on a disk of this machine.
#[must_use]
pub fn is_local(folder: BorrowedFd<'_>) -> bool {
    trust_of(folder) != Trust::Nothing
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn watches_that_are_made_and_taken_away_at_once_lose_no_event() {
        let place = tempfile::tempdir().unwrap();
        let folders: Vec<File> = (0..64)
            .map(|folder| place.path().join(folder.to_string()))
            .map(|path| std::fs::create_dir(&path).and_then(|()| File::open(path)).unwrap())
            .collect();
        let queue = Arc::new(WatchQueue::default());
        let watcher = FolderWatches::new(Arc::clone(&queue), true, None);
        let enter =
            |watcher: &FolderWatches, folder: &File| watcher.enter(folder.as_fd(), &Stamp::of_file(folder).unwrap());
        std::thread::scope(|threads| {
            // Others come and go in the same folders; one has no room.
            for budget in [0, 64] {
                let (queue, folders) = (&queue, &folders);
                threads.spawn(move || {
                    for _ in 0..20 {
                        let other = FolderWatches::new(Arc::clone(queue), true, Some(budget));
                        folders.iter().filter_map(|folder| enter(&other, folder)).for_each(|watch| other.leave(watch));
                    }
                });
            }
            for half in folders.chunks(32) {
                let watcher = &watcher;
                threads.spawn(move || half.iter().filter_map(|folder| enter(watcher, folder)).count());
            }
        });
        if watcher.len() < folders.len() {
            assert!(watcher.is_untrusted() || watcher.is_empty(), "no event is announced here");
            return;
        }
        for folder in 0..folders.len() {
            std::fs::write(place.path().join(folder.to_string()).join("new"), "").unwrap();
        }
        let mut heard = HashSet::new();
        assert!(watcher.drain(|event| heard.extend([event.watch])));
        assert_eq!(heard.len(), folders.len());
    }
}
