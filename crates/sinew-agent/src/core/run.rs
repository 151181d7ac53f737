//! The inputs of a run (tools, extensions, queues, a journal, a sink), and how it emits events.

use std::sync::Arc;

use serde_json::Value;
use sinew_llm::event::EventStream;
use sinew_llm::message::{AgentMessage, LlmMessage, ToolResultMessage};
use sinew_llm::provider::{ToolDef, ToolLoading, WireObserver};
use sinew_session::clock::Clock;
use sinew_tools::tool::{Boxed, Tool};
use tokio_util::sync::CancellationToken;

use super::queue::Queues;
use super::stream_monitor::StreamMonitor;
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::hook_call::ask;

/// Receives events. Applies backpressure while its readers lag.
pub trait Sink: Send + Sync {
    /// Delivers an event.
    fn emit(&self, event: Event) -> Boxed<'_, ()>;

    /// Returns whether each update of an answer must include a copy of the answer so far. Default: true.
    fn wants_snapshots(&self) -> bool {
        true
    }
}

/// Stores messages. The journal reports its own failures; the run continues.
pub trait Journal: Send + Sync {
    /// Stores a message; if the session has a file, the message is on disk when this returns. Replaces the message with
    /// the form that a later reader will see, and the conversation continues with that.
    fn message(&self, message: &mut AgentMessage);

    /// Called at the end of a turn: syncs the stored messages to disk.
    fn turn_end(&self) {}

    /// Removes the last answer and everything after it from the context.
    ///
    /// # Errors
    /// Returns the reason if they cannot be removed.
    fn take_back(&self) -> Result<(), String> {
        Ok(())
    }

    /// Records that the rules with these names are in the context from now on.
    fn injected(&self, _rules: &[String]) {}
}

/// A search result that refers to tools, with their definitions.
#[derive(Debug)]
pub struct LoadedTools {
    /// The result, with blocks of type `tool_reference`.
    pub result: ToolResultMessage,
    /// The definitions.
    pub tools: Vec<ToolDef>,
}

/// Tools that are not part of a request, but can be called.
pub trait Catalogue: Send + Sync {
    /// Returns the tool with this name.
    fn find(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Resolves a call through `call_tool` to the name and arguments of the tool that it runs; `None` for any other
    /// call.
    fn unwrap(&self, name: &str, arguments: &Value) -> Option<(String, Value)>;

    /// Does the reverse: returns the call as the model made it.
    fn wrap(&self, name: &str, arguments: &Value) -> Option<(String, Value)>;

    /// Returns how a provider that loads tools by itself learns about a tool of the request.
    fn loading(&self, name: &str) -> ToolLoading;

    /// Returns a search result in the form for such a provider, with the tools that it loads; `None` leaves the result
    /// unchanged.
    fn loaded(&self, result: &ToolResultMessage) -> Option<LoadedTools>;

    /// Returns names similar to one that does not exist.
    fn near(&self, name: &str) -> Vec<String>;
}

/// Returns true if one of the patterns means the tool `name`: the name itself, or its beginning before a final `*`.
#[must_use]
pub fn is_named(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    })
}

/// The tools of a session, in the order of registration.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<Arc<dyn Tool>>,
    catalogue: Option<Arc<dyn Catalogue>>,
}

