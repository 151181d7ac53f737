//! Assembles an answer: receives the deltas of any provider, and produces the events and the final message.
//!
//! Only this module ensures the order that [`crate::event`] documents: a wire protocol reports what it received, in the
//! order of its server.

mod slots;

use std::collections::{HashMap, VecDeque};

use crate::error::{ErrorInfo, ErrorKind};
use crate::event::{EventSender, StreamEvent};
use crate::message::{AssistantMessage, Block, StopReason, Usage};
use crate::model::Model;
use crate::partial_json;
use crate::property_names::PropertyNames;
use crate::provider::{Request, ToolDef};
use crate::surrogate;
use slots::{Slot, Slots};

/// The maximum size of one answer's content: 256 MB.
const CONTENT_LIMIT: usize = 256 * 1024 * 1024;

/// The maximum number of blocks of one answer, as a limit for servers that send endless empty ones.
const BLOCK_LIMIT: usize = 10_000;

/// The maximum length of an unknown reason for the end of an answer, in characters.
const REASON_LIMIT: usize = 100;

/// The size that a new block adds to the content, in bytes.
const BLOCK_COST: usize = 64;

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Text,
    Thinking,
    ToolCall,
}

impl Kind {
    fn delta(self, content_index: usize, delta: String) -> StreamEvent {
        match self {
            Kind::Text => StreamEvent::TextDelta { content_index, delta },
            Kind::Thinking => StreamEvent::ThinkingDelta { content_index, delta },
            Kind::ToolCall => StreamEvent::ToolCallDelta { content_index, delta },
        }
    }
}

/// An answer being assembled.
#[derive(Debug)]
pub(crate) struct Assembly {
    model: Model,
    timestamp: i64,
    slots: Slots,
    /// The properties of tools that have a different name on the wire, by tool name.
    renamed: HashMap<String, PropertyNames>,
    events: VecDeque<StreamEvent>,
    size: usize,
    paused: bool,
    unknown_end: Option<String>,
    /// The token counts of the server; cost and sum are added at the end.
    pub(crate) usage: Usage,
}

fn renamed(tool: &ToolDef) -> Option<(String, PropertyNames)> {
    Some((tool.name.clone(), PropertyNames::of_schema(&tool.parameters)?))
}

impl Assembly {
    /// Creates an answer with its first event pending.
    pub(crate) fn new(request: &Request) -> Assembly {
        Assembly {
            model: request.model.clone(),
            timestamp: request.timestamp,
            slots: Slots::default(),
            renamed: request.tools.iter().filter_map(renamed).collect(),
            events: VecDeque::from([StreamEvent::Start]),
            size: 0,
            paused: false,
            unknown_end: None,
            usage: Usage::default(),
        }
    }

    /// Sends the pending events. Returns false if the receiver is gone. Dropping the future loses no events.
    pub(crate) async fn flush(&mut self, sender: &EventSender) -> bool {
        while !self.events.is_empty() {
            let Some(room) = sender.room().await else {
                return false;
            };
            if let Some(event) = self.events.pop_front() {
                room.send(event);
            }
        }
        true
    }

    /// Returns the size of the content so far.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Begins a block of text or thinking.
    pub(crate) fn begin(&mut self, kind: Kind) -> usize {
        self.size += BLOCK_COST;
        let index = self.slots.push(kind);
        self.events.push_back(match kind {
            Kind::Thinking => StreamEvent::ThinkingStart { content_index: index },
            _ => StreamEvent::TextStart { content_index: index },
        });
        index
    }

    /// Begins a tool call. A missing id is generated, and a duplicate id is changed.
    pub(crate) fn begin_call(&mut self, id: &str, name: &str) -> usize {
        self.size += BLOCK_COST;
        let (id, name) = (surrogate::unmark(id), surrogate::unmark(name));
        let (index, id) = self.slots.push_call(&id, &name, self.timestamp);
        self.events.push_back(StreamEvent::ToolCallStart { content_index: index, id, name: name.to_string() });
        index
    }

    /// Appends to a block that has not ended. If `delta` ends with the first half of a character, that half is kept
    /// until the next delta.
    pub(crate) fn delta(&mut self, index: usize, delta: &str) {
        let Some(slot) = self.slots.get_mut(index).filter(|slot| !slot.ended && !delta.is_empty()) else {
            return;
        };
        self.size += delta.len();
        let delta = surrogate::join(&mut slot.half, delta).into_owned();
        if !delta.is_empty() {
            slot.text.push_str(&delta);
            self.events.push_back(slot.kind.delta(index, delta));
        }
    }

