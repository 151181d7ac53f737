//! Sends events to all subscribers through queues that are bounded in number and in bytes. A slow subscriber slows the
//! agent and receives merged deltas; a dropped one is removed; one that never reads cannot block a cancelled run.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, Block, Content};
use sinew_tools::tool::Boxed;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::core::Sink;
use crate::event::{Event, ToolResult};

/// The maximum number of queued events per subscriber.
pub const CAPACITY: usize = 256;
/// The approximate maximum number of bytes of queued events per subscriber; a single event may exceed it. Each update
/// of an answer includes the answer so far, so 256 of them could use gigabytes.
pub const CAPACITY_BYTES: usize = 8 << 20;
/// Deltas are merged for a subscriber that has at least this many queued events.
const BEHIND: usize = 16;
/// The maximum number of bytes of a merged delta.
const MERGED: usize = 64 << 10;

/// Copies each event to all subscribers, in order. When it is dropped, the subscriptions end after their queued events
/// are read.
#[derive(Debug, Default)]
pub struct EventBus {
    listeners: Mutex<Vec<Arc<Channel>>>,
}

/// The receiver of a subscription. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Subscriber {
    channel: Arc<Channel>,
}

/// Whether a subscriber needs the answer so far in each update. If one does, all receive it, because the copy is
/// shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Snapshots {
    /// Each update includes it.
    #[default]
    Each,
    /// The updates only need the delta.
    Unread,
}

#[derive(Debug, Default)]
struct Channel {
    snapshots: Snapshots,
    queue: Mutex<Queue>,
    filled: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<QueuedEvent>,
    bytes: usize,
    /// The bus or the subscriber was dropped.
    over: bool,
}

#[derive(Debug)]
struct QueuedEvent {
    event: Arc<Event>,
    /// The delta of `event`, joined with the earlier deltas that were merged into it.
    merged: Option<String>,
    bytes: usize,
}

impl EventBus {
    /// Subscribes to the events from now on.
    #[must_use]
    pub fn subscribe(&self, snapshots: Snapshots) -> Subscriber {
        let channel = Arc::new(Channel { snapshots, ..Channel::default() });
        self.lock().push(Arc::clone(&channel));
        Subscriber { channel }
    }

    fn wants_snapshots(&self) -> bool {
        self.lock().iter().any(|channel| channel.snapshots == Snapshots::Each && !channel.lock().over)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Channel>>> {
        self.listeners.lock()
    }

    /// Returns the bus for a run that `cancel` ends. After the cancellation, sending does not wait for space, so that
    /// the few last events of the run reach every subscriber that still reads.
    pub(super) fn until<'a>(&'a self, cancel: &'a CancellationToken) -> BusSink<'a> {
        BusSink { event_bus: self, cancel }
    }

    async fn send(&self, event: Event, cancel: &CancellationToken) {
        let listeners = self.lock().clone();
        if listeners.is_empty() {
            return;
        }
        let bytes = weight(&event);
        let event = Arc::new(event);
        // Sends to subscribers with space first: a slow one delays the next event of the others, but not this one.
        let full: Vec<&Arc<Channel>> =
            listeners.iter().filter(|channel| !channel.offer(&event, bytes, false)).collect();
        for channel in full {
            channel.wait(&event, bytes, cancel).await;
        }
        if listeners.iter().any(|channel| channel.lock().over) {
            self.lock().retain(|channel| !channel.lock().over);
        }
    }
}

impl Drop for EventBus {
    fn drop(&mut self) {
        for channel in self.lock().iter() {
            channel.lock().over = true;
            channel.filled.notify_one();
        }
    }
}

/// The result of [`EventBus::until`].
pub(super) struct BusSink<'a> {
    event_bus: &'a EventBus,
    cancel: &'a CancellationToken,
}

impl Sink for BusSink<'_> {
    fn emit(&self, event: Event) -> Boxed<'_, ()> {
        Box::pin(self.event_bus.send(event, self.cancel))
    }

    fn wants_snapshots(&self) -> bool {
        self.event_bus.wants_snapshots()
    }
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Queues an event. Returns false if there is no space, unless `must` is set.
    fn offer(&self, event: &Arc<Event>, bytes: usize, must: bool) -> bool {
        let mut queue = self.lock();
        if queue.over {
            return true;
        }
        if !queue.merge(event, bytes) {
            let full = queue.waiting.len() >= CAPACITY || queue.bytes + bytes > CAPACITY_BYTES;
            if full && !queue.waiting.is_empty() && !must {
                return false;
            }
            queue.waiting.push_back(QueuedEvent { event: Arc::clone(event), merged: None, bytes });
            queue.bytes += bytes;
        }
        drop(queue);
        self.filled.notify_one();
        true
    }

    async fn wait(&self, event: &Arc<Event>, bytes: usize, cancel: &CancellationToken) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the check, so that space freed between check and wait is not missed.
            room.as_mut().enable();
            if self.offer(event, bytes, cancel.is_cancelled()) {
                return;
            }
            tokio::select! {
                () = room => {}
                () = cancel.cancelled() => {}
            }
        }
    }
}