impl Toolset {
    /// Creates the set. If two tools have one name, the first is used; the duplicate names are returned.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> (Toolset, Vec<String>) {
        let mut set = Toolset::default();
        let mut doubled = Vec::new();
        for tool in tools {
            if set.find(tool.name()).is_some() {
                doubled.push(tool.name().to_string());
            } else {
                set.tools.push(tool);
            }
        }
        (set, doubled)
    }

    /// Adds a catalogue of tools that are not part of requests.
    #[must_use]
    pub fn with_catalogue(self, catalogue: Option<Arc<dyn Catalogue>>) -> Toolset {
        Toolset { catalogue, ..self }
    }

    /// Returns the tools that are not part of requests.
    #[must_use]
    pub fn catalogue(&self) -> Option<&Arc<dyn Catalogue>> {
        self.catalogue.as_ref()
    }

    /// Returns the tool with this name among the tools that are part of requests.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns the tool with this name among all tools, including the catalogue.
    #[must_use]
    pub fn look_up(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.find(name).cloned().or_else(|| self.catalogue.as_ref()?.find(name))
    }

    /// Returns the message for a model that called a tool that does not exist.
    pub(super) fn missing(&self, name: &str) -> String {
        if let Some(reason) = sinew_tools::why_absent(name) {
            return format!("Tool {name} not found: {reason}.");
        }
        match &self.catalogue {
            Some(catalogue) => not_found(name, &catalogue.near(name)),
            None => format!("Tool {name} not found. Available: {}", self.names().join(", ")),
        }
    }

    /// Returns the tool that a model means by an alias, if only that tool exists.
    pub(super) fn meant(&self, name: &str) -> Option<&'static str> {
        let meant = sinew_tools::named_by_alias(name)?;
        (self.find(name).is_none() && self.find(meant).is_some()).then_some(meant)
    }

    /// Returns all tools, without the catalogue.
    #[must_use]
    pub fn all(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Returns the names of the tools that are not hidden.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().filter(|tool| !tool.flags().hidden).map(|tool| tool.name()).collect()
    }
}

/// Returns the message for a model that called an unknown tool, when tools can be searched.
pub(crate) fn not_found(name: &str, near: &[String]) -> String {
    let near = if near.is_empty() { String::new() } else { format!(" Near names: {}.", near.join(", ")) };
    format!("Tool {name} not found.{near} Use tool_search to find tools of servers.")
}

/// The order in which the calls of one answer run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolExecution {
    /// In parallel, if the tools allow it.
    #[default]
    Parallel,
    /// One after another.
    Sequential,
}

/// The effect of steering on running tool calls. Calls that have not started are skipped in both cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interrupt {
    /// Cancels the running calls.
    Immediate,
    /// Waits for the running calls.
    #[default]
    Wait,
}

/// The settings of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    /// The maximum number of turns; 0 disables the limit. Default: 1,000.
    pub max_turns: u32,
    /// How the tool calls of an answer are executed. Default: in parallel.
    pub execution: ToolExecution,
    /// How steering affects running calls. Default: it waits for them.
    pub interrupt: Interrupt,
}

impl Default for RunSettings {
    fn default() -> RunSettings {
        RunSettings { max_turns: 1_000, execution: ToolExecution::default(), interrupt: Interrupt::default() }
    }
}

/// Sends a request. The observer sees the request and the answer as they are transmitted; the token cancels the
/// request.
pub type SendRequest<'a> =
    dyn Fn(TurnRequest, Option<Arc<dyn WireObserver>>, CancellationToken) -> EventStream + Send + Sync + 'a;

/// The variable part of a turn's request.
#[derive(Debug, Clone, Default)]
pub struct TurnRequest {
    /// The conversation.
    pub messages: Vec<Arc<LlmMessage>>,
    /// The number of tokens of the last answer if the output limit cut off one of its calls.
    pub cut_at: Option<u64>,
}

/// One run with its inputs.
pub struct Run<'a> {
    /// Sends the request of a turn. The model and the tools are looked up for each request, so that changes take
    /// effect.
    pub ask: &'a SendRequest<'a>,
    /// Returns the tools that the model may call now.
    pub tools: &'a (dyn Fn() -> Toolset + Send + Sync),
    /// The extensions, in load order.
    pub extensions: &'a [Arc<dyn Extension>],
    /// The queued messages of the user.
    pub queues: &'a Queues,
    /// Stores the messages.
    pub journal: &'a dyn Journal,
    /// Receives the events.
    pub sink: &'a dyn Sink,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The facts of the session for extensions.
    pub context: &'a Context,
    /// Returns the user's settings. Called whenever they are needed, so that changes take effect.
    pub settings: &'a (dyn Fn() -> RunSettings + Send + Sync),
    /// Called after each turn with tool results; true pauses the run, which another run continues.
    pub pause: &'a (dyn Fn(&[AgentMessage]) -> bool + Send + Sync),
    /// Called before each request; true ends the run because it has reached its cost limit.
    pub over_budget: &'a (dyn Fn() -> bool + Send + Sync),
    /// Reads the answers while they stream.
    pub monitor: Option<&'a dyn StreamMonitor>,
    /// Cancels the run.
    pub cancel: CancellationToken,
    /// The number of turns that earlier runs of the same chain used for this prompt.
    pub turns: u32,
    /// The number of consecutive answers with calls cut off by the output limit, including earlier runs of the same
    /// chain.
    pub cuts: u32,
    /// The number of consecutive answers before this run that the server paused.
    pub pauses: u32,
}

