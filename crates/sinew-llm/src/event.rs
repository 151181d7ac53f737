//! The events of a streaming answer, and the stream that carries them.
//!
//! The order is the same for every provider: [`StreamEvent::Start`]; then for each block its start, its deltas and its
//! end (blocks with different indices may interleave); then exactly one of [`StreamEvent::Done`] and
//! [`StreamEvent::Error`], and nothing after it. Every block that begins also ends, even if the answer fails.
//!
//! An event only contains new data. [`EventStream::partial`] contains everything received so far.

use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use crate::error::{ErrorInfo, ErrorKind};
use crate::message::{AssistantMessage, Block, StopReason, TextBlock, ThinkingBlock, ToolCall};
use crate::partial_json;

/// The maximum number of events that wait between a provider and its reader.
pub const CAPACITY: usize = 256;

/// A step of an answer. `content_index` is the index of the block in the message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The answer begins.
    Start,
    /// A text block begins.
    TextStart {
        /// The block.
        content_index: usize,
    },
    /// More text.
    TextDelta {
        /// The block.
        content_index: usize,
        /// The new text, never empty.
        delta: String,
    },
    /// The text block is complete; its text is in the partial message.
    TextEnd {
        /// The block.
        content_index: usize,
        /// Data that the provider needs back with the text; `None` without any.
        signature: Option<String>,
    },
    /// A thinking block begins.
    ThinkingStart {
        /// The block.
        content_index: usize,
    },
    /// More thinking.
    ThinkingDelta {
        /// The block.
        content_index: usize,
        /// The new text, never empty.
        delta: String,
    },
    /// The thinking block is complete; its text is in the partial message.
    ThinkingEnd {
        /// The block.
        content_index: usize,
        /// Data that the provider needs back with the thinking; `None` without any.
        signature: Option<String>,
        /// True if the provider hides the thinking.
        redacted: bool,
    },
    /// A tool call begins.
    ToolCallStart {
        /// The block.
        content_index: usize,
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of the arguments' JSON text.
    ToolCallDelta {
        /// The block.
        content_index: usize,
        /// The new text, never empty.
        delta: String,
    },
    /// The call is complete. It may be missing from the final message, because incomplete calls are removed.
    ToolCallEnd {
        /// The block.
        content_index: usize,
        /// The call with its arguments.
        tool_call: Box<ToolCall>,
    },
    /// The answer is complete.
    Done {
        /// `Stop`, `Length` or `ToolUse`.
        reason: StopReason,
        /// The complete message.
        message: Box<AssistantMessage>,
    },
    /// The answer failed or was stopped.
    Error {
        /// `Error` or `Aborted`.
        reason: StopReason,
        /// The failure.
        error: Box<ErrorInfo>,
        /// The message as received so far.
        message: Box<AssistantMessage>,
    },
}