impl Queue {
    /// Merges a newer event into the last one if the subscriber lags and both are deltas of one block, or
    /// updates of one tool call.
    fn merge(&mut self, event: &Arc<Event>, bytes: usize) -> bool {
        if self.waiting.len() < BEHIND {
            return false;
        }
        let Some(last) = self.waiting.back_mut() else { return false };
        match (&*last.event, &**event) {
            (Event::MessageUpdate { step: old, .. }, Event::MessageUpdate { step: new, .. }) => {
                let (old, new) = (&old.event, &new.event);
                let (Some(before), Some(delta)) = (old.delta(), new.delta()) else { return false };
                let size = last.merged.as_ref().map_or(before.len(), String::len) + delta.len();
                if old.name() != new.name() || old.content_index() != new.content_index() || size > MERGED {
                    return false;
                }
                last.merged.get_or_insert_with(|| before.to_string()).push_str(delta);
            }
            (
                Event::ToolExecutionUpdate { tool_call_id: old, .. },
                Event::ToolExecutionUpdate { tool_call_id: new, .. },
            ) if old == new => {}
            _ => return false,
        }
        last.event = Arc::clone(event);
        self.bytes = self.bytes - last.bytes + bytes;
        last.bytes = bytes;
        true
    }

    fn is_done(&self) -> bool {
        self.over && self.waiting.is_empty()
    }

    fn pop(&mut self) -> Option<Arc<Event>> {
        let QueuedEvent { mut event, merged, bytes } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        if let Some(merged) = merged
            && let Event::MessageUpdate { step, .. } = Arc::make_mut(&mut event)
        {
            step.set_delta(merged);
        }
        Some(event)
    }
}

impl Subscriber {
    /// Returns the next event; `None` after the last one. Cancel-safe.
    pub async fn recv(&mut self) -> Option<Arc<Event>> {
        loop {
            if let Some(event) = self.try_recv() {
                return Some(event);
            }
            if self.channel.lock().is_done() {
                return None;
            }
            // An event or the end since the check has stored a permit.
            self.channel.filled.notified().await;
        }
    }

    /// Returns the next event if one is queued.
    pub fn try_recv(&mut self) -> Option<Arc<Event>> {
        let event = self.channel.lock().pop()?;
        self.channel.room.notify_waiters();
        Some(event)
    }

    /// Returns the number of queued events.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.channel.lock().waiting.len()
    }

    /// Returns the approximate number of bytes of queued events.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.channel.lock().bytes
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let mut queue = self.channel.lock();
        *queue = Queue { over: true, ..Queue::default() };
        drop(queue);
        self.channel.room.notify_waiters();
    }
}

/// Returns the approximate size of an event, in bytes. Linear in the number of its blocks, not in their text.
fn weight(event: &Event) -> usize {
    if let Event::OfSubagent { event, .. } = event {
        return weight(event);
    }
    let result = |result: &ToolResult| blocks(&result.content) + result.details.as_ref().map_or(0, value);
    let own = match event {
        Event::AgentEnd { messages } => messages.iter().map(message).sum(),
        Event::TurnEnd { message: answer, tool_results } => {
            message(answer) + tool_results.iter().map(message).sum::<usize>()
        }
        Event::MessageStart { message: held } | Event::MessageEnd { message: held } => message(held),
        Event::MessageUpdate { message: held, step } => {
            let call = match &step.event {
                StreamEvent::ToolCallEnd { tool_call, .. } => value(&tool_call.arguments),
                other => other.delta().map_or(0, str::len),
            };
            held.as_ref().map_or(0, message) + call + step.content.as_ref().map_or(0, String::len)
        }
        Event::ToolExecutionStart { args, .. } => value(args),
        Event::ToolExecutionUpdate { args, partial_result, .. } => value(args) + result(partial_result),
        Event::ToolExecutionEnd { result: given, .. } => result(given),
        _ => 0,
    };
    size_of::<Event>() + own
}

fn message(message: &AgentMessage) -> usize {
    let content = |content: &Content| match content {
        Content::Text(text) => text.len(),
        Content::Blocks(list) => blocks(list),
    };
    size_of::<AgentMessage>()
        + match message {
            AgentMessage::User(user) => content(&user.content),
            AgentMessage::Assistant(answer) => blocks(&answer.content),
            AgentMessage::ToolResult(result) => blocks(&result.content) + result.details.as_ref().map_or(0, value),
            AgentMessage::BashExecution(run) => run.command.len() + run.output.len(),
            AgentMessage::Custom(custom) => content(&custom.content),
            AgentMessage::FileMention(mention) => mention.files.iter().map(|file| file.content.len()).sum(),
            AgentMessage::BranchSummary(branch) => branch.summary.len(),
            AgentMessage::CompactionSummary(summary) => summary.summary.len(),
        }
}

fn blocks(list: &[Block]) -> usize {
    let own = list.iter().map(|block| match block {
        Block::Text(text) => text.text.len(),
        Block::Thinking(thought) => thought.thinking.len(),
        Block::ToolCall(call) => value(&call.arguments) + call.partial_json.as_ref().map_or(0, String::len),
        Block::Image(image) => image.data.len(),
        Block::Other(other) => value(other),
    });
    own.sum::<usize>() + size_of_val(list)
}

fn value(of: &Value) -> usize {
    size_of::<Value>()
        + match of {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(value).sum(),
            Value::Object(fields) => fields.iter().map(|(key, of)| key.len() + value(of)).sum(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests;
