//! Updates a tree.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelTicker, CancelToken, Result};
use sinew_pool::Pool;
use smallvec::smallvec;

use super::folder_names::FolderNames;
use super::{
    FolderNotes, FolderObserver, FolderPath, Hints, ListedFolder, TOO_LARGE, Tree, TreeFolder, TreeUpdate, below, split,
};
use crate::ignore::RuleLog;
use crate::stamp::{Source, Stamp};
use crate::walk::reader::Task;
use crate::walk::work_queue::WorkQueue;
use crate::walk::worker_output::WorkerOutput;

/// The number of directories below which more threads cost more than they save.
const MIN_PARALLEL: usize = 16;
/// The number of directories that a thread checks in one step.
const SHARE: usize = 32;

/// A directory to read: only its listing, keeping unchanged subdirectories, or with everything below.
struct Job {
    task: Task,
    relist: bool,
}

/// A directory that was read.
struct FreshFolder {
    path: FolderPath,
    folder: Box<TreeFolder>,
    /// The names of the subdirectories that are unchanged; `None` if all are read again.
    kept: Option<HashSet<Box<[u8]>>>,
}

/// Memory that a thread reuses for each directory.
#[derive(Default)]
struct Scratch {
    buffer: Vec<u8>,
    output: WorkerOutput,
}

/// Directories that changed.
type Changes = Vec<(Box<[u8]>, Change)>;

/// The change that a directory's stamps reveal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    Names,
    /// The path is a different directory, or the rules or permissions changed.
    Identity,
}

