//! Scans a directory with everything below it: names and metadata, but no contents.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FileType;
use sinew_base::{CancelTicker, CancelToken, Error, ErrorCode, Result};

use crate::directory::{Directory, as_name, joined};
use crate::repository;
use crate::row::{Content, FIFO, Gap, Kind, Row, compare_paths, parent_of};
use crate::state::State;

/// The prefix of the names of temporary directories of restores.
pub(crate) const TEMPORARY_PREFIX: &str = ".sinew-restore-";

/// The names of directories that contain the data of a repository.
const REPOSITORIES: [&[u8]; 7] = [b".git", b".hg", b".svn", b".jj", b".bzr", b"_darcs", b".pijul"];

/// The scope of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// The whole directory.
    All,
    /// These directories, and new directories below them; everything else is unchanged. For callers that watch the
    /// directory.
    Directories(&'a HashSet<Vec<u8>>),
}

/// The options of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanOptions<'a> {
    pub(crate) scope: Scope<'a>,
    /// Directories that are skipped, by device and inode: the program's own files.
    pub(crate) skip: &'a [(u64, u64)],
    /// The maximum number of entries.
    pub(crate) max_entries: usize,
}

/// Returns the time in nanoseconds since the epoch.
pub(crate) fn now() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Scans the tree. Files with the same metadata as in `previous` keep their content; the others become
/// [`Content::Pending`].
///
/// `cancel` is checked every 128 entries.
///
/// # Errors
/// Returns an error if the call is cancelled, or `LimitExceeded` if there are more entries than allowed.
pub(crate) fn scan(
    root: &Directory,
    previous: &State,
    options: ScanOptions<'_>,
    cancel: &CancelToken,
) -> Result<State> {
    let mut scanner = Scanner { root, previous, options, rows: Vec::new(), directories: vec![Vec::new()] };
    if let Ok(stat) = root.own_stat() {
        // The root directory itself has permissions too.
        scanner.rows.push(Row::of(b"", &stat, now()));
    }
    let mut ticker = CancelTicker::new(cancel);
    while let Some(path) = scanner.directories.pop() {
        if scanner.must_list(&path) {
            scanner.list(&path, &mut ticker)?;
        } else {
            scanner.keep(&path);
        }
        if scanner.rows.len() > options.max_entries {
            let text = format!("checkpoints: the directory has more than {} entries", options.max_entries);
            return Err(Error::new(ErrorCode::LimitExceeded, text));
        }
    }
    let mut rows = scanner.rows;
    rows.sort_unstable_by(|one, two| compare_paths(&one.path, &two.path));
    let mut known = previous.rows().iter().peekable();
    for row in rows.iter_mut().filter(|row| row.kind == Kind::File) {
        while known.next_if(|old| compare_paths(&old.path, &row.path).is_lt()).is_some() {}
        if let Some(old) = known.peek().filter(|old| old.path == row.path && old.has_same_stamp(row) && !old.racy) {
            row.content = old.content.clone();
            row.attributes = old.attributes;
        }
    }
    Ok(State::new(rows))
}

struct Scanner<'a> {
    root: &'a Directory,
    previous: &'a State,
    options: ScanOptions<'a>,
    rows: Vec<Row>,
    /// Directories that were found and not listed yet.
    directories: Vec<Vec<u8>>,
}

impl Scanner<'_> {
    fn must_list(&self, path: &[u8]) -> bool {
        match self.options.scope {
            Scope::All => true,
            Scope::Directories(changed) => {
                changed.contains(path) || !path.is_empty() && self.previous.find(path).is_none()
            }
        }
    }

    /// Copies the entries of an unchanged directory.
    fn keep(&mut self, folder: &[u8]) {
        let below = self.previous.subtree(folder);
        let depth = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
        let level = if folder.is_empty() { 0 } else { depth(folder) + 1 };
        for row in below.iter().filter(|row| *row.path != *folder && depth(&row.path) == level) {
            self.rows.push(row.clone());
            if row.kind == Kind::Directory {
                self.directories.push(row.path.to_vec());
            }
        }
    }

    fn list(&mut self, path: &[u8], ticker: &mut CancelTicker<'_>) -> Result<()> {
        let listed = self.root.open_below(path).and_then(|directory| Ok((directory.names()?, directory)));
        let Ok((names, directory)) = listed else {
            // The entries are unknown, so nothing below it can be undone.
            if let Some(row) = self.rows.iter_mut().rev().find(|row| *row.path == *path) {
                row.content = Content::Missing(Gap::Unreadable);
            }
            return Ok(());
        };
        if is_bare_repository(&names) && !path.is_empty() {
            let position = repository::position(&directory, as_name(b"."));
            if let Some(row) = self.rows.iter_mut().rev().find(|row| *row.path == *path) {
                row.kind = Kind::Repository;
                row.content = Content::Position(position.into());
            }
            return Ok(());
        }
        for name in names {
            ticker.step()?;
            self.entry(&directory, path, &name);
        }
        Ok(())
    }

    fn entry(&mut self, directory: &Directory, folder: &[u8], name: &[u8]) {
        if folder.is_empty() && name.starts_with(TEMPORARY_PREFIX.as_bytes()) {
            return;
        }
        // An entry that was removed after the listing is skipped.
        let Ok(Some(stat)) = directory.stat(as_name(name)) else { return };
        let path = joined(folder, name);
        let mut row = Row::of(&path, &stat, now());
        if self.options.skip.contains(&(row.device, row.inode)) {
            return;
        }
        if is_repository_name(name) && matches!(row.kind, Kind::Directory | Kind::File | Kind::Link) {
            row.kind = Kind::Repository;
            let position = if name == b".git" { repository::position(directory, as_name(name)) } else { Vec::new() };
            row.content = Content::Position(position.into());
        }
        match row.kind {
            Kind::Directory => self.directories.push(path),
            Kind::Link => {
                row.content = match rustix::fs::readlinkat(directory, as_name(name), Vec::new()) {
                    Ok(target) => Content::Target(target.to_bytes().into()),
                    Err(_) => Content::Missing(Gap::Unreadable),
                };
            }
            Kind::Special if cfg!(target_os = "linux") && FileType::from_raw_mode(stat.st_mode) == FileType::Fifo => {
                row.content = Content::Target(FIFO.into());
            }
            Kind::File | Kind::Special | Kind::Repository => {}
        }
        self.rows.push(row);
    }
}

/// Returns true if a directory with these names is a bare git repository.
fn is_bare_repository(names: &[Box<[u8]>]) -> bool {
    [b"HEAD".as_slice(), b"objects", b"refs"].iter().all(|wanted| names.iter().any(|name| **name == **wanted))
}

/// Returns true for the name of a directory that contains the data of a repository.
pub(crate) fn is_repository_name(name: &[u8]) -> bool {
    REPOSITORIES.contains(&name)
}

/// Returns the folder of a repository from the path of its data; a bare repository is its own folder.
pub(crate) fn folder_of_repository(data: &[u8]) -> &[u8] {
    let parent = parent_of(data);
    let name = &data[if parent.is_empty() { 0 } else { parent.len() + 1 }..];
    if is_repository_name(name) { parent } else { data }
}

/// Returns a path for messages; invalid UTF-8 is replaced.
pub(crate) fn shown(path: &[u8]) -> String {
    as_name(path).to_string_lossy().into_owned()
}
