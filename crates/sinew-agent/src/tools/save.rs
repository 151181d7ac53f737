//! The one way in which tools write files.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::Host;
use super::seen::Standing;
use super::settings::FileGuard;
use crate::files::read_plain;
use crate::tool::ToolError;

/// A larger file is not replaced or edited: its old content has to be compared.
const LARGEST: u64 = 256 << 20;

/// What is at a path before it is written.
pub(super) struct Target {
    /// The file itself, behind a link.
    pub(super) path: PathBuf,
    /// What stands there now; `None`: nothing.
    pub(super) content: Option<Vec<u8>>,
    facts: Option<Metadata>,
}

/// Looks at the file that `path` names, `name` for the model.
///
/// # Errors
/// It is no plain file, is too large, or cannot be read.
pub(super) fn look(path: &Path, name: &str) -> Result<Target, ToolError> {
    let failed = |error: std::io::Error| ToolError::Failed(format!("Cannot write {name}: {error}"));
    let path = behind_links(path).map_err(failed)?;
    let facts = match fs::metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Target { path, content: None, facts: None }),
        Err(error) => return Err(failed(error)),
    };
    if facts.is_dir() {
        return Err(ToolError::Failed(format!("Cannot write {name}: it is a directory")));
    }
    if !facts.is_file() {
        return Err(ToolError::Failed(format!("Cannot write {name}: it is a pipe, a socket or a device")));
    }
    if facts.len() > LARGEST {
        let size = super::paths::size(facts.len());
        return Err(ToolError::Failed(format!("Cannot write {name}: it has {size}. Use bash for files above 256 MB.")));
    }
    let content = read_plain(&path, LARGEST).map_err(failed)?;
    Ok(Target { path, content: Some(content), facts: Some(facts) })
}

impl Target {
    /// Replaces the content in one step: whoever reads the file sees the old or the new content, also after a crash.
    /// Missing folders are made; mode and owner stay. Tells the scans and what is known of the file.
    ///
    /// # Errors
    /// Something of it failed; the old content stands.
    pub(super) fn write(&self, host: &Host, name: &str, content: &[u8], executable: bool) -> Result<(), ToolError> {
        self.put(host, name, content, executable)?;
        host.undo.wrote(&self.path, self.content.as_deref(), content);
        Ok(())
    }

    /// As [`Target::write`], but nothing that could be undone.
    pub(super) fn restore(&self, host: &Host, name: &str, content: &[u8]) -> Result<(), ToolError> {
        self.put(host, name, content, false)
    }

    /// Removes the file.
    pub(super) fn remove(&self, host: &Host, name: &str) -> Result<(), ToolError> {
        let result = fs::remove_file(&self.path);
        host.options.sinew.cache.invalidate(&self.path);
        result.map_err(|error| ToolError::Failed(format!("Cannot remove {name}: {error}")))
    }

    /// What there is to say of a file with several names, once it was written.
    pub(super) fn parted(&self) -> Option<String> {
        #[cfg(unix)]
        let names = self.facts.as_ref().map_or(1, std::os::unix::fs::MetadataExt::nlink);
        #[cfg(not(unix))]
        let names = 1;
        (names > 1).then(|| format!("[The file had {names} names (hard links): the others keep the old content.]"))
    }

    fn put(&self, host: &Host, name: &str, content: &[u8], executable: bool) -> Result<(), ToolError> {
        let result = self.replace(content, executable);
        // Folders may have been made even where the rest failed.
        host.options.sinew.cache.invalidate(&self.path);
        result.map_err(|error| ToolError::Failed(format!("Cannot write {name}: {error}")))?;
        host.seen.wrote(&self.path, content);
        Ok(())
    }

    /// Why no file can be made beside this one.
    fn no_part(&self, error: &std::io::Error) -> std::io::Error {
        let way_out = if self.facts.is_some() { "; bash can write the file itself, in place" } else { "" };
        std::io::Error::new(error.kind(), format!("its folder cannot be written: {}{way_out}", error.kind()))
    }