impl StreamEvent {
    /// Returns the event's name, such as `text_delta`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            StreamEvent::Start => "start",
            StreamEvent::TextStart { .. } => "text_start",
            StreamEvent::TextDelta { .. } => "text_delta",
            StreamEvent::TextEnd { .. } => "text_end",
            StreamEvent::ThinkingStart { .. } => "thinking_start",
            StreamEvent::ThinkingDelta { .. } => "thinking_delta",
            StreamEvent::ThinkingEnd { .. } => "thinking_end",
            StreamEvent::ToolCallStart { .. } => "toolcall_start",
            StreamEvent::ToolCallDelta { .. } => "toolcall_delta",
            StreamEvent::ToolCallEnd { .. } => "toolcall_end",
            StreamEvent::Done { .. } => "done",
            StreamEvent::Error { .. } => "error",
        }
    }

    /// Returns the block of the event; `None` for the first and the last event.
    #[must_use]
    pub fn content_index(&self) -> Option<usize> {
        match self {
            StreamEvent::TextStart { content_index }
            | StreamEvent::TextDelta { content_index, .. }
            | StreamEvent::TextEnd { content_index, .. }
            | StreamEvent::ThinkingStart { content_index }
            | StreamEvent::ThinkingDelta { content_index, .. }
            | StreamEvent::ThinkingEnd { content_index, .. }
            | StreamEvent::ToolCallStart { content_index, .. }
            | StreamEvent::ToolCallDelta { content_index, .. }
            | StreamEvent::ToolCallEnd { content_index, .. } => Some(*content_index),
            StreamEvent::Start | StreamEvent::Done { .. } | StreamEvent::Error { .. } => None,
        }
    }

    /// Returns the new text of a delta; `None` for other events.
    #[must_use]
    pub fn delta(&self) -> Option<&str> {
        match self {
            StreamEvent::TextDelta { delta, .. }
            | StreamEvent::ThinkingDelta { delta, .. }
            | StreamEvent::ToolCallDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// Appends `other` if both are deltas of the same kind and block.
    ///
    /// # Errors
    /// Returns `other` if the two cannot be merged.
    pub fn merge(&mut self, other: StreamEvent) -> Result<(), StreamEvent> {
        let mine = match (&mut *self, &other) {
            (StreamEvent::TextDelta { content_index: a, delta }, StreamEvent::TextDelta { content_index: b, .. })
            | (
                StreamEvent::ThinkingDelta { content_index: a, delta },
                StreamEvent::ThinkingDelta { content_index: b, .. },
            )
            | (
                StreamEvent::ToolCallDelta { content_index: a, delta },
                StreamEvent::ToolCallDelta { content_index: b, .. },
            ) if a == b => delta,
            _ => return Err(other),
        };
        mine.push_str(other.delta().unwrap_or_default());
        Ok(())
    }

    /// Returns the event as JSON mode and RPC write it: `type`, `contentIndex`, `delta`, `content` or `toolCall`, and
    /// `partial`, the message so far, unless the event is the last.
    ///
    /// `partial` is the snapshot taken after the event; if it is `None`, the key is omitted, and so is the `content` of
    /// an end.
    #[must_use]
    pub fn to_json(&self, partial: Option<&AssistantMessage>) -> Value {
        let mut out = serde_json::Map::new();
        out.insert("type".into(), self.name().into());
        if let Some(index) = self.content_index() {
            out.insert("contentIndex".into(), index.into());
        }
        if let Some(delta) = self.delta() {
            out.insert("delta".into(), delta.into());
        }
        let block = |index: &usize| partial.and_then(|partial| partial.content.get(*index));
        match self {
            StreamEvent::TextEnd { content_index, .. } => {
                if let Some(Block::Text(text)) = block(content_index) {
                    out.insert("content".into(), text.text.as_str().into());
                }
            }
            StreamEvent::ThinkingEnd { content_index, .. } => {
                if let Some(Block::Thinking(thinking)) = block(content_index) {
                    out.insert("content".into(), thinking.thinking.as_str().into());
                }
            }
            StreamEvent::ToolCallEnd { tool_call, .. } => {
                out.insert("toolCall".into(), block_json(&Block::ToolCall((**tool_call).clone())));
            }
            StreamEvent::Done { reason, message } => {
                out.insert("reason".into(), reason.as_str().into());
                out.insert("message".into(), message_json(message));
                return Value::Object(out);
            }
            StreamEvent::Error { reason, error, message } => {
                out.insert("reason".into(), reason.as_str().into());
                out.insert("error".into(), json!(error));
                out.insert("message".into(), message_json(message));
                return Value::Object(out);
            }
            _ => {}
        }
        if let Some(partial) = partial {
            out.insert("partial".into(), message_json(partial));
        }
        Value::Object(out)
    }
}

fn block_json(block: &Block) -> Value {
    json!(block)
}

fn message_json(message: &AssistantMessage) -> Value {
    let mut out = serde_json::Map::new();
    out.insert("role".into(), "assistant".into());
    if let Value::Object(fields) = json!(message) {
        out.extend(fields);
    }
    Value::Object(out)
}

/// The answer according to the events received so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartialAnswer {
    message: AssistantMessage,
    read: ParsedArguments,
}

/// The parsed arguments of streaming calls, cached.
#[derive(Debug, Default)]
struct ParsedArguments(Mutex<BTreeMap<usize, Arguments>>);

#[derive(Debug, Clone)]
struct Arguments {
    /// The length of the text in bytes when it was parsed.
    length: usize,
    value: Value,
}

/// The size of arguments up to which every snapshot parses them again. Longer ones are parsed again once they have
/// grown by an eighth, so that the total cost is at most nine times the text.
const READ_ALWAYS: usize = 4 << 10;

impl ParsedArguments {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Arguments>> {
        self.0.lock()
    }

