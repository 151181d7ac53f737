//! Reads some lines of a text of any size. Needs memory for these lines, and time for the bytes before them and up to
//! 64 MB after them.

use sinew::base::CancelToken;

use super::source::Source;
use crate::read_tracker::bare;
use crate::tool::ToolError;

/// After the window, lines are counted until this number of bytes of the text was read.
const COUNTED: u64 = 64 << 20;
/// The number of bytes per read.
const CHUNK: usize = 64 * 1024;

/// The lines to show, and the limits of their number and size.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The first line, from 1.
    pub(super) first: usize,
    /// The requested lines: context lines before them are dropped if they would exceed the limits.
    pub(super) asked: std::ops::Range<usize>,
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// The lines that were found.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The number of the first line.
    pub(super) first: usize,
    /// Without line ends.
    pub(super) lines: Vec<Vec<u8>>,
    /// The number of lines counted so far.
    pub(super) total: usize,
    /// The number of bytes read so far.
    pub(super) total_bytes: u64,
    /// True if the text was read to its end.
    pub(super) known: bool,
    pub(super) cut_by_bytes: bool,
    /// The start of the first line if that line alone exceeds the byte limit; `None` otherwise.
    pub(super) long: Option<Vec<u8>>,
    /// The length of that line in bytes.
    pub(super) long_bytes: u64,
    used: usize,
    full: bool,
}

impl Window {
    /// Reads `source` as far as needed.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or if the call was cancelled.
    pub(super) fn read(
        source: &mut Source,
        name: &str,
        limits: &Limits,
        cancel: &CancelToken,
    ) -> Result<Window, ToolError> {
        let mut window = Window { first: limits.first, ..Window::default() };
        let mut buffer = vec![0; CHUNK];
        let mut line = Vec::new();
        let mut line_bytes: u64 = 0;
        loop {
            if cancel.is_cancelled() {
                return Err(ToolError::Aborted);
            }
            let read =
                source.read(&mut buffer).map_err(|error| ToolError::Failed(format!("Cannot read {name}: {error}")))?;
            if read == 0 {
                break;
            }
            let mut bytes = &buffer[..read];
            if window.total_bytes == 0 {
                bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            }
            window.total_bytes += read as u64;
            for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                line_bytes += piece.len() as u64;
                let wanted = !window.full && window.total + 1 >= limits.first;
                if wanted && line.len() <= limits.bytes {
                    let room = limits.bytes + 2 - line.len();
                    line.extend_from_slice(&piece[..piece.len().min(room)]);
                }
                if piece.ends_with(b"\n") {
                    window.end_of_line(&mut line, &mut line_bytes, limits, wanted);
                }
            }
            let over = !window.full && window.total + 1 >= limits.asked.start && line.len() > limits.bytes;
            if (window.full || over) && window.total_bytes >= COUNTED {
                // A line that continues beyond the bytes read counts as one.
                match over {
                    true => window.end_of_line(&mut line, &mut line_bytes, limits, true),
                    false => window.total += usize::from(line_bytes > 0),
                }
                return Ok(window);
            }
        }
        if line_bytes > 0 {
            let wanted = !window.full && window.total + 1 >= limits.first;
            window.end_of_line(&mut line, &mut line_bytes, limits, wanted);
        }
        window.known = true;
        Ok(window)
    }

    fn end_of_line(&mut self, line: &mut Vec<u8>, line_bytes: &mut u64, limits: &Limits, wanted: bool) {
        let long = std::mem::take(line_bytes);
        let line = std::mem::take(line);
        self.total += 1;
        if !wanted {
            return;
        }
        let mut kept = bare(&line).to_vec();
        let number = self.total;
        let before = number < limits.asked.start;
        while limits.asked.contains(&number) && self.first < limits.asked.start && self.used + kept.len() > limits.bytes
        {
            self.drop_first();
        }
        if before && self.used + kept.len() > limits.bytes {
            // A context line before the requested ones is only shown if it fits.
            while !self.lines.is_empty() {
                self.drop_first();
            }
            self.first = number + 1;
        } else if number == limits.first.saturating_add(limits.lines) {
            self.full = true;
        } else if self.used + kept.len() > limits.bytes {
            (self.full, self.cut_by_bytes) = (true, true);
            if self.lines.is_empty() {
                kept.truncate(limits.bytes.min(SHOWN_OF_LONG));
                // The cut must not be inside a character.
                while std::str::from_utf8(&kept).is_err_and(|error| error.error_len().is_none()) {
                    kept.pop();
                }
                (self.long, self.long_bytes) = (Some(kept), long);
            }
        } else {
            self.used += kept.len() + 1;
            self.lines.push(kept);
        }
    }

    fn drop_first(&mut self) {
        if !self.lines.is_empty() {
            self.used -= self.lines.remove(0).len() + 1;
        }
        self.first += 1;
    }

    /// Returns true if the window contains every line of the text.
    pub(super) fn is_whole(&self) -> bool {
        self.known && self.first == 1 && self.lines.len() == self.total
    }
}

/// The number of bytes shown of a line that is too long.
const SHOWN_OF_LONG: usize = 2_000;
