//! An index on disk: a directory with a manifest and the segments that it lists.
//!
//! Files are written under a temporary name, flushed and renamed: first the segments, then the manifest that lists
//! them. Then unlisted files are deleted. A process that ends at any instruction therefore leaves either the old index
//! or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, OFlags, flock};
use sinew_walk::Stamp;

use crate::page::{PageReader, PageWriter, ReadAt, damaged};
use crate::part::Part;
use crate::segment::{Segment, SegmentId};
use crate::storage::Storage;
use crate::varint::Bytes;
use sinew_watch::is_local;

/// The lock of the users of an index. Its modification time is that of the last use.
pub(crate) const USE_LOCK: &str = "use.lock";
/// The lock of the writer.
const WRITE_LOCK: &str = "write.lock";
/// The first bytes of every manifest.
const MAGIC: [u8; 8] = *b"sinewman";
/// The version of the layout of manifests, segments and directories; each version has its own directory in the cache.
const FORMAT: u32 = 1;
/// The file number in the page checksums of a manifest.
const MANIFEST: u32 = u32::MAX;
/// The maximum size of a manifest, in bytes.
const MAX_MANIFEST: usize = 64 << 10;

/// The open directory of an index.
pub(crate) struct Store {
    folder: PathBuf,
    /// Random bytes, part of every segment and of the key of all stamps.
    pub(crate) id: [u8; 16],
    root: RootId,
    /// A shared lock while the index is in use: deleting the index needs an exclusive one.
    _use_lock: FileLock,
    /// The exclusive lock of the process that writes.
    write_lock: Option<FileLock>,
    /// The segments listed in the manifest.
    published: Mutex<Option<Vec<u32>>>,
}

/// A file that is locked until it is dropped.
struct FileLock(File);

impl FileLock {
    fn take(file: File, how: FlockOperation) -> io::Result<FileLock> {
        flock(&file, how)?;
        Ok(FileLock(file))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A child process forked in the meantime keeps the file open until its exec, and would keep the lock.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// The root that an index belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootId {
    path: Vec<u8>,
    device: u64,
    inode: u64,
}

impl RootId {
    /// Reads the directory at a path without links.
    pub(crate) fn of_path(path: &Path) -> io::Result<RootId> {
        let found = fs::symlink_metadata(path)?;
        Ok(RootId { path: path.as_os_str().as_bytes().to_vec(), device: found.dev(), inode: found.ino() })
    }

    pub(crate) fn new(path: &Path, stamp: &Stamp) -> RootId {
        RootId { path: path.as_os_str().as_bytes().to_vec(), device: stamp.device, inode: stamp.inode }
    }
}

/// Returns the directory of all indexes of this format.
pub(crate) fn folder_of_all(cache: &Path) -> PathBuf {
    cache.join("index").join(FORMAT.to_string())
}

/// Returns the directory of the index of a root.
pub(crate) fn folder_of(cache: &Path, root: &Path) -> PathBuf {
    use siphasher::sip128::{Hasher128, SipHasher};
    use std::hash::Hasher;
    let mut hasher = SipHasher::new();
    hasher.write(root.as_os_str().as_bytes());
    let name = root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let name: String = name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter)).collect();
    let name = &name[..name.len().min(64)];
    folder_of_all(cache).join(format!("{name}-{:032x}", hasher.finish128().as_u128()))
}

