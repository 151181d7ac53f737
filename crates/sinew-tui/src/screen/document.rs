//! The blocks in order, their rows at the current width, and how many of these have left the window.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::text::row::{Line, Row};
use crate::text::style::Style;
use crate::text::wrap::{WrapMode, wrap};
use crate::theme::Theme;

/// The width and the colours for the layout of a block.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// The number of columns.
    pub width: usize,
    /// The theme.
    pub theme: &'a Theme,
}

/// The rows of a block.
///
/// The first `settled` rows never change at this width and may already have been dropped from the front; a growing
/// block keeps them and replaces the others ([`RenderedRows::reopen`]).
#[derive(Clone, Debug, Default)]
pub struct RenderedRows {
    /// The rows, without those dropped from the front.
    pub rows: Vec<Arc<Row>>,
    /// The number of `rows` that are final.
    pub settled: usize,
    /// The number of `rows`, at least `settled`, whose text stays, although their layout may still change. If the window
    /// has no room for them, they scroll out as they are, and the block continues after them.
    pub complete: usize,
    /// The line of the last complete row if text may still be appended to it; otherwise `None`.
    pub growing: Option<u32>,
    /// True if the block is complete: no rows will be added or changed.
    pub finished: bool,
}

impl RenderedRows {
    /// Removes the rows that are not final.
    pub fn reopen(&mut self) {
        self.rows.truncate(self.settled);
        (self.complete, self.growing) = (self.settled, None);
    }

    /// Appends rows.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.rows.extend(rows.into_iter().map(Arc::new));
    }

    /// Makes all rows so far final.
    pub fn settle(&mut self) {
        self.settled = self.rows.len();
        (self.complete, self.growing) = (self.settled, None);
    }

    /// Returns the number of rows that may scroll out.
    pub(super) fn leaving(&self) -> usize {
        self.complete.max(self.settled)
    }

    /// Makes all rows final and the block complete.
    pub fn finish(&mut self) {
        self.settle();
        self.finished = true;
    }
}

/// A part of the document that produces rows.
///
/// Logical lines are numbered from 1 ([`Row::line`]), with the same numbers at every width, and the rows of one line
/// settle together: if rows have scrolled out and the width changes, the block continues with the first line that is
/// still complete.
pub trait Block: Any {
    /// Returns a number that changes with the content.
    fn version(&self) -> u64;

    /// Updates `out`. If `restart`, `out` contains nothing of the block, because the width or the theme has changed.
    fn render(&mut self, layout: &Layout<'_>, restart: bool, out: &mut RenderedRows);

    /// Called when another block begins after this one.
    fn is_followed(&mut self) {}

    /// Returns the content as plain text, which is shown instead if the rendering fails.
    fn plain(&self) -> String;
}

/// Identifies a block of a [`crate::Screen`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BlockId(u64);

pub(super) struct Entry {
    pub(super) id: u64,
    block: Box<dyn Block>,
    spaced: bool,
    version: Option<u64>,
    /// The rows, beginning with those of a line that is partly out.
    pub(super) rendered: RenderedRows,
    /// The number of rows that have left the window.
    pub(super) retired: usize,
    /// The last logical line with a row that has left; `None` if no row has.
    line: Option<u32>,
    /// The text of that line that has left, without blanks.
    gone: String,
    /// After a change of width, or after rows have left that were not final: what remains of that line. The rows of the
    /// block itself are used from the next line on.
    carry: Option<Carry>,
    /// The rows of the block itself, while `carry` precedes them.
    own: RenderedRows,
    broken: bool,
}

/// The rest of a line that has partly left the window.
struct Carry {
    line: u32,
    rest: Rest,
}

enum Rest {
    /// The rows of a complete line, as they were laid out when it began to leave.
    Rows(Vec<Arc<Row>>),
    /// The line still grows: what follows this text in it ([`visible`]).
    After(String),
}

/// The rows of the first open block that the window shows and that are not final.
struct Shown {
    id: u64,
    rows: Vec<Arc<Row>>,
    /// The number of rows whose text stays, and the line that still grows.
    complete: usize,
    growing: Option<u32>,
}

#[derive(Default)]
pub(super) struct Document {
    entries: VecDeque<Entry>,
    shown: Option<Shown>,
    next: u64,
    width: usize,
}

/// Rows that have left are removed from memory in steps of this many.
const DROP_STEP: usize = 256;

impl Document {
    pub(super) fn push(&mut self, block: Box<dyn Block>, spaced: bool) -> BlockId {
        if let Some(last) = self.entries.back_mut() {
            last.block.is_followed();
        }
        let id = self.next;
        self.next += 1;
        let spaced = spaced && id > 0;
        self.entries.push_back(Entry {
            id,
            block,
            spaced,
            version: None,
            rendered: RenderedRows::default(),
            retired: 0,
            line: None,
            gone: String::new(),
            carry: None,
            own: RenderedRows::default(),
            broken: false,
        });
        BlockId(id)
    }

