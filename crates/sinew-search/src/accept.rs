//! Files that a caller accepts once they are open.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::file::{careful, path_of};

/// A function of a path and the file or folder that was opened by it.
type AcceptOpened = dyn Fn(&Path, &File) -> bool + Send + Sync;

/// Decides whether an open file, found by this path, is searched.
#[derive(Clone)]
pub struct Accept {
    file: Arc<AcceptOpened>,
    folder: Arc<AcceptOpened>,
}

impl Accept {
    /// Decides by `file`, which several threads call.
    pub fn new(file: impl Fn(&Path, &File) -> bool + Send + Sync + 'static) -> Accept {
        Accept { file: Arc::new(file), folder: Arc::new(|_, _| false) }
    }

    /// Lets `folder` decide about the folder that is searched, once it is open. Where it accepts that, only those files are
    /// asked about to which the system finds a link on the way; one question in place of one for each file.
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

/// A folder of which all was accepted, open; without one nothing was.
#[derive(Default)]
pub(crate) struct AcceptedRoot(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is opened from there"))] Option<File>,
);

impl AcceptedRoot {
    /// Opens a folder and asks about it, on systems that can go on from there without following links.
    pub(crate) fn open(path: &Path, accept: &Accept) -> AcceptedRoot {
        if cfg!(not(target_os = "linux")) {
            return AcceptedRoot::default();
        }
        AcceptedRoot(File::open(path).ok().filter(|folder| accept.accepts_folder(path, folder)))
    }

    /// Returns true where the folder was accepted.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_accepted(&self) -> bool {
        self.0.is_some()
    }

    /// Opens a file as [`open`] does where it lies below and no link leads to it. None says nothing about the file: it may be
    /// missing, too, or the system may know no such opening.
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
