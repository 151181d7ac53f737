//! Uses git's objects as old contents, so that files in git need not be copied. The objects that a checkpoint needs are
//! hard-linked into the store, because the work that is undone may have deleted them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::directory::{Directory, as_name};
use crate::git_index::blob_id;
use crate::git_pack::{PackIndex, loose_size, open_file, packed_size, read_file, read_loose, read_packed};
use crate::pack::sync_directory;
use crate::row::{GitId, Kind};
use crate::scan::shown;
use crate::state::State;
use crate::store::hex;

/// The maximum number of object folders that are read: those of the repository, of nested ones, and their alternates.
const MAX_FOLDERS: usize = 32;

/// The maximum size of a file of settings, in bytes.
const MAX_SETTINGS: u64 = 16 << 20;

/// The objects in the store: packs, and files named by their ids.
#[derive(Debug)]
pub(crate) struct GitObjects {
    folder: PathBuf,
    packs: Mutex<HashMap<String, Option<PackIndex>>>,
}

impl GitObjects {
    /// Creates the objects of a store. The folder may be missing.
    pub(crate) fn new(folder: PathBuf) -> GitObjects {
        GitObjects { folder, packs: Mutex::default() }
    }

    /// Reads the indexes that were added since the last call, and drops the removed ones.
    fn refresh(&self, packs: &mut HashMap<String, Option<PackIndex>>) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names: Vec<String> =
            entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".idx")?.to_string())).collect();
        packs.retain(|name, _| names.contains(name));
        for name in names {
            let open = || PackIndex::open(&self.folder.join(format!("{name}.idx")));
            packs.entry(name.clone()).or_insert_with(open);
        }
    }

    /// Returns true if the store has the object.
    pub(crate) fn has(&self, id: &GitId) -> bool {
        if self.folder.join(hex(id)).exists() {
            return true;
        }
        let mut packs = self.packs.lock();
        self.refresh(&mut packs);
        packs.values().flatten().any(|index| index.find(id).is_some())
    }

    /// Returns the content of a blob; `None` if the store does not have it or it is damaged.
    pub(crate) fn read(&self, id: &GitId) -> Option<Vec<u8>> {
        let is_right = |content: &Vec<u8>| blob_id(content) == *id;
        if let Some(content) = read_loose(&self.folder.join(hex(id))).filter(is_right) {
            return Some(content);
        }
        let mut packs = self.packs.lock();
        self.refresh(&mut packs);
        let mut found = packs
            .iter()
            .filter_map(|(name, index)| read_packed(&self.folder.join(format!("{name}.pack")), index.as_ref()?, id));
        found.find(is_right)
    }

    /// Finds the objects of the repositories in a directory.
    pub(crate) fn source(&self, root: &Path, state: &State) -> GitSource {
        let mut folders: Vec<PathBuf> = Vec::new();
        for row in state.rows().iter().filter(|row| row.kind == Kind::Repository) {
            add_folder(&root.join(as_name(&row.path)), &mut folders);
        }
        let mut packs = Vec::new();
        for folder in &folders {
            let paths = Directory::paths_in(&folder.join("pack")).into_iter();
            for path in paths.filter(|path| path.extension().is_some_and(|end| end == "idx")) {
                packs.extend(PackIndex::open(&path).map(|index| SourcePack { path, index, file: None, is_kept: None }));
            }
        }
        GitSource { target: self.folder.clone(), folders, packs, is_changed: false }
    }

    /// Removes the objects that no checkpoint needs.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn sweep(&self, needed: &std::collections::HashSet<GitId>) -> io::Result<()> {
        let mut packs = self.packs.lock();
        self.refresh(&mut packs);
        for (name, index) in packs.iter() {
            let is_needed = index.as_ref().is_some_and(|index| needed.iter().any(|id| index.find(id).is_some()));
            if !is_needed {
                fs::remove_file(self.folder.join(format!("{name}.idx")))?;
            }
        }
        let kept: std::collections::HashSet<String> = needed.iter().map(|id| hex(id)).collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let has_index = |name: &str| self.folder.join(format!("{name}.idx")).exists();
            let stays = match name.split_once('.') {
                None => kept.contains(&name),
                Some((name, _)) => has_index(name),
            };
            if !stays {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Adds the object folder of a repository, and its alternates.
fn add_folder(data: &Path, folders: &mut Vec<PathBuf>) {
    let read = |path: &Path| read_file(path, MAX_SETTINGS).map(|bytes| shown(bytes.trim_ascii()));
    // A submodule or a linked work tree has a file that points to the data.
    let data = match read(data).as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
        Some(target) => data.parent().unwrap_or(data).join(target.trim()),
        None => data.to_path_buf(),
    };
    let data = read(&data.join("commondir")).map_or(data.clone(), |common| data.join(common));
    // Repositories with SHA-256 ids are not supported.
    let config = read(&data.join("config")).unwrap_or_default().to_lowercase();
    if config.contains("objectformat") && config.contains("sha256") {
        return;
    }
    let mut next = vec![data.join("objects")];
    while let Some(folder) = next.pop() {
        let Ok(folder) = fs::canonicalize(folder) else { continue };
        if folders.len() >= MAX_FOLDERS || folders.contains(&folder) {
            continue;
        }
        let alternates = read(&folder.join("info/alternates")).unwrap_or_default();
        next.extend(alternates.lines().filter(|line| !line.starts_with('#')).map(|line| folder.join(line)));
        folders.push(folder);
    }
}

