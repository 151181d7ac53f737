//! An indexed directory: its tree, its watches and its segments, and how they are kept up to date.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;
use sinew_walk::{Hints, Scan, ScanOptions, Tree, TreeUpdate};

use crate::changed_paths::{ChangedPaths, RecentFiles, folder_of};
use crate::changes::{ChangeLog, Changes};
use crate::mounts::{Mounts, mounted_below};
use crate::part::{Part, StampLookup, look_at};
use crate::stamp_reader::{SeenFiles, StampReader};
use crate::status::{Freshness, IndexCounts, IndexOptions, IndexState, IndexStatus};
use crate::store::{RootId, Store, folder_of_all, random_id};
use crate::unreported_changes::UnreportedChanges;
use sinew_watch::{Event, FolderWatches, WatchQueue};

/// The directory that is currently at the root, with its tree, watches and segments.
pub(crate) struct IndexedRoot {
    pub(crate) tree: Tree,
    watcher: FolderWatches,
    mounts: Mounts,
    /// Mount points below the root.
    pub(crate) mounted: Vec<Vec<u8>>,
    user: rustix::process::Uid,
    /// Reported changes that have not been checked yet.
    hints: Hints,
    touched: ChangedPaths,
    /// Changes reported since the build began; `None` if no build is running.
    pub(crate) building: Option<ChangedPaths>,
    recent: RecentFiles,
    surprises: UnreportedChanges,
    /// `None` until a caller asks for changes.
    changes: Option<ChangeLog>,
    pub(crate) parts: Vec<Part>,
    /// The key of the stamps and the id of the segments; it changes if the root becomes a different directory.
    pub(crate) key: [u8; 16],
    /// The index on disk; `None` if it is only in memory.
    pub(crate) store: Option<Arc<Store>>,
    /// The number of the next segment.
    pub(crate) next_segment: u32,
    /// True if a size limit was reached.
    pub(crate) is_full: bool,
    /// The time of the last check for segments published by other processes.
    looked: Instant,
}

/// How often the index checks for segments published by other processes.
const LOOK: Duration = Duration::from_secs(30);
/// The first number of segments that a process may not write to disk.
const UNWRITTEN: u32 = 1 << 31;

