//! Deletes images that no session refers to any more.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sinew_base::{Error, Result};

use super::blob::{Blobs, named};
use crate::files::open_plain;

/// The number of bytes per read.
const PIECE: usize = 1024 * 1024;
/// The length of `blob:sha256:` and a digest, plus a margin.
const LONGEST_NAME: usize = 128;

/// Returns the digests of images that no session in `folders` refers to; with `remove` their files are deleted. If a
/// session cannot be read, nothing is deleted. At most one chunk of each file is in memory.
///
/// # Errors
/// Returns an error if a session cannot be read, or if an image cannot be deleted.
pub fn collect(folders: &[PathBuf], blobs: &Blobs, remove: bool) -> Result<Vec<String>> {
    let mut used: HashSet<String> = HashSet::new();
    for path in folders.iter().flat_map(|folder| all_files(folder)) {
        let failed = |cause: &std::io::Error| Error::io(format!("failed to read {}", path.display()), cause);
        note(&path, &mut used).map_err(|cause| failed(&cause))?;
    }
    let mut unused: Vec<String> = blobs.all().into_iter().filter(|hex| !used.contains(hex)).collect();
    unused.sort();
    if remove {
        for hex in &unused {
            blobs.remove(hex).map_err(|cause| Error::io(format!("failed to remove the picture {hex}"), &cause))?;
        }
    }
    Ok(unused)
}

/// Returns every file that may refer to an image: sessions, and backups of damaged and older ones.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let (folders, mut files): (Vec<_>, Vec<_>) = inside(folder).into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| inside(folder)).filter(|path| path.is_file()));
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".jsonl")));
    files
}

/// Adds the digests that a file refers to.
fn note(path: &Path, used: &mut HashSet<String>) -> std::io::Result<()> {
    let mut file = open_plain(path)?;
    let mut piece = vec![0; PIECE];
    let mut kept = 0;
    loop {
        let read = file.read(&mut piece[kept..])?;
        let end = kept + read;
        used.extend(named(&String::from_utf8_lossy(&piece[..end])).map(str::to_string));
        if read == 0 {
            return Ok(());
        }
        // A reference may continue in the next chunk.
        kept = end.min(LONGEST_NAME);
        piece.copy_within(end - kept..end, 0);
    }
}