/// The inputs of a call, inside or outside of a run, so that the same hooks and rules apply to every call.
pub(crate) struct CallPath<'a> {
    /// Returns the tools that may be called now.
    pub(crate) tools: &'a (dyn Fn() -> Toolset + Send + Sync),
    /// The extensions, in load order.
    pub(crate) extensions: &'a [Arc<dyn Extension>],
    /// Receives the events.
    pub(crate) sink: &'a dyn Sink,
    /// The facts of the session for extensions.
    pub(crate) context: &'a Context,
    /// Cancels the call.
    pub(crate) cancel: &'a CancellationToken,
}

impl CallPath<'_> {
    pub(super) async fn emit(&self, event: Event) {
        let context = self.context();
        tell_event(self.extensions, event, &context, self.sink).await;
    }

    pub(super) fn context(&self) -> Context {
        Context { cancel: self.cancel.clone(), ..self.context.clone() }
    }
}

impl Run<'_> {
    /// Returns the inputs for tool calls.
    pub(super) fn calls(&self) -> CallPath<'_> {
        let Run { tools, extensions, sink, context, cancel, .. } = self;
        CallPath { tools: *tools, extensions, sink: *sink, context, cancel }
    }

    pub(super) async fn emit(&self, event: Event) {
        self.calls().emit(event).await;
    }

    /// Returns whether the sink or an extension needs a snapshot with each update of an answer.
    pub(super) fn wants_snapshots(&self) -> bool {
        self.sink.wants_snapshots() || self.extensions.iter().any(|extension| extension.wants_snapshots())
    }

    pub(super) fn context(&self) -> Context {
        self.calls().context()
    }

    /// Stores a complete message and emits its events.
    pub(super) async fn tell(&self, message: &mut AgentMessage) {
        self.emit(Event::MessageStart { message: message.clone() }).await;
        self.journal.message(message);
        self.emit(Event::MessageEnd { message: message.clone() }).await;
    }

    pub(super) async fn add(&self, messages: &mut Vec<AgentMessage>, new: Vec<AgentMessage>) {
        for mut message in new {
            self.tell(&mut message).await;
            messages.push(message);
        }
    }
}

/// Returns the messages after the extensions changed them (`None` if none did), and the failures.
pub(crate) async fn changed(
    extensions: &[Arc<dyn Extension>],
    messages: &[AgentMessage],
    context: &Context,
) -> (Option<Vec<AgentMessage>>, Vec<Event>) {
    let (mut changed, mut faults): (Option<Vec<AgentMessage>>, _) = (None, Vec::new());
    for extension in extensions {
        let given = changed.as_deref().unwrap_or(messages);
        match ask(&context.cancel, async { extension.transform_context(given, context).await }).await.flatten() {
            Ok(None) => {}
            Ok(new) => changed = new,
            Err(error) => {
                let (extension_path, event) = (extension.name().into_owned(), "context".to_string());
                faults.push(Event::ExtensionError { extension_path, event, error });
            }
        }
    }
    (changed, faults)
}

/// Sends an event to the extensions, in load order, and to `sink`. A failed hook is reported only to `sink`, because it
/// would fail again.
pub(crate) async fn tell_event(extensions: &[Arc<dyn Extension>], event: Event, context: &Context, sink: &dyn Sink) {
    // The start of a run must be the first event and the end the last one, so failure reports come between them.
    let start = event == Event::AgentStart;
    if start {
        sink.emit(Event::AgentStart).await;
    }
    for extension in extensions {
        if let Err(error) = ask(&context.cancel, async { extension.on_event(&event, context).await }).await.flatten() {
            let (extension_path, event) = (extension.name().into_owned(), event.name().to_string());
            sink.emit(Event::ExtensionError { extension_path, event, error }).await;
        }
    }
    if !start {
        sink.emit(event).await;
    }
}
