//! Writes files for all tools.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::Write;
use std::path::{Path, PathBuf};

use sinew::base::read_limited;
use sinew_session::files::size_text;

use super::settings::FileGuard;
use super::write_target::WriteTarget;
use super::{Access, Host, editor};
use crate::read_tracker::FileState;
use crate::tool::ToolError;

/// Larger files are not replaced or edited, because the old content has to be compared.
const LARGEST: u64 = 256 << 20;

/// The state of a path before it is written.
pub(super) struct Target {
    /// The file itself, with links resolved.
    pub(super) path: PathBuf,
    /// The current content; `None` if the file does not exist.
    pub(super) content: Option<Vec<u8>>,
    /// The file that was read, and its metadata; `None` if it does not exist.
    old: Option<OldFile>,
    /// The location of the file, independent of later changes of its path.
    place: RefCell<WriteTarget>,
}

/// A file that will be replaced.
struct OldFile {
    /// Windows cannot replace an open file.
    #[cfg(unix)]
    file: File,
    facts: Metadata,
}

/// Reads the state of the file that `path` names; `name` is its name for the model. Checks the real path before
/// anything is read.
///
/// # Errors
/// Returns an error if the file must not be used, is not a regular file, is too large, or cannot be read.
pub(super) fn look(path: &Path, name: &str, access: &Access) -> Result<Target, ToolError> {
    let failed = |error: std::io::Error| ToolError::Failed(format!("Cannot write {name}: {error}"));
    let place = WriteTarget::open(path).map_err(failed)?;
    access.check(place.path(), None).map_err(ToolError::Failed)?;
    let (path, old) = (place.path().to_path_buf(), place.read().map_err(failed)?);
    let place = RefCell::new(place);
    let Some((mut file, facts)) = old else { return Ok(Target { path, content: None, old: None, place }) };
    // A rule may forbid one of the other hard links of the file.
    access.check(&path, Some(&facts)).map_err(ToolError::Failed)?;
    let too_large = |bytes: u64| {
        let size = size_text(bytes);
        ToolError::Failed(format!("Cannot write {name}: it has {size}. Use bash for files above 256 MB."))
    };
    if facts.len() > LARGEST {
        return Err(too_large(facts.len()));
    }
    // It may have grown since.
    let content = read_limited(&mut file, LARGEST).map_err(failed)?.ok_or_else(|| too_large(LARGEST + 1))?;
    let old = OldFile {
        #[cfg(unix)]
        file,
        facts,
    };
    Ok(Target { path, content: Some(content), old: Some(old), place })
}

impl Target {
    /// Replaces the content by the editor's unsaved text, if there is one.
    #[must_use]
    pub(super) fn with_unsaved(mut self, host: &Host) -> Target {
        if let Some(disk) = &self.content
            && let Some(unsaved) = editor::unsaved(host.editor(), &self.path, disk)
        {
            self.content = Some(unsaved);
        }
        self
    }

    /// Replaces the content atomically: readers see the old or the new content, even after a crash. Missing directories
    /// are created; mode and owner are kept. Updates the scan cache and the read tracker.
    ///
    /// # Errors
    /// Returns an error if a step failed; the old content is then unchanged.
    pub(super) fn write(&self, host: &Host, name: &str, content: &[u8], executable: bool) -> Result<(), ToolError> {
        self.put(host, name, content, executable)?;
        host.undo.wrote(&self.path, self.content.as_deref(), content);
        if let Some(editor) = host.editor() {
            editor.changed(&self.path, self.content.as_deref(), content);
        }
        Ok(())
    }

    /// Writes like [`Target::write`], but records no undo step.
    pub(super) fn restore(&self, host: &Host, name: &str, content: &[u8]) -> Result<(), ToolError> {
        self.put(host, name, content, false)
    }

    /// Removes the file.
    pub(super) fn remove(&self, host: &Host, name: &str) -> Result<(), ToolError> {
        let result = self.place.borrow().remove();
        host.options.searches.sinew().cache.invalidate(&self.path);
        result.map_err(|error| ToolError::Failed(format!("Cannot remove {name}: {error}")))
    }