impl Tree {
    pub(super) fn read_root(
        &mut self,
        first: Task,
        observer: &dyn FolderObserver,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<()> {
        let fresh = self.read_all(vec![Job { task: first, relist: false }], observer, pool, cancel)?;
        let mut released = Vec::new();
        self.folders.reserve(fresh.len());
        self.watched.reserve(fresh.len());
        fresh.into_iter().for_each(|fresh| self.insert(fresh.path, fresh.folder, &mut released));
        Ok(())
    }

    /// Checks the hinted directories and everything that no watch reports, and reads again what changed. If it fails,
    /// the tree is unchanged and the caller has to pass the same hints again.
    ///
    /// # Errors
    /// Returns an error if the root can no longer be read, or if the call is cancelled.
    pub fn update(
        &mut self,
        hints: &Hints,
        observer: &dyn FolderObserver,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<TreeUpdate> {
        let is_current = |log: &RuleLog| log.sources.iter().flatten().all(Source::is_current);
        if !is_current(&self.above) || hints.reread.contains(&b""[..]) {
            return self.reopen(observer, pool, cancel);
        }
        let mut relist: BTreeSet<Vec<u8>> = hints.relist.iter().cloned().collect();
        let mut reread: BTreeSet<Vec<u8>> = hints.reread.iter().cloned().collect();
        for (path, change) in self.look(hints.all, pool, cancel)? {
            match change {
                Change::None => {}
                Change::Names => drop(relist.insert(path.into_vec())),
                Change::Identity if path.is_empty() => return self.reopen(observer, pool, cancel),
                Change::Identity => {
                    relist.insert(split(&path).0.to_vec());
                    reread.insert(path.into_vec());
                }
            }
        }
        let covered = |path: &[u8], also_itself: bool| {
            let mut above = if also_itself { Some(path) } else { parent(path) };
            std::iter::from_fn(|| {
                let next = above?;
                above = parent(next);
                Some(next)
            })
            .any(|path| reread.contains(path))
        };
        let mut jobs = Vec::new();
        for (paths, relist) in [(&relist, true), (&reread, false)] {
            for path in paths {
                if let Some(folder) = self.folders.get(path.as_slice())
                    && !covered(path, relist)
                {
                    let task = Task::again(path.clone(), folder.above.clone());
                    jobs.push(Job { task, relist });
                }
            }
        }
        if jobs.is_empty() {
            return Ok(TreeUpdate::default());
        }
        let removed: Vec<Box<[u8]>> =
            jobs.iter().filter(|job| !job.relist).map(|job| job.task.path.as_slice().into()).collect();
        let fresh = self.read_all(jobs, observer, pool, cancel)?;
        Ok(self.apply(fresh, &removed, observer))
    }

    /// Reads everything again.
    fn reopen(&mut self, observer: &dyn FolderObserver, pool: &Pool, cancel: &CancelToken) -> Result<TreeUpdate> {
        let collecting = WatchCollector { observer, entered: Mutex::default() };
        let exclude = self.reader.exclude.clone();
        let opened = Tree::open_filtered(&self.reader.options, exclude, &collecting, pool, cancel);
        let mut released = collecting.entered.into_inner();
        let opened = opened.map(|tree| released.extend(std::mem::replace(self, tree).watched.into_keys()));
        self.release(released, observer);
        opened?;
        Ok(TreeUpdate { names_changed: true, new_folders: self.folders.keys().cloned().collect() })
    }

    /// Checks the directories with something that no watch reports, or all directories.
    fn look(&self, all: bool, pool: &Pool, cancel: &CancelToken) -> Result<Changes, Aborted> {
        let paths: Vec<&[u8]> = match all {
            true => self.folders.keys().map(|path| &**path).collect(),
            false => self.checked.iter().map(|path| &**path).collect(),
        };
        let changes = Mutex::new((Vec::new(), None));
        let next = AtomicUsize::new(0);
        let work = |_| {
            let mut found = Vec::new();
            loop {
                let first = next.fetch_add(SHARE, Ordering::Relaxed);
                if first >= paths.len() {
                    break;
                }
                if let Err(aborted) = cancel.check() {
                    changes.lock().1 = Some(aborted);
                    break;
                }
                for path in &paths[first..paths.len().min(first + SHARE)] {
                    let change = self.folders.get(*path).map_or(Change::None, |folder| self.change(path, folder, all));
                    if change != Change::None {
                        found.push((Box::from(*path), change));
                    }
                }
            }
            changes.lock().0.extend(found);
        };
        pool.broadcast((paths.len() / SHARE).min(pool.size().saturating_sub(1)), work);
        let (found, aborted) = changes.into_inner();
        aborted.map_or(Ok(found), Err)
    }

    fn change(&self, path: &[u8], folder: &TreeFolder, all: bool) -> Change {
        let trusted = folder.watch.is_some() && !all;
        let absolute = self.absolute(path);
        let sources = || folder.sources().iter().filter(|source| !(trusted && source.is_announced_in(&absolute)));
        if sources().any(|source| !source.is_current()) {
            return Change::Identity;
        }
        let Some(then) = &folder.stamp else { return Change::Names };
        if folder.failure().is_some() {
            return Change::Names;
        }
        if trusted {
            return Change::None;
        }
        match self.reader.handle.stamp(path) {
            Ok(now) if !now.is_same_file(then) || now.mode != then.mode => Change::Identity,
            Ok(now) if now == *then && folder.settled => Change::None,
            Ok(_) => Change::Names,
            Err(_) => Change::Identity,
        }
    }

    /// Reads directories, and the subdirectories that are not kept, on all threads.
    fn read_all(
        &self,
        jobs: Vec<Job>,
        observer: &dyn FolderObserver,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<Vec<FreshFolder>, Aborted> {
        let (mut fresh, mut scratch) = (Vec::new(), Scratch::default());
        let mut jobs = VecDeque::from(jobs);
        // A few directories are read before another thread could start.
        while jobs.len() < MIN_PARALLEL && fresh.len() < MIN_PARALLEL {
            let Some(job) = jobs.pop_front() else { return Ok(fresh) };
            match self.read(job, observer, &mut scratch, cancel) {
                Ok((folder, below)) => {
                    fresh.push(folder);
                    jobs.extend(below);
                }
                Err(aborted) => {
                    self.release(fresh.iter().filter_map(|fresh| fresh.folder.watch), observer);
                    return Err(aborted);
                }
            }
        }
        let queue = WorkQueue::new(jobs.into());
        let all = Mutex::new(fresh);
        pool.broadcast(pool.size().saturating_sub(1), |_| {
            let (mut fresh, mut scratch) = (Vec::new(), Scratch::default());
            queue.work(|job, found| {
                let (folder, below) = self.read(job, observer, &mut scratch, cancel)?;
                fresh.push(folder);
                found.extend(below);
                Ok(())
            });
            all.lock().append(&mut fresh);
        });
        let all = all.into_inner();
        if let Some(aborted) = queue.into_aborted() {
            self.release(all.iter().filter_map(|fresh| fresh.folder.watch), observer);
            return Err(aborted);
        }
        Ok(all)
    }

    fn read(
        &self,
        job: Job,
        observer: &dyn FolderObserver,
        Scratch { buffer, output }: &mut Scratch,
        cancel: &CancelToken,
    ) -> Result<(FreshFolder, Vec<Job>), Aborted> {
        let path: FolderPath = job.task.path.as_slice().into();
        let above = job.task.rules.clone();
        output.clear();
        let (mut tasks, mut log) = (Vec::new(), RuleLog::with_sources());
        let (mut stamp, mut settled, mut watch) = (None, false, None);
        let mut ticker = CancelTicker::new(cancel);
        let opened = |folder: &crate::sys::Folder| {
            stamp = folder.stamp().ok();
            // Evaluated now: a slow listing does not make the time before it any longer.
            settled = stamp.as_ref().is_some_and(Stamp::is_settled);
            watch = stamp.as_ref().and_then(|stamp| observer.enter(folder.as_fd(), stamp));
        };
        let read = self.reader.read_with(job.task, &mut tasks, output, buffer, &mut ticker, &mut log, opened);
        let read = read.inspect_err(|_| self.release(watch, observer))?;
        if let Some(folder) = &read.folder {
            observer.listed(&ListedFolder { path: &path, folder, output });
        }
        let names = FolderNames::new(output);
        let failure = if names.is_some() { read.failure.map(|(_, cause)| cause) } else { Some(TOO_LARGE.into()) };
        let RuleLog { warnings, sources } = log;
        let sources = sources.unwrap_or_default();
        let is_noted = failure.is_some() || !warnings.is_empty() || !sources.is_empty();
        let folder = Box::new(TreeFolder {
            notes: is_noted.then(|| Box::new(FolderNotes { failure, warnings, sources })),
            names: names.unwrap_or_default(),
            above,
            settled,
            stamp,
            watch,
        });
        let mut kept = None;
        if job.relist
            && let Some(old) = self.folders.get(&path)
            && old.has_the_rules_of(&folder)
        {
            let mut same = HashSet::new();
            tasks.retain(|task| {
                let is_same = self.is_same_folder(&task.path);
                if is_same {
                    same.insert(Box::from(split(&task.path).1));
                }
                !is_same
            });
            kept = Some(same);
        }
        let kept = job.relist.then(|| kept.unwrap_or_default());
        let jobs = tasks.into_iter().map(|task| Job { task, relist: false }).collect();
        Ok((FreshFolder { path, folder, kept }, jobs))
    }

    /// Returns true if the directory at a path is the one in the tree.
    fn is_same_folder(&self, path: &[u8]) -> bool {
        let Some(then) = self.folders.get(path).and_then(|folder| folder.stamp) else { return false };
        self.reader.handle.stamp(path).is_ok_and(|now| now.is_same_file(&then) && now.mode == then.mode)
    }

    fn apply(&mut self, fresh: Vec<FreshFolder>, removed: &[Box<[u8]>], observer: &dyn FolderObserver) -> TreeUpdate {
        let mut update = TreeUpdate::default();
        let mut released = Vec::new();
        let (mut again, mut new): (Vec<_>, Vec<_>) = fresh.into_iter().partition(|fresh| fresh.kept.is_some());
        // A directory sorts before its subdirectories.
        again.sort_by(|left, right| left.path.cmp(&right.path));
        new.sort_by(|left, right| left.path.cmp(&right.path));
        for FreshFolder { path, folder, kept } in again {
            let Some(old) = self.folders.get(&path) else {
                // Its parent directory is gone.
                released.extend(folder.watch);
                continue;
            };
            update.names_changed |= !old.is_alike(&folder);
            if old.watch.is_none() && folder.watch.is_some() {
                // No watch reported the changes of its files before this one was added.
                update.new_folders.push(path.clone());
            }
            let kept = kept.unwrap_or_default();
            let gone: Vec<Box<[u8]>> =
                old.children().filter(|name| !kept.contains(*name)).map(|name| below(&path, name)).collect();
            gone.into_iter().for_each(|path| self.remove(path, &mut released));
            self.insert(path, folder, &mut released);
        }
        removed.iter().for_each(|path| self.remove(path.clone(), &mut released));
        for FreshFolder { path, folder, .. } in new {
            let (above, name) = split(&path);
            if self.folders.get(above).is_some_and(|above| above.names.has_entered(name)) {
                update.new_folders.push(path.clone());
                self.insert(path, folder, &mut released);
            } else {
                released.extend(folder.watch);
            }
        }
        update.names_changed |= !update.new_folders.is_empty() || !removed.is_empty();
        if update.names_changed {
            self.scans.clear();
        }
        self.release(released, observer);
        update
    }

    fn insert(&mut self, path: FolderPath, folder: Box<TreeFolder>, released: &mut Vec<i32>) {
        let absolute = self.absolute(&path);
        let checked = folder.watch.is_none()
            || folder.failure().is_some()
            || folder.sources().iter().any(|source| !source.is_announced_in(&absolute));
        match checked {
            true => drop(self.checked.insert(path.clone())),
            false => drop(self.checked.remove(&path)),
        }
        match folder.watch {
            Some(watch) => match self.watched.entry(watch) {
                Entry::Occupied(mut others) => others.get_mut().push(path.clone()),
                Entry::Vacant(none) => drop(none.insert(smallvec![path.clone()])),
            },
            None => self.unwatched += 1,
        }
        self.files += folder.file_count();
        if let Some(old) = self.folders.insert(path.clone(), folder) {
            self.files -= old.file_count();
            self.unregister(old.watch, &path, released);
        }
    }

    /// Removes a directory and everything below it.
    fn remove(&mut self, path: Box<[u8]>, released: &mut Vec<i32>) {
        let mut paths = vec![path];
        while let Some(path) = paths.pop() {
            self.checked.remove(&*path);
            if let Some(folder) = self.folders.remove(&*path) {
                self.files -= folder.file_count();
                paths.extend(folder.children().map(|name| below(&path, name)));
                self.unregister(folder.watch, &path, released);
            }
        }
    }

    fn unregister(&mut self, watch: Option<i32>, path: &[u8], released: &mut Vec<i32>) {
        let Some(watch) = watch else {
            self.unwatched -= 1;
            return;
        };
        let Some(paths) = self.watched.get_mut(&watch) else { return };
        if let Some(at) = paths.iter().position(|other| **other == *path) {
            paths.swap_remove(at);
        }
        if paths.is_empty() {
            self.watched.remove(&watch);
            released.push(watch);
        }
    }

    /// Releases the watches that no directory of the tree uses.
    fn release(&self, watches: impl IntoIterator<Item = i32>, observer: &dyn FolderObserver) {
        let unused: BTreeSet<i32> = watches.into_iter().filter(|watch| !self.watched.contains_key(watch)).collect();
        unused.into_iter().for_each(|watch| observer.leave(watch));
    }
}

/// Collects the watches of a tree that may be discarded; the tree that it would replace may use the same ones.
struct WatchCollector<'a> {
    observer: &'a dyn FolderObserver,
    entered: Mutex<Vec<i32>>,
}

impl FolderObserver for WatchCollector<'_> {
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32> {
        let watch = self.observer.enter(folder, stamp);
        self.entered.lock().extend(watch);
        watch
    }

    fn leave(&self, _: i32) {}
}

impl TreeFolder {
    /// Returns true if a second reading found the same directory and the same rules, so that the verdicts below it are
    /// unchanged.
    fn has_the_rules_of(&self, later: &TreeFolder) -> bool {
        let same_folder = match (&self.stamp, &later.stamp) {
            (Some(then), Some(now)) => then.is_same_file(now),
            _ => false,
        };
        same_folder
            && self.sources().len() == later.sources().len()
            && self.sources().iter().zip(later.sources()).all(|(then, now)| then.is_same(now))
    }
}

/// Returns the path of the parent directory; `None` for the root.
fn parent(path: &[u8]) -> Option<&[u8]> {
    (!path.is_empty()).then(|| split(path).0)
}
