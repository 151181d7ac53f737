//! Encodes events as lines.
//!
//! Every piece of data is written once, so that the output grows linearly with the conversation: the text of an answer
//! as it arrives, the complete message at its `message_end`, the arguments of a call at its start, and its result at
//! its end. Other events only contain the identifying fields of a message. With snapshots, each event contains the
//! complete data every time.

use std::collections::HashMap;
use std::io;

use serde::Serialize;
use serde_json::{Value, json};
use sinew_agent::event::{AnswerStep, Event, ToolResult};
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, Block, ToolCall, text_of};

/// The fields that identify a message in events that do not contain it.
const SMALL: [&str; 12] = [
    "role",
    "api",
    "provider",
    "model",
    "usage",
    "stopReason",
    "errorMessage",
    "toolCallId",
    "toolName",
    "isError",
    "customType",
    "timestamp",
];

/// The number of bytes that the end of a text and the start of the next one must share to count as a continuation.
const SHARED: usize = 1_024;

/// The maximum size of a text that is compared with the previous one. Our tools show 50 KB at most.
const LONGEST: usize = 1 << 20;

/// Encodes events as lines.
pub(in crate::modes) struct EventEncoder {
    /// True if each event contains the complete data.
    snapshots: bool,
    /// The last written result of each running call.
    running: HashMap<String, ToolResult>,
    /// The encoders of children that work.
    children: HashMap<String, EventEncoder>,
}

impl EventEncoder {
    pub(in crate::modes) fn new(snapshots: bool) -> EventEncoder {
        EventEncoder { snapshots, running: HashMap::new(), children: HashMap::new() }
    }

    /// Encodes an event as lines without their ends. Events about compactions are repeated with the names that pi uses,
    /// for its clients.
    pub(in crate::modes) fn lines(&mut self, event: &Event) -> io::Result<Vec<Vec<u8>>> {
        let mut lines = vec![self.line(event)?];
        let other = match event {
            Event::AutoCompactionStart { .. } => "compaction_start",
            Event::AutoCompactionEnd { .. } => "compaction_end",
            _ => return Ok(lines),
        };
        let mut value = serde_json::to_value(event)?;
        value["type"] = other.into();
        lines.push(serde_json::to_vec(&value)?);
        Ok(lines)
    }

    fn line(&mut self, event: &Event) -> io::Result<Vec<u8>> {
        if let Event::OfSubagent { subagent_id, event } = event {
            return self.line_of_child(subagent_id, event);
        }
        if let Event::SubagentEnd(child) = event {
            self.children.remove(&child.id);
        }
        if self.snapshots {
            return Ok(serde_json::to_vec(event)?);
        }
        let kind = event.name();
        Ok(match event {
            Event::MessageStart { message } => serde_json::to_vec(&json!({"type": kind, "message": named(message)?}))?,
            Event::MessageUpdate { step, .. } => step_line(step)?,
            Event::TurnEnd { message, tool_results } => {
                let results = all_named(tool_results)?;
                serde_json::to_vec(&json!({"type": kind, "message": named(message)?, "toolResults": results}))?
            }
            Event::AgentEnd { messages } => {
                serde_json::to_vec(&json!({"type": kind, "messages": all_named(messages)?}))?
            }
            Event::ToolExecutionUpdate { tool_call_id, tool_name, partial_result, .. } => {
                let partial_result = self.news(tool_call_id, partial_result);
                let update = Update { kind, tool_call_id, tool_name, partial_result };
                serde_json::to_vec(&update)?
            }
            Event::ToolExecutionEnd { tool_call_id, .. } => {
                self.running.remove(tool_call_id);
                serde_json::to_vec(event)?
            }
            _ => serde_json::to_vec(event)?,
        })
    }

    /// Encodes the event of a child, and adds its id.
    fn line_of_child(&mut self, id: &str, event: &Event) -> io::Result<Vec<u8>> {
        let snapshots = self.snapshots;
        let child = self.children.entry(id.to_string()).or_insert_with(|| EventEncoder::new(snapshots));
        let mut line = child.line(event)?;
        // Every event is an object with at least its type.
        line.pop();
        line.extend_from_slice(b",\"subagentId\":");
        serde_json::to_writer(&mut line, id)?;
        line.push(b'}');
        Ok(line)
    }