    /// Removes all blocks. Their ids are not reused.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.shown = None;
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn block<T: Block>(&mut self, id: BlockId) -> Option<&mut T> {
        let at = self.entries.binary_search_by_key(&id.0, |entry| entry.id).ok()?;
        (self.entries[at].block.as_mut() as &mut dyn Any).downcast_mut()
    }

    /// Returns the last block; `None` if there is none.
    pub(super) fn last(&self) -> Option<BlockId> {
        self.entries.back().map(|entry| BlockId(entry.id))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Lays out every block again.
    pub(super) fn invalidate(&mut self) {
        self.rewidth(self.width);
    }

    /// Lays out every block again for another width; a line that is partly out keeps its old rows, which are cut.
    pub(super) fn rewidth(&mut self, width: usize) {
        for entry in &mut self.entries {
            if entry.version.is_some() && entry.line.is_some() {
                entry.carry = entry.remainder();
            }
            // Otherwise, the rows of the partial line are still the previous ones.
            if let Some(Carry { rest: Rest::Rows(rows), .. }) = &mut entry.carry
                && width != self.width
            {
                *rows = recut(rows, width);
            }
            entry.retired = 0;
            entry.rendered = RenderedRows::default();
            entry.own = RenderedRows::default();
            entry.version = None;
        }
    }

    /// Updates the rows of all blocks.
    pub(super) fn layout(&mut self, width: usize, theme: &Theme) {
        self.width = width;
        let layout = Layout { width, theme };
        for entry in &mut self.entries {
            entry.update(&layout);
        }
    }

    /// Marks the next `rows` rows as gone from the window.
    pub(super) fn retire(&mut self, mut rows: usize) {
        for entry in &mut self.entries {
            let count = rows.min(entry.rendered.leaving().saturating_sub(entry.retired));
            if count > 0 {
                let left = entry.rendered.rows[entry.retired..entry.retired + count].to_vec();
                left.iter().for_each(|row| entry.note_gone(row));
                entry.retired += count;
                rows -= count;
                if entry.retired > entry.rendered.settled {
                    entry.hold();
                }
            }
            if rows == 0 {
                break;
            }
        }
        while let Some(first) = self.entries.front() {
            if !(first.rendered.finished && first.retired == first.rendered.rows.len() && first.version.is_some()) {
                break;
            }
            self.entries.pop_front();
        }
        if let Some(first) = self.entries.front_mut() {
            first.drop_carry();
            first.drop_retired();
        }
    }

    /// Remembers the rows of the first open block as the window shows them now, after `settled` final rows.
    pub(super) fn note_shown(&mut self, mut settled: usize) {
        self.shown = None;
        for entry in &self.entries {
            let (rendered, from) = (&entry.rendered, entry.retired + settled);
            if !rendered.finished {
                let rows = rendered.rows.get(from..).unwrap_or_default().to_vec();
                let complete = rendered.leaving().saturating_sub(from);
                self.shown = Some(Shown { id: entry.id, rows, complete, growing: rendered.growing });
                return;
            }
            settled = settled.saturating_sub(rendered.rows.len() - entry.retired);
        }
    }

    /// Marks rows that are complete but not final as gone, after the final ones: the first `count` of those that the
    /// window showed, which may have been laid out again since. [`Document::rewidth`] must follow.
    pub(super) fn retire_shown(&mut self, count: usize) {
        let Some(Shown { id, rows, complete, growing }) = self.shown.take() else { return };
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) else { return };
        let count = count.min(complete);
        if count == 0 {
            return;
        }
        rows[..count].iter().for_each(|row| entry.note_gone(row));
        let line = rows[count - 1].line;
        let rest = match growing == Some(line) {
            true => Rest::After(entry.gone.clone()),
            false => Rest::Rows(rows[count..].iter().take_while(|row| row.line == line).cloned().collect()),
        };
        entry.carry = Some(Carry { line, rest });
        entry.version = None;
    }
}

impl Entry {
    fn update(&mut self, layout: &Layout<'_>) {
        let version = self.block.version();
        if self.version == Some(version) {
            return;
        }
        let restart = self.version.is_none();
        let carried = self.carry.is_some();
        let own = if carried { &mut self.own } else { &mut self.rendered };
        if restart && self.spaced && !self.broken {
            own.extend([Row::default()]);
            own.settle();
        }
        let settled = own.settled;
        let done = !self.broken
            && catch_unwind(AssertUnwindSafe(|| self.block.render(layout, restart, own))).is_ok()
            && own.settled >= settled.min(own.rows.len());
        if !done {
            self.broken = true;
            let text = catch_unwind(AssertUnwindSafe(|| self.block.plain())).unwrap_or_default();
            own.rows.truncate(settled);
            let text = text.lines().enumerate().skip(usize::from(!restart) * settled);
            let mut rows = Vec::new();
            for (number, line) in text {
                let none = Line::new();
                let number = u32::try_from(number).unwrap_or(u32::MAX - 1) + 1;
                wrap(&Line::plain(line), layout.width, WrapMode::Words, number, (&none, &none), &mut rows);
            }
            own.extend(rows);
            own.finish();
        }
        self.version = Some(version);
        self.join_carry();
    }

