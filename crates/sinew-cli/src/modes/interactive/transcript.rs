//! Events and messages as blocks of the transcript.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

use serde_json::Value;
use sinew_agent::event::{Event, ToolResult};
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, BashExecution, Block, Content, ImageBlock, StopReason};
use sinew_tui::{BlockId, Line, Mark, MarkdownBlock, Screen, Style, TextBlock, ThoughtBlock, theme::Token};

use super::blocks::{BOLD, DIM, DONE, ERROR, NOTICE, State, ToolBlock};
use super::pictures::{PictureBlock, caption};
use super::reads::ReadBlock;

/// The parts that are shown folded, or at all.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Looks {
    /// Thoughts are folded to a row.
    pub(super) hides_thoughts: bool,
    /// All output is shown.
    pub(super) unfolds: bool,
    /// Pictures are shown, not only told of.
    pub(super) pictures: bool,
}

/// The blocks that can still change.
#[derive(Default)]
pub(super) struct Transcript {
    pub(super) looks: Looks,
    /// Parts of the present answer by their place in the message.
    parts: HashMap<usize, Part>,
    tools: HashMap<String, (BlockId, Instant)>,
    /// The activity of the run, in a word.
    activity: &'static str,
    /// True if the last block is a tool.
    follows_tool: bool,
    /// Pictures that are to be made ready for the terminal.
    pictures: Vec<BlockId>,
}

/// A part of an answer, and its block.
#[derive(Clone, Copy)]
enum Part {
    Text(BlockId),
    Thought(BlockId),
}

impl Transcript {
    pub(super) fn new(looks: Looks) -> Transcript {
        Transcript { looks, ..Transcript::default() }
    }

