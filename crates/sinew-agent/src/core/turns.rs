//! The sequence of a run: turns until neither the model nor the queues have anything left.

use std::collections::HashSet;
use std::sync::Arc;

use sinew_llm::message::{
    AgentMessage, AssistantMessage, Block, Content, CustomMessage, LlmMessage, StopReason, ToolResultMessage,
};

use super::batch;
use super::repair::{RepairedMessages, repair};
use super::request_observer::ExtensionObserver;
use super::run::{Run, TurnRequest, changed};
use super::stream_events::{self, CompletedAnswer};
use super::stream_monitor::Correction;
use crate::event::Event;

/// The result of calls in an answer that the output limit cut off.
const CUT: &str = "The reply was cut off by the output limit. This call was not run; send it again.";

/// The number of consecutive answers with calls cut off by the output limit after which the model is still asked again.
pub(crate) const CUTS: u32 = 2;

/// The number of consecutive answers that the server paused after which it is still asked to continue.
pub(crate) const PAUSES: u32 = 10;

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// All messages that the run added.
    pub messages: Vec<AgentMessage>,
    /// The last answer, if there was one.
    pub answer: Option<AssistantMessage>,
    /// Whether the limit of turns ended it.
    pub limited: bool,
    /// Whether the cost limit ended it.
    pub over_budget: bool,
    /// Whether it paused between turns on request.
    pub paused: bool,
    /// The number of turns of the chain, including this run.
    pub turns: u32,
    /// The number of consecutive answers with calls cut off by the output limit. If it exceeds two, that ended the run.
    pub cuts: u32,
    /// The number of consecutive answers that the server paused. If it exceeds ten, that ended the run.
    pub pauses: u32,
}

/// Facts about the messages that a run caches, so that it does not read all of them in each turn.
struct KnownMessages {
    repaired: RepairedMessages,
    /// The ids of all calls.
    ids: HashSet<String>,
}

/// The result of one turn.
struct Turn {
    answer: AssistantMessage,
    /// Whether the monitor requests another turn.
    corrected: bool,
    /// The tool of a call that the output limit cut off.
    cut: Option<String>,
    /// Whether a tool ended the run.
    ends_run: bool,
}

