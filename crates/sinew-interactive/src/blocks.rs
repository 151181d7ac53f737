//! The blocks of tools and commands in the transcript: a header, and a part of the output.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use sinew_agent::mcp::semantics_of;
use sinew_llm::message::BashExecution;
use sinew_tools::semantics::OutputView;
use sinew_tui::theme::{Theme, Token};
use sinew_tui::{
    AnsiReader, Attrs, Block, Chord, Color, DiffOptions, Layout, Line, RenderedRows, Row, Style, WrapMode,
    patch_counts, patch_lines, wrap,
};

use super::keys::RowKeys;

/// The number of output rows while a tool runs, and after it has ended.
const RUNNING: usize = 8;
pub(super) const DONE: usize = 20;
/// The number of rows of a change.
pub(super) const DIFF: usize = 40;

pub(super) const DIM: Style = Style::PLAIN.with(Attrs::DIM);
pub(super) const BOLD: Style = Style::PLAIN.with(Attrs::BOLD);
pub(super) const ERROR: Style = Style::fg(Color::Named(1));
pub(super) const NOTICE: Style = Style::fg(Color::Named(3));

/// A tool, or a command of the user.
pub(super) struct ToolBlock {
    name: String,
    subject: String,
    output: String,
    body: Body,
    state: State,
    /// The line after the output: exit code, time, the file with the whole output.
    footer: String,
    /// The running time in seconds, and the number of lines of the whole output if the block has only a part of it.
    seconds: u64,
    lines: Option<u64>,
    is_unfolded: bool,
    /// The key that shows the whole conversation, for the row about omitted lines.
    more: Option<Chord>,
    version: u64,
}

/// The state of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Done,
    Failed,
}

impl State {
    /// Returns the symbol before the header.
    pub(super) fn symbol(self, theme: &Theme) -> Line {
        match self {
            State::Running => Line::styled("◌ ", DIM),
            State::Done => Line::styled("● ", theme.style(Token::Success)),
            State::Failed => Line::styled("✗ ", theme.style(Token::Error)),
        }
    }
}

/// The part of the output that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// The last rows.
    Tail,
    /// A change of a file.
    Diff,
}

impl ToolBlock {
    pub(super) fn new(name: &str, args: &Value) -> ToolBlock {
        let body = match semantics_of(name).presentation.output {
            OutputView::Diff => Body::Diff,
            OutputView::Tail | OutputView::Terminal | OutputView::Row { .. } => Body::Tail,
        };
        ToolBlock {
            name: name.to_string(),
            subject: subject(name, args),
            output: String::new(),
            body,
            state: State::Running,
            footer: String::new(),
            seconds: 0,
            lines: None,
            is_unfolded: false,
            more: None,
            version: 0,
        }
    }

    /// Sets the key that the row about omitted lines names.
    pub(super) fn with_more(self, more: Option<Chord>) -> ToolBlock {
        ToolBlock { more, ..self }
    }

    /// Creates the block of a user's command.
    pub(super) fn command(command: &str) -> ToolBlock {
        ToolBlock::new("!", &Value::from(command))
    }

    /// Shows all of the output, or only a part.
    pub(super) fn unfold(&mut self, is_unfolded: bool) {
        self.is_unfolded = is_unfolded;
        self.version += 1;
    }

    /// Sets the running time.
    pub(super) fn set_time(&mut self, seconds: u64) {
        if self.seconds != seconds {
            self.seconds = seconds;
            self.version += 1;
        }
    }

    /// Replaces the output so far, and the number of its lines.
    pub(super) fn set_output(&mut self, output: String, lines: Option<u64>) {
        self.output = output;
        self.lines = lines;
        self.version += 1;
    }

    /// Ends the block. `diff` is the change of a file, if the tool made one.
    pub(super) fn finish(&mut self, output: String, diff: Option<&str>, is_error: bool, took: Option<Duration>) {
        if let (Some(diff), false) = (diff, is_error) {
            self.output = diff.to_string();
        } else {
            self.output = output;
            if self.body == Body::Diff || is_error {
                self.body = Body::Tail;
            }
        }
        self.state = if is_error { State::Failed } else { State::Done };
        if let Some(took) = took.filter(|took| took.as_secs() > 0) {
            self.footer = format!("took {}", duration(took));
        }
        self.version += 1;
    }

