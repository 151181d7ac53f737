//! Formats events and messages as lines that begin with a word for their type.

use std::collections::HashMap;

use serde_json::Value;
use sinew_agent::event::{Event, ToolResult};
use sinew_agent::mcp::semantics_of;
use sinew_control::actions::Control;
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, BashExecution, Block};
use sinew_tools::semantics::{OutputView, diff_of};
use sinew_tui::{LineSplitter, LinearOutput, OutputUnit};

use super::super::blocks::subject;
use super::super::keys::RowKeys;
use super::super::transcript::{ending, notice, text_of};

/// The maximum number of printed lines of an output or a change.
const OUTPUT: usize = 20;
const DIFF: usize = 40;
/// The number of messages that are printed when a session is resumed.
const SAID: usize = 20;

/// The state of the answer that is being printed.
pub(super) struct Words {
    pace: OutputUnit,
    /// True to print only the first line of a thought.
    hides_thoughts: bool,
    /// The keys for notes.
    pub(super) keys: RowKeys,
    parts: HashMap<usize, Part>,
}

struct Part {
    speech: LineSplitter,
    word: Option<&'static str>,
    is_folded: bool,
}

impl Part {
    fn new(pace: OutputUnit, is_thought: bool, hides: bool) -> Part {
        let word = Some(if is_thought { "Thinks" } else { "Assistant" });
        Part { speech: LineSplitter::new(pace), word, is_folded: is_thought && hides }
    }

    /// Prints lines; the first one begins with the word.
    fn say(&mut self, output: &mut LinearOutput, lines: Vec<String>) {
        for line in lines {
            match self.word.take_if(|_| !line.trim().is_empty()) {
                Some(word) => output.say(&format!("{word}: {line}")),
                // Blank lines are printed too, because they separate paragraphs.
                None if self.word.is_none() && !self.is_folded => output.say(&format!("{line}\n")),
                None => {}
            }
        }
    }
}

impl Words {
    pub(super) fn new(pace: OutputUnit, hides_thoughts: bool, keys: RowKeys) -> Words {
        Words { pace, hides_thoughts, keys, parts: HashMap::new() }
    }

    /// Prints an event.
    pub(super) fn event(&mut self, output: &mut LinearOutput, event: &Event) {
        match event {
            Event::MessageStart { message: AgentMessage::Assistant(_) } => self.parts.clear(),
            Event::MessageStart { message: AgentMessage::User(_) | AgentMessage::ToolResult(_) } => {}
            Event::MessageStart { message } => say_message(output, message),
            Event::MessageUpdate { step, .. } => match &step.event {
                StreamEvent::TextDelta { content_index, delta } => self.add(output, *content_index, delta, false),
                StreamEvent::ThinkingDelta { content_index, delta } => self.add(output, *content_index, delta, true),
                _ => {}
            },
            Event::MessageEnd { message: AgentMessage::Assistant(message) } => self.end(output, message),
            Event::ToolExecutionStart { tool_name, args, .. } => {
                output.say(&call(tool_name, args));
            }
            Event::ToolExecutionEnd { tool_name, result, is_error, .. } => {
                tool_end(output, tool_name, result, *is_error)
            }
            other => {
                if let Some((text, _)) = notice(other, self.keys) {
                    output.say(&format!("Note: {}", text.trim_start_matches(|c: char| !c.is_alphanumeric())));
                }
            }
        }
    }

    fn add(&mut self, output: &mut LinearOutput, index: usize, text: &str, is_thought: bool) {
        let (pace, hides) = (self.pace, self.hides_thoughts);
        let part = self.parts.entry(index).or_insert_with(|| Part::new(pace, is_thought, hides));
        let lines = part.speech.push(text);
        part.say(output, lines);
    }

    fn end(&mut self, output: &mut LinearOutput, message: &AssistantMessage) {
        for (index, content) in message.content.iter().enumerate() {
            let (text, is_thought) = match content {
                Block::Text(text) => (&text.text, false),
                Block::Thinking(thinking) => (&thinking.thinking, true),
                _ => continue,
            };
            // A provider without streaming sends the whole text at the end.
            if !self.parts.contains_key(&index) {
                self.add(output, index, text, is_thought);
            }
            if let Some(part) = self.parts.get_mut(&index) {
                let lines = part.speech.finish();
                part.say(output, lines);
            }
        }
        self.parts.clear();
        if let Some(text) = ending(message) {
            output.say(&format!("Error: {}", text.trim_start_matches(|c: char| !c.is_alphanumeric())));
        }
    }