impl Run<'_> {
    /// Sends `prompts` to the model and runs turns until nothing is left to do. `messages` is the context so far; the
    /// run appends to it. The transcript is valid at the end, even after a failure.
    pub async fn run(mut self, messages: &mut Vec<AgentMessage>, prompts: Vec<AgentMessage>) -> RunResult {
        let first = messages.len();
        let mut known = KnownMessages { repaired: RepairedMessages::default(), ids: ids(messages) };
        let (turns, cuts, pauses) = (self.turns, self.cuts, self.pauses);
        let mut ended = RunResult {
            messages: Vec::new(),
            answer: None,
            limited: false,
            over_budget: false,
            paused: false,
            turns,
            cuts,
            pauses,
        };
        self.emit(Event::AgentStart).await;
        self.add(messages, self.queues.take_notes()).await;
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
            let Turn { answer, corrected, cut, ends_run } = self.turn(messages, &mut known).await;
            let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            let calls = answer.tool_calls().next().is_some();
            if !failed {
                let limited = answer.stop_reason == StopReason::Length && (calls || cut.is_some());
                self.cuts = if limited { self.cuts + 1 } else { 0 };
            }
            let paused = answer.paused && !failed && !calls;
            if !failed {
                self.pauses = if paused { self.pauses + 1 } else { 0 };
            }
            ended.answer = Some(answer);
            if (failed && !corrected) || self.cancel.is_cancelled() || self.cuts > CUTS || self.pauses > PAUSES {
                break;
            }
            if let Some(tool) = &cut {
                self.add(messages, vec![cut_off(tool, self.clock.now())]).await;
            }
            if paused {
                self.add(messages, vec![go_on(self.clock.now())]).await;
            }
            let more = (calls && !ends_run) || corrected || cut.is_some() || paused;
            if more && !failed && (self.pause)(messages) {
                ended.paused = true;
                break;
            }
            let notes = self.queues.take_notes();
            let more = more || !notes.is_empty();
            self.add(messages, notes).await;
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
        ended.pauses = self.pauses;
        ended.messages = messages[first..].to_vec();
        self.emit(Event::AgentEnd { messages: ended.messages.clone() }).await;
        ended
    }

    async fn queue_changed(&self) {
        let (steering, follow_up) = self.queues.texts();
        self.emit(Event::QueueUpdate { steering, follow_up }).await;
    }

    /// Sends one request and runs its tools.
    async fn turn(&self, messages: &mut Vec<AgentMessage>, known: &mut KnownMessages) -> Turn {
        self.emit(Event::TurnStart).await;
        if let Some(monitor) = self.monitor {
            monitor.turn_start();
        }
        let seen = self.seen(messages, &mut known.repaired).await;
        let cancel = self.cancel.child_token();
        let observer = ExtensionObserver::new(self.extensions, self.context());
        let last = messages.iter().rev().find_map(|message| match message {
            AgentMessage::Assistant(answer) => Some(answer.usage.output),
            _ => None,
        });
        let question = TurnRequest { messages: seen, cut_at: last.filter(|_| self.cuts > 0) };
        let stream = (self.ask)(question, Some(Arc::<ExtensionObserver>::clone(&observer)), cancel.clone());
        let CompletedAnswer { message: mut answer, interrupted, rejected, cut } =
            stream_events::answer(self, stream, &cancel).await;
        for fault in observer.faults() {
            self.emit(fault).await;
        }
        let interrupted = interrupted && !self.cancel.is_cancelled();
        tell_ids_apart(&mut answer, &mut known.ids);
        let tools = (self.tools)();
        for block in &mut answer.content {
            let Block::ToolCall(call) = block else { continue };
            if let Some(meant) = tools.meant(&call.name) {
                call.name = meant.into();
            }
            // From here on, hooks, permissions, events and the session see the tool that the call resolves to.
            if call.invalid_arguments.is_none()
                && let Some((name, arguments)) =
                    tools.catalogue().and_then(|all| all.unwrap(&call.name, &call.arguments))
            {
                (call.name, call.arguments) = (name, arguments);
            }
        }
        // The calls run as the model sent them, even if the journal stores a shortened form.
        let mut message = AgentMessage::from(answer.clone());
        self.journal.message(&mut message);
        self.emit(Event::MessageEnd { message: message.clone() }).await;
        let at = messages.len();
        messages.push(message.clone());
        let correction = self.monitor.map_or_else(Correction::default, |monitor| monitor.settle(&answer, interrupted));
        let calls: Vec<_> = answer.tool_calls().cloned().collect();
        let mut ends_run = false;
        let results = match answer.stop_reason {
            _ if calls.is_empty() => Vec::new(),
            StopReason::Error | StopReason::Aborted => self.unrun(&calls, super::repair::NO_RESULT).await,
            StopReason::Length => self.unrun(&calls, CUT).await,
            _ if self.cancel.is_cancelled() => self.unrun(&calls, "Operation aborted").await,
            _ => {
                // If the guard ended a call, it is the last one.
                let (run, ended) = calls.split_at(calls.len() - usize::from(rejected.is_some()));
                let mut results;
                (results, ends_run) = batch::execute(self, run, &correction).await;
                results.extend(self.unrun(ended, rejected.as_deref().unwrap_or_default()).await);
                results
            }
        };
        messages.extend(results.iter().cloned());
        self.journal.turn_end();
        self.emit(Event::TurnEnd { message, tool_results: results }).await;
        let corrected = correct(self, messages, at, correction, interrupted).await;
        Turn { answer, corrected, cut, ends_run }
    }

    /// Returns the messages as the model sees them: changed by the extensions and repaired for the provider.
    async fn seen(&self, messages: &[AgentMessage], repaired: &mut RepairedMessages) -> Vec<Arc<LlmMessage>> {
        let (changed, faults) = changed(self.extensions, messages, &self.context()).await;
        for fault in faults {
            self.emit(fault).await;
        }
        match changed {
            Some(changed) => repair(&changed),
            None => repaired.grown(messages),
        }
    }

    /// Adds error results for calls that must not run.
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

/// Applies the corrections that a monitor requests after the turn whose answer is `messages[at]`. Returns whether
/// another turn must follow.
async fn correct(
    run: &Run<'_>,
    messages: &mut Vec<AgentMessage>,
    at: usize,
    correction: Correction,
    interrupted: bool,
) -> bool {
    let Correction { discard, injected, messages: new, reminders: _ } = correction;
    if injected.is_empty() {
        return false;
    }
    if discard {
        messages.truncate(at);
        if let Err(error) = run.journal.take_back() {
            run.emit(Event::Warning {
                message: format!("Failed to remove a stopped answer from the session: {error}"),
            })
            .await;
        }
    }
    if !interrupted {
        run.emit(Event::TtsrTriggered { rules: injected.clone() }).await;
    }
    let again = !new.is_empty();
    run.add(messages, new).await;
    run.journal.injected(&injected);
    again
}

/// Returns the prompt for an answer that the server paused. Some models reject a conversation that ends with an answer.
fn go_on(timestamp: i64) -> AgentMessage {
    hidden("paused-answer", "Go on with your answer where it was paused.", timestamp)
}

/// Returns the message for the model about a call that arrived incomplete.
fn cut_off(tool: &str, timestamp: i64) -> AgentMessage {
    let text = format!(
        "Your reply was cut off by the output limit inside a call of {tool}, which was not run. Send the call again, and \
         split it into smaller ones if it is long."
    );
    hidden("output-limit", &text, timestamp)
}

/// Returns a message that the model reads and the user does not see.
fn hidden(kind: &str, text: &str, timestamp: i64) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        custom_type: kind.into(),
        content: Content::Text(text.into()),
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

/// Makes the ids of calls unique by adding a suffix, because a model may repeat an id in one answer or across answers,
/// and a result must match its call.
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
