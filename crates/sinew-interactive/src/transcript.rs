//! Converts events and messages to blocks of the transcript.

pub(super) mod replay;

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use sinew_agent::event::{Event, ToolResult};
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, BashExecution, Block, ImageBlock, StopReason};
use sinew_tools::semantics::diff_of;
use sinew_tui::{BlockId, MarkdownBlock, Screen, Style, TextBlock, ThoughtBlock};

use super::blocks::{DIM, ERROR, NOTICE, ToolBlock};
use super::keys::RowKeys;
use super::pictures::{Drawing, PictureBlock, caption};
use super::reads::ReadBlock;
use super::retry::{FailedAttempt, RetryBlock};
use replay::{Replay, show_messages};

/// Which parts are shown, and which are folded.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DisplayOptions {
    /// True to fold thoughts to one row.
    pub(super) hides_thoughts: bool,
    /// True to show all of the output.
    pub(super) unfolds: bool,
    /// How images are shown; `None` to show only a line about each.
    pub(super) pictures: Option<Drawing>,
    /// The keys for notes about omitted parts.
    pub(super) keys: RowKeys,
}

/// The blocks that may still change.
#[derive(Default)]
pub(super) struct Transcript {
    pub(super) looks: DisplayOptions,
    /// The parts of the current answer by their index in the message.
    parts: HashMap<usize, Part>,
    tools: HashMap<String, (BlockId, Instant)>,
    /// The running commands of the user.
    commands: Vec<(BlockId, Instant)>,
    /// A word for the activity of the run.
    activity: &'static str,
    /// True if the last block is a tool.
    follows_tool: bool,
    /// The blocks of images that must be prepared for the terminal.
    pictures: Vec<BlockId>,
    /// The row about repeated requests.
    retry: Option<BlockId>,
    /// The error of the last answer, until it is known whether a retry follows, whose row names it.
    failure: Option<String>,
}

/// A part of an answer, and its block.
#[derive(Clone, Copy)]
enum Part {
    Text(BlockId),
    Thought(BlockId),
}

impl Transcript {
    pub(super) fn new(looks: DisplayOptions) -> Transcript {
        Transcript { looks, ..Transcript::default() }
    }

