//! Formats the whole conversation as lines, with all output: for the viewer and for `/dump`.

use serde_json::Value;
use sinew_agent::mcp::semantics_of;
use sinew_llm::message::{AgentMessage, Block};
use sinew_tools::semantics::{OutputView, diff_of};
use sinew_tui::{AnsiReader, Attrs, Color, Line, Passage, Style};

use super::blocks::{BOLD, DIM, ERROR};
use super::transcript::{ending, text_of};

/// The lines of a conversation or of a part of it.
#[derive(Default)]
pub(super) struct ConversationText {
    lines: Vec<Line>,
    /// The indexes of the lines at which prompts, answers, thoughts and calls begin.
    begins: Vec<usize>,
    /// True if other lines precede it.
    goes_on: bool,
    /// Whether it contains a prompt, and a call of a tool or a command of the user.
    has_prompt: bool,
    pub(super) has_call: bool,
}

impl ConversationText {
    /// Formats messages, oldest first. Linear in their text.
    pub(super) fn of(messages: &[AgentMessage]) -> ConversationText {
        let mut out = ConversationText::default();
        messages.iter().for_each(|message| out.message(message));
        out
    }

    /// Formats only the source of prompts and answers.
    pub(super) fn source(messages: &[AgentMessage]) -> ConversationText {
        let mut out = ConversationText::default();
        messages.iter().for_each(|message| out.source_of(message));
        out
    }

    /// Formats one message, or only its source; `is_first` says that no other message precedes it.
    pub(super) fn one(message: &AgentMessage, is_source: bool, is_first: bool) -> ConversationText {
        let mut out = ConversationText { goes_on: !is_first, ..ConversationText::default() };
        if is_source {
            out.source_of(message)
        } else {
            out.message(message)
        }
        out
    }

    /// Formats a call whose output is incomplete, after other messages.
    pub(super) fn running(header: &str, output: &str) -> ConversationText {
        let mut out = ConversationText { goes_on: true, ..ConversationText::default() };
        out.call("◌", header);
        out.output(output);
        out
    }

    /// Formats the reason why a message cannot be shown.
    pub(super) fn unreadable(why: &str) -> ConversationText {
        ConversationText { lines: vec![Line::styled(why, DIM)], ..ConversationText::default() }
    }

    /// Converts the lines for a view.
    pub(super) fn into_passage(self) -> Passage {
        Passage { lines: self.lines, begins: self.begins, is_prompt: self.has_prompt }
    }

    fn source_of(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::User(_) => self.message(message),
            AgentMessage::Assistant(answer) => {
                for content in &answer.content {
                    if let Block::Text(text) = content {
                        self.text_block(&text.text, Style::PLAIN);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the text, for a clipboard.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.text().trim_end())).collect()
    }

    fn message(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::User(user) => {
                self.begin();
                self.has_prompt = true;
                let text = user.content.text();
                for (at, line) in text.lines().enumerate() {
                    self.lines.push(Line::styled(&format!("{}{line}", if at == 0 { "› " } else { "  " }), BOLD));
                }
            }
            AgentMessage::Assistant(answer) => {
                for content in &answer.content {
                    match content {
                        Block::Text(text) if !text.text.trim().is_empty() => self.text_block(&text.text, Style::PLAIN),
                        Block::Thinking(thought) if !thought.thinking.trim().is_empty() => {
                            self.text_block(&thought.thinking, DIM.with(Attrs::ITALIC));
                        }
                        Block::ToolCall(call) => {
                            self.call("●", &format!("{} {}", call.name, arguments(&call.name, &call.arguments)));
                            // The result of a call that writes a whole file does not contain the text.
                            if let Some(content) = call.arguments.get("content").and_then(Value::as_str)
                                && shows_diff(&call.name)
                            {
                                self.output(content);
                            }
                        }
                        _ => {}
                    }
                }
                if let Some(text) = ending(answer) {
                    self.text_block(&text, Style::PLAIN);
                }
            }
            AgentMessage::ToolResult(result) => match diff_of(result.details.as_ref()).filter(|_| !result.is_error) {
                Some(diff) => self.lines.extend(diff.lines().map(diff_line)),
                None => self.output(&text_of(&result.content)),
            },
            AgentMessage::BashExecution(run) => {
                self.call("!", &run.command);
                self.output(&run.output);
                if let Some(file) = &run.full_output_path {
                    self.output(&format!("full output: {file}"));
                }
            }
            AgentMessage::CompactionSummary(summary) => self.text_block(&format!("⋯ {}", summary.summary), DIM),
            AgentMessage::BranchSummary(summary) => self.text_block(&format!("⋯ {}", summary.summary), DIM),
            AgentMessage::FileMention(mention) => {
                self.lines.extend(mention.files.iter().map(|file| Line::styled(&format!("@ {}", file.path), DIM)));
            }
            AgentMessage::Custom(custom) if custom.display => self.text_block(&custom.content.text(), DIM),
            AgentMessage::Custom(_) => {}
        }
    }

