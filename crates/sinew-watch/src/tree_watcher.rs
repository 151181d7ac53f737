//! Batches of changes below a directory.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fs::inotify::ReadFlags;
use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_pool::Pool;
use sinew_walk::{FileType, FolderObserver, GlobSet, GlobSyntax, Hints, Scan, ScanOptions, Stamp, Tree};

use crate::change::{ReportedChanges, changes};
use crate::queue::{Event, FolderWatches, WatchQueue};
use crate::types::{Change, ChangeKind, WatchMode, WatchOptions};

/// The minimum time between two scans of directories without a watch.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum share of time used by scans.
const SCAN_SHARE: u32 = 20;

/// Ends the wait of a [`TreeWatcher`] from another thread.
#[derive(Debug, Clone)]
pub struct WatchCloser(Arc<Signal>);

impl WatchCloser {
    /// Ends the wait; later waits return at once.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.wake();
    }
}

/// Wakes the waiting thread.
#[derive(Debug)]
struct Signal {
    closed: AtomicBool,
    event: OwnedFd,
}

impl Signal {
    fn wake(&self) {
        // This only fails if the counter is full, in which case it is set already.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    fn clear(&self) {
        // There may be nothing to read.
        let _ = rustix::io::read(&self.event, &mut [0_u8; 8]);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// A watcher that reports the changes below a directory.
///
/// Names are compared with those of the last batch, so no creation, deletion or rename is missed, even if events are.
/// Changes of content are detected from events, and in directories without a watch from the stamps of files.
pub struct TreeWatcher {
    root: PathBuf,
    options: WatchOptions,
    exclude: Option<Arc<GlobSet>>,
    watches: FolderWatches,
    pool: Pool,
    /// `None` while the directory does not exist.
    tree: Option<Tree>,
    scan: Arc<Scan>,
    /// The files without a watch.
    stamps: HashMap<Vec<u8>, Stamp>,
    hints: Hints,
    signal: Arc<Signal>,
    /// The watch of the parent directory: the system does not report that an open directory was removed.
    parent: Option<i32>,
    scanned: Instant,
    interval: Duration,
}

impl std::fmt::Debug for TreeWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeWatcher").field("root", &self.root).field("mode", &self.mode()).finish_non_exhaustive()
    }
}

fn system(what: &str, cause: impl Into<io::Error>) -> Error {
    Error::io(format!("watch: {what}"), &cause.into())
}

impl TreeWatcher {
    /// Reads the directory and watches it. The token is checked while directories are read.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read, a glob is invalid, or the call is cancelled.
    pub fn open(
        root: &Path,
        options: WatchOptions,
        queue: Arc<WatchQueue>,
        pool: Pool,
        cancel: &CancelToken,
    ) -> Result<TreeWatcher> {
        let exclude = match options.ignore.is_empty() {
            true => None,
            false => Some(Arc::new(GlobSet::new(&options.ignore.join(","), GlobSyntax::default())?)),
        };
        let root = root.canonicalize().map_err(|cause| system(&format!("failed to open {root:?}"), cause))?;
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let event = event.map_err(|errno| system("failed to create an event descriptor", errno))?;
        let signal = Arc::new(Signal { closed: AtomicBool::new(false), event });
        let waker = Arc::clone(&signal);
        let waker = Box::new(move || waker.wake());
        let watches = FolderWatches::with_waker(queue, true, options.max_watches, Some(waker));
        let mut watcher = TreeWatcher {
            root,
            options,
            exclude,
            watches,
            pool,
            tree: None,
            scan: Arc::default(),
            stamps: HashMap::new(),
            hints: Hints::default(),
            signal,
            parent: None,
            scanned: Instant::now(),
            interval: SCAN_INTERVAL,
        };
        watcher.parent = watcher.watch_parent();
        watcher.reopen(cancel)?;
        Ok(watcher)
    }

    fn watch_parent(&self) -> Option<i32> {
        let parent = File::open(self.root.parent()?).ok()?;
        let stamp = Stamp::of_file(&parent).ok()?;
        self.watches.enter(parent.as_fd(), &stamp)
    }

    /// Returns how changes are currently detected.
    #[must_use]
    pub fn mode(&self) -> WatchMode {
        match &self.tree {
            Some(tree) if tree.unwatched() == 0 => WatchMode::Events,
            Some(tree) if tree.unwatched() < tree.folders() => WatchMode::Mixed,
            _ => WatchMode::Scan,
        }
    }

    /// Returns the number of watches.
    #[must_use]
    pub fn watches(&self) -> usize {
        self.watches.len()
    }

