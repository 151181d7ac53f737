//! The position of a git repository: its branch, its commit and its staged changes. It is read from files, without
//! running git.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use crate::codec::{Reader, Writer};
use crate::directory::{Directory, as_name, open_quietly};

/// The maximum size of a file of references that is read, in bytes.
const MAX_REFERENCES: u64 = 16 << 20;
/// The maximum size of an index whose staged content is compared, in bytes.
const MAX_INDEX: u64 = 256 << 20;

/// The position of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// The reference that HEAD names, such as `refs/heads/main`; empty for a detached HEAD.
    pub(crate) branch: String,
    /// The commit in hexadecimal; empty before the first commit or if it cannot be read.
    pub(crate) commit: String,
    /// A hash of the staged changes; empty without an index.
    pub(crate) index: Vec<u8>,
}

impl Position {
    /// Decodes the bytes that [`position`] returned.
    pub(crate) fn decode(bytes: &[u8]) -> Position {
        let mut reader = Reader::plain(bytes);
        let mut block = || reader.block().unwrap_or_default().to_vec();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Position { branch: text(block()), commit: text(block()), index: block() }
    }

    /// Returns the position for display: `main at 1a2b3c4`.
    pub(crate) fn shown(&self) -> String {
        let commit = if self.commit.is_empty() { "no commit" } else { &self.commit[..self.commit.len().min(12)] };
        match self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch) {
            "" => commit.to_string(),
            branch => format!("{branch} at {commit}"),
        }
    }
}

/// Returns the position of the repository whose data, or a file that points to it, is `name` in `directory`. Empty if
/// it cannot be read.
pub(crate) fn position(directory: &Directory, name: &OsStr) -> Vec<u8> {
    let Some(data) = open_data(directory, name) else { return Vec::new() };
    let read = |name: &str| read_limited(&data, name.as_ref(), MAX_REFERENCES);
    let head = read("HEAD").unwrap_or_default();
    let head = head.trim_ascii();
    let mut position = Position::default();
    match head.strip_prefix(b"ref:") {
        None => position.commit = String::from_utf8_lossy(head).into_owned(),
        Some(reference) => {
            let reference = reference.trim_ascii();
            position.branch = String::from_utf8_lossy(reference).into_owned();
            position.commit = commit_of(&data, reference).unwrap_or_default();
        }
    }
    position.index =
        read_limited(&data, OsStr::new("index"), MAX_INDEX).map(|index| staged(&index)).unwrap_or_default();
    let mut writer = Writer::default();
    writer.block(position.branch.as_bytes());
    writer.block(position.commit.as_bytes());
    writer.block(&position.index);
    writer.bytes
}

/// Opens the folder of a repository's data. Follows the file that a linked work tree or a submodule has instead.
pub(crate) fn open_data(directory: &Directory, name: &OsStr) -> Option<Directory> {
    if let Ok(data) = open_at(directory, name) {
        return Some(data);
    }
    let text = read_limited(directory, name, 1 << 16)?;
    let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
    open_at(directory, as_name(target)).ok()
}

pub(crate) fn open_at(directory: impl AsFd, path: &OsStr) -> rustix::io::Result<Directory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Directory::from(open_quietly(directory, path, flags)?))
}

pub(crate) fn read_limited(directory: &Directory, path: &OsStr, limit: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open_quietly(directory, path, flags).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads the commit of a reference: from its file, from the packed references, or from the main repository of a work
/// tree.
fn commit_of(data: &Directory, reference: &[u8]) -> Option<String> {
    let common = read_limited(data, OsStr::new("commondir"), 1 << 16)
        .and_then(|path| open_at(data, as_name(path.trim_ascii())).ok());
    for folder in [Some(data), common.as_ref()].into_iter().flatten() {
        if let Some(text) = read_limited(folder, as_name(reference), 1 << 16) {
            return Some(String::from_utf8_lossy(text.trim_ascii()).into_owned());
        }
        let packed = read_limited(folder, OsStr::new("packed-refs"), MAX_REFERENCES).unwrap_or_default();
        let line = packed.split(|byte| *byte == b'\n').find_map(|line| {
            let (id, name) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
            (&name[1..] == reference).then_some(id)
        });
        if let Some(id) = line {
            return Some(String::from_utf8_lossy(id).into_owned());
        }
        // In the reftable format, a changed list of tables means that some reference changed.
        if let Some(tables) = read_limited(folder, OsStr::new("reftable/tables.list"), MAX_REFERENCES) {
            return Some(format!("reftable {}", crate::store::hex(&Sha256::digest(&tables)[..6])));
        }
    }
    None
}

/// Returns a hash of the staged entries of an index. Times that git refreshes are not included if the format is known.
fn staged(index: &[u8]) -> Vec<u8> {
    let mut digest = Sha256::new();
    match crate::git_index::entries(index) {
        Some(entries) => {
            for entry in entries {
                digest.update(entry.id);
                digest.update(entry.mode.to_le_bytes());
                digest.update(entry.flags.to_le_bytes());
                digest.update((entry.path.len() as u64).to_le_bytes());
                digest.update(&entry.path);
            }
        }
        None => digest.update(index),
    }
    digest.finalize().to_vec()
}

/// Returns the command that moves a repository from one position back to another in its work tree.
pub(crate) fn command(work_tree: &Path, now: &Position, then: &Position) -> Option<String> {
    let quoted = self::quoted(work_tree.as_os_str().as_bytes());
    let git = format!("git -C {quoted}");
    let mut parts = Vec::new();
    if now.branch != then.branch && !then.branch.is_empty() {
        parts.push(format!("{git} symbolic-ref HEAD {}", self::quoted(then.branch.as_bytes())));
    }
    let is_commit = !then.commit.is_empty() && then.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if then.branch.is_empty() && is_commit && now.commit != then.commit {
        parts.push(format!("{git} update-ref --no-deref HEAD {}", then.commit));
    } else if is_commit && now.commit != then.commit && now.branch == then.branch {
        parts.push(format!("{git} reset --soft {}", then.commit));
    }
    // Before its first commit, a branch does not exist.
    let is_unborn = then.commit.is_empty() && !then.branch.is_empty();
    if is_unborn && now.branch == then.branch && !now.commit.is_empty() {
        parts.push(format!("{git} update-ref -d HEAD"));
    }
    if now.index != then.index && (is_commit || is_unborn) {
        parts.push(format!("{git} reset --quiet"));
    }
    (!parts.is_empty()).then(|| parts.join(" && "))
}

/// Quotes a word for a shell.
fn quoted(word: &[u8]) -> String {
    let word = String::from_utf8_lossy(word);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