impl Store {
    /// Opens the directory, creates it if it is missing, and returns the segments that its manifest lists. A manifest
    /// that is damaged, missing or of another root means an empty index with a new id.
    ///
    /// # Errors
    /// Returns an error if the directory belongs to another user, if others may write to it, if it is being deleted, or
    /// if the system cannot open it.
    pub(crate) fn open(cache: &Path, root: RootId) -> io::Result<(Store, Vec<Part>)> {
        use std::ffi::OsStr;
        let folder = folder_of(cache, Path::new(OsStr::from_bytes(&root.path)));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        for part in folder.ancestors().take(3) {
            check_owner(part)?;
        }
        if !is_local(File::open(&folder)?.as_fd()) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{folder:?} is not on a local disk")));
        }
        let use_lock = open_private(&folder.join(USE_LOCK), true)?;
        let use_lock = FileLock::take(use_lock, FlockOperation::NonBlockingLockShared)?;
        // Eviction uses this as the time of the last use.
        use_lock.0.set_modified(SystemTime::now())?;
        let write_lock = open_private(&folder.join(WRITE_LOCK), true)?;
        let write_lock = FileLock::take(write_lock, FlockOperation::NonBlockingLockExclusive).ok();
        let mut store =
            Store { folder, id: random_id(), root, _use_lock: use_lock, write_lock, published: Mutex::default() };
        let mut parts = Vec::new();
        if let Ok(Manifest { root, id, numbers }) = read_manifest(&store.folder)
            && root == store.root
        {
            store.id = id;
            *store.published.get_mut() = Some(numbers.clone());
            // A damaged segment is dropped, and its files are read again.
            parts.extend(numbers.into_iter().filter_map(|number| store.open_segment(number).ok()));
        }
        Ok((store, parts))
    }

    /// Returns true if another process has published since, or has ended, so that this one may write.
    pub(crate) fn is_behind(&self) -> bool {
        let lock = open_private(&self.folder.join(WRITE_LOCK), true);
        let is_free = || lock.is_ok_and(|lock| FileLock::take(lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        let is_newer = || match (read_manifest(&self.folder), &*self.published.lock()) {
            (Ok(found), Some(known)) => found.id != self.id || found.numbers != *known,
            (found, None) => found.is_ok(),
            (Err(_), Some(_)) => false,
        };
        !self.is_writer() && (is_newer() || is_free())
    }

    /// Returns true if this process may write.
    pub(crate) fn is_writer(&self) -> bool {
        self.write_lock.is_some()
    }

    /// Writes a segment that no manifest lists yet, and returns it as read from disk.
    pub(crate) fn write_segment(&self, number: u32, bytes: &[u8]) -> io::Result<Segment<Storage>> {
        self.write(&segment_name(number), bytes)?;
        self.read_segment(number).map(|(segment, _)| segment)
    }

    /// Writes the list of the segments of the index, and deletes all others.
    pub(crate) fn publish(&self, numbers: &[u32]) -> io::Result<()> {
        let mut published = self.published.lock();
        if published.as_deref() == Some(numbers) {
            return Ok(());
        }
        self.check_lock()?;
        let manifest = Manifest { root: self.root.clone(), id: self.id, numbers: numbers.to_vec() };
        self.write("manifest", &manifest.to_pages()?)?;
        let kept: Vec<String> = numbers.iter().map(|number| segment_name(*number)).collect();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("new-") || (name.starts_with("seg-") && !kept.contains(&name.to_string())) {
                fs::remove_file(self.folder.join(&*name))?;
            }
        }
        *published = Some(numbers.to_vec());
        Ok(())
    }

    /// Fails if the directory was deleted since it was opened, and perhaps recreated by another process, which is then
    /// the writer.
    fn check_lock(&self) -> io::Result<()> {
        let ours = self.write_lock.as_ref().ok_or(io::ErrorKind::PermissionDenied)?.0.metadata()?;
        let there = fs::symlink_metadata(self.folder.join(WRITE_LOCK))?;
        let same = (ours.dev(), ours.ino()) == (there.dev(), there.ino());
        if same { Ok(()) } else { Err(io::Error::new(io::ErrorKind::NotFound, "the index was deleted and recreated")) }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.check_lock()?;
        let new = self.folder.join(format!("new-{name}"));
        // Left behind by a killed process.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_private(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, self.folder.join(name))?;
        File::open(&self.folder)?.sync_all()
    }

    fn read_segment(&self, number: u32) -> io::Result<(Segment<Storage>, u64)> {
        let file = open_private(&self.folder.join(segment_name(number)), false)?;
        let length = file.metadata()?.len();
        Ok((Segment::open(Storage::Disk(file), SegmentId { index: self.id, number })?, length))
    }

    fn open_segment(&self, number: u32) -> io::Result<Part> {
        let (segment, length) = self.read_segment(number)?;
        // Changed files are looked up by path.
        if !segment.files().are_sorted() {
            return Err(damaged("the order of the files"));
        }
        Ok(Part::new(segment, length, true))
    }
}

/// The content of a manifest.
#[derive(Debug, PartialEq)]
struct Manifest {
    root: RootId,
    id: [u8; 16],
    numbers: Vec<u32>,
}

impl Manifest {
    fn to_pages(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        content.extend(MAGIC);
        content.extend(FORMAT.to_le_bytes());
        content.extend(self.id);
        content.extend(self.root.device.to_le_bytes());
        content.extend(self.root.inode.to_le_bytes());
        crate::varint::push(&mut content, self.root.path.len() as u64);
        content.extend(&self.root.path);
        crate::varint::push(&mut content, self.numbers.len() as u64);
        self.numbers.iter().for_each(|number| content.extend(number.to_le_bytes()));
        let mut pages = PageWriter::new(Vec::new(), MANIFEST);
        pages.write(&(content.len() as u32).to_le_bytes())?;
        pages.write(&content)?;
        pages.finish()
    }
}

/// Returns the root of the index in a directory.
pub(crate) fn root_of(folder: &Path) -> io::Result<PathBuf> {
    use std::ffi::OsStr;
    read_manifest(folder).map(|manifest| PathBuf::from(OsStr::from_bytes(&manifest.root.path)))
}