    /// Returns the title and the output so far.
    pub(super) fn texts(&self) -> (String, String) {
        (format!("{} {}", self.name, self.subject), self.output.clone())
    }

    /// Ends the block of a user's command.
    pub(super) fn finish_command(&mut self, run: &BashExecution, took: Option<Duration>) {
        self.finish(run.output.clone(), None, run.exit_code != Some(0), took);
        let code = match run.exit_code {
            Some(0) => String::new(),
            Some(code) => format!("exit code {code}"),
            None => "stopped before it finished".into(),
        };
        let file = run.full_output_path.as_ref().map(|file| format!("full output: {file}"));
        let parts = [code, std::mem::take(&mut self.footer), file.unwrap_or_default()];
        self.footer = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    }

    /// Returns the line below the output: the time and the number of lines while it runs, and the result afterwards.
    fn footer(&self) -> Cow<'_, str> {
        match (self.state, self.seconds) {
            (State::Running, 0) => "".into(),
            (State::Running, seconds) => {
                let time = duration(Duration::from_secs(seconds));
                match self.lines.unwrap_or(0) {
                    0 => time.into(),
                    1 => format!("{time} · 1 line").into(),
                    lines => format!("{time} · {lines} lines").into(),
                }
            }
            _ => self.footer.as_str().into(),
        }
    }

    fn header(&self, number: u32, layout: &Layout<'_>, rows: &mut Vec<Row>) {
        let (width, theme) = (layout.width, layout.theme);
        let mut line = self.state.symbol(theme);
        line.push(&self.name, BOLD);
        line.push(" ", BOLD);
        line.push(&self.subject, Style::PLAIN);
        if self.body == Body::Diff && self.state == State::Done {
            let (added, removed) = patch_counts(&self.output);
            line.push(&format!(" +{added}"), theme.style(Token::ToolDiffAdded));
            line.push(&format!(" −{removed}"), theme.style(Token::ToolDiffRemoved));
        }
        let mut header = Vec::new();
        wrap(&line, width, WrapMode::Words, number, (&Line::new(), &Line::plain("  ")), &mut header);
        header.truncate(3);
        rows.append(&mut header);
    }

    fn body(&self, layout: &Layout<'_>, number: u32, rows: &mut Vec<Row>) {
        let width = layout.width;
        let most = |rows: usize| if self.is_unfolded { usize::MAX } else { rows };
        let limit = match (self.body, self.state) {
            (Body::Diff, _) => {
                let options = DiffOptions { rows: most(DIFF), ..DiffOptions::default() };
                let mut shown = patch_lines(&self.output, language(&self.subject), layout.width, layout.theme, options);
                shown.iter_mut().for_each(|row| row.line = number);
                return rows.append(&mut shown);
            }
            (Body::Tail, State::Running) => most(RUNNING),
            (Body::Tail, _) => most(DONE),
        };
        let mut reader = AnsiReader::new();
        let lines: Vec<&str> = self.output.trim_end().lines().collect();
        // A line needs at least one row, so lines that do not fit are not laid out.
        let skipped = lines.len().saturating_sub(limit);
        let mut laid = Vec::new();
        for (at, text) in (0u32..).zip(&lines[skipped..]).take(limit) {
            let indent = Line::plain("  ");
            wrap(&reader.line(text, DIM), width, WrapMode::Words, number + at, (&indent, &indent), &mut laid);
        }
        laid.iter_mut().for_each(|row| row.foreign = true);
        if skipped > 0 {
            let key = RowKeys::note(self.more, "");
            let text = format!("  ⋯ {skipped} more {}{key}", if skipped == 1 { "line" } else { "lines" });
            wrap(&Line::styled(&text, DIM), width, WrapMode::Words, number, (&Line::new(), &Line::new()), rows);
        }
        rows.extend(laid.split_off(laid.len() - laid.len().min(limit)));
    }
}

impl Block for ToolBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _restart: bool, out: &mut RenderedRows) {
        out.reopen();
        let mut rows = Vec::new();
        self.header(1, layout, &mut rows);
        self.body(layout, 2, &mut rows);
        let footer = self.footer();
        if !footer.is_empty() {
            let indent = Line::plain("  ");
            let number = u32::MAX;
            wrap(&Line::styled(&footer, DIM), layout.width, WrapMode::Words, number, (&indent, &indent), &mut rows);
        }
        out.extend(rows);
        if self.state != State::Running {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        format!("{} {}\n{}", self.name, self.subject, self.output)
    }
}

