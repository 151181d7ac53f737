//! What a session tells its listeners, in the words of the JSON and RPC modes.

use serde::Serialize;
use serde_json::Value;
use sinew_llm::message::{AgentMessage, Block};

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
        /// What its tools gave, in source order.
        tool_results: Vec<AgentMessage>,
    },
    /// A message begins.
    MessageStart {
        /// As far as it is.
        message: AgentMessage,
    },
    /// An answer grew.
    MessageUpdate {
        /// As far as it is.
        message: AgentMessage,
        /// What the provider sent.
        assistant_message_event: Value,
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
        /// What the model passed.
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
        /// What the model passed.
        args: Value,
        /// What there is.
        partial_result: ToolResult,
    },
    /// A tool is over.
    ToolExecutionEnd {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// What it gave.
        result: ToolResult,
        /// It failed.
        is_error: bool,
    },
    /// What waits to be said to the model.
    QueueUpdate {
        /// After the tools of the turn.
        steering: Vec<String>,
        /// When the agent would stop.
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
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The request runs again after a pause.
    AutoRetryStart {
        /// From 1.
        attempt: u32,
        /// How many there are at most.
        max_attempts: u32,
        /// The pause.
        delay_ms: u64,
        /// What went wrong.
        error_message: String,
    },
    /// The chain of attempts is over.
    AutoRetryEnd {
        /// An answer came.
        success: bool,
        /// How many attempts were made.
        attempt: u32,
        /// Why there is none.
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
        /// Why the first one cannot.
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
        /// Whose it is.
        provider: String,
        /// Why.
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
        /// Which.
        job_id: String,
        /// `running`, `done`, `failed` or `cancelled`.
        state: String,
    },
    /// A hook failed.
    ExtensionError {
        /// Whose.
        extension_path: String,
        /// Of which event.
        event: String,
        /// What happened.
        error: String,
    },
    /// Something that the user should know.
    Warning {
        /// What.
        message: String,
    },
}

impl Event {
    /// The `type` of the event.
    pub(crate) fn name(&self) -> String {
        let told = serde_json::to_value(self).unwrap_or_default();
        told.get("type").and_then(Value::as_str).unwrap_or_default().to_string()
    }
}

/// What a tool gave, as events show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolResult {
    /// Texts and images for the model.
    pub content: Vec<Block>,
    /// Facts for the user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<crate::tool::ToolOutput> for ToolResult {
    fn from(output: crate::tool::ToolOutput) -> ToolResult {
        ToolResult { content: output.content, details: output.details }
    }
}
