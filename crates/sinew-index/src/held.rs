//! A folder that is held: its tree, its watches and its parts, and how they are brought up to date.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;
use sinew_walk::{Hints, Scan, ScanOptions, Tree, TreeUpdate};

use crate::changes::{ChangeLog, Changes};
use crate::listed::{ListedStamps, SeenFiles};
use crate::mounts::{Mounts, mounted_below};
use crate::part::{Look, Part, look_at};
use crate::status::{Freshness, IndexCounts, IndexOptions, IndexState, IndexStatus};
use crate::store::{RootId, Store, folder_of_all, random_id};
use crate::surprises::Surprises;
use crate::touched::{RecentFiles, Touched, folder_of};
use sinew_watch::{Event, FolderWatches, WatchQueue};

/// The root's present folder with all that is known of it.
pub(crate) struct Held {
    pub(crate) tree: Tree,
    watcher: FolderWatches,
    mounts: Mounts,
    /// Places below the root on which something is mounted.
    pub(crate) mounted: Vec<Vec<u8>>,
    user: rustix::process::Uid,
    /// Heard, and not yet looked at.
    hints: Hints,
    touched: Touched,
    /// Heard since the build began whose files are not yet a part.
    pub(crate) building: Option<Touched>,
    recent: RecentFiles,
    surprises: Surprises,
    /// None until somebody asks what changed.
    changes: Option<ChangeLog>,
    pub(crate) parts: Vec<Part>,
    /// The key of the stamps and the id of the segments; another one where the root is another folder.
    pub(crate) key: [u8; 16],
    /// The folder on disk; none in memory alone.
    pub(crate) store: Option<Arc<Store>>,
    /// The number of the next segment.
    pub(crate) next_segment: u32,
    /// A limit of bytes was reached.
    pub(crate) is_full: bool,
    /// The time of the last look for what other processes published.
    looked: Instant,
}

/// The time between two looks for what other processes published.
const LOOK: Duration = Duration::from_secs(30);
/// The numbers from which on a process counts the segments that it may not write.
const UNWRITTEN: u32 = 1 << 31;

impl Held {
    /// Reads the tree of a root, opens its index on disk, and compares every stamp.
    pub(crate) fn open(
        root: &Path,
        options: &IndexOptions,
        queue: &Arc<WatchQueue>,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<Held> {
        let watcher = FolderWatches::new(Arc::clone(queue), !options.sweep, options.max_watches);
        let mounts = Mounts::open();
        let scan = ScanOptions {
            skip_node_modules: !root.iter().any(|name| name == "node_modules"),
            global_excludes: options.global_excludes.clone(),
            ..ScanOptions::new(root)
        };
        // Opened before the tree is read, so that its files are compared while their folders are open.
        let place = std::fs::canonicalize(root).ok().and_then(|path| RootId::of_path(&path).ok());
        let (mut store, mut parts) = open_store(place.clone(), options.cache.as_deref());
        let listed = ListedStamps::new(
            &watcher,
            store.as_ref().map_or([0; 16], |store| store.id),
            parts.iter().map(Part::files),
        );
        let tree = Tree::open(&scan, &listed, pool, cancel)?;
        let mut seen = listed.into_seen();
        let found = tree.stamp(b"").ok().map(|stamp| RootId::new(tree.root(), &stamp));
        if found != place {
            // Another folder was put there meanwhile. The locks of the one are given back before the other is opened.
            drop((std::mem::take(&mut store), std::mem::take(&mut parts), std::mem::take(&mut seen)));
            (store, parts) = open_store(found, options.cache.as_deref());
        }
        let mut held = Held {
            next_segment: next_segment(&parts, store.as_ref()),
            key: store.as_ref().map_or_else(random_id, |store| store.id),
            store: store.map(Arc::new),
            mounted: mounted_below(tree.root()),
            tree,
            watcher,
            mounts,
            user: rustix::process::geteuid(),
            hints: Hints::default(),
            // Only stamps tell of the time before the watches.
            touched: Touched::everything(),
            building: None,
            recent: RecentFiles::default(),
            surprises: Surprises::default(),
            changes: None,
            parts,
            is_full: false,
            looked: Instant::now(),
        };
        held.look(&seen, pool, cancel)?;
        Ok(held)
    }

    /// Tells whether the root still leads to this folder, and the user is still the same.
    pub(crate) fn is_at(&self, root: &Path) -> bool {
        self.tree.is_at(root) && rustix::process::geteuid() == self.user
    }

    /// Tells whether stamps prove something everywhere below the root.
    pub(crate) fn is_trusted(&self) -> bool {
        !self.watcher.is_untrusted()
    }

    /// Tells whether the changes of some folder are announced, and events can be trusted.
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

    /// Says why changes are not announced, or not in all folders.
    fn reason(&self, freshness: Freshness) -> Option<String> {
        let unwatched = self.tree.unwatched();
        match freshness {
            Freshness::Walk => Some("the times of files cannot be trusted on this file system".into()),
            Freshness::Sweep => Some(match self.surprises.end_of_trust() {
                Some(path) => format!("a change of {:?} was not announced", String::from_utf8_lossy(path)),
                None => self.watcher.refusal().into(),
            }),
            Freshness::Watch if unwatched > 0 => {
                Some(format!("{unwatched} folders have no watch and are looked at in each call"))
            }
            Freshness::Watch => None,
        }
    }

    /// Makes all that is known current as of some moment after the call began.
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
        if let Some(changes) = &mut self.changes {
            changes.note(&self.touched);
            if self.tree.unwatched() > 0 {
                changes.note_unknown();
            }
        }
        self.look(&[], pool, cancel)?;
        if self.looked.elapsed() >= LOOK { self.take_published(options, pool, cancel) } else { Ok(()) }
    }