    /// Puts what remains of the partial line before the block's own rows.
    fn join_carry(&mut self) {
        let Some(Carry { line, rest }) = &self.carry else { return };
        let (own, line) = (&self.own, *line);
        let before = own.rows.iter().take_while(|row| row.line < line).count();
        let skip = before + own.rows[before..].iter().take_while(|row| row.line == line).count();
        let is_open = matches!(rest, Rest::After(_)) && own.settled < skip;
        let rest = match rest {
            Rest::Rows(rows) => rows.clone(),
            Rest::After(gone) => after(&own.rows[before..skip], gone),
        };
        let (rows, joined) = (rest.len(), &mut self.rendered);
        joined.rows.clear();
        joined.rows.extend(rest);
        joined.rows.extend(own.rows[skip..].iter().cloned());
        joined.settled = if is_open { 0 } else { rows + own.settled.saturating_sub(skip) };
        joined.complete = match own.leaving().checked_sub(skip) {
            Some(complete) => rows + complete,
            None if is_open => rows.saturating_sub(skip - own.leaving()),
            None => rows,
        };
        (joined.finished, joined.growing) = (own.finished, own.growing);
    }

    fn note_gone(&mut self, row: &Row) {
        if self.line != Some(row.line) {
            self.line = Some(row.line);
            self.gone.clear();
        }
        self.gone.extend(row.text().chars().filter(is_visible));
    }

    /// Returns what remains of the line that has partly left.
    fn remainder(&self) -> Option<Carry> {
        let line = self.line?;
        let rendered = &self.rendered;
        let rest = match rendered.growing == Some(line) {
            true => Rest::After(self.gone.clone()),
            false => {
                let rest = rendered.rows[self.retired..].iter();
                Rest::Rows(rest.take_while(|row| row.line == line).cloned().collect())
            }
        };
        Some(Carry { line, rest })
    }

    /// Keeps the rows that have left although the block may lay them out again.
    fn hold(&mut self) {
        let carry = self.remainder();
        if self.carry.is_none() {
            self.own = std::mem::take(&mut self.rendered);
        }
        self.carry = carry;
        self.retired = 0;
        self.join_carry();
    }