    /// Returns the arguments of the call in a block as far as they can be parsed, possibly from an earlier parse.
    fn arguments(&self, block: usize, text: &str) -> Value {
        let mut known = self.lock();
        let fresh = |known: &&Arguments| text.len() > READ_ALWAYS && text.len() < known.length + known.length / 8;
        if let Some(known) = known.get(&block).filter(fresh) {
            return known.value.clone();
        }
        let value = partial_json::parse(text);
        known.insert(block, Arguments { length: text.len(), value: value.clone() });
        value
    }
}

impl Clone for ParsedArguments {
    fn clone(&self) -> ParsedArguments {
        ParsedArguments(Mutex::new(self.lock().clone()))
    }
}

/// All values are equal, because a parsed value only depends on the text.
impl PartialEq for ParsedArguments {
    fn eq(&self, _: &ParsedArguments) -> bool {
        true
    }
}

impl PartialAnswer {
    /// Creates an answer without content.
    #[must_use]
    pub fn new(header: AssistantMessage) -> PartialAnswer {
        PartialAnswer { message: header, read: ParsedArguments::default() }
    }

    /// Applies the next event. Runs in constant time, apart from copying the new data.
    pub fn apply(&mut self, event: &StreamEvent) {
        let content = &mut self.message.content;
        match event {
            StreamEvent::Start => {}
            StreamEvent::TextStart { .. } => content.push(Block::Text(TextBlock::default())),
            StreamEvent::ThinkingStart { .. } => content.push(Block::Thinking(ThinkingBlock::default())),
            StreamEvent::ToolCallStart { id, name, .. } => content.push(Block::ToolCall(ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: json!({}),
                partial_json: Some(String::new()),
                ..ToolCall::default()
            })),
            StreamEvent::TextDelta { content_index, delta } => {
                if let Some(Block::Text(text)) = content.get_mut(*content_index) {
                    text.text.push_str(delta);
                }
            }
            StreamEvent::ThinkingDelta { content_index, delta } => {
                if let Some(Block::Thinking(thinking)) = content.get_mut(*content_index) {
                    thinking.thinking.push_str(delta);
                }
            }
            StreamEvent::ToolCallDelta { content_index, delta } => {
                if let Some(Block::ToolCall(ToolCall { partial_json: Some(text), .. })) =
                    content.get_mut(*content_index)
                {
                    text.push_str(delta);
                }
            }
            StreamEvent::TextEnd { content_index, signature } => {
                if let Some(Block::Text(text)) = content.get_mut(*content_index) {
                    text.signature.clone_from(signature);
                }
            }
            StreamEvent::ThinkingEnd { content_index, signature, redacted } => {
                if let Some(Block::Thinking(thinking)) = content.get_mut(*content_index) {
                    thinking.thinking_signature.clone_from(signature);
                    thinking.redacted = *redacted;
                }
            }
            StreamEvent::ToolCallEnd { content_index, tool_call } => {
                if let Some(block) = content.get_mut(*content_index) {
                    *block = Block::ToolCall((**tool_call).clone());
                    self.read.lock().remove(content_index);
                }
            }
            StreamEvent::Done { message, .. } | StreamEvent::Error { message, .. } => self.message.clone_from(message),
        }
    }

    /// Returns the message so far. The arguments of streaming calls are `{}`; [`PartialAnswer::snapshot`] parses them.
    #[must_use]
    pub fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// Returns the arguments of the streaming call in a block, as in [`PartialAnswer::snapshot`]; `None` if there is no
    /// such call.
    #[must_use]
    pub fn arguments(&self, block: usize) -> Option<Value> {
        match self.message.content.get(block)? {
            Block::ToolCall(ToolCall { partial_json: Some(text), .. }) => Some(self.read.arguments(block, text)),
            _ => None,
        }
    }

    /// Returns a copy of the message so far, with the arguments of streaming calls as far as they can be parsed; the
    /// last eighth of long ones may be missing until the call ends. Runs in time linear in the message, so it should be
    /// called when the result is displayed, not for each event.
    #[must_use]
    pub fn snapshot(&self) -> AssistantMessage {
        let mut message = self.message.clone();
        for (at, block) in message.content.iter_mut().enumerate() {
            if let Block::ToolCall(ToolCall { partial_json: Some(text), arguments, .. }) = block {
                *arguments = self.read.arguments(at, text);
            }
        }
        message
    }
}

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The events of one answer. Dropping it cancels the answer and closes its connection.
pub struct EventStream {
    events: mpsc::Receiver<StreamEvent>,
    driver: Option<Driver>,
    partial: PartialAnswer,
    ended: bool,
}

