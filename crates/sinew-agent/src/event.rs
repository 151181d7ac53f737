//! Events of a session, named as in the JSON and RPC modes.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block};

/// A child and its use.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentStatus {
    /// Its id.
    pub id: String,
    /// The call that started it.
    pub parent_tool_call_id: String,
    /// The name of its agent.
    pub agent: String,
    /// Its state.
    pub state: &'static str,
    /// The number of its answers.
    pub turns: usize,
    /// The sum of its tokens.
    pub tokens: u64,
    /// Its cost in US dollars.
    pub cost: f64,
}

/// An event of a session. In JSON, `type` is its name in snake_case; the other keys are camelCase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A run started.
    AgentStart,
    /// A run ended.
    AgentEnd {
        /// All messages that the run added.
        messages: Vec<AgentMessage>,
    },
    /// A turn started: one request to the provider, and the tools that its answer calls.
    TurnStart,
    /// A turn ended.
    TurnEnd {
        /// The answer.
        message: AgentMessage,
        /// The results of its tool calls, in the order of the calls.
        tool_results: Vec<AgentMessage>,
    },
    /// A message started.
    MessageStart {
        /// The message so far.
        message: AgentMessage,
    },
    /// An answer grew.
    MessageUpdate {
        /// The answer so far; `None` if no subscriber and no extension wants snapshots.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<AgentMessage>,
        /// The event of the provider.
        #[serde(rename = "assistantMessageEvent")]
        step: AnswerStep,
    },
    /// A message is complete and, if the session has a file, written to disk.
    MessageEnd {
        /// The message.
        message: AgentMessage,
    },
    /// A tool call started.
    ToolExecutionStart {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// The arguments that the model passed.
        args: Value,
        /// A one-line description of the call, for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        intent: Option<String>,
    },
    /// A tool reported a partial result.
    ToolExecutionUpdate {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// The arguments that the model passed.
        args: Value,
        /// The result so far.
        partial_result: ToolResult,
    },
    /// A tool call ended.
    ToolExecutionEnd {
        /// The id of the call.
        tool_call_id: String,
        /// The name of the tool.
        tool_name: String,
        /// The result.
        result: ToolResult,
        /// Whether the call failed.
        is_error: bool,
    },
    /// The queued messages changed.
    QueueUpdate {
        /// Messages that are sent after the tools of the current turn.
        steering: Vec<String>,
        /// Messages that are sent when the agent would otherwise stop.
        follow_up: Vec<String>,
    },
    /// A compaction started.
    AutoCompactionStart {
        /// `threshold`, `overflow` or `manual`.
        reason: &'static str,
    },
    /// A compaction ended.
    AutoCompactionEnd {
        /// The reason of its start event.
        reason: &'static str,
        /// The summary, the id of the first kept entry and the number of tokens before.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Whether it was aborted.
        aborted: bool,
        /// Whether the request is sent again.
        will_retry: bool,
        /// The error, if it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The request failed and is sent again after a delay.
    AutoRetryStart {
        /// The number of this attempt, counted from 1.
        attempt: u32,
        /// The maximum number of attempts.
        max_attempts: u32,
        /// The delay, in milliseconds.
        delay_ms: u64,
        /// The error of the last attempt.
        error_message: String,
    },
    /// The retries ended.
    AutoRetryEnd {
        /// Whether an attempt succeeded.
        success: bool,
        /// The number of attempts.
        attempt: u32,
        /// The last error, if no attempt succeeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// The session switched to a model with a larger context window.
    ModelPromoted {
        /// The previous model, as `provider/id`.
        from: String,
        /// The new model, as `provider/id`.
        to: String,
    },
    /// The configured fallback model is used because the chosen one cannot answer.
    ModelFallback {
        /// The chosen model, as `provider/id`.
        from: String,
        /// The fallback, as `provider/id`.
        to: String,
        /// Why the chosen model cannot answer.
        reason: String,
    },
    /// An answer broke rules, and the model is reminded of them.
    TtsrTriggered {
        /// The names of the rules.
        rules: Vec<String>,
    },
    /// The model was reminded of open items.
    TodoReminder {
        /// The items.
        todos: Value,
        /// The number of this reminder, counted from 1.
        attempt: u32,
    },
    /// A finished todo list was cleared.
    TodoAutoClear {},
    /// A credential is temporarily disabled.
    CredentialDisabled {
        /// Its provider.
        provider: String,
        /// The reason.
        reason: String,
        /// The end of that time, in milliseconds since the epoch; absent if it is not used again.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
    /// The run reached its limit of turns.
    LimitReached {
        /// The limit.
        max_turns: u32,
    },
    /// The agent is idle until the next command.
    AgentSettled {},
    /// The state of a background job changed.
    JobUpdate {
        /// The id of the job.
        job_id: String,
        /// `running`, `done`, `failed` or `cancelled`.
        state: String,
    },
    /// The state of an MCP server changed.
    McpStatus {
        /// The name of the server.
        server: String,
        /// `idle`, `starting`, `connected`, `needs_auth`, `restarting` or `failed`.
        state: String,
        /// The protocol revision, if the server is connected.
        #[serde(skip_serializing_if = "Option::is_none")]
        era: Option<String>,
        /// The number of its tools, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<usize>,
        /// The error, if the server failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A child of this session begins to work.
    SubagentStart {
        /// Its id.
        id: String,
        /// The call that started it.
        parent_tool_call_id: String,
        /// The name of its agent.
        agent: String,
        /// A few words for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// The state of a child that waits or works (`queued`, `running` or `asking`), at most every 150 ms.
    SubagentProgress {
        /// The child and its use so far.
        #[serde(flatten)]
        child: SubagentStatus,
        /// The last line that it wrote.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_line: Option<String>,
    },
    /// A child ended (`completed`, `failed`, `aborted`, `over_budget` or `skipped`); also one that was never started.
    SubagentEnd(SubagentStatus),
    /// A step of a child: a turn, a message or a tool call. Only emitted if a client asks for the events of children. In
    /// JSON it is the event of the child with one more key, `subagentId`.
    OfSubagent {
        /// The id of the child.
        subagent_id: String,
        /// The event.
        event: Arc<Event>,
    },
    /// A hook of an extension failed.
    ExtensionError {
        /// The name of the extension.
        extension_path: String,
        /// The event or point at which it failed.
        event: String,
        /// The message.
        error: String,
    },
    /// A warning for the user.
    Warning {
        /// The message.
        message: String,
    },
}

impl Event {
    /// Returns true for the begin, progress and end of a turn, a message or a tool call.
    #[must_use]
    pub fn is_step(&self) -> bool {
        let name = self.name();
        ["turn_", "message_", "tool_execution_"].iter().any(|start| name.starts_with(start))
    }

    /// Returns the `type` of the event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Event::AgentStart => "agent_start",
            Event::AgentEnd { .. } => "agent_end",
            Event::TurnStart => "turn_start",
            Event::TurnEnd { .. } => "turn_end",
            Event::MessageStart { .. } => "message_start",
            Event::MessageUpdate { .. } => "message_update",
            Event::MessageEnd { .. } => "message_end",
            Event::ToolExecutionStart { .. } => "tool_execution_start",
            Event::ToolExecutionUpdate { .. } => "tool_execution_update",
            Event::ToolExecutionEnd { .. } => "tool_execution_end",
            Event::QueueUpdate { .. } => "queue_update",
            Event::AutoCompactionStart { .. } => "auto_compaction_start",
            Event::AutoCompactionEnd { .. } => "auto_compaction_end",
            Event::AutoRetryStart { .. } => "auto_retry_start",
            Event::AutoRetryEnd { .. } => "auto_retry_end",
            Event::ModelPromoted { .. } => "model_promoted",
            Event::ModelFallback { .. } => "model_fallback",
            Event::TtsrTriggered { .. } => "ttsr_triggered",
            Event::TodoReminder { .. } => "todo_reminder",
            Event::TodoAutoClear {} => "todo_auto_clear",
            Event::CredentialDisabled { .. } => "credential_disabled",
            Event::LimitReached { .. } => "limit_reached",
            Event::AgentSettled {} => "agent_settled",
            Event::JobUpdate { .. } => "job_update",
            Event::McpStatus { .. } => "mcp_status",
            Event::SubagentStart { .. } => "subagent_start",
            Event::SubagentProgress { .. } => "subagent_progress",
            Event::SubagentEnd { .. } => "subagent_end",
            Event::OfSubagent { event, .. } => event.name(),
            Event::ExtensionError { .. } => "extension_error",
            Event::Warning { .. } => "warning",
        }
    }
}

/// A step of an answer: an event of the provider's stream other than the first and the last.
///
/// The JSON has `type`, `contentIndex`, and then `delta`, the complete `content` of a text or thinking block that
/// ended, or the `toolCall` that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerStep {
    /// The event of the stream.
    pub event: StreamEvent,
    /// The complete text of a block that ended; `None` for other events.
    pub content: Option<String>,
}

impl AnswerStep {
    /// Returns the step of `event`. `message` is the answer, which already includes the event.
    #[must_use]
    pub fn new(event: StreamEvent, message: &AssistantMessage) -> AnswerStep {
        let content = match &event {
            StreamEvent::TextEnd { content_index, .. } | StreamEvent::ThinkingEnd { content_index, .. } => {
                match message.content.get(*content_index) {
                    Some(Block::Text(text)) => Some(text.text.clone()),
                    Some(Block::Thinking(thought)) => Some(thought.thinking.clone()),
                    _ => None,
                }
            }
            _ => None,
        };
        AnswerStep { event, content }
    }

    /// Replaces the text of a delta; does nothing for other steps.
    pub(crate) fn set_delta(&mut self, text: String) {
        if let StreamEvent::TextDelta { delta, .. }
        | StreamEvent::ThinkingDelta { delta, .. }
        | StreamEvent::ToolCallDelta { delta, .. } = &mut self.event
        {
            *delta = text;
        }
    }
}

impl Serialize for AnswerStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.event.name())?;
        if let Some(index) = self.event.content_index() {
            map.serialize_entry("contentIndex", &index)?;
        }
        if let Some(delta) = self.event.delta() {
            map.serialize_entry("delta", delta)?;
        }
        if let Some(content) = &self.content {
            map.serialize_entry("content", content)?;
        }
        if let StreamEvent::ToolCallEnd { tool_call, .. } = &self.event {
            map.serialize_entry("toolCall", &Block::ToolCall((**tool_call).clone()))?;
        }
        map.end()
    }
}

