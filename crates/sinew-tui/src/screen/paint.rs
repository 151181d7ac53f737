//! Converts the difference of two rows to bytes.

use std::sync::Arc;

use super::ScreenOptions;
use super::palette::Palette;
use crate::text::row::{Mark, Row};
use crate::text::style::{Color, Style, write_sgr};

/// The maximum number of unchanged one-byte cells between two changes that are rewritten instead of skipped.
const BRIDGE: usize = 4;

/// The content of one column of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Column<'a> {
    /// The cluster; empty for the second column of a wide one.
    pub(super) text: &'a str,
    pub(super) width: usize,
    pub(super) certain: bool,
    pub(super) style: Style,
    pub(super) link: Option<&'a Arc<str>>,
}

const BLANK: Column<'_> = Column { text: " ", width: 1, certain: true, style: Style::PLAIN, link: None };

/// A row by columns, and the colour of the rest.
pub(super) struct Columns<'a> {
    cells: Vec<Column<'a>>,
    fill: Color,
    picture: Option<&'a Arc<str>>,
}

impl<'a> Columns<'a> {
    /// Splits a row into columns, as far as they fit.
    pub(super) fn new(row: &'a Row, palette: Palette, columns: usize) -> Columns<'a> {
        let mut cells = Vec::with_capacity(row.text().len().min(columns));
        for cell in row.cells() {
            if cells.len() + cell.width > columns {
                break;
            }
            let text = palette.shown(cell.text, cell.width, row.foreign);
            let (style, certain) = (cell.style.reduced(palette.depth), cell.certain || text.is_ascii());
            let column = Column { text, width: cell.width, certain, style, link: cell.link };
            cells.push(column);
            for _ in 1..cell.width {
                cells.push(Column { text: "", width: 0, ..column });
            }
        }
        Columns { cells, fill: row.fill.reduced(palette.depth), picture: row.picture.as_ref() }
    }

    fn at(&self, column: usize) -> Column<'a> {
        self.cells.get(column).copied().unwrap_or(Column { style: Style::PLAIN.on(self.fill), ..BLANK })
    }
}

