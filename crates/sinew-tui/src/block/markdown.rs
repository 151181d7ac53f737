//! Markdown that may still grow.
//!
//! Settled rows never change, whatever text follows. A top-level block of Markdown settles when a complete line has
//! begun the next one; lines of fenced code settle one by one. Only the open block is parsed again. Reference links
//! work if the definition is in the same block.

mod flow;

use std::ops::Range;

use pulldown_cmark::{Options, Parser};

use super::code::{CodeLines, code_rows};
use crate::screen::{Block, Layout, RenderedRows};
use crate::text::row::{Line, Row};
use crate::text::style::Color;
use crate::theme::Token;

/// The Markdown text of an answer as it arrives.
#[derive(Default)]
pub struct MarkdownBlock {
    text: String,
    finished: bool,
    version: u64,
    state: State,
}

/// The state after the settled part.
#[derive(Clone, Default)]
struct State {
    /// The byte position.
    at: usize,
    /// The number of logical lines.
    lines: u32,
    /// The open fenced code.
    fence: Option<Fence>,
    /// True if a paragraph was cut here and continues.
    is_cut: bool,
    /// The number of rows at the end whose text changes when more follows.
    open: usize,
}

/// The maximum size of an open paragraph, in bytes.
const LIMIT: usize = 16 << 10;
/// The size of the first window in which the end of a block is searched.
const WINDOW: usize = 512;

#[derive(Clone)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    code: CodeLines,
}

impl MarkdownBlock {
    /// Creates a block that grows.
    #[must_use]
    pub fn streaming() -> MarkdownBlock {
        MarkdownBlock::default()
    }

    /// Creates a complete block.
    #[must_use]
    pub fn new(text: &str) -> MarkdownBlock {
        MarkdownBlock { text: text.to_owned(), finished: true, ..MarkdownBlock::default() }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.version += 1;
    }

    /// Returns the text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Completes the block: all rows are final.
    pub fn finish(&mut self) {
        self.finished = true;
        self.version += 1;
    }
}

impl Block for MarkdownBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, restart: bool, out: &mut RenderedRows) {
        if restart {
            self.state = State::default();
        }
        out.reopen();
        let mut rows = Vec::new();
        // The parts decided by complete lines settle; at the end of the text, everything settles.
        loop {
            if self.state.cut_paragraph(&self.text, layout, &mut rows) {
                continue;
            }
            let from = self.state.at;
            let complete = match self.finished {
                true => self.text.len(),
                false => self.text[from..].rfind('\n').map_or(from, |at| from + at + 1),
            };
            if !self.state.step(&self.text[..complete], self.finished, layout, &mut rows) {
                break;
            }
        }
        out.extend(rows.drain(..));
        out.settle();
        // The rest is shown as a preview, of which only the unfinished row of a table is incomplete: a break in a text
        // does not move when more text follows it.
        let mut rest = self.state.clone();
        while rest.step(&self.text, true, layout, &mut rows) {}
        let open = if self.text.ends_with('\n') { 0 } else { rest.open };
        out.complete = out.rows.len() + rows.len().saturating_sub(open);
        out.growing = rows.last().filter(|_| rest.open == 0).map(|row| row.line);
        out.extend(rows);
        if self.finished {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        self.text.clone()
    }
}

impl State {
    /// Processes the next complete block or line of code in `text`. Returns false if there is none.
    fn step(&mut self, text: &str, ended: bool, layout: &Layout<'_>, rows: &mut Vec<Row>) -> bool {
        if self.fence.is_some() {
            return self.code_line(text, ended, layout, rows);
        }
        let Some(rest) = self.skip_blank(text) else { return false };
        if let Some((fence, lang, end)) = open_fence(rest, ended) {
            self.space(rows);
            if !lang.is_empty() {
                self.push(Line::styled(&lang, layout.theme.style(Token::Dim)).into_row(layout.width), rows);
            }
            self.fence = Some(fence);
            self.at += end;
            return true;
        }
        let Some(end) = first_block_of(rest).filter(|end| ended || *end < rest.len()) else { return false };
        // Two blocks may begin in one line; the line is processed whole, so that every step advances.
        let end = if end == 0 { rest.find('\n').map_or(rest.len(), |at| at + 1) } else { end };
        let lines = flow::lines(&rest[..end], layout);
        if !lines.is_empty() {
            self.space(rows);
        }
        for line in lines {
            (self.lines, self.open) = line.rows(layout.width, self.lines + 1, rows);
        }
        self.at += end;
        true
    }

