//! Resizing: finds the rows again after the terminal has laid them out differently.
//!
//! Terminals treat rows that are wider than the new width in three ways. The position of the cursor afterwards shows
//! which one applies, and thus how many rows of the terminal each row of the window occupies, and which of them are
//! still on the screen. Rows that were pushed out count as scrolled out; the rest is erased and repainted.

use std::sync::Arc;

use super::compose::WindowRow;
use super::window::ERASE_BELOW;
use super::{Frame, Reflow, Screen, Size};
use crate::text::row::Row;

/// The positions of rows after a resize.
#[derive(Debug, PartialEq, Eq)]
struct Placement {
    /// The first terminal row of each row, relative to the cursor's; the last entry is the row after them.
    tops: Vec<isize>,
    /// The column of the cursor.
    column: usize,
}

impl Screen {
    /// Handles a new size of the terminal. Painting waits until the position of the cursor is known or abandoned: the
    /// caller writes [`Screen::ask_place`] when the size has not changed for 30 ms, and calls [`Screen::give_up_place`]
    /// when no reply arrived within 150 ms. If the size changes again meanwhile, call this again and repeat the query.
    pub fn resize(&mut self, size: Size) {
        self.painted.get_or_insert(self.size);
        self.size = size;
        // The reply to an earlier query may describe another size.
        self.asked = false;
    }

    /// Returns true if a resize waits for the position of the cursor.
    #[must_use]
    pub fn is_resizing(&self) -> bool {
        self.painted.is_some()
    }

    /// Returns the query for the position of the cursor. Pass its reply to [`Screen::place`].
    pub fn ask_place(&mut self) -> &'static [u8] {
        self.questions += 1;
        self.asked = true;
        b"\x1b[6n"
    }

    /// Handles the row and column of the cursor as the terminal reported them, counted from 1. If it is the reply to
    /// the last query, ends the resize and returns its frame; for earlier and late replies, returns an empty frame.
    pub fn place(&mut self, row: usize, column: usize) -> Frame {
        let Some(left) = self.questions.checked_sub(1) else { return Frame::default() };
        self.questions = left;
        match self.painted {
            Some(before) if left == 0 && self.asked => self.finish_resize(before, Some((row, column))),
            _ => Frame::default(),
        }
    }

    /// Ends a resize without a reply: nothing above the cursor is changed, and rows that were not final may remain
    /// there once.
    pub fn give_up_place(&mut self) -> Frame {
        match self.painted {
            Some(before) => self.finish_resize(before, None),
            None => Frame::default(),
        }
    }

    fn finish_resize(&mut self, before: Size, cursor: Option<(usize, usize)>) -> Frame {
        let mut bytes = b"\x1b[m".to_vec();
        let found = cursor.and_then(|cursor| self.find_window(before, cursor));
        let (mut up, mut first) = found.unwrap_or((0, self.window.cursor.0));
        if let (Some(_), Some((row, _))) = (found, cursor)
            && first > self.window.complete
        {
            // Rows that may not scroll out were pushed out. If the end of one is still on the screen, it is erased, too:
            // what may stay ends above the screen.
            (up, first) = (row - 1, self.window.complete);
        }
        // The window may become lower: the rows of the old width may have needed more space.
        let (complete, settled) = (self.window.complete, self.window.abandon());
        self.document.retire(first.min(settled));
        self.document.retire_shown(first.min(complete).saturating_sub(settled));
        self.document.rewidth(self.size.columns);
        self.painted = None;
        if up > 0 {
            bytes.extend_from_slice(format!("\x1b[{up}A").as_bytes());
        }
        bytes.push(b'\r');
        bytes.extend_from_slice(ERASE_BELOW);
        let frame = self.paint();
        bytes.extend_from_slice(&frame.bytes);
        Frame { bytes, more: frame.more }
    }

    /// Returns the number of rows above the cursor at which the new window begins, the first row of the current window
    /// in it.
    fn find_window(&self, before: Size, (row, column): (usize, usize)) -> Option<(usize, usize)> {
        let rows = &self.window.rows;
        let caret = (self.window.cursor.0, self.window.cursor.1.unwrap_or(before.columns - 1));
        let (above, column) = (row.checked_sub(1)?, column.checked_sub(1)?);
        if above >= self.size.rows || rows.is_empty() {
            return None;
        }
        // Some terminals (tmux) drop the blanks between the end of a row and the cursor, and move it directly after the
        // text.
        let behind_text = (caret.0, caret.1.min(rows.get(caret.0).map_or(0, |shown| shown.row.width())));
        let placed = [caret, behind_text].into_iter().find_map(|caret| self.fitting(caret, column))?;
        // Finds the first row that is completely on the screen and begins a line of the terminal.
        let starts = |index: usize| match index.checked_sub(1) {
            None => self.window.head.is_empty(),
            Some(before) => !rows[before].joined,
        };
        let from = if self.options.keeps_settled { self.window.settled.min(rows.len() - 1) } else { 0 };
        let first = (from..rows.len()).find(|&index| placed.tops[index] + above as isize >= 0 && starts(index))?;
        let up = usize::try_from(-placed.tops[first]).ok()?;
        Some((up, first))
    }
}