impl IndexedRoot {
    /// Reads the tree of a root, opens its index on disk, and compares every stamp.
    pub(crate) fn open(
        root: &Path,
        options: &IndexOptions,
        queue: &Arc<WatchQueue>,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<IndexedRoot> {
        let watcher = FolderWatches::new(Arc::clone(queue), !options.sweep, options.max_watches);
        let mounts = Mounts::open();
        let scan = ScanOptions {
            skip_node_modules: !root.iter().any(|name| name == "node_modules"),
            global_excludes: options.global_excludes.clone(),
            ..ScanOptions::new(root)
        };
        // Opened before the tree is read, so that its files are compared while their directories are open.
        let place = std::fs::canonicalize(root).ok().and_then(|path| RootId::of_path(&path).ok());
        let (mut store, mut parts) = open_store(place.clone(), options.cache.as_deref());
        let listed =
            StampReader::new(&watcher, store.as_ref().map_or([0; 16], |store| store.id), parts.iter().map(Part::files));
        let tree = Tree::open(&scan, &listed, pool, cancel)?;
        let mut seen = listed.into_seen();
        let found = tree.stamp(b"").ok().map(|stamp| RootId::new(tree.root(), &stamp));
        if found != place {
            // The root was replaced in the meantime. The locks of the old index are released before the new one is
            // opened.
            drop((std::mem::take(&mut store), std::mem::take(&mut parts), std::mem::take(&mut seen)));
            (store, parts) = open_store(found, options.cache.as_deref());
        }
        let mut held = IndexedRoot {
            next_segment: next_segment(&parts, store.as_ref()),
            key: store.as_ref().map_or_else(random_id, |store| store.id),
            store: store.map(Arc::new),
            mounted: mounted_below(tree.root()),
            tree,
            watcher,
            mounts,
            user: rustix::process::geteuid(),
            hints: Hints::default(),
            // Only stamps reveal changes made before the watches existed.
            touched: ChangedPaths::everything(),
            building: None,
            recent: RecentFiles::default(),
            surprises: UnreportedChanges::default(),
            changes: None,
            parts,
            is_full: false,
            looked: Instant::now(),
        };
        held.look(&seen, pool, cancel)?;
        Ok(held)
    }

    /// Returns true if the root still leads to this directory and the user is the same.
    pub(crate) fn is_at(&self, root: &Path) -> bool {
        self.tree.is_at(root) && rustix::process::geteuid() == self.user
    }

    /// Returns true if stamps are reliable everywhere below the root.
    pub(crate) fn is_trusted(&self) -> bool {
        !self.watcher.is_untrusted()
    }

    /// Returns true if some directory is watched and events can be trusted.
    pub(crate) fn is_watched(&self) -> bool {
        self.tree.unwatched() < self.tree.folders() && self.surprises.end_of_trust().is_none()
    }

    pub(crate) fn status(&self, counts: IndexCounts) -> IndexStatus {
        let (folders, unwatched) = (self.tree.folders(), self.tree.unwatched());
        let freshness = match self.is_watched() {
            _ if !self.is_trusted() => Freshness::Walk,
            true => Freshness::Watch,
            false => Freshness::Sweep,
        };
        let kinds = self.parts.iter().map(Part::current_kinds);
        let [binary, odd] = kinds.fold([0, 0], |sum, kinds| [sum[0] + kinds[0], sum[1] + kinds[1]]);
        IndexStatus {
            state: if freshness == Freshness::Walk { IndexState::Plain } else { IndexState::Ready },
            reason: self.reason(freshness),
            listed: self.tree.file_count(),
            odd,
            binary,
            text: self.parts.iter().map(|part| part.segment.text_bytes()).sum(),
            barrier: Duration::ZERO,
            freshness,
            folders,
            unwatched,
            watches: self.watcher.len(),
            persisted: self.store.is_some(),
            writer: self.store.as_ref().is_some_and(|store| store.is_writer()),
            segments: self.parts.len(),
            bytes: self.parts.iter().map(|part| part.bytes).sum(),
            memory: self.parts.iter().filter(|part| !part.on_disk).map(|part| part.bytes).sum(),
            files: self.parts.iter().map(|part| part.files().len() as usize).sum(),
            current: self.parts.iter().map(|part| part.current.len()).sum(),
            full: self.is_full,
            counts,
        }
    }

    /// Returns why changes are not reported, or not in all directories; `None` if they are.
    fn reason(&self, freshness: Freshness) -> Option<String> {
        let unwatched = self.tree.unwatched();
        match freshness {
            Freshness::Walk => Some("file times are not reliable on this file system".into()),
            Freshness::Sweep => Some(match self.surprises.end_of_trust() {
                Some(path) => format!("the system did not report a change of {:?}", String::from_utf8_lossy(path)),
                None => self.watcher.refusal().into(),
            }),
            Freshness::Watch if unwatched > 0 => {
                Some(format!("{unwatched} folders are not watched and are checked in each call"))
            }
            Freshness::Watch => None,
        }
    }

    /// Updates everything to a moment after the call began.
    pub(crate) fn update(
        &mut self,
        options: &IndexOptions,
        counts: &mut IndexCounts,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<()> {
        if self.mounts.changed() {
            self.mounted = mounted_below(self.tree.root());
            self.hints.all = true;
        }
        self.hints.all |= self.surprises.end_of_trust().is_some();
        self.hear(counts);
        let mut update = self.update_tree(counts, pool, cancel)?;
        let is_second_name = |path: &[u8]| self.tree.stamp(path).is_ok_and(|now| now.is_file() && now.links > 1);
        // Its other hard links changed too, without an event.
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
        if let Some(changes) = &mut self.changes {
            changes.note(&self.touched);
            if self.tree.unwatched() > 0 {
                changes.note_unknown();
            }
        }
        self.look(&[], pool, cancel)?;
        if self.looked.elapsed() >= LOOK { self.take_published(options, pool, cancel) } else { Ok(()) }
    }

    /// Records the files that changed without an event as surprises. Returns their number.
    pub(crate) fn note_surprises(&mut self, differing: &[Vec<u8>]) -> u64 {
        let mut found = 0;
        for path in differing {
            if self.parts.iter().any(|part| part.knows(path)) {
                self.surprises.add_file(path);
                self.parts.iter_mut().for_each(|part| part.note_written(path));
                found += 1;
            }
        }
        found
    }

    /// Checks every directory. A change of names without an event, even a late one, is a surprise and ends the trust in
    /// events. Returns the number of surprises.
    pub(crate) fn check_folders(&mut self, pool: &Pool, cancel: &CancelToken) -> Result<u64> {
        let options = self.tree.options().clone();
        let before = self.tree.scan(&options, cancel)?;
        let everything = Hints { all: true, ..Hints::default() };
        let update = self.tree.update(&everything, &self.watcher, pool, cancel)?;
        self.touched.folders.extend(update.new_folders);
        let after = self.tree.scan(&options, cancel)?;
        // A change made just now has its event in the queue.
        self.hear(&mut IndexCounts::default());
        let is_heard = self.hints.all || !self.hints.relist.is_empty() || !self.hints.reread.is_empty();
        let changed = before.zip(after).and_then(|(before, after)| first_difference(&before.scan, &after.scan));
        match changed.filter(|_| !is_heard) {
            Some(path) => {
                self.surprises.add_folder(folder_of(&path));
                Ok(1)
            }
            None => Ok(0),
        }
    }

    /// Adopts the segments that another process published, and becomes the writer if that process has ended.
    pub(crate) fn take_published(&mut self, options: &IndexOptions, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        self.looked = Instant::now();
        // A build depends on the current key and numbers.
        if self.building.is_some() || !self.store.as_ref().is_some_and(|store| store.is_behind()) {
            return Ok(());
        }
        let root = self.tree.stamp(b"").ok().map(|stamp| RootId::new(self.tree.root(), &stamp));
        let (Some(store), parts) = open_store(root, options.cache.as_deref()) else { return Ok(()) };
        let is_same = store.id == self.key;
        let named: Vec<u32> = parts.iter().map(|part| part.number).collect();
        self.parts.retain(|part| is_same && (!part.on_disk || named.contains(&part.number)));
        let known: Vec<u32> = self.parts.iter().map(|part| part.number).collect();
        for mut part in parts.into_iter().filter(|part| !known.contains(&part.number)) {
            let all: Vec<u32> = (0..part.current.limit()).collect();
            let verified = part.verify(&all, false, &look_at(&self.tree, &store.id), pool, cancel);
            hide(&mut part, &self.mounted);
            self.parts.push(part);
            verified?;
        }
        self.key = store.id;
        self.next_segment = next_segment(&self.parts, Some(&store));
        self.store = Some(Arc::new(store));
        // Files that are in memory and on disk are only needed once.
        let on_disk = |path: &[u8]| self.parts.iter().any(|part| part.on_disk && part.knows(path));
        let is_double = |part: &Part| {
            !part.on_disk && part.current.iter().all(|number| on_disk(&part.files().get(number).path.to_vec()))
        };
        let doubles: Vec<u32> = self.parts.iter().filter(|part| is_double(part)).map(|part| part.number).collect();
        self.parts.retain(|part| !doubles.contains(&part.number));
        Ok(())
    }

    /// Returns the changes since the moment of a token, up to the last update.
    pub(crate) fn changes(&mut self, since: Option<&str>) -> Changes {
        self.changes.get_or_insert_with(ChangeLog::new).since(since)
    }

    /// Adds segments that were read since `building` began, and removes those that they replace.
    pub(crate) fn adopt(
        &mut self,
        parts: Vec<Part>,
        replaced: &[u32],
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<()> {
        self.parts.retain(|part| !replaced.contains(&part.number));
        self.parts.extend(parts);
        // A file with an event since it was read may have been read during a change.
        let heard = self.building.take().unwrap_or_else(ChangedPaths::everything);
        self.touched.extend(&heard);
        self.look(&[], pool, cancel)
    }

    fn update_tree(&mut self, counts: &mut IndexCounts, pool: &Pool, cancel: &CancelToken) -> Result<TreeUpdate> {
        counts.sweeps += u64::from(self.hints.all);
        let update = self.tree.update(&self.hints, &self.watcher, pool, cancel)?;
        self.hints = Hints::default();
        Ok(update)
    }

    /// Receives the reported events.
    fn hear(&mut self, counts: &mut IndexCounts) {
        let IndexedRoot { tree, watcher, hints, touched, recent, .. } = self;
        let complete = watcher.drain(|event| hear_event(&event, tree, hints, touched, recent));
        if !complete {
            counts.overflows += 1;
            hints.all = true;
        }
        touched.all |= hints.all;
    }

    /// Drops the files that were written to, and compares the stamps of other files with events and of files without a
    /// watch. Files in `seen` need no further check. If the call is cancelled, the next check covers everything.
    fn look(&mut self, seen: &[SeenFiles], pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let IndexedRoot { tree, touched, recent, surprises, parts, mounted, key, .. } = self;
        let now = look_at(tree, key);
        let all = touched.all || tree.folders() == tree.unwatched();
        let some_unwatched = tree.unwatched() > 0;
        for (at, part) in parts.iter_mut().enumerate() {
            let look: &StampLookup<'_> = match seen.get(at) {
                Some(seen) => &|number, _| seen.get(number),
                None => &now,
            };
            touched.files.iter().for_each(|path| part.note_written(path));
            let mut numbers: Vec<u32> = if all {
                (0..part.current.limit()).collect()
            } else {
                let mut numbers = part.linked.clone();
                numbers.extend(surprises.files().filter_map(|path| part.file(path)));
                numbers.extend(touched.folders.iter().flat_map(|folder| part.files_in(folder)));
                if some_unwatched {
                    let unwatched = |path: &[u8]| !tree.is_watched(folder_of(path));
                    numbers
                        .extend((0..part.files().len()).filter(|at| unwatched(&part.files().get(*at).path.to_vec())));
                }
                numbers
            };
            numbers.sort_unstable();
            numbers.dedup();
            part.verify(&numbers, false, look, pool, cancel)?;
            if !all {
                let files = recent.iter().filter_map(|path| part.file(path));
                let others: Vec<u32> = files.filter(|number| numbers.binary_search(number).is_err()).collect();
                part.verify(&others, true, look, pool, cancel)?;
            }
            hide(part, mounted);
        }
        self.touched = ChangedPaths::default();
        Ok(())
    }
}

/// Returns the first path that is only in one of two scans, or has different types; `None` if the scans are equal.
fn first_difference(before: &Arc<Scan>, after: &Arc<Scan>) -> Option<Vec<u8>> {
    if Arc::ptr_eq(before, after) {
        return None;
    }
    let alike = before
        .iter()
        .zip(after.iter())
        .take_while(|(before, after)| (before.bytes(), before.file_type()) == (after.bytes(), after.file_type()));
    let at = alike.count();
    let first = [before, after].map(|scan| (at < scan.len()).then(|| scan.get(at).bytes().to_vec()));
    first.into_iter().flatten().min()
}

/// Drops the files of a segment that have a mount on their path.
fn hide(part: &mut Part, mounted: &[Vec<u8>]) {
    let hidden: Vec<u32> = mounted.iter().filter_map(|path| part.file(path)).collect();
    hidden.into_iter().for_each(|number| part.current.remove(number));
}

/// Returns the number of the next segment. Segments that are not written to disk have numbers that no writer uses.
fn next_segment(parts: &[Part], store: Option<&Store>) -> u32 {
    let first = if store.is_some_and(|store| !store.is_writer()) { UNWRITTEN } else { 0 };
    let same = parts.iter().map(|part| part.number).filter(|number| (*number < UNWRITTEN) == (first == 0));
    same.map(|number| number + 1).max().unwrap_or(first)
}

/// Opens the index on disk; `None` if it is disabled or cannot be opened: then everything stays in memory.
fn open_store(root: Option<RootId>, cache: Option<&Path>) -> (Option<Store>, Vec<Part>) {
    let opened = cache.zip(root).and_then(|(cache, root)| {
        let opened = Store::open(cache, root).ok()?;
        if opened.0.is_writer() {
            // An index that cannot be deleted stays until the next time.
            let _ = crate::evict::evict_hourly(&folder_of_all(cache), SystemTime::now());
        }
        Some(opened)
    });
    opened.map_or((None, Vec::new()), |(store, parts)| (Some(store), parts))
}

/// Converts one event to paths to check.
#[allow(clippy::needless_pass_by_ref_mut, reason = "the fields of one state are borrowed separately")]
fn hear_event(event: &Event, tree: &Tree, hints: &mut Hints, touched: &mut ChangedPaths, recent: &mut RecentFiles) {
    use rustix::fs::inotify::ReadFlags as Flags;
    for folder in tree.folders_of(event.watch) {
        let folder = folder.to_vec();
        if event.flags.contains(Flags::UNMOUNT) {
            hints.all = true;
        }
        let Some(name) = &event.name else {
            // The directory itself was deleted or moved, or its permissions changed.
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
        recent.add(&path);
        touched.add_file(path);
    }
}
