//! Lines of a given width.
//!
//! One pass. The line under way is written as it is read; when a cluster no longer fits, the word behind the last
//! gap moves to a new line, which opens again with the state that held where the word begins.

use super::escape::Kind;
use super::style::Style;
use super::unit::{Unit, printable_run};
use super::walk::{Item, apply_inner, is_printable, item};

/// Re-opened sequences may take this many times the text, plus [`REOPEN_FLOOR`] units: a link of 4 kB around a
/// million one-cell lines would be 4 GB. Beyond it lines begin plain.
const REOPEN_FACTOR: usize = 16;
const REOPEN_FLOOR: usize = 65_536;

/// Wraps `text` at words into lines of at most `width` cells (0 is read as 1). The lines are joined by line feeds, which
/// are nowhere else: no item but a line end holds one.
pub(crate) fn wrap<U: Unit>(text: &[U], width: usize, tab: usize) -> Vec<U> {
    let mut wrapper = Wrapper {
        text,
        width: width.max(1),
        tab,
        out: Vec::with_capacity(text.len() + text.len() / 8),
        style: Style::PLAIN,
        budget: text.len().saturating_mul(REOPEN_FACTOR).saturating_add(REOPEN_FLOOR),
        line: 0,
        col: 0,
        gap: None,
        gap_style: Style::PLAIN,
        word_style: Style::PLAIN,
        in_gap: false,
        dropped: false,
        content: false,
        moved: Vec::new(),
    };
    wrapper.run();
    wrapper.out
}

/// The last gap between words on the line under way.
#[derive(Clone, Copy)]
struct Gap {
    /// Index in the output at which it starts.
    start: usize,
    /// Index in the output of the word behind it, and its column.
    word: usize,
    word_col: usize,
    /// Nothing but this gap is before the word.
    indent: bool,
}

struct Wrapper<'a, U> {
    text: &'a [U],
    width: usize,
    tab: usize,
    out: Vec<U>,
    style: Style,
    /// Units that re-opening may still write.
    budget: usize,
    /// Index in the output of the line under way, and its cells.
    line: usize,
    col: usize,
    gap: Option<Gap>,
    /// The states where the last gap and the word behind it start.
    gap_style: Style,
    word_style: Style,
    in_gap: bool,
    /// A space or tab of the last gap is not on the line, since it did not fit.
    dropped: bool,
    /// The line holds something besides an indent.
    content: bool,
    moved: Vec<U>,
}

