//! The needs of a run: tools, extensions, queues, a journal, a sink; and how it tells its events.

use std::sync::Arc;

use serde_json::Value;
use sinew_llm::event::EventStream;
use sinew_llm::message::{AgentMessage, LlmMessage, ToolResultMessage};
use sinew_llm::provider::{Loading, ToolDef, WireObserver};
use sinew_session::clock::Clock;
use sinew_tools::tool::{Boxed, Tool};
use tokio_util::sync::CancellationToken;

use super::queue::Queues;
use super::stream_monitor::StreamMonitor;
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::hook_call::ask;

/// Receives events. Waits while its readers are behind.
pub trait Sink: Send + Sync {
    /// Hands an event over.
    fn emit(&self, event: Event) -> Boxed<'_, ()>;

    /// Returns whether each update of an answer is to hold the answer so far: a copy of all of it. Default: true.
    fn wants_snapshots(&self) -> bool {
        true
    }
}

/// Keeps messages. A failure to keep one is the journal's to tell; the run goes on.
pub trait Journal: Send + Sync {
    /// Keeps a message; on disk when this returns, if there is a disk. Makes it what a later reader will find: the
    /// conversation goes on with that.
    fn message(&self, message: &mut AgentMessage);

    /// A turn is over: what was kept is forced to the disk.
    fn turn_end(&self) {}

    /// The last answer and what stands behind it leave the context.
    ///
    /// # Errors
    /// They cannot; the reason.
    fn take_back(&self) -> Result<(), String> {
        Ok(())
    }

    /// Rules of this name are in the context from now on.
    fn injected(&self, _rules: &[String]) {}
}

/// The result of a search that names tools, and their definitions.
#[derive(Debug)]
pub struct Loaded {
    /// The result, with blocks `tool_reference`.
    pub result: ToolResultMessage,
    /// The definitions.
    pub tools: Vec<ToolDef>,
}

/// Tools that stand in no request and can be called all the same.
pub trait Catalogue: Send + Sync {
    /// The tool of a name.
    fn find(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// The call that a model means which can only call what stands in its request: name and arguments. None: it means
    /// what it says.
    fn unwrap(&self, name: &str, arguments: &Value) -> Option<(String, Value)>;

    /// The way back: the call as the model made it.
    fn wrap(&self, name: &str, arguments: &Value) -> Option<(String, Value)>;

    /// The way in which a provider that loads tools comes to know a tool of the front.
    fn loading(&self, name: &str) -> Loading;

    /// The result of a search for such a provider, and the tools that it brings. None: it is sent as it is.
    fn loaded(&self, result: &ToolResultMessage) -> Option<Loaded>;

    /// Names like one that does not exist.
    fn near(&self, name: &str) -> Vec<String>;
}

/// The tools of a session in the order in which they were registered.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<Arc<dyn Tool>>,
    catalogue: Option<Arc<dyn Catalogue>>,
}

impl Toolset {
    /// The tools; of two with one name the first counts, the names of the others are given back.
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

    /// The same with tools behind them that stand in no request.
    #[must_use]
    pub fn with_catalogue(self, catalogue: Option<Arc<dyn Catalogue>>) -> Toolset {
        Toolset { catalogue, ..self }
    }

    /// The tools that stand in no request.
    #[must_use]
    pub fn catalogue(&self) -> Option<&Arc<dyn Catalogue>> {
        self.catalogue.as_ref()
    }

    /// The tool of a name, of those that stand in requests.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The tool of a name, of all that can be called.
    #[must_use]
    pub fn look_up(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.find(name).cloned().or_else(|| self.catalogue.as_ref()?.find(name))
    }

    /// The text for a model that called a tool of this name, which does not exist.
    pub(super) fn missing(&self, name: &str) -> String {
        match &self.catalogue {
            Some(catalogue) => not_found(name, &catalogue.near(name)),
            None => format!("Tool {name} not found. Available: {}", self.names().join(", ")),
        }
    }

    /// The name under which a model finds a tool that it called by another one.
    pub(super) fn meant(&self, name: &str) -> Option<&'static str> {
        let meant = sinew_tools::named_by_alias(name)?;
        (self.find(name).is_none() && self.find(meant).is_some()).then_some(meant)
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// The names of those that are not hidden.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().filter(|tool| !tool.flags().hidden).map(|tool| tool.name()).collect()
    }
}

/// The text for a model that called a tool which does not exist, where there are tools to search.
pub(crate) fn not_found(name: &str, near: &[String]) -> String {
    let near = if near.is_empty() { String::new() } else { format!(" Near names: {}.", near.join(", ")) };
    format!("Tool {name} not found.{near} Use tool_search to find tools of servers.")
}

