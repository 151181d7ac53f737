//! The order and the time of lines that are said.

use std::collections::VecDeque;

use super::InputLine;
use crate::text::row::{Line, Row};

/// The moments at which the text of an answer is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// Line by line.
    #[default]
    Line,
    /// Sentence by sentence, each on a line of its own.
    Sentence,
    /// All of it at its end.
    End,
}

/// Text that streams, cut into what can be said.
#[derive(Clone, Debug, Default)]
pub struct Speech {
    pace: Pace,
    open: String,
}

impl Speech {
    /// Nothing said yet.
    #[must_use]
    pub fn new(pace: Pace) -> Speech {
        Speech { pace, open: String::new() }
    }

    /// Takes more text; gives the lines that are whole by now. Linear in the text and the open line.
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

    /// The text is over; gives what was still open.
    pub fn finish(&mut self) -> Vec<String> {
        let text = std::mem::take(&mut self.open);
        text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The byte behind the first part that is whole.
    fn end(&self) -> Option<usize> {
        let line = self.open.find('\n').map(|at| at + 1);
        match self.pace {
            Pace::End => None,
            Pace::Line => line,
            Pace::Sentence => {
                let ends = |at: &(usize, &str)| self.open[..at.0].ends_with(['.', '!', '?', ':']);
                let sentence = self.open.match_indices(' ').find(ends).map(|(at, _)| at + 1);
                line.into_iter().chain(sentence).min()
            }
        }
    }
}

/// The output of linear mode: lines in order, and the input line below them.
///
/// It knows no clock: the caller says whether the lines wait because the user is writing.
#[derive(Debug, Default)]
pub struct LinearOutput {
    lines: VecDeque<String>,
    input: InputLine,
    /// The terminal knows no cursor, and the kernel edits the line.
    plain: bool,
}

impl LinearOutput {
    /// `plain`: not one escape sequence is written, and no input line.
    #[must_use]
    pub fn new(plain: bool) -> LinearOutput {
        LinearOutput { plain, ..LinearOutput::default() }
    }

    /// Appends text, made harmless, line by line.
    pub fn say(&mut self, text: &str) {
        for line in text.lines() {
            self.lines.push_back(Line::plain(line).text().trim_end().to_owned());
        }
    }

    /// Rings the bell behind what was said so far.
    pub fn ring(&mut self) {
        match self.lines.back_mut() {
            Some(line) => line.push('\x07'),
            None => self.lines.push_back("\x07".to_owned()),
        }
    }

    /// Returns true if lines wait.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The bytes that write the lines that wait, unless they are `held`, and show the input line: rows and cursor of an
    /// editor, or none where nothing can be written now.
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

    /// Ends the input line: what stands in it was sent.
    pub fn sent(&mut self) -> &'static [u8] {
        self.input.end()
    }
}
