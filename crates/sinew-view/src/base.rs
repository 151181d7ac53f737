//! The directory as it was when the view was opened: a list of entries, and the contents that a merge may need.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use sinew_base::{CancelToken, Error, Result};
use sinew_checkpoint::{BlobReader, Directory, EntryKind, GitId, blob_id};

use crate::compare;
use crate::copy;
use crate::records::{Reader, Writer, damaged};
use crate::scan::{Entry, Stamp};

/// The maximum size of a file whose content is copied for merges, in bytes.
pub(crate) const MAX_COPY: u64 = 5_000_000;
/// The maximum size of all these copies together, in bytes.
pub(crate) const MAX_COPIES: u64 = 256_000_000;
/// The maximum size of a file that is compared or merged, in bytes.
pub(crate) const MAX_CONTENT: u64 = 64_000_000;

const KINDS: [EntryKind; 5] =
    [EntryKind::File, EntryKind::Directory, EntryKind::Link, EntryKind::Special, EntryKind::Repository];

/// Where the content of a file is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nowhere: the file is too large. If the original is unchanged, it has the content.
    None,
    /// Nowhere, but this is its SHA-256 hash: the file was written just before, so that its stamp proves nothing.
    Digest([u8; 32]),
    /// In a blob of the repository.
    Git(GitId),
    /// In the view's folder, under this number.
    Copy(u64),
}

/// An entry as it was when the view was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseEntry {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    /// The permissions in the view, which differ if its file system or the user cannot set them.
    pub(crate) view_mode: u32,
    /// The file in the view while it has the content; `None` if a change at that moment would not change the stamp.
    pub(crate) view_stamp: Option<Stamp>,
    /// The same for the original.
    pub(crate) real_stamp: Option<Stamp>,
    pub(crate) target: Vec<u8>,
    pub(crate) source: Source,
}

impl BaseEntry {
    /// Returns the base of an entry without content.
    pub(crate) fn plain(entry: &Entry) -> BaseEntry {
        BaseEntry {
            kind: entry.kind,
            mode: entry.mode,
            view_mode: entry.mode,
            view_stamp: None,
            real_stamp: None,
            target: entry.target.clone(),
            source: Source::None,
        }
    }
}

/// Returns a stamp if every later change will change it.
pub(crate) fn reliable(stamp: Stamp) -> Option<Stamp> {
    (!stamp.is_racy()).then_some(stamp)
}

/// The state at the start of a view.
#[derive(Debug, Default)]
pub(crate) struct Base {
    pub(crate) entries: BTreeMap<Vec<u8>, BaseEntry>,
    /// The number of the next copy.
    pub(crate) next: u64,
    /// The `.git` whose blobs are used.
    pub(crate) git: Option<PathBuf>,
    /// The references of the view's repositories at the start, by the path of the `.git`.
    pub(crate) references: BTreeMap<Vec<u8>, Vec<(String, String)>>,
}

impl Base {
    pub(crate) fn save(&self, path: &std::path::Path) -> Result<()> {
        use std::os::unix::ffi::OsStrExt;
        let mut writer = Writer::default();
        writer.number(self.next);
        writer.field(self.git.as_ref().map_or(&b""[..], |path| path.as_os_str().as_bytes()));
        writer.number(self.references.len());
        for (path, references) in &self.references {
            writer.field(path);
            writer.number(references.len());
            for (name, id) in references {
                writer.field(name.as_bytes());
                writer.field(id.as_bytes());
            }
        }
        for (path, entry) in &self.entries {
            writer.field(path);
            writer.number(KINDS.iter().position(|kind| *kind == entry.kind).unwrap_or(0));
            writer.number(entry.mode);
            writer.number(entry.view_mode);
            for stamp in [&entry.view_stamp, &entry.real_stamp] {
                writer.number(u8::from(stamp.is_some()));
                if let Some(stamp) = stamp {
                    stamp.write(&mut writer);
                }
            }
            writer.field(&entry.target);
            match &entry.source {
                Source::None => writer.field(b""),
                Source::Digest(digest) => writer.field(format!("digest {}", hex(digest)).as_bytes()),
                Source::Git(id) => writer.field(format!("git {}", hex(id)).as_bytes()),
                Source::Copy(number) => writer.number(number),
            }
        }
        writer.save(path)
    }