    /// Returns a word for the activity of the run.
    pub(super) fn activity(&self) -> &'static str {
        if self.activity.is_empty() { "working" } else { self.activity }
    }

    /// Removes the blocks of images that must be prepared for the terminal, and returns them.
    pub(super) fn take_pictures(&mut self) -> Vec<BlockId> {
        std::mem::take(&mut self.pictures)
    }

    /// Shows the messages of a resumed session.
    pub(super) fn show_messages(&mut self, screen: &mut Screen, messages: &[AgentMessage]) {
        self.pictures.extend(show_messages(screen, messages, self.looks));
    }

    /// Returns the running calls: their titles and their output so far.
    pub(super) fn running_tools(&self, screen: &mut Screen) -> Vec<(String, String)> {
        let texts = |(id, (block, _)): (&String, &(BlockId, Instant))| match screen.block::<ToolBlock>(*block) {
            Some(block) => Some(block.texts()),
            None => Some((screen.block::<ReadBlock>(*block)?.title(id)?, String::new())),
        };
        self.tools.iter().filter_map(texts).collect()
    }

    /// Toggles the folding of thoughts, for live blocks and later ones. Returns true if they are folded now.
    pub(super) fn fold_thoughts(&mut self, screen: &mut Screen) -> bool {
        self.looks.hides_thoughts = !self.looks.hides_thoughts;
        self.refold(screen);
        self.looks.hides_thoughts
    }

    /// Toggles whether all of the output is shown, for live blocks and later ones. Returns true if it is shown now.
    pub(super) fn unfold(&mut self, screen: &mut Screen) -> bool {
        self.looks.unfolds = !self.looks.unfolds;
        self.refold(screen);
        self.looks.unfolds
    }

    fn refold(&self, screen: &mut Screen) {
        let DisplayOptions { hides_thoughts, unfolds, .. } = self.looks;
        for part in self.parts.values() {
            if let Part::Thought(block) = part
                && let Some(block) = screen.block::<ThoughtBlock>(*block)
            {
                block.fold(hides_thoughts && !unfolds);
            }
        }
        for (block, _) in self.tools.values().chain(&self.commands) {
            if let Some(block) = screen.block::<ToolBlock>(*block) {
                block.unfold(unfolds);
            }
        }
        if let Some(block) = screen.last_block().and_then(|last| screen.block::<ReadBlock>(last)) {
            block.unfold(unfolds);
        }
    }

    /// Shows a command of the user that begins.
    pub(super) fn begin_command(&mut self, screen: &mut Screen, command: &str) -> BlockId {
        let block = screen.push(ToolBlock::command(command).with_more(self.looks.keys.more));
        self.commands.push((block, Instant::now()));
        block
    }

    /// Shows the result of a user's command; `None` if it never began.
    pub(super) fn end_command(
        &mut self,
        screen: &mut Screen,
        block: BlockId,
        ended: Result<Option<BashExecution>, String>,
    ) {
        let at = self.commands.iter().position(|(running, _)| *running == block);
        let took = at.map(|at| self.commands.swap_remove(at).1.elapsed());
        let Some(block) = screen.block::<ToolBlock>(block) else { return };
        match ended {
            Ok(Some(run)) => block.finish_command(&run, took),
            Ok(None) => block.finish_command(&BashExecution::default(), None),
            Err(error) => block.finish_command(&BashExecution { output: error, ..BashExecution::default() }, None),
        }
    }

    /// Updates the running time of commands, in steps of `step` seconds.
    pub(super) fn show_time(&self, screen: &mut Screen, now: Instant, step: u64) {
        if let Some(block) = self.retry.and_then(|block| screen.block::<RetryBlock>(block)) {
            block.show_time(now, step);
        }
        for (block, begun) in self.tools.values().chain(&self.commands) {
            if let Some(block) = screen.block::<ToolBlock>(*block) {
                let seconds = now.saturating_duration_since(*begun).as_secs();
                block.set_time(seconds - seconds % step.max(1));
            }
        }
    }

    /// Shows an event.
    pub(super) fn show(&mut self, screen: &mut Screen, event: &Event) {
        match event {
            Event::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                self.failure = None;
                let delay = Duration::from_millis(*delay_ms);
                let failed = FailedAttempt { error: error_message, attempt: *attempt, of: *max_attempts, delay };
                self.show_retry(screen, &failed);
            }
            Event::AutoRetryEnd { .. } | Event::AgentSettled {} => self.end_retry(screen),
            Event::MessageStart { message: AgentMessage::Assistant(_) } => {
                self.parts.clear();
                self.activity = "waiting";
            }
            // The result is shown at the end of its call.
            Event::MessageStart { message: AgentMessage::ToolResult(_) } => {}
            Event::MessageStart { message } => {
                self.end_retry(screen);
                self.follows_tool = false;
                let mut replay = Replay::new(self.looks);
                replay.show(screen, message);
                self.pictures.extend(replay.pictures);
            }
            Event::MessageUpdate { step, .. } => self.grow(screen, &step.event),
            Event::MessageEnd { message: AgentMessage::Assistant(message) } => self.end_answer(screen, message),
            Event::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                self.end_retry(screen);
                // The calls of one answer are shown without blank rows between them.
                let is_close = std::mem::replace(&mut self.follows_tool, true);
                let block = begin_tool(screen, (tool_call_id, tool_name, args), is_close, self.looks);
                self.tools.insert(tool_call_id.clone(), (block, Instant::now()));
                self.activity = "running tools";
            }
            Event::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                if let Some((block, _)) = self.tools.get(tool_call_id) {
                    show_output(screen, *block, &partial_result.content, partial_result.details.as_ref());
                }
            }
            Event::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let Some((block, begun)) = self.tools.remove(tool_call_id) else { return };
                let ToolResult { content, details } = result;
                let took = Some(begun.elapsed());
                end_tool(screen, block, tool_call_id, content, details.as_ref(), *is_error, took);
                self.pictures.extend(show_result_pictures(screen, content, self.looks));
            }
            // Every attempt ends a run, so the error of the last one waits for what follows.
            Event::AgentEnd { .. } => {
                self.end_open(screen);
                end_reads(screen);
            }
            other => {
                let Some((text, style)) = notice(other, self.looks.keys) else { return };
                match other {
                    // The notice names the reason.
                    Event::ModelFallback { .. } => self.failure = None,
                    // A retry with another key follows.
                    Event::CredentialDisabled { .. } => {}
                    _ => self.show_failure(screen),
                }
                line(screen, &text, style);
            }
        }
    }

    /// Shows a retry in the row of the previous one, if nothing was shown after it.
    fn show_retry(&mut self, screen: &mut Screen, failed: &FailedAttempt<'_>) {
        let now = Instant::now();
        let row = self.retry.filter(|row| screen.last_block() == Some(*row));
        match row.and_then(|row| screen.block::<RetryBlock>(row)) {
            Some(block) => block.fail(failed, now),
            None => {
                self.end_retry(screen);
                self.retry = Some(screen.push(RetryBlock::new(failed, self.looks.keys, now)));
            }
        }
    }

    /// Completes the row about retries, and shows the error of the last answer if none follows.
    fn end_retry(&mut self, screen: &mut Screen) {
        if let Some(block) = self.retry.take().and_then(|block| screen.block::<RetryBlock>(block)) {
            block.finish();
        }
        self.show_failure(screen);
    }

    /// Shows the error of the last answer, which is not retried.
    fn show_failure(&mut self, screen: &mut Screen) {
        if let Some(text) = self.failure.take() {
            line(screen, &text, ERROR);
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

    /// Appends a text to a part of the answer. The part begins with its first text.
    fn add(&mut self, screen: &mut Screen, index: usize, text: &str, is_thought: bool) {
        self.follows_tool = false;
        self.end_retry(screen);
        let folds = self.looks.hides_thoughts && !self.looks.unfolds;
        let part = self.parts.entry(index).or_insert_with(|| match is_thought {
            true => Part::Thought(screen.push(self.looks.keys.of_thought(ThoughtBlock::streaming(folds)))),
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
            // A provider without streaming sends the whole text at the end.
            if !self.parts.contains_key(&index) && !text.trim().is_empty() {
                self.add(screen, index, text, is_thought);
            }
        }
        self.end_open(screen);
        match ending(message) {
            text @ Some(_) if message.stop_reason == StopReason::Error => self.failure = text,
            Some(text) => line(screen, &text, ERROR),
            None => {}
        }
    }

    /// Ends the open parts of an answer.
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

/// Returns the reason why an answer ended, if the user should know it.
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

/// Adds a call at the end; returns its block.
pub(super) fn begin_tool(
    screen: &mut Screen,
    (id, name, args): (&str, &str, &Value),
    is_close: bool,
    DisplayOptions { unfolds, keys, .. }: DisplayOptions,
) -> BlockId {
    if ReadBlock::has(name) {
        if let Some(last) = screen.last_block()
            && screen.block::<ReadBlock>(last).is_some_and(|block| block.add(name, id, args))
        {
            return last;
        }
        let mut block = ReadBlock::new(name, unfolds);
        block.add(name, id, args);
        return if is_close { screen.push_close(block) } else { screen.push(block) };
    }
    let mut block = ToolBlock::new(name, args).with_more(keys.more);
    block.unfold(unfolds);
    if is_close { screen.push_close(block) } else { screen.push(block) }
}

/// Shows the result of a call.
pub(super) fn end_tool(
    screen: &mut Screen,
    block: BlockId,
    id: &str,
    content: &[Block],
    details: Option<&Value>,
    is_error: bool,
    took: Option<Duration>,
) {
    if let Some(block) = screen.block::<ReadBlock>(block) {
        block.finish(id, text_of(content), is_error);
    } else if let Some(block) = screen.block::<ToolBlock>(block) {
        block.finish(text_of(content), diff_of(details).as_deref(), is_error, took);
    }
}

/// Adds the images of a result at the end.
pub(super) fn show_result_pictures(screen: &mut Screen, content: &[Block], looks: DisplayOptions) -> Vec<BlockId> {
    let images = content.iter().filter(|_| looks.pictures.is_some()).filter_map(|block| match block {
        Block::Image(image) => Some(image),
        _ => None,
    });
    let show =
        |image: &ImageBlock| screen.push_close(PictureBlock::new(format!("  {}", caption(image)), image.clone()));
    images.map(show).collect()
}

/// Completes the block of combined calls, because another block follows.
pub(super) fn end_reads(screen: &mut Screen) {
    if let Some(block) = screen.last_block().and_then(|last| screen.block::<ReadBlock>(last)) {
        sinew_tui::Block::is_followed(block);
    }
}

/// Shows the output of a running call.
pub(super) fn show_output(screen: &mut Screen, block: BlockId, content: &[Block], details: Option<&Value>) {
    if let Some(block) = screen.block::<ToolBlock>(block) {
        block.set_output(text_of(content), details.and_then(|details| details.get("lines")?.as_u64()));
    }
}

/// Adds a block with one line.
pub(super) fn line(screen: &mut Screen, text: &str, style: Style) {
    screen.push(TextBlock::new(text, style));
}

pub(super) fn notice(event: &Event, keys: RowKeys) -> Option<(String, Style)> {
    Some(match event {
        Event::AutoCompactionStart { .. } => ("⋯ summarizing the conversation".into(), DIM),
        Event::AutoCompactionEnd { error_message: Some(error), .. } => {
            (format!("✗ failed to summarize: {error}"), ERROR)
        }
        Event::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => (
            format!(
                "⋯ {error_message}; attempt {attempt} of {max_attempts} in {:.1} s{}",
                *delay_ms as f64 / 1000.0,
                RowKeys::note(keys.interrupt, "cancels")
            ),
            NOTICE,
        ),
        Event::ModelPromoted { from, to } => {
            (format!("⋯ using {to} instead of {from}: its context window is larger"), NOTICE)
        }
        Event::ModelFallback { from, to, reason } => (format!("⋯ using {to} instead of {from}: {reason}"), NOTICE),
        Event::TtsrTriggered { rules } => (format!("⋯ the answer broke a rule: {}", rules.join(", ")), NOTICE),
        Event::LimitReached { max_turns } => (format!("■ {}", sinew_control::ending::turn_limit(*max_turns)), NOTICE),
        Event::CredentialDisabled { provider, reason, .. } => {
            (format!("⋯ a key of {provider} is temporarily disabled: {reason}"), NOTICE)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinew_tui::theme::Theme;
    use sinew_tui::{ScreenOptions, Size};

    use super::*;

    fn rows(events: &[Event]) -> Vec<String> {
        let mut screen = Screen::new(Size::new(60, 20), ScreenOptions::default(), Arc::new(Theme::default()));
        let mut transcript = Transcript::new(DisplayOptions::default());
        events.iter().for_each(|event| transcript.show(&mut screen, event));
        screen.paint();
        screen.shown_rows().map(|row| row.text().trim_end().to_string()).filter(|row| !row.is_empty()).collect()
    }

    /// The events of an attempt in the order of the agent: each attempt is a run.
    fn attempt(answer: &AssistantMessage) -> Vec<Event> {
        let message = AgentMessage::from(answer.clone());
        vec![
            Event::MessageStart { message: message.clone() },
            Event::MessageEnd { message },
            Event::AgentEnd { messages: Vec::new() },
        ]
    }

    fn failed() -> Vec<Event> {
        let error_message = Some("503 overloaded".into());
        attempt(&AssistantMessage { stop_reason: StopReason::Error, error_message, ..AssistantMessage::default() })
    }

    fn retry(attempt: u32) -> Vec<Event> {
        let error_message = "503 overloaded".into();
        vec![Event::AutoRetryStart { attempt, max_attempts: 3, delay_ms: 0, error_message }]
    }

    #[test]
    fn all_attempts_are_one_row_and_only_the_last_failure_another() {
        let answer = AssistantMessage { content: vec![Block::text("fine")], ..AssistantMessage::default() };
        let answered = [failed(), retry(1), failed(), retry(2), attempt(&answer), vec![Event::AgentSettled {}]];
        assert_eq!(rows(&answered.concat()), ["⋯ attempt 2 of 3 · 503 overloaded", "fine"]);
        let gave_up = [failed(), retry(1), failed(), vec![Event::AgentSettled {}]];
        assert_eq!(rows(&gave_up.concat()), ["⋯ attempt 1 of 3 · 503 overloaded", "✗ 503 overloaded"]);
        let promoted = Event::ModelPromoted { from: "a".into(), to: "b".into() };
        let noticed = rows(&[failed(), vec![promoted]].concat());
        assert_eq!(noticed[0], "✗ 503 overloaded", "{noticed:?}");
    }
}
