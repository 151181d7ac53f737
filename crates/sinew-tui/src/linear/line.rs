//! The row of the user's input.

use sinew_term::clusters;

use crate::text::row::Row;

/// The input line, which produces the bytes that update it: as few as possible, since a screen reader speaks each of
/// them.
///
/// A character typed at the end is written as is; a character deleted there is a backspace, a blank and a backspace. In
/// a text of several rows, those above the cursor are not changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputLine {
    shown: Option<DisplayedText>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct DisplayedText {
    /// The row of the text that the terminal's row shows.
    row: usize,
    text: String,
    column: usize,
}

impl InputLine {
    /// Returns true if the row is shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Shows the rows of an editor; the cursor's row is the last one written. The rows must be one column narrower than
    /// the terminal: after its last column, terminals disagree about a backspace.
    pub fn show(&mut self, rows: &[Row], caret: (usize, usize)) -> Vec<u8> {
        let row = caret.0.min(rows.len().saturating_sub(1));
        let mut text = rows.get(row).map_or("", Row::text).to_owned();
        while width(&text) < caret.1 {
            text.push(' ');
        }
        let next = DisplayedText { row, text, column: caret.1 };
        let mut out = String::new();
        match self.shown.take() {
            None => next.write(&mut out),
            Some(old) if old == next => {}
            Some(old) if old.row == row => old.change(&next, &mut out),
            Some(old) if old.row < row => {
                if let Some(left) = rows.get(old.row) {
                    let text = left.text().trim_end().to_owned();
                    let column = width(&text);
                    old.change(&DisplayedText { row: old.row, text, column }, &mut out);
                }
                for between in rows.get(old.row + 1..row).unwrap_or_default() {
                    out.push_str("\r\n");
                    out.push_str(between.text());
                }
                out.push_str("\r\n");
                next.write(&mut out);
            }
            Some(_) => next.rewrite(&mut out),
        }
        self.shown = Some(next);
        out.into_bytes()
    }

    /// Erases the row, to write something else.
    pub fn hide(&mut self) -> &'static [u8] {
        if self.shown.take().is_some() { b"\r\x1b[K" } else { b"" }
    }

    /// Ends the row after its text was sent.
    pub fn end(&mut self) -> &'static [u8] {
        if self.shown.take().is_some() { b"\r\n" } else { b"" }
    }
}

impl DisplayedText {
    /// Writes the row into an empty row of the terminal.
    fn write(&self, out: &mut String) {
        out.push_str(&self.text);
        step_back(width(&self.text) - self.column.min(width(&self.text)), out);
    }

    fn rewrite(&self, out: &mut String) {
        out.push_str("\r\x1b[K");
        self.write(out);
    }

    /// Changes one state of the row into another.
    fn change(&self, next: &DisplayedText, out: &mut String) {
        let (old_width, new_width) = (width(&self.text), width(&next.text));
        let at_end = self.column == old_width;
        if self.text == next.text {
            match next.column.checked_sub(self.column) {
                None => step_back(self.column - next.column, out),
                Some(_) => out.push_str(between(&next.text, self.column, next.column)),
            }
        } else if at_end && next.text.starts_with(&self.text) {
            out.push_str(&next.text[self.text.len()..]);
            step_back(new_width - next.column.min(new_width), out);
        } else if at_end && self.text.starts_with(&next.text) && next.column == new_width {
            let gone = old_width - new_width;
            step_back(gone, out);
            out.push_str(&" ".repeat(gone));
            step_back(gone, out);
        } else {
            next.rewrite(out);
        }
    }
}

fn width(text: &str) -> usize {
    sinew_term::visible_width(text, 1)
}

fn step_back(cells: usize, out: &mut String) {
    out.extend(std::iter::repeat_n('\x08', cells));
}

/// Returns the text between two columns.
fn between(text: &str, from: usize, to: usize) -> &str {
    let byte = |column: usize| {
        let mut used = 0;
        let at = clusters(text, 1).find(|cluster| {
            used += cluster.width;
            used > column
        });
        at.map_or(text.len(), |cluster| cluster.start)
    };
    &text[byte(from)..byte(to)]
}
