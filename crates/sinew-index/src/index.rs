//! The index of one folder: the kept tree, the watches, the parts, and the barrier that brings them up to date.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use sinew_base::{CancelToken, Error, Result};
use sinew_pool::Pool;
use sinew_walk::{Hints, Scan, ScanOptions, Tree, TreeScan, TreeUpdate};

use crate::lookup::Reach;
use crate::mounts::Mounts;
use crate::part::{Part, PartView, RowState};
use crate::plan::Plan;
use crate::segment::Segment;
use crate::store::{RootId, Storage, Store, random_id};
use crate::touched::Touched;
use crate::watch::Watcher;

/// The files that changed last are looked at in each call: stores through a mapping that is still open are announced by nobody.
const RECENT: usize = 1_024;
/// The time between two looks at the cancellation while another call holds the index.
const CANCEL_POLL: Duration = Duration::from_millis(5);

/// Options of [`Index::open`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct IndexOptions {
    /// The user's own ignore file; see [`sinew_walk::global_excludes`].
    pub global_excludes: Option<PathBuf>,
    /// Look at every stamp in each call, whatever the system announces.
    pub sweep: bool,
    /// The most watches (default and limit: 65,536, and half of what the system grants).
    pub max_watches: Option<usize>,
    /// The folder of the caches, in which the index lies on disk. None: in memory alone.
    pub cache: Option<PathBuf>,
    /// The user's home: neither it nor a folder above it is held.
    pub home: Option<PathBuf>,
}

/// A folder in view. Every listing that it gives is of the moment of the call.
pub struct Index {
    root: PathBuf,
    options: IndexOptions,
    pub(crate) state: Mutex<State>,
    /// As of the last call, so that who asks for it never waits.
    status: Mutex<IndexStatus>,
    /// Held while the index is built.
    pub(crate) build: Mutex<()>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) held: Option<Held>,
    pub(crate) counts: IndexCounts,
    closed: bool,
}

/// The identity of the root's present folder.
pub(crate) struct Held {
    pub(crate) tree: Tree,
    pub(crate) watcher: Watcher,
    mounts: Mounts,
    user: rustix::process::Uid,
    /// Heard, and not yet looked at.
    hints: Hints,
    touched: Touched,
    /// Heard since the build began whose files are not yet a part.
    pub(crate) building: Option<Touched>,
    recent: VecDeque<Vec<u8>>,
    pub(crate) parts: Vec<Part>,
    /// The key of the stamps and the id of the segments; another one where the root is another folder.
    pub(crate) key: [u8; 16],
    /// The folder on disk; none in memory alone.
    pub(crate) store: Option<Arc<Store>>,
    /// The number of the next segment.
    pub(crate) next_segment: u32,
}

/// Numbers about the work of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// Times that every stamp was looked at.
    pub sweeps: u64,
    /// Times that the system lost events.
    pub overflows: u64,
    /// Times that the tree was read anew because the root was another folder.
    pub reopened: u64,
}

/// The state of an index as of its last barrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// Folders that are held.
    pub folders: usize,
    /// Folders whose changes are announced by nobody; they are looked at in each call.
    pub unwatched: usize,
    /// Watches.
    pub watches: usize,
    /// The index lies on disk.
    pub persisted: bool,
    /// This process is the one that writes it.
    pub writer: bool,
    /// Files in the parts.
    pub files: usize,
    /// Of these, files that are as they were when they were read.
    pub current: usize,
    /// Numbers about its work.
    pub counts: IndexCounts,
}

/// The entries below a folder at the moment of the call, and what the index knows of them.
pub struct Listing {
    /// The scan and its warnings.
    pub scan: Arc<TreeScan>,
    parts: Vec<PartView>,
}