    /// Returns the directory, with all links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a handle that ends [`TreeWatcher::wait`] from another thread.
    #[must_use]
    pub fn closer(&self) -> WatchCloser {
        WatchCloser(Arc::clone(&self.signal))
    }

    /// Waits for changes and collects more for the debounce time. Returns a batch, which is never empty, or `None` once
    /// the watcher is closed. The thread sleeps while nothing changes; if directories have no watch, it wakes up to
    /// scan them.
    ///
    /// # Errors
    /// Returns an error if the system cannot wait.
    pub fn wait(&mut self) -> Result<Option<Vec<Change>>> {
        loop {
            let limit =
                (self.mode() != WatchMode::Events).then(|| self.interval.saturating_sub(self.scanned.elapsed()));
            let queue = self.watches.descriptor();
            let announced = self.sleep(queue.as_deref().map(AsFd::as_fd), limit)?;
            if self.signal.is_closed() {
                return Ok(None);
            }
            if announced {
                self.gather()?;
            }
            let changes = self.poll();
            if self.signal.is_closed() {
                return Ok(None);
            }
            if !changes.is_empty() {
                return Ok(Some(changes));
            }
        }
    }

    /// Sleeps until there is an event, a wake-up, or the time limit. Returns false at the time limit.
    fn sleep(&self, queue: Option<BorrowedFd<'_>>, limit: Option<Duration>) -> Result<bool> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut descriptors = vec![PollFd::new(&self.signal.event, PollFlags::IN)];
        descriptors.extend(queue.as_ref().map(|queue| PollFd::new(queue, PollFlags::IN)));
        match rustix::event::poll(&mut descriptors, limit.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(system("failed to wait", errno)),
        }
    }

    /// Waits for the debounce time, unless the watcher is closed.
    fn gather(&self) -> Result<()> {
        let end = Instant::now() + self.options.debounce;
        loop {
            self.signal.clear();
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.signal.is_closed() {
                return Ok(());
            }
            self.sleep(None, Some(left))?;
        }
    }

    /// Returns the changes up to now, without waiting: every change made before the call is in this batch or in an
    /// earlier one. Directories without a watch are scanned.
    pub fn poll(&mut self) -> Vec<Change> {
        let begun = Instant::now();
        self.signal.clear();
        let Some(tree) = &self.tree else { return self.poll_missing() };
        let mut announced = ReportedChanges::default();
        let mut moves: HashMap<u32, Vec<u8>> = HashMap::new();
        let hints = &mut self.hints;
        let (mut gone, parent, name) = (false, self.parent, self.root.file_name().map(OsStrExt::as_bytes));
        let complete = self.watches.drain(|event| {
            gone |= Some(event.watch) == parent && event.name.as_deref() == name;
            hear(&event, tree, hints, &mut announced, &mut moves, &mut gone);
        });
        let mut list = Vec::new();
        if !complete {
            hints.all = true;
            list.push(Change::new(ChangeKind::Overflow, b""));
        }
        let is_quiet =
            complete && !gone && hints.relist.is_empty() && hints.reread.is_empty() && announced.touched.is_empty();
        if is_quiet && tree.unwatched() == 0 {
            return list;
        }
        let replaced = gone && !tree.is_at(&self.root);
        if replaced || self.update().is_err() {
            return self.replace(list);
        }
        let mut changed = BTreeSet::new();
        let before = Arc::clone(&self.scan);
        self.read_scan();
        self.compare_stamps(&mut changed);
        list.extend(changes(&before, &self.scan, &announced, &changed));
        self.scanned = Instant::now();
        self.interval = SCAN_INTERVAL.max(begun.elapsed() * SCAN_SHARE);
        list
    }

    fn update(&mut self) -> Result<()> {
        let Some(tree) = &mut self.tree else { return Ok(()) };
        tree.update(&self.hints, &self.watches, &self.pool, &CancelToken::never())?;
        self.hints = Hints::default();
        Ok(())
    }

    /// Handles a directory that was removed or replaced. The new content is compared with the old; files with the same
    /// name are reported as changed.
    fn replace(&mut self, mut list: Vec<Change>) -> Vec<Change> {
        let before = Arc::clone(&self.scan);
        self.tree = None;
        self.stamps.clear();
        self.scan = Arc::default();
        if let Err(error) = self.reopen(&CancelToken::never()) {
            // The directory may be created again; until then everything in it is deleted.
            debug_assert!(error.code() != ErrorCode::Aborted);
            self.scanned = Instant::now();
        }
        let files = before.iter().filter(|entry| entry.file_type() != FileType::Dir);
        let changed = files.map(|entry| entry.bytes().to_vec()).collect();
        list.extend(changes(&before, &self.scan, &ReportedChanges::default(), &changed));
        list
    }

