//! Tables: rows are collected and written at the end, once the number of columns is known.

use std::collections::HashSet;

use sinew_base::{CancelTicker, CancelToken, Result};

use crate::tree::{NIL, ROOT, Tree};

/// The maximum number of columns that one cell may span, as on GitHub, to limit malicious pages.
const SPAN: usize = 64;
/// The maximum number of empty cells that cells above leave in a row, for each cell of the table.
const FILLERS: usize = 16;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    None,
    Left,
    Center,
    Right,
}

/// The number of columns and rows that a cell spans, and the alignment of its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    columns: usize,
    rows: usize,
    align: Align,
}

/// A table being collected.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Vec<String>>,
    aligns: Vec<Align>,
    /// For each column the number of further rows that a cell above spans.
    spanned: Vec<usize>,
    /// The numbers of cells, and of empty ones below a cell that spans several rows.
    cells: usize,
    fillers: usize,
}

impl Rows {
    pub(super) fn begin_row(&mut self) {
        self.end_row();
        self.rows.push(Vec::new());
    }

    /// Ends a group of rows: no cell spans beyond it.
    pub(super) fn end_group(&mut self) {
        self.end_row();
        self.spanned.clear();
    }

    /// Adds a cell to the row.
    pub(super) fn cell(&mut self, text: String, shape: Shape) {
        if self.rows.is_empty() {
            self.begin_row();
        }
        self.cells += 1;
        self.fill(0);
        let first = self.rows.len() == 1;
        if let Some(row) = self.rows.last_mut() {
            let start = row.len();
            row.push(text);
            row.extend(std::iter::repeat_n(String::new(), shape.columns.clamp(1, SPAN) - 1));
            if shape.rows > 1 {
                self.spanned.resize(self.spanned.len().max(row.len()), 0);
            }
            for rest in self.spanned.iter_mut().take(row.len()).skip(start) {
                *rest = if shape.rows > 1 { shape.rows - 1 } else { rest.saturating_sub(1) };
            }
            if first {
                self.aligns.resize(row.len(), shape.align);
            }
        }
    }

    /// Adds the cells at the end of a row that cells above span. A row without cells is not written.
    pub(super) fn end_row(&mut self) {
        match self.rows.last() {
            Some(row) if row.is_empty() && self.has_room() => {
                self.spanned.iter_mut().for_each(|rest| *rest = rest.saturating_sub(1));
                self.fillers += self.spanned.len();
            }
            Some(row) if !row.is_empty() => {
                let last = self.spanned.iter().rposition(|rest| *rest > 0).map_or(0, |last| last + 1);
                self.fill(last);
            }
            _ => {}
        }
    }

    /// Adds empty cells where the next columns of the row are spanned from above, and up to the column `least`.
    fn fill(&mut self, least: usize) {
        while self.has_room()
            && let Some(row) = self.rows.last_mut()
            && let Some(rest) = self.spanned.get_mut(row.len()).filter(|rest| row.len() < least || **rest > 0)
        {
            *rest = rest.saturating_sub(1);
            row.push(String::new());
            self.fillers += 1;
        }
    }

    /// Returns true if the table may have more empty cells: a page of a few letters can ask for millions.
    fn has_room(&self) -> bool {
        self.fillers < FILLERS * (self.cells + SPAN)
    }

    /// Returns the lines of the table. The first row is the header, padded to the widest row; other rows are not
    /// padded.
    pub(super) fn lines(&self) -> Vec<String> {
        let rows: Vec<_> = self.rows.iter().filter(|row| !row.is_empty()).collect();
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(rows.len() + 1);
        for (number, row) in rows.iter().enumerate() {
            let mut line = "|".to_string();
            for cell in *row {
                line += " ";
                line += cell;
                line += if cell.is_empty() { "|" } else { " |" };
            }
            if number == 0 {
                line += &" |".repeat(width - row.len());
            }
            lines.push(line);
            if number == 0 {
                let aligns = self.aligns.iter().copied().chain(std::iter::repeat(Align::None));
                let marks = aligns.take(width).map(|align| match align {
                    Align::None => " --- |",
                    Align::Left => " :-- |",
                    Align::Center => " :-: |",
                    Align::Right => " --: |",
                });
                lines.push(std::iter::once("|").chain(marks).collect());
            }
        }
        lines
    }
}

/// Returns the shape of a cell. A cell that spans 0 rows spans the rest of its group.
pub(super) fn shape_of(tree: &Tree, id: u32) -> Shape {
    let number = |name: &str| tree.attribute(id, name).and_then(|span| span.trim().parse::<usize>().ok());
    let style = tree.attribute(id, "style").and_then(|style| {
        style.split(';').find_map(|rule| {
            let (name, value) = rule.split_once(':')?;
            name.trim().eq_ignore_ascii_case("text-align").then(|| value.trim())
        })
    });
    let align = match style.or_else(|| tree.attribute(id, "align")) {
        Some(align) if align.eq_ignore_ascii_case("left") => Align::Left,
        Some(align) if align.eq_ignore_ascii_case("center") => Align::Center,
        Some(align) if align.eq_ignore_ascii_case("right") => Align::Right,
        _ => Align::None,
    };
    let rows = number("rowspan").map_or(1, |rows| if rows == 0 { usize::MAX } else { rows });
    Shape { columns: number("colspan").unwrap_or(1), rows, align }
}

/// The properties of a table that distinguish data from layout.
#[derive(Default)]
struct Content {
    id: u32,
    rows: usize,
    cells: usize,
    has_header: bool,
    /// Lists, code and quotes, which can be written into a cell.
    has_blocks: bool,
    /// Headings and rules, which are rare in data.
    has_sections: bool,
    has_table: bool,
}

impl Content {
    fn note(&mut self, name: &str) {
        match name {
            "tr" => self.rows += 1,
            "td" => self.cells += 1,
            "th" => (self.cells, self.has_header) = (self.cells + 1, true),
            "ul" | "ol" | "pre" | "blockquote" => self.has_blocks = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr" => self.has_sections = true,
            "table" => self.has_table = true,
            _ => {}
        }
    }

    fn is_layout(&self) -> bool {
        let is_grid = self.rows >= 2 && self.cells >= 2 * self.rows;
        // A table without a header that contains a table arranges the page.
        !self.has_header && (self.has_table || self.has_sections || self.has_blocks && !is_grid)
    }
}

/// Returns the tables that are used for layout, of which only the content is written: those without a header
/// that contain a table, headings, or blocks but no grid. Needs one traversal of the whole tree.
pub(super) fn layouts(tree: &Tree, cancel: &CancelToken) -> Result<HashSet<u32>> {
    let mut layouts = HashSet::new();
    let mut tables: Vec<Content> = Vec::new();
    let mut ticker = CancelTicker::new(cancel);
    let mut id = ROOT;
    loop {
        ticker.step()?;
        if let Some(name) = tree.name(id) {
            if let Some(table) = tables.last_mut() {
                table.note(name);
            }
            if &**name == "table" {
                tables.push(Content { id, ..Content::default() });
            }
        }
        if tree.node(id).first != NIL {
            id = tree.node(id).first;
            continue;
        }
        loop {
            if let Some(table) = tables.pop_if(|table| table.id == id)
                && table.is_layout()
            {
                layouts.insert(id);
            }
            if tree.node(id).next != NIL {
                id = tree.node(id).next;
                break;
            }
            id = tree.node(id).parent;
            if id == NIL {
                return Ok(layouts);
            }
        }
    }
}
