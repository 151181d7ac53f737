//! Markers and keys in the chunks of an answer: an incomplete one is held until its end arrives.

use std::collections::{HashMap, HashSet};

use sinew_llm::event::StreamEvent;

use super::{MARK_LENGTH, MARK_START, Secrets, walk};

/// The pending text, by block.
#[derive(Default)]
pub(super) struct PendingText {
    blocks: HashMap<usize, StreamEvent>,
    /// Thinking blocks in which a key was hidden, so that they differ from what the provider signed.
    changed: HashSet<usize>,
}

impl PendingText {
    /// Returns the events that replace one of the provider's, with values restored.
    pub(super) fn pass(&mut self, secrets: &Secrets, event: StreamEvent) -> Vec<StreamEvent> {
        match event {
            StreamEvent::TextDelta { .. } | StreamEvent::ThinkingDelta { .. } | StreamEvent::ToolCallDelta { .. } => {
                self.delta(secrets, event).into_iter().collect()
            }
            StreamEvent::ToolCallEnd { content_index, mut tool_call } => {
                secrets.show_json(&mut tool_call.arguments);
                let end = StreamEvent::ToolCallEnd { content_index, tool_call };
                self.blocks.remove(&content_index).into_iter().chain([end]).collect()
            }
            StreamEvent::ThinkingEnd { content_index, signature, redacted } => {
                let signature = signature.filter(|_| !self.changed.contains(&content_index));
                let end = StreamEvent::ThinkingEnd { content_index, signature, redacted };
                self.blocks.remove(&content_index).into_iter().chain([end]).collect()
            }
            StreamEvent::Done { reason, mut message } => {
                walk::show_blocks(secrets, &mut message.content);
                vec![StreamEvent::Done { reason, message }]
            }
            StreamEvent::Error { reason, error, mut message } => {
                walk::show_blocks(secrets, &mut message.content);
                vec![StreamEvent::Error { reason, error, message }]
            }
            other => {
                let waiting = other.content_index().and_then(|index| self.blocks.remove(&index));
                waiting.into_iter().chain([other]).collect()
            }
        }
    }

    fn delta(&mut self, secrets: &Secrets, event: StreamEvent) -> Option<StreamEvent> {
        let index = event.content_index()?;
        let mut whole = match self.blocks.remove(&index) {
            Some(mut waiting) => match waiting.merge(event) {
                Ok(()) => waiting,
                // Blocks do not change their kind.
                Err(event) => event,
            },
            None => event,
        };
        let in_json = matches!(whole, StreamEvent::ToolCallDelta { .. });
        let is_thought = matches!(whole, StreamEvent::ThinkingDelta { .. });
        let text = text(&mut whole)?;
        // The replacement of a key does not contain the start of another.
        let hidden = if in_json { secrets.piece_without_keys(text) } else { secrets.without_keys(text) };
        if let Some(hidden) = hidden {
            *text = hidden;
            if is_thought {
                self.changed.insert(index);
            }
        }
        let end = text.len() - cut(text).max(secrets.key_begun(text, in_json));
        let rest = text.split_off(end);
        if let Some(shown) = secrets.shown(text) {
            // Text inside JSON has to be encoded as JSON.
            *text = if in_json { in_quotes(secrets, text) } else { shown };
        }
        let now = (!text.is_empty()).then(|| whole.clone());
        if !rest.is_empty()
            && let Some(text) = self::text(&mut whole)
        {
            *text = rest;
            self.blocks.insert(index, whole);
        }
        now
    }
}

fn text(event: &mut StreamEvent) -> Option<&mut String> {
    match event {
        StreamEvent::TextDelta { delta, .. }
        | StreamEvent::ThinkingDelta { delta, .. }
        | StreamEvent::ToolCallDelta { delta, .. } => Some(delta),
        _ => None,
    }
}

/// Returns the number of bytes at the end that may be the start of a marker.
fn cut(text: &str) -> usize {
    let from = text.len().saturating_sub(MARK_LENGTH - 1);
    let begins = text.match_indices('<').map(|(at, _)| at).filter(|at| *at >= from);
    begins.map(|at| &text[at..]).find(|end| may_begin(end)).map_or(0, str::len)
}