/// Returns what a call acts on, in one line: its title, or all of its arguments if it has none.
pub(super) fn subject(tool: &str, args: &Value) -> String {
    let untitled = || match args {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    };
    let subject = (semantics_of(tool).title)(args).unwrap_or_else(untitled);
    let mut lines = subject.lines();
    let first = lines.next().unwrap_or_default().to_string();
    match lines.count() {
        0 => first,
        more => format!("{first} ⋯ {more} more {}", if more == 1 { "line" } else { "lines" }),
    }
}

/// Returns the language of a file, from the extension of its name.
pub(super) fn language(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.rsplit_once('.').map_or("", |(_, end)| end)
}

/// Writes a duration for people: `12s`, `3m 05s`, `2h 10m`.
pub(super) fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use sinew_tui::theme::Theme;
    use sinew_tui::{Screen, ScreenOptions, Size};

    use super::*;

    fn shown(block: ToolBlock) -> Vec<String> {
        let mut screen = Screen::new(Size::new(40, 60), ScreenOptions::default(), Arc::new(Theme::default()));
        screen.push(block);
        screen.paint();
        screen.shown_rows().map(|row| row.text().to_string()).filter(|row| !row.is_empty()).collect()
    }

    #[test]
    fn a_command_shows_the_end_of_its_output() {
        let mut block =
            ToolBlock::new("bash", &json!({"command": "seq 30"})).with_more(sinew_tui::Chord::parse("ctrl+o"));
        block.set_output((1..=30).map(|line| format!("{line}\n")).collect(), None);
        let rows = shown(block);
        assert_eq!(rows[..3], ["◌ bash seq 30", "  ⋯ 22 more lines · ctrl+o", "  23"]);
        assert_eq!(rows.len(), 10);
        let mut block = ToolBlock::new("bash", &json!({"command": "seq 30"}));
        block.unfold(true);
        block.finish((1..=30).map(|line| format!("{line}\n")).collect(), None, false, None);
        assert_eq!(shown(block).len(), 31, "unfolded it shows everything");
    }

    #[test]
    fn changes_show_a_diff_and_failures_their_reason() {
        let mut block = ToolBlock::new("edit", &json!({"path": "a.rs"}));
        block.finish("Edited".into(), Some("-old\n+new"), false, None);
        assert_eq!(shown(block), ["● edit a.rs +1 −1", "- old", "+ new"]);
        // These lines of the file look like the header of a diff.
        let mut block = ToolBlock::new("edit", &json!({"path": "a.sql"}));
        let diff = "--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- old remark\n -- kept\n+++ i\n";
        block.finish("Edited".into(), Some(diff), false, None);
        assert_eq!(shown(block)[0], "● edit a.sql +1 −1");
        // A line patch contains the name of its file.
        let mut block = ToolBlock::new("edit", &json!({"input": "@a.rs#0123abcd\nreplace 1..1\n|new"}));
        block.finish("@a.rs#1".into(), Some("-old\n+new"), false, None);
        assert_eq!(shown(block), ["● edit a.rs +1 −1", "- old", "+ new"]);
        let mut block = ToolBlock::new("edit", &json!({"path": "a.rs"}));
        block.finish("No such text".into(), None, true, None);
        assert_eq!(shown(block), ["✗ edit a.rs", "  No such text"]);
    }

    #[test]
    fn output_cannot_send_an_escape() {
        let mut block = ToolBlock::new("bash", &json!({"command": "printf '\u{1b}]52;c;eA==\u{7}'"}));
        block.finish("\u{1b}]52;c;eA==\u{7}a\u{1b}[2Jb\u{9b}31m\u{202e}c".into(), None, false, None);
        let mut screen = Screen::new(Size::new(60, 10), ScreenOptions::default(), Arc::new(Theme::default()));
        screen.push(block);
        let bytes = String::from_utf8(screen.paint().bytes).unwrap();
        for forbidden in ["\u{1b}]52", "\u{1b}[2J", "\u{9b}", "\u{202e}", "\u{7}"] {
            assert!(!bytes.contains(forbidden), "{forbidden:?} in {bytes:?}");
        }
    }
}
