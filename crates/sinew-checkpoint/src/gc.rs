//! Reduces stores to their limits: removes the oldest checkpoints, and contents that no other checkpoint needs.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use sinew_base::{CancelToken, Error, Result};
use sinew_lock::{FileLock, Mode};

use crate::answer::{CollectResult, Usage};
use crate::directory::{Directory, as_name};
use crate::fault;
use crate::git_objects::GitObjects;
use crate::manifest::Head;
use crate::options::Limits;
use crate::pack::digest;
use crate::row::{Content, GitId, Hash, Kind, Row};
use crate::state::{Delta, State};
use crate::store::{Store, moved_name};

/// A checkpoint during the selection.
struct Item {
    head: Head,
    delta: Delta,
    /// The size of its manifest, in bytes.
    size: u64,
    /// The size of the contents that it added, in bytes.
    added: u64,
}

/// The store is measured after this fraction of the smallest limit was written, …
const MEASURED_PART: u64 = 16;
/// … and after this time, because other processes write to it too.
const MEASURED_TIME: Duration = Duration::from_secs(300);

/// The number of bytes that this process wrote since it measured the store.
#[derive(Debug, Default)]
pub(crate) struct Written {
    bytes: u64,
    measured: Option<Instant>,
}

impl Written {
    /// Adds bytes. Returns true if the store must be measured now.
    pub(crate) fn add(&mut self, bytes: u64, limits: &Limits) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        let smallest = limits.session.min(limits.directory).min(limits.total);
        let is_due = self.bytes > smallest / MEASURED_PART
            || self.measured.is_none_or(|measured| measured.elapsed() > MEASURED_TIME);
        if is_due {
            *self = Written { bytes: 0, measured: Some(Instant::now()) };
        }
        is_due
    }
}

/// Returns true if the store exceeds a limit. A session is only measured if the whole store exceeds its limit.
pub(crate) fn exceeds(store: &Store, limits: &Limits, session: Option<&str>) -> bool {
    let directory = size_of(&store.folder);
    directory > limits.directory.min(limits.total)
        || size_of(&store.base) > limits.total
        || directory > limits.session && session.is_some_and(|session| session_size(store, session) > limits.session)
}

/// Returns the size of the checkpoints of a session. The newest one does not count, because it is never removed.
fn session_size(store: &Store, session: &str) -> u64 {
    let names = store.names().unwrap_or_default();
    let is_own = |name: &&String| store.head(name).is_ok_and(|head| head.session.as_deref() == Some(session));
    names.iter().rev().skip(1).filter(is_own).map(|name| store.size_of(name)).sum()
}

fn failed(cause: &io::Error) -> Error {
    Error::io("gc: failed to read the store", cause)
}

/// Returns the size of all files below a folder, in bytes.
pub(crate) fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        // A file that is hard-linked with git's object needs no additional space.
        Ok(metadata) if metadata.nlink() > 1 => 0,
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Returns the size of the store.
pub(crate) fn usage(store: &Store) -> io::Result<Usage> {
    Ok(Usage { checkpoints: store.names()?.len(), directory: size_of(&store.folder), total: size_of(&store.base) })
}

/// Removes the oldest checkpoints beyond the limits, and contents that no checkpoint needs. The newest checkpoint is
/// kept, and so are `kept` and the later ones. The caller must have the lock. `cancel` is checked before each
/// checkpoint.
///
/// # Errors
/// Returns the system's error, or an error if the call is cancelled. The store is consistent then, and the next
/// collection continues.
pub(crate) fn collect(
    store: &Store,
    git: &GitObjects,
    limits: &Limits,
    kept: Option<&str>,
    cancel: &CancelToken,
) -> Result<CollectResult> {
    let before = size_of(&store.folder);
    let items = read(store, cancel)?;
    let mut removed = choose(store, &items, limits);
    removed.retain(|id| kept.is_none_or(|kept| id.as_str() < kept));
    rebase(store, &items, &removed, cancel)?;
    // Newest first, so that after an interruption no remaining checkpoint is based on a removed one.
    for id in items.iter().rev().map(|item| &item.head.id).filter(|id| removed.contains(id.as_str())) {
        store.remove(id)?;
        fault::point();
    }
    sweep(store, git, cancel)?;
    crate::stretches::prune(store).map_err(|cause| failed(&cause))?;
    let mut freed = before.saturating_sub(size_of(&store.folder));
    freed += remove_other_stores(store, limits.total).map_err(|cause| failed(&cause))?;
    let removed = items.into_iter().map(|item| item.head.id).filter(|id| removed.contains(id)).collect();
    Ok(CollectResult { removed, freed })
}

