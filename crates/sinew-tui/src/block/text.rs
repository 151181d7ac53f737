//! Plain text that may still grow.

use crate::screen::{Block, Layout, Rendered};
use crate::text::row::{Line, Mark};
use crate::text::style::{Color, Style};
use crate::text::wrap::{WrapMode, wrap};

/// Text of one look. A line settles when the next one begins or the block is finished.
#[derive(Debug, Default)]
pub struct TextBlock {
    text: String,
    style: Style,
    prefix: (Line, Line),
    fill: Color,
    mark: Option<Mark>,
    finished: bool,
    version: u64,
    /// The byte behind the lines that are settled, and their number.
    settled: (usize, u32),
}

impl TextBlock {
    /// A block that grows.
    #[must_use]
    pub fn streaming(style: Style) -> TextBlock {
        TextBlock { style, ..TextBlock::default() }
    }

    /// A block that is complete.
    #[must_use]
    pub fn new(text: &str, style: Style) -> TextBlock {
        TextBlock { text: text.to_owned(), style, finished: true, ..TextBlock::default() }
    }

    /// The same with something in front of its first row and of all others.
    #[must_use]
    pub fn with_prefix(mut self, first: Line, rest: Line) -> TextBlock {
        self.prefix = (first, rest);
        self
    }

    /// The same on a background that reaches the edge.
    #[must_use]
    pub fn on(mut self, color: Color) -> TextBlock {
        self.fill = color;
        self.style = self.style.on(color);
        self
    }

    /// The same with a mark on its first row.
    #[must_use]
    pub fn marked(mut self, mark: Mark) -> TextBlock {
        self.mark = Some(mark);
        self
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.version += 1;
    }

    /// Ends the block: all of it is final.
    pub fn finish(&mut self) {
        self.finished = true;
        self.version += 1;
    }
}

impl Block for TextBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, restart: bool, out: &mut Rendered) {
        if restart {
            self.settled = (0, 1);
        }
        out.reopen();
        let (mut at, mut number) = self.settled;
        while at < self.text.len() || (number == 1 && self.finished) {
            let rest = &self.text[at..];
            let end = rest.find('\n');
            let text = &rest[..end.unwrap_or(rest.len())];
            let first = if number == 1 { &self.prefix.0 } else { &self.prefix.1 };
            let mut rows = Vec::new();
            let line = Line::styled(text, self.style);
            wrap(&line, layout.width, WrapMode::Words, number, (first, &self.prefix.1), &mut rows);
            for row in &mut rows {
                row.fill = self.fill;
            }
            if let Some(row) = rows.first_mut().filter(|_| number == 1) {
                row.mark = self.mark;
            }
            out.extend(rows);
            at += end.map_or(rest.len(), |end| end + 1);
            number += 1;
            if end.is_some() {
                out.settle();
                self.settled = (at, number);
            } else {
                break;
            }
        }
        if self.finished {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        self.text.clone()
    }
}