/// Returns an id for a link, the same for equal addresses (FNV-1a).
fn link_id(link: &str) -> u32 {
    link.bytes().fold(0x811c_9dc5, |id, byte| (id ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Writes rows, and tracks the position of the cursor and the current style.
pub(super) struct RowPainter {
    out: Vec<u8>,
    columns: usize,
    options: ScreenOptions,
    cursor: (usize, Option<usize>),
    style: Style,
    link: Option<Arc<str>>,
    autowrap: bool,
    spans: usize,
    /// The last row whose cell at the right edge was written.
    edge: Option<usize>,
    /// The last row whose end was erased.
    erased: Option<usize>,
}

impl RowPainter {
    pub(super) fn new(columns: usize, options: ScreenOptions, cursor: (usize, Option<usize>)) -> RowPainter {
        RowPainter {
            out: Vec::new(),
            columns,
            options,
            cursor,
            style: Style::PLAIN,
            link: None,
            autowrap: false,
            spans: 0,
            edge: None,
            erased: None,
        }
    }

    pub(super) fn palette(&self) -> Palette {
        self.options.palette()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns true if two rows look different.
    pub(super) fn differ(&self, old: &Columns<'_>, new: &Columns<'_>) -> bool {
        old.fill != new.fill
            || old.picture != new.picture
            || (0..old.cells.len().max(new.cells.len())).any(|at| old.at(at) != new.at(at))
    }

    /// Returns a number that increases with each write.
    pub(super) fn writes(&self) -> usize {
        self.out.len()
    }

    pub(super) fn spans(&self) -> usize {
        self.spans
    }

    /// Returns true if the cell at the right edge of a row was written in this frame.
    pub(super) fn touched_end(&self, row: usize) -> bool {
        self.edge == Some(row)
    }

    pub(super) fn erase_below(&mut self) {
        self.out.extend_from_slice(b"\x1b[J");
    }

    /// Erases a row.
    pub(super) fn erase_row(&mut self, row: usize) {
        self.go(row, 0);
        self.flush_style();
        self.out.extend_from_slice(b"\x1b[K");
        self.erased = Some(row);
    }

    /// Moves the cursor to a position in the window.
    pub(super) fn go(&mut self, row: usize, column: usize) {
        let (from, at) = self.cursor;
        if row < from {
            self.command(from - row, b'A');
        } else if row > from {
            // Not with line feeds: they would split a terminal line of two rows.
            self.command(row - from, b'B');
        }
        match at {
            Some(at) if at == column => {}
            _ if column == 0 => self.out.push(b'\r'),
            Some(at) if column > at && (column - at < 10 || column >= 9) => self.command(column - at, b'C'),
            _ => self.command(column + 1, b'G'),
        }
        self.cursor = (row, Some(column));
    }

    fn command(&mut self, count: usize, letter: u8) {
        self.out.extend_from_slice(b"\x1b[");
        if count > 1 {
            self.out.extend_from_slice(count.to_string().as_bytes());
        }
        self.out.push(letter);
    }

    /// Appends a row below `last`, the last one of the window.
    pub(super) fn feed(&mut self, last: usize) {
        self.flush_style();
        if self.cursor.0 != last {
            self.command(last - self.cursor.0, b'B');
        }
        self.out.extend_from_slice(b"\r\n");
        self.cursor = (last + 1, Some(0));
    }

    /// Splits the terminal line of a row and the next one: some terminals store the connection with the last cell and
    /// remove it when the cell is written, some store it with the row and remove it when its end is erased, others
    /// remove it at a line feed. The last cell is blank for a moment: the only case where a cell shows neither its old
    /// nor its new content.
    pub(super) fn part(&mut self, row: usize, above: &Row) {
        let above = Columns::new(above, self.palette(), self.columns);
        self.autowrap(false);
        let full = above.cells.len() >= self.columns;
        let last = above.cells.iter().rposition(|cell| cell.width > 0).filter(|_| full);
        if let Some(last) = last {
            self.go(row, last);
            self.flush_style();
            self.out.extend_from_slice(b"\x1b[K");
            self.cell(&above.cells[last]);
            self.cursor = (row, None);
        } else if self.erased != Some(row) {
            self.go(row, above.cells.len());
            self.look(Style::PLAIN.on(above.fill), None);
            self.out.extend_from_slice(b"\x1b[K");
        }
        self.flush_style();
        if self.cursor.0 != row {
            self.go(row, 0);
        }
        self.out.extend_from_slice(b"\r\n");
        self.cursor = (row + 1, Some(0));
    }

    pub(super) fn autowrap(&mut self, on: bool) {
        if self.autowrap != on {
            self.out.extend_from_slice(if on { b"\x1b[?7h" } else { b"\x1b[?7l" });
            self.autowrap = on;
        }
    }

    /// Lets the terminal wrap from the last cell of a row into the first of the next. `new` is true if the next row is
    /// not on the screen yet.
    pub(super) fn join(&mut self, row: usize, above: &Row, below: &Row, new: bool) {
        let palette = self.palette();
        let above = Columns::new(above, palette, self.columns);
        let below = Columns::new(below, palette, self.columns);
        let end = above.cells.len();
        let last = above.cells.iter().rposition(|cell| cell.width > 0);
        if new && below.cells.first().is_some_and(|first| first.style.bg != Color::Default) {
            // A terminal fills a row that scrolls in by wrapping with the background of the wrapping cell.
            self.feed(row);
        }
        if let Some(last) = last {
            // If the last cell was just written, the terminal is already about to wrap.
            let at_end = self.cursor == (row, if end >= self.columns { None } else { Some(end) });
            if !(self.autowrap && at_end) {
                self.go(row, last);
                self.autowrap(true);
                self.cell(&above.cells[last]);
            }
        }
        self.autowrap(true);
        if let Some(first) = below.cells.first() {
            self.cell(first);
            self.cursor = (row + 1, (first.width < self.columns).then_some(first.width));
        }
        self.spans += 2;
    }

    fn look(&mut self, style: Style, link: Option<&Arc<str>>) {
        write_sgr(self.style, style, &mut self.out);
        self.style = style;
        let link = link.filter(|_| self.options.links);
        if self.link.as_ref() != link {
            match link {
                // With an id, terminals treat the parts in several rows as one link.
                Some(link) => {
                    self.out.extend_from_slice(format!("\x1b]8;id={:08x};{link}\x1b\\", link_id(link)).as_bytes())
                }
                None => self.out.extend_from_slice(b"\x1b]8;;\x1b\\"),
            }
            self.link = link.cloned();
        }
    }

    /// Resets style and link.
    pub(super) fn flush_style(&mut self) {
        self.look(Style::PLAIN, None);
    }

    fn cell(&mut self, cell: &Column<'_>) {
        self.look(cell.style, cell.link);
        self.out.extend_from_slice(cell.text.as_bytes());
    }

    /// Writes the differences. `begun` is true if the first cluster is already written.
    pub(super) fn row(&mut self, index: usize, old: &Columns<'_>, new: &Columns<'_>, begun: bool, mark: Option<Mark>) {
        if let Some(mark) = mark.filter(|_| self.options.marks) {
            self.go(index, 0);
            let codes: &[u8] = match mark {
                Mark::Prompt => b"\x1b]133;A;redraw=0\x1b\\\x1b]133;C\x1b\\",
                Mark::Done => b"\x1b]133;D\x1b\\",
            };
            self.out.extend_from_slice(codes);
        }
        let end = new.cells.len().min(self.columns);
        let mut at = if begun { new.cells.first().map_or(0, |cell| cell.width) } else { 0 };
        if let Some(picture) = new.picture {
            if old.picture != new.picture {
                self.go(index, 0);
                self.flush_style();
                self.out.extend_from_slice(picture.as_bytes());
                // The row is known; the column differs between terminals.
                self.cursor = (index, None);
                self.spans += 1;
            }
            at = end;
        }
        let differs = |column: usize| old.at(column) != new.at(column);
        while at < end {
            if !differs(at) {
                at += 1;
                continue;
            }
            let mut stop = at + 1;
            let mut gap = 0;
            while stop + gap < end && gap <= BRIDGE {
                if differs(stop + gap) {
                    stop += gap + 1;
                    gap = 0;
                } else {
                    gap += 1;
                }
            }
            self.span(index, old, new, at, stop);
            at = stop;
        }
        self.erase_tail(index, old, new, end);
    }

    fn span(&mut self, index: usize, old: &Columns<'_>, new: &Columns<'_>, mut from: usize, to: usize) {
        // Does not begin in the middle of a wide cluster.
        while from > 0 && new.at(from).width == 0 {
            from -= 1;
        }
        self.spans += 1;
        self.go(index, from);
        let mut at = from;
        while at < to {
            let cell = new.at(at);
            if !cell.certain && cell.width == 2 && old.at(at + 1) != BLANK {
                // If a terminal treats the cluster as narrow, the old content of its second cell would remain.
                self.go(index, at + 1);
                self.cell(&Column { style: cell.style, ..BLANK });
                self.cursor = (index, None);
                self.go(index, at);
            }
            self.cell(&cell);
            at += cell.width.max(1);
            if at >= self.columns {
                self.cursor = (index, None);
                self.edge = Some(index);
            } else {
                self.cursor = (index, Some(at));
                if !cell.certain {
                    self.cursor.1 = None;
                    self.go(index, at);
                }
            }
        }
    }

    /// Erases the old text after the end of the new one, in the colour of the row.
    fn erase_tail(&mut self, index: usize, old: &Columns<'_>, new: &Columns<'_>, end: usize) {
        if end >= self.columns {
            return;
        }
        let rest = end..old.cells.len().max(end + 1).min(self.columns);
        if old.fill == new.fill && rest.clone().all(|column| old.at(column) == new.at(column)) {
            return;
        }
        self.spans += usize::from(self.cursor != (index, Some(end)));
        self.go(index, end);
        self.look(Style::PLAIN.on(new.fill), None);
        self.out.extend_from_slice(b"\x1b[K");
        self.erased = Some(index);
        if old.cells.len() >= self.columns {
            self.edge = Some(index);
        }
    }

    /// Returns the bytes, as one synchronized update unless `bare`.
    pub(super) fn into_bytes(self, bare: bool) -> Vec<u8> {
        if self.out.is_empty() || bare {
            return self.out;
        }
        let (before, after): (&[u8], &[u8]) =
            if self.options.synchronized { (b"\x1b[?2026h", b"\x1b[?2026l") } else { (b"\x1b[?25l", b"\x1b[?25h") };
        [before, &self.out, after].concat()
    }
}
