//! The journal of a restore: what must be cleaned up if the restore does not finish. It is written before each change,
//! and read at the next start.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::codec::{Reader, Writer};
use crate::directory::{Directory, as_name, joined};
use crate::fault;
use crate::pack::{create_private, sync_directory};
use crate::row::{Kind, Row};
use crate::scan::TEMPORARY_PREFIX;
use crate::store::Store;

/// The permissions that give the owner full access to a directory.
pub(crate) const OWNER: u32 = 0o700;

/// A directory whose permissions are changed during a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenedDirectory {
    path: Vec<u8>,
    meanwhile: u32,
    afterwards: u32,
}

/// The journal of a restore.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// The name of the directory in the root in which files are created before they are moved into place.
    pub(crate) temporary: String,
    opened: Vec<OpenedDirectory>,
}

fn append(file: &mut File, record: Writer) -> io::Result<()> {
    let mut framed = Writer::default();
    framed.block(&record.sealed());
    file.write_all(&framed.bytes)
}

impl Journal {
    /// Starts the journal of a restore.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn begin(store: &Store, id: &str) -> io::Result<Journal> {
        let path = store.folder.join("journal");
        let temporary = format!("{TEMPORARY_PREFIX}{id}");
        let mut file = create_private(&path)?;
        let mut record = Writer::default();
        record.block(temporary.as_bytes());
        append(&mut file, record)?;
        file.sync_data()?;
        sync_directory(&store.folder)?;
        fault::point();
        Ok(Journal { path, file, temporary, opened: Vec::new() })
    }

    /// Makes a directory writable for its owner until the end of the restore, if it is not already.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn open_directory(&mut self, root: &Directory, path: &[u8]) -> io::Result<()> {
        if self.opened.iter().any(|opened| opened.path == path) {
            return Ok(());
        }
        let mode = root.open_below(path).and_then(|directory| directory.own_stat());
        let mode = match mode {
            Ok(stat) => permissions(&stat),
            // An unreadable directory cannot be opened, but its parent has its permissions.
            Err(_) if !path.is_empty() => {
                let (parent, name) = root.open_parent(path)?;
                parent.stat(name)?.map_or(OWNER, |stat| permissions(&stat))
            }
            Err(error) => return Err(error.into()),
        };
        if mode & OWNER == OWNER {
            return Ok(());
        }
        self.announce(path, mode | OWNER, mode)?;
        set_directory_mode(root, path, mode | OWNER)?;
        fault::point();
        Ok(())
    }

    /// Records that a directory has other permissions until the end of the restore.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn announce(&mut self, path: &[u8], meanwhile: u32, afterwards: u32) -> io::Result<()> {
        let mut record = Writer::default();
        record.block(path);
        record.number(meanwhile.into());
        record.number(afterwards.into());
        append(&mut self.file, record)?;
        self.opened.push(OpenedDirectory { path: path.to_vec(), meanwhile, afterwards });
        Ok(())
    }

    /// Changes the permissions that a directory receives at the end. Returns false if they can be set at once.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn set_final_mode(&mut self, root: &Directory, path: &[u8], mode: u32) -> io::Result<bool> {
        let Some(at) = self.opened.iter().position(|opened| opened.path == path) else {
            if path.is_empty() {
                // The root contains the temporary directory until the end.
                let meanwhile = permissions(&root.own_stat()?);
                self.announce(path, meanwhile, mode)?;
            }
            return Ok(path.is_empty());
        };
        let OpenedDirectory { path, meanwhile, .. } = self.opened.remove(at);
        self.announce(&path, meanwhile, mode)?;
        Ok(true)
    }

    /// Restores permissions, and removes the temporary directory and the journal.
    ///
    /// # Errors
    /// Returns the system's error; the next start tries again.
    pub(crate) fn finish(self, root: &Directory) -> io::Result<()> {
        // The temporary directory is removed first, because the root may become read-only.
        root.remove_tree(as_name(self.temporary.as_bytes()))?;
        fault::point();
        close_directories(root, &self.opened);
        fault::point();
        fs::remove_file(&self.path)
    }
}

fn permissions(stat: &rustix::fs::Stat) -> u32 {
    Row::of(b"", stat, 0).mode
}