/// Reads every checkpoint. A damaged one, or one that is based on it, is removed, because it could only be applied in
/// part.
fn read(store: &Store, cancel: &CancelToken) -> Result<Vec<Item>> {
    let lengths: HashMap<String, u64> = store
        .contents
        .by_pack()
        .into_iter()
        .map(|(name, contents)| (name, contents.iter().map(|(_, length)| length).sum()))
        .collect();
    let mut items: Vec<Item> = Vec::new();
    for name in store.names().map_err(|cause| failed(&cause))? {
        cancel.check()?;
        let whole = store
            .manifest(&name)
            .ok()
            .filter(|(head, _)| head.base.as_ref().is_none_or(|base| items.iter().any(|item| item.head.id == *base)));
        let Some((head, delta)) = whole else {
            store.remove(&name)?;
            continue;
        };
        let size = fs::metadata(store.folder.join("manifests").join(&name)).map_or(0, |metadata| metadata.len());
        let added = lengths.get(&name).copied().unwrap_or(0);
        items.push(Item { head, delta, size, added });
    }
    Ok(items)
}

/// Returns the checkpoints that exceed a limit.
fn choose(store: &Store, items: &[Item], limits: &Limits) -> HashSet<String> {
    let mut removed = HashSet::new();
    let mut sessions: HashMap<&str, u64> = HashMap::new();
    for item in items.iter().rev().skip(1) {
        if let Some(session) = &item.head.session {
            let used = sessions.entry(session).or_default();
            *used += item.size + item.added;
            if *used > limits.session {
                removed.insert(item.head.id.clone());
            }
        }
    }
    // The first checkpoint that fits together with all later ones.
    let sizes = sizes_from(store, items);
    let first = sizes
        .iter()
        .position(|size| *size <= limits.directory.min(limits.total))
        .unwrap_or(items.len())
        .min(items.len().saturating_sub(1));
    removed.extend(items[..first].iter().map(|item| item.head.id.clone()));
    removed
}

/// Returns the size of the store if the checkpoints from each index on are kept, in bytes.
fn sizes_from(store: &Store, items: &[Item]) -> Vec<u64> {
    let mut lengths: HashMap<Hash, u64> = store.contents.by_pack().into_values().flatten().collect();
    // The index of the last checkpoint that needs each content.
    let mut needed: HashMap<Hash, usize> = HashMap::new();
    for entry in fs::read_dir(store.folder.join("moved")).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let size = if path.is_dir() { size_of(&path) } else { entry.metadata().map_or(0, |metadata| metadata.len()) };
        lengths.insert(digest(name.as_bytes()), size);
        let redo = name.to_str().and_then(redo_of);
        if let Some(at) = redo.and_then(|redo| items.iter().position(|item| item.head.id == redo)) {
            needed.insert(digest(name.as_bytes()), at);
        }
    }
    let mut present: HashMap<&[u8], Vec<Hash>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        if item.head.base.is_none() {
            for hash in present.drain().flat_map(|(_, hashes)| hashes) {
                needed.insert(hash, at.saturating_sub(1));
            }
        }
        for (path, row) in &item.delta {
            for hash in present.remove(&**path).into_iter().flatten() {
                needed.insert(hash, at - 1);
            }
            if let Some(row) = row {
                present.insert(path, hashes_of(row).chain(moved_hash(row)).collect());
            }
        }
    }
    for hash in present.into_values().flatten() {
        needed.insert(hash, items.len());
    }
    let mut sizes = vec![0; items.len() + 1];
    for (hash, length) in &lengths {
        let last = needed.get(hash).copied().unwrap_or(0).min(items.len());
        sizes[..=last].iter_mut().for_each(|size| *size += length);
    }
    for (at, item) in items.iter().enumerate() {
        sizes[..=at].iter_mut().for_each(|size| *size += item.size);
    }
    sizes.pop();
    sizes
}

fn hashes_of(row: &Row) -> impl Iterator<Item = Hash> {
    let content = match &row.content {
        Content::Stored(hash, _) => Some(*hash),
        _ => None,
    };
    content.into_iter().chain(row.attributes)
}