/// The provider's end of an [`EventStream`].
#[derive(Debug, Clone)]
pub struct EventSender {
    events: mpsc::Sender<StreamEvent>,
}

impl EventSender {
    /// Sends the next event, waiting while the reader is [`CAPACITY`] events behind. Returns false if the receiver is
    /// gone.
    pub async fn send(&self, event: StreamEvent) -> bool {
        self.events.send(event).await.is_ok()
    }

    /// Waits for room for one event. `None` if the receiver is gone. Unlike a `send` that is dropped while waiting,
    /// this loses nothing.
    pub(crate) async fn room(&self) -> Option<mpsc::Permit<'_, StreamEvent>> {
        self.events.reserve().await.ok()
    }
}

impl EventStream {
    /// Creates a stream whose events `drive` sends. The future only runs while the stream is read. If it panics, or
    /// ends without a last event, the stream ends with an error. `header` identifies the model.
    pub fn run<F>(header: AssistantMessage, drive: impl FnOnce(EventSender) -> F) -> EventStream
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, mut stream) = EventStream::channel(header);
        stream.driver = Some(Box::pin(drive(sender)));
        stream
    }

    /// Creates a stream whose events are sent from elsewhere, for example another task.
    #[must_use]
    pub fn channel(header: AssistantMessage) -> (EventSender, EventStream) {
        let (sender, events) = mpsc::channel(CAPACITY);
        let stream = EventStream { events, driver: None, partial: PartialAnswer::new(header), ended: false };
        (EventSender { events: sender }, stream)
    }

    /// Returns the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Does the same as [`EventStream::next`] for hand-written futures.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<StreamEvent>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match self.events.poll_recv(context) {
            Poll::Ready(event) => return Poll::Ready(Some(self.take(event))),
            Poll::Pending => {}
        }
        let Some(driver) = &mut self.driver else {
            return Poll::Pending;
        };
        match catch_unwind(AssertUnwindSafe(|| driver.as_mut().poll(context))) {
            Ok(Poll::Ready(())) => self.driver = None,
            Ok(Poll::Pending) => {}
            Err(panic) => {
                let cause = format!("the provider crashed: {}", panic_text(panic.as_ref()));
                return Poll::Ready(Some(self.fail(cause)));
            }
        }
        // Receives an event that the driver has just sent. `poll_recv` would not work, because it may return pending to
        // let other tasks run while events wait.
        match self.events.try_recv() {
            Ok(event) => Poll::Ready(Some(self.take(Some(event)))),
            Err(TryRecvError::Disconnected) => Poll::Ready(Some(self.take(None))),
            Err(TryRecvError::Empty) => Poll::Pending,
        }
    }

    fn take(&mut self, event: Option<StreamEvent>) -> StreamEvent {
        let Some(event) = event else {
            return self.fail("the provider stopped without finishing its answer".to_string());
        };
        self.partial.apply(&event);
        if matches!(event, StreamEvent::Done { .. } | StreamEvent::Error { .. }) {
            self.end();
        }
        event
    }

    /// Returns the answer according to the events read so far.
    #[must_use]
    pub fn partial(&self) -> &PartialAnswer {
        &self.partial
    }

    /// Reads to the end and returns the final message, which contains the error if there was one.
    pub async fn result(mut self) -> AssistantMessage {
        while self.next().await.is_some() {}
        self.partial.message
    }

    /// Creates the last event for a provider that did not send one.
    fn fail(&mut self, cause: String) -> StreamEvent {
        let mut error = ErrorInfo::new(ErrorKind::Malformed, cause);
        error.retryable = false;
        let mut message = self.partial.message.clone();
        message.content.retain(|block| block.as_tool_call().is_none_or(|call| call.partial_json.is_none()));
        message.stop_reason = StopReason::Error;
        message.error_message = Some(error.message.clone());
        message.error = Some(error.clone());
        let event =
            StreamEvent::Error { reason: StopReason::Error, error: Box::new(error), message: Box::new(message) };
        self.partial.apply(&event);
        self.end();
        event
    }

    fn end(&mut self) {
        self.ended = true;
        self.driver = None;
        self.events.close();
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream")
            .field("partial", &self.partial)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests;