/// Sets the permissions of a directory below the root, or of the root itself.
pub(crate) fn set_directory_mode(root: &Directory, path: &[u8], mode: u32) -> rustix::io::Result<()> {
    if path.is_empty() {
        return rustix::fs::fchmod(root, rustix::fs::Mode::from_raw_mode(mode as rustix::fs::RawMode));
    }
    let (parent, name) = root.open_parent(path)?;
    parent.set_mode(name, mode)
}

/// Sets the final permissions of directories, deepest first. A directory whose permissions changed meanwhile is
/// skipped.
fn close_directories(root: &Directory, opened: &[OpenedDirectory]) {
    let mut opened: Vec<&OpenedDirectory> = opened.iter().collect();
    opened.sort_by(|one, two| crate::row::compare_paths(&two.path, &one.path));
    for OpenedDirectory { path, meanwhile, afterwards } in opened {
        let stat = root.open_below(path).and_then(|directory| directory.own_stat());
        if stat.is_ok_and(|stat| permissions(&stat) == *meanwhile) {
            // This fails if the directory was moved or has another owner now; its permissions must not be changed then.
            // changed.
            let _ = set_directory_mode(root, path, *afterwards);
        }
    }
}

/// Cleans up after a killed restore. The caller must have the lock.
///
/// # Errors
/// Returns the system's error; the next start tries again.
pub(crate) fn recover(store: &Store, root: &Directory) -> io::Result<()> {
    let path = store.folder.join("journal");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cause),
    };
    let (temporary, opened) = read(&bytes);
    if let Some(name) = temporary.filter(|name| name.starts_with(TEMPORARY_PREFIX.as_bytes()) && !name.contains(&b'/'))
    {
        rescue(store, root, &name)?;
        root.remove_tree(as_name(&name))?;
    }
    close_directories(root, &opened);
    fs::remove_file(path)
}

/// Moves files into the store that were removed and of which there is no copy. The redo checkpoint of the restore,
/// whose id is part of the name, lists them.
fn rescue(store: &Store, root: &Directory, name: &[u8]) -> io::Result<()> {
    let id = String::from_utf8_lossy(&name[TEMPORARY_PREFIX.len()..]);
    let (Ok((state, _)), Ok(top)) = (store.state(&id), root.open_below(name)) else { return Ok(()) };
    let is_unkept = |row: &&Row| row.kind == Kind::File && !row.is_kept();
    let unkept: HashMap<(u64, u64), &Row> =
        state.rows().iter().filter(is_unkept).map(|row| ((row.device, row.inode), row)).collect();
    let mut folders = if unkept.is_empty() { Vec::new() } else { vec![Vec::new()] };
    while let Some(folder) = folders.pop() {
        let directory = top.open_below(&folder)?;
        for entry in directory.names()? {
            let Some(stat) = directory.stat(as_name(&entry))? else { continue };
            let found = Row::of(&entry, &stat, 0);
            if found.kind == Kind::Directory {
                folders.push(joined(&folder, &entry));
            } else if let Some(row) = unkept.get(&(found.device, found.inode)).filter(|row| row.is_same_version(&found))
            {
                rustix::fs::renameat(&directory, as_name(&entry), rustix::fs::CWD, store.moved_path(row))?;
            }
        }
    }
    Ok(())
}

/// Reads the records of a journal up to the first incomplete one.
fn read(bytes: &[u8]) -> (Option<Vec<u8>>, Vec<OpenedDirectory>) {
    let mut frames = Reader::plain(bytes);
    let first = frames.block().and_then(|frame| Ok(Reader::sealed(frame)?.block()?.to_vec()));
    let mut opened: Vec<OpenedDirectory> = Vec::new();
    let mut next = || -> sinew_base::Result<OpenedDirectory> {
        let mut record = Reader::sealed(frames.block()?)?;
        let path = record.block()?.to_vec();
        Ok(OpenedDirectory { path, meanwhile: record.small()?, afterwards: record.small()? })
    };
    while let Ok(record) = next() {
        opened.retain(|known| known.path != record.path);
        opened.push(record);
    }
    (first.ok(), opened)
}
