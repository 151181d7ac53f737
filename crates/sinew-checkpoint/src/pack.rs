//! The contents of files. One file of the store (a pack) contains everything that a checkpoint added, with an index at
//! its end.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use sinew_base::{Error, ErrorCode, Result};

use crate::codec::{Reader, Writer};
use crate::fault;
use crate::row::Hash;

/// The last bytes of a pack; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"sinewpk\x01";
/// The length of the index and [`MAGIC`].
const TAIL: u64 = 16;

/// The position of a content in a pack.
#[derive(Debug, Clone)]
struct Location {
    pack: String,
    offset: u64,
    length: u64,
}

/// All contents of a store.
#[derive(Debug)]
pub(crate) struct Contents {
    packs: PathBuf,
    temporary: PathBuf,
    known: Mutex<ContentIndex>,
}

#[derive(Debug, Default)]
struct ContentIndex {
    packs: HashSet<String>,
    locations: HashMap<Hash, Location>,
}

/// Returns the SHA-256 hash of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// Creates a file for writing that only its owner can read.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Syncs the names in a directory to disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Contents {
    pub(crate) fn new(packs: PathBuf, temporary: PathBuf) -> Contents {
        Contents { packs, temporary, known: Mutex::default() }
    }

    /// Finds the packs that were added or removed since the last call. An unreadable pack is treated as empty.
    ///
    /// # Errors
    /// Returns an error if the folder of the packs cannot be listed.
    pub(crate) fn refresh(&self) -> io::Result<()> {
        let mut known = self.known.lock();
        let mut names = HashSet::new();
        for entry in fs::read_dir(&self.packs)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        let gone = known.packs.difference(&names).next().is_some();
        if gone {
            *known = ContentIndex::default();
        }
        for name in names.iter().filter(|name| !known.packs.contains(*name)).cloned().collect::<Vec<_>>() {
            for (hash, offset, length) in index(&self.packs.join(&name)).unwrap_or_default() {
                known.locations.insert(hash, Location { pack: name.clone(), offset, length });
            }
            known.packs.insert(name);
        }
        Ok(())
    }

    pub(crate) fn has(&self, hash: &Hash) -> bool {
        self.known.lock().locations.contains_key(hash)
    }

    /// Returns a content.
    ///
    /// # Errors
    /// Returns `NotFound` if the store does not have it, `InvalidData` if its bytes have changed, or the system's
    /// error.
    pub(crate) fn read(&self, hash: &Hash) -> Result<Vec<u8>> {
        let location = self.known.lock().locations.get(hash).cloned();
        let missing = || Error::new(ErrorCode::NotFound, "the content is no longer in the store");
        let Location { pack, offset, length } = location.ok_or_else(missing)?;
        let file = File::open(self.packs.join(pack)).map_err(|cause| Error::io("failed to open the store", &cause))?;
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| missing())?];
        file.read_exact_at(&mut bytes, offset).map_err(|cause| Error::io("failed to read the store", &cause))?;
        if digest(&bytes) == *hash {
            Ok(bytes)
        } else {
            Err(Error::new(ErrorCode::InvalidData, "the content in the store is damaged"))
        }
    }

    /// Starts a pack.
    pub(crate) fn writer(&self, name: &str) -> PackWriter<'_> {
        PackWriter {
            contents: self,
            name: name.into(),
            file: None,
            length: 0,
            added: Vec::new(),
            hashes: HashSet::new(),
        }
    }

    /// Returns every pack with the hashes and lengths of its contents.
    pub(crate) fn by_pack(&self) -> HashMap<String, Vec<(Hash, u64)>> {
        let known = self.known.lock();
        let mut packs: HashMap<String, Vec<(Hash, u64)>> =
            known.packs.iter().map(|name| (name.clone(), Vec::new())).collect();
        for (hash, location) in &known.locations {
            packs.entry(location.pack.clone()).or_default().push((*hash, location.length));
        }
        packs
    }

    /// Replaces the contents of a pack by these; deletes the pack if there are none.
    ///
    /// # Errors
    /// Returns the system's error; the pack is unchanged then.
    pub(crate) fn rewrite(&self, name: &str, contents: Vec<(Hash, Vec<u8>)>) -> io::Result<()> {
        {
            let mut known = self.known.lock();
            known.packs.remove(name);
            known.locations.retain(|_, location| location.pack != name);
        }
        if contents.is_empty() {
            return fs::remove_file(self.packs.join(name));
        }
        let mut writer = self.writer(name);
        for (hash, bytes) in contents {
            writer.add(hash, &bytes)?;
        }
        writer.finish()
    }
}