    fn replace(&self, content: &[u8], executable: bool) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        #[cfg(unix)]
        if self.facts.is_some() {
            // A rename would also replace a file that its mode protects.
            rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK)?;
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".sinew-").suffix(".tmp");
        #[cfg(unix)]
        let builder = {
            // Nobody who may not read the old content sees the new one for a moment.
            let mode = if self.facts.is_some() { 0o600 } else { 0o666 };
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
        };
        let mut part = builder.tempfile_in(folder).map_err(|error| self.no_part(&error))?;
        part.write_all(content)?;
        keep_facts(part.as_file(), self.facts.as_ref(), executable)?;
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        if self.facts.is_some() {
            keep_attributes(&self.path, part.as_file());
        }
        part.as_file().sync_all()?;
        part.persist(&self.path).map_err(|lost| lost.error)?;
        // The name is on the disk when the folder is.
        File::open(folder)?.sync_all()
    }
}

/// Takes over what stands beside the mode: access lists, labels, attributes of the user.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn keep_attributes(old: &Path, new: &File) {
    use rustix::fs::{XattrFlags, fsetxattr, getxattr, listxattr};
    const LARGEST: usize = 64 * 1024;
    let mut names = vec![0_u8; LARGEST];
    // A file system without attributes has none to keep.
    let Ok(length) = listxattr(old, names.as_mut_slice()) else { return };
    let mut value = vec![0_u8; LARGEST];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Ok(length) = getxattr(old, name, value.as_mut_slice()) {
            // What only root may set is the system's own, and it has set it again.
            let _ = fsetxattr(new, name, &value[..length], XattrFlags::empty());
        }
    }
}

#[cfg(unix)]
fn keep_facts(file: &File, old: Option<&Metadata>, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let now = file.metadata()?;
    if let Some(old) = old
        && (old.uid(), old.gid()) != (now.uid(), now.gid())
    {
        let owner = (rustix::fs::Uid::from_raw(old.uid()), rustix::fs::Gid::from_raw(old.gid()));
        // Only root may give a file away. Who may write it but not own it still gets the content written.
        let _ = rustix::fs::fchown(file, Some(owner.0), Some(owner.1));
    }
    let mut mode = old.map_or(now.mode(), Metadata::mode) & 0o7777;
    if executable {
        // Whoever may read it may run it.
        mode |= (mode & 0o444) >> 2;
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_facts(_: &File, _: Option<&Metadata>, _: bool) -> std::io::Result<()> {
    Ok(())
}

/// The file at the end of the links that `path` may be.
pub(super) fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        if !path.is_symlink() {
            return Ok(path);
        }
        let target = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Err(std::io::Error::new(ErrorKind::InvalidInput, "too many links"))
}

/// What the guard says about replacing a whole file.
pub(super) fn guard_write(host: &Host, target: &Target, name: &str) -> Result<Option<String>, ToolError> {
    let Some(content) = &target.content else { return Ok(None) };
    if host.options.settings.file_guard == FileGuard::Off {
        return Ok(None);
    }
    let standing = match host.seen.was_read(&target.path) {
        true => host.seen.standing(&target.path, content),
        // Lines that a search showed are not the file.
        false => Standing::Unseen,
    };
    let fault = match standing {
        Standing::Same => return Ok(None),
        Standing::ChangedElsewhere => {
            return Ok(Some(
                "[The file changed on disk since it was read, but not in the lines that were shown.]".into(),
            ));
        }
        Standing::Unseen => {
            format!("File exists and was not read in this session: {name}. Read it first, or use edit.")
        }
        Standing::Changed => changed(name),
    };
    match host.options.settings.file_guard {
        FileGuard::On => Err(ToolError::Failed(fault)),
        FileGuard::Warn | FileGuard::Off => Ok(Some(format!("[Warning: {fault}]"))),
    }
}

/// The text about a file that is not as it was seen.
pub(super) fn changed(name: &str) -> String {
    format!("File changed on disk since it was last read: {name}. Read it again.")
}