/// The order of the calls of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolExecution {
    /// As far as the tools allow.
    #[default]
    Parallel,
    /// One after another; each sees the effects of the last.
    Sequential,
}

/// The effect of steering on running tool calls. Calls that have not begun are skipped in both cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interrupt {
    /// Ends the calls that run.
    Immediate,
    /// Waits for the calls that run.
    #[default]
    Wait,
}

/// Settings of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    /// Calls of the provider at most; 0 is no limit. Default 1,000.
    pub max_turns: u32,
    /// Default parallel.
    pub execution: ToolExecution,
    /// Default: wait.
    pub interrupt: Interrupt,
}

impl Default for RunSettings {
    fn default() -> RunSettings {
        RunSettings { max_turns: 1_000, execution: ToolExecution::default(), interrupt: Interrupt::default() }
    }
}

/// Sends a request; the observer looks at what goes over the wire, the token ends it.
pub type SendRequest<'a> =
    dyn Fn(TurnRequest, Option<Arc<dyn WireObserver>>, CancellationToken) -> EventStream + Send + Sync + 'a;

/// The variable part of the request of a turn.
#[derive(Debug, Clone, Default)]
pub struct TurnRequest {
    /// The conversation.
    pub messages: Vec<Arc<LlmMessage>>,
    /// The tokens of the last answer, where the output limit cut a call of it.
    pub cut_at: Option<u64>,
}

/// One run, and everything that it needs from outside.
pub struct Run<'a> {
    /// Sends the request of a turn to who answers it; both are looked up anew for each, so that a change of model or
    /// tools takes effect.
    pub ask: &'a SendRequest<'a>,
    /// Gives the tools that the model may call now.
    pub tools: &'a (dyn Fn() -> Toolset + Send + Sync),
    /// The extensions, in load order.
    pub extensions: &'a [Arc<dyn Extension>],
    /// The messages of the user that wait.
    pub queues: &'a Queues,
    /// Keeps the messages.
    pub journal: &'a dyn Journal,
    /// Receives the events.
    pub sink: &'a dyn Sink,
    /// The time.
    pub clock: &'a dyn Clock,
    /// The facts of the session for extensions.
    pub context: &'a Context,
    /// Gives the settings of the user; asked where they count, so that a change takes effect.
    pub settings: &'a (dyn Fn() -> RunSettings + Send + Sync),
    /// Asked after each turn that has tool results: true ends the run there, to be taken up by another.
    pub pause: &'a (dyn Fn(&[AgentMessage]) -> bool + Send + Sync),
    /// Asked before each request: true ends the run there, since it has cost as much as it may.
    pub over_budget: &'a (dyn Fn() -> bool + Send + Sync),
    /// Reads the answers while they come.
    pub monitor: Option<&'a dyn StreamMonitor>,
    /// Ends the run.
    pub cancel: CancellationToken,
    /// Turns that the user's prompt has had already, in earlier runs of the same chain.
    pub turns: u32,
    /// Answers in a row whose calls the output limit cut, those of earlier runs of the same chain included.
    pub cuts: u32,
}

/// The needs of a call, in a run or outside of one: every way to a tool is this one, with the same hooks and rules.
pub(crate) struct CallPath<'a> {
    /// Gives the tools that may be called now.
    pub(crate) tools: &'a (dyn Fn() -> Toolset + Send + Sync),
    /// The extensions, in load order.
    pub(crate) extensions: &'a [Arc<dyn Extension>],
    /// Receives the events.
    pub(crate) sink: &'a dyn Sink,
    /// The facts of the session for extensions.
    pub(crate) context: &'a Context,
    /// Ends the call.
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
    /// The part that calls need.
    pub(super) fn calls(&self) -> CallPath<'_> {
        let Run { tools, extensions, sink, context, cancel, .. } = self;
        CallPath { tools: *tools, extensions, sink: *sink, context, cancel }
    }

    pub(super) async fn emit(&self, event: Event) {
        self.calls().emit(event).await;
    }

    /// Returns whether anybody wants the answer so far with each of its updates.
    pub(super) fn wants_snapshots(&self) -> bool {
        self.sink.wants_snapshots() || self.extensions.iter().any(|extension| extension.wants_snapshots())
    }

    pub(super) fn context(&self) -> Context {
        self.calls().context()
    }

    /// Keeps a whole message and tells it.
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

/// The messages as the extensions change them, if one does, and the faults of those that could not.
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

/// Tells an event to the extensions, in load order, and to `sink`. A hook that fails is reported to `sink` alone: it
/// would only fail again.
pub(crate) async fn tell_event(extensions: &[Arc<dyn Extension>], event: Event, context: &Context, sink: &dyn Sink) {
    // Nothing stands before the start of a run, nor behind its end.
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