/// Reads the index of a pack; `None` if the file is not a complete pack.
fn index(path: &Path) -> Option<Vec<(Hash, u64, u64)>> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut tail = [0; TAIL as usize];
    let tail_start = length.checked_sub(TAIL)?;
    file.read_exact_at(&mut tail, tail_start).ok()?;
    let (size, magic) = tail.split_first_chunk::<8>()?;
    if magic != MAGIC.as_slice() {
        return None;
    }
    let size = u64::from_le_bytes(*size);
    let start = tail_start.checked_sub(size)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut bytes, start).ok()?;
    let mut reader = Reader::sealed(&bytes).ok()?;
    let mut rows = Vec::new();
    while !reader.is_empty() {
        let row = (reader.array().ok()?, reader.number().ok()?, reader.number().ok()?);
        if row.1.checked_add(row.2)? > start {
            return None;
        }
        rows.push(row);
    }
    Some(rows)
}

/// Adds contents to the store. They are available once [`PackWriter::finish`] has returned.
#[derive(Debug)]
pub(crate) struct PackWriter<'a> {
    contents: &'a Contents,
    name: String,
    file: Option<(BufWriter<File>, PathBuf)>,
    length: u64,
    added: Vec<(Hash, u64, u64)>,
    hashes: HashSet<Hash>,
}

impl PackWriter<'_> {
    /// Adds a content unless the store has it. Returns the number of bytes added.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn add(&mut self, hash: Hash, bytes: &[u8]) -> io::Result<u64> {
        if self.contents.has(&hash) || self.hashes.contains(&hash) {
            return Ok(0);
        }
        let (file, _) = match &mut self.file {
            Some(file) => file,
            empty => {
                let path = self.contents.temporary.join(format!("{}.pack", self.name));
                empty.insert((BufWriter::with_capacity(1 << 18, create_private(&path)?), path))
            }
        };
        file.write_all(bytes)?;
        let length = bytes.len() as u64;
        self.added.push((hash, self.length, length));
        self.hashes.insert(hash);
        self.length += length;
        Ok(length)
    }

    /// Writes the index, syncs the file and renames it into place.
    ///
    /// # Errors
    /// Returns the system's error; nothing is added then.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some((mut file, path)) = self.file.take() else { return Ok(()) };
        let done = self.seal(&mut file, &path);
        if done.is_err() {
            // If this fails too, the next open removes the file.
            let _ = fs::remove_file(&path);
        }
        done
    }

    fn seal(&self, file: &mut BufWriter<File>, path: &Path) -> io::Result<()> {
        let mut writer = Writer::default();
        for (hash, offset, length) in &self.added {
            writer.array(hash);
            writer.number(*offset);
            writer.number(*length);
        }
        let index = writer.sealed();
        file.write_all(&index)?;
        file.write_all(&(index.len() as u64).to_le_bytes())?;
        file.write_all(MAGIC)?;
        file.flush()?;
        fault::point();
        file.get_ref().sync_data()?;
        fault::point();
        fs::rename(path, self.contents.packs.join(&self.name))?;
        sync_directory(&self.contents.packs)?;
        let mut known = self.contents.known.lock();
        for (hash, offset, length) in &self.added {
            known.locations.insert(*hash, Location { pack: self.name.clone(), offset: *offset, length: *length });
        }
        known.packs.insert(self.name.clone());
        Ok(())
    }
}

impl Drop for PackWriter<'_> {
    fn drop(&mut self) {
        if let Some((_, path)) = self.file.take() {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(folder: &Path) -> Contents {
        let (packs, temporary) = (folder.join("packs"), folder.join("temporary"));
        fs::create_dir_all(&packs).unwrap();
        fs::create_dir_all(&temporary).unwrap();
        let contents = Contents::new(packs, temporary);
        contents.refresh().unwrap();
        contents
    }

    #[test]
    fn contents_round_trip_and_are_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<Vec<u8>> = (0..50u8).map(|number| vec![number; usize::from(number) * 40]).collect();
        let first = contents(folder.path());
        for (round, expect) in [("one", true), ("two", false)] {
            let mut writer = first.writer(round);
            let added: u64 = texts.iter().map(|text| writer.add(digest(text), text).unwrap()).sum();
            assert_eq!(added > 0, expect, "{round}");
            writer.finish().unwrap();
        }
        let second = contents(folder.path());
        for text in &texts {
            assert_eq!(second.read(&digest(text)).as_ref(), Ok(text));
        }
        assert_eq!(second.by_pack().len(), 1, "a pack without contents is not written");
        assert_eq!(second.read(&[0; 32]).unwrap_err().code(), ErrorCode::NotFound);
    }

    #[test]
    fn damaged_contents_are_errors_and_incomplete_packs_are_empty() {
        let folder = tempfile::tempdir().unwrap();
        let first = contents(folder.path());
        let mut writer = first.writer("p");
        writer.add(digest(b"content"), b"content").unwrap();
        writer.finish().unwrap();
        let path = folder.path().join("packs/p");
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[0] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let error = contents(folder.path()).read(&digest(b"content")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidData);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(!contents(folder.path()).has(&digest(b"content")), "{length} bytes");
        }
    }
}