impl Index {
    /// Makes the index of a folder. Nothing is read before the first call of [`Index::listing`].
    ///
    /// # Errors
    /// `root` does not exist or is no folder.
    pub fn open(root: &Path, options: IndexOptions) -> Result<Index> {
        let failed = |cause| Error::io(format_args!("failed to read {:?}", root.to_string_lossy()), &cause);
        let root_path = std::path::absolute(root).map_err(failed)?;
        if !std::fs::metadata(&root_path).map_err(failed)?.is_dir() {
            return Err(Error::invalid(format!("{:?} is not a folder", root.to_string_lossy())));
        }
        Ok(Index { root: root_path, options, state: Mutex::default(), status: Mutex::default(), build: Mutex::new(()) })
    }

    /// Returns the root as it was given, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Brings the index up to date and lists what [`sinew_walk::scan`] would list. None where the index does not serve these
    /// options, or where stamps cannot be trusted: then the caller walks.
    ///
    /// Costs as much as looking at what was announced, and at the stamps of what nobody announces; the first call, and one that
    /// finds another folder at the root, a walk.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn listing(&self, options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<Option<Listing>> {
        let mut state = lock(&self.state, cancel)?;
        let is_held = self.barrier(&mut state, pool, cancel)?;
        self.note_status(&state);
        let Some(held) = state.held.as_mut().filter(|_| is_held) else { return Ok(None) };
        // A root that is gone or no folder: the walk says so.
        let Ok(options) = options.clone().canonical() else { return Ok(None) };
        let Some(scan) = held.tree.scan(&options, cancel)? else { return Ok(None) };
        let base = scan.scan.root().strip_prefix(held.tree.root()).map(|base| base.as_os_str().as_encoded_bytes());
        let Ok(base) = base.map(<[u8]>::to_vec) else { return Ok(None) };
        let parts = held.parts.iter_mut().map(|part| part.view(&scan.scan, &base)).collect();
        Ok(Some(Listing { scan, parts }))
    }

    /// Returns what is known as of the last call. Never waits for another call.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        *self.status.lock()
    }

    pub(crate) fn note_status(&self, state: &State) {
        let counts = state.counts;
        *self.status.lock() = match &state.held {
            None => IndexStatus { counts, ..IndexStatus::default() },
            Some(held) => IndexStatus {
                folders: held.tree.folders(),
                unwatched: held.tree.unwatched(),
                watches: held.watcher.len(),
                persisted: held.store.is_some(),
                writer: held.store.as_ref().is_some_and(|store| store.is_writer()),
                files: held.parts.iter().map(|part| part.files().len()).sum(),
                current: held.parts.iter().map(|part| part.current.len()).sum(),
                counts,
            },
        };
    }

    /// Deletes the index of a root on disk; false where there is none.
    ///
    /// # Errors
    /// It is in use, or the system refuses.
    pub fn remove(cache: &Path, root: &Path) -> Result<bool> {
        let failed =
            |cause| Error::io(format_args!("failed to remove the index of {:?}", root.to_string_lossy()), &cause);
        // The root itself may be gone.
        let path = std::fs::canonicalize(root).or_else(|_| std::path::absolute(root)).map_err(failed)?;
        crate::store::remove(cache, &path).map_err(failed)
    }

    /// Gives back memory, descriptors and watches. Later listings are none.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.held = None;
        self.note_status(&state);
    }

    /// Makes all that is known current as of some moment after the call began; false where nothing can be known.
    pub(crate) fn barrier(&self, state: &mut State, pool: &Pool, cancel: &CancelToken) -> Result<bool> {
        if state.closed || self.is_too_large() {
            return Ok(false);
        }
        if state.held.as_ref().is_some_and(|held| !held.is_at(&self.root)) {
            state.counts.reopened += 1;
            state.held = None;
        }
        let updated = match &mut state.held {
            Some(held) => held.update(&mut state.counts, pool, cancel),
            None => self.hold(pool, cancel).map(|held| state.held = Some(held)),
        };
        if let Err(error) = updated {
            cancel.check()?;
            // The root cannot be read: the walk says why.
            drop(error);
            state.held = None;
        }
        Ok(state.held.as_ref().is_some_and(|held| !held.watcher.is_untrusted()))
    }

    fn hold(&self, pool: &Pool, cancel: &CancelToken) -> Result<Held> {
        let watcher = Watcher::new(!self.options.sweep, self.options.max_watches);
        let mounts = Mounts::open();
        let options = ScanOptions {
            skip_node_modules: !self.root.iter().any(|name| name == "node_modules"),
            global_excludes: self.options.global_excludes.clone(),
            ..ScanOptions::new(&self.root)
        };
        let tree = Tree::open(&options, &watcher, pool, cancel)?;
        let (store, segments) = self.open_store(&tree);
        let parts: Vec<Part> = segments.into_iter().map(Part::on_disk).collect();
        let mut held = Held {
            next_segment: parts.iter().map(|part| part.number + 1).max().unwrap_or(0),
            key: store.as_ref().map_or_else(random_id, |store| store.id),
            store: store.map(Arc::new),
            tree,
            watcher,
            mounts,
            user: rustix::process::geteuid(),
            hints: Hints::default(),
            touched: Touched::default(),
            building: None,
            recent: VecDeque::new(),
            parts,
        };
        // Only stamps tell of the time before the watches.
        held.look_at(&Touched { all: true, ..Touched::default() }, pool, cancel)?;
        Ok(held)
    }

    /// Opens the index on disk; none where there is to be none, or where it cannot be had: then all lies in memory.
    fn open_store(&self, tree: &Tree) -> (Option<Store>, Vec<Segment<Storage>>) {
        let opened = self.options.cache.as_ref().and_then(|cache| {
            let root = RootId::new(tree.root(), &tree.stamp(b"").ok()?);
            Store::open(cache, root).ok()
        });
        opened.map_or((None, Vec::new()), |(store, segments)| (Some(store), segments))
    }

    /// The root of the system, the user's home and what lies above it are never walked unasked.
    fn is_too_large(&self) -> bool {
        let is_above_home = |home: &PathBuf| home.starts_with(&self.root);
        self.root.parent().is_none() || self.options.home.as_ref().is_some_and(is_above_home)
    }
}