    /// Adds a blank row before the next element.
    fn begin(&mut self) {
        if self.goes_on || !self.lines.is_empty() {
            self.lines.push(Line::new());
        }
        self.begins.push(self.lines.len());
    }

    fn text_block(&mut self, text: &str, style: Style) {
        self.begin();
        self.lines.extend(text.trim_end().lines().map(|line| Line::styled(line, style)));
    }

    fn call(&mut self, symbol: &str, header: &str) {
        self.begin();
        self.has_call = true;
        for (at, line) in header.lines().enumerate() {
            let mark = if at == 0 { symbol } else { " " };
            self.lines.push(Line::styled(&format!("{mark} {line}"), BOLD));
        }
    }

    fn output(&mut self, text: &str) {
        let mut reader = AnsiReader::new();
        self.lines.extend(text.trim_end().lines().map(|line| {
            let mut indented = Line::plain("  ");
            indented.append(&reader.line(line, DIM));
            indented
        }));
    }
}

/// Returns true if the changes of a tool are shown as a diff.
fn shows_diff(tool: &str) -> bool {
    semantics_of(tool).presentation.output == OutputView::Diff
}

/// Formats the arguments of a call: only the command, only the file if its changes are shown below, or all of them.
fn arguments(tool: &str, arguments: &Value) -> String {
    let command = || arguments.get("command").and_then(Value::as_str).map(str::to_string);
    let file = || shows_diff(tool).then(|| (semantics_of(tool).title)(arguments)).flatten();
    match arguments.as_object() {
        Some(fields) if fields.is_empty() => String::new(),
        _ => command().or_else(file).unwrap_or_else(|| arguments.to_string()),
    }
}

/// Formats a line of a unified diff.
fn diff_line(line: &str) -> Line {
    let style = match line.as_bytes().first() {
        _ if line.starts_with("+++ ") || line.starts_with("--- ") => DIM,
        Some(b'+') => Style::fg(Color::Named(2)),
        Some(b'-') => ERROR,
        Some(b'@') => DIM,
        _ => Style::PLAIN,
    };
    Line::styled(&format!("  {line}"), style)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sinew_llm::message::{AssistantMessage, BashExecution, ToolCall, ToolResultMessage};

    use super::*;

    #[test]
    fn all_output_is_included_without_escapes() {
        let output: String = (1..=100).map(|line| format!("\u{1b}[31mline {line}\u{1b}]52;c;eA==\u{7}\n")).collect();
        let run = BashExecution { command: "seq 100".into(), output, exit_code: Some(0), ..BashExecution::default() };
        let shown = ConversationText::of(&[AgentMessage::BashExecution(run)]);
        assert_eq!((shown.has_call, shown.lines.len()), (true, 101));
        let text = shown.text();
        assert!(text.starts_with("! seq 100\n  line 1\n") && text.ends_with("  line 100\n"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }

    #[test]
    fn edits_are_shown_as_diffs() {
        let call = |name: &str, arguments: Value| {
            let call = ToolCall { id: "1".into(), name: name.into(), arguments, ..ToolCall::default() };
            AgentMessage::from(AssistantMessage { content: vec![Block::ToolCall(call)], ..AssistantMessage::default() })
        };
        let result = |is_error: bool, details: Option<Value>| {
            AgentMessage::ToolResult(std::sync::Arc::new(ToolResultMessage {
                content: vec![Block::text("the result")],
                is_error,
                details,
                ..ToolResultMessage::default()
            }))
        };
        let edit = json!({"path": "a.rs", "edits": [{"oldText": "a", "newText": "b"}]});
        let diff = json!({"diff": "--- a.rs\n+++ a.rs\n@@ -1 +1 @@\n-a\n+b\n"});
        for (messages, expect) in [
            (
                [call("edit", edit.clone()), result(false, Some(diff.clone()))],
                "● edit a.rs\n  --- a.rs\n  +++ a.rs\n  @@ -1 +1 @@\n  -a\n  +b\n",
            ),
            ([call("edit", edit), result(true, Some(diff))], "● edit a.rs\n  the result\n"),
            (
                [call("write", json!({"path": "a", "content": "x\ny\n"})), result(false, None)],
                "● write a\n  x\n  y\n  the result\n",
            ),
            (
                [call("grep", json!({"pattern": "x", "path": "a"})), result(false, None)],
                "● grep {\"pattern\":\"x\",\"path\":\"a\"}\n  the result\n",
            ),
        ] {
            assert_eq!(ConversationText::of(&messages).text(), expect);
        }
    }
}
