//! The folder of a view in the program's own folder.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::Directory;
use sinew_lock::{FileLock, Mode};

use crate::options::ViewMode;
use crate::records::{Reader, Writer, damaged};

/// What a view is: written once, when it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) root: PathBuf,
    pub(crate) mode: ViewMode,
    /// In milliseconds since the epoch.
    pub(crate) time: u64,
    pub(crate) label: Option<String>,
    pub(crate) global_excludes: Option<PathBuf>,
    pub(crate) max_entries: usize,
    /// The program's own folder, by device and inode, which no view contains.
    pub(crate) skip: Vec<(u64, u64)>,
    pub(crate) missing: Vec<Vec<u8>>,
    pub(crate) notes: Vec<String>,
}

/// The paths of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) id: String,
    pub(crate) folder: PathBuf,
}

impl Layout {
    /// Returns the folder of the views in the program's own folder.
    pub(crate) fn views(home: &Path) -> PathBuf {
        home.join("isolated")
    }

    /// Checks that the folder of the views is not a link, for example one that a repository contains.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if it is.
    fn check_views(home: &Path) -> Result<()> {
        let views = Layout::views(home);
        if fs::symlink_metadata(&views).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Error::invalid(format!("view: {views:?} is a link; remove it, or use another home")));
        }
        Ok(())
    }

    /// Returns the paths of a view.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the id is not one of a view, or if the folder of the views is a link.
    pub(crate) fn of(home: &Path, id: &str) -> Result<Layout> {
        Layout::check_views(home)?;
        if !is_id(id) {
            return Err(Error::invalid(format!("view: {id:?} is not the id of a view; leftovers lists them")));
        }
        let views = Layout::views(home);
        let views = fs::canonicalize(&views).unwrap_or(views);
        Ok(Layout { id: id.to_string(), folder: views.join(id) })
    }

    /// Returns the views in a folder.
    ///
    /// # Errors
    /// Returns the system's error. A missing folder has no views.
    fn list(views: &Path) -> Result<Vec<Layout>> {
        let failed = |cause: &io::Error| Error::io(format!("view: failed to list {views:?}"), cause);
        let entries = match fs::read_dir(views) {
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            entries => entries.map_err(|cause| failed(&cause))?,
        };
        let mut layouts = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|cause| failed(&cause))?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let Some(id) = entry.file_name().to_str().filter(|id| is_directory && is_id(id)) {
                layouts.push(Layout { id: id.to_string(), folder: entry.path() });
            }
        }
        Ok(layouts)
    }

    /// Returns all views of a program's own folder.
    ///
    /// # Errors
    /// Returns the system's error, and `InvalidArgument` if the folder of the views is a link.
    pub(crate) fn all(home: &Path) -> Result<Vec<Layout>> {
        Layout::check_views(home)?;
        let views = Layout::views(home);
        Layout::list(&fs::canonicalize(&views).unwrap_or(views))
    }

    /// Returns the views in the same folder, including this one.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn siblings(&self) -> Result<Vec<Layout>> {
        Layout::list(self.folder.parent().unwrap_or(&self.folder))
    }

    /// Creates the folder of a new view and locks it.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn create(home: &Path) -> Result<(Layout, FileLock)> {
        let views = Layout::views(home);
        Layout::check_views(home)?;
        let failed = |cause: &io::Error| Error::io(format!("view: failed to create a folder in {views:?}"), cause);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&views).map_err(|cause| failed(&cause))?;
        let process = std::process::id();
        for count in 0_u32.. {
            let layout = Layout::of(home, &format!("{:x}-{process:x}-{count}", now_ms()))?;
            match fs::DirBuilder::new().mode(0o700).create(&layout.folder) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(cause) => return Err(failed(&cause)),
            }
            // A program that looks for leftovers at this moment removes the empty folder.
            if let Ok(Some(lock)) = layout.try_lock() {
                return Ok((layout, lock));
            }
        }
        Err(Error::new(ErrorCode::Internal, "view: no id is left"))
    }

    /// Locks the view; `None` if a program uses it.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn try_lock(&self) -> Result<Option<FileLock>> {
        FileLock::try_acquire(&self.folder.join("lock"), Mode::Exclusive)
    }

    /// Waits until no other hand-back to any directory runs.
    ///
    /// # Errors
    /// Returns the system's error, and the reason of the token if the call is cancelled.
    pub(crate) fn lock_apply(&self, cancel: &CancelToken) -> Result<FileLock> {
        let views = self.folder.parent().unwrap_or(&self.folder);
        FileLock::acquire(&views.with_extension("lock"), Mode::Exclusive, cancel)
    }

    /// The directory that programs see.
    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The contents of files as they were when the view was opened.
    pub(crate) fn contents(&self) -> PathBuf {
        self.folder.join("base")
    }

    /// The list of entries as they were when the view was opened. It exists if the view is complete.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.join("manifest")
    }

    /// The steps of a running hand-back.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// A journal that could not be read.
    pub(crate) fn damaged_journal(&self) -> PathBuf {
        self.folder.join("journal.damaged")
    }

    /// Texts with conflict markers.
    pub(crate) fn conflicts(&self) -> PathBuf {
        self.folder.join("conflicts")
    }

    /// Marks the view as listed. Returns true if it was not.
    pub(crate) fn mark_listed(&self) -> bool {
        fs::File::create_new(self.folder.join("listed")).is_ok()
    }

    fn description(&self) -> PathBuf {
        self.folder.join("view")
    }

    pub(crate) fn write_description(&self, description: &Description) -> Result<()> {
        let mut writer = Writer::default();
        writer.field(b"sinew view 1");
        writer.field(description.root.as_os_str().as_bytes());
        writer.field(description.mode.as_str().as_bytes());
        writer.number(description.time);
        for text in [
            description.label.as_ref().map(String::as_bytes),
            description.global_excludes.as_ref().map(|path| path.as_os_str().as_bytes()),
        ] {
            writer.number(u8::from(text.is_some()));
            writer.field(text.unwrap_or_default());
        }
        writer.number(description.max_entries);
        writer.number(description.skip.len());
        for (device, inode) in &description.skip {
            writer.number(device);
            writer.number(inode);
        }
        writer.number(description.missing.len());
        description.missing.iter().for_each(|path| writer.field(path));
        writer.number(description.notes.len());
        description.notes.iter().for_each(|note| writer.field(note.as_bytes()));
        writer.save(&self.description())
    }

    pub(crate) fn read_description(&self) -> Result<Description> {
        let path = self.description();
        let bytes = fs::read(&path).map_err(|cause| Error::io(format!("view: failed to read {path:?}"), &cause))?;
        let mut reader = Reader::new(&bytes);
        if reader.field()? != b"sinew view 1" {
            return Err(damaged());
        }
        let root = PathBuf::from(std::ffi::OsString::from_vec(reader.field()?.to_vec()));
        let mode = ViewMode::from_name(&reader.text()?).ok_or_else(damaged)?;
        let time = reader.number()?;
        let mut optional = || -> Result<Option<Vec<u8>>> {
            let is_present = reader.number::<u8>()? == 1;
            let field = reader.field()?.to_vec();
            Ok(is_present.then_some(field))
        };
        let (label, excludes) = (optional()?, optional()?);
        let max_entries = reader.number()?;
        let mut skip = Vec::new();
        for _ in 0..reader.number::<usize>()? {
            skip.push((reader.number()?, reader.number()?));
        }
        let mut missing = Vec::new();
        for _ in 0..reader.number::<usize>()? {
            missing.push(reader.field()?.to_vec());
        }
        let mut notes = Vec::new();
        for _ in 0..reader.number::<usize>()? {
            notes.push(reader.text()?);
        }
        Ok(Description {
            root,
            mode,
            time,
            label: label.map(|label| String::from_utf8_lossy(&label).into_owned()),
            global_excludes: excludes.map(|path| std::ffi::OsString::from_vec(path).into()),
            max_entries,
            skip,
            missing,
            notes,
        })
    }

    /// Removes the folder of the view with everything in it. The list of entries goes first, so that an interrupted
    /// removal leaves an incomplete view, which the next call of `leftovers` removes.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn remove(&self) -> Result<()> {
        let failed = |cause: &io::Error| Error::io(format!("view: failed to remove {:?}", self.folder), cause);
        match fs::remove_file(self.manifest()) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(&cause)),
            _ => {}
        }
        let views = self.folder.parent().unwrap_or(&self.folder);
        let removed = Directory::open(views).and_then(|views| views.remove_tree(self.id.as_ref()));
        removed.map_err(|errno| failed(&errno.into()))
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the time in milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
