//! Lines of a given width.
//!
//! Wrapping needs one pass. The current line is written as the text is read; if a cluster does not fit, the word after
//! the last gap moves to a new line, which starts with the state at the start of the word.

use super::escape::Kind;
use super::style::Style;
use super::unit::{Unit, may_break_between, printable_run};
use super::walk::{Item, apply_inner, is_printable, item};

/// The size limit of reopened sequences relative to the text, plus [`REOPEN_FLOOR`] units: a link of 4 kB around a
/// million one-cell lines would need 4 GB. Beyond the limit lines start without attributes.
const REOPEN_FACTOR: usize = 16;
const REOPEN_FLOOR: usize = 65_536;

/// Wraps `text` at words into lines of at most `width` cells (0 means 1). The lines are separated by line feeds, which
/// do not occur inside lines, because only a line end contains one. With `cjk_rules`, no line of a broken word starts with
/// a closing mark or ends with an opening one next to a wide character, if another place is on the line.
pub(crate) fn wrap<U: Unit>(text: &[U], width: usize, tab: usize, cjk_rules: bool) -> Vec<U> {
    let mut wrapper = Wrapper {
        text,
        width: width.max(1),
        cjk_rules,
        last: None,
        place: None,
        place_style: Style::PLAIN,
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

/// The last gap between words on the current line.
#[derive(Clone, Copy)]
struct Gap {
    /// The output index of its start.
    start: usize,
    /// The output index of the following word, and its column.
    word: usize,
    word_col: usize,
    /// True if only this gap precedes the word.
    indent: bool,
}

struct Wrapper<'a, U> {
    text: &'a [U],
    width: usize,
    cjk_rules: bool,
    /// The previous character of the word, and true if it is wide.
    last: Option<(u32, bool)>,
    /// The last place at which the word may be broken: its output index and column. Only next to wide characters.
    place: Option<(usize, usize)>,
    place_style: Style,
    tab: usize,
    out: Vec<U>,
    style: Style,
    /// The number of units that reopened sequences may still use.
    budget: usize,
    /// The output index of the current line, and its width so far.
    line: usize,
    col: usize,
    gap: Option<Gap>,
    /// The states at the start of the last gap and of the following word.
    gap_style: Style,
    word_style: Style,
    in_gap: bool,
    /// True if a space or tab of the last gap was dropped, because it did not fit.
    dropped: bool,
    /// True if the line contains more than an indent.
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
                self.note_place(self.text[at].code(), false);
                self.last = Some((self.text[at + run - 1].code(), false));
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

    /// Handles the common case at the start of a line: more printable ASCII than fits. Writes the words that fit, ends
    /// the line, and returns the start of the next word. `None`, without any change, if the case does not apply.
    fn plain_line(&mut self, at: usize) -> Option<usize> {
        let near = &self.text[at..self.text.len().min(at.saturating_add(self.width).saturating_add(1))];
        if near.len() <= self.width || near[0].code() == 0x20 || printable_run(near, 0) < near.len() {
            return None;
        }
        let is_space = |unit: &U| unit.code() == 0x20;
        let space = near.iter().rposition(is_space)?;
        // The start of the next word must be known, because a mark may follow the last space.
        let next = at + space + self.text[at + space..].iter().take_while(|unit| is_space(unit)).count();
        if !self.text.get(next).is_some_and(|unit| is_printable(*unit)) {
            return None;
        }
        let last = near[..space].iter().rposition(|unit| !is_space(unit))?;
        self.out.extend_from_slice(&near[..=last]);
        self.end_here();
        Some(next)
    }

    /// Processes the item at `at` and returns its end.
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
                // A sequence that is neither style nor link must not be lost at a break: it belongs to the word.
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

    /// Processes a space or tab: it is kept while it fits, and dropped at the edge, where the line breaks anyway.
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
            // Nothing after this gap stays on the line.
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
        (self.last, self.place) = (None, None);
        if let Some(gap) = &mut self.gap {
            (gap.word, gap.word_col) = (self.out.len(), self.col);
            copy_style(&mut self.word_style, &self.style);
        }
    }

    /// Records that the word may be broken before the next character.
    fn note_place(&mut self, next: u32, is_wide: bool) {
        let Some((last, was_wide)) = self.last.filter(|_| self.cjk_rules) else { return };
        if (is_wide || was_wide) && may_break_between(last, next) {
            self.place = Some((self.out.len(), self.col));
            copy_style(&mut self.place_style, &self.style);
        }
    }

    fn cluster(&mut self, at: usize, end: usize, width: usize, inner: bool) {
        // A mark after a dropped tab would join the character before the tab.
        let mut is_apart = width == 0 && self.dropped;
        self.begin_word();
        // A cluster without cells belongs to the character before it.
        let first = (width > 0 && self.cjk_rules).then(|| U::character(self.text, at));
        if let Some(first) = first {
            self.note_place(first, width > 1);
        }
        while self.col > 0 && (is_apart || width > 0 && self.col.saturating_add(width) > self.width) {
            is_apart = false;
            match self.gap.take() {
                Some(gap) if !gap.indent || gap.word_col >= self.width => self.break_at(gap),
                // The word fits on no line, or not next to its indent, which is kept: it is broken here, or at the last
                // place that the rules allow.
                _ => match self.place.take() {
                    Some((start, col)) if start < self.out.len() && col > 0 && start > self.line => {
                        self.break_word(start, col);
                    }
                    _ => {
                        self.end_here();
                        self.content = true;
                    }
                },
            }
        }
        if inner {
            apply_inner(&mut self.style, self.text, at, end);
        }
        self.out.extend_from_slice(&self.text[at..end]);
        self.col = self.col.saturating_add(width);
        if let Some(first) = first {
            self.last = Some((first, width > 1));
        }
    }

    /// Moves the end of the word to a new line.
    fn break_word(&mut self, start: usize, col: usize) {
        let moved = self.lift(start);
        let style = std::mem::replace(&mut self.place_style, Style::PLAIN);
        style.close_line(self.text, &mut self.out);
        self.out.push(U::ascii(b'\n'));
        self.continue_line(moved, &style, col);
        self.place_style = style;
    }

    /// Moves the word after the gap to a new line. The gap is dropped; an indent is kept as a line.
    fn break_at(&mut self, gap: Gap) {
        let moved = self.lift(gap.word);
        if gap.indent && gap.word == gap.start {
            // No blank of the indent fits, so the line is removed.
            self.out.truncate(self.line);
        } else {
            let (end, style) = if gap.indent { (gap.word, &self.word_style) } else { (gap.start, &self.gap_style) };
            self.out.truncate(end);
            style.close_line(self.text, &mut self.out);
            self.out.push(U::ascii(b'\n'));
        }
        let style = std::mem::replace(&mut self.word_style, Style::PLAIN);
        self.continue_line(moved, &style, gap.word_col);
        self.word_style = style;
    }

    /// Removes the output from `start` on and returns it.
    fn lift(&mut self, start: usize) -> Vec<U> {
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.extend_from_slice(&self.out[start..]);
        self.out.truncate(start);
        moved
    }

    /// Starts a line in the state `style` with the output that was at column `col` of the last one.
    fn continue_line(&mut self, moved: Vec<U>, style: &Style, col: usize) {
        self.start_line(style);
        self.out.extend_from_slice(&moved);
        self.moved = moved;
        self.col -= col;
        self.content = true;
    }

    /// Ends the line at this position.
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
        self.place = None;
        self.in_gap = false;
        self.dropped = false;
        self.content = false;
        if style.weight() <= self.budget {
            style.open(self.text, &mut self.out);
            self.budget = self.budget.saturating_sub(self.out.len() - self.line);
        }
    }
}

/// Returns true for a space or tab without marks.
fn is_gap<U: Unit>(text: &[U], at: usize, end: usize) -> bool {
    end == at + 1 && matches!(text[at].code(), 0x20 | 0x09)
}

/// Returns true for a carriage return that belongs to a line end.
fn is_line_end<U: Unit>(text: &[U], at: usize) -> bool {
    text[at].code() == 0x0D && text.get(at + 1).is_some_and(|next| next.code() == 0x0A)
}

fn copy_style(to: &mut Style, from: &Style) {
    if to.version != from.version {
        *to = from.clone();
    }
}

/// Returns the number of units from `at` on, at most `limit`, that are graphic ASCII and certainly complete clusters.
fn word_run<U: Unit>(text: &[U], at: usize, limit: usize) -> usize {
    let near = &text[at..text.len().min(at.saturating_add(limit).saturating_add(1))];
    let run = near.iter().take_while(|unit| matches!(unit.code(), 0x21..=0x7E)).count();
    // A mark may follow the last one, even after a sequence.
    let sure = text.get(at + run).is_none_or(|next| matches!(next.code(), 0x20..=0x7E | 0x0A));
    if sure { run.min(limit) } else { run.saturating_sub(1) }
}
