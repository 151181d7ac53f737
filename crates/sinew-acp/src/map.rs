//! Converts events of a session, and messages of a session file, to updates of the protocol. Both conversions give
//! messages and calls the same ids.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sinew_agent::event::{Event, ToolResult};
use sinew_agent::mcp::semantics_of;
use sinew_control::ending::turn_limit;
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block, Content, ToolResultMessage, UserMessage};
use sinew_tools::semantics::{ToolKind, changed_lines};

use super::tool_call::{self, FileChange};

/// The ids of calls within a session, because the ids of a provider are only unique within a message.
#[derive(Debug, Default)]
pub(super) struct CallIds(Mutex<HashMap<String, usize>>);

impl CallIds {
    /// Returns the id of a call that begins.
    fn begin(&self, id: &str) -> acp::ToolCallId {
        let mut known = self.0.lock();
        let count = known.entry(id.to_string()).or_default();
        *count += 1;
        name(id, *count)
    }

    /// Returns the id of the last call that began with this provider's id.
    pub(super) fn current(&self, id: &str) -> acp::ToolCallId {
        let known = self.0.lock();
        name(id, known.get(id).copied().unwrap_or(1))
    }
}

fn name(id: &str, count: usize) -> acp::ToolCallId {
    match count {
        1 => acp::ToolCallId::new(id),
        count => acp::ToolCallId::new(format!("{id}#{count}")),
    }
}

/// File changes in the order in which tools made them; removed when the end of their call is sent.
pub(super) type Changes = Arc<Mutex<VecDeque<FileChange>>>;

/// Converts a sequence of events to updates.
pub(super) struct Mapper {
    cwd: PathBuf,
    ids: Arc<CallIds>,
    changes: Changes,
    /// True if the editor shows notices.
    notices: bool,
    /// The message that is being streamed.
    message: Option<acp::MessageId>,
    /// The time at which the last answer began, and its index among those of the same millisecond.
    last_answer: (i64, usize),
    /// Calls that have not ended: the provider's id and the editor's.
    open: Vec<(String, acp::ToolCallId)>,
}

impl Mapper {
    pub(super) fn new(cwd: PathBuf, ids: Arc<CallIds>, changes: Changes, notices: bool) -> Mapper {
        Mapper { cwd, ids, changes, notices, message: None, last_answer: (0, 0), open: Vec::new() }
    }

