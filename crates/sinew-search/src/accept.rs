//! A filter for files that the caller checks after they are opened.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::file::{careful, path_of};

/// A function of a path and the file or directory that was opened at it.
type AcceptOpened = dyn Fn(&Path, &File) -> bool + Send + Sync;

/// Decides whether an opened file is searched.
#[derive(Clone)]
pub struct Accept {
    file: Arc<AcceptOpened>,
    folder: Arc<AcceptOpened>,
}

impl Accept {
    /// Creates a filter that calls `file` for each opened file, from several threads.
    pub fn new(file: impl Fn(&Path, &File) -> bool + Send + Sync + 'static) -> Accept {
        Accept { file: Arc::new(file), folder: Arc::new(|_, _| false) }
    }

    /// Adds a check of the searched directory after it is opened. If `folder` accepts it, only files with a symbolic
    /// link in their path are checked individually.
    #[must_use]
    pub fn or_whole(mut self, folder: impl Fn(&Path, &File) -> bool + Send + Sync + 'static) -> Accept {
        self.folder = Arc::new(folder);
        self
    }

    pub(crate) fn accepts_file(&self, path: &Path, file: &File) -> bool {
        (self.file)(path, file)
    }

    fn accepts_folder(&self, path: &Path, folder: &File) -> bool {
        (self.folder)(path, folder)
    }
}

impl std::fmt::Debug for Accept {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Accept")
    }
}

/// The opened directory whose content was accepted as a whole; `None` if it was not.
#[derive(Default)]
pub(crate) struct AcceptedRoot(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is opened from there"))] Option<File>,
);

impl AcceptedRoot {
    /// Opens a directory and checks it, on systems that can open files below it without following links.
    pub(crate) fn open(path: &Path, accept: &Accept) -> AcceptedRoot {
        if cfg!(not(target_os = "linux")) {
            return AcceptedRoot::default();
        }
        AcceptedRoot(File::open(path).ok().filter(|folder| accept.accepts_folder(path, folder)))
    }

    /// Returns true if the directory was accepted.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_accepted(&self) -> bool {
        self.0.is_some()
    }

    /// Opens a file below the directory as [`open`] does if no link is on the path. `None` does not mean that the file
    /// is missing: the system may not support this way of opening.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_file(&self, path: &[u8]) -> Option<File> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let folder = self.0.as_ref()?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | careful();
        let below = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let open = || openat2(folder, path_of(path).as_ref(), flags, Mode::empty(), below);
        rustix::io::retry_on_intr(open).ok().map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open_file(&self, _: &[u8]) -> Option<File> {
        None
    }
}