#[derive(Debug)]
struct SourcePack {
    path: PathBuf,
    index: PackIndex,
    /// The pack, once the size of an object was read.
    file: Option<fs::File>,
    /// Whether the store has a link to it; `None` before the first attempt.
    is_kept: Option<bool>,
}

/// The objects of the repositories in a directory, which are linked into the store when they are needed.
#[derive(Debug)]
pub(crate) struct GitSource {
    target: PathBuf,
    folders: Vec<PathBuf>,
    packs: Vec<SourcePack>,
    is_changed: bool,
}

impl GitSource {
    /// Links an object into the store. Returns false if git does not have it, or if its file cannot be linked into the
    /// store, for example because it is on another file system.
    pub(crate) fn keep(&mut self, id: &GitId) -> bool {
        for pack in self.packs.iter_mut().filter(|pack| pack.is_kept != Some(false)) {
            if pack.index.find(id).is_none() {
                continue;
            }
            if pack.is_kept.is_none() {
                pack.is_kept = Some(link_pack(&pack.path, &self.target).is_ok());
                self.is_changed = true;
            }
            if pack.is_kept == Some(true) {
                return true;
            }
        }
        let name = hex(id);
        let target = self.target.join(&name);
        for folder in &self.folders {
            let path = folder.join(&name[..2]).join(&name[2..]);
            // A damaged file cannot be used as old content.
            if path.is_file() && link(&path, &target).is_ok() {
                self.is_changed = true;
                return read_loose(&target).is_some_and(|content| blob_id(&content) == *id);
            }
        }
        false
    }

    /// Links an object into the store if it has this size. An object of another size is not the content of the file:
    /// git converted it.
    pub(crate) fn keep_sized(&mut self, id: &GitId, size: u64) -> bool {
        self.size_of(id) == Some(size) && self.keep(id)
    }

    fn size_of(&mut self, id: &GitId) -> Option<u64> {
        for pack in self.packs.iter_mut().filter(|pack| pack.index.find(id).is_some()) {
            if pack.file.is_none() {
                pack.file = open_file(&pack.path.with_extension("pack"));
            }
            if let Some(size) = pack.file.as_ref().and_then(|file| packed_size(file, &pack.index, id)) {
                return Some(size);
            }
        }
        let name = hex(id);
        self.folders.iter().find_map(|folder| loose_size(&folder.join(&name[..2]).join(&name[2..])))
    }

    /// Syncs the links to disk.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn finish(&self) -> io::Result<()> {
        if self.is_changed { sync_directory(&self.target) } else { Ok(()) }
    }
}

/// Reads the blobs of a git repository with SHA-1 ids, without running git.
#[derive(Debug)]
pub struct BlobReader {
    folders: Vec<PathBuf>,
    packs: Vec<(PathBuf, PackIndex)>,
}

impl BlobReader {
    /// Reads the indexes of the packs of a repository and its alternates. `data` is its `.git`, a directory or a file
    /// that points to one. A repository that cannot be read has no blobs.
    #[must_use]
    pub fn open(data: &Path) -> BlobReader {
        let mut folders = Vec::new();
        add_folder(data, &mut folders);
        let mut packs = Vec::new();
        for folder in &folders {
            let paths = Directory::paths_in(&folder.join("pack")).into_iter();
            let indexes = paths.filter(|path| path.extension().is_some_and(|end| end == "idx"));
            packs.extend(indexes.filter_map(|path| Some((path.with_extension("pack"), PackIndex::open(&path)?))));
        }
        BlobReader { folders, packs }
    }

    /// Returns true if the repository has the object.
    #[must_use]
    pub fn contains(&self, id: &GitId) -> bool {
        let name = hex(id);
        self.packs.iter().any(|(_, index)| index.find(id).is_some())
            || self.folders.iter().any(|folder| folder.join(&name[..2]).join(&name[2..]).is_file())
    }

    /// Returns the content of a blob; `None` if the repository does not have it or it is damaged.
    #[must_use]
    pub fn read(&self, id: &GitId) -> Option<Vec<u8>> {
        let name = hex(id);
        let loose = self.folders.iter().filter_map(|folder| read_loose(&folder.join(&name[..2]).join(&name[2..])));
        let packed = self.packs.iter().filter_map(|(pack, index)| read_packed(pack, index, id));
        loose.chain(packed).find(|content| blob_id(content) == *id)
    }
}

/// Links a pack and its index. The index is linked last, because lookups start with it.
fn link_pack(index: &Path, target: &Path) -> io::Result<()> {
    for path in [index.with_extension("pack"), index.to_path_buf()] {
        link(&path, &target.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn link(path: &Path, target: &Path) -> io::Result<()> {
    if let Some(folder) = target.parent().filter(|folder| !folder.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match fs::hard_link(path, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}