    /// Skips to the next line that is not empty, and returns the text from there; `None` if there is no such line.
    fn skip_blank<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let rest = &text[self.at..];
        let blank = rest.len() - rest.trim_start_matches(['\n', '\r']).len();
        if blank == rest.len() {
            return None;
        }
        let around = &text.as_bytes()[self.at.saturating_sub(1)..self.at + blank];
        // A cut paragraph ended here.
        self.is_cut &= !around.windows(2).any(|pair| pair == b"\n\n");
        self.at += blank;
        Some(&text[self.at..])
    }

    /// Processes the beginning of a paragraph that is longer than [`LIMIT`], so that the work per update is bounded.
    /// The position of the cut does not depend on the text after it.
    fn cut_paragraph(&mut self, text: &str, layout: &Layout<'_>, rows: &mut Vec<Row>) -> bool {
        if self.fence.is_some() || text.len() - self.at <= LIMIT {
            return false;
        }
        let Some(rest) = self.skip_blank(text) else { return false };
        let Some(window) = prefix(rest, LIMIT).filter(|window| is_open_paragraph(window)) else { return false };
        // After a word; a text without blanks is cut anywhere.
        let end = window.rfind([' ', '\n']).map_or(window.len(), |at| at + 1);
        for line in flow::lines(&window[..end], layout) {
            if self.lines > 0 && !self.is_cut {
                self.push(Row::default(), rows);
            }
            self.is_cut = true;
            (self.lines, self.open) = line.rows(layout.width, self.lines + 1, rows);
        }
        self.is_cut = true;
        self.at += end;
        true
    }

    fn code_line(&mut self, text: &str, ended: bool, layout: &Layout<'_>, rows: &mut Vec<Row>) -> bool {
        let rest = &text[self.at..];
        let (line, next) = match rest.find('\n') {
            Some(end) => (&rest[..end], end + 1),
            None if ended && !rest.is_empty() => (rest, rest.len()),
            None => return false,
        };
        let line = line.strip_suffix('\r').unwrap_or(line);
        self.at += next;
        let Some(fence) = self.fence.as_mut() else { return false };
        let trimmed = line.trim();
        let closes = trimmed.len() >= fence.length
            && trimmed.chars().all(|c| c == fence.mark)
            && line.len() - line.trim_start().len() < 4;
        // A line that may still become the closing fence is not shown.
        let may_close = next == rest.len()
            && !rest.ends_with('\n')
            && !trimmed.is_empty()
            && trimmed.chars().all(|c| c == fence.mark);
        if closes {
            self.fence = None;
            return true;
        }
        if may_close {
            return true;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = fence.code.line(&line[indent.min(fence.indent)..], layout.theme, Color::Default);
        (self.lines, self.open) = (self.lines + 1, 0);
        code_rows(&line, layout.width, self.lines, rows);
        true
    }

    /// Appends a blank row between blocks.
    fn space(&mut self, rows: &mut Vec<Row>) {
        if self.lines > 0 && !std::mem::take(&mut self.is_cut) {
            self.push(Row::default(), rows);
        }
    }

    fn push(&mut self, mut row: Row, rows: &mut Vec<Row>) {
        (self.lines, self.open) = (self.lines + 1, 0);
        row.line = self.lines;
        rows.push(row);
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Returns the beginning of a text, in whole characters; `None` if the text is shorter.
fn prefix(text: &str, limit: usize) -> Option<&str> {
    (text.len() > limit).then(|| &text[..text.floor_char_boundary(limit)])
}

/// Returns true if a text consists only of the beginning of one unfinished paragraph.
fn is_open_paragraph(text: &str) -> bool {
    use pulldown_cmark::{Event, Tag};
    let is_paragraph = || matches!(Parser::new_ext(text, options()).next(), Some(Event::Start(Tag::Paragraph)));
    // Most texts contain an empty line, which is found faster than a block.
    !text.contains("\n\n") && is_paragraph() && first_block(text) == Some(text.len())
}

/// Returns the end of the first top-level block. The search window grows, so that the work depends on the block and not
/// on the text.
fn first_block_of(text: &str) -> Option<usize> {
    let mut limit = WINDOW;
    while let Some(window) = prefix(text, limit) {
        // A line cut by the window could begin another block.
        let lines = window.rfind('\n').map_or("", |at| &window[..=at]);
        match first_block(lines) {
            Some(end) if end < lines.len() && !lines.is_empty() => return Some(end),
            _ => limit *= 2,
        }
    }
    first_block(text)
}

/// Returns the end of the first top-level block: the start of the next one, or the end of the text.
fn first_block(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut blocks = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        use pulldown_cmark::Event;
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    blocks += 1;
                    if blocks == 2 {
                        return Some(line_start(text, range));
                    }
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ if depth == 0 => {
                blocks += 1;
                if blocks == 2 {
                    return Some(line_start(text, range));
                }
            }
            _ => {}
        }
    }
    Some(text.len())
}

fn line_start(text: &str, range: Range<usize>) -> usize {
    text[..range.start].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns the fence at the beginning of the text, its language, and the end of its line. An unfinished line counts if
/// `ended`.
fn open_fence(text: &str, ended: bool) -> Option<(Fence, String, usize)> {
    let (line, end) = match text.find('\n') {
        Some(end) => (&text[..end], end + 1),
        None if ended => (text, text.len()),
        None => return None,
    };
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = body.len() - body.trim_start_matches(mark).len();
    let info = body[length..].trim();
    if indent > 3 || length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let lang: String = info.split([' ', ',', '{']).next().unwrap_or("").to_owned();
    Some((Fence { mark, length, indent, code: CodeLines::new(&lang) }, lang, end))
}
