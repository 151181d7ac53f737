//! Limits output: the end stays in memory, and everything goes to a file once it is longer.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The default size of the end that stays in memory: 50 KiB.
pub const TAIL_BYTES: usize = 50 * 1024;

/// The options of an [`OutputSink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkOptions {
    /// The size of the end that stays in memory, in bytes. Default [`TAIL_BYTES`].
    pub tail_bytes: usize,
    /// The file for the complete output once it exceeds `tail_bytes`; it is created then, readable by its owner only,
    /// and replaces existing content. Default `None`: only the end is kept.
    pub spill: Option<PathBuf>,
}

impl Default for SinkOptions {
    fn default() -> SinkOptions {
        SinkOptions { tail_bytes: TAIL_BYTES, spill: None }
    }
}

/// The result of [`OutputSink::dump`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDump {
    /// The end of the output, or all of it if not `truncated`. Begins with a complete character; invalid UTF-8 becomes
    /// U+FFFD.
    pub text: String,
    /// True if the beginning is missing in `text`.
    pub truncated: bool,
    /// True if `text` begins inside a line.
    pub partial_line: bool,
    /// The total number of bytes.
    pub total_bytes: u64,
    /// The total number of lines, including a last one without a line end.
    pub total_lines: u64,
    /// The number of output bytes that `text` represents.
    pub shown_bytes: u64,
    /// The number of lines in `text`.
    pub shown_lines: u64,
    /// The file with the complete output; `None` if there is none.
    pub spill_path: Option<PathBuf>,
    /// Why the complete output is not in a file although it was requested; `None` otherwise.
    pub spill_error: Option<String>,
}

enum Spill {
    None,
    Waiting(PathBuf),
    Open(PathBuf, BufWriter<File>),
    Failed(String),
}

/// Receives output of any size and stores its end in memory and, if requested, all of it in a file.
///
/// Memory stays below twice [`SinkOptions::tail_bytes`] plus one push. If the file cannot be written, the end is still
/// kept and [`OutputDump::spill_error`] contains the error.
pub struct OutputSink {
    limit: usize,
    // The end of the output, preceded by some bytes that the next cut removes.
    tail: Vec<u8>,
    total: u64,
    line_ends: u64,
    last: u8,
    before_tail: u8,
    spill: Spill,
}

impl OutputSink {
    /// Creates an empty sink. Opens no file yet.
    #[must_use]
    pub fn new(options: SinkOptions) -> OutputSink {
        OutputSink {
            limit: options.tail_bytes,
            tail: Vec::new(),
            total: 0,
            line_ends: 0,
            last: b'\n',
            before_tail: b'\n',
            spill: options.spill.map_or(Spill::None, Spill::Waiting),
        }
    }

    /// Adds output, which may be split anywhere. Runs in linear time over all pushes.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        self.last = last;
        self.total += bytes.len() as u64;
        self.line_ends += lines_in(bytes);
        if self.total > self.limit as u64 {
            self.spill(bytes);
        }
        if bytes.len() >= self.limit {
            let cut = bytes.len() - self.limit;
            if let Some(&before) = cut.checked_sub(1).map_or_else(|| self.tail.last(), |at| bytes.get(at)) {
                self.before_tail = before;
            }
            self.tail.clear();
            self.tail.extend_from_slice(&bytes[cut..]);
            return;
        }
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= self.limit.saturating_mul(2) {
            self.cut(self.tail.len() - self.limit);
        }
    }

    /// Returns the end of the output and the totals. May be called any number of times, even between pushes.
    pub fn dump(&mut self) -> OutputDump {
        if let Spill::Open(path, file) = &mut self.spill
            && let Err(error) = file.flush()
        {
            self.spill = Spill::Failed(failure(path, &error));
        }
        let excess = self.tail.len().saturating_sub(self.limit);
        self.cut(excess);
        let truncated = self.total > self.tail.len() as u64;
        let skip =
            if truncated { self.tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count() } else { 0 };
        let shown = &self.tail[skip..];
        let text = String::from_utf8_lossy(shown).into_owned();
        let open_line = |bytes: &[u8]| u64::from(bytes.last().is_some_and(|last| *last != b'\n'));
        OutputDump {
            truncated,
            partial_line: truncated && (skip > 0 || self.before_tail != b'\n'),
            total_bytes: self.total,
            total_lines: self.line_ends + u64::from(self.last != b'\n'),
            shown_bytes: shown.len() as u64,
            shown_lines: lines_in(shown) + open_line(shown),
            text,
            spill_path: match &self.spill {
                Spill::Open(path, _) => Some(path.clone()),
                _ => None,
            },
            spill_error: match &self.spill {
                Spill::Failed(error) => Some(error.clone()),
                _ => None,
            },
        }
    }

    fn cut(&mut self, count: usize) {
        if let Some(at) = count.checked_sub(1) {
            self.before_tail = self.tail[at];
            self.tail.drain(..count);
        }
    }

    fn spill(&mut self, bytes: &[u8]) {
        if let Spill::Waiting(path) = &self.spill {
            // The first time: everything so far is still in memory.
            self.spill = match create(path).and_then(|mut file| file.write_all(&self.tail).map(|()| file)) {
                Ok(file) => Spill::Open(path.clone(), file),
                Err(error) => Spill::Failed(failure(path, &error)),
            };
        }
        if let Spill::Open(path, file) = &mut self.spill
            && let Err(error) = file.write_all(bytes)
        {
            self.spill = Spill::Failed(failure(path, &error));
        }
    }
}

