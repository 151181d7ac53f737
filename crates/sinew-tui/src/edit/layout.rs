//! The rows of the editor.

use sinew_term::clusters;

use super::{Editor, Marker, marker_index};
use crate::text::row::{Line, Row};
use crate::text::style::{Attrs, Style};

/// The styles of an editor.
#[derive(Clone, PartialEq, Debug)]
pub struct EditorStyle {
    /// The text before the first row.
    pub prompt: String,
    /// The style of the prompt.
    pub prompt_style: Style,
    /// The style of the text.
    pub text: Style,
    /// The style of markers.
    pub marker: Style,
    /// Dim text after the cursor at the end of the text: a preview of a completion.
    pub ghost: String,
    /// The selected bytes of the text; `None` without a selection.
    pub selection: Option<(usize, usize)>,
}

impl Default for EditorStyle {
    fn default() -> EditorStyle {
        EditorStyle {
            prompt: "› ".to_owned(),
            prompt_style: Style::PLAIN.with(Attrs::BOLD),
            text: Style::PLAIN,
            marker: Style::PLAIN.with(Attrs::DIM),
            ghost: String::new(),
            selection: None,
        }
    }
}

/// The rows of the text, and the position of the cursor in them.
#[derive(Clone, PartialEq, Debug)]
pub struct EditorRows {
    /// The rows.
    pub rows: Vec<Row>,
    /// The row and column of the cursor.
    pub caret: (usize, usize),
}

/// The bytes of the text in one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RowSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    /// True if the row ends its line: the cursor can be after it.
    last: bool,
}

fn cells_of(text: &str, markers: &[Marker]) -> usize {
    match text.chars().next().and_then(marker_index).and_then(|index| markers.get(index)) {
        Some(marker) => sinew_term::visible_width(&marker.label, 1),
        None if text == "\t" => 4,
        None => sinew_term::visible_width(text, 1),
    }
}

impl RowSpan {
    /// Returns the byte at a column, at most the last position of the row.
    pub(super) fn at_column(&self, text: &str, markers: &[Marker], column: usize) -> usize {
        let mut used = 0;
        let mut before = self.start;
        for cluster in units(&text[self.start..self.end]) {
            let width = cells_of(cluster.1, markers);
            if used + width > column {
                return self.start + cluster.0;
            }
            used += width;
            before = self.start + cluster.0;
        }
        if self.last { self.end } else { before }
    }
}

/// Returns clusters with their positions; those without cells are part of the previous one.
fn units(text: &str) -> Vec<(usize, &str)> {
    let mut out: Vec<(usize, &str)> = Vec::new();
    for cluster in clusters(text, 1) {
        if cluster.width > 0 || out.is_empty() {
            out.push((cluster.start, cluster.text));
        }
    }
    out
}

/// Returns the rows at `width` cells, broken between words; the last column stays free for the cursor.
pub(super) fn places(editor: &Editor, width: usize) -> Vec<RowSpan> {
    let room = width.saturating_sub(1).max(1);
    let mut out = Vec::new();
    let mut start = 0;
    for line in editor.text.split('\n') {
        let end = start + line.len();
        let (mut row, mut used) = (start, 0);
        let mut word = None;
        for (at, unit) in units(line) {
            let cells = cells_of(unit, &editor.markers);
            let here = start + at;
            if used + cells > room && here > row && unit != " " {
                let (cut, kept) = match word.take() {
                    Some((cut, before)) if cut > row && used - before + cells <= room => (cut, used - before),
                    _ => (here, 0),
                };
                out.push(RowSpan { start: row, end: cut, last: false });
                (row, used) = (cut, kept);
            }
            used += cells;
            if unit == " " {
                word = Some((here + 1, used));
            }
        }
        out.push(RowSpan { start: row, end, last: true });
        start = end + 1;
    }
    out
}

/// Returns the row of a byte.
pub(super) fn locate(places: &[RowSpan], cursor: usize) -> usize {
    places.iter().rposition(|place| place.start <= cursor).unwrap_or(0)
}

impl RowSpan {
    /// Returns the column of a byte of the row.
    pub(super) fn column(&self, text: &str, markers: &[Marker], cursor: usize) -> usize {
        let before = units(&text[self.start..self.end]);
        before.iter().take_while(|(at, _)| self.start + at < cursor).map(|(_, unit)| cells_of(unit, markers)).sum()
    }
}

impl Editor {
    /// Returns the rows at `width` columns, at most `height` of them around the cursor. Runs in time linear in the
    /// text.
    pub fn rows(&mut self, width: usize, height: usize, style: &EditorStyle) -> EditorRows {
        let prompt = Line::styled(&style.prompt, style.prompt_style);
        let lead = prompt.width();
        let room = width.saturating_sub(lead).max(2);
        self.width = room;
        let places = places(self, room);
        let caret_row = locate(&places, self.cursor);
        let height = height.max(1);
        self.height = height;
        // The rows around the cursor that fit.
        let first = caret_row.saturating_sub(height - 1).max(caret_row.min(places.len().saturating_sub(height)));
        let first = first.min(caret_row);
        let mut rows = Vec::new();
        let mut caret = (0, 0);
        for (index, place) in places.iter().enumerate().skip(first).take(height) {
            let mut line = if index == 0 { prompt.clone() } else { Line::styled(&" ".repeat(lead), Style::PLAIN) };
            let mut column = lead;
            for (at, unit) in units(&self.text[place.start..place.end]) {
                if index == caret_row && place.start + at <= self.cursor {
                    caret = (index - first, column);
                }
                let here = place.start + at;
                let selected = style.selection.is_some_and(|(from, to)| (from..to).contains(&here));
                let look = |look: Style| if selected { look.with(Attrs::REVERSE) } else { look };
                match unit.chars().next().and_then(marker_index).and_then(|index| self.markers.get(index)) {
                    Some(marker) => line.push(&marker.label, look(style.marker)),
                    None if unit == "\t" => line.push("    ", look(style.text)),
                    None => line.push(unit, look(style.text)),
                };
                column += cells_of(unit, &self.markers);
            }
            if index == caret_row && self.cursor == place.end {
                caret = (index - first, column);
            }
            if index == caret_row && self.cursor == self.text.len() && !style.ghost.is_empty() {
                line.push(&style.ghost, Style::PLAIN.with(Attrs::DIM));
            }
            let row = if line.width() > width { line.into_row(width) } else { Row::new(line, 0) };
            rows.push(row);
        }
        caret.1 = caret.1.min(width.saturating_sub(1));
        EditorRows { rows, caret }
    }
}
