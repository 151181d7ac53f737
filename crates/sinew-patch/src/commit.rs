//! Writes the files of a plan: all of them or none.
//!
//! New content is written to a hidden directory in the root, and then renamed into place. Replaced files are moved to
//! the same directory, from where they are restored if a later step fails.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use sinew_base::{CancelToken, Error, ErrorCode, Result, lossy};

use crate::plan::Step;
use crate::root::{Node, NodeKind, Root, Stamp, name_of, split, stamp_at};

/// The maximum number of names that are tried for the hidden directory.
const TRIES: usize = 16;

/// Executes `steps`. With `prune`, directories that become empty are removed too. Checks the token before each file is
/// written, but not after the first one was moved.
pub(crate) fn commit(root: &Root, steps: &[Step], prune: bool, cancel: &CancelToken) -> Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let mut commit = Commit::begin(root)?;
    let result = commit.stage_all(steps, cancel).and_then(|()| commit.move_all(steps));
    if let Err(error) = result {
        return Err(commit.roll_back(error));
    }
    commit.close();
    if prune {
        steps.iter().filter(|step| step.node.is_none()).for_each(|step| prune_folders(root, &step.path));
    }
    Ok(())
}

/// A completed change, with the data to undo it.
enum Done<'s> {
    /// The file was moved to the hidden directory with this name.
    Removed(&'s [u8], OsString),
    /// The file was exchanged with the one of this name in the hidden directory.
    Exchanged(&'s [u8], OsString),
    /// The file is new.
    Created(&'s [u8]),
    /// The directory is new.
    FolderMade(Vec<u8>),
    /// The directory, which was empty, was removed; contains its permissions.
    FolderRemoved(Vec<u8>, Mode),
}

struct Commit<'s> {
    root: &'s Root,
    name: OsString,
    stage: OwnedFd,
    done: Vec<Done<'s>>,
    staged: Vec<OsString>,
}

fn failed(path: &[u8], cause: &io::Error) -> Error {
    Error::io(format!("failed to write {}", lossy(path)), cause)
}

fn changed(path: &[u8]) -> Error {
    Error::new(
        ErrorCode::InvalidState,
        format!("{}: another program changed the file while the patch was applied", lossy(path)),
    )
}

impl<'s> Commit<'s> {
    fn begin(root: &'s Root) -> Result<Commit<'s>> {
        let folder = root.folder(b"").map_err(|cause| Error::io("failed to open the root", &cause))?;
        let mut made = Err(Errno::EXIST);
        let mut name = OsString::new();
        for _ in 0..TRIES {
            name = OsString::from(format!(".sinew-patch-{:016x}", fastrand::u64(..)));
            made = rustix::fs::mkdirat(&folder, &name, Mode::RWXU);
            if made != Err(Errno::EXIST) {
                break;
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let stage = made.and_then(|()| rustix::fs::openat(&folder, &name, flags, Mode::empty()));
        let stage = stage.map_err(|errno| Error::io("failed to create a folder in the root", &errno.into()))?;
        Ok(Commit { root, name, stage, done: Vec::new(), staged: Vec::new() })
    }

    fn stage_all(&mut self, steps: &[Step], cancel: &CancelToken) -> Result<()> {
        for (number, step) in steps.iter().enumerate() {
            cancel.check().map_err(Error::aborted)?;
            if let Some(node) = &step.node {
                let name = new_name(number);
                self.staged.push(name.clone());
                self.stage(node, &name, step).map_err(|cause| failed(&step.path, &cause))?;
            }
        }
        cancel.check().map_err(Error::aborted)
    }

    /// Writes a file to the hidden directory.
    fn stage(&self, node: &Node, name: &OsString, step: &Step) -> io::Result<()> {
        let private = Mode::RUSR | Mode::WUSR;
        let open = private | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        let mode = match node.kind {
            NodeKind::Link => return Ok(rustix::fs::symlinkat(name_of(&node.content), &self.stage, name)?),
            NodeKind::NewFile(false) => open,
            NodeKind::NewFile(true) => open | Mode::XUSR | Mode::XGRP | Mode::XOTH,
            // Other users must not be able to read its content before its permissions are set.
            NodeKind::File(_) => private,
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.stage, name, flags, mode)?);
        file.write_all(&node.content)?;
        if let NodeKind::File(bits) = node.kind {
            self.keep_owner(&file, step)?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(bits as rustix::fs::RawMode))?;
        }
        file.sync_data()
    }

    /// Sets the owner of a new file to that of the replaced one.
    fn keep_owner(&self, file: &File, step: &Step) -> io::Result<()> {
        let (folder, name) = split(&step.path);
        if step.before.is_none() {
            return Ok(());
        }
        let old = rustix::fs::statat(self.root.folder(folder)?, name_of(name), AtFlags::SYMLINK_NOFOLLOW)?;
        let new = rustix::fs::fstat(file)?;
        if (old.st_uid, old.st_gid) == (new.st_uid, new.st_gid) {
            return Ok(());
        }
        let (owner, group) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
        match rustix::fs::fchown(file, Some(owner), Some(group)) {
            // Only the superuser may change the owner; for everyone else the file belongs to the caller, as with `git
            // apply`.
            Ok(()) | Err(Errno::PERM) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Moves all files. Removals are first, so that a directory can be created in place of a file.
    fn move_all(&mut self, steps: &'s [Step]) -> Result<()> {
        for (number, step) in steps.iter().enumerate().filter(|(_, step)| step.node.is_none()) {
            self.take_away(&step.path, step.before, old_name(number))?;
        }
        for step in steps.iter().filter(|step| step.over_folder) {
            self.remove_folder(&step.path).map_err(|cause| failed(&step.path, &cause))?;
        }
        for (number, step) in steps.iter().enumerate().filter(|(_, step)| step.node.is_some()) {
            match step.before {
                Some(before) => self.replace(&step.path, before, number)?,
                None => self.create(&step.path, number)?,
            }
        }
        Ok(())
    }

    fn take_away(&mut self, path: &'s [u8], before: Option<Stamp>, aside: OsString) -> Result<()> {
        let (folder, name) = split(path);
        let folder = self.root.folder(folder).map_err(|cause| failed(path, &cause))?;
        rustix::fs::renameat(&folder, name_of(name), &self.stage, &aside)
            .map_err(|errno| failed(path, &errno.into()))?;
        self.done.push(Done::Removed(path, aside.clone()));
        if stamp_at(&self.stage, &aside) == before { Ok(()) } else { Err(changed(path)) }
    }

    fn replace(&mut self, path: &'s [u8], before: Stamp, number: usize) -> Result<()> {
        let (folder, name) = split(path);
        let folder = self.root.folder(folder).map_err(|cause| failed(path, &cause))?;
        let new = new_name(number);
        match rustix::fs::renameat_with(&self.stage, &new, &folder, name_of(name), RenameFlags::EXCHANGE) {
            Ok(()) => {
                self.done.push(Done::Exchanged(path, new.clone()));
                if stamp_at(&self.stage, &new) == Some(before) { Ok(()) } else { Err(changed(path)) }
            }
            // The file system does not support exchanging.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.take_away(path, Some(before), old_name(number))?;
                self.create(path, number)
            }
            Err(errno) => Err(failed(path, &errno.into())),
        }
    }

    fn create(&mut self, path: &'s [u8], number: usize) -> Result<()> {
        self.make_folders(path).map_err(|cause| failed(path, &cause))?;
        let (folder, name) = split(path);
        let folder = self.root.folder(folder).map_err(|cause| failed(path, &cause))?;
        let (new, name) = (new_name(number), name_of(name));
        let moved = match rustix::fs::renameat_with(&self.stage, &new, &folder, name, RenameFlags::NOREPLACE) {
            // A hard link does not replace files either. The file's first name is deleted with the hidden directory.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(&self.stage, &new, &folder, name, AtFlags::empty())
            }
            moved => moved,
        };
        match moved {
            Ok(()) => {
                self.done.push(Done::Created(path));
                Ok(())
            }
            Err(Errno::EXIST) => Err(changed(path)),
            Err(errno) => Err(failed(path, &errno.into())),
        }
    }

    fn make_folders(&mut self, path: &[u8]) -> io::Result<()> {
        for slash in path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at) {
            let (parent, name) = split(&path[..slash]);
            let parent = self.root.folder(parent)?;
            match rustix::fs::mkdirat(&parent, name_of(name), Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) => self.done.push(Done::FolderMade(path[..slash].to_vec())),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Removes a directory that contains nothing but directories.
    fn remove_folder(&mut self, path: &[u8]) -> io::Result<()> {
        let listed = self.root.folder(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(&listed, ".", flags, Mode::empty())?;
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&listed)?.st_mode);
        for entry in rustix::fs::Dir::new(listed)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.remove_folder(&[path, b"/", name].concat())?;
            }
        }
        let (parent, name) = split(path);
        rustix::fs::unlinkat(self.root.folder(parent)?, name_of(name), AtFlags::REMOVEDIR)?;
        self.done.push(Done::FolderRemoved(path.to_vec(), mode));
        Ok(())
    }

    /// Undoes the completed changes, and adds what could not be undone to the error.
    fn roll_back(mut self, error: Error) -> Error {
        let mut lost = Vec::new();
        while let Some(done) = self.done.pop() {
            if let Err(cause) = self.undo(&done) {
                let (Done::Removed(path, _) | Done::Exchanged(path, _) | Done::Created(path)) = done else { continue };
                lost.push(format!("{} ({cause})", lossy(path)));
            }
        }
        if lost.is_empty() {
            self.close();
            return error;
        }
        // Files that could not be moved back are kept.
        let kept = self.name.to_string_lossy();
        let message =
            format!("{}; could not restore {}: see the folder {kept} in the root", error.message(), lost.join(", "));
        Error::new(error.code(), message)
    }

    fn undo(&self, done: &Done<'_>) -> io::Result<()> {
        let parent = |path| {
            let (folder, name) = split(path);
            self.root.folder(folder).map(|folder| (folder, name_of(name).to_owned()))
        };
        match done {
            Done::Removed(path, aside) => {
                let (folder, name) = parent(path)?;
                rustix::fs::renameat(&self.stage, aside, folder, name)?;
            }
            Done::Exchanged(path, other) => {
                let (folder, name) = parent(path)?;
                rustix::fs::renameat_with(&self.stage, other, folder, name, RenameFlags::EXCHANGE)?;
            }
            Done::Created(path) => {
                let (folder, name) = parent(path)?;
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
            }
            Done::FolderMade(path) => {
                let (folder, name) = parent(path)?;
                rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
            }
            Done::FolderRemoved(path, mode) => {
                let (folder, name) = parent(path)?;
                rustix::fs::mkdirat(&folder, &name, Mode::RWXU)?;
                rustix::fs::chmodat(&folder, &name, *mode, AtFlags::empty())?;
            }
        }
        Ok(())
    }

    /// Removes the hidden directory with its content. Anything that cannot be removed stays and is harmless.
    fn close(self) {
        let old = self.done.iter().filter_map(|done| match done {
            Done::Removed(_, name) | Done::Exchanged(_, name) => Some(name),
            _ => None,
        });
        for name in old.chain(&self.staged) {
            let _ = rustix::fs::unlinkat(&self.stage, name, AtFlags::empty());
        }
        if let Ok(root) = self.root.folder(b"") {
            let _ = rustix::fs::unlinkat(root, &self.name, AtFlags::REMOVEDIR);
        }
    }
}

