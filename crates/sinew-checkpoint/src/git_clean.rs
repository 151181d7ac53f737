//! Finds the files whose content git's index already knows, so that they need not be read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::OFlags;

use crate::directory::{Directory, as_name, joined, open_quietly};
use crate::git_index::{IndexEntry, entries};
use crate::options::GitUser;
use crate::repository::{open_at, open_data, read_limited};
use crate::row::{Content, GitId, Kind, Row, is_within, parent_of};
use crate::state::State;

/// The maximum size of an index, in bytes.
const MAX_INDEX: u64 = 256 << 20;
/// The maximum size of a file of settings, in bytes.
const MAX_SETTINGS: u64 = 1 << 20;
const NANOSECONDS: i64 = 1_000_000_000;

/// Settings that can make the content of a file differ from git's object, or the index describe another directory.
const CONVERTING: [&str; 7] = ["autocrlf", "eol", "attributesfile", "filter", "include", "worktree", "objectformat"];
/// The folders of the settings of all users.
const SYSTEM_FOLDERS: [&str; 3] = ["/etc", "/usr/local/etc", "/opt/homebrew/etc"];

/// Returns the files that no one has read yet and that git's index describes exactly, with the ids of their blobs.
///
/// A repository with attributes or settings that can convert contents has none: its objects may differ from the files.
pub(crate) fn clean_files(root: &Directory, state: &State, user: &GitUser) -> HashMap<Box<[u8]>, GitId> {
    let mut clean = HashMap::new();
    if settings_convert(user) {
        return clean;
    }
    for row in state.rows().iter().filter(|row| row.kind == Kind::Repository && is_data(&row.path)) {
        let top = parent_of(&row.path);
        let is_attributes = |row: &Row| row.path.ends_with(b".gitattributes") && is_within(&row.path, top);
        if state.subtree(top).iter().any(is_attributes) {
            continue;
        }
        let Some((index, written)) = root.open_below(top).ok().and_then(|folder| index_of(&folder)) else { continue };
        if index.iter().any(|entry| entry.path.ends_with(b".gitattributes")) {
            continue;
        }
        for entry in index {
            let path = joined(top, &entry.path);
            if state.find(&path).is_some_and(|row| is_clean(row, &entry, written)) {
                clean.insert(path.into(), entry.id);
            }
        }
    }
    clean
}

fn is_data(path: &[u8]) -> bool {
    path == b".git" || path.ends_with(b"/.git")
}

/// Returns true if a file has not changed since git wrote the index. `written` is the time of the index: a file that is
/// not older may have changed after git read it.
fn is_clean(row: &Row, entry: &IndexEntry, written: i64) -> bool {
    let parts = |time: i64| {
        let seconds = u32::try_from(time.div_euclid(NANOSECONDS)).ok()?;
        Some((seconds, u32::try_from(time.rem_euclid(NANOSECONDS)).ok()?))
    };
    row.kind == Kind::File
        && row.content == Content::Pending
        && !row.racy
        && entry.is_plain
        && entry.flags == 0
        && entry.mode & 0o170_000 == 0o100_000
        && u64::from(entry.size) == row.size
        && u64::from(entry.inode) == row.inode & u64::from(u32::MAX)
        && parts(row.mtime) == Some(entry.mtime)
        && parts(row.ctime) == Some(entry.ctime)
        && row.mtime.max(row.ctime) < written
}

/// Reads the index of a work tree and its modification time; `None` if git's objects may differ from the files.
fn index_of(folder: &Directory) -> Option<(Vec<IndexEntry>, i64)> {
    let data = open_data(folder, OsStr::new(".git"))?;
    let common = match read_limited(&data, OsStr::new("commondir"), MAX_SETTINGS) {
        Some(path) => Some(open_at(&data, as_name(path.trim_ascii())).ok()?),
        None => None,
    };
    for folder in [Some(&data), common.as_ref()].into_iter().flatten() {
        if rustix::fs::statat(folder, "info/attributes", rustix::fs::AtFlags::empty()).is_ok() {
            return None;
        }
        for name in ["config", "config.worktree"] {
            if read_limited(folder, OsStr::new(name), MAX_SETTINGS).is_some_and(|text| converts(&text)) {
                return None;
            }
        }
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open_quietly(&data, "index", flags).ok()?);
    let found = Row::of(b"", &rustix::fs::fstat(&file).ok()?, 0);
    if found.kind != Kind::File || found.size > MAX_INDEX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_INDEX).read_to_end(&mut bytes).ok()?;
    Some((entries(&bytes)?, found.mtime))
}

/// Returns true if a file of settings names one that can convert contents.
fn converts(settings: &[u8]) -> bool {
    let text = String::from_utf8_lossy(settings).to_lowercase();
    CONVERTING.iter().any(|name| text.contains(name))
}

/// Returns true if settings of the user or of the system can convert contents.
fn settings_convert(user: &GitUser) -> bool {
    let own = user.config.clone().unwrap_or_else(|| user.home.join(".config"));
    let system = |name: &str| SYSTEM_FOLDERS.map(|folder| Path::new(folder).join(name));
    let settings = system("gitconfig").into_iter().chain([user.home.join(".gitconfig"), own.join("git/config")]);
    let mut attributes = system("gitattributes").into_iter().chain([own.join("git/attributes")]);
    // A file that cannot be read may contain anything.
    let is_risky = |path: &Path| {
        path.exists() && crate::git_pack::read_file(path, MAX_SETTINGS).is_none_or(|text| converts(&text))
    };
    attributes.any(|path| path.exists()) || settings.into_iter().any(|path| is_risky(&path))
}