impl<U: Unit> Wrapper<'_, U> {
    fn run(&mut self) {
        let mut at = 0;
        while at < self.text.len() {
            if self.col == 0
                && !self.in_gap
                && let Some(next) = self.plain_line(at)
            {
                at = next;
                continue;
            }
            let run = word_run(self.text, at, self.width.saturating_sub(self.col));
            if run > 0 {
                self.begin_word();
                self.out.extend_from_slice(&self.text[at..at + run]);
                self.col += run;
                at += run;
            } else if self.text[at].code() == 0x20 && self.text.get(at + 1).is_some_and(|next| is_printable(*next)) {
                self.space(at, 1);
                at += 1;
            } else {
                at = self.take(at);
            }
        }
        self.style.close_line(self.text, &mut self.out);
    }

    /// The common case at the start of a line: more printable ASCII than fits. Writes the words that fit, ends the line,
    /// and gives where the next word starts. `None`, and nothing done, where it is not that simple.
    fn plain_line(&mut self, at: usize) -> Option<usize> {
        let near = &self.text[at..self.text.len().min(at.saturating_add(self.width).saturating_add(1))];
        if near.len() <= self.width || near[0].code() == 0x20 || printable_run(near, 0) < near.len() {
            return None;
        }
        let is_space = |unit: &U| unit.code() == 0x20;
        let space = near.iter().rposition(is_space)?;
        // The next word must be in sight: what follows the last space might be a mark on it.
        let next = at + space + self.text[at + space..].iter().take_while(|unit| is_space(unit)).count();
        if !self.text.get(next).is_some_and(|unit| is_printable(*unit)) {
            return None;
        }
        let last = near[..space].iter().rposition(|unit| !is_space(unit))?;
        self.out.extend_from_slice(&near[..=last]);
        self.end_here();
        Some(next)
    }

    /// Takes the thing at `at` and gives its end.
    fn take(&mut self, at: usize) -> usize {
        match item(self.text, at, self.tab) {
            Item::Cluster { end, width, .. } if is_gap(self.text, at, end) => {
                self.space(at, width);
                end
            }
            Item::Cluster { end, width, inner } => {
                self.cluster(at, end, width, inner);
                end
            }
            Item::Escape { end, kind } => {
                // What is neither style nor link must survive a break: it belongs to the word.
                if matches!(kind, Kind::Plain | Kind::Broken) {
                    self.begin_word();
                }
                self.style.apply(self.text, at, end, kind);
                self.out.extend_from_slice(&self.text[at..end]);
                end
            }
            Item::Control { end } => {
                if !is_line_end(self.text, at) {
                    self.begin_word();
                    self.out.extend_from_slice(&self.text[at..end]);
                }
                end
            }
            Item::Newline { end } => {
                self.end_here();
                end
            }
        }
    }

    /// A space or tab: kept while it fits, dropped at the edge, where the line breaks anyway.
    fn space(&mut self, at: usize, width: usize) {
        if !self.in_gap {
            self.in_gap = true;
            let start = self.out.len();
            self.gap = Some(Gap { start, word: start, word_col: self.col, indent: !self.content });
            copy_style(&mut self.gap_style, &self.style);
        }
        if self.col.saturating_add(width) <= self.width {
            self.out.push(self.text[at]);
            self.col += width;
        } else {
            // Nothing behind this gap stays on the line.
            self.col = self.width;
            self.dropped = true;
        }
    }

    fn begin_word(&mut self) {
        self.content = true;
        if !self.in_gap {
            return;
        }
        self.in_gap = false;
        if let Some(gap) = &mut self.gap {
            (gap.word, gap.word_col) = (self.out.len(), self.col);
            copy_style(&mut self.word_style, &self.style);
        }
    }

    fn cluster(&mut self, at: usize, end: usize, width: usize, inner: bool) {
        // A mark behind a tab that was dropped would join what stands before the tab.
        let mut is_apart = width == 0 && self.dropped;
        self.begin_word();
        while self.col > 0 && (is_apart || width > 0 && self.col.saturating_add(width) > self.width) {
            is_apart = false;
            match self.gap.take() {
                Some(gap) if !gap.indent || gap.word_col >= self.width => self.break_at(gap),
                // No line can hold this word, or none beside its indent, which stays: it breaks here.
                _ => {
                    self.end_here();
                    self.content = true;
                }
            }
        }
        if inner {
            apply_inner(&mut self.style, self.text, at, end);
        }
        self.out.extend_from_slice(&self.text[at..end]);
        self.col = self.col.saturating_add(width);
    }

    /// Moves the word behind the gap to a new line. The gap goes; an indent stays, as a line.
    fn break_at(&mut self, gap: Gap) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.extend_from_slice(&self.out[gap.word..]);
        if gap.indent && gap.word == gap.start {
            // No blank of the indent fits: what was there of the line is not a line.
            self.out.truncate(self.line);
        } else {
            let (end, style) = if gap.indent { (gap.word, &self.word_style) } else { (gap.start, &self.gap_style) };
            self.out.truncate(end);
            style.close_line(self.text, &mut self.out);
            self.out.push(U::ascii(b'\n'));
        }
        let style = std::mem::replace(&mut self.word_style, Style::PLAIN);
        self.start_line(&style);
        self.word_style = style;
        self.out.extend_from_slice(&moved);
        self.moved = moved;
        self.col -= gap.word_col;
        self.content = true;
    }

    /// Ends the line at this place.
    fn end_here(&mut self) {
        self.style.close_line(self.text, &mut self.out);
        self.out.push(U::ascii(b'\n'));
        let style = std::mem::replace(&mut self.style, Style::PLAIN);
        self.start_line(&style);
        self.style = style;
        self.col = 0;
    }

    /// Starts a line in the state `style`.
    fn start_line(&mut self, style: &Style) {
        self.line = self.out.len();
        self.gap = None;
        self.in_gap = false;
        self.dropped = false;
        self.content = false;
        if style.weight() <= self.budget {
            style.open(self.text, &mut self.out);
            self.budget = self.budget.saturating_sub(self.out.len() - self.line);
        }
    }
}

/// A space or tab without marks on it.
fn is_gap<U: Unit>(text: &[U], at: usize, end: usize) -> bool {
    end == at + 1 && matches!(text[at].code(), 0x20 | 0x09)
}

/// A carriage return that belongs to a line end.
fn is_line_end<U: Unit>(text: &[U], at: usize) -> bool {
    text[at].code() == 0x0D && text.get(at + 1).is_some_and(|next| next.code() == 0x0A)
}

fn copy_style(to: &mut Style, from: &Style) {
    if to.version != from.version {
        *to = from.clone();
    }
}

/// Returns the number of units from `at` on, at most `limit`, that are graphic ASCII and clusters of their own for sure.
fn word_run<U: Unit>(text: &[U], at: usize, limit: usize) -> usize {
    let near = &text[at..text.len().min(at.saturating_add(limit).saturating_add(1))];
    let run = near.iter().take_while(|unit| matches!(unit.code(), 0x21..=0x7E)).count();
    // A mark may follow the last one, perhaps behind a sequence.
    let sure = text.get(at + run).is_none_or(|next| matches!(next.code(), 0x20..=0x7E | 0x0A));
    if sure { run.min(limit) } else { run.saturating_sub(1) }
}
