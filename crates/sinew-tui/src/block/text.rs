//! Plain text that may still grow.

use crate::screen::{Block, Layout, RenderedRows};
use crate::text::row::{Line, Mark};
use crate::text::style::Style;
use crate::text::wrap::{WrapMode, wrap};
use crate::theme::Token;

/// Text of one style. A line settles when the next one begins or the block is finished.
#[derive(Debug, Default)]
pub struct TextBlock {
    text: String,
    style: Style,
    prefix: (Line, Line),
    /// The colours of the text and its background.
    colors: Option<(Token, Token)>,
    mark: Option<Mark>,
    finished: bool,
    version: u64,
    /// The byte position after the settled lines, and their number.
    settled: (usize, u32),
}

impl TextBlock {
    /// Creates a block that grows.
    #[must_use]
    pub fn streaming(style: Style) -> TextBlock {
        TextBlock { style, ..TextBlock::default() }
    }

    /// Creates a complete block.
    #[must_use]
    pub fn new(text: &str, style: Style) -> TextBlock {
        TextBlock { text: text.to_owned(), style, finished: true, ..TextBlock::default() }
    }

    /// Adds a prefix to the first row and one to all other rows.
    #[must_use]
    pub fn with_prefix(mut self, first: Line, rest: Line) -> TextBlock {
        self.prefix = (first, rest);
        self
    }

    /// Sets theme colours: for text without its own colour, and for the background. The background ends with the text:
    /// terminals disagree whether cells erased in a colour are text when the width changes.
    #[must_use]
    pub fn colored(mut self, text: Token, behind: Token) -> TextBlock {
        self.colors = Some((text, behind));
        self
    }

    /// Adds a mark to the first row.
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

    /// Completes the block: all rows are final.
    pub fn finish(&mut self) {
        self.finished = true;
        self.version += 1;
    }
}

impl Block for TextBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, restart: bool, out: &mut RenderedRows) {
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
            let color = self.colors.map(|(color, _)| layout.theme.style(color));
            let line = Line::styled(text, color.map_or(self.style, |color| self.style.over(color)));
            wrap(&line, layout.width, WrapMode::Words, number, (first, &self.prefix.1), &mut rows);
            if let Some((_, behind)) = self.colors {
                let color = layout.theme.color(behind);
                rows = rows.into_iter().map(|row| row.on(color)).collect();
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