    /// Checks whether the directory exists again.
    fn poll_missing(&mut self) -> Vec<Change> {
        self.watches.drain(|_| ());
        self.scanned = Instant::now();
        if self.reopen(&CancelToken::never()).is_err() {
            return Vec::new();
        }
        changes(&Scan::default(), &self.scan, &ReportedChanges::default(), &BTreeSet::new())
    }

    fn scan_options(&self) -> ScanOptions {
        ScanOptions {
            gitignore: self.options.gitignore,
            skip_node_modules: self.options.gitignore,
            max_depth: (!self.options.recursive).then_some(1),
            global_excludes: self.options.global_excludes.clone(),
            ..ScanOptions::new(&self.root)
        }
    }

    fn reopen(&mut self, cancel: &CancelToken) -> Result<()> {
        let (options, exclude) = (self.scan_options(), self.exclude.clone());
        self.tree = Some(Tree::open_filtered(&options, exclude, &self.watches, &self.pool, cancel)?);
        self.hints = Hints::default();
        self.read_scan();
        self.compare_stamps(&mut BTreeSet::new());
        self.scanned = Instant::now();
        Ok(())
    }

    fn read_scan(&mut self) {
        let options = self.scan_options();
        let Some(tree) = &mut self.tree else { return };
        // `None` only for options other than those of the tree, or if the root cannot be listed: then it is empty.
        let scan = tree.scan(&options, &CancelToken::never()).ok().flatten();
        self.scan = scan.map(|scan| Arc::clone(&scan.scan)).unwrap_or_default();
    }

    /// Reads the stamps of the files in directories without a watch, and adds files whose stamps differ to `changed`.
    fn compare_stamps(&mut self, changed: &mut BTreeSet<Vec<u8>>) {
        let Some(tree) = &self.tree else { return };
        if tree.unwatched() == 0 {
            self.stamps = HashMap::new();
            return;
        }
        let mut stamps = HashMap::new();
        let mut last: Option<(&[u8], bool)> = None;
        for entry in self.scan.iter().filter(|entry| entry.file_type() != FileType::Dir) {
            let path = entry.bytes();
            let folder = &path[..path.len() - entry.name().len()];
            let folder = folder.strip_suffix(b"/").unwrap_or(folder);
            let is_watched = match last {
                Some((known, watched)) if known == folder => watched,
                _ => tree.is_watched(folder),
            };
            last = Some((folder, is_watched));
            if is_watched {
                continue;
            }
            let Ok(stamp) = tree.stamp(path) else { continue };
            if self.stamps.get(path).is_some_and(|before| *before != stamp) {
                changed.insert(path.to_vec());
            }
            stamps.insert(path.to_vec(), stamp);
        }
        self.stamps = stamps;
    }
}

/// Converts one event to directories to read again, touched files and renames.
fn hear(
    event: &Event,
    tree: &Tree,
    hints: &mut Hints,
    announced: &mut ReportedChanges,
    moves: &mut HashMap<u32, Vec<u8>>,
    gone: &mut bool,
) {
    for folder in tree.folders_of(event.watch) {
        let folder = folder.to_vec();
        hints.all |= event.flags.contains(ReadFlags::UNMOUNT);
        let Some(name) = &event.name else {
            // The directory itself was deleted or moved, or its permissions changed.
            *gone |= folder.is_empty();
            hints.relist.insert(parent_of(&folder).to_vec());
            hints.reread.insert(folder);
            continue;
        };
        let path = if folder.is_empty() { name.clone() } else { [&folder[..], b"/", name].concat() };
        let is_name = ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
        let is_name = event.flags.intersects(is_name);
        if is_name {
            hints.relist.insert(folder.clone());
            *announced.names.entry(path.clone()).or_default() += 1;
        }
        if is_name && event.flags.contains(ReadFlags::ISDIR) {
            announced.folders.insert(path.clone());
        }
        if [&b".gitignore"[..], b".ignore", b".rgignore", b".git"].contains(&name.as_slice()) {
            hints.reread.insert(folder);
        }
        if event.flags.contains(ReadFlags::MOVED_FROM) {
            moves.insert(event.cookie, path);
        } else if let (true, Some(from)) = (event.flags.contains(ReadFlags::MOVED_TO), moves.remove(&event.cookie)) {
            announced.add_rename(from, path);
        } else if !is_name {
            announced.touched.insert(path);
        }
    }
}

fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |slash| &path[..slash])
}