impl Screen {
    /// Places the rows by the first model that puts the cursor into the reported column.
    fn fitting(&self, caret: (usize, usize), column: usize) -> Option<Placement> {
        let models = self.options.reflow.into_iter().chain([Reflow::Wrap, Reflow::WrapOthers, Reflow::Cut]);
        let (head, rows, width) = (&self.window.head, &self.window.rows, self.size.columns);
        // If two models match, the one that reaches less far up is used: a duplicate row is better than a lost one.
        models
            .flat_map(|model| {
                [false, true]
                    .map(|counted| place_rows(head, rows, caret, width, model, counted))
                    .into_iter()
                    .filter(|placement| placement.column == column)
                    .max_by_key(|placement| placement.tops[0])
            })
            .next()
    }
}

/// Returns the position of each row at `width`, and of the cursor, which is at row and column `caret`. `head` are the
/// rows above the first one that belong to the same line of the terminal. `counted` is true if the terminal locates the
/// cursor by counting cells, without those that a wide cluster leaves free at an edge.
fn place_rows(
    head: &[Arc<Row>],
    rows: &[WindowRow],
    caret: (usize, usize),
    width: usize,
    model: Reflow,
    counted: bool,
) -> Placement {
    let mut tops = Vec::with_capacity(rows.len() + 1);
    let mut cursor = (0, caret.1.min(width - 1));
    let mut top = 0;
    let mut at = 0;
    while at < rows.len() {
        let length = rows[at..].iter().take_while(|row| row.joined).count() + 1;
        let line = &rows[at..rows.len().min(at + length)];
        let head = if at == 0 { head } else { &[] };
        let holds_caret = (at..at + line.len()).contains(&caret.0);
        if model == Reflow::Cut || (model == Reflow::WrapOthers && holds_caret) {
            tops.extend((0..line.len()).map(|index| top + index as isize));
            if holds_caret {
                cursor.0 = top + (caret.0 - at) as isize;
            }
            top += line.len() as isize;
            at += line.len();
            continue;
        }
        let (mut row, mut column) = (0, 0);
        let mut advance = |cells: usize| {
            if column + cells > width {
                (row, column) = (row + 1, 0);
            }
            let place = (row, column);
            column += cells;
            place
        };
        for cell in head.iter().flat_map(|row| row.cells()) {
            advance(cell.width);
        }
        for (index, shown) in line.iter().enumerate() {
            let mut used = 0;
            let mut begin = None;
            for cell in shown.row.cells() {
                let place = advance(cell.width);
                begin.get_or_insert(place.0);
                if at + index == caret.0 && (used..used + cell.width).contains(&caret.1) {
                    cursor = (top + place.0, place.1);
                }
                used += cell.width;
            }
            if at + index == caret.0 && caret.1 >= used {
                // After the text: the blanks up to the cursor count as text, and a cursor beyond the edge stays at the
                // edge.
                for _ in used..caret.1 {
                    let place = advance(1);
                    begin.get_or_insert(place.0);
                }
                let (row, column) = advance(0);
                cursor = (top + row, column.min(width - 1));
            }
            tops.push(top + begin.unwrap_or_else(|| advance(0).0));
        }
        if counted && holds_caret {
            let before = head.iter().map(|row| row.width()).sum::<usize>()
                + line[..caret.0 - at].iter().map(|shown| shown.row.width()).sum::<usize>();
            let cells = before + caret.1;
            cursor = (top + (cells / width) as isize, cells % width);
        }
        top += advance(0).0 + 1;
        at += line.len();
    }
    tops.push(top);
    tops.iter_mut().for_each(|top| *top -= cursor.0);
    Placement { tops, column: cursor.1 }
}