    /// Appends what is missing from a text of which the server repeats the whole.
    pub(crate) fn complete_text(&mut self, index: usize, whole: &str) {
        let slot = self.slots.get(index).filter(|slot| slot.half.is_none());
        if let Some(rest) = slot.and_then(|slot| whole.strip_prefix(slot.text.as_str())) {
            self.delta(index, rest);
        }
    }

    /// Replaces the arguments of a call that has not ended by those that the server says are all. Arguments that are
    /// incomplete or empty only replace none.
    pub(crate) fn settle_arguments(&mut self, index: usize, whole: &str) {
        let Some(slot) = self.slots.get_mut(index).filter(|slot| !slot.ended && slot.text != whole) else {
            return;
        };
        if slot.half.is_none()
            && let Some(rest) = whole.strip_prefix(slot.text.as_str())
            && (slot.text.is_empty() || partial_json::is_filled(whole))
        {
            self.delta(index, rest);
        } else if partial_json::is_filled(whole) {
            self.size += whole.len();
            slot.half = None;
            slot.text = surrogate::join(&mut slot.half, whole).into_owned();
        }
    }

    /// Sets the arguments of a call that its start contained, unless complete ones followed.
    pub(crate) fn default_arguments(&mut self, index: usize, whole: &str) {
        if !whole.is_empty() && !partial_json::is_filled(self.text(index)) {
            self.settle_arguments(index, whole);
        }
    }

    /// Adds the size of content that waits for its block.
    pub(crate) fn hold(&mut self, content: &str) {
        self.size += content.len();
    }

    /// Records that the server has paused the answer, and continues when the answer is sent back.
    pub(crate) fn pause(&mut self) {
        self.paused = true;
    }

    /// Records that the server ended the answer for a reason that no protocol knows.
    pub(crate) fn end_with_unknown(&mut self, reason: &str) {
        self.unknown_end = Some(reason.chars().take(REASON_LIMIT).collect());
    }

    /// Returns true if the last block is a call, and the arguments of every call are complete.
    pub(crate) fn ends_with_whole_calls(&self) -> bool {
        self.slots.last().is_some_and(|slot| slot.kind == Kind::ToolCall) && self.slots.calls().all(Slot::is_whole)
    }

    /// Appends to the last block if it is open and of this kind; otherwise ends the open text and thinking blocks and
    /// begins a new one.
    pub(crate) fn run(&mut self, kind: Kind, delta: &str) -> usize {
        let last = self.slots.last().filter(|slot| slot.kind == kind && !slot.ended);
        let index = if last.is_some() {
            self.slots.len() - 1
        } else {
            self.end_runs();
            self.begin(kind)
        };
        self.delta(index, delta);
        index
    }

    /// Ends each open block of text or thinking. Runs in time linear in their number.
    pub(crate) fn end_runs(&mut self) {
        for index in self.slots.open_runs() {
            self.end(index);
        }
    }

    /// Returns the text of a block so far.
    pub(crate) fn text(&self, index: usize) -> &str {
        self.slots.get(index).map_or("", |slot| &slot.text)
    }

    /// Appends to the data that the provider needs back with the block, until the block ends.
    pub(crate) fn sign(&mut self, index: usize, signature: &str) {
        if let Some(slot) = self.slots.get_mut(index).filter(|_| !signature.is_empty()) {
            slot.signature.get_or_insert_default().push_str(&surrogate::unmark(signature));
            self.size += signature.len();
        }
    }

    /// Replaces the data of [`Assembly::sign`].
    pub(crate) fn replace_signature(&mut self, index: usize, signature: String) {
        if let Some(slot) = self.slots.get_mut(index) {
            self.size += signature.len();
            slot.signature = Some(surrogate::unmark(&signature).into_owned());
        }
    }