    /// Returns what the run does, in a word.
    pub(super) fn activity(&self) -> &'static str {
        if self.activity.is_empty() { "working" } else { self.activity }
    }

    /// Takes the blocks of pictures that are to be made ready for the terminal.
    pub(super) fn take_pictures(&mut self) -> Vec<BlockId> {
        std::mem::take(&mut self.pictures)
    }

    /// Shows messages that are complete, of a session that goes on.
    pub(super) fn show_messages(&mut self, screen: &mut Screen, messages: &[AgentMessage]) {
        self.pictures.extend(show_messages(screen, messages, self.looks));
    }

    /// The calls that go on: what they are, and their output so far.
    pub(super) fn running_tools(&self, screen: &mut Screen) -> Vec<(String, String)> {
        let texts = |(id, (block, _)): (&String, &(BlockId, Instant))| match screen.block::<ToolBlock>(*block) {
            Some(block) => Some(block.texts()),
            None => Some((screen.block::<ReadBlock>(*block)?.title(id)?, String::new())),
        };
        self.tools.iter().filter_map(texts).collect()
    }

    /// Folds what thoughts are still live and what follow, or shows them whole; tells which.
    pub(super) fn fold_thoughts(&mut self, screen: &mut Screen) -> bool {
        self.looks.hides_thoughts = !self.looks.hides_thoughts;
        self.refold(screen);
        self.looks.hides_thoughts
    }

    /// Shows all output of what is still live and of what follows, or no longer; tells which.
    pub(super) fn unfold(&mut self, screen: &mut Screen) -> bool {
        self.looks.unfolds = !self.looks.unfolds;
        self.refold(screen);
        self.looks.unfolds
    }

    fn refold(&self, screen: &mut Screen) {
        let Looks { hides_thoughts, unfolds, .. } = self.looks;
        for part in self.parts.values() {
            if let Part::Thought(block) = part
                && let Some(block) = screen.block::<ThoughtBlock>(*block)
            {
                block.fold(hides_thoughts && !unfolds);
            }
        }
        for (block, _) in self.tools.values() {
            if let Some(block) = screen.block::<ToolBlock>(*block) {
                block.unfold(unfolds);
            }
        }
        if let Some(block) = screen.last_block().and_then(|last| screen.block::<ReadBlock>(last)) {
            block.unfold(unfolds);
        }
    }

    /// Shows an event.
    pub(super) fn show(&mut self, screen: &mut Screen, event: &Event) {
        match event {
            Event::MessageStart { message: AgentMessage::Assistant(_) } => {
                self.parts.clear();
                self.activity = "waiting";
            }
            Event::MessageStart { message } => {
                self.follows_tool &= matches!(message, AgentMessage::ToolResult(_));
                self.pictures.extend(show_message(screen, message, self.looks));
            }
            Event::MessageUpdate { step, .. } => self.grow(screen, &step.event),
            Event::MessageEnd { message: AgentMessage::Assistant(message) } => self.end_answer(screen, message),
            Event::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                // Tools of one answer stand together.
                let is_close = std::mem::replace(&mut self.follows_tool, true);
                let block = begin_tool(screen, (tool_call_id, tool_name, args), State::Running, is_close, self.looks);
                self.tools.insert(tool_call_id.clone(), (block, Instant::now()));
                self.activity = "running tools";
            }
            Event::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                if let Some((block, _)) = self.tools.get(tool_call_id)
                    && let Some(block) = screen.block::<ToolBlock>(*block)
                {
                    block.set_output(text_of(&partial_result.content));
                }
            }
            Event::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let Some((block, begun)) = self.tools.remove(tool_call_id) else { return };
                let ToolResult { content, details } = result;
                if let Some(block) = screen.block::<ReadBlock>(block) {
                    block.finish(tool_call_id, text_of(content), *is_error);
                } else if let Some(block) = screen.block::<ToolBlock>(block) {
                    block.finish(
                        text_of(content),
                        diff_of(details.as_ref()).as_deref(),
                        *is_error,
                        Some(begun.elapsed()),
                    );
                }
                if self.looks.pictures {
                    let images = content.iter().filter_map(|block| match block {
                        Block::Image(image) => Some(image),
                        _ => None,
                    });
                    self.pictures.extend(images.map(|image| {
                        let block = PictureBlock::new(format!("  {}", caption(image)), image.clone());
                        screen.push_close(block)
                    }));
                }
            }
            Event::AgentEnd { .. } => {
                self.end_open(screen);
                end_reads(screen);
            }
            other => {
                if let Some((text, style)) = notice(other) {
                    line(screen, &text, style);
                }
            }
        }
    }

    fn grow(&mut self, screen: &mut Screen, event: &StreamEvent) {
        let (index, delta, is_thought) = match event {
            StreamEvent::TextDelta { content_index, delta } => (content_index, delta, false),
            StreamEvent::ThinkingDelta { content_index, delta } => (content_index, delta, true),
            _ => return,
        };
        self.activity = if is_thought { "thinking" } else { "answering" };
        self.add(screen, *index, delta, is_thought);
    }

    /// Adds to a part of the answer, which begins with its first text.
    fn add(&mut self, screen: &mut Screen, index: usize, text: &str, is_thought: bool) {
        self.follows_tool = false;
        let folds = self.looks.hides_thoughts && !self.looks.unfolds;
        let part = self.parts.entry(index).or_insert_with(|| match is_thought {
            true => Part::Thought(screen.push(ThoughtBlock::streaming(folds))),
            false => Part::Text(screen.push(MarkdownBlock::streaming())),
        });
        match *part {
            Part::Thought(block) => {
                if let Some(block) = screen.block::<ThoughtBlock>(block) {
                    block.push(text);
                }
            }
            Part::Text(block) => {
                if let Some(block) = screen.block::<MarkdownBlock>(block) {
                    block.push(text);
                }
            }
        }
    }

    fn end_answer(&mut self, screen: &mut Screen, message: &AssistantMessage) {
        for (index, content) in message.content.iter().enumerate() {
            let (text, is_thought) = match content {
                Block::Text(text) => (&text.text, false),
                Block::Thinking(thinking) => (&thinking.thinking, true),
                _ => continue,
            };
            // A provider that streams nothing gives the whole at its end.
            if !self.parts.contains_key(&index) && !text.trim().is_empty() {
                self.add(screen, index, text, is_thought);
            }
        }
        self.end_open(screen);
        if let Some(text) = ending(message) {
            line(screen, &text, ERROR);
        }
    }

    /// Ends the parts of an answer that are open.
    fn end_open(&mut self, screen: &mut Screen) {
        for (_, part) in self.parts.drain() {
            match part {
                Part::Thought(block) => {
                    if let Some(block) = screen.block::<ThoughtBlock>(block) {
                        block.finish();
                    }
                }
                Part::Text(block) => {
                    if let Some(block) = screen.block::<MarkdownBlock>(block) {
                        block.finish();
                    }
                }
            }
        }
        self.activity = "";
    }
}

/// Returns why an answer ended, where that is worth a line.
pub(super) fn ending(message: &AssistantMessage) -> Option<String> {
    match message.stop_reason {
        StopReason::Aborted => Some("■ interrupted".into()),
        StopReason::Error => {
            let reason = message.error_message.as_deref().unwrap_or("the provider gave no reason");
            Some(format!("✗ {reason}"))
        }
        StopReason::Length => Some("■ the answer reached the output limit".into()),
        _ => None,
    }
}