    /// Prints the last messages of a session.
    pub(super) fn session(&mut self, output: &mut LinearOutput, messages: &[AgentMessage]) {
        let older = messages.len().saturating_sub(SAID);
        if older > 0 {
            output.say(&format!("Earlier: {older} messages"));
        }
        messages[older..].iter().for_each(|message| say_message(output, message));
    }
}

/// Describes a call: `Reads: a.rs`.
fn call(tool: &str, args: &Value) -> String {
    format!("{}: {}", semantics_of(tool).verb(tool), subject(tool, args))
}

fn tool_end(output: &mut LinearOutput, tool: &str, result: &ToolResult, is_error: bool) {
    let text = text_of(&result.content);
    let diff = diff_of(result.details.as_ref());
    let lines: Vec<&str> = text.trim_end().lines().collect();
    match (is_error, semantics_of(tool).presentation.output, diff) {
        (true, ..) => {
            output.say(&format!("Failed: {}", lines.first().copied().unwrap_or_default()));
            output.say(&tail(lines.get(1..).unwrap_or_default()).join("\n"));
        }
        (false, _, Some(diff)) => {
            output.say("Done, changed:");
            let lines: Vec<&str> = diff.lines().collect();
            lines.iter().take(DIFF).for_each(|line| output.say(line));
            if lines.len() > DIFF {
                output.say(&format!("Not shown: {} more lines", lines.len() - DIFF));
            }
        }
        (false, OutputView::Terminal, None) => {
            output.say(&tail(&lines).join("\n"));
            output.say("Done, exit 0");
        }
        (false, ..) => output.say(&format!("Done, {} lines", lines.len())),
    }
}

/// Returns the last lines of some output, and the total number if lines were omitted.
fn tail(lines: &[&str]) -> Vec<String> {
    let hidden = lines.len().saturating_sub(OUTPUT);
    let note = (hidden > 0).then(|| format!("Output: {} lines, the last {OUTPUT} are", lines.len()));
    note.into_iter().chain(lines[hidden..].iter().map(|line| (*line).to_string())).collect()
}

/// Prints a complete message.
fn say_message(output: &mut LinearOutput, message: &AgentMessage) {
    match message {
        AgentMessage::User(user) => output.say(&format!("You: {}", user.content.text())),
        AgentMessage::Assistant(answer) => {
            for content in &answer.content {
                match content {
                    Block::Text(text) if !text.text.trim().is_empty() => {
                        output.say(&format!("Assistant: {}", text.text.trim()));
                    }
                    Block::ToolCall(call) => output.say(&self::call(&call.name, &call.arguments)),
                    _ => {}
                }
            }
        }
        AgentMessage::BashExecution(run) => {
            output.say(&format!("Ran: {}\n{}", run.command, command_end(Ok(Some(run.clone())))))
        }
        AgentMessage::CompactionSummary(_) => output.say("Note: earlier messages were summarized"),
        AgentMessage::BranchSummary(_) => output.say("Note: the branch that you left was summarized"),
        AgentMessage::FileMention(mention) => {
            for file in &mention.files {
                output.say(&format!("Attached: {}", file.path));
            }
        }
        AgentMessage::ToolResult(_) | AgentMessage::Custom(_) => {}
    }
}

/// Describes the result of a user's command.
pub(super) fn command_end(ended: Result<Option<BashExecution>, String>) -> String {
    match ended {
        Ok(Some(run)) => {
            let mut words = tail(&run.output.trim_end().lines().collect::<Vec<_>>());
            words.push(match run.exit_code {
                Some(code) => format!("Done, exit {code}"),
                None => "Stopped before it finished".into(),
            });
            words.join("\n")
        }
        Ok(None) => "Cancelled before it began".into(),
        Err(error) => format!("Error: {error}"),
    }
}

/// Describes the contents of the status row.
pub(super) fn status(control: &Control, is_running: bool, queued: usize) -> String {
    let open = control.session();
    let model = open.agent.model().model.key();
    let mut words = format!(
        "Status: {}, {queued} waiting\nModel: {model}, thinking {}",
        if is_running { "working" } else { "ready" },
        open.agent.thinking().as_str()
    );
    match control.stats() {
        Ok(stats) => {
            if let Some(usage) = stats.context.filter(|usage| usage.context_window > 0) {
                words += &format!("\nContext: {} percent", usage.tokens * 100 / usage.context_window);
            }
            words += &format!("\nCost: {:.2} dollars", stats.counts.cost);
        }
        Err(error) => words += &format!("\nError: {}", error.message),
    }
    words
}
