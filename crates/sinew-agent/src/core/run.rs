//! The order of a run: turns until the model has nothing more to do and nobody anything more to say.

use std::collections::HashSet;
use std::sync::Arc;

use sinew_llm::event::EventStream;
use sinew_llm::message::{
    AgentMessage, AssistantMessage, Block, Content, CustomMessage, LlmMessage, StopReason, ToolResultMessage,
};
use sinew_llm::provider::Tap;
use tokio_util::sync::CancellationToken;

use super::batch;
use super::bridge::{self, Answered};
use super::hook::ask;
use super::queue::Queues;
use super::repair::{Repaired, repair};
use super::tap::Tapped;
use super::watch::{Correction, Watch, correct};
use crate::clock::Clock;
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::tool::{Boxed, Tool};

/// The text for calls of an answer that the output limit cut.
const CUT: &str = "The reply was cut off by the output limit. This call was not run; send it again.";

/// Answers in a row with calls that the output limit cut, after which the model is asked again.
pub(crate) const CUTS: u32 = 2;

/// Names that models use for tools, and the tools that they mean.
const ALIASES: &[(&str, &str)] = &[("glob", "find")];

/// Where events go. Waits while its readers are behind.
pub trait Sink: Send + Sync {
    /// Hands an event over.
    fn emit(&self, event: Event) -> Boxed<'_, ()>;
}

/// Where messages are kept. A failure to keep one is the journal's to tell; the run goes on.
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

/// The tools of a session in the order in which they were registered.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<Arc<dyn Tool>>,
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

    /// The tool of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The name under which a model finds a tool that it called by another one.
    fn meant(&self, name: &str) -> Option<&'static str> {
        let (_, meant) = ALIASES.iter().find(|(alias, _)| *alias == name)?;
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

/// Whether the calls of one answer run side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolExecution {
    /// As far as the tools allow.
    #[default]
    Parallel,
    /// One after another; each sees the effects of the last.
    Sequential,
}

/// When steering is taken up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interrupt {
    /// Also between tool calls.
    #[default]
    Immediate,
    /// After all of them.
    Wait,
}

/// What the user may set.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    /// Calls of the provider at most; 0 is no limit. Default 200.
    pub max_turns: u32,
    /// Default parallel.
    pub execution: ToolExecution,
    /// Default immediate.
    pub interrupt: Interrupt,
}

impl Default for RunSettings {
    fn default() -> RunSettings {
        RunSettings { max_turns: 200, execution: ToolExecution::default(), interrupt: Interrupt::default() }
    }
}

/// Sends a request; the tap looks at what goes over the wire, the token ends it.
pub type Ask<'a> = dyn Fn(Question, Option<Arc<dyn Tap>>, CancellationToken) -> EventStream + Send + Sync + 'a;

/// What the model is asked in a turn.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The conversation.
    pub messages: Vec<Arc<LlmMessage>>,
    /// The tokens of the last answer, where the output limit cut a call of it.
    pub cut_at: Option<u64>,
}

/// One run, and all that it needs of the world.
pub struct Run<'a> {
    /// Sends the request of a turn to who answers it; both are looked up anew for each, so that a change of model or
    /// tools takes effect.
    pub ask: &'a Ask<'a>,
    /// What the model may call now.
    pub tools: &'a (dyn Fn() -> Toolset + Send + Sync),
    /// Who may look and change.
    pub extensions: &'a [Arc<dyn Extension>],
    /// What the user says meanwhile.
    pub queues: &'a Queues,
    /// Where messages are kept.
    pub journal: &'a dyn Journal,
    /// Where events go.
    pub sink: &'a dyn Sink,
    /// The time.
    pub clock: &'a dyn Clock,
    /// What extensions know of the session.
    pub context: &'a Context,
    /// What the user has set; asked where it counts, so that a change takes effect.
    pub settings: &'a (dyn Fn() -> RunSettings + Send + Sync),
    /// Asked after each turn that has tool results: true ends the run there, to be taken up by another.
    pub pause: &'a (dyn Fn(&[AgentMessage]) -> bool + Send + Sync),
    /// Asked before each request: true ends the run there, since it has cost as much as it may.
    pub over_budget: &'a (dyn Fn() -> bool + Send + Sync),
    /// Reads the answers while they come.
    pub watch: Option<&'a dyn Watch>,
    /// Ends the run.
    pub cancel: CancellationToken,
    /// Turns that the user's prompt has had already, in earlier runs of the same chain.
    pub turns: u32,
    /// Answers in a row whose calls the output limit cut, those of earlier runs of the same chain included.
    pub cuts: u32,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Everything that it added.
    pub messages: Vec<AgentMessage>,
    /// The last answer, if there was one.
    pub answer: Option<AssistantMessage>,
    /// It had as many turns as it may.
    pub limited: bool,
    /// It had cost as much as it may.
    pub over_budget: bool,
    /// It stopped between turns, because it was asked to.
    pub paused: bool,
    /// Turns of the chain, this run's included.
    pub turns: u32,
    /// Answers in a row whose calls the output limit cut. More than two: the run ended for that.
    pub cuts: u32,
}