    /// Takes it as a surprise where one of these files, whose stamps differ, is still known as it was: nothing was heard of it.
    /// Returns how many are.
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

    /// Looks at every folder. Where names changed of which nothing is heard afterwards either, that is a surprise, and the events
    /// are not trusted any more. Returns how many are.
    pub(crate) fn check_folders(&mut self, pool: &Pool, cancel: &CancelToken) -> Result<u64> {
        let options = self.tree.options().clone();
        let before = self.tree.scan(&options, cancel)?;
        let everything = Hints { all: true, ..Hints::default() };
        let update = self.tree.update(&everything, &self.watcher, pool, cancel)?;
        self.touched.folders.extend(update.new_folders);
        let after = self.tree.scan(&options, cancel)?;
        // A change of just now has its event in the queue.
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

    /// Takes the segments that another process published, and its place where it has ended.
    pub(crate) fn take_published(&mut self, options: &IndexOptions, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        self.looked = Instant::now();
        // What is built goes by the key and the numbers of now.
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
        // What lies in memory and on disk need not be in both.
        let on_disk = |path: &[u8]| self.parts.iter().any(|part| part.on_disk && part.knows(path));
        let is_double = |part: &Part| {
            !part.on_disk && part.current.iter().all(|number| on_disk(&part.files().get(number).path.to_vec()))
        };
        let doubles: Vec<u32> = self.parts.iter().filter(|part| is_double(part)).map(|part| part.number).collect();
        self.parts.retain(|part| !doubles.contains(&part.number));
        Ok(())
    }

    /// Returns what changed since the moment of a token, as of the last update.
    pub(crate) fn changes(&mut self, since: Option<&str>) -> Changes {
        self.changes.get_or_insert_with(ChangeLog::new).since(since)
    }

    /// Adds parts that were read since `building` began, in the place of others.
    pub(crate) fn adopt(
        &mut self,
        parts: Vec<Part>,
        replaced: &[u32],
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<()> {
        self.parts.retain(|part| !replaced.contains(&part.number));
        self.parts.extend(parts);
        // A file that was heard of since it was read may have been read in the middle of a change.
        let heard = self.building.take().unwrap_or_else(Touched::everything);
        self.touched.extend(&heard);
        self.look(&[], pool, cancel)
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

    /// Gives up the files that were written to, and compares the stamps of others of which something was heard, and of those of
    /// which nothing would be. What was `seen` of a part need not be asked for. Where it is cancelled, the next look does all of it.
    fn look(&mut self, seen: &[SeenFiles], pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let Held { tree, touched, recent, surprises, parts, mounted, key, .. } = self;
        let now = look_at(tree, key);
        let all = touched.all || tree.folders() == tree.unwatched();
        let some_unwatched = tree.unwatched() > 0;
        for (at, part) in parts.iter_mut().enumerate() {
            let look: &Look<'_> = match seen.get(at) {
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
        self.touched = Touched::default();
        Ok(())
    }
}

/// Returns the first path that only one of two scans has, or that is of another type in the other.
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

/// Gives up the files of a part on which something is mounted.
fn hide(part: &mut Part, mounted: &[Vec<u8>]) {
    let hidden: Vec<u32> = mounted.iter().filter_map(|path| part.file(path)).collect();
    hidden.into_iter().for_each(|number| part.current.remove(number));
}

/// Returns the number of the next segment. Those that are not written have numbers that no writer gives.
fn next_segment(parts: &[Part], store: Option<&Store>) -> u32 {
    let first = if store.is_some_and(|store| !store.is_writer()) { UNWRITTEN } else { 0 };
    let same = parts.iter().map(|part| part.number).filter(|number| (*number < UNWRITTEN) == (first == 0));
    same.map(|number| number + 1).max().unwrap_or(first)
}

/// Opens the index on disk; none where there is to be none, or where it cannot be had: then all lies in memory.
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

/// Translates one event into places to look at.
#[allow(clippy::needless_pass_by_ref_mut, reason = "the parts of one state, borrowed apart")]
fn hear_event(event: &Event, tree: &Tree, hints: &mut Hints, touched: &mut Touched, recent: &mut RecentFiles) {
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
        recent.add(&path);
        touched.add_file(path);
    }
}