    /// Converts an event to updates.
    pub(super) fn event(&mut self, event: &Event) -> Vec<acp::SessionUpdate> {
        match event {
            Event::MessageStart { message: AgentMessage::Assistant(message) } => {
                self.message = Some(self.answer_id(message.timestamp));
                Vec::new()
            }
            Event::MessageUpdate { step, .. } => self.step(&step.event),
            Event::ToolExecutionStart { tool_call_id, tool_name, args, intent } => {
                let status = acp::ToolCallStatus::InProgress;
                let mut updates = Vec::new();
                let id = match self.opened(tool_call_id) {
                    Some(id) => id,
                    None => {
                        let (id, update) = self.begin(tool_call_id, tool_name);
                        updates.push(update);
                        id
                    }
                };
                let title = tool_call::title(tool_name, args, intent.as_deref());
                let fields = acp::ToolCallUpdateFields::new().status(status).title(title);
                updates.push(update(id, fields));
                updates
            }
            Event::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                let content = tool_call::content(&partial_result.content, None, &[]);
                let id = self.ids.current(tool_call_id);
                vec![update(id, acp::ToolCallUpdateFields::new().content(content))]
            }
            Event::ToolExecutionEnd { tool_call_id, tool_name, result, is_error } => {
                self.ended(tool_call_id, tool_name, result, *is_error)
            }
            // Ends calls that never ran because their turn was aborted or retried.
            Event::TurnEnd { .. } | Event::AgentEnd { .. } | Event::AutoRetryStart { .. } => {
                let mut updates = self.close();
                if let Event::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } = event {
                    let text = format!("{error_message} Retrying in {delay_ms} ms ({attempt} of {max_attempts}).");
                    updates.push(self.warning(&text));
                }
                updates
            }
            Event::TodoAutoClear {} => vec![acp::SessionUpdate::Plan(acp::Plan::new(Vec::new()))],
            Event::Warning { message } => vec![self.warning(message)],
            Event::McpStatus { state, error: Some(error), .. } if matches!(&**state, "failed" | "needs_auth") => {
                vec![self.warning(error)]
            }
            Event::ExtensionError { extension_path, event, error } => {
                vec![self.warning(&format!("{extension_path}: {event}: {error}"))]
            }
            Event::ModelFallback { from, to, reason } => {
                vec![self.warning(&format!("Using {to} instead of {from}: {reason}"))]
            }
            Event::CredentialDisabled { provider, reason, .. } => {
                vec![self.warning(&format!("A key of {provider} is temporarily disabled: {reason}"))]
            }
            Event::LimitReached { max_turns } => vec![self.warning(&turn_limit(*max_turns))],
            _ => Vec::new(),
        }
    }

    /// Ends the open calls.
    pub(super) fn close(&mut self) -> Vec<acp::SessionUpdate> {
        let failed = || acp::ToolCallUpdateFields::new().status(acp::ToolCallStatus::Failed);
        self.open.drain(..).map(|(_, id)| update(id, failed())).collect()
    }

    /// Returns a notice for the user of the editor.
    pub(super) fn warning(&self, text: &str) -> acp::SessionUpdate {
        if self.notices {
            return acp::SessionUpdate::Notice(acp::Notice::new(acp::NoticeSeverity::Warning, text));
        }
        let mut meta = acp::Meta::new();
        meta.insert("sinew".into(), json!({"warning": text}));
        acp::SessionUpdate::SessionInfoUpdate(acp::SessionInfoUpdate::new().meta(meta))
    }

    fn step(&mut self, event: &StreamEvent) -> Vec<acp::SessionUpdate> {
        match event {
            StreamEvent::TextDelta { delta, .. } => {
                vec![acp::SessionUpdate::AgentMessageChunk(chunk(delta, self.message.clone()))]
            }
            StreamEvent::ThinkingDelta { delta, .. } => {
                vec![acp::SessionUpdate::AgentThoughtChunk(chunk(delta, self.message.clone()))]
            }
            StreamEvent::ToolCallStart { id, name, .. } => vec![self.begin(id, name).1],
            StreamEvent::ToolCallEnd { tool_call, .. } => {
                let Some(id) = self.opened(&tool_call.id) else { return Vec::new() };
                vec![update(id, self.whole(&tool_call.name, &tool_call.arguments))]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the id of the next answer: its time, which the session file contains, and its index within that
    /// millisecond.
    fn answer_id(&mut self, timestamp: i64) -> acp::MessageId {
        let count = if self.last_answer.0 == timestamp { self.last_answer.1 + 1 } else { 1 };
        self.last_answer = (timestamp, count);
        match count {
            1 => acp::MessageId::new(format!("m{timestamp}")),
            count => acp::MessageId::new(format!("m{timestamp}.{count}")),
        }
    }

    fn begin(&mut self, id: &str, tool: &str) -> (acp::ToolCallId, acp::SessionUpdate) {
        let own = self.ids.begin(id);
        self.open.push((id.to_string(), own.clone()));
        let call = acp::ToolCall::new(own.clone(), tool).kind(tool_call::kind(tool));
        (own, acp::SessionUpdate::ToolCall(call))
    }

    fn opened(&self, id: &str) -> Option<acp::ToolCallId> {
        self.open.iter().rev().find(|(known, _)| known == id).map(|(_, own)| own.clone())
    }

    /// Returns the fields of a call whose arguments are complete.
    fn whole(&self, tool: &str, arguments: &Value) -> acp::ToolCallUpdateFields {
        let places = tool_call::locations(&self.cwd, tool, arguments);
        acp::ToolCallUpdateFields::new()
            .title(tool_call::title(tool, arguments, None))
            .locations((!places.is_empty()).then_some(places))
            .raw_input(arguments.clone())
    }

    fn ended(&mut self, id: &str, tool: &str, result: &ToolResult, is_error: bool) -> Vec<acp::SessionUpdate> {
        let own = self.opened(id).unwrap_or_else(|| self.ids.current(id));
        self.open.retain(|(_, open)| *open != own);
        let details = result.details.as_ref();
        let semantics = semantics_of(tool);
        let changes = match semantics.effects.writes_files && !is_error {
            true => self.taken(details),
            false => Vec::new(),
        };
        let mut updates = vec![update(own, self.result(&result.content, details, &changes, is_error))];
        if semantics.kind == ToolKind::Plan
            && let Some(phases) = details.and_then(|details| details.get("phases"))
        {
            updates.push(acp::SessionUpdate::Plan(tool_call::plan(phases)));
        }
        updates
    }

    /// Removes the changes of the call that ends and returns them. Calls that write run one after another, so its
    /// changes are the oldest.
    fn taken(&self, details: Option<&Value>) -> Vec<FileChange> {
        let mut changes = self.changes.lock();
        let count = changed_lines(details).len().min(changes.len());
        changes.drain(..count).collect()
    }

    fn result(
        &self,
        blocks: &[Block],
        details: Option<&Value>,
        changes: &[FileChange],
        is_error: bool,
    ) -> acp::ToolCallUpdateFields {
        let status = if is_error { acp::ToolCallStatus::Failed } else { acp::ToolCallStatus::Completed };
        let lines = changed_lines(details).into_iter().map(|line| line.and_then(tool_call::to_line));
        let places: Vec<acp::ToolCallLocation> = changes
            .iter()
            .zip(lines)
            .map(|(change, line)| acp::ToolCallLocation::new(change.path.clone()).line(line))
            .collect();
        acp::ToolCallUpdateFields::new()
            .status(status)
            .content(tool_call::content(blocks, details, changes))
            .locations((!places.is_empty()).then_some(places))
    }

    /// Converts a message of a session file to updates.
    pub(super) fn message(&mut self, message: &AgentMessage) -> Vec<acp::SessionUpdate> {
        match message {
            AgentMessage::User(user) => self.user(user),
            AgentMessage::Assistant(answer) => self.answer(answer),
            AgentMessage::ToolResult(result) => self.stored_result(result),
            AgentMessage::BashExecution(run) => {
                let id = self.ids.begin("user_bash");
                let text = [Block::text(run.output.clone())];
                let call = acp::ToolCall::new(id, format!("! {}", run.command))
                    .kind(acp::ToolKind::Execute)
                    .status(acp::ToolCallStatus::Completed)
                    .content(tool_call::content(&text, None, &[]));
                vec![acp::SessionUpdate::ToolCall(call)]
            }
            // Messages that only the model reads, or that summarise messages which are shown themselves.
            AgentMessage::Custom(_)
            | AgentMessage::FileMention(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_) => Vec::new(),
        }
    }

    fn user(&self, user: &UserMessage) -> Vec<acp::SessionUpdate> {
        let id = acp::MessageId::new(format!("u{}", user.timestamp));
        let wrap = |content| {
            let chunk = acp::ContentChunk::new(content).message_id(id.clone());
            acp::SessionUpdate::UserMessageChunk(chunk)
        };
        let text = |text: &str| acp::ContentBlock::Text(acp::TextContent::new(text));
        match &user.content {
            Content::Text(said) => vec![wrap(text(said))],
            Content::Blocks(blocks) => {
                let shown = blocks.iter().filter_map(|block| match block {
                    Block::Text(block) => Some(text(&block.text)),
                    Block::Image(image) => {
                        let image = acp::ImageContent::new(image.data.clone(), image.mime_type.clone());
                        Some(acp::ContentBlock::Image(image))
                    }
                    _ => None,
                });
                shown.map(wrap).collect()
            }
        }
    }

    fn answer(&mut self, answer: &AssistantMessage) -> Vec<acp::SessionUpdate> {
        let id = Some(self.answer_id(answer.timestamp));
        let mut updates = Vec::new();
        for block in &answer.content {
            match block {
                Block::Text(block) if !block.text.is_empty() => {
                    updates.push(acp::SessionUpdate::AgentMessageChunk(chunk(&block.text, id.clone())));
                }
                Block::Thinking(thought) if !thought.thinking.is_empty() => {
                    updates.push(acp::SessionUpdate::AgentThoughtChunk(chunk(&thought.thinking, id.clone())));
                }
                Block::ToolCall(call) => {
                    let (own, begun) = self.begin(&call.id, &call.name);
                    updates.push(begun);
                    updates.push(update(own, self.whole(&call.name, &call.arguments)));
                }
                _ => {}
            }
        }
        updates
    }

    fn stored_result(&mut self, result: &ToolResultMessage) -> Vec<acp::SessionUpdate> {
        let own = self.opened(&result.tool_call_id).unwrap_or_else(|| self.ids.current(&result.tool_call_id));
        self.open.retain(|(_, open)| *open != own);
        vec![update(own, self.result(&result.content, result.details.as_ref(), &[], result.is_error))]
    }
}

fn update(id: acp::ToolCallId, fields: acp::ToolCallUpdateFields) -> acp::SessionUpdate {
    acp::SessionUpdate::ToolCallUpdate(acp::ToolCallUpdate::new(id, fields))
}

pub(super) fn chunk(text: &str, id: Option<acp::MessageId>) -> acp::ContentChunk {
    acp::ContentChunk::new(acp::ContentBlock::Text(acp::TextContent::new(text))).message_id(id)
}

#[cfg(test)]
mod tests {
    use sinew_llm::message::{TextBlock, ToolCall};

    use super::*;

    fn mapper() -> Mapper {
        Mapper::new("/w".into(), Arc::default(), Changes::default(), false)
    }

    fn answer(timestamp: i64, content: Vec<Block>) -> AssistantMessage {
        AssistantMessage { content, timestamp, ..AssistantMessage::default() }
    }

    fn call(id: &str) -> Block {
        Block::ToolCall(ToolCall { id: id.into(), name: "bash".into(), ..ToolCall::default() })
    }

    /// Returns the ids of messages and calls in updates.
    fn ids(updates: &[acp::SessionUpdate]) -> Vec<String> {
        let id = |update: &acp::SessionUpdate| match update {
            acp::SessionUpdate::AgentMessageChunk(chunk) => chunk.message_id.as_ref().map(|id| id.0.to_string()),
            acp::SessionUpdate::ToolCall(call) => Some(call.tool_call_id.0.to_string()),
            _ => None,
        };
        updates.iter().filter_map(id).collect()
    }

    /// Live events have the ids of the corresponding messages in the file, even if a provider restarts the numbering of
    /// calls in each answer, and if answers begin within one millisecond.
    #[test]
    fn ids_are_the_same_live_and_from_a_file() {
        let text = || Block::Text(TextBlock { text: "x".into(), signature: None });
        let messages =
            [answer(5, vec![text(), call("1")]), answer(5, vec![text(), call("1")]), answer(7, vec![text()])];
        let mut stored = mapper();
        let from_file: Vec<_> = messages.iter().flat_map(|message| stored.message(&message.clone().into())).collect();
        let mut running = mapper();
        let mut live = Vec::new();
        for message in &messages {
            live.extend(running.event(&Event::MessageStart { message: answer(message.timestamp, Vec::new()).into() }));
            for (content_index, block) in message.content.iter().enumerate() {
                let event = match block {
                    Block::ToolCall(call) => {
                        StreamEvent::ToolCallStart { content_index, id: call.id.clone(), name: call.name.clone() }
                    }
                    _ => StreamEvent::TextDelta { content_index, delta: "x".into() },
                };
                live.extend(running.step(&event));
            }
        }
        assert_eq!(ids(&live), ["m5", "1", "m5.2", "1#2", "m7"]);
        assert_eq!(ids(&from_file), ids(&live));
    }

    #[test]
    fn calls_that_never_ran_end_with_their_turn() {
        let mut mapper = mapper();
        mapper.step(&StreamEvent::ToolCallStart { content_index: 0, id: "1".into(), name: "bash".into() });
        let ended = mapper.event(&Event::AgentEnd { messages: Vec::new() });
        let [acp::SessionUpdate::ToolCallUpdate(update)] = ended.as_slice() else { panic!("{ended:?}") };
        assert_eq!(update.fields.status, Some(acp::ToolCallStatus::Failed));
        assert!(mapper.event(&Event::AgentEnd { messages: Vec::new() }).is_empty());
    }
}