    /// Marks a thinking block as redacted by its provider.
    pub(crate) fn redact(&mut self, index: usize) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.redacted = true;
        }
    }

    /// Ends a block that the server did not end. A call without arguments is incomplete then, and not a call that needs
    /// none.
    pub(crate) fn end_unfinished(&mut self, index: usize) {
        let lacks = |slot: &&mut Slot| !slot.ended && slot.kind == Kind::ToolCall && slot.text.trim().is_empty();
        if let Some(slot) = self.slots.get_mut(index).filter(lacks) {
            slot.arguments = Some(Err("the arguments are missing".to_string()));
        }
        self.end(index);
    }

    /// Ends a block. Does nothing if it has ended.
    pub(crate) fn end(&mut self, index: usize) {
        let Some(slot) = self.slots.end(index) else {
            return;
        };
        if slot.half.take().is_some() {
            slot.text.push(char::REPLACEMENT_CHARACTER);
            self.events.push_back(slot.kind.delta(index, char::REPLACEMENT_CHARACTER.into()));
        }
        let event = match slot.kind {
            Kind::Text => StreamEvent::TextEnd { content_index: index, signature: slot.signature.clone() },
            Kind::Thinking => StreamEvent::ThinkingEnd {
                content_index: index,
                signature: slot.signature.clone(),
                redacted: slot.redacted,
            },
            Kind::ToolCall => {
                let arguments = slot.arguments.take().unwrap_or_else(|| partial_json::parse_sent(&slot.text));
                slot.arguments = Some(match self.renamed.get(&slot.name) {
                    Some(names) => arguments.map(|arguments| names.arguments_of_wire(&arguments)),
                    None => arguments,
                });
                StreamEvent::ToolCallEnd { content_index: index, tool_call: Box::new(slot.call()) }
            }
        };
        self.events.push_back(event);
    }

    /// Fails if the answer exceeds the size limit.
    pub(crate) fn check_size(&self) -> Result<(), String> {
        if self.size > CONTENT_LIMIT {
            return Err(format!("the answer is larger than {} MB", CONTENT_LIMIT >> 20));
        }
        if self.slots.len() > BLOCK_LIMIT {
            return Err(format!("the answer has more than {BLOCK_LIMIT} blocks"));
        }
        Ok(())
    }

    /// Ends the answer successfully. Corrects the reason if the content contradicts it.
    pub(crate) fn finish(mut self, reason: StopReason) -> VecDeque<StreamEvent> {
        let whole = reason != StopReason::Length;
        self.end_all(false);
        let content = std::mem::take(&mut self.slots).into_blocks(whole);
        let mut message = self.message(content);
        let calls = message.tool_calls().next().is_some();
        let usage = message.usage;
        let input = usage.input + usage.cache_read + usage.cache_write;
        if reason == StopReason::Length
            && usage.output == 0
            && message.content.is_empty()
            && input as f64 >= self.model.context_window as f64 * 0.99
        {
            let text = format!(
                "{}: the conversation fills the context window of {} tokens",
                self.model.provider, self.model.context_window
            );
            return self.fail_with(ErrorInfo::new(ErrorKind::ContextOverflow, text), message);
        }
        message.stop_reason = match reason {
            StopReason::Stop | StopReason::ToolUse if calls => StopReason::ToolUse,
            StopReason::ToolUse => StopReason::Stop,
            other => other,
        };
        let reason = message.stop_reason;
        self.events.push_back(StreamEvent::Done { reason, message: Box::new(message) });
        self.events
    }

    /// Ends the answer with an error; received content is kept, except incomplete calls.
    pub(crate) fn fail(mut self, error: ErrorInfo) -> VecDeque<StreamEvent> {
        self.end_all(true);
        let content = std::mem::take(&mut self.slots).into_blocks(false);
        let message = self.message(content);
        self.fail_with(error, message)
    }

    fn fail_with(mut self, mut error: ErrorInfo, mut message: AssistantMessage) -> VecDeque<StreamEvent> {
        error.message = surrogate::unmark(&error.message).into_owned();
        let reason = if error.kind == ErrorKind::Aborted { StopReason::Aborted } else { StopReason::Error };
        message.stop_reason = reason;
        message.error_message = Some(error.message.clone());
        message.error = Some(error.clone());
        self.events.push_back(StreamEvent::Error { reason, error: Box::new(error), message: Box::new(message) });
        self.events
    }

    fn end_all(&mut self, broken: bool) {
        for index in 0..self.slots.len() {
            match broken {
                true => self.end_unfinished(index),
                false => self.end(index),
            }
        }
    }

    fn message(&mut self, content: Vec<Block>) -> AssistantMessage {
        self.model.price(&mut self.usage);
        AssistantMessage {
            content,
            api: self.model.api.clone(),
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            usage: self.usage,
            timestamp: self.timestamp,
            paused: self.paused,
            unknown_end: self.unknown_end.take(),
            ..AssistantMessage::default()
        }
    }
}

#[cfg(test)]
mod tests;