    pub(crate) fn load(path: &std::path::Path) -> Result<Base> {
        use std::os::unix::ffi::OsStrExt;
        let bytes = fs::read(path).map_err(|cause| Error::io(format!("view: failed to read {path:?}"), &cause))?;
        if !bytes.ends_with(b"\0end\0") {
            return Err(damaged());
        }
        let mut reader = Reader::new(&bytes);
        let mut base = Base { next: reader.number()?, ..Base::default() };
        let git = reader.field()?;
        base.git = (!git.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(git)));
        for _ in 0..reader.number::<usize>()? {
            let path = reader.path()?;
            let mut references = Vec::new();
            for _ in 0..reader.number::<usize>()? {
                references.push((reader.text()?, reader.text()?));
            }
            base.references.insert(path, references);
        }
        while !reader.is_at_end() {
            let path = reader.path()?;
            let kind = *KINDS.get(reader.number::<usize>()?).ok_or_else(damaged)?;
            let (mode, view_mode) = (reader.number()?, reader.number()?);
            let mut stamp = || -> Result<Option<Stamp>> {
                if reader.number::<u8>()? == 1 { Stamp::read(&mut reader).map(Some) } else { Ok(None) }
            };
            let (view_stamp, real_stamp) = (stamp()?, stamp()?);
            let target = reader.field()?.to_vec();
            let source = match reader.text()? {
                text if text.is_empty() => Source::None,
                text => match text.split_once(' ') {
                    Some(("git", id)) => Source::Git(unhex(id).ok_or_else(damaged)?),
                    Some((_, digest)) => Source::Digest(unhex(digest).ok_or_else(damaged)?),
                    None => Source::Copy(text.parse().map_err(|_| damaged())?),
                },
            };
            base.entries.insert(path, BaseEntry { kind, mode, view_mode, view_stamp, real_stamp, target, source });
        }
        Ok(base)
    }
}

/// Returns bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != N * 2 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Writes and reads the contents of files as they were when the view was opened.
#[derive(Debug)]
pub(crate) struct Contents {
    folder: PathBuf,
    git: Option<PathBuf>,
    /// Opened when the first blob is needed, because the indexes of packs can be large.
    blobs: OnceLock<BlobReader>,
    copied: u64,
}

impl Contents {
    /// Opens the contents in a view's folder and in a repository. The folder is created if it is missing.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn open(folder: PathBuf, git: Option<&std::path::Path>) -> Result<Contents> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|cause| Error::io(format!("view: failed to create {folder:?}"), &cause))?;
        Ok(Contents { folder, git: git.map(Into::into), blobs: OnceLock::new(), copied: 0 })
    }

    fn blobs(&self) -> Option<&BlobReader> {
        let git = self.git.as_ref()?;
        Some(self.blobs.get_or_init(|| BlobReader::open(git)))
    }

    /// Returns true if the repository has the blob.
    pub(crate) fn has_blob(&self, id: &GitId) -> bool {
        self.blobs().is_some_and(|blobs| blobs.contains(id))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Shares the data of a file. Returns false if the file system cannot.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn share(&self, number: u64, file: &File) -> std::io::Result<bool> {
        let path = self.path(number);
        let is_shared = copy::share_data(file, &File::create(&path)?);
        if !is_shared {
            fs::remove_file(&path)?;
        }
        Ok(is_shared)
    }

    /// Stores a content. Returns false if the limit of all copies does not allow it.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn store(&mut self, number: u64, content: &[u8]) -> std::io::Result<bool> {
        let size = content.len() as u64;
        if size > MAX_COPY || self.copied + size > MAX_COPIES {
            return Ok(false);
        }
        self.copied += size;
        fs::write(self.path(number), content)?;
        Ok(true)
    }

    /// Returns the content of an entry; `None` if it was not stored. `real` has the content if it is unchanged.
    pub(crate) fn read(&self, path: &[u8], entry: &BaseEntry, real: Option<&Directory>) -> Option<Vec<u8>> {
        match &entry.source {
            Source::Copy(number) => {
                let file = File::open(self.path(*number)).ok()?;
                sinew_base::read_limited(file, MAX_CONTENT).ok()?
            }
            Source::Git(id) => self.blobs()?.read(id),
            Source::None | Source::Digest(_) => {
                let file = unchanged(path, entry, real?)?;
                let content = sinew_base::read_limited(&file, MAX_CONTENT).ok()??;
                is_version(&file, entry).then_some(content)
            }
        }
    }

    /// Returns true if a file has the content of an entry; false if it differs or the content is unknown. `real` has the
    /// content if it is unchanged.
    pub(crate) fn matches(
        &self,
        path: &[u8],
        entry: &BaseEntry,
        real: Option<&Directory>,
        file: &File,
        cancel: &CancelToken,
    ) -> Result<bool> {
        let compared = match &entry.source {
            Source::Copy(number) => match File::open(self.path(*number)) {
                Ok(copy) => compare::is_equal(file, &copy, cancel),
                Err(_) => return Ok(false),
            },
            Source::Git(id) => {
                let content = sinew_base::read_limited(file, MAX_CONTENT).ok().flatten();
                return Ok(content.is_some_and(|content| blob_id(&content) == *id));
            }
            Source::Digest(digest) => compare::digest(file, cancel).map(|found| found == *digest),
            Source::None => match real.and_then(|real| unchanged(path, entry, real)) {
                Some(original) => {
                    compare::is_equal(file, &original, cancel).map(|is_equal| is_equal && is_version(&original, entry))
                }
                None => return Ok(false),
            },
        };
        cancel.check()?;
        Ok(compared.unwrap_or(false))
    }
}

/// Opens the original file if it is as it was when the view was opened.
fn unchanged(path: &[u8], entry: &BaseEntry, real: &Directory) -> Option<File> {
    let (parent, name) = real.open_parent(path).ok()?;
    parent.open_file(name).ok().filter(|file| is_version(file, entry))
}

fn is_version(file: &File, entry: &BaseEntry) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| Some(Stamp::of(&stat)) == entry.real_stamp)
}
