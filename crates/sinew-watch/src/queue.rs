//! Change events from inotify, read without waiting. The kernel queues an event within the system call that causes it,
//! so after the queue was read to its end, no event of an earlier call is missing.
//!
//! All indexes share one queue, because the system limits queues per user. The reader distributes each event to the
//! indexes that watch the directory; two indexes of the same directory share one watch.

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

/// The maximum number of watches of one queue.
const MAX_WATCHES: usize = 65_536;
/// The maximum number of events queued for an index; beyond it, events are lost for this index.
const MAX_EVENTS: usize = 64 << 10;
/// The size of the read buffer, in bytes.
const BUFFER: usize = 64 << 10;

/// How far the events and stamps of a file system can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Every change has an event.
    Events,
    /// Events may be missing, stamps are reliable.
    Stamps,
    /// A stamp may not belong to the content.
    Nothing,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The watch of the directory.
    pub watch: i32,
    /// The kinds of the change.
    pub flags: ReadFlags,
    /// The number shared by the two events of a rename.
    pub cookie: u32,
    /// The name in the directory; `None` if the event concerns the directory itself.
    pub name: Option<Vec<u8>>,
}

/// The event queue that the indexes of one program share.
#[derive(Debug, Default)]
pub struct WatchQueue {
    /// Locked shared while a watch is created, until its owner is recorded, and exclusively to read events or remove
    /// watches. Locked before the other locks.
    making: RwLock<()>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Open while an index needs events; `None` if the system has no free queue.
    queue: Option<Arc<OwnedFd>>,
    /// The indexes that watch each directory.
    owners: HashMap<i32, SmallVec<[u64; 2]>>,
    inboxes: HashMap<u64, Inbox>,
    next: u64,
    /// Discards all events, for tests.
    deaf: bool,
}

/// Called when an empty inbox receives events, on the thread that reads the queue.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

/// The pending events of one owner of watches.
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
    /// Reads the queue to its end and distributes the events to the owners of the watches.
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
                    // The system removed the watch because the directory is gone.
                    if event.flags.contains(ReadFlags::IGNORED) {
                        self.owners.remove(&event.watch);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => {
                    // The queued events are unknown.
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
                // The watch is already removed if the directory is gone.
                let _ = inotify::remove_watch(queue, watch);
            }
        }
    }
}

/// The watches of the directories of one tree. As an observer, it watches the directories of a [`sinew_walk::Tree`].
pub struct FolderWatches {
    queue: Arc<WatchQueue>,
    /// The number in the queue; `None` if events are unavailable or disabled.
    number: Option<u64>,
    wants_events: bool,
    watches: Mutex<HashSet<i32>>,
    budget: usize,
    granted: usize,
    devices: Mutex<HashMap<u64, Trust>>,
    /// True if a directory is on a file system without reliable stamps.
    untrusted: AtomicBool,
}

impl FolderWatches {
    /// Joins a queue. If `wants_events` is false, or the system has no free queue, there are no events.
    #[must_use]
    pub fn new(queue: Arc<WatchQueue>, wants_events: bool, max_watches: Option<usize>) -> FolderWatches {
        FolderWatches::with_waker(queue, wants_events, max_watches, None)
    }

    /// Joins a queue whose events other owners may read; `waker` is called if they read events of this tree.
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

    /// Returns why no directory has a watch.
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

    /// Returns the descriptor that becomes readable when the queue has events for any owner; `None` if there is no
    /// queue.
    pub(crate) fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.number?;
        self.queue.shared.lock().queue.clone()
    }

    /// Returns true if there are no watches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of watches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.watches.lock().len()
    }

    /// Returns true if a directory was found on a file system without reliable stamps.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.untrusted.load(Ordering::Relaxed)
    }

    /// Reads the queue to its end and passes each event of this tree to `each`; returns false if events were lost.
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
    /// Starts or stops losing every event, for tests.
    #[doc(hidden)]
    pub fn lose_events(&self, lose: bool) {
        let _alone = self.making.write();
        let mut shared = self.shared.lock();
        shared.read();
        shared.deaf = lose;
    }

    /// Assigns a number to one more index and opens the queue for the first one.
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

    /// Removes a watch without owners. If that fails, its events are dropped.
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
            // Closing the queue removes its watches.
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
        // Through the open directory, because the path may lead elsewhere by now.
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

/// Returns true if files in a directory can be locked and flushed as on a local disk.
#[must_use]
pub fn is_local(folder: BorrowedFd<'_>) -> bool {
    trust_of(folder) != Trust::Nothing
}

/// Checks the kind of the file system, not the name of its mount.
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
    fn concurrently_created_and_removed_watches_lose_no_event() {
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
            // Other indexes join and leave in the same directories. One index may create no watches.
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
