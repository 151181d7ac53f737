//! Visits the texts of messages and of JSON.

use std::sync::Arc;

use serde_json::{Map, Value};
use sinew_llm::message::{Block, Content, LlmMessage, ThinkingBlock};

use super::Secrets;

/// Calls `change` for every text of a value, including the names of its fields.
pub(super) fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| each_text(value, change)),
        Value::Object(fields) => {
            rename(fields, change);
            fields.values_mut().for_each(|value| each_text(value, change));
        }
        _ => {}
    }
}

/// Changes the names of fields, keeping their order.
fn rename(fields: &mut Map<String, Value>, change: &mut impl FnMut(&mut String)) {
    let changed = |name: &String, change: &mut dyn FnMut(&mut String)| {
        let mut new = name.clone();
        change(&mut new);
        (new != *name).then_some(new)
    };
    if fields.keys().any(|name| changed(name, change).is_some()) {
        let old = std::mem::take(fields);
        fields.extend(old.into_iter().map(|(name, value)| (changed(&name, change).unwrap_or(name), value)));
    }
}

/// Fields of an entry or a message whose inner names are arbitrary and may be secrets too.
const FREE: [&str; 4] = ["arguments", "args", "details", "data"];

/// Fields that a provider needs unchanged.
const SIGNATURES: [&str; 2] = ["signature", "thoughtSignature"];

/// Hides values in a thinking block. A signed block is never sent in a changed form: it loses its signature, and the
/// thinking of its turn is dropped.
fn hide_thought(secrets: &Secrets, thought: &mut ThinkingBlock) {
    let sealed = thought.is_sealed();
    let hidden = secrets.hidden(&thought.thinking);
    if sealed && (hidden.is_some() || signature_has_value(secrets, thought)) {
        thought.thinking_signature = Some(String::new());
    }
    if let Some(hidden) = hidden {
        thought.thinking = hidden;
    }
}

/// Returns true if a signature contains a value. Some signatures are JSON that contains the text of the thinking.
fn signature_has_value(secrets: &Secrets, thought: &ThinkingBlock) -> bool {
    let signature = thought.thinking_signature.as_deref().unwrap_or_default();
    signature.starts_with(['{', '[']) && secrets.hidden(signature).is_some()
}

/// Does the same as [`hide_thought`]. Returns false if these are not the fields of a signed thinking block.
fn hide_sealed(secrets: &Secrets, fields: &mut Map<String, Value>) -> bool {
    if fields.get("type").and_then(Value::as_str) != Some("thinking") {
        return false;
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_string);
    let redacted = fields.get("redacted").and_then(Value::as_bool).unwrap_or_default();
    let thinking = text("thinking").unwrap_or_default();
    let mut thought = ThinkingBlock { thinking, thinking_signature: text("thinkingSignature"), redacted };
    if !thought.is_sealed() {
        return false;
    }
    hide_thought(secrets, &mut thought);
    fields.insert("thinking".into(), thought.thinking.into());
    if let Some(signature) = thought.thinking_signature {
        fields.insert("thinkingSignature".into(), signature.into());
    }
    true
}

/// Hides values in a structure with fixed field names: only names below the [`FREE`] fields may be secrets.
pub(super) fn hide_json(secrets: &Secrets, value: &mut Value) {
    hide(secrets, value, false);
}

/// Hides values in a structure with arbitrary field names.
pub(super) fn hide_free_json(secrets: &Secrets, value: &mut Value) {
    hide(secrets, value, true);
}

fn hide(secrets: &Secrets, value: &mut Value, free: bool) {
    match value {
        Value::Array(list) => {
            let mut rest = &mut list[..];
            while !rest.is_empty() {
                let texts = rest.iter().take_while(|value| is_text_block(value)).count();
                let (now, later) = rest.split_at_mut(texts.max(1));
                if texts > 1 {
                    let mut texts: Vec<&mut String> = now.iter_mut().filter_map(text_of_block).collect();
                    secrets.hide_joined(&mut texts);
                }
                now.iter_mut().for_each(|value| hide(secrets, value, free));
                rest = later;
            }
        }
        Value::Object(fields) => {
            if free {
                rename(fields, &mut |name| secrets.hide_joined(&mut [name]));
            } else if hide_sealed(secrets, fields) {
                return;
            }
            for (name, value) in fields {
                // The provider's own bytes: a pattern that matches them does not match a secret of the user.
                if free || !SIGNATURES.contains(&name.as_str()) {
                    hide(secrets, value, free || FREE.contains(&name.as_str()));
                }
            }
        }
        Value::String(text) => secrets.hide_joined(&mut [text]),
        _ => {}
    }
}