/// Returns true if a marker may begin with `text`, which is shorter than one.
fn may_begin(text: &str) -> bool {
    let (head, rest) = text.split_at_checked(MARK_START.len()).unwrap_or((text, ""));
    if !MARK_START.starts_with(head) {
        return false;
    }
    let (hex, behind) = rest.split_at_checked(6).unwrap_or((rest, ""));
    hex.bytes().all(|byte| byte.is_ascii_hexdigit()) && ">>".starts_with(behind)
}

/// Returns `text` with values restored, encoded as inside a JSON string.
fn in_quotes(secrets: &Secrets, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(MARK_START) {
        out.push_str(&rest[..at]);
        let length = rest.get(at..at + MARK_LENGTH).map_or(MARK_START.len(), str::len);
        let mark = &rest[at..at + length];
        match secrets.shown(mark) {
            Some(value) => {
                let quoted = serde_json::Value::from(value).to_string();
                out.push_str(&quoted[1..quoted.len() - 1]);
                rest = &rest[at + length..];
            }
            None => {
                out.push_str(MARK_START);
                rest = &rest[at + MARK_START.len()..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-\"own\\-0123456789";

    /// Returns the result for `text` sent in chunks of `size` characters, as deltas of this kind.
    fn passed(secrets: &Secrets, text: &str, size: usize, delta: impl Fn(String) -> StreamEvent) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let mut waiting = PendingText::default();
        let pieces = letters.chunks(size).map(|piece| delta(piece.iter().collect()));
        let end = StreamEvent::TextEnd { content_index: 0, signature: None };
        let events = pieces.chain([end]).flat_map(|event| waiting.pass(secrets, event));
        events.filter_map(|event| event.delta().map(str::to_string)).collect()
    }

    #[test]
    fn a_key_split_across_deltas_does_not_pass() {
        let secrets = Secrets::new(Box::new(|| [7; 32]), Vec::new());
        secrets.add_key(KEY);
        secrets.add("shown-to-people");
        let mark = secrets.hidden(KEY).unwrap();
        let other = secrets.hidden("shown-to-people").unwrap();
        let escaped = serde_json::to_string(KEY).unwrap();
        let escaped = &escaped[1..escaped.len() - 1];
        for size in 1..40 {
            for (key, text) in [(KEY, true), (escaped, false)] {
                let given = format!("a {key}{key} é {} {mark} {other} {}", &key[..6], &key[..4]);
                let expect = format!("a {mark}{mark} é {} {mark} shown-to-people {}", &key[..6], &key[..4]);
                let delta = |delta| match text {
                    true => StreamEvent::TextDelta { content_index: 0, delta },
                    false => StreamEvent::ToolCallDelta { content_index: 0, delta },
                };
                let pieces = passed(&secrets, &given, size, delta);
                assert_eq!(pieces.concat(), expect, "{size}");
                // No part of a key was sent before it was recognised.
                let mut out = String::new();
                for piece in pieces {
                    out.push_str(&piece);
                    assert!(!out.contains(&key[..7]), "{size}: {out}");
                }
            }
        }
    }

    #[test]
    fn a_thinking_block_with_a_key_loses_its_signature() {
        let secrets = Secrets::new(Box::new(|| [7; 32]), Vec::new());
        secrets.add_key(KEY);
        for (text, signed) in [(KEY, false), ("a thought", true)] {
            let mut waiting = PendingText::default();
            let delta = StreamEvent::ThinkingDelta { content_index: 0, delta: format!("hm {text}") };
            waiting.pass(&secrets, delta);
            let end = StreamEvent::ThinkingEnd { content_index: 0, signature: Some("s".into()), redacted: false };
            let passed = waiting.pass(&secrets, end);
            let Some(StreamEvent::ThinkingEnd { signature, .. }) = passed.last() else { panic!("{passed:?}") };
            assert_eq!(signature.is_some(), signed, "{text}");
        }
    }
}