/// Shows a call behind what is there; tells in which block.
fn begin_tool(
    screen: &mut Screen,
    (id, name, args): (&str, &str, &Value),
    state: State,
    is_close: bool,
    Looks { unfolds, .. }: Looks,
) -> BlockId {
    if ReadBlock::has(name) {
        if let Some(last) = screen.last_block()
            && screen.block::<ReadBlock>(last).is_some_and(|block| block.add(name, id, args, state))
        {
            return last;
        }
        let mut block = ReadBlock::new(name, unfolds);
        block.add(name, id, args, state);
        return if is_close { screen.push_close(block) } else { screen.push(block) };
    }
    let mut block = ToolBlock::new(name, args);
    block.unfold(unfolds);
    if state != State::Running {
        block.finish(String::new(), None, false, None);
    }
    if is_close { screen.push_close(block) } else { screen.push(block) }
}

/// Ends the calls that stand together: nothing follows them now.
fn end_reads(screen: &mut Screen) {
    if let Some(block) = screen.last_block().and_then(|last| screen.block::<ReadBlock>(last)) {
        sinew_tui::Block::is_followed(block);
    }
}

/// Shows messages that are complete, of a session that goes on; gives the pictures that are to be made ready.
pub(super) fn show_messages(screen: &mut Screen, messages: &[AgentMessage], looks: Looks) -> Vec<BlockId> {
    let pictures = messages.iter().flat_map(|message| show_message(screen, message, looks)).collect();
    end_reads(screen);
    pictures
}

/// Shows a message that is complete: of the user, or of a session that goes on; gives the pictures that are to be made
/// ready.
fn show_message(screen: &mut Screen, message: &AgentMessage, looks: Looks) -> Vec<BlockId> {
    let mut pictures = Vec::new();
    let mut picture = |screen: &mut Screen, before: &str, image: &ImageBlock| {
        let text = format!("{before}{}", caption(image));
        match looks.pictures {
            true => pictures.push(screen.push(PictureBlock::new(text, image.clone()))),
            false => line(screen, &text, DIM),
        }
    };
    match message {
        AgentMessage::User(user) => {
            let prompt = Line::styled("› ", BOLD);
            let text = user.content.text();
            let block = TextBlock::new(text.trim_end(), BOLD).with_prefix(prompt, Line::plain("  "));
            let block = block.colored(Token::UserMessageText, Token::UserMessageBg);
            screen.push(block.marked(Mark::Prompt));
            if let Content::Blocks(blocks) = &user.content {
                for block in blocks {
                    if let Block::Image(image) = block {
                        picture(screen, "", image);
                    }
                }
            }
        }
        AgentMessage::Assistant(answer) => {
            for content in &answer.content {
                match content {
                    Block::Text(text) if !text.text.trim().is_empty() => {
                        screen.push(MarkdownBlock::new(text.text.trim_end()));
                    }
                    Block::Thinking(thought) if !thought.thinking.trim().is_empty() => {
                        let mut block = ThoughtBlock::streaming(looks.hides_thoughts && !looks.unfolds);
                        block.push(&thought.thinking);
                        block.finish();
                        screen.push(block);
                    }
                    Block::ToolCall(call) => {
                        begin_tool(screen, (&call.id, &call.name, &call.arguments), State::Done, true, looks);
                    }
                    _ => {}
                }
            }
            if let Some(text) = ending(answer) {
                line(screen, &text, ERROR);
            }
        }
        AgentMessage::BashExecution(run) => {
            let block = screen.push(ToolBlock::command(&run.command));
            end_command(screen, block, run);
        }
        AgentMessage::CompactionSummary(_) => line(screen, "⋯ what came before was summed up", DIM),
        AgentMessage::BranchSummary(_) => line(screen, "⋯ a branch that was left was summed up", DIM),
        AgentMessage::FileMention(mention) => {
            for file in &mention.files {
                match &file.image {
                    Some(image) => picture(screen, &format!("@ {} ", file.path), image),
                    None => line(screen, &format!("@ {}", file.path), DIM),
                }
            }
        }
        AgentMessage::Custom(custom) if custom.display => {
            let text = custom.content.text();
            let lines = text.lines().count();
            line(screen, &format!("⋯ {}: {lines} lines · ctrl+o shows them", custom.custom_type), DIM);
        }
        AgentMessage::ToolResult(_) | AgentMessage::Custom(_) => {}
    }
    pictures
}

/// Returns how many rows [`show_message`] makes of a message where no line is wrapped, about.
pub(super) fn lines_of(message: &AgentMessage) -> usize {
    match message {
        AgentMessage::User(user) => 1 + user.content.text().lines().count(),
        AgentMessage::Assistant(answer) => {
            let lines = answer.content.iter().map(|content| match content {
                Block::Text(text) if !text.text.trim().is_empty() => 1 + text.text.trim_end().lines().count(),
                Block::Thinking(thought) if !thought.thinking.trim().is_empty() => {
                    1 + thought.thinking.trim().lines().count()
                }
                Block::ToolCall(_) => 1,
                _ => 0,
            });
            lines.sum()
        }
        AgentMessage::BashExecution(run) => 3 + run.output.lines().count().min(DONE),
        AgentMessage::FileMention(mention) => 2 * mention.files.len(),
        AgentMessage::Custom(custom) if !custom.display => 0,
        AgentMessage::CompactionSummary(_) | AgentMessage::BranchSummary(_) | AgentMessage::Custom(_) => 2,
        AgentMessage::ToolResult(_) => 0,
    }
}