impl Held {
    fn is_at(&self, root: &Path) -> bool {
        self.tree.is_at(root) && rustix::process::geteuid() == self.user
    }

    fn update(&mut self, counts: &mut IndexCounts, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        if self.mounts.changed() {
            self.hints.all = true;
        }
        self.hear(counts);
        let mut update = self.update_tree(counts, pool, cancel)?;
        let is_second_name = |path: &[u8]| self.tree.stamp(path).is_ok_and(|now| now.is_file() && now.links > 1);
        // Its other names changed too, and nobody announced that.
        if !self.touched.all
            && (self.touched.files.iter().any(|path| is_second_name(path))
                || update.new_folders.iter().any(|folder| self.tree.files_in(folder).any(|path| is_second_name(&path))))
        {
            self.hints.all = true;
            self.touched.all = true;
            let second = self.update_tree(counts, pool, cancel)?;
            update.new_folders.extend(second.new_folders);
        }
        self.touched.folders.extend(update.new_folders);
        if let Some(building) = &mut self.building {
            building.extend(&self.touched);
        }
        let touched = std::mem::take(&mut self.touched);
        let looked_at = self.look_at(&touched, pool, cancel);
        if looked_at.is_err() {
            self.touched = touched;
        }
        looked_at
    }

    fn update_tree(&mut self, counts: &mut IndexCounts, pool: &Pool, cancel: &CancelToken) -> Result<TreeUpdate> {
        counts.sweeps += u64::from(self.hints.all);
        let update = self.tree.update(&self.hints, &self.watcher, pool, cancel)?;
        self.hints = Hints::default();
        Ok(update)
    }

    /// Takes what was announced.
    fn hear(&mut self, counts: &mut IndexCounts) {
        let Held { tree, watcher, hints, touched, recent, .. } = self;
        let complete = watcher.drain(|event| hear_event(&event, tree, hints, touched, recent));
        if !complete {
            counts.overflows += 1;
            hints.all = true;
        }
        touched.all |= hints.all;
    }

