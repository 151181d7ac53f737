//! The output of a command: the last rows while it runs, more of them when it has finished.

use crate::screen::{Block, Layout, RenderedRows};
use crate::text::ansi::AnsiReader;
use crate::text::row::{Line, Row};
use crate::text::style::Attrs;
use crate::text::wrap::{WrapMode, wrap};
use crate::theme::Token;

/// A header, the last rows of the output, and a footer. The whole block settles when it is finished.
#[derive(Debug)]
pub struct OutputBlock {
    header: Vec<Line>,
    footer: Vec<Line>,
    /// The last lines; older ones are only counted.
    lines: std::collections::VecDeque<String>,
    dropped: usize,
    running_rows: usize,
    done_rows: usize,
    finished: bool,
    version: u64,
}

impl OutputBlock {
    /// Creates a block that shows 8 rows while the command runs and 20 when it has finished.
    #[must_use]
    pub fn new(header: Vec<Line>) -> OutputBlock {
        OutputBlock {
            header,
            footer: Vec::new(),
            lines: std::collections::VecDeque::new(),
            dropped: 0,
            running_rows: 8,
            done_rows: 20,
            finished: false,
            version: 0,
        }
    }

    /// Replaces the header, which shows state and time.
    pub fn set_header(&mut self, header: Vec<Line>) {
        self.header = header;
        self.version += 1;
    }

    /// Appends output. Keeps only as many lines as can be shown. Runs in time linear in the text.
    pub fn push(&mut self, text: &str) {
        self.version += 1;
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 || self.lines.is_empty() {
                self.lines.push_back(String::new());
            }
            if let Some(line) = self.lines.back_mut() {
                line.push_str(part);
            }
        }
        while self.lines.len() > self.done_rows + 2 {
            self.lines.pop_front();
            self.dropped += 1;
        }
    }

    /// Returns the number of lines so far.
    #[must_use]
    pub fn line_count(&self) -> usize {
        let open = self.lines.back().is_some_and(String::is_empty);
        self.dropped + self.lines.len() - usize::from(open)
    }

    /// Completes the block with rows below the output, such as exit code, time and the location of the full output.
    pub fn finish(&mut self, footer: Vec<Line>) {
        self.footer = footer;
        self.finished = true;
        self.version += 1;
    }
}

impl Block for OutputBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _: bool, out: &mut RenderedRows) {
        out.reopen();
        let none = Line::new();
        let place = (&none, &none);
        let mut rows = Vec::new();
        for line in &self.header {
            wrap(line, layout.width, WrapMode::Words, 1, place, &mut rows);
        }
        let mut body: Vec<Row> = Vec::new();
        let mut reader = AnsiReader::new();
        let style = layout.theme.style(Token::ToolOutput);
        let open = self.lines.back().is_some_and(String::is_empty);
        for text in self.lines.iter().take(self.lines.len() - usize::from(open)) {
            wrap(&reader.line(text, style), layout.width, WrapMode::Cells, 1, place, &mut body);
        }
        let most = if self.finished { self.done_rows } else { self.running_rows };
        let hidden = body.len().saturating_sub(most);
        let before = if self.dropped > 0 { self.dropped } else { hidden };
        if before > 0 || hidden > 0 {
            let unit = if self.dropped > 0 { "lines" } else { "rows" };
            let text = format!("⋯ {before} earlier {unit}");
            rows.push(Line::styled(&text, layout.theme.style(Token::Dim).with(Attrs::DIM)).into_row(layout.width));
        }
        rows.extend(body.into_iter().skip(hidden));
        for line in &self.footer {
            wrap(line, layout.width, WrapMode::Words, 1, place, &mut rows);
        }
        for row in &mut rows {
            row.line = 1;
        }
        out.extend(rows);
        if self.finished {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        let text = |lines: &[Line]| lines.iter().map(|line| format!("{}\n", line.text())).collect::<String>();
        let body: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        text(&self.header) + &body + &text(&self.footer)
    }
}