    /// Returns a note if the file had several hard links, after it was written.
    pub(super) fn parted(&self) -> Option<String> {
        #[cfg(unix)]
        let names = self.old.as_ref().map_or(1, |old| std::os::unix::fs::MetadataExt::nlink(&old.facts));
        #[cfg(not(unix))]
        let names = 1;
        (names > 1).then(|| format!("[The file had {names} names (hard links): the other names keep the old content.]"))
    }

    fn put(&self, host: &Host, name: &str, content: &[u8], executable: bool) -> Result<(), ToolError> {
        // A change of mode has to happen on disk.
        let result = match !executable && editor::takes(host.editor(), &self.path, content) {
            true => Ok(()),
            false => self.replace(content, executable),
        };
        // Directories may have been created even if the rest failed.
        host.options.searches.sinew().cache.invalidate(&self.path);
        result.map_err(|error| ToolError::Failed(format!("Cannot write {name}: {error}")))?;
        host.seen.wrote(&self.path, content);
        Ok(())
    }

    /// Returns the reason why no file can be created next to this one.
    fn no_part(&self, error: &std::io::Error) -> std::io::Error {
        let way_out = if self.old.is_some() { "; bash can write the file itself, in place" } else { "" };
        std::io::Error::new(error.kind(), format!("its folder cannot be written: {}{way_out}", error.kind()))
    }

    fn replace(&self, content: &[u8], executable: bool) -> std::io::Result<()> {
        let mut place = self.place.borrow_mut();
        place.make_folders()?;
        #[cfg(unix)]
        if self.old.is_some() {
            // A rename would also replace a file that its mode protects.
            place.check_writable()?;
        }
        // A user who may not read the old content must not be able to read the new content at any time.
        let mut part = place.create_beside(self.old.is_some()).map_err(|error| self.no_part(&error))?;
        part.file.write_all(content)?;
        keep_facts(&part.file, self.old.as_ref().map(|old| &old.facts), executable)?;
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        if let Some(old) = &self.old {
            keep_attributes(&old.file, &part.file);
        }
        part.file.sync_all()?;
        part.put()
    }
}

/// Copies the metadata other than the mode: access control lists, labels and user attributes.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn keep_attributes(old: &File, new: &File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    const LARGEST: usize = 64 * 1024;
    let mut names = vec![0_u8; LARGEST];
    // The file system may not support attributes.
    let Ok(length) = flistxattr(old, names.as_mut_slice()) else { return };
    let mut value = vec![0_u8; LARGEST];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Ok(length) = fgetxattr(old, name, value.as_mut_slice()) {
            // Attributes that only root may set belong to the system, which sets them again.
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
        // Only root may change the owner. A user who may write a file without owning it still gets the content written.
        let _ = rustix::fs::fchown(file, Some(owner.0), Some(owner.1));
    }
    let mut mode = old.map_or(now.mode(), Metadata::mode) & 0o7777;
    if executable {
        // Execute permission follows read permission.
        mode |= (mode & 0o444) >> 2;
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_facts(_: &File, _: Option<&Metadata>, _: bool) -> std::io::Result<()> {
    Ok(())
}

/// Returns the guard's objection to replacing a whole file; `None` if there is none.
pub(super) fn guard_write(host: &Host, target: &Target, name: &str) -> Result<Option<String>, ToolError> {
    let Some(content) = &target.content else { return Ok(None) };
    if host.options.settings.file_guard == FileGuard::Off {
        return Ok(None);
    }
    let standing = match host.seen.was_read(&target.path) {
        true => host.seen.standing(&target.path, content),
        // Lines shown by a search are not the whole file.
        false => FileState::Unseen,
    };
    let fault = match standing {
        FileState::Same => return Ok(None),
        FileState::ChangedElsewhere => {
            return Ok(Some(
                "[The file changed on disk since it was read, but not in the lines that were shown.]".into(),
            ));
        }
        FileState::Unseen => {
            format!("File exists and was not read in this session: {name}. Read it first, or use edit.")
        }
        FileState::Changed => changed(name),
    };
    match host.options.settings.file_guard {
        FileGuard::On => Err(ToolError::Failed(fault)),
        FileGuard::Warn | FileGuard::Off => Ok(Some(format!("[Warning: {fault}]"))),
    }
}

/// Returns the message about a file that changed since it was read.
pub(super) fn changed(name: &str) -> String {
    format!("File changed on disk since it was last read: {name}. Read it again.")
}