/// What a run knows of its messages without reading all of them in each turn.
struct Known {
    repaired: Repaired,
    /// Those of all calls.
    ids: HashSet<String>,
}

impl Run<'_> {
    pub(super) async fn emit(&self, event: Event) {
        let context = self.context();
        tell_event(self.extensions, event, &context, self.sink).await;
    }

    pub(super) fn context(&self) -> Context {
        Context { cancel: self.cancel.clone(), ..self.context.clone() }
    }

    /// Keeps a whole message and tells it.
    pub(super) async fn tell(&self, message: &mut AgentMessage) {
        self.emit(Event::MessageStart { message: message.clone() }).await;
        self.journal.message(message);
        self.emit(Event::MessageEnd { message: message.clone() }).await;
    }

    /// Says `prompts` to the model and works until it has nothing more to do. `messages` is what the model has seen
    /// so far; the run adds to it. The transcript is valid at the end, whatever happened.
    pub async fn run(mut self, messages: &mut Vec<AgentMessage>, prompts: Vec<AgentMessage>) -> Ended {
        let first = messages.len();
        let mut known = Known { repaired: Repaired::default(), ids: ids(messages) };
        let (turns, cuts) = (self.turns, self.cuts);
        let mut ended = Ended {
            messages: Vec::new(),
            answer: None,
            limited: false,
            over_budget: false,
            paused: false,
            turns,
            cuts,
        };
        self.emit(Event::AgentStart).await;
        self.add(messages, prompts).await;
        loop {
            let max_turns = (self.settings)().max_turns;
            if max_turns > 0 && self.turns >= max_turns {
                self.emit(Event::LimitReached { max_turns }).await;
                ended.limited = true;
                break;
            }
            if (self.over_budget)() {
                ended.over_budget = true;
                break;
            }
            self.turns += 1;
            let (answer, corrected, cut) = self.turn(messages, &mut known).await;
            let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            let calls = answer.tool_calls().next().is_some();
            if !failed {
                let limited = answer.stop_reason == StopReason::Length && (calls || cut.is_some());
                self.cuts = if limited { self.cuts + 1 } else { 0 };
            }
            ended.answer = Some(answer);
            if (failed && !corrected) || self.cancel.is_cancelled() || self.cuts > CUTS {
                break;
            }
            if let Some(tool) = &cut {
                self.add(messages, vec![cut_off(tool, self.clock.now())]).await;
            }
            let more = calls || corrected || cut.is_some();
            if more && !failed && (self.pause)(messages) {
                ended.paused = true;
                break;
            }
            let steering = self.queues.take_steering();
            if !steering.is_empty() {
                self.queue_changed().await;
                self.add(messages, steering).await;
            } else if !more {
                let follow_up = self.queues.take_follow_up();
                if follow_up.is_empty() {
                    break;
                }
                self.queue_changed().await;
                self.add(messages, follow_up).await;
            }
        }
        ended.turns = self.turns;
        ended.cuts = self.cuts;
        ended.messages = messages[first..].to_vec();
        self.emit(Event::AgentEnd { messages: ended.messages.clone() }).await;
        ended
    }

    pub(super) async fn add(&self, messages: &mut Vec<AgentMessage>, new: Vec<AgentMessage>) {
        for mut message in new {
            self.tell(&mut message).await;
            messages.push(message);
        }
    }

    async fn queue_changed(&self) {
        let (steering, follow_up) = self.queues.texts();
        self.emit(Event::QueueUpdate { steering, follow_up }).await;
    }

    /// One request and its tools. True: somebody who watched it wants another turn. A name: the tool of a call that the
    /// output limit cut.
    async fn turn(
        &self,
        messages: &mut Vec<AgentMessage>,
        known: &mut Known,
    ) -> (AssistantMessage, bool, Option<String>) {
        self.emit(Event::TurnStart).await;
        if let Some(watch) = self.watch {
            watch.turn_start();
        }
        let seen = self.seen(messages, &mut known.repaired).await;
        let cancel = self.cancel.child_token();
        let tap = Tapped::new(self.extensions, self.context());
        let last = messages.iter().rev().find_map(|message| match message {
            AgentMessage::Assistant(answer) => Some(answer.usage.output),
            _ => None,
        });
        let question = Question { messages: seen, cut_at: last.filter(|_| self.cuts > 0) };
        let stream = (self.ask)(question, Some(Arc::<Tapped>::clone(&tap)), cancel.clone());
        let Answered { message: mut answer, interrupted, doomed, cut } = bridge::answer(self, stream, &cancel).await;
        for fault in tap.faults() {
            self.emit(fault).await;
        }
        let interrupted = interrupted && !self.cancel.is_cancelled();
        tell_ids_apart(&mut answer, &mut known.ids);
        let tools = (self.tools)();
        for block in &mut answer.content {
            if let Block::ToolCall(call) = block
                && let Some(meant) = tools.meant(&call.name)
            {
                call.name = meant.into();
            }
        }
        // The calls run as the model sent them, however little of them is kept.
        let mut message = AgentMessage::from(answer.clone());
        self.journal.message(&mut message);
        self.emit(Event::MessageEnd { message: message.clone() }).await;
        let at = messages.len();
        messages.push(message.clone());
        let correction = self.watch.map_or_else(Correction::default, |watch| watch.settle(&answer, interrupted));
        let calls: Vec<_> = answer.tool_calls().cloned().collect();
        let results = match answer.stop_reason {
            _ if calls.is_empty() => Vec::new(),
            StopReason::Error | StopReason::Aborted => self.unrun(&calls, super::repair::NO_RESULT).await,
            StopReason::Length => self.unrun(&calls, CUT).await,
            _ if self.cancel.is_cancelled() => self.unrun(&calls, "Operation aborted").await,
            _ => {
                // A call that was ended while it came is the last one.
                let (run, ended) = calls.split_at(calls.len() - usize::from(doomed.is_some()));
                let mut results = batch::execute(self, run, &correction).await;
                results.extend(self.unrun(ended, doomed.as_deref().unwrap_or_default()).await);
                results
            }
        };
        messages.extend(results.iter().cloned());
        self.journal.turn_end();
        self.emit(Event::TurnEnd { message, tool_results: results }).await;
        let corrected = correct(self, messages, at, correction, interrupted).await;
        (answer, corrected, cut)
    }

    /// What the model sees of `messages`: as the extensions change it, in the shape that a provider accepts.
    async fn seen(&self, messages: &[AgentMessage], repaired: &mut Repaired) -> Vec<Arc<LlmMessage>> {
        let (changed, faults) = changed(self.extensions, messages, &self.context()).await;
        for fault in faults {
            self.emit(fault).await;
        }
        match changed {
            Some(changed) => repair(&changed),
            None => repaired.grown(messages),
        }
    }

    /// Answers calls that must not run.
    async fn unrun(&self, calls: &[sinew_llm::message::ToolCall], text: &str) -> Vec<AgentMessage> {
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let mut result = AgentMessage::from(ToolResultMessage {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                content: vec![Block::text(text)],
                details: None,
                is_error: true,
                timestamp: self.clock.now(),
            });
            self.tell(&mut result).await;
            results.push(result);
        }
        results
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
            let (extension_path, event) = (extension.name().into_owned(), event.name());
            sink.emit(Event::ExtensionError { extension_path, event, error }).await;
        }
    }
    if !start {
        sink.emit(event).await;
    }
}

