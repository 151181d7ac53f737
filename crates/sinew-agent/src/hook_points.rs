//! Extension points, at which extensions are asked; events, in contrast, only inform them.
//!
//! | point | data | fields of an answer |
//! |---|---|---|
//! | `session_start`, `session_shutdown` | – | – |
//! | `session_before_switch` | `reason`, `targetSessionFile?` | `cancel` |
//! | `session_switch` | `reason`, `previousSessionFile?` | – |
//! | `session_before_branch` | `entryId` | `cancel`, `skipConversationRestore` |
//! | `session_branch` | `previousSessionFile?` | – |
//! | `session_before_compact` | `reason`, `tokensBefore`, `firstKeptEntryId`, `customInstructions?` | `cancel`, `compaction: {summary, firstKeptEntryId?, details?}` |
//! | `session.compacting` | `reason` | `context[]`, `prompt`, `preserveData` |
//! | `session_compact` | `summary`, `firstKeptEntryId`, `tokensBefore`, `fromExtension` | – |
//! | `session_before_tree` | `targetId`, `oldLeafId` | `cancel`, `summary` |
//! | `session_tree` | `newLeafId`, `oldLeafId`, `summaryEntryId?` | – |
//! | `input` | `text` | `text`, `handled` |
//! | `before_agent_start` | `prompt`, `systemPrompt` | `message`, `systemPromptAppend` |
//! | `before_provider_request` | `payload`, without secret values | `payload` |
//! | `after_provider_response` | `status`, `headers` | – |
//! | `user_bash` | `command`, `excludeFromContext` | `result` |
//! | `mcp_server_start` | `server` | – |
//! | `mcp_elicitation` | `server`, `mode`, `message`, `requestedSchema?`, `url?` | `action`, `content` |
//! | `resources_discover` | – | `skills[]`, `prompts[]`, `rules[]` |
//!
//! The answers of several extensions are merged: the first `cancel`, `handled` or `action` ends the loop, `text` and
//! `payload` are passed on to the next extension, lists and messages are joined, and the last value of every other
//! field is used.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::event::Event;
use crate::extension::{Context, Extension, Point};
use crate::hook_call::ask;

/// The type of a field of an answer.
#[derive(Clone, Copy)]
enum Shape {
    Flag,
    Text,
    Texts,
    Object,
    Any,
}

const CANCEL: (&str, Shape) = ("cancel", Shape::Flag);

/// The points and the fields of their answers.
const POINTS: &[(&str, &[(&str, Shape)])] = &[
    ("session_start", &[]),
    ("session_before_switch", &[CANCEL]),
    ("session_switch", &[]),
    ("session_before_branch", &[CANCEL, ("skipConversationRestore", Shape::Flag)]),
    ("session_branch", &[]),
    ("session_before_compact", &[CANCEL, ("compaction", Shape::Object)]),
    ("session.compacting", &[("context", Shape::Texts), ("prompt", Shape::Text), ("preserveData", Shape::Any)]),
    ("session_compact", &[]),
    ("session_before_tree", &[CANCEL, ("summary", Shape::Text)]),
    ("session_tree", &[]),
    ("session_shutdown", &[]),
    ("input", &[("text", Shape::Text), ("handled", Shape::Flag)]),
    ("before_agent_start", &[("message", Shape::Object), ("systemPromptAppend", Shape::Text)]),
    ("before_provider_request", &[("payload", Shape::Object)]),
    ("after_provider_response", &[]),
    ("mcp_server_start", &[]),
    ("mcp_elicitation", &[("action", Shape::Text), ("content", Shape::Object)]),
    ("user_bash", &[("result", Shape::Object)]),
    ("resources_discover", &[("skills", Shape::Texts), ("prompts", Shape::Texts), ("rules", Shape::Texts)]),
];

/// Returns the field that a program sets by refusing (exit code 2); `None` if the point has no such field.
pub(crate) fn refusal(point: &str) -> Option<&'static str> {
    let (_, fields) = POINTS.iter().find(|(name, _)| *name == point)?;
    fields.iter().map(|(name, _)| *name).find(|name| matches!(*name, "cancel" | "handled"))
}

/// Returns whether this is the name of a point.
pub(crate) fn is_point(name: &str) -> bool {
    POINTS.iter().any(|(point, _)| *point == name)
}

/// Asks the extensions in load order. `take` receives each answer; it can change the point for the extensions that
/// follow, or end the loop. Returns the failures.
pub(crate) async fn asked(
    extensions: &[Arc<dyn Extension>],
    mut point: Point,
    context: &Context,
    mut take: impl FnMut(&mut Point, Map<String, Value>) -> ControlFlow<()>,
) -> Vec<Event> {
    let mut faults = Vec::new();
    for extension in extensions.iter().filter(|extension| extension.is_at(point.name)) {
        let answer = ask(&context.cancel, async { extension.on_point(&point, context).await }).await.flatten();
        match answer.and_then(|answer| answer.map(|answer| checked(point.name, answer)).transpose()) {
            Ok(None) => {}
            Ok(Some(answer)) => {
                if take(&mut point, answer).is_break() {
                    break;
                }
            }
            Err(error) => {
                let (extension_path, event) = (extension.name().into_owned(), point.name.to_string());
                faults.push(Event::ExtensionError { extension_path, event, error });
            }
        }
    }
    faults
}

/// Formats the failures of extensions as lines for the user.
pub(crate) fn fault_lines(faults: Vec<Event>) -> Vec<String> {
    let lines = faults.into_iter().filter_map(|fault| match fault {
        Event::ExtensionError { extension_path, event, error } => Some(format!("{extension_path}: {event}: {error}")),
        _ => None,
    });
    lines.collect()
}

/// Returns the answer if each of its fields is known and has the right type.
fn checked(point: &str, answer: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let fields = POINTS.iter().find(|(name, _)| *name == point).map_or(&[][..], |(_, fields)| fields);
    for (name, value) in &answer {
        let shape = fields.iter().find(|(field, _)| field == name).map(|(_, shape)| *shape);
        let is_text = Value::is_string;
        let fits = match shape {
            // A refusal may carry a reason, which is shown to the user.
            None if name == "reason" && refusal(point).is_some() => is_text(value),
            None => return Err(format!("its answer cannot be used: unknown field `{name}`")),
            Some(Shape::Flag) => value.is_boolean(),
            Some(Shape::Text) => is_text(value),
            Some(Shape::Texts) => value.as_array().is_some_and(|list| list.iter().all(is_text)),
            Some(Shape::Object) => value.is_object(),
            Some(Shape::Any) => true,
        };
        if !fits && !value.is_null() {
            return Err(format!("its answer cannot be used: `{name}` has the wrong type"));
        }
    }
    Ok(answer)
}

/// Returns whether a flag of an answer is set.
pub(crate) fn says(answer: &Map<String, Value>, flag: &str) -> bool {
    answer.get(flag).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns a text field of an answer.
pub(crate) fn text_of(answer: &Map<String, Value>, field: &str) -> Option<String> {
    answer.get(field).and_then(Value::as_str).map(str::to_string)
}

/// Returns the texts of a list field of an answer.
pub(crate) fn texts_of(answer: &Map<String, Value>, field: &str) -> Vec<String> {
    let list = answer.get(field).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_string)).collect()
}
