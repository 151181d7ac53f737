//! Converts one complete block of Markdown to lines.

use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::super::code::{CodeLines, code_rows};
use crate::screen::Layout;
use crate::text::row::{Line, Row};
use crate::text::style::{Attrs, Color, Style};
use crate::text::wrap::{WrapMode, wrap};
use crate::theme::Token;

/// A logical line with its prefixes.
pub(super) struct Flow {
    line: Line,
    first: Line,
    rest: Line,
    kind: Kind,
}

enum Kind {
    Text,
    Code,
    /// Rows that are laid out together, with their lines from 0: a table.
    Rows(Vec<Row>),
    Rule(Style),
}

impl Flow {
    /// Appends the rows, with line numbers from `number`, and returns the last of these, and the number of rows at the
    /// end whose text changes when more follows. The rows of a table are lines of their own.
    pub(super) fn rows(self, width: usize, number: u32, out: &mut Vec<Row>) -> (u32, usize) {
        let plain = self.first.text().is_empty() && self.rest.text().is_empty();
        match self.kind {
            Kind::Code if plain => code_rows(&self.line, width, number, out),
            Kind::Code => wrap(&self.line, width, WrapMode::Cells, number, (&self.first, &self.rest), out),
            Kind::Text => wrap(&self.line, width, WrapMode::Words, number, (&self.first, &self.rest), out),
            Kind::Rule(style) => out.push(Row::new(Line::styled(&"─".repeat(width.min(40)), style), number)),
            Kind::Rows(rows) => {
                let last = number + rows.last().map_or(0, |row| row.line);
                out.extend(rows.into_iter().map(|row| {
                    let line = number + row.line;
                    row.numbered(line)
                }));
                return (last, out.iter().rev().take_while(|row| row.line == last).count());
            }
        }
        (number, 0)
    }
}

struct Writer<'a> {
    layout: &'a Layout<'a>,
    out: Vec<Flow>,
    line: Line,
    styles: Vec<Style>,
    link: Option<(Arc<str>, usize)>,
    /// The text before every row of the surrounding containers, and before the next row only.
    prefix: Vec<Line>,
    bullet: Option<Line>,
    lists: Vec<Option<u64>>,
    /// The language and text of code.
    code: Option<(String, String)>,
    table: Option<Vec<Vec<Line>>>,
}

/// Returns the lines of a text that is one block.
pub(super) fn lines(text: &str, layout: &Layout<'_>) -> Vec<Flow> {
    let mut writer = Writer {
        layout,
        out: Vec::new(),
        line: Line::new(),
        styles: vec![Style::PLAIN],
        link: None,
        prefix: Vec::new(),
        bullet: None,
        lists: Vec::new(),
        code: None,
        table: None,
    };
    for (event, range) in Parser::new_ext(text, super::options()).into_offset_iter() {
        writer.event(event, &text[range]);
    }
    writer.end_line();
    writer.out
}

