//! Records the output to the terminal in the format of asciinema (asciicast v3). Typed keys are not recorded, because
//! they may be a password or a key.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use sinew_session::files::private;
use sinew_tui::Size;

/// A recording in progress.
pub(super) struct Recorder {
    file: File,
    last: Instant,
    /// The first bytes of a character that was not written completely yet.
    rest: Vec<u8>,
}

impl Recorder {
    /// Begins a recording in a file of the user, for a terminal of this size that does not wrap rows.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn begin(file: &Path, size: Size) -> io::Result<Recorder> {
        let file = private(OpenOptions::new().write(true).create(true).truncate(true), file)?;
        let mut recorder = Recorder { file, last: Instant::now(), rest: Vec::new() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let term = json!({"cols": size.columns, "rows": size.rows});
        recorder.line(&json!({"version": 3, "term": term, "timestamp": now}))?;
        recorder.sent(b"\x1b[?7l")?;
        Ok(recorder)
    }

    /// Records output.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn sent(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        // The output is text, but a character may arrive in two parts.
        let whole = self.rest.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        let text: Vec<u8> = self.rest.drain(..whole).collect();
        if text.is_empty() { Ok(()) } else { self.event("o", &String::from_utf8_lossy(&text)) }
    }

    /// Records a new size.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn resized(&mut self, size: Size) -> io::Result<()> {
        self.event("r", &format!("{}x{}", size.columns, size.rows))
    }

    fn event(&mut self, kind: &str, data: &str) -> io::Result<()> {
        let now = Instant::now();
        let passed = now.duration_since(std::mem::replace(&mut self.last, now)).as_millis();
        self.line(&json!([passed as f64 / 1000.0, kind, data]))
    }

    fn line(&mut self, value: &serde_json::Value) -> io::Result<()> {
        self.file.write_all(format!("{value}\n").as_bytes())
    }
}