    /// Returns the part of a running call's result that has not been written yet.
    fn news(&mut self, call: &str, result: &ToolResult) -> ResultDelta {
        let before = self.running.insert(call.to_string(), result.clone()).unwrap_or_default();
        let is_text = |result: &ToolResult| result.content.iter().all(|block| matches!(block, Block::Text(_)));
        let (old, new) = (text_of(&before.content), text_of(&result.content));
        let shared = if is_text(&before) && is_text(result) { overlap(&old, &new) } else { 0 };
        // A text that shares little with the previous one, such as a progress bar, replaces it.
        let grew = shared == old.len() && is_text(&before);
        let continues = grew || shared >= SHARED;
        let content = match continues && is_text(result) {
            true if new.len() == shared => Vec::new(),
            true => vec![Block::text(&new[shared..])],
            false => result.content.clone(),
        };
        let details = result.details.clone().filter(|details| before.details.as_ref() != Some(details));
        ResultDelta { content, details, replaces: !continues }
    }
}

/// See [`Event::ToolExecutionUpdate`].
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    partial_result: ResultDelta,
}

/// The new part of a result.
#[derive(Debug, PartialEq, Serialize)]
struct ResultDelta {
    /// Appended to the previous content, or replaces it.
    content: Vec<Block>,
    /// `None` if the details have not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// True if the content replaces the previous content.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaces: bool,
}

fn step_line(step: &AnswerStep) -> io::Result<Vec<u8>> {
    let event = match &step.event {
        StreamEvent::ToolCallEnd { content_index, tool_call } => {
            let ToolCall { id, name, .. } = &**tool_call;
            let named = ToolCall { id: id.clone(), name: name.clone(), ..ToolCall::default() };
            StreamEvent::ToolCallEnd { content_index: *content_index, tool_call: Box::new(named) }
        }
        other => other.clone(),
    };
    let mut value =
        serde_json::to_value(Event::MessageUpdate { message: None, step: AnswerStep { event, content: None } })?;
    // The arguments were in the deltas, and are repeated at the end of the message.
    if let Some(call) = value.pointer_mut("/assistantMessageEvent/toolCall").and_then(Value::as_object_mut) {
        call.remove("arguments");
    }
    Ok(serde_json::to_vec(&value)?)
}

/// Returns the identifying fields of a message.
fn named(message: &AgentMessage) -> io::Result<Value> {
    let mut value = serde_json::to_value(message)?;
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| SMALL.contains(&name.as_str()));
    }
    Ok(value)
}

fn all_named(messages: &[AgentMessage]) -> io::Result<Vec<Value>> {
    messages.iter().map(named).collect()
}

/// Returns the length of the longest prefix of `new` that is a suffix of `old`: this handles text that grew, and the
/// end of a text whose beginning was dropped. Runs in linear time.
fn overlap(old: &str, new: &str) -> usize {
    if new.starts_with(old) {
        return old.len();
    }
    if new.is_empty() || new.len() > LONGEST {
        return 0;
    }
    // The Knuth-Morris-Pratt algorithm: for each prefix of `new`, the longest proper suffix that is also a prefix.
    let (old, bytes) = (old.as_bytes(), new.as_bytes());
    let old = &old[old.len().saturating_sub(bytes.len())..];
    let mut ends = vec![0; bytes.len()];
    for at in 1..bytes.len() {
        ends[at] = longer(&ends, bytes, ends[at - 1], bytes[at]);
    }
    let mut shared = 0;
    for byte in old {
        if shared == bytes.len() {
            shared = ends[shared - 1];
        }
        shared = longer(&ends, bytes, shared, *byte);
    }
    shared
}

/// Returns the length of the longest prefix that is a suffix of the first `shared` bytes of the prefix plus `byte`.
fn longer(ends: &[usize], prefix: &[u8], mut shared: usize, byte: u8) -> usize {
    while shared > 0 && prefix[shared] != byte {
        shared = ends[shared - 1];
    }
    shared + usize::from(prefix.get(shared) == Some(&byte))
}

#[cfg(test)]
mod tests;
