//! The ledger: the rows of the window as the terminal shows them, and the frames that change them.

use std::sync::Arc;

use super::compose::{Plan, WindowRow};
use super::paint::{Columns, RowPainter};
use super::palette::Palette;
use super::{ScreenOptions, Size};
use crate::text::row::Row;

/// The rows of the window as the terminal shows them, and the position of the cursor.
///
/// Rows are counted from the first of the window; its position on the screen is not needed. A frame is treated as a
/// tape: the rows that scroll out and the rows of the next window follow one another from the first row of the current
/// window. Existing rows are changed in place, the others are appended with line feeds, and the terminal scrolls by
/// itself.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) rows: Vec<WindowRow>,
    /// Rows that have scrolled out and share a line of the terminal with the first of `rows`.
    pub(super) head: Vec<Arc<Row>>,
    /// The number of rows at the top that are final and scroll out next.
    pub(super) settled: usize,
    /// The number of rows at the top, including those, that may scroll out.
    pub(super) complete: usize,
    /// The row and column of the cursor; the column is unknown after writing the last column.
    pub(super) cursor: (usize, Option<usize>),
    /// The minimum height of the window.
    pub(super) floor: usize,
    /// The colours, characters and options of the shown rows.
    options: ScreenOptions,
}

/// Erases the cursor's row, if the cursor is in the first column, and everything below. Does not begin at the first
/// column: if a screen is erased from its first cell, tmux copies it to the scrollback, where it would be duplicated.
pub(super) const ERASE_BELOW: &[u8] = b"\x1b[C\x1b[J\r\x1b[K";

impl Window {
    pub(super) fn new() -> Window {
        Window {
            rows: Vec::new(),
            head: Vec::new(),
            settled: 0,
            complete: 0,
            cursor: (0, Some(0)),
            floor: 0,
            options: ScreenOptions::default(),
        }
    }

    pub(super) fn height(&self) -> usize {
        self.floor.max(self.rows.len())
    }

    /// Returns the bytes of a frame. If `fresh`, content below the cursor may belong to other programs and is erased.
    pub(super) fn paint(&mut self, plan: &Plan, size: Size, options: ScreenOptions, fresh: bool) -> Vec<u8> {
        // A terminal that drops blanks after a text has moved the cursor there if it was resized twice, without
        // reporting it in time.
        let is_behind =
            |row: &Row| row.text().ends_with(' ') || self.cursor.1.is_some_and(|column| column > row.width());
        let may_have_moved =
            options.keeps_length && self.rows.get(self.cursor.0).is_none_or(|shown| is_behind(&shown.row));
        let column = self.cursor.1.filter(|_| !may_have_moved);
        let mut painter = RowPainter::new(size.columns, options, (self.cursor.0, column));
        if fresh {
            painter.erase_below();
        }
        let old_rows = self.rows.len();
        let caret_row = self.cursor.0;
        let mut touched_others = false;
        for (index, next) in plan.rows.iter().enumerate() {
            let before = self.rows.get(index);
            let above = index.checked_sub(1).map(|above| (&plan.rows[above], self.rows.get(above)));
            let moves = painter.writes();
            // The connection to the row above: the terminal either wraps by itself between the two, or the line must be
            // split.
            let continues = above.is_some_and(|(above, _)| above.joined);
            let was = above.is_some_and(|(_, old)| old.is_some_and(|old| old.joined)) && before.is_some();
            let kept = was && above.is_some_and(|(_, _)| !painter.touched_end(index - 1));
            if continues && !kept {
                let (above, _) = above.unwrap_or((next, None));
                painter.join(index - 1, &above.row, &next.row, index >= old_rows);
            } else if !continues && index >= old_rows && index > 0 {
                painter.feed(index - 1);
            } else if was && !continues {
                let (above, _) = above.unwrap_or((next, None));
                painter.part(index - 1, &above.row);
            }
            let mut old = before.map(|old| (old, self.options.palette()));
            // Not if the row shares a line with another row, which erasing would split.
            let alone = !continues && !was && !next.joined;
            if options.keeps_length
                && alone
                && before.is_some_and(|old| !old.joined && old.row.width() > next.row.width())
            {
                painter.erase_row(index);
                old = None;
            }
            paint_row(&mut painter, index, &next.row, old, continues && !kept, next.joined);
            touched_others |= painter.writes() != moves && index != caret_row;
        }
        let appended = plan.rows.len() > old_rows;
        let caret = (plan.retire + plan.caret.0, plan.caret.1);
        painter.flush_style();
        painter.autowrap(false);
        if !may_have_moved || painter.writes() > 0 || self.cursor != (caret.0, Some(caret.1)) {
            painter.go(caret.0, caret.1);
        }
        let bare = !appended && !touched_others && painter.spans() <= 1 && !fresh;
        self.follow_line(&plan.rows[..plan.retire.min(plan.rows.len())]);
        self.rows = plan.rows[plan.retire.min(plan.rows.len())..].to_vec();
        (self.settled, self.complete) = (plan.settled, plan.complete);
        self.cursor = (plan.caret.0, Some(plan.caret.1));
        self.options = options;
        painter.into_bytes(bare)
    }

