//! Formats the whole conversation as lines, with all output: for the viewer and for `/dump`.

use std::borrow::Borrow;
use std::collections::HashSet;

use serde_json::Value;
use sinew_agent::mcp::semantics_of;
use sinew_llm::message::{AgentMessage, Block, ToolCall, ToolResultMessage};
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

/// The calls and results around a message: a call is shown with its result, so that each output is below its own call.
#[derive(Default)]
pub(super) struct Neighbours {
    /// The call of a result.
    call: Option<ToolCall>,
    /// The ids of an answer's calls whose results follow.
    answered: HashSet<String>,
}

impl Neighbours {
    /// Finds the neighbours of a message among those before it, newest first, and those after it.
    pub(super) fn find(
        message: &AgentMessage,
        mut before: impl Iterator<Item = impl Borrow<AgentMessage>>,
        after: impl Iterator<Item = impl Borrow<AgentMessage>>,
    ) -> Neighbours {
        let mut found = Neighbours::default();
        match message {
            AgentMessage::ToolResult(result) => {
                let answer = before.find(|message| !matches!(message.borrow(), AgentMessage::ToolResult(_)));
                if let Some(AgentMessage::Assistant(answer)) = answer.as_ref().map(Borrow::borrow) {
                    found.call = answer.tool_calls().find(|call| call.id == result.tool_call_id).cloned();
                }
            }
            AgentMessage::Assistant(answer) if answer.tool_calls().next().is_some() => {
                found.answered = after
                    .map_while(|message| match message.borrow() {
                        AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
                        _ => None,
                    })
                    .collect();
            }
            _ => {}
        }
        found
    }
}

impl ConversationText {
    /// Formats messages, oldest first. Linear in their text.
    pub(super) fn of(messages: &[AgentMessage]) -> ConversationText {
        let mut out = ConversationText::default();
        for (at, message) in messages.iter().enumerate() {
            let (before, after) = (messages[..at].iter().rev(), messages[at + 1..].iter());
            out.message(message, &Neighbours::find(message, before, after));
        }
        out
    }

    /// Formats only the source of prompts and answers.
    pub(super) fn source(messages: &[AgentMessage]) -> ConversationText {
        let mut out = ConversationText::default();
        messages.iter().for_each(|message| out.source_of(message));
        out
    }

    /// Formats one message; `is_first` says that no other message precedes it.
    pub(super) fn one(message: &AgentMessage, neighbours: &Neighbours, is_first: bool) -> ConversationText {
        let mut out = ConversationText { goes_on: !is_first, ..ConversationText::default() };
        out.message(message, neighbours);
        out
    }

    /// Formats only the source of one message.
    pub(super) fn source_of_one(message: &AgentMessage, is_first: bool) -> ConversationText {
        let mut out = ConversationText { goes_on: !is_first, ..ConversationText::default() };
        out.source_of(message);
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
            AgentMessage::User(_) => self.message(message, &Neighbours::default()),
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

    fn message(&mut self, message: &AgentMessage, neighbours: &Neighbours) {
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
                        Block::ToolCall(call) if !neighbours.answered.contains(&call.id) => self.tool_call("●", call),
                        _ => {}
                    }
                }
                if let Some(text) = ending(answer) {
                    self.text_block(&text, Style::PLAIN);
                }
            }
            AgentMessage::ToolResult(result) => self.tool_result(result, neighbours.call.as_ref()),
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

    fn tool_call(&mut self, symbol: &str, call: &ToolCall) {
        self.call(symbol, format!("{} {}", call.name, arguments(&call.name, &call.arguments)).trim_end());
        // The result of a call that writes a whole file does not contain the text.
        if let Some(content) = call.arguments.get("content").and_then(Value::as_str)
            && shows_diff(&call.name)
        {
            self.output(content);
        }
    }

    fn tool_result(&mut self, result: &ToolResultMessage, call: Option<&ToolCall>) {
        let symbol = if result.is_error { "✗" } else { "●" };
        match call {
            Some(call) => self.tool_call(symbol, call),
            None => self.call(symbol, &result.tool_name),
        }
        match diff_of(result.details.as_ref()).filter(|_| !result.is_error) {
            Some(diff) => self.lines.extend(diff.lines().map(diff_line)),
            None => self.output(&text_of(&result.content)),
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

/// Formats the arguments of a call: only the command, only the file if its changes are shown below or nothing else was
/// passed, or all of them.
fn arguments(tool: &str, arguments: &Value) -> String {
    let command = || arguments.get("command").and_then(Value::as_str).map(str::to_string);
    let is_title = shows_diff(tool) || arguments.as_object().is_some_and(|fields| fields.len() == 1);
    let file = || is_title.then(|| (semantics_of(tool).title)(arguments)).flatten();
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
    use sinew_llm::message::{AssistantMessage, BashExecution};

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
                tool_call_id: "1".into(),
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
            ([call("edit", edit), result(true, Some(diff))], "✗ edit a.rs\n  the result\n"),
            (
                [call("write", json!({"path": "a", "content": "x\ny\n"})), result(false, None)],
                "● write a\n  x\n  y\n  the result\n",
            ),
            (
                [call("grep", json!({"pattern": "x", "path": "a"})), result(false, None)],
                "● grep {\"pattern\":\"x\",\"path\":\"a\"}\n  the result\n",
            ),
            ([call("read", json!({"path": "a.rs"})), result(false, None)], "● read a.rs\n  the result\n"),
        ] {
            assert_eq!(ConversationText::of(&messages).text(), expect);
        }
    }

    #[test]
    fn each_result_is_below_its_own_call() {
        let call = |id: &str| {
            Block::ToolCall(ToolCall {
                id: id.into(),
                name: "read".into(),
                arguments: json!({"path": format!("{id}.rs")}),
                ..ToolCall::default()
            })
        };
        let content = vec![call("a"), call("b"), call("c")];
        let answer = AgentMessage::from(AssistantMessage { content, ..AssistantMessage::default() });
        let result = |id: &str, is_error| {
            AgentMessage::ToolResult(std::sync::Arc::new(ToolResultMessage {
                tool_call_id: id.into(),
                tool_name: "read".into(),
                content: vec![Block::text(format!("text of {id}"))],
                is_error,
                ..ToolResultMessage::default()
            }))
        };
        let messages = [answer, result("b", true), result("a", false), result("lost", false)];
        let expect = "● read c.rs\n\n✗ read b.rs\n  text of b\n\n● read a.rs\n  text of a\n\n● read\n  text of lost\n";
        assert_eq!(ConversationText::of(&messages).text(), expect);
    }
}