/// Shows the end of a command of the user.
pub(super) fn end_command(screen: &mut Screen, block: BlockId, run: &BashExecution) {
    if let Some(block) = screen.block::<ToolBlock>(block) {
        block.finish_command(run.output.clone(), run.exit_code, run.full_output_path.as_deref());
    }
}

/// Shows a line of its own.
pub(super) fn line(screen: &mut Screen, text: &str, style: Style) {
    screen.push(TextBlock::new(text, style));
}

pub(super) fn notice(event: &Event) -> Option<(String, Style)> {
    Some(match event {
        Event::AutoCompactionStart { .. } => ("⋯ summing the conversation up".into(), DIM),
        Event::AutoCompactionEnd { error_message: Some(error), .. } => (format!("✗ summing up failed: {error}"), ERROR),
        Event::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => (
            format!(
                "⋯ {error_message}\n  attempt {attempt} of {max_attempts} in {:.1} s · esc gives up",
                *delay_ms as f64 / 1000.0
            ),
            NOTICE,
        ),
        Event::ModelPromoted { from, to } => {
            (format!("⋯ {to} answers instead of {from}: its window is larger"), NOTICE)
        }
        Event::ModelFallback { from, to, reason } => (format!("⋯ {to} answers instead of {from}: {reason}"), NOTICE),
        Event::TtsrTriggered { rules } => (format!("⋯ the answer broke a rule: {}", rules.join(", ")), NOTICE),
        Event::LimitReached { max_turns } => {
            (format!("■ stopped after {max_turns} turns: \"continue\" goes on"), NOTICE)
        }
        Event::CredentialDisabled { provider, reason, .. } => {
            (format!("⋯ a key of {provider} is not used for a while: {reason}"), NOTICE)
        }
        Event::JobUpdate { job_id, state } => (format!("⋯ job {job_id}: {state}"), DIM),
        Event::McpStatus { state, error: Some(error), .. } if state == "failed" => (format!("! {error}"), NOTICE),
        Event::McpStatus { server, state, .. } if state == "needs_auth" => {
            (format!("! MCP server \"{server}\" needs a login"), NOTICE)
        }
        Event::ExtensionError { extension_path, event, error } => {
            (format!("✗ hook {extension_path} failed at {event}: {error}"), ERROR)
        }
        Event::Warning { message } => (format!("! {message}"), NOTICE),
        _ => return None,
    })
}

pub(super) fn text_of(content: &[Block]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Block::Text(text) => Some(Cow::Borrowed(text.text.as_str())),
        Block::Image(image) => Some(Cow::Owned(caption(image))),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The change that a tool made, as a unified diff.
fn diff_of(details: Option<&Value>) -> Option<String> {
    let details = details?;
    let one = |value: &Value| value.get("diff").and_then(Value::as_str).map(str::to_string);
    let several = || details.get("files")?.as_array().map(|files| files.iter().filter_map(one).collect::<String>());
    one(details).or_else(several).filter(|diff| !diff.is_empty())
}

/// The first of the messages that fill so many rows at the end, about: lines are counted, not wrapped. At least one message
/// is shown, so that a long answer is there whole.
pub(super) fn first_shown(messages: &[AgentMessage], rows: usize) -> usize {
    let mut left = rows;
    for (at, message) in messages.iter().enumerate().rev() {
        let lines = lines_of(message);
        if lines > left {
            return if at + 1 < messages.len() { at + 1 } else { at };
        }
        left -= lines;
    }
    0
}

#[cfg(test)]
mod tests {
    use sinew_llm::message::{AssistantMessage, Block, UserMessage};

    use super::*;

    #[test]
    fn the_end_of_a_session_is_shown_by_rows_and_never_without_the_last_message() {
        let said = |lines: usize| {
            let answer =
                AssistantMessage { content: vec![Block::text("x\n".repeat(lines))], ..AssistantMessage::default() };
            AgentMessage::from(answer)
        };
        let asked = AgentMessage::from(UserMessage { content: "why?".into(), ..UserMessage::default() });
        let messages = [asked, said(10), said(3), said(3)];
        // Each with the blank row in front of it.
        for (rows, expect) in [(0, 3), (4, 3), (7, 3), (8, 2), (18, 2), (19, 1), (20, 1), (21, 0), (1_000, 0)] {
            assert_eq!(first_shown(&messages, rows), expect, "{rows} rows");
        }
        assert_eq!(first_shown(&[], 5), 0);
    }
}