/// Returns the redo checkpoint that needs a moved repository, from its name; `None` for the name of a moved file.
fn redo_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(redo, _)| redo)
}

/// Returns the key under which the size of a file is counted that an undo may have moved into the store.
fn moved_hash(row: &Row) -> Option<Hash> {
    (row.kind == Kind::File && !row.is_kept()).then(|| digest(moved_name(row).as_bytes()))
}

/// Rewrites the checkpoints that are based on removed ones, relative to the previous one that is kept.
fn rebase(store: &Store, items: &[Item], removed: &HashSet<String>, cancel: &CancelToken) -> Result<()> {
    let mut before: Option<&Item> = None;
    for item in items.iter().filter(|item| !removed.contains(&item.head.id)) {
        if item.head.base.as_ref().is_some_and(|base| removed.contains(base)) {
            cancel.check()?;
            let state = store.state(&item.head.id)?.0;
            let base = before.map(|item| item.head.id.clone());
            let start = match &base {
                Some(base) => store.state(base)?.0,
                None => State::default(),
            };
            let head = Head { base, ..item.head.clone() };
            store.write(&head, &start.delta(&state)).map_err(|cause| Error::io("gc: failed to write", &cause))?;
        }
        before = Some(item);
    }
    Ok(())
}

/// Removes contents that no checkpoint needs. A pack of which more than half is needed is not rewritten.
fn sweep(store: &Store, git: &GitObjects, cancel: &CancelToken) -> Result<()> {
    let mut needed: HashSet<Hash> = HashSet::new();
    let mut moved: HashSet<String> = HashSet::new();
    let mut ids: HashSet<GitId> = HashSet::new();
    let items = read(store, cancel)?;
    for item in &items {
        for row in item.delta.iter().filter_map(|(_, row)| row.as_ref()) {
            needed.extend(hashes_of(row));
            if let Content::Git(id) | Content::Stored(_, id) = &row.content {
                ids.insert(*id);
            }
            if row.kind == Kind::File && !row.is_kept() {
                moved.insert(moved_name(row));
            }
        }
    }
    for (name, contents) in store.contents.by_pack() {
        cancel.check()?;
        let whole: u64 = contents.iter().map(|(_, length)| length).sum();
        let kept: Vec<&(Hash, u64)> = contents.iter().filter(|(hash, _)| needed.contains(hash)).collect();
        let live: u64 = kept.iter().map(|(_, length)| length).sum();
        if !kept.is_empty() && live.saturating_mul(2) > whole {
            continue;
        }
        let write = || -> io::Result<()> {
            // An unreadable content is lost already.
            let contents = kept.iter().filter_map(|(hash, _)| Some((*hash, store.contents.read(hash).ok()?))).collect();
            store.contents.rewrite(&name, contents)
        };
        write().map_err(|cause| Error::io("gc: failed to write", &cause))?;
        fault::point();
    }
    git.sweep(&ids).map_err(|cause| failed(&cause))?;
    let is_needed = |name: &str| match redo_of(name) {
        Some(redo) => items.iter().any(|item| item.head.id == redo),
        None => moved.contains(name),
    };
    let remove_moved = || -> io::Result<()> {
        let folder = Directory::open(&store.folder.join("moved"))?;
        for name in folder.names()? {
            if !std::str::from_utf8(&name).is_ok_and(is_needed) {
                folder.remove_tree(as_name(&name))?;
            }
        }
        Ok(())
    };
    remove_moved().map_err(|cause| failed(&cause))
}

/// Removes the stores of other directories, least recently used first, until the limit is met.
fn remove_other_stores(store: &Store, limit: u64) -> io::Result<u64> {
    let mut others = Vec::new();
    for entry in fs::read_dir(&store.base)?.flatten() {
        let path = entry.path();
        // Only folders that are certainly stores are deleted.
        if path != store.folder && path.join("manifests").is_dir() && path.join("directory").is_file() {
            let used = fs::metadata(path.join("manifests")).and_then(|metadata| metadata.modified())?;
            others.push((used, path));
        }
    }
    others.sort();
    let mut total = size_of(&store.base);
    let mut freed = 0;
    for (_, path) in others {
        if total <= limit {
            break;
        }
        let Ok(Some(_lock)) = FileLock::try_acquire(&path.join("lock"), Mode::Exclusive) else { continue };
        let size = size_of(&path);
        fs::remove_dir_all(&path)?;
        total -= size.min(total);
        freed += size;
    }
    Ok(freed)
}
