//! The order and timing of output lines.

use std::collections::VecDeque;

use super::InputLine;
use crate::text::row::{Line, Row};

/// When the text of an answer is output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputUnit {
    /// Line by line.
    #[default]
    Line,
    /// Sentence by sentence, each on its own line.
    Sentence,
    /// All at once at the end.
    End,
}

/// Splits streaming text into lines to output.
#[derive(Clone, Debug, Default)]
pub struct LineSplitter {
    pace: OutputUnit,
    open: String,
}

impl LineSplitter {
    /// Creates an empty text.
    #[must_use]
    pub fn new(pace: OutputUnit) -> LineSplitter {
        LineSplitter { pace, open: String::new() }
    }

    /// Appends text; returns the lines that are now complete. Runs in time linear in the text and the open line.
    pub fn push(&mut self, delta: &str) -> Vec<String> {
        self.open.push_str(delta);
        let mut whole = Vec::new();
        while let Some(end) = self.end() {
            let rest = self.open.split_off(end);
            let text = std::mem::replace(&mut self.open, rest);
            whole.push(text.trim_end().to_owned());
        }
        whole
    }

    /// Ends the text; returns the remaining lines.
    pub fn finish(&mut self) -> Vec<String> {
        let text = std::mem::take(&mut self.open);
        text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Returns the byte after the first complete part.
    fn end(&self) -> Option<usize> {
        let line = self.open.find('\n').map(|at| at + 1);
        match self.pace {
            OutputUnit::End => None,
            OutputUnit::Line => line,
            OutputUnit::Sentence => {
                let ends = |at: &(usize, &str)| self.open[..at.0].ends_with(['.', '!', '?', ':']);
                let sentence = self.open.match_indices(' ').find(ends).map(|(at, _)| at + 1);
                line.into_iter().chain(sentence).min()
            }
        }
    }
}

/// The output of linear mode: lines in order, and the input line below them.
///
/// It has no clock: the caller decides whether lines wait because the user is typing.
#[derive(Debug, Default)]
pub struct LinearOutput {
    lines: VecDeque<String>,
    input: InputLine,
    /// True if the terminal cannot move the cursor, and the kernel edits the line.
    plain: bool,
}

impl LinearOutput {
    /// Creates an output. If `plain`, it writes no escape sequences and no input line.
    #[must_use]
    pub fn new(plain: bool) -> LinearOutput {
        LinearOutput { plain, ..LinearOutput::default() }
    }

    /// Appends sanitised text, line by line.
    pub fn say(&mut self, text: &str) {
        for line in text.lines() {
            self.lines.push_back(Line::plain(line).text().trim_end().to_owned());
        }
    }

    /// Rings the bell after the current output.
    pub fn ring(&mut self) {
        match self.lines.back_mut() {
            Some(line) => line.push('\x07'),
            None => self.lines.push_back("\x07".to_owned()),
        }
    }

    /// Returns true if lines are waiting.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Returns the bytes that write the waiting lines, unless `held`, and show the input line. `input` are the rows and
    /// the cursor of an editor; `None` if there is no input now.
    pub fn write(&mut self, held: bool, input: Option<(&[Row], (usize, usize))>) -> Vec<u8> {
        let mut out = Vec::new();
        if !held && self.is_waiting() {
            out.extend_from_slice(self.input.hide());
            for line in self.lines.drain(..) {
                out.extend_from_slice(line.as_bytes());
                out.extend_from_slice(if self.plain { b"\n" } else { b"\r\n" });
            }
        }
        match input.filter(|_| !self.plain) {
            Some((rows, caret)) => out.append(&mut self.input.show(rows, caret)),
            None => out.extend_from_slice(self.input.hide()),
        }
        out
    }

    /// Ends the input line after its text was sent.
    pub fn sent(&mut self) -> &'static [u8] {
        self.input.end()
    }
}
