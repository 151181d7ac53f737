//! Converts complete messages to blocks of the transcript: messages of the user, or of a resumed session.

use std::collections::HashMap;

use sinew_llm::message::{AgentMessage, Block, Content, ImageBlock, ToolResultMessage};
use sinew_tui::{BlockId, Line, Mark, MarkdownBlock, Screen, TextBlock, ThoughtBlock, theme::Token};

use crate::blocks::{BOLD, DIFF, DIM, DONE, ERROR, ToolBlock};
use crate::keys::RowKeys;
use crate::pictures::{PictureBlock, caption};
use crate::reads::ReadBlock;
use sinew_tools::semantics::diff_of;

use crate::transcript::{DisplayOptions, begin_tool, end_reads, end_tool, ending, line, show_result_pictures, text_of};

/// Shows the messages of a resumed session; returns the blocks of images that must be prepared.
pub(crate) fn show_messages(screen: &mut Screen, messages: &[AgentMessage], looks: DisplayOptions) -> Vec<BlockId> {
    let results = messages.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) => Some((result.tool_call_id.as_str(), &**result)),
        _ => None,
    });
    let mut replay = Replay { results: results.collect(), ..Replay::new(looks) };
    messages.iter().for_each(|message| replay.show(screen, message));
    end_reads(screen);
    replay.pictures
}

/// Converts messages for the screen.
pub(crate) struct Replay<'a> {
    looks: DisplayOptions,
    /// The results of calls, by their ids.
    results: HashMap<&'a str, &'a ToolResultMessage>,
    /// True if the last block is a tool.
    follows_tool: bool,
    /// The blocks of images that must be prepared for the terminal.
    pub(crate) pictures: Vec<BlockId>,
}

impl Replay<'_> {
    pub(crate) fn new(looks: DisplayOptions) -> Self {
        Replay { looks, results: HashMap::new(), follows_tool: false, pictures: Vec::new() }
    }

    /// Shows a complete message: of the user, or of a resumed session.
    pub(crate) fn show(&mut self, screen: &mut Screen, message: &AgentMessage) {
        self.follows_tool &= matches!(message, AgentMessage::ToolResult(_) | AgentMessage::Assistant(_));
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
                            self.picture(screen, "", image);
                        }
                    }
                }
            }
            AgentMessage::Assistant(answer) => {
                for content in &answer.content {
                    match content {
                        Block::Text(text) if !text.text.trim().is_empty() => {
                            self.follows_tool = false;
                            screen.push(MarkdownBlock::new(text.text.trim_end()));
                        }
                        Block::Thinking(thought) if !thought.thinking.trim().is_empty() => {
                            self.follows_tool = false;
                            let folds = self.looks.hides_thoughts && !self.looks.unfolds;
                            let mut block = self.looks.keys.of_thought(ThoughtBlock::streaming(folds));
                            block.push(&thought.thinking);
                            block.finish();
                            screen.push(block);
                        }
                        Block::ToolCall(call) => {
                            let is_close = std::mem::replace(&mut self.follows_tool, true);
                            let call_of = (call.id.as_str(), call.name.as_str(), &call.arguments);
                            let block = begin_tool(screen, call_of, is_close, self.looks);
                            let (content, details, is_error) = match self.results.get(call.id.as_str()) {
                                Some(result) => (&result.content[..], result.details.as_ref(), result.is_error),
                                // The call has no result because the program was killed.
                                None => (&[][..], None, true),
                            };
                            end_tool(screen, block, &call.id, content, details, is_error, None);
                        }
                        _ => {}
                    }
                }
                if let Some(text) = ending(answer) {
                    line(screen, &text, ERROR);
                }
            }
            AgentMessage::BashExecution(run) => {
                let mut block = ToolBlock::command(&run.command).with_more(self.looks.keys.more);
                block.finish_command(run, None);
                screen.push(block);
            }
            AgentMessage::CompactionSummary(_) => line(screen, "⋯ earlier messages were summarized", DIM),
            AgentMessage::BranchSummary(_) => line(screen, "⋯ the branch that you left was summarized", DIM),
            AgentMessage::FileMention(mention) => {
                for file in &mention.files {
                    match &file.image {
                        Some(image) => self.picture(screen, &format!("@ {} ", file.path), image),
                        None => line(screen, &format!("@ {}", file.path), DIM),
                    }
                }
            }
            AgentMessage::Custom(custom) if custom.display => {
                let text = custom.content.text();
                let lines = text.lines().count();
                let key = RowKeys::note(self.looks.keys.more, "shows them");
                line(screen, &format!("⋯ {}: {lines} lines{key}", custom.custom_type), DIM);
            }
            AgentMessage::ToolResult(result) => {
                self.pictures.extend(show_result_pictures(screen, &result.content, self.looks))
            }
            AgentMessage::Custom(_) => {}
        }
    }

    fn picture(&mut self, screen: &mut Screen, before: &str, image: &ImageBlock) {
        let text = format!("{before}{}", caption(image));
        match self.looks.pictures.is_some() {
            true => self.pictures.push(screen.push(PictureBlock::new(text, image.clone()))),
            false => line(screen, &text, DIM),
        }
    }
}

/// Returns the approximate number of rows that [`Replay::show`] creates for a message, without wrapping.
pub(crate) fn lines_of(message: &AgentMessage) -> usize {
    match message {
        AgentMessage::User(user) => 1 + user.content.text().lines().count(),
        AgentMessage::Assistant(answer) => {
            let lines = answer.content.iter().map(|content| match content {
                Block::Text(text) if !text.text.trim().is_empty() => 1 + text.text.trim_end().lines().count(),
                Block::Thinking(thought) if !thought.thinking.trim().is_empty() => {
                    1 + thought.thinking.trim().lines().count()
                }
                // The output is in the result.
                Block::ToolCall(_) => 1,
                _ => 0,
            });
            lines.sum()
        }
        AgentMessage::BashExecution(run) => 3 + run.output.lines().count().min(DONE),
        AgentMessage::FileMention(mention) => 2 * mention.files.len(),
        AgentMessage::Custom(custom) if !custom.display => 0,
        AgentMessage::CompactionSummary(_) | AgentMessage::BranchSummary(_) | AgentMessage::Custom(_) => 2,
        AgentMessage::ToolResult(result) if ReadBlock::has(&result.tool_name) && !result.is_error => 0,
        AgentMessage::ToolResult(result) => match diff_of(result.details.as_ref()) {
            Some(diff) => diff.lines().count().min(DIFF),
            None => text_of(&result.content).lines().count().min(DONE),
        },
    }
}

/// Returns the index of the first message to show, so that the messages fill about this number of rows without
/// wrapping. At least one message is shown, however long it is.
pub(crate) fn first_shown(messages: &[AgentMessage], rows: usize) -> usize {
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
        // Each message is preceded by a blank row.
        for (rows, expect) in [(0, 3), (4, 3), (7, 3), (8, 2), (18, 2), (19, 1), (20, 1), (21, 0), (1_000, 0)] {
            assert_eq!(first_shown(&messages, rows), expect, "{rows} rows");
        }
        assert_eq!(first_shown(&[], 5), 0);
    }
}
