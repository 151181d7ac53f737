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
    /// True if the block is complete: no rows will be added or changed.
    pub finished: bool,
}

impl RenderedRows {
    /// Removes the rows that are not final.
    pub fn reopen(&mut self) {
        self.rows.truncate(self.settled);
    }

    /// Appends rows.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.rows.extend(rows.into_iter().map(Arc::new));
    }

    /// Makes all rows so far final.
    pub fn settle(&mut self) {
        self.settled = self.rows.len();
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
    /// After a change of width: the remaining rows of that line, and the line from which the rows of the block are
    /// used.
    carry: Option<(u32, Vec<Arc<Row>>)>,
    /// The rows of the block itself, while `carry` precedes them.
    own: RenderedRows,
    broken: bool,
}

#[derive(Default)]
pub(super) struct Document {
    entries: VecDeque<Entry>,
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
            carry: None,
            own: RenderedRows::default(),
            broken: false,
        });
        BlockId(id)
    }

    /// Removes all blocks. Their ids are not reused.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
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
            if entry.version.is_none() {
                // Not laid out since the last change: the rows of the partial line are still the previous ones.
                if let Some((_, rest)) = &mut entry.carry {
                    *rest = recut(rest, width);
                }
            } else if let Some(line) = entry.line {
                let rest = entry.rendered.rows[entry.retired..].iter();
                let rest: Vec<_> = rest.take_while(|row| row.line == line).cloned().collect();
                entry.carry = Some((line, if width == self.width { rest } else { recut(&rest, width) }));
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

    /// Marks the next `rows` final rows as gone from the window.
    pub(super) fn retire(&mut self, mut rows: usize) {
        for entry in &mut self.entries {
            let count = rows.min(entry.rendered.settled - entry.retired);
            if count > 0 {
                entry.retired += count;
                entry.line = Some(entry.rendered.rows[entry.retired - 1].line);
                rows -= count;
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
        if let Some((line, rest)) = &self.carry {
            let skip = self.own.rows.iter().take_while(|row| row.line <= *line).count();
            // If the line is still open, the rows after it settle later.
            self.rendered.rows.clear();
            self.rendered.rows.extend(rest.iter().cloned());
            self.rendered.rows.extend(self.own.rows[skip..].iter().cloned());
            self.rendered.settled = rest.len() + self.own.settled.saturating_sub(skip);
            self.rendered.finished = self.own.finished;
        }
    }

    /// Returns to the block's own rows after the partial line has left.
    fn drop_carry(&mut self) {
        let Some((line, rest)) = self.carry.take_if(|(_, rest)| self.version.is_some() && self.retired >= rest.len())
        else {
            return;
        };
        self.rendered = std::mem::take(&mut self.own);
        let skip = self.rendered.rows.iter().take_while(|row| row.line <= line).count();
        self.retired = self.retired - rest.len() + skip;
    }

    fn drop_retired(&mut self) {
        if self.retired < DROP_STEP || self.carry.is_some() {
            return;
        }
        self.rendered.rows.drain(..self.retired);
        self.rendered.settled -= self.retired;
        self.retired = 0;
    }
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