    /// Compares the stamps of files of which something was heard, and of those of which nothing would be.
    pub(crate) fn look_at(&mut self, touched: &Touched, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let all = touched.all || self.tree.folders() == self.tree.unwatched();
        let some_unwatched = self.tree.unwatched() > 0;
        for part in &mut self.parts {
            let mut numbers: Vec<u32> = if all {
                (0..part.current.limit()).collect()
            } else {
                let mut numbers = part.linked.clone();
                let paths = touched.files.iter().chain(&self.recent);
                numbers.extend(paths.filter_map(|path| part.file(path)));
                numbers.extend(touched.folders.iter().flat_map(|folder| part.files_in(folder)));
                if some_unwatched {
                    let unwatched = |path: &[u8]| !self.tree.is_watched(folder_of(path));
                    numbers.extend((0..).zip(part.files()).filter(|(_, file)| unwatched(&file.path)).map(|(at, _)| at));
                }
                numbers
            };
            numbers.sort_unstable();
            numbers.dedup();
            part.verify(&numbers, &self.tree, &self.key, pool, cancel)?;
        }
        Ok(())
    }
}

/// Translates one event into places to look at.
#[allow(clippy::needless_pass_by_ref_mut, reason = "the parts of one state, borrowed apart")]
fn hear_event(
    event: &crate::watch::Event,
    tree: &Tree,
    hints: &mut Hints,
    touched: &mut Touched,
    recent: &mut VecDeque<Vec<u8>>,
) {
    use rustix::fs::inotify::ReadFlags as Flags;
    for folder in tree.folders_of(event.watch) {
        let folder = folder.to_vec();
        if event.flags.contains(Flags::UNMOUNT) {
            hints.all = true;
        }
        let Some(name) = &event.name else {
            // The folder itself: gone, moved, or with other permissions.
            hints.relist.insert(folder_of(&folder).to_vec());
            hints.reread.insert(folder);
            continue;
        };
        let path = match folder.is_empty() {
            true => name.clone(),
            false => [folder.as_slice(), b"/", name].concat(),
        };
        let names = Flags::CREATE | Flags::DELETE | Flags::MOVED_FROM | Flags::MOVED_TO;
        if event.flags.intersects(names) {
            hints.relist.insert(folder);
        } else if [&b".gitignore"[..], b".ignore", b".rgignore", b".git"].contains(&name.as_slice())
            && !event.flags.contains(Flags::ISDIR)
        {
            hints.reread.insert(folder);
        }
        if recent.back() != Some(&path) {
            recent.push_back(path.clone());
            if recent.len() > RECENT {
                recent.pop_front();
            }
        }
        touched.add_file(path);
    }
}

impl Listing {
    /// Tells of each row of the scan what is known of it for a plan, and how many files the plan leaves over among those that
    /// the index knows.
    #[must_use]
    pub fn judge(&self, plan: &Plan, reach: Reach) -> (Vec<RowState>, usize) {
        let mut states = vec![RowState::Unknown; self.scan.scan.len()];
        let candidates = self.parts.iter().map(|part| part.judge(plan, reach, &mut states)).sum();
        (states, candidates)
    }

    /// Returns the scan.
    #[must_use]
    pub fn entries(&self) -> &Scan {
        &self.scan.scan
    }
}

/// Takes a lock that another call may hold for long.
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, cancel: &CancelToken) -> Result<MutexGuard<'a, T>> {
    loop {
        cancel.check()?;
        if let Some(held) = mutex.try_lock_for(CANCEL_POLL) {
            return Ok(held);
        }
    }
}

/// Returns the path of the folder that a path lies in.
pub(crate) fn folder_of(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(b"", |cut| &path[..cut])
}

impl std::fmt::Debug for Index {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Index").field("root", &self.root).finish_non_exhaustive()
    }
}
