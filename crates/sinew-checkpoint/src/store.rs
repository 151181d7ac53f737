//! The store: one folder per directory, outside of it, with a manifest per checkpoint and the contents of files.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_lock::{FileLock, Mode};

use crate::codec::Writer;
use crate::fault;
use crate::manifest::{self, Head};
use crate::pack::{Contents, create_private, digest, sync_directory};
use crate::row::Row;
use crate::state::{Delta, State};

/// The store of one directory.
#[derive(Debug)]
pub(crate) struct Store {
    /// The folder of the stores of all directories.
    pub(crate) base: PathBuf,
    /// The folder of this directory's store.
    pub(crate) folder: PathBuf,
    pub(crate) contents: Contents,
}

/// Returns the time in milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Store {
    /// Opens the store of `root` below `base`, and creates missing folders.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or read.
    pub(crate) fn open(base: &Path, root: &Path) -> io::Result<Store> {
        let name = hex(&digest(root.as_os_str().as_bytes())[..12]);
        let folder = base.join(name);
        let contents = Contents::new(folder.join("packs"), folder.join("temporary"));
        let store = Store { base: base.into(), folder, contents };
        store.create(root)?;
        Ok(store)
    }

    /// Creates the missing folders of the store.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn create(&self, root: &Path) -> io::Result<()> {
        for part in ["packs", "manifests", "temporary", "moved", "alive"] {
            DirBuilder::new().recursive(true).mode(0o700).create(self.folder.join(part))?;
        }
        // The lock contains no data, but all files in the user's folder are private.
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.folder.join("lock"))?;
        let label = self.folder.join("directory");
        if label.exists() { Ok(()) } else { self.write_file(&label, root.as_os_str().as_bytes(), true) }
    }

    /// Acquires the lock, which serializes checkpoints, restores and collections of all processes.
    ///
    /// # Errors
    /// Returns the errors of [`FileLock::acquire`].
    pub(crate) fn lock(&self, cancel: &CancelToken) -> Result<FileLock> {
        FileLock::acquire(&self.folder.join("lock"), Mode::Exclusive, cancel)
    }

    /// Acquires the lock if it is free.
    ///
    /// # Errors
    /// Returns the errors of [`FileLock::try_acquire`].
    pub(crate) fn try_lock(&self) -> Result<Option<FileLock>> {
        FileLock::try_acquire(&self.folder.join("lock"), Mode::Exclusive)
    }

    /// Removes the unfinished files of a killed process. The caller must have the lock.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn remove_temporary(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join("temporary"))? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    /// Returns the names of all checkpoints, oldest first.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.folder.join("manifests"))? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    /// Returns a new, unique name for a checkpoint, which sorts after all existing ones.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn new_name(&self) -> io::Result<String> {
        let last = self.names()?.pop().and_then(|name| name.split_once('-')?.0.parse::<u64>().ok()).unwrap_or(0);
        let mut writer = Writer::default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        writer.array(&now.to_le_bytes());
        writer.number(u64::from(std::process::id()));
        Ok(format!("{:010}-{}", last + 1, hex(&digest(&writer.bytes)[..6])))
    }

    fn manifest_path(&self, id: &str) -> Result<PathBuf> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(Error::invalid(format!("invalid checkpoint {id:?}")));
        }
        Ok(self.folder.join("manifests").join(id))
    }

    fn read_manifest(&self, id: &str) -> Result<Vec<u8>> {
        let path = self.manifest_path(id)?;
        fs::read(path).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => Error::new(
                ErrorCode::NotFound,
                format!("checkpoint {id} is not in the store; it was removed to keep the store within its limits"),
            ),
            _ => Error::io(format!("failed to read checkpoint {id}"), &cause),
        })
    }

    /// Reads the head of a checkpoint.
    ///
    /// # Errors
    /// Returns `NotFound`, `InvalidData`, or the system's error.
    pub(crate) fn head(&self, id: &str) -> Result<Head> {
        manifest::decode_head(&self.read_manifest(id)?).map_err(|error| error.within(format!("checkpoint {id}")))
    }

    /// Reads the head and the changes of a checkpoint.
    ///
    /// # Errors
    /// Returns the errors of [`Store::head`].
    pub(crate) fn manifest(&self, id: &str) -> Result<(Head, Delta)> {
        manifest::decode(&self.read_manifest(id)?).map_err(|error| error.within(format!("checkpoint {id}")))
    }

    /// Reads the state of a checkpoint; returns it with the number of rows that were read in addition to the full list.
    ///
    /// # Errors
    /// Returns the errors of [`Store::head`], for the checkpoint or one that it is based on.
    pub(crate) fn state(&self, id: &str) -> Result<(State, usize)> {
        let mut deltas = Vec::new();
        let mut next = Some(id.to_string());
        while let Some(id) = next {
            let (head, delta) = self.manifest(&id)?;
            deltas.push(delta);
            // A name sorts after its base, so that a damaged chain cannot be a cycle.
            next = head.base.filter(|base| *base < id);
        }
        // The newest change of a path is used.
        let mut rows = std::collections::HashMap::new();
        let full: Vec<Row> = deltas.pop().into_iter().flatten().filter_map(|(_, row)| row).collect();
        let chained = deltas.iter().map(Vec::len).sum();
        for delta in deltas.into_iter().rev() {
            rows.extend(delta);
        }
        let mut merged: Delta = rows.into_iter().collect();
        merged.sort_by(|one, two| crate::row::compare_paths(&one.0, &two.0));
        Ok((State::new(full).apply(&merged), chained))
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// Returns the system's error; nothing is added then.
    pub(crate) fn write(&self, head: &Head, delta: &Delta) -> io::Result<()> {
        let path = self.folder.join("manifests").join(&head.id);
        self.write_file(&path, &manifest::encode(head, delta), true)
    }

    /// Writes a temporary file and renames it into place. With `is_synced`, it survives a crash of the system.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn write_file(&self, path: &Path, bytes: &[u8], is_synced: bool) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let aside = self.folder.join("temporary").join(format!("{name}.{}", std::process::id()));
        let written = || {
            let mut file = create_private(&aside)?;
            file.write_all(bytes)?;
            fault::point();
            if is_synced {
                file.sync_data()?;
            }
            fs::rename(&aside, path)?;
            fault::point();
            if !is_synced {
                return Ok(());
            }
            sync_directory(path.parent().unwrap_or(&self.folder))
        };
        let done = written();
        if done.is_err() {
            // It is gone if the rename succeeded; otherwise the next open also removes it.
            let _ = fs::remove_file(&aside);
        }
        done
    }

    /// Returns the number of bytes of a checkpoint: its manifest, and the contents that it added.
    pub(crate) fn size_of(&self, id: &str) -> u64 {
        let size = |part: &str| fs::metadata(self.folder.join(part).join(id)).map_or(0, |metadata| metadata.len());
        size("manifests") + size("packs")
    }

    /// Removes a checkpoint.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn remove(&self, id: &str) -> Result<()> {
        let path = self.manifest_path(id)?;
        fs::remove_file(path).map_err(|cause| Error::io(format!("failed to remove checkpoint {id}"), &cause))
    }

    /// Returns the path to which the restore of a redo checkpoint moves the folder of a repository.
    pub(crate) fn repository_path(&self, redo: &str, path: &[u8]) -> PathBuf {
        self.folder.join("moved").join(format!("{redo}.{}", hex(&digest(path)[..12])))
    }

    /// Returns the path of a file that was too large to copy and was moved into the store by an undo.
    pub(crate) fn moved_path(&self, row: &Row) -> PathBuf {
        self.folder.join("moved").join(moved_name(row))
    }
}

/// Returns a unique name for a version of a file, which stays valid after a move.
pub(crate) fn moved_name(row: &Row) -> String {
    format!("{}-{}-{}", row.inode, row.size, row.mtime)
}