/// The result of a tool as shown in events.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolResult {
    /// Texts and images for the model.
    pub content: Vec<Block>,
    /// Structured data for the user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<sinew_tools::tool::ToolOutput> for ToolResult {
    fn from(output: sinew_tools::tool::ToolOutput) -> ToolResult {
        ToolResult { content: output.content, details: output.details }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sinew_llm::message::{TextBlock, ThinkingBlock, ToolCall};

    use super::*;

    /// The JSON of a step equals the event of the stream without its snapshot.
    #[test]
    fn the_json_of_a_step_equals_that_of_the_stream_event() {
        let call =
            ToolCall { id: "1".into(), name: "read".into(), arguments: json!({"path": "a"}), ..ToolCall::default() };
        let message = AssistantMessage {
            content: vec![
                Block::Text(TextBlock { text: "whole".into(), signature: None }),
                Block::Thinking(ThinkingBlock { thinking: "thought".into(), ..ThinkingBlock::default() }),
                Block::ToolCall(call.clone()),
            ],
            ..AssistantMessage::default()
        };
        let delta = || "d".to_string();
        for event in [
            StreamEvent::TextStart { content_index: 0 },
            StreamEvent::TextDelta { content_index: 0, delta: delta() },
            StreamEvent::TextEnd { content_index: 0, signature: None },
            StreamEvent::TextEnd { content_index: 9, signature: None },
            StreamEvent::ThinkingStart { content_index: 1 },
            StreamEvent::ThinkingDelta { content_index: 1, delta: delta() },
            StreamEvent::ThinkingEnd { content_index: 1, signature: None, redacted: false },
            StreamEvent::ToolCallStart { content_index: 2, id: "1".into(), name: "read".into() },
            StreamEvent::ToolCallDelta { content_index: 2, delta: delta() },
            StreamEvent::ToolCallEnd { content_index: 2, tool_call: Box::new(call) },
        ] {
            let mut expect = event.to_json(Some(&message));
            expect.as_object_mut().unwrap().shift_remove("partial");
            let step = AnswerStep::new(event, &message);
            assert_eq!(serde_json::to_string(&step).unwrap(), expect.to_string());
        }
    }

    #[test]
    fn the_name_of_an_event_is_its_type() {
        let user = || AgentMessage::from(AssistantMessage::default());
        let step = AnswerStep { event: StreamEvent::TextStart { content_index: 0 }, content: None };
        let text = String::new;
        let status = |state| SubagentStatus {
            id: text(),
            parent_tool_call_id: text(),
            agent: text(),
            state,
            turns: 1,
            tokens: 2,
            cost: 0.5,
        };
        for event in [
            Event::AgentStart,
            Event::AgentEnd { messages: Vec::new() },
            Event::TurnStart,
            Event::TurnEnd { message: user(), tool_results: Vec::new() },
            Event::MessageStart { message: user() },
            Event::MessageUpdate { message: None, step },
            Event::MessageEnd { message: user() },
            Event::ToolExecutionStart { tool_call_id: text(), tool_name: text(), args: Value::Null, intent: None },
            Event::ToolExecutionUpdate {
                tool_call_id: text(),
                tool_name: text(),
                args: Value::Null,
                partial_result: ToolResult::default(),
            },
            Event::ToolExecutionEnd {
                tool_call_id: text(),
                tool_name: text(),
                result: ToolResult::default(),
                is_error: false,
            },
            Event::QueueUpdate { steering: Vec::new(), follow_up: Vec::new() },
            Event::AutoCompactionStart { reason: "manual" },
            Event::AutoCompactionEnd {
                reason: "manual",
                result: None,
                aborted: false,
                will_retry: false,
                error_message: None,
            },
            Event::AutoRetryStart { attempt: 1, max_attempts: 1, delay_ms: 1, error_message: text() },
            Event::AutoRetryEnd { success: true, attempt: 1, final_error: None },
            Event::ModelPromoted { from: text(), to: text() },
            Event::ModelFallback { from: text(), to: text(), reason: text() },
            Event::TtsrTriggered { rules: Vec::new() },
            Event::TodoReminder { todos: Value::Null, attempt: 1 },
            Event::TodoAutoClear {},
            Event::CredentialDisabled { provider: text(), reason: text(), until: None },
            Event::LimitReached { max_turns: 1 },
            Event::AgentSettled {},
            Event::JobUpdate { job_id: text(), state: text() },
            Event::McpStatus { server: text(), state: text(), era: None, tools: None, error: None },
            Event::SubagentStart { id: text(), parent_tool_call_id: text(), agent: text(), description: None },
            Event::SubagentProgress { child: status("running"), last_line: None },
            Event::SubagentEnd(status("completed")),
            Event::ExtensionError { extension_path: text(), event: text(), error: text() },
            Event::Warning { message: text() },
        ] {
            assert_eq!(json!(event)["type"], event.name());
        }
    }
}