/// Returns true if a message contains a value, including one that spans two texts.
pub(super) fn has_value(secrets: &Secrets, message: &LlmMessage) -> bool {
    let blocks = match message {
        LlmMessage::User(user) => match &user.content {
            Content::Text(text) => return secrets.finds(text),
            Content::Blocks(blocks) => blocks,
        },
        LlmMessage::Assistant(answer) => &answer.content,
        LlmMessage::ToolResult(result) => &result.content,
    };
    let mut texts: Vec<&str> = Vec::new();
    for block in blocks {
        let found = match block {
            Block::Text(text) => {
                texts.push(&text.text);
                continue;
            }
            Block::Thinking(thinking) => secrets.finds(&thinking.thinking) || signature_has_value(secrets, thinking),
            Block::ToolCall(call) => {
                let texts = [&call.partial_json, &call.invalid_arguments];
                json_has_value(secrets, &call.arguments) || texts.into_iter().flatten().any(|text| secrets.finds(text))
            }
            Block::Other(value) => json_has_value(secrets, value),
            Block::Image(_) => false,
        };
        if found || joined_has_value(secrets, &std::mem::take(&mut texts)) {
            return true;
        }
    }
    joined_has_value(secrets, &texts)
}

fn joined_has_value(secrets: &Secrets, texts: &[&str]) -> bool {
    match texts {
        [] => false,
        [text] => secrets.finds(text),
        more => secrets.finds(&more.concat()),
    }
}

fn json_has_value(secrets: &Secrets, value: &Value) -> bool {
    match value {
        Value::String(text) => secrets.finds(text),
        // Texts of blocks may be joined; hiding a copy shows whether they contain a value together.
        Value::Array(_) => {
            let mut copy = value.clone();
            hide_free_json(secrets, &mut copy);
            copy != *value
        }
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| secrets.finds(name) || json_has_value(secrets, value))
        }
        _ => false,
    }
}

fn is_text_block(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("text") && value.get("text").is_some_and(Value::is_string)
}

fn text_of_block(value: &mut Value) -> Option<&mut String> {
    match value.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Hides values in a message on its way to a provider.
pub(super) fn hide_message(secrets: &Secrets, message: &mut LlmMessage) {
    match message {
        LlmMessage::User(user) => match &mut Arc::make_mut(user).content {
            Content::Text(text) => secrets.hide_joined(&mut [text]),
            Content::Blocks(blocks) => hide_blocks(secrets, blocks),
        },
        LlmMessage::Assistant(answer) => hide_blocks(secrets, &mut Arc::make_mut(answer).content),
        LlmMessage::ToolResult(result) => hide_blocks(secrets, &mut Arc::make_mut(result).content),
    }
}

fn hide_blocks(secrets: &Secrets, blocks: &mut Vec<Block>) {
    let is_empty = |block: &Block| matches!(block, Block::Text(text) if text.text.is_empty());
    let empty = blocks.iter().filter(|block| is_empty(block)).count();
    let mut texts: Vec<&mut String> = Vec::new();
    for block in blocks.iter_mut() {
        match block {
            Block::Text(text) => {
                texts.push(&mut text.text);
                continue;
            }
            Block::Thinking(thought) => hide_thought(secrets, thought),
            Block::ToolCall(call) => {
                hide_free_json(secrets, &mut call.arguments);
                for text in [&mut call.partial_json, &mut call.invalid_arguments].into_iter().flatten() {
                    secrets.hide_joined(&mut [text]);
                }
            }
            Block::Other(value) => hide_json(secrets, value),
            Block::Image(_) => {}
        }
        secrets.hide_joined(&mut std::mem::take(&mut texts));
    }
    secrets.hide_joined(&mut texts);
    // Servers reject empty texts, which remain if a text only contained the end of a value.
    if blocks.iter().filter(|block| is_empty(block)).count() > empty {
        blocks.retain(|block| !is_empty(block));
    }
}

/// Restores values in the answer of a model, except keys of providers. A signed thinking block is kept unchanged, or
/// loses its signature if a key in it is hidden.
pub(super) fn show_blocks(secrets: &Secrets, blocks: &mut [Block]) {
    let show = |text: &mut String| {
        if let Some(hidden) = secrets.without_keys(text) {
            *text = hidden;
        }
        if let Some(shown) = secrets.shown(text) {
            *text = shown;
        }
    };
    for block in blocks {
        match block {
            Block::Text(text) => show(&mut text.text),
            Block::Thinking(thought) if thought.is_sealed() => {
                let hidden = secrets.without_keys(&thought.thinking);
                if hidden.is_some() || thought.thinking_signature.as_ref().is_some_and(|text| secrets.has_key(text)) {
                    // It differs from what the provider has signed.
                    if let Some(hidden) = hidden {
                        thought.thinking = hidden;
                    }
                    thought.thinking_signature = Some(String::new());
                }
            }
            Block::Thinking(thought) => show(&mut thought.thinking),
            Block::ToolCall(call) => {
                secrets.show_json(&mut call.arguments);
                if let Some(text) = &mut call.partial_json {
                    show(text);
                }
            }
            Block::Other(_) | Block::Image(_) => {}
        }
    }
}