fn new_name(number: usize) -> OsString {
    OsString::from(format!("new-{number}"))
}

fn old_name(number: usize) -> OsString {
    OsString::from(format!("old-{number}"))
}

/// Removes the parent directories of a removed file that are empty now, as git does, up to the first one that is not
/// empty.
fn prune_folders(root: &Root, path: &[u8]) {
    let (mut folder, _) = split(path);
    while !folder.is_empty() {
        let (parent, name) = split(folder);
        let removed = root
            .folder(parent)
            .is_ok_and(|parent| rustix::fs::unlinkat(parent, name_of(name), AtFlags::REMOVEDIR).is_ok());
        if !removed {
            return;
        }
        folder = parent;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::root::Entry;

    fn step(root: &Root, path: &str, content: Option<&str>) -> Step {
        let before = match root.entry(path.as_bytes()).unwrap() {
            Entry::File(_, stamp) => Some(stamp),
            _ => None,
        };
        let node = content.map(|content| Node { content: content.into(), kind: NodeKind::NewFile(false) });
        Step { path: path.into(), node, before, over_folder: false }
    }

    fn listing(root: &Path) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).unwrap_or_else(|_| "folder".into());
                (entry.file_name().into_string().unwrap(), text)
            })
            .collect();
        files.sort();
        files
    }

    /// Plans a replacement, a new file in a new directory, a removal and one more step, calls `meanwhile` and commits.
    fn interrupted(
        last: impl Fn(&Root) -> Step,
        meanwhile: impl Fn(&Path),
    ) -> (Result<()>, bool, Vec<(String, String)>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a", "old a"), ("b", "old b"), ("z", "old z")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let root = Root::open(folder.path()).unwrap();
        let first = [step(&root, "a", Some("new a")), step(&root, "d/e", Some("new e")), step(&root, "b", None)];
        let steps: Vec<Step> = first.into_iter().chain([last(&root)]).collect();
        meanwhile(folder.path());
        let before = listing(folder.path());
        let result = commit(&root, &steps, true, &CancelToken::never());
        let after = listing(folder.path());
        (result, before == after, after)
    }

    #[test]
    fn a_concurrent_change_undoes_all_steps() {
        let check = |last: &dyn Fn(&Root) -> Step, meanwhile: &dyn Fn(&Path), expect: &str| {
            let (result, unchanged, after) = interrupted(last, meanwhile);
            let error = result.unwrap_err();
            assert!(unchanged, "{error}: {after:?}");
            assert!(error.message().contains(expect), "{error}");
        };
        let write = |name: &'static str| move |root: &Path| fs::write(root.join(name), "someone else's").unwrap();
        let changed = "another program changed the file";
        check(&|root| step(root, "z", Some("new z")), &write("z"), changed);
        check(&|root| step(root, "z", None), &write("z"), changed);
        check(&|root| step(root, "n", Some("new n")), &write("n"), changed);
        check(&|root| step(root, "z", Some("new z")), &|root| fs::remove_file(root.join("z")).unwrap(), "z");
        check(&|root| step(root, "z/y", Some("new y")), &|_| {}, "failed to write z/y");
    }

    #[test]
    fn removes_the_hidden_directory() {
        let (result, _, after) = interrupted(|root| step(root, "z", Some("new z")), |_| {});
        result.unwrap();
        let expect = [("a", "new a"), ("d", "folder"), ("z", "new z")];
        assert_eq!(after, expect.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
}
