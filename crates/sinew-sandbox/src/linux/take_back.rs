//! Moves away protected paths that commands created.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::layout::Layout;
use crate::{Refusal, RefusalKind};

/// The directory for files that were moved away. It is created when it is first needed, and is not deleted, because the
/// files belong to the user.
#[derive(Debug)]
pub(super) struct HoldingFolder {
    temp: PathBuf,
    folder: Option<PathBuf>,
    count: usize,
}

impl HoldingFolder {
    pub(super) fn new(temp: PathBuf) -> HoldingFolder {
        HoldingFolder { temp, folder: None, count: 0 }
    }

    fn next(&mut self, name: &OsStr) -> io::Result<PathBuf> {
        if self.folder.is_none() {
            self.folder = Some(tempfile::Builder::new().prefix("sinew-taken-back-").tempdir_in(&self.temp)?.keep());
        }
        self.count += 1;
        let mut file = std::ffi::OsString::from(format!("{}-", self.count));
        file.push(name);
        Ok(self.folder.as_deref().unwrap_or(&self.temp).join(file))
    }
}

/// Moves away everything that exists at the missing paths of a layout or is one of its new matches, and restores its
/// links. Returns one refusal for each path.
pub(super) fn take_back(layout: &Layout, new_matches: &[PathBuf], holding: &mut HoldingFolder) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let mut refuse = |path: &Path, result: io::Result<()>| {
        let shown = path.to_string_lossy();
        let target = match result {
            Ok(()) => shown.into_owned(),
            Err(error) => format!("{shown} (it could not be moved away: {error})"),
        };
        refusals.push(Refusal { kind: RefusalKind::Write, target: Some(target) });
    };
    for path in layout.missing.iter().chain(new_matches) {
        let created = first_link(path).unwrap_or_else(|| path.clone());
        if created.symlink_metadata().is_ok() {
            refuse(path, move_away(&created, holding));
        }
    }
    for (path, target) in &layout.links {
        if std::fs::read_link(path).is_ok_and(|now| now == *target) {
            continue;
        }
        let moved = match path.symlink_metadata() {
            Ok(_) => move_away(path, holding),
            Err(_) => Ok(()),
        };
        refuse(path, moved.and_then(|()| restore_link(path, target)));
    }
    refusals
}

/// Returns the first directory of a path that has become a link. The path contained no links when it was resolved.
fn first_link(path: &Path) -> Option<PathBuf> {
    let parents: Vec<&Path> = path.ancestors().skip(1).collect();
    parents.into_iter().rev().find(|parent| parent.is_symlink()).map(Path::to_path_buf)
}

/// Opens the directory of a path; fails if a directory of the path is a link.
fn open_parent(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok((rustix::fs::openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?, name))
}

fn restore_link(path: &Path, target: &Path) -> io::Result<()> {
    let (parent, name) = open_parent(path)?;
    Ok(rustix::fs::symlinkat(target, &parent, name)?)
}

fn move_away(path: &Path, holding: &mut HoldingFolder) -> io::Result<()> {
    let (parent, name) = open_parent(path)?;
    let to = holding.next(name)?;
    match rustix::fs::renameat(&parent, name, CWD, &to) {
        Err(rustix::io::Errno::XDEV) => {}
        other => return Ok(other?),
    }
    // The same path through the open directory, which no program can replace with a link.
    let from = PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd())).join(name);
    copy(&from, &to)?;
    match from.symlink_metadata()?.is_dir() {
        true => std::fs::remove_dir_all(&from),
        false => std::fs::remove_file(&from),
    }
}

/// Copies files, directories and links; other types have no contents to keep.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let data = from.symlink_metadata()?;
    if data.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)
    } else if data.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok(())
    } else if data.is_file() {
        std::fs::copy(from, to).map(drop)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_created_paths_and_restores_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let temp = root.join("temp");
        std::fs::create_dir_all(&temp).unwrap();
        let mut layout = Layout::default();
        layout.missing.extend([".npmrc", ".claude", "absent", ".cargo/config.toml"].map(|name| root.join(name)));
        layout.links.insert(root.join("hooks"), "tracked".into());
        std::fs::write(root.join(".npmrc"), "evil").unwrap();
        std::fs::create_dir(root.join(".claude")).unwrap();
        std::fs::write(root.join(".claude/s"), "kept").unwrap();
        std::fs::write(root.join("hooks"), "evil").unwrap();
        // A directory of the path became a link to another directory, which must not change.
        std::fs::create_dir(root.join("other")).unwrap();
        std::fs::write(root.join("other/config.toml"), "other").unwrap();
        std::os::unix::fs::symlink("other", root.join(".cargo")).unwrap();

        let mut holding = HoldingFolder::new(temp.clone());
        let targets: Vec<String> =
            take_back(&layout, &[], &mut holding).into_iter().filter_map(|refusal| refusal.target).collect();
        let expected: Vec<String> = [".cargo/config.toml", ".claude", ".npmrc", "hooks"]
            .map(|name| root.join(name).to_string_lossy().into_owned())
            .to_vec();
        assert_eq!(targets, expected);
        assert_eq!(std::fs::read_link(root.join("hooks")).unwrap(), Path::new("tracked"));
        assert_eq!(std::fs::read_to_string(root.join("other/config.toml")).unwrap(), "other");
        assert!([".npmrc", ".claude", ".cargo"].iter().all(|name| root.join(name).symlink_metadata().is_err()));
        let kept = holding.folder.unwrap().join("2-.claude/s");
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
    }
}
