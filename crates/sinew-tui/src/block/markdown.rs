//! Markdown that may still grow.
//!
//! The causal law: whatever text follows, rows that are settled stay as they are. A top-level block of Markdown settles
//! when a complete line has begun the next one; lines of fenced code settle one by one. Only the open block is parsed
//! again. Links by reference work where the definition stands in the same block.

mod flow;

use std::ops::Range;

use pulldown_cmark::{Options, Parser};

use super::code::{CodeLines, code_rows};
use crate::screen::{Block, Layout, Rendered};
use crate::text::row::{Line, Row};
use crate::text::style::Color;
use crate::theme::Token;

/// Markdown, as the text of an answer comes in.
#[derive(Default)]
pub struct MarkdownBlock {
    text: String,
    finished: bool,
    version: u64,
    state: State,
}

/// The part that is settled.
#[derive(Clone, Default)]
struct State {
    /// The byte behind it.
    at: usize,
    /// Its logical lines.
    lines: u32,
    /// Fenced code is open.
    fence: Option<Fence>,
    /// A paragraph was cut there and goes on.
    is_cut: bool,
}

/// Bytes of a paragraph that are kept open at most.
const LIMIT: usize = 16 << 10;
/// The first window in which the end of a block is looked for.
const WINDOW: usize = 512;

#[derive(Clone)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    code: CodeLines,
}

impl MarkdownBlock {
    /// A block that grows.
    #[must_use]
    pub fn streaming() -> MarkdownBlock {
        MarkdownBlock::default()
    }

    /// A block that is complete.
    #[must_use]
    pub fn new(text: &str) -> MarkdownBlock {
        MarkdownBlock { text: text.to_owned(), finished: true, ..MarkdownBlock::default() }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.version += 1;
    }

    /// The text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ends the block: all of it is final.
    pub fn finish(&mut self) {
        self.finished = true;
        self.version += 1;
    }
}

impl Block for MarkdownBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, restart: bool, out: &mut Rendered) {
        if restart {
            self.state = State::default();
        }
        out.reopen();
        let mut rows = Vec::new();
        // What complete lines decide settles; with the end of the text everything does.
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
        // The rest is shown as it will be, as far as it is known.
        let mut rest = self.state.clone();
        while rest.step(&self.text, true, layout, &mut rows) {}
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
    /// Takes the next block, or line of code, that is complete in `text`. Gives false where there is none.
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
        // Two blocks may begin in one line; it is taken whole, so that every step moves on.
        let end = if end == 0 { rest.find('\n').map_or(rest.len(), |at| at + 1) } else { end };
        let lines = flow::lines(&rest[..end], layout);
        if !lines.is_empty() {
            self.space(rows);
        }
        for line in lines {
            self.lines += 1;
            line.rows(layout.width, self.lines, rows);
        }
        self.at += end;
        true
    }

    /// Goes to the next line that is not empty, and gives the text from there on; none where there is no such line.
    fn skip_blank<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let rest = &text[self.at..];
        let blank = rest.len() - rest.trim_start_matches(['\n', '\r']).len();
        if blank == rest.len() {
            return None;
        }
        let around = &text.as_bytes()[self.at.saturating_sub(1)..self.at + blank];
        // A paragraph that was cut ended there.
        self.is_cut &= !around.windows(2).any(|pair| pair == b"\n\n");
        self.at += blank;
        Some(&text[self.at..])
    }

    /// Takes the beginning of a paragraph that is longer than [`LIMIT`], so that the work for what comes is bounded. Where
    /// it is cut depends on nothing behind that place.
    fn cut_paragraph(&mut self, text: &str, layout: &Layout<'_>, rows: &mut Vec<Row>) -> bool {
        if self.fence.is_some() || text.len() - self.at <= LIMIT {
            return false;
        }
        let Some(rest) = self.skip_blank(text) else { return false };
        let Some(window) = prefix(rest, LIMIT).filter(|window| is_open_paragraph(window)) else { return false };
        // Behind a word; a text without blanks is cut anywhere.
        let end = window.rfind([' ', '\n']).map_or(window.len(), |at| at + 1);
        for line in flow::lines(&window[..end], layout) {
            if self.lines > 0 && !self.is_cut {
                self.push(Row::default(), rows);
            }
            self.is_cut = true;
            self.lines += 1;
            line.rows(layout.width, self.lines, rows);
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
        // A line that may still become the end of the code is not shown.
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
        self.lines += 1;
        code_rows(&line, layout.width, self.lines, rows);
        true
    }

    /// A blank row between blocks.
    fn space(&mut self, rows: &mut Vec<Row>) {
        if self.lines > 0 && !std::mem::take(&mut self.is_cut) {
            self.push(Row::default(), rows);
        }
    }

    fn push(&mut self, mut row: Row, rows: &mut Vec<Row>) {
        self.lines += 1;
        row.line = self.lines;
        rows.push(row);
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The first bytes of a text, whole characters; none where there are fewer.
fn prefix(text: &str, limit: usize) -> Option<&str> {
    (text.len() > limit).then(|| &text[..text.floor_char_boundary(limit)])
}

/// Returns true if a text is the beginning of one paragraph, which has not ended, and nothing else.
fn is_open_paragraph(text: &str) -> bool {
    use pulldown_cmark::{Event, Tag};
    let is_paragraph = || matches!(Parser::new_ext(text, options()).next(), Some(Event::Start(Tag::Paragraph)));
    // Most texts have an empty line, which is found sooner than a block.
    !text.contains("\n\n") && is_paragraph() && first_block(text) == Some(text.len())
}

/// Returns the end of the first top-level block. Looked for in a window that grows, so that the work is that of the
/// block, not of the text.
fn first_block_of(text: &str) -> Option<usize> {
    let mut limit = WINDOW;
    while let Some(window) = prefix(text, limit) {
        // A line that the window cuts could begin something else.
        let lines = window.rfind('\n').map_or("", |at| &window[..=at]);
        match first_block(lines) {
            Some(end) if end < lines.len() && !lines.is_empty() => return Some(end),
            _ => limit *= 2,
        }
    }
    first_block(text)
}

/// Returns the end of the first top-level block: the next one begins, or the text is over.
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

/// The fence that the text begins with, its language, and where its line ends. An unfinished line counts with `ended`.
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
