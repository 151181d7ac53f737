//! Tables: rows are collected and written at the end, once the number of columns is known.

use std::collections::HashSet;

use sinew_base::{CancelTicker, CancelToken, Result};

use crate::tree::{NIL, ROOT, Tree};

/// The maximum number of columns that one cell may span, as on GitHub, to limit malicious pages.
const SPAN: usize = 64;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    None,
    Left,
    Center,
    Right,
}

/// A table being collected.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Vec<String>>,
    aligns: Vec<Align>,
}

impl Rows {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the row, with its `colspan`.
    pub(super) fn cell(&mut self, text: String, span: usize, align: Align) {
        if self.rows.is_empty() {
            self.begin_row();
        }
        let first = self.rows.len() == 1;
        if let Some(row) = self.rows.last_mut() {
            row.push(text);
            row.extend(std::iter::repeat_n(String::new(), span.clamp(1, SPAN) - 1));
            if first {
                self.aligns.resize(row.len(), align);
            }
        }
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

/// Returns the number of columns that a cell spans, and the alignment of its text.
pub(super) fn cell_of(tree: &Tree, id: u32) -> (usize, Align) {
    let span = tree.attribute(id, "colspan").and_then(|span| span.trim().parse().ok()).unwrap_or(1);
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
    (span, align)
}

/// Returns the tables whose cells contain more than a line can: a table, a list, code, a quote, a heading. They are
/// used for layout, and only their content is written. Needs one traversal of the whole tree.
pub(super) fn layouts(tree: &Tree, cancel: &CancelToken) -> Result<HashSet<u32>> {
    let mut layouts = HashSet::new();
    let mut tables: Vec<u32> = Vec::new();
    let mut ticker = CancelTicker::new(cancel);
    let mut id = ROOT;
    loop {
        ticker.step()?;
        if let Some(name) = tree.name(id) {
            let complex = matches!(
                &**name,
                "table" | "ul" | "ol" | "pre" | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr"
            );
            if complex && let Some(&table) = tables.last() {
                layouts.insert(table);
            }
            if &**name == "table" {
                tables.push(id);
            }
        }
        if tree.node(id).first != NIL {
            id = tree.node(id).first;
            continue;
        }
        loop {
            if tables.last() == Some(&id) {
                tables.pop();
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
