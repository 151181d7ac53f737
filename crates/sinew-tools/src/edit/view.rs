//! A text as a matching stage sees it, and the mapping back to its bytes.

use crate::unicode_form::{clusters, composed};

/// The differences that a matching stage ignores. Each stage also ignores those of the stages before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Line ends only.
    Exact,
    /// Trailing white space.
    TrailingSpace,
    /// Typographic quotes, dashes and spaces.
    Typography,
    /// The indentation of complete lines.
    Indentation,
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Stage::Exact => "exact",
            Stage::TrailingSpace => "trailing white space ignored",
            Stage::Typography => "quotes, dashes and spaces normalised",
            Stage::Indentation => "indentation shifted",
        }
    }
}

/// Bytes and their source positions.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// Sorted; each extends to the next one.
    runs: Vec<Run>,
}

/// The bytes of the view from `at` on, which correspond to `from..to` of the text.
struct Run {
    at: usize,
    from: usize,
    to: usize,
}

impl View {
    pub(super) fn new(text: &[u8], stage: Stage) -> View {
        let mut view = View { bytes: Vec::with_capacity(text.len()), runs: Vec::new() };
        let mut at = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let body = super::super::read_tracker::bare(line);
            // A lone carriage return at the very end of the text is content, not a line end.
            let body = if line.ends_with(b"\n") { body } else { line };
            let mut shown = body;
            let mut start = at;
            if stage >= Stage::TrailingSpace {
                shown = trim_end(shown, stage);
            }
            if stage == Stage::Indentation {
                let depth = indent(shown);
                (shown, start) = (&shown[depth..], start + depth);
            }
            view.push(shown, start, stage);
            if line.ends_with(b"\n") {
                view.run(b"\n", at + body.len(), at + line.len());
            }
            at += line.len();
        }
        view
    }

    /// Returns the text with `\n` line ends and in the Unicode form NFC.
    pub(super) fn composed(text: &[u8]) -> View {
        let mut view = View { bytes: Vec::with_capacity(text.len()), runs: Vec::new() };
        let mut at = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let body = match line.ends_with(b"\n") {
                true => super::super::read_tracker::bare(line),
                false => line,
            };
            for chunk in body.utf8_chunks() {
                for part in clusters(chunk.valid()) {
                    let part_text = composed(&chunk.valid()[part.clone()]);
                    view.run(part_text.as_bytes(), at + part.start, at + part.end);
                }
                at += chunk.valid().len();
                view.run(chunk.invalid(), at, at + chunk.invalid().len());
                at += chunk.invalid().len();
            }
            if line.ends_with(b"\n") {
                let end = at + line.len() - body.len();
                view.run(b"\n", at, end);
                at = end;
            }
        }
        view
    }

    /// Returns the bytes of the text that correspond to `start..end` of the view; `None` if an end is inside a replaced
    /// character.
    pub(super) fn source(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        if start == end {
            return None;
        }
        let run = |at: usize| {
            let index = self.runs.partition_point(|run| run.at <= at) - 1;
            let next = self.runs.get(index + 1).map_or(self.bytes.len(), |run| run.at);
            (&self.runs[index], next)
        };
        let (first, first_end) = run(start);
        let (last, last_end) = run(end - 1);
        let same = |run: &Run, end: usize| run.to - run.from == end - run.at;
        let from = match same(first, first_end) {
            true => first.from + (start - first.at),
            false => (start == first.at).then_some(first.from)?,
        };
        let to = match same(last, last_end) {
            true => last.from + (end - last.at),
            false => (end == last_end).then_some(last.to)?,
        };
        Some((from, to))
    }

    fn push(&mut self, line: &[u8], from: usize, stage: Stage) {
        if stage < Stage::Typography || line.is_ascii() {
            self.run(line, from, from + line.len());
            return;
        }
        let mut at = from;
        for chunk in line.utf8_chunks() {
            let mut plain = 0;
            for (index, character) in chunk.valid().char_indices() {
                if let Some(ascii) = plain_form(character) {
                    let valid = chunk.valid().as_bytes();
                    self.run(&valid[plain..index], at + plain, at + index);
                    plain = index + character.len_utf8();
                    self.run(&[ascii], at + index, at + plain);
                }
            }
            let valid = chunk.valid().as_bytes();
            self.run(&valid[plain..], at + plain, at + valid.len());
            at += valid.len();
            self.run(chunk.invalid(), at, at + chunk.invalid().len());
            at += chunk.invalid().len();
        }
    }

    fn run(&mut self, bytes: &[u8], from: usize, to: usize) {
        if bytes.is_empty() {
            return;
        }
        let at = self.bytes.len();
        // Adjacent runs with identical bytes are merged.
        let same = bytes.len() == to - from;
        let goes_on = self.runs.last().is_some_and(|last| last.to == from && last.to - last.from == at - last.at);
        match self.runs.last_mut() {
            Some(last) if same && goes_on => last.to = to,
            _ => self.runs.push(Run { at, from, to }),
        }
        self.bytes.extend_from_slice(bytes);
    }
}

/// Returns the number of blanks at the start of a line.
pub(super) fn indent(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn trim_end(line: &[u8], stage: Stage) -> &[u8] {
    let mut line = line;
    loop {
        let before = line.len();
        line = line.trim_ascii_end();
        if stage >= Stage::Typography {
            for space in SPACES {
                line = line.strip_suffix(space.as_bytes()).unwrap_or(line);
            }
        }
        if line.len() == before {
            return line;
        }
    }
}

const SPACES: [&str; 6] = ["\u{a0}", "\u{2007}", "\u{2009}", "\u{200a}", "\u{202f}", "\u{3000}"];

/// Returns the ASCII form of a typographic character; `None` if it has none.
fn plain_form(character: char) -> Option<u8> {
    Some(match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => b'\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => b'"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => b'-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => b' ',
        _ => return None,
    })
}
