//! Events of a session, in the words of the JSON and RPC modes.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block};

use crate::subagent::ChildState;

/// An event. `type` is its name in snake_case, other keys are camelCase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A run begins.
    AgentStart,
    /// A run is over.
    AgentEnd {
        /// Everything that the run added.
        messages: Vec<AgentMessage>,
    },
    /// One call of the provider, and its tools, begin.
    TurnStart,
    /// They are over.
    TurnEnd {
        /// The answer.
        message: AgentMessage,
        /// The results of its tools, in source order.
        tool_results: Vec<AgentMessage>,
    },
    /// A message begins.
    MessageStart {
        /// As far as it is.
        message: AgentMessage,
    },
    /// An answer grew.
    MessageUpdate {
        /// The answer so far; None where no subscriber and no extension wants snapshots.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<AgentMessage>,
        /// The event of the provider.
        #[serde(rename = "assistantMessageEvent")]
        step: AnswerStep,
    },
    /// A message is whole and, with a file, on disk.
    MessageEnd {
        /// The message.
        message: AgentMessage,
    },
    /// A tool begins.
    ToolExecutionStart {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The arguments that the model passed.
        args: Value,
        /// One line for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        intent: Option<String>,
    },
    /// A tool has something so far.
    ToolExecutionUpdate {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The arguments that the model passed.
        args: Value,
        /// The result so far.
        partial_result: ToolResult,
    },
    /// A tool is over.
    ToolExecutionEnd {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Its result.
        result: ToolResult,
        /// It failed.
        is_error: bool,
    },
    /// The messages that wait in the queues.
    QueueUpdate {
        /// After the tools of the turn.
        steering: Vec<String>,
        /// Messages for the moment when the agent would stop.
        follow_up: Vec<String>,
    },
    /// A compaction begins.
    AutoCompactionStart {
        /// `threshold`, `overflow` or `manual`.
        reason: &'static str,
    },
    /// It is over.
    AutoCompactionEnd {
        /// As it began.
        reason: &'static str,
        /// Summary, first kept entry, tokens before.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// It was stopped.
        aborted: bool,
        /// The request runs again.
        will_retry: bool,
        /// The error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The request runs again after a pause.
    AutoRetryStart {
        /// From 1.
        attempt: u32,
        /// The most attempts.
        max_attempts: u32,
        /// The pause.
        delay_ms: u64,
        /// The error.
        error_message: String,
    },
    /// The chain of attempts is over.
    AutoRetryEnd {
        /// An answer came.
        success: bool,
        /// The attempts that were made.
        attempt: u32,
        /// The reason for which there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// A model with a larger window took over.
    ModelPromoted {
        /// `provider/id`.
        from: String,
        /// `provider/id`.
        to: String,
    },
    /// The model that the user named for this case answers for one that cannot.
    ModelFallback {
        /// `provider/id`.
        from: String,
        /// `provider/id`.
        to: String,
        /// The reason for which the first one cannot.
        reason: String,
    },
    /// An answer broke rules; the model is told of them.
    TtsrTriggered {
        /// The names of the rules.
        rules: Vec<String>,
    },
    /// The model was reminded of open items.
    TodoReminder {
        /// The items.
        todos: Value,
        /// From 1.
        attempt: u32,
    },
    /// A finished list was put away.
    TodoAutoClear {},
    /// A credential rests.
    CredentialDisabled {
        /// Its provider.
        provider: String,
        /// The reason.
        reason: String,
        /// Milliseconds since the epoch; absent is for good.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
    /// The run had as many turns as it may.
    LimitReached {
        /// The limit.
        max_turns: u32,
    },
    /// Nothing else will happen until the next command.
    AgentSettled {},
    /// A job in the background changed its state.
    JobUpdate {
        /// The id of the job.
        job_id: String,
        /// `running`, `done`, `failed` or `cancelled`.
        state: String,
    },
    /// A server of the Model Context Protocol changed its state.
    McpStatus {
        /// Its name.
        server: String,
        /// `idle`, `starting`, `connected`, `needs_auth`, `restarting` or `failed`.
        state: String,
        /// The revision of the protocol, while it is connected.
        #[serde(skip_serializing_if = "Option::is_none")]
        era: Option<String>,
        /// The number of its tools, as far as it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<usize>,
        /// The reason of a failure.
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
    /// A child ended; also one that was never started.
    SubagentEnd {
        /// Its id.
        id: String,
        /// The call that started it.
        parent_tool_call_id: String,
        /// The name of its agent.
        agent: String,
        /// Its final state.
        state: ChildState,
        /// The number of its answers.
        turns: usize,
        /// The sum of its tokens.
        tokens: u64,
        /// Its cost in US dollars.
        cost: f64,
    },
    /// A hook failed.
    ExtensionError {
        /// Whose.
        extension_path: String,
        /// Of which event.
        event: String,
        /// The message.
        error: String,
    },
    /// Something that the user should know.
    Warning {
        /// The message.
        message: String,
    },
}

impl Event {
    /// The `type` of the event.
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
            Event::SubagentEnd { .. } => "subagent_end",
            Event::ExtensionError { .. } => "extension_error",
            Event::Warning { .. } => "warning",
        }
    }
}

/// A step of an answer: an event of the provider's stream that is neither its first nor its last.
///
/// As JSON: `type`, `contentIndex`, then `delta`, the whole `content` of a text or thought that ended, or the `toolCall`
/// that did.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerStep {
    /// The event.
    pub event: StreamEvent,
    /// The whole text of a block that ended.
    pub content: Option<String>,
}

impl AnswerStep {
    /// The step of `event`; `message` is the answer that has taken it in.
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

    /// Puts another text in the place of a delta; other steps stay as they are.
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

/// The result of a tool as events show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolResult {
    /// Texts and images for the model.
    pub content: Vec<Block>,
    /// Facts for the user interface.
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

    /// The JSON of a step is that of the stream's event without its snapshot.
    #[test]
    fn a_step_reads_like_the_event_of_the_stream() {
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
            Event::SubagentEnd {
                id: text(),
                parent_tool_call_id: text(),
                agent: text(),
                state: ChildState::Completed,
                turns: 1,
                tokens: 2,
                cost: 0.5,
            },
            Event::ExtensionError { extension_path: text(), event: text(), error: text() },
            Event::Warning { message: text() },
        ] {
            assert_eq!(json!(event)["type"], event.name());
        }
    }
}