impl std::fmt::Debug for OutputSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputSink").field("limit", &self.limit).field("total", &self.total).finish_non_exhaustive()
    }
}

fn lines_in(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn create(path: &Path) -> std::io::Result<BufWriter<File>> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(BufWriter::with_capacity(64 * 1024, options.open(path)?))
}

fn failure(path: &Path, error: &std::io::Error) -> String {
    let what = format!("failed to write the whole output to \"{}\"", path.display());
    sinew_base::Error::io(what, error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(tail_bytes: usize, spill: Option<&Path>) -> OutputSink {
        OutputSink::new(SinkOptions { tail_bytes, spill: spill.map(Path::to_path_buf) })
    }

    #[test]
    fn output_within_the_limit_is_complete_and_writes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all");
        let mut sink = sink(10, Some(&path));
        sink.push(b"one\n");
        sink.push(b"two\nx");
        let dump = sink.dump();
        assert_eq!((dump.text.as_str(), dump.truncated, dump.partial_line), ("one\ntwo\nx", false, false));
        assert_eq!((dump.total_lines, dump.shown_lines, dump.total_bytes), (3, 3, 9));
        assert_eq!((dump.spill_path, dump.spill_error), (None, None));
        assert!(!path.exists());
    }

    #[test]
    fn the_file_contains_all_bytes_and_memory_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all");
        let mut sink = sink(100, Some(&path));
        let mut all = Vec::new();
        for i in 0..1_000 {
            let line = format!("line {i} é\n\u{0}");
            all.extend_from_slice(line.as_bytes());
            all.push(0xff);
            sink.push(line.as_bytes());
            sink.push(b"\xff");
        }
        let dump = sink.dump();
        assert_eq!(std::fs::read(&path).unwrap(), all);
        assert_eq!(dump.spill_path.as_deref(), Some(path.as_path()));
        assert!(dump.truncated && dump.text.len() > 90, "{dump:?}");
        assert!(String::from_utf8_lossy(&all).ends_with(&dump.text));
        assert_eq!((dump.total_bytes, dump.total_lines), (all.len() as u64, 1_001));
    }

    #[track_caller]
    fn check_tail(limit: usize, pieces: &[&str], expect: &str, partial_line: bool) {
        let mut sink = sink(limit, None);
        for piece in pieces {
            sink.push(piece.as_bytes());
        }
        let dump = sink.dump();
        assert_eq!((dump.text.as_str(), dump.partial_line), (expect, partial_line), "{dump:?}");
        assert_eq!(dump.shown_bytes as usize, expect.len());
    }

    #[test]
    fn cuts_between_characters_and_reports_a_partial_line() {
        check_tail(5, &["ab漢字"], "字", true);
        check_tail(6, &["ab漢字"], "漢字", true);
        check_tail(4, &["one\ntwo\n"], "two\n", false);
        check_tail(3, &["one\ntwo\n"], "wo\n", true);
        check_tail(4, &["one\n", "two\n"], "two\n", false);
        check_tail(4, &["one", "\n", "t", "w", "o", "\n"], "two\n", false);
        check_tail(0, &["one\n"], "", false);
    }

    #[test]
    fn memory_use_stays_within_twice_the_limit() {
        let mut sink = sink(1_000, None);
        for _ in 0..10_000 {
            sink.push(&[b'x'; 700]);
            assert!(sink.tail.len() < 2_000 && sink.tail.capacity() <= 4_000);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reports_a_full_disk_and_keeps_the_end() {
        let mut sink = sink(10, Some(Path::new("/dev/full")));
        for _ in 0..100_000 {
            sink.push(b"0123456789\n");
        }
        let dump = sink.dump();
        assert_eq!((dump.text.as_str(), dump.total_lines, dump.spill_path), ("123456789\n", 100_000, None));
        let error = dump.spill_error.unwrap();
        assert_eq!(error, "failed to write the whole output to \"/dev/full\": No space left on device");
    }

    #[test]
    fn reports_a_missing_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("no/such/file");
        let mut sink = sink(1, Some(&path));
        sink.push(b"abc");
        let error = sink.dump().spill_error.unwrap();
        // The message of the system follows.
        let begin = format!("failed to write the whole output to \"{}\": ", path.display());
        let cause = error.strip_prefix(&begin).unwrap_or_else(|| panic!("{error}"));
        assert!(!cause.is_empty(), "{error}");
        assert_eq!(sink.dump().text, "c");
    }
}
