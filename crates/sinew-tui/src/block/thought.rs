//! The thinking of a model: Markdown in a subdued style, shown in full or folded to one row.

use std::sync::Arc;

use super::markdown::MarkdownBlock;
use crate::keys::Chord;
use crate::screen::{Block, Layout, RenderedRows};
use crate::text::row::{Line, Row};
use crate::text::style::{Attrs, Style};
use crate::theme::Token;

/// The thinking of a model while it arrives. It settles when it is complete; until then it can be folded and unfolded.
#[derive(Default)]
pub struct ThoughtBlock {
    text: MarkdownBlock,
    /// The rows of the text in its original styles.
    laid: RenderedRows,
    /// The number of rows already converted to the subdued style.
    toned: usize,
    is_folded: bool,
    /// The keys that unfold the thinking while it arrives, and that show the whole transcript.
    keys: [Option<Chord>; 2],
    finished: bool,
    version: u64,
}

impl ThoughtBlock {
    /// Creates a block that grows.
    #[must_use]
    pub fn streaming(is_folded: bool) -> ThoughtBlock {
        ThoughtBlock { is_folded, ..ThoughtBlock::default() }
    }

    /// Sets the keys that a folded row names to show the rest: `unfold` while the thinking arrives, `all` afterwards.
    #[must_use]
    pub fn with_keys(self, unfold: Option<Chord>, all: Option<Chord>) -> ThoughtBlock {
        ThoughtBlock { keys: [unfold, all], ..self }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push(text);
        self.version += 1;
    }

    /// Shows one row, or all.
    pub fn fold(&mut self, is_folded: bool) {
        self.is_folded = is_folded;
        self.toned = 0;
        self.version += 1;
    }

    /// Completes the block: all rows are final.
    pub fn finish(&mut self) {
        self.text.finish();
        self.finished = true;
        self.version += 1;
    }

    /// Returns the row of folded thinking: its first heading, or else its first row, and the key that shows the rest.
    fn folded(&self, look: Style, width: usize) -> Option<Row> {
        let heading = self.text.text().lines().map(str::trim).find_map(|line| {
            let bold = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
            let heading = line.strip_prefix('#').map(|line| line.trim_matches(['#', ' ']));
            bold.or(heading).filter(|text| !text.is_empty())
        });
        let first = self.laid.rows.iter().find(|row| !row.text().is_empty())?;
        let heading = heading.map_or_else(|| first.text().to_owned(), |text| Line::plain(text).text().to_owned());
        let rest = self.laid.rows.len() > 1;
        let key = self.keys[usize::from(self.finished)].map(|key| format!(" {key}")).unwrap_or_default();
        let note = if rest { format!(" ⋯{key}") } else { String::new() };
        let room = width.saturating_sub(Line::plain(&note).width());
        let mut line = Line::styled(&heading, look).into_row(room).to_line();
        line.push(&note, look);
        Some(line.into_row(width).numbered(1))
    }
}

impl Block for ThoughtBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, restart: bool, out: &mut RenderedRows) {
        if restart {
            self.laid = RenderedRows::default();
            self.toned = 0;
        }
        self.text.render(layout, restart, &mut self.laid);
        let look = layout.theme.style(Token::ThinkingText).with(Attrs::ITALIC);
        if self.is_folded {
            out.reopen();
            out.extend(self.folded(look, layout.width));
        } else {
            out.rows.truncate(out.settled + self.toned);
            let rows = &self.laid.rows[self.toned..];
            out.rows.extend(rows.iter().map(|row| Arc::new(row.toned(look))));
            self.toned = self.laid.settled;
        }
        if self.finished {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        self.text.plain()
    }
}
