//! Creates entries in the temporary directory of a restore, complete with permissions, before they become visible.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid, openat, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::answer::Action;
use crate::attributes;
use crate::directory::{Directory, as_name};
use crate::fault;
use crate::git_objects::GitObjects;
use crate::plan::Step;
use crate::row::{Content, Kind, Row};
use crate::store::Store;

/// The temporary directory of a restore, and the sources of contents.
pub(crate) struct RestoreStage<'a> {
    pub(crate) store: &'a Store,
    pub(crate) git: &'a GitObjects,
    pub(crate) directory: Directory,
    count: u64,
}

/// Converts a failure to the reason why an entry stays unchanged.
pub(crate) fn cannot(error: impl std::fmt::Display) -> Action {
    Action::Cannot(error.to_string())
}

/// Returns the system's message without the error number.
pub(crate) fn io_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.rfind(" (os error").map_or(text.clone(), |at| text[..at].to_lowercase())
}

/// Does the same for an error of rustix.
pub(crate) fn words(error: Errno) -> String {
    io_words(&error.into())
}

impl<'a> RestoreStage<'a> {
    /// Creates the temporary directory, which only the owner can enter.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn create(
        store: &'a Store,
        git: &'a GitObjects,
        root: &Directory,
        name: &str,
    ) -> rustix::io::Result<Self> {
        rustix::fs::mkdirat(root, name, Mode::RWXU)?;
        // The umask may have removed permissions of the owner.
        root.set_mode(name.as_ref(), 0o700)?;
        fault::point();
        Ok(RestoreStage { store, git, directory: root.open_below(name.as_bytes())?, count: 0 })
    }

    /// Returns an unused name in the temporary directory.
    pub(crate) fn new_name(&mut self) -> String {
        self.count += 1;
        self.count.to_string()
    }

    /// Creates the entry that `row` describes in a directory that is not visible to others.
    ///
    /// # Errors
    /// Returns why it cannot be created.
    pub(crate) fn make(&self, directory: &Directory, name: &[u8], row: &Row) -> Result<(), Action> {
        let name = as_name(name);
        match (row.kind, &row.content) {
            (Kind::Directory, _) => rustix::fs::mkdirat(directory, name, Mode::RWXU)
                .and_then(|()| directory.set_mode(name, 0o700))
                .map_err(|error| cannot(words(error))),
            (Kind::Link, Content::Target(target)) => {
                rustix::fs::symlinkat(as_name(target), directory, name).map_err(|error| cannot(words(error)))
            }
            #[cfg(target_os = "linux")]
            (Kind::Special, _) if row.is_fifo() => {
                rustix::fs::mknodat(directory, name, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                    .and_then(|()| directory.set_mode(name, row.mode))
                    .map_err(|error| cannot(words(error)))
            }
            (Kind::File, content) => {
                let bytes = self.content(content)?;
                self.write(directory, name, row, &bytes).map_err(|error| cannot(io_words(&error)))
            }
            _ => Err(Action::Cannot("it is not kept".into())),
        }
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Action> {
        match content {
            Content::Stored(hash, id) => self.store.contents.read(hash).or_else(|error| {
                // Git may have content that is missing in the store.
                self.git.read(id).ok_or_else(|| cannot(error.message()))
            }),
            Content::Git(id) => {
                self.git.read(id).ok_or_else(|| Action::Cannot("its old content is no longer in git's objects".into()))
            }
            _ => Err(Action::Cannot("its old content is not kept".into())),
        }
    }

    fn write(&self, directory: &Directory, name: &std::ffi::OsStr, row: &Row, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes)?;
        dress(&file, row, self.store)?;
        fault::point();
        Ok(())
    }

    /// Moves an entry into the temporary directory. Returns its name there.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn take_away(&mut self, parent: &Directory, name: &std::ffi::OsStr) -> rustix::io::Result<String> {
        let away = self.new_name();
        renameat_with(parent, name, &self.directory, &*away, RenameFlags::NOREPLACE)?;
        fault::point();
        Ok(away)
    }

    /// Removes an entry that was moved away. If the store has no copy of its content, the file is moved into the store,
    /// so that it can be restored.
    ///
    /// # Errors
    /// Returns the system's error: `EXDEV` if the store is on another file system.
    pub(crate) fn retire(&self, parent: &Directory, name: &std::ffi::OsStr, row: &Row) -> rustix::io::Result<()> {
        if row.kind == Kind::File && !row.is_kept() {
            renameat_with(parent, name, CWD, self.store.moved_path(row), RenameFlags::empty())?;
        } else if row.kind != Kind::Directory {
            unlinkat(parent, name, AtFlags::empty())?;
        }
        fault::point();
        Ok(())
    }
}

/// Sets the owner, attributes and permissions of a file, as far as the user may set them.
fn dress(file: &File, row: &Row, store: &Store) -> io::Result<()> {
    let stat = rustix::fs::fstat(file)?;
    if (stat.st_uid, stat.st_gid) != row.owner {
        let (user, group) = (Uid::from_raw(row.owner.0), Gid::from_raw(row.owner.1));
        // A user may assign files to his groups, but not to other users.
        if rustix::fs::fchown(file, Some(user), Some(group)).is_err() {
            let _ = rustix::fs::fchown(file, None, Some(group));
        }
    }
    if let Some(bytes) = row.attributes.and_then(|hash| store.contents.read(&hash).ok()) {
        attributes::write(file.as_fd(), &bytes);
    }
    // Set last, because a change of the owner clears set-user-id.
    rustix::fs::fchmod(file, Mode::from_raw_mode(row.mode as rustix::fs::RawMode))?;
    Ok(())
}

/// Returns true if the entry has not changed since the scan.
pub(crate) fn is_still(directory: &Directory, name: &std::ffi::OsStr, row: &Row) -> bool {
    let Ok(Some(stat)) = directory.stat(name) else { return false };
    let found = Row::of(&row.path, &stat, 0);
    match row.kind {
        // The size and time of a directory change with its entries, which are checked one by one.
        Kind::Directory => found.kind == Kind::Directory && found.is_same_inode(row),
        _ => found.is_same_version(row),
    }
}

/// Returns true if the step creates a directory.
pub(crate) fn builds_directory(step: &Step) -> bool {
    let is_directory = |row: &Option<Row>| row.as_ref().is_some_and(|row| row.kind == Kind::Directory);
    step.action == Action::Restore && is_directory(&step.then) && !is_directory(&step.now)
}
