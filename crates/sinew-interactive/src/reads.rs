//! Calls that read or search: consecutive calls of a tool share one row.

use serde_json::Value;
use sinew_agent::mcp::semantics_of;
use sinew_tools::semantics::OutputView;
use sinew_tui::{AnsiReader, Block, Layout, Line, RenderedRows, Row, WrapMode, wrap};

use super::blocks::{BOLD, DIM, DONE, State, subject};

/// Consecutive calls of one tool. The block is complete when another block follows.
pub(super) struct ReadBlock {
    tool: String,
    calls: Vec<Call>,
    is_unfolded: bool,
    is_followed: bool,
    version: u64,
}

struct Call {
    id: String,
    subject: String,
    output: String,
    state: State,
}

impl ReadBlock {
    /// Returns true if calls of a tool are combined.
    pub(super) fn has(tool: &str) -> bool {
        plural(tool).is_some()
    }

    pub(super) fn new(tool: &str, is_unfolded: bool) -> ReadBlock {
        ReadBlock { tool: tool.into(), calls: Vec::new(), is_unfolded, is_followed: false, version: 0 }
    }

    /// Adds a call; returns false if it belongs to another tool, or if another block is between them.
    pub(super) fn add(&mut self, tool: &str, id: &str, args: &Value) -> bool {
        let takes = tool == self.tool && !self.is_followed;
        if takes {
            let subject = subject(tool, args);
            self.calls.push(Call { id: id.into(), subject, output: String::new(), state: State::Running });
            self.version += 1;
        }
        takes
    }

    /// Ends a call.
    pub(super) fn finish(&mut self, id: &str, output: String, is_error: bool) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.output = output;
            call.state = if is_error { State::Failed } else { State::Done };
            self.version += 1;
        }
    }

    /// Shows all of the output, or only a part.
    pub(super) fn unfold(&mut self, is_unfolded: bool) {
        self.is_unfolded = is_unfolded;
        self.version += 1;
    }

    /// Returns the title of a call.
    pub(super) fn title(&self, id: &str) -> Option<String> {
        let call = self.calls.iter().find(|call| call.id == id)?;
        Some(format!("{} {}", self.tool, call.subject))
    }

    fn is(&self, state: State) -> bool {
        self.calls.iter().any(|call| call.state == state)
    }

    /// Returns `read 3 files: a, b, c · 120 lines` in one row. If it is too long, the names are cut.
    fn header(&self, layout: &Layout<'_>) -> Row {
        let state = match () {
            () if self.is(State::Running) => State::Running,
            () if self.is(State::Failed) => State::Failed,
            () => State::Done,
        };
        let mut head = state.symbol(layout.theme);
        head.push(&self.tool, BOLD);
        let several = plural(&self.tool).unwrap_or("calls");
        match self.calls.len() {
            1 => head.push(" ", BOLD),
            count => head.push(&format!(" {count} {several}: "), BOLD),
        };
        let done = self.calls.iter().filter(|call| call.state == State::Done && !call.output.is_empty());
        let lines = done.map(|call| call.output.lines().filter(|line| !line.trim().is_empty()).count());
        let tail = match (lines.sum(), state) {
            (_, State::Running) | (0, _) => String::new(),
            (1, _) => " · 1 line".into(),
            (lines, _) => format!(" · {lines} lines"),
        };
        let tail = Line::styled(&tail, DIM);
        let names: Vec<&str> = self.calls.iter().map(|call| call.subject.as_str()).collect();
        let room = layout.width.saturating_sub(head.width() + tail.width());
        head.append(&Line::plain(&names.join(", ")).into_row(room.max(1)).to_line()).append(&tail);
        head.into_row(layout.width)
    }

    /// Appends the output of failed calls, or of all.
    fn body(&self, layout: &Layout<'_>, rows: &mut Vec<Row>) {
        let (indent, several) = (Line::plain("  "), self.calls.len() > 1);
        let shown = self.calls.iter().filter(|call| call.state == State::Failed || self.is_unfolded);
        for call in shown.filter(|call| call.state != State::Running) {
            if several {
                rows.push(Line::styled(&format!("  {}", call.subject), BOLD).into_row(layout.width));
            }
            let mut reader = AnsiReader::new();
            let most = if self.is_unfolded { usize::MAX } else { DONE };
            for text in call.output.trim_end().lines().take(most) {
                let line = reader.line(text, DIM);
                wrap(&line, layout.width, WrapMode::Words, 1, (&indent, &indent), rows);
            }
        }
    }
}

impl Block for ReadBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _restart: bool, out: &mut RenderedRows) {
        out.reopen();
        let mut rows = vec![self.header(layout)];
        self.body(layout, &mut rows);
        rows.iter_mut().for_each(|row| row.line = 1);
        out.extend(rows);
        if self.is_followed && !self.is(State::Running) {
            out.finish();
        }
    }

    fn is_followed(&mut self) {
        self.is_followed = true;
        self.version += 1;
    }

    fn plain(&self) -> String {
        self.calls.iter().map(|call| format!("{} {}\n", self.tool, call.subject)).collect()
    }
}

/// Returns the noun for several calls of a tool; `None` if each of its calls has its own block.
fn plural(tool: &str) -> Option<&'static str> {
    match semantics_of(tool).presentation.output {
        OutputView::Row { plural } => Some(plural),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use sinew_tui::theme::Theme;
    use sinew_tui::{Screen, ScreenOptions, Size, Style, TextBlock};

    use super::*;

    fn shown(screen: &mut Screen) -> Vec<String> {
        screen.paint();
        screen.shown_rows().map(|row| row.text().to_string()).filter(|row| !row.is_empty()).collect()
    }

    #[test]
    fn calls_of_one_tool_are_one_row_until_something_follows() {
        let mut screen = Screen::new(Size::new(40, 20), ScreenOptions::default(), Arc::new(Theme::default()));
        let id = screen.push(ReadBlock::new("read", false));
        let block = |screen: &mut Screen, act: &dyn Fn(&mut ReadBlock)| act(screen.block::<ReadBlock>(id).unwrap());
        block(&mut screen, &|block| {
            assert!(block.add("read", "1", &json!({"path": "a.rs"})));
            block.finish("1", "x\n\ny\n".into(), false);
        });
        assert_eq!(shown(&mut screen), ["● read a.rs · 2 lines"]);
        block(&mut screen, &|block| {
            assert!(block.add("read", "2", &json!({"path": "b.rs", "offset": 10, "limit": 5})));
            assert!(!block.add("grep", "3", &json!({"pattern": "x"})));
        });
        assert_eq!(shown(&mut screen), ["◌ read 2 files: a.rs, b.rs:10-14"]);
        assert_eq!(screen.shown_settled(), 0);
        block(&mut screen, &|block| {
            block.finish("2", "z".into(), false);
            assert!(block.add("read", "3", &json!({"path": "none.rs"})));
            block.finish("3", "No such file".into(), true);
        });
        let rows = ["✗ read 3 files: a.rs, b.rs… · 3 lines", "  none.rs", "  No such file"];
        assert_eq!(shown(&mut screen), rows.map(|row| row.replace("b.rs…", "b.rs:10…")));
        screen.push(TextBlock::new("Done.", Style::PLAIN));
        block(&mut screen, &|block| assert!(!block.add("read", "4", &json!({"path": "c"}))));
        shown(&mut screen);
        assert_eq!(screen.shown_settled(), 5);
    }
}