impl Writer<'_> {
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn token(&self, token: Token) -> Style {
        self.layout.theme.style(token)
    }

    fn open(&mut self, style: Style) {
        let style = style.over(self.style());
        self.styles.push(style);
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        let link = self.link.as_ref().map(|(link, _)| Arc::clone(link));
        self.line.push_linked(text, style, link.as_ref());
    }

    fn event(&mut self, event: Event<'_>, source: &str) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, self.style()),
            Event::Code(code) => self.text(&code, self.token(Token::MdCode).over(self.style())),
            Event::SoftBreak => self.text(" ", self.style()),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                let style = self.token(Token::MdHr);
                self.push(Line::new(), Kind::Rule(style));
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }, self.style()),
            Event::Html(_) | Event::InlineHtml(_) => {
                // Shown as source text, line by line.
                for (index, line) in source.trim_end_matches('\n').split('\n').enumerate() {
                    if index > 0 {
                        self.end_line();
                    }
                    self.text(line, self.style());
                }
                if source.ends_with('\n') {
                    self.end_line();
                }
            }
            _ => self.text(source, self.style()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => self.open(self.token(Token::MdHeading).with(Attrs::BOLD)),
            Tag::Emphasis => self.open(Style::PLAIN.with(Attrs::ITALIC)),
            Tag::Strong => self.open(Style::PLAIN.with(Attrs::BOLD)),
            Tag::Strikethrough => self.open(Style::PLAIN.with(Attrs::STRIKE)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((Arc::from(&*dest_url), self.line.text().len()));
                self.open(self.token(Token::MdLink).with(Attrs::UNDERLINE));
            }
            Tag::BlockQuote(_) => {
                self.end_line();
                self.prefix.push(Line::styled("▌ ", self.token(Token::MdQuoteBorder)));
                self.open(self.token(Token::MdQuote));
            }
            Tag::List(start) => {
                self.end_line();
                self.lists.push(start);
            }
            Tag::Item => {
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                let bullet = Line::styled(&bullet, self.token(Token::MdListBullet));
                self.prefix.push(Line::plain(&" ".repeat(bullet.width())));
                self.bullet = Some(bullet);
            }
            Tag::CodeBlock(kind) => {
                self.end_line();
                let lang = match kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or("").to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((lang, String::new()));
            }
            Tag::Table(_) => self.table = Some(Vec::new()),
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_line();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((target, from)) = self.link.take() {
                    let shown = &self.line.text()[from.min(self.line.text().len())..];
                    let address = target.strip_prefix("mailto:").unwrap_or(&target);
                    if shown != address && !address.is_empty() {
                        let style = self.token(Token::MdLinkUrl);
                        self.text(&format!(" ({address})"), style);
                    }
                }
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.prefix.pop();
                self.styles.pop();
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.end_line();
                if self.bullet.is_some() {
                    self.push(Line::new(), Kind::Text);
                }
                self.prefix.pop();
            }
            TagEnd::Paragraph => self.end_line(),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.table.as_mut().and_then(|table| table.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.layout.width.saturating_sub(self.prefix.iter().map(Line::width).sum());
                    let rows = table_rows(&table, width.max(1), self.token(Token::Border));
                    self.push(Line::new(), Kind::Rows(rows));
                }
            }
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let Some((lang, body)) = self.code.take() else { return };
        let mut code = CodeLines::new(&lang);
        for line in body.trim_end_matches('\n').split('\n') {
            let line = code.line(line, self.layout.theme, Color::Default);
            self.push(line, Kind::Code);
        }
    }

    fn end_line(&mut self) {
        if !self.line.text().is_empty() && self.table.is_none() {
            let line = std::mem::take(&mut self.line);
            self.push(line, Kind::Text);
        }
    }

    fn push(&mut self, line: Line, kind: Kind) {
        let mut rest = Line::new();
        for part in &self.prefix {
            rest.append(part);
        }
        let mut first = Line::new();
        match self.bullet.take() {
            Some(bullet) => {
                for part in &self.prefix[..self.prefix.len().saturating_sub(1)] {
                    first.append(part);
                }
                first.append(&bullet);
            }
            None => first = rest.clone(),
        }
        self.out.push(Flow { line, first, rest, kind });
    }
}

/// Lays out a table: columns are as wide as their cells and shrink if necessary, cells wrap; the table is shown as
/// records if a column would have fewer than four cells.
fn table_rows(table: &[Vec<Line>], width: usize, border: Style) -> Vec<Row> {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    if columns == 0 {
        return Vec::new();
    }
    let mut widths: Vec<usize> = (0..columns)
        .map(|column| table.iter().filter_map(|row| row.get(column)).map(Line::width).max().unwrap_or(0).max(1))
        .collect();
    let separators = (columns - 1) * 3;
    while widths.iter().sum::<usize>() + separators > width {
        match widths.iter_mut().max() {
            Some(widest) if *widest > 4 => *widest -= 1,
            _ => return records(table, width, border),
        }
    }
    let none = Line::new();
    let mut out = Vec::new();
    for (index, row) in (0..).zip(table) {
        let cells: Vec<Vec<Row>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let mut rows = Vec::new();
                let cell = row.get(column).unwrap_or(&none);
                wrap(cell, *width, WrapMode::Words, 0, (&none, &none), &mut rows);
                rows
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for at in 0..height {
            let mut line = Line::new();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                if column > 0 {
                    line.push(" │ ", border);
                }
                let used = cell.get(at).map_or(0, |row| {
                    line.append(&row.to_line());
                    row.width()
                });
                line.push(&" ".repeat(width - used), Style::PLAIN);
            }
            out.push(Row::new(line, index));
        }
        if index == 0 {
            let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            out.push(Row::new(Line::styled(&parts.join("─┼─"), border), index));
        }
    }
    out
}

/// Shows each row of a table as lines of a name and a value.
fn records(table: &[Vec<Line>], width: usize, border: Style) -> Vec<Row> {
    let mut out = Vec::new();
    let none = Line::new();
    let Some((head, body)) = table.split_first() else { return out };
    for (index, row) in (1..).zip(body) {
        for (name, value) in head.iter().zip(row) {
            let mut line = name.clone();
            line.push(": ", border).append(value);
            wrap(&line, width, WrapMode::Words, index, (&none, &none), &mut out);
        }
        out.push(Row::default().numbered(index));
    }
    out
}