fn read_manifest(folder: &Path) -> io::Result<Manifest> {
    parse_manifest(open_private(&folder.join("manifest"), false)?)
}

fn parse_manifest(from: impl ReadAt) -> io::Result<Manifest> {
    let pages = PageReader::new(from, MANIFEST);
    let length = pages.read(0, 4)?;
    let length = u32::from_le_bytes(Bytes::new(&length).array()?) as usize;
    if length > MAX_MANIFEST {
        return Err(damaged("the length of the manifest"));
    }
    let content = pages.read(4, length)?;
    let mut bytes = Bytes::new(&content);
    if bytes.array()? != MAGIC || u32::from_le_bytes(bytes.array()?) != FORMAT {
        return Err(damaged("the manifest's format"));
    }
    let id = bytes.array()?;
    let (device, inode) = (u64::from_le_bytes(bytes.array()?), u64::from_le_bytes(bytes.array()?));
    let path = bytes.at_most(MAX_MANIFEST as u64)? as usize;
    let path = bytes.take(path)?.to_vec();
    let count = bytes.at_most(MAX_MANIFEST as u64)?;
    let numbers = (0..count).map(|_| bytes.array().map(u32::from_le_bytes)).collect::<io::Result<_>>()?;
    Ok(Manifest { root: RootId { path, device, inode }, id, numbers })
}

/// Deletes the index of a root; returns false if there is none.
///
/// # Errors
/// Returns an error if the index is in use or the system cannot delete it.
pub(crate) fn remove(cache: &Path, root: &Path) -> io::Result<bool> {
    let folder = folder_of(cache, root);
    if !folder.is_dir() {
        return Ok(false);
    }
    remove_folder(&folder)?;
    Ok(true)
}

/// Deletes the directory of an index that is not in use.
///
/// # Errors
/// Returns an error if the index is in use, does not belong to this user alone, or cannot be deleted.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    check_owner(folder)?;
    let use_lock = open_private(&folder.join(USE_LOCK), true)?;
    let in_use = |_| io::Error::new(io::ErrorKind::ResourceBusy, "it is in use");
    let _alone = FileLock::take(use_lock, FlockOperation::NonBlockingLockExclusive).map_err(in_use)?;
    fs::remove_dir_all(folder)
}

fn segment_name(number: u32) -> String {
    format!("seg-{number}")
}

/// Rejects a directory that is a link, belongs to another user, or is writable by others.
pub(crate) fn check_owner(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let private = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
    let refused = || format!("{folder:?} must be a folder that only the current user can write to");
    if private { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, refused())) }
}

/// Opens a file of the index for reading, never through a link; a missing lock file is created.
pub(crate) fn open_private(path: &Path, create: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(create).create(create).truncate(false).mode(0o600);
    let file = options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{path:?} is not a file")));
    }
    Ok(file)
}

fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)
}

/// Generates a random id of 16 bytes.
pub(crate) fn random_id() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(()).to_le_bytes();
    let (left, right) = (half(), half());
    std::array::from_fn(|at| if at < 8 { left[at] } else { right[at - 8] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::reseal;

    fn manifests() -> impl Strategy<Value = Manifest> {
        let path = prop::collection::vec(any::<u8>(), 0..6_000);
        (path, any::<[u8; 16]>(), any::<(u64, u64)>(), prop::collection::vec(any::<u32>(), 0..40)).prop_map(
            |(path, id, (device, inode), numbers)| Manifest { root: RootId { path, device, inode }, id, numbers },
        )
    }

    proptest! {
        // PROPTEST_CASES sets the number of cases.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_manifest_round_trips(manifest in manifests()) {
            prop_assert_eq!(parse_manifest(manifest.to_pages().unwrap()).unwrap(), manifest);
        }

        #[test]
        fn an_invalid_manifest_yields_an_error_or_a_bounded_manifest(
            manifest in manifests(),
            plants in prop::collection::vec((prop_oneof![any::<usize>(), 0..60_usize], any::<[u8; 3]>()), 1..6),
        ) {
            let pages = reseal(&manifest.to_pages().unwrap(), MANIFEST, |content| {
                for (at, bytes) in &plants {
                    let at = at % (content.len() - bytes.len());
                    content[at..at + bytes.len()].copy_from_slice(bytes);
                }
            });
            if let Ok(read) = parse_manifest(pages) {
                prop_assert!(read.root.path.len() <= MAX_MANIFEST && read.numbers.len() <= MAX_MANIFEST);
            }
        }

        #[test]
        fn rejects_arbitrary_bytes_as_a_manifest(bytes in prop::collection::vec(any::<u8>(), 0..9_000)) {
            prop_assert!(parse_manifest(bytes).is_err());
        }
    }
}
