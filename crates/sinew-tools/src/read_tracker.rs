//! Tracks the files that the model has seen, to prevent it from overwriting content that it does not know.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::document::Document;

/// The number of tracked files; the oldest is dropped first.
const MOST: usize = 100;
/// The number of shown ranges tracked per file; the oldest is dropped first.
const PARTS: usize = 64;

pub(super) type Hash = [u8; 32];

pub(super) fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The files that the model saw most recently, and their content at that time.
#[derive(Default)]
pub(super) struct ReadTracker {
    files: Mutex<VecDeque<(PathBuf, FileKnowledge)>>,
}

/// The knowledge of one file.
#[derive(Debug, Clone, Default)]
struct FileKnowledge {
    /// The hash of the whole content; `None` if the file was too large to read completely.
    hash: Option<Hash>,
    /// True if all of it was shown, or written by a tool.
    whole: bool,
    /// True if it was read or written, not only searched.
    read: bool,
    parts: VecDeque<Part>,
}

impl FileKnowledge {
    fn push(&mut self, part: Part) {
        self.parts.retain(|other| *other != part);
        self.parts.push_back(part);
        while self.parts.len() > PARTS {
            self.parts.pop_front();
        }
    }
}

/// Lines that were shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    first: usize,
    lines: usize,
    hash: Hash,
}

/// The state of a file compared with what the model saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// The model never saw it.
    Unseen,
    /// Unchanged.
    Same,
    /// Changed, but not in the lines that were shown.
    ChangedElsewhere,
    /// Changed in the lines that were shown.
    Changed,
}

impl ReadTracker {
    /// Records that a tool wrote `content`, so that the model knows all of it.
    pub(super) fn wrote(&self, path: &Path, content: &[u8]) {
        self.put(path, FileKnowledge { hash: Some(hash(content)), whole: true, read: true, parts: VecDeque::new() });
    }

    /// Records shown lines; `first` is the number of the first one. Lines are those of the text that `read` shows,
    /// without line ends.
    pub(super) fn showed<'a>(
        &self,
        path: &Path,
        content: Option<Hash>,
        whole: bool,
        first: usize,
        lines: impl Iterator<Item = &'a [u8]>,
    ) {
        let part = part(first, lines);
        let mut known = self.get(path).unwrap_or_default();
        if known.hash != content {
            known = FileKnowledge::default();
        }
        known.hash = content;
        known.whole |= whole;
        known.read = true;
        known.push(part);
        self.put(path, known);
    }

    /// Records single lines of `content` that a search showed: number and text, which must equal the content.
    pub(super) fn found<'a>(&self, path: &Path, content: &[u8], shown: impl Iterator<Item = (usize, &'a str)>) {
        let now = hash(content);
        let mut known = self.get(path).unwrap_or_default();
        if known.hash != Some(now) {
            known = FileKnowledge { hash: Some(now), read: known.read, ..FileKnowledge::default() };
        }
        let document = Document::open(path, content);
        let lines: Vec<&[u8]> = lines(document.text()).collect();
        for (number, text) in shown {
            if number.checked_sub(1).and_then(|index| lines.get(index)) == Some(&text.as_bytes()) {
                known.push(part(number, std::iter::once(text.as_bytes())));
            }
        }
        if !known.parts.is_empty() || known.whole {
            self.put(path, known);
        }
    }

    /// Forgets what the model saw of a file, or of all files below a directory.
    pub(super) fn forget(&self, path: &Path) {
        self.files.lock().retain(|(known, _)| !known.starts_with(path));
    }

    /// Returns true if a file was read or written in this session, not only searched.
    pub(super) fn was_read(&self, path: &Path) -> bool {
        self.get(path).is_some_and(|known| known.read)
    }

    /// Compares the current content with what was seen.
    pub(super) fn standing(&self, path: &Path, now: &[u8]) -> FileState {
        let Some(known) = self.get(path) else { return FileState::Unseen };
        if known.hash == Some(hash(now)) {
            return FileState::Same;
        }
        let document = Document::open(path, now);
        let lines: Vec<&[u8]> = lines(document.text()).collect();
        let same = |known: &Part| {
            let shown = lines.get(known.first - 1..known.first - 1 + known.lines);
            shown.is_some_and(|shown| part(known.first, shown.iter().copied()) == *known)
        };
        if !known.whole && known.parts.iter().all(same) { FileState::ChangedElsewhere } else { FileState::Changed }
    }

    fn get(&self, path: &Path) -> Option<FileKnowledge> {
        let files = self.files.lock();
        files.iter().find(|(other, _)| other == path).map(|(_, known)| known.clone())
    }

    fn put(&self, path: &Path, known: FileKnowledge) {
        let mut files = self.files.lock();
        files.retain(|(other, _)| other != path);
        files.push_back((path.to_path_buf(), known));
        while files.len() > MOST {
            files.pop_front();
        }
    }
}

fn part<'a>(first: usize, lines: impl Iterator<Item = &'a [u8]>) -> Part {
    let mut digest = Sha256::new();
    let mut count = 0;
    for line in lines {
        digest.update(line);
        digest.update(b"\n");
        count += 1;
    }
    Part { first, lines: count, hash: digest.finalize().into() }
}

/// Returns the lines without `\n` or `\r\n`, including a last line without a line end.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(bare)
}

/// Returns a line without its line end.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_in_lines_that_were_read_count() {
        let (seen, path) = (ReadTracker::default(), Path::new("/a"));
        let old = b"1\n2\n3\n4\n";
        assert_eq!(seen.standing(path, old), FileState::Unseen);
        seen.showed(path, Some(hash(old)), false, 2, lines(b"2\n3\n"));
        assert_eq!(seen.standing(path, old), FileState::Same);
        assert_eq!(seen.standing(path, b"1\n2\n3\nfour\n"), FileState::ChangedElsewhere);
        assert_eq!(seen.standing(path, b"1\r\n2\r\n3\r\n4\r\n"), FileState::ChangedElsewhere);
        assert_eq!(seen.standing(path, b"1\n2\nx\n4\n"), FileState::Changed);
        assert_eq!(seen.standing(path, b"1\n2\n"), FileState::Changed);
        seen.wrote(path, b"new");
        assert_eq!(seen.standing(path, b"new"), FileState::Same);
        assert_eq!(seen.standing(path, b"new\nmore"), FileState::Changed);
    }

    #[test]
    fn the_last_hundred_files_are_tracked() {
        let seen = ReadTracker::default();
        for i in 0..=MOST {
            seen.wrote(Path::new(&format!("/{i}")), b"x");
        }
        assert_eq!(seen.standing(Path::new("/0"), b"x"), FileState::Unseen);
        assert_eq!(seen.standing(Path::new("/1"), b"x"), FileState::Same);
    }
}