/// What the model reads about a call of which only a part came.
fn cut_off(tool: &str, timestamp: i64) -> AgentMessage {
    let text = format!(
        "Your reply was cut off by the output limit inside a call of {tool}, which was not run. Send the call again, and \
         split it into smaller ones if it is long."
    );
    AgentMessage::Custom(CustomMessage {
        custom_type: "output-limit".into(),
        content: Content::Text(text),
        display: false,
        details: None,
        attribution: None,
        timestamp,
    })
}

fn ids(messages: &[AgentMessage]) -> HashSet<String> {
    let calls = messages.iter().filter_map(|message| match message {
        AgentMessage::Assistant(answer) => Some(answer.tool_calls().map(|call| call.id.clone())),
        _ => None,
    });
    calls.flatten().collect()
}

/// A model may use an id twice, in one answer or across answers. A result must find its call, so that later ones get
/// a suffix.
fn tell_ids_apart(answer: &mut AssistantMessage, taken: &mut HashSet<String>) {
    for block in &mut answer.content {
        let Block::ToolCall(call) = block else { continue };
        if call.id.is_empty() {
            call.id = "call".into();
        }
        let mut id = call.id.clone();
        let mut next = 2;
        while !taken.insert(id.clone()) {
            id = format!("{}_{next}", call.id);
            next += 1;
        }
        call.id = id;
    }
}