    /// Keeps the rows of the line that continues at the top of the window, of which `gone` have just scrolled out.
    fn follow_line(&mut self, gone: &[WindowRow]) {
        let open = gone.iter().rev().take_while(|row| row.joined).count();
        if open < gone.len() {
            self.head.clear();
        }
        self.head.extend(gone[gone.len() - open..].iter().map(|shown| Arc::clone(&shown.row)));
    }

    /// Moves to the first row of the window and erases everything from there; the next frame paints all rows.
    pub(super) fn restart(&mut self, size: Size) -> Vec<u8> {
        let mut out = b"\x1b[m".to_vec();
        if self.rows.len() >= size.rows {
            out.extend_from_slice(b"\x1b[H");
        } else {
            if self.cursor.0 > 0 {
                out.extend_from_slice(format!("\x1b[{}A", self.cursor.0).as_bytes());
            }
            out.push(b'\r');
        }
        out.extend_from_slice(ERASE_BELOW);
        self.floor = self.height();
        self.rows.clear();
        self.head.clear();
        (self.settled, self.complete) = (0, 0);
        self.cursor = (0, Some(0));
        out
    }

    /// Erases what is not final and moves after the final rows. Returns the bytes, and the number of final rows. `lost`
    /// is true if the terminal was resized and the positions of the rows are unknown, so only the part below the cursor
    /// is erased.
    pub(super) fn leave(&mut self, lost: bool) -> (Vec<u8>, usize) {
        let mut out = Vec::new();
        let settled = self.settled;
        if !self.rows.is_empty() {
            if lost {
                out.push(b'\r');
                out.extend_from_slice(ERASE_BELOW);
            } else {
                let (row, _) = self.cursor;
                if settled == self.rows.len() {
                    // The window contains nothing else: a new row is needed below it.
                    if settled - 1 > row {
                        out.extend_from_slice(format!("\x1b[{}B", settled - 1 - row).as_bytes());
                    }
                    out.extend_from_slice(b"\r\n");
                } else {
                    if row > settled {
                        out.extend_from_slice(format!("\x1b[{}A", row - settled).as_bytes());
                    } else if settled > row {
                        out.extend_from_slice(format!("\x1b[{}B", settled - row).as_bytes());
                    }
                    out.push(b'\r');
                }
                out.extend_from_slice(ERASE_BELOW);
            }
        }
        (out, self.abandon())
    }

    /// Forgets the window. Returns the number of its final rows, which stay on the screen.
    pub(super) fn abandon(&mut self) -> usize {
        let settled = self.settled;
        *self = Window { options: self.options, ..Window::new() };
        settled
    }
}

/// Updates one row from `old`. `begun` is true if the first cluster was written with the row above, `joined` if the row
/// is as wide as the screen and continues in the next.
fn paint_row(
    painter: &mut RowPainter,
    index: usize,
    row: &Arc<Row>,
    old: Option<(&WindowRow, Palette)>,
    begun: bool,
    joined: bool,
) {
    let palette = painter.palette();
    let same = old.is_some_and(|(old, old_palette)| {
        old_palette == palette && (Arc::ptr_eq(&old.row, row) || old.row == *row) && !begun
    });
    if same {
        return;
    }
    let columns = painter.columns();
    let next = Columns::new(row, palette, columns);
    let empty = Row::default();
    let before = old.map_or((&empty, palette), |(old, palette)| (&*old.row, palette));
    let before = Columns::new(before.0, before.1, columns);
    if painter.differ(&before, &next) {
        painter.autowrap(joined);
    }
    painter.row(index, &before, &next, begun, row.mark.filter(|_| old.is_none_or(|(old, _)| old.row.mark != row.mark)));
}