    /// Returns to the block's own rows after the partial line has left.
    fn drop_carry(&mut self) {
        let Some(Carry { line, .. }) = &self.carry else { return };
        let line = *line;
        let skip = self.own.rows.iter().take_while(|row| row.line <= line).count();
        let rest = self.rendered.rows.len() - (self.own.rows.len() - skip).min(self.rendered.rows.len());
        if self.version.is_none() || self.retired < rest || skip > self.own.settled {
            return;
        }
        self.carry = None;
        self.rendered = std::mem::take(&mut self.own);
        self.retired = self.retired - rest + skip;
    }

    fn drop_retired(&mut self) {
        if self.retired < DROP_STEP || self.carry.is_some() {
            return;
        }
        self.rendered.rows.drain(..self.retired);
        self.rendered.settled -= self.retired;
        self.rendered.complete = self.rendered.complete.saturating_sub(self.retired);
        self.retired = 0;
    }
}

/// Returns false for blanks and the marks before quoted rows, whose number depends on the width.
fn is_visible(c: &char) -> bool {
    !matches!(c, ' ' | '▌')
}

/// Returns the rows of a line without the text that has left. The text may have changed since, if Markdown became
/// complete: then the line continues after the longest end of that text that it contains.
fn after(rows: &[Arc<Row>], gone: &str) -> Vec<Arc<Row>> {
    let gone: Vec<char> = gone.chars().collect();
    let text: Vec<char> = rows.iter().flat_map(|row| row.text().chars().filter(is_visible)).collect();
    let mut left = continues_at(&text, &gone);
    let mut out = Vec::new();
    for row in rows {
        let count = row.text().chars().filter(is_visible).count();
        if left == 0 {
            out.push(Arc::clone(row));
        } else if left < count {
            let line = row.to_line();
            let prefix = row.text().len() - row.text().trim_start_matches(|c| !is_visible(&c)).len();
            let cut = row.text().char_indices().filter(|(_, c)| is_visible(c)).nth(left).map_or(0, |(at, _)| at);
            let mut rest = line.part(0, prefix);
            rest.append(&line.part(cut, row.text().len()));
            let mut rest = Row::new(rest, row.line).filled(row.fill).foreign(row.foreign);
            rest.mark = row.mark;
            out.push(Arc::new(rest));
        }
        left = left.saturating_sub(count);
    }
    out
}

/// Returns the position in `text` after the part that has left.
fn continues_at(text: &[char], gone: &[char]) -> usize {
    /// Longer ends are not compared.
    const END: usize = 32;
    if text.starts_with(gone) {
        return gone.len();
    }
    let found = (1..=gone.len().min(END)).rev().find_map(|length| {
        let end = &gone[gone.len() - length..];
        let ends = text.windows(length).enumerate().filter(|(_, part)| *part == end).map(|(at, _)| at + length);
        ends.min_by_key(|at| at.abs_diff(gone.len()))
    });
    found.unwrap_or(gone.len().min(text.len()))
}

/// Cuts rows for another width: joins the rows of one line of the terminal, and splits them between clusters.
fn recut(rows: &[Arc<Row>], width: usize) -> Vec<Arc<Row>> {
    let mut out = Vec::new();
    let mut joined: Option<Line> = None;
    for row in rows {
        let line = joined.get_or_insert_with(Line::new);
        line.append(&row.to_line());
        if !row.soft {
            let none = Line::new();
            let line = joined.take().unwrap_or_default();
            let from = out.len();
            wrap(&line, width, WrapMode::Cells, row.line, (&none, &none), &mut out);
            for cut in &mut out[from..] {
                cut.fill = row.fill;
            }
        }
    }
    if let (Some(line), Some(last)) = (joined, rows.last()) {
        let none = Line::new();
        wrap(&line, width, WrapMode::Cells, last.line, (&none, &none), &mut out);
    }
    out.into_iter().map(Arc::new).collect()
}

/// Returns a row that replaces hidden rows.
pub(super) fn hidden_row(text: &str, width: usize, style: Style) -> Arc<Row> {
    Arc::new(Line::styled(text, style).into_row(width))
}
