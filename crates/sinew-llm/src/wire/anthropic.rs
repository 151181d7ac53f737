//! Anthropic Messages.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::json::Json;
use super::prepare::{
    Part, content_parts, fit_id, fit_name, fit_schema, foreign_thought, is_own, parts, temperature, tool_choice,
};
use super::{Flow, Fold, Protocol};
use crate::assembly::{Assembly, Kind};
use crate::error::classify::{self, Place};
use crate::error::{ErrorInfo, ErrorKind};
use crate::message::{Block, LlmMessage, StopReason, ToolResultMessage};
use crate::model::{ThinkingLevel, ThinkingMode};
use crate::provider::{Auth, CacheRetention, Request, ToolChoice};

pub(super) const PROTOCOL: Protocol =
    Protocol { api: "anthropic-messages", path, headers, body, fold: |_| Box::new(Answer::default()), whole };

/// The default of `max_tokens` at most.
const MAX_TOKENS: u64 = 32_000;

/// What is left for the answer beside the thoughts.
const ANSWER_TOKENS: u64 = 4096;

/// The smallest budget that the server takes.
const SMALLEST_BUDGET: u64 = 1024;

/// The longest id that the server takes.
const ID_LIMIT: usize = 64;

/// Addresses of other protocols end in `/v1`, and so do some that users write for this one.
fn path(request: &Request) -> String {
    let base = request.model.base_url.split('?').next().unwrap_or_default();
    if base.trim_end_matches('/').ends_with("/v1") { "/messages".into() } else { "/v1/messages".into() }
}

fn headers(request: &Request) -> Vec<(String, String)> {
    let mut headers = vec![("anthropic-version".to_string(), "2023-06-01".to_string())];
    match &request.auth {
        Auth::None => {}
        Auth::ApiKey(key) => headers.push(("x-api-key".into(), key.expose().into())),
        Auth::Bearer(token) => {
            headers.push(("Authorization".into(), format!("Bearer {}", token.expose())));
            headers.push(("anthropic-beta".into(), "oauth-2025-04-20".into()));
        }
    }
    headers
}

fn body(request: &Request) -> Vec<u8> {
    let turns = turns(request);
    let (max_tokens, thinking) = limits(request, &turns);
    let mark = match request.cache {
        CacheRetention::None => None,
        CacheRetention::Short => Some(r#"{"type":"ephemeral"}"#),
        CacheRetention::Long => Some(r#"{"type":"ephemeral","ttl":"1h"}"#),
    };
    let mark = mark.map(|mark| serde_json::value::RawValue::from_string(mark.to_string()).expect("the mark is JSON"));
    let put_mark = |json: &mut Json, here: bool| {
        if let Some(mark) = mark.as_ref().filter(|_| here) {
            json.field("cache_control", mark);
        }
    };
    let mut json = Json::default();
    json.object(|json| {
        json.field("model", &request.model.id);
        json.field("max_tokens", &max_tokens);
        json.field("stream", &true);
        match &thinking {
            Thinking::Off => {
                if let Some(temperature) = temperature(request) {
                    json.field("temperature", &temperature);
                }
            }
            Thinking::Budget(tokens) => json.key("thinking").object(|json| {
                json.field("type", "enabled");
                json.field("budget_tokens", tokens);
            }),
            Thinking::Effort(word) => {
                json.key("thinking").object(|json| json.field("type", "adaptive"));
                json.key("output_config").object(|json| json.field("effort", word));
            }
        }
        if !request.tools.is_empty() {
            json.key("tools").array(|json| {
                for (index, tool) in request.tools.iter().enumerate() {
                    json.object(|json| {
                        json.field("name", &tool.name);
                        json.field("description", &tool.description);
                        json.field("input_schema", &*fit_schema(&tool.parameters));
                        put_mark(json, index + 1 == request.tools.len());
                    });
                }
            });
            match tool_choice(request) {
                ToolChoice::Auto => {}
                ToolChoice::None => json.key("tool_choice").object(|json| json.field("type", "none")),
                ToolChoice::Required => json.key("tool_choice").object(|json| json.field("type", "any")),
                ToolChoice::Tool(name) => json.key("tool_choice").object(|json| {
                    json.field("type", "tool");
                    json.field("name", name);
                }),
            }
        }
        let system: Vec<&str> =
            request.system.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty()).collect();
        if !system.is_empty() {
            json.key("system").array(|json| {
                for (index, text) in system.iter().enumerate() {
                    json.object(|json| {
                        text_fields(json, text);
                        put_mark(json, index + 1 == system.len());
                    });
                }
            });
        }
        json.key("messages").array(|json| messages(request, &turns, json, &put_mark));
    });
    json.into_bytes()
}

/// A message as the server counts them: results of one batch are one.
enum Turn<'a> {
    User(Vec<Part<'a>>),
    Assistant(Vec<&'a Block>, bool),
    Results(Vec<&'a ToolResultMessage>),
}

fn messages(request: &Request, turns: &[Turn<'_>], json: &mut Json, put_mark: &impl Fn(&mut Json, bool)) {
    let users = turns.iter().enumerate().filter(|(_, turn)| !matches!(turn, Turn::Assistant(..)));
    let marked: Vec<usize> = users.map(|(index, _)| index).rev().take(2).collect();
    for (index, turn) in turns.iter().enumerate() {
        let marked = marked.contains(&index);
        json.object(|json| match turn {
            Turn::User(parts) => {
                json.field("role", "user");
                json.key("content").array(|json| {
                    for (at, part) in parts.iter().enumerate() {
                        json.object(|json| {
                            part_fields(json, part);
                            put_mark(json, marked && at + 1 == parts.len());
                        });
                    }
                });
            }
            Turn::Assistant(blocks, own) => {
                json.field("role", "assistant");
                json.key("content")
                    .array(|json| blocks.iter().for_each(|block| assistant_block(request, json, block, *own)));
            }
            Turn::Results(results) => {
                json.field("role", "user");
                json.key("content").array(|json| {
                    for (at, result) in results.iter().enumerate() {
                        json.object(|json| {
                            json.field("type", "tool_result");
                            json.field("tool_use_id", &*fit_id(&result.tool_call_id, ID_LIMIT));
                            let mut parts = parts(request, &result.content);
                            // The server refuses an error that says nothing.
                            if parts.is_empty() && result.is_error {
                                parts.push(Part::Text("(no text)"));
                            }
                            json.key("content").array(|json| {
                                parts.iter().for_each(|part| json.object(|json| part_fields(json, part)));
                            });
                            if result.is_error {
                                json.field("is_error", &true);
                            }
                            put_mark(json, marked && at + 1 == results.len());
                        });
                    }
                });
            }
        });
    }
}

fn turns(request: &Request) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(request.messages.len());
    for message in request.said() {
        match message {
            LlmMessage::User(user) => {
                turns.push(Turn::User(content_parts(request, &user.content)));
            }
            LlmMessage::Assistant(answer) => {
                let own = is_own(request, answer);
                let mut blocks: Vec<&Block> =
                    answer.content.iter().filter(|block| is_sent(request, block, own)).collect();
                // The server refuses an answer that ends with a thought.
                let spoken = blocks.iter().rposition(|block| !own || !matches!(block, Block::Thinking(_)));
                blocks.truncate(spoken.map_or(0, |last| last + 1));
                if !blocks.is_empty() {
                    turns.push(Turn::Assistant(blocks, own));
                }
            }
            LlmMessage::ToolResult(result) => match turns.last_mut() {
                Some(Turn::Results(results)) => results.push(result),
                _ => turns.push(Turn::Results(vec![result])),
            },
        }
    }
    if matches!(turns.last(), Some(Turn::Assistant(..)))
        && request.model.compat.supports_assistant_prefill == Some(false)
    {
        // What was said is an answer, and no begin of one.
        turns.push(Turn::User(vec![Part::Text("(continue)")]));
    }
    turns
}

/// Whether a block of an answer is sent. The server refuses blank texts and thoughts without a signature.
fn is_sent(request: &Request, block: &Block, own: bool) -> bool {
    match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::Thinking(thought) if own => {
            thought.thinking_signature.as_ref().is_some_and(|signature| !signature.is_empty())
        }
        Block::Thinking(thought) => foreign_thought(request, thought).is_some_and(|text| !text.trim().is_empty()),
        Block::ToolCall(_) => true,
        Block::Image(_) | Block::Other(_) => false,
    }
}

fn assistant_block(request: &Request, json: &mut Json, block: &Block, own: bool) {
    json.object(|json| match block {
        Block::Thinking(thought) if own => {
            let signature = thought.thinking_signature.as_deref().unwrap_or_default();
            if thought.redacted {
                json.field("type", "redacted_thinking");
                json.field("data", signature);
            } else {
                json.field("type", "thinking");
                json.field("thinking", &thought.thinking);
                json.field("signature", signature);
            }
        }
        Block::Thinking(thought) => text_fields(json, foreign_thought(request, thought).unwrap_or_default()),
        Block::Text(text) => text_fields(json, &text.text),
        Block::ToolCall(call) => {
            json.field("type", "tool_use");
            json.field("id", &*fit_id(&call.id, ID_LIMIT));
            json.field("name", &*fit_name(request, &call.name));
            if call.arguments.is_object() {
                json.field("input", &call.arguments);
            } else {
                json.key("input").object(|_| {});
            }
        }
        Block::Image(_) | Block::Other(_) => {}
    });
}

fn text_fields(json: &mut Json, text: &str) {
    json.field("type", "text");
    json.field("text", text);
}

fn part_fields(json: &mut Json, part: &Part<'_>) {
    match part {
        Part::Text(text) => text_fields(json, text),
        Part::Image(image) => {
            json.field("type", "image");
            json.key("source").object(|json| {
                json.field("type", "base64");
                json.field("media_type", &image.mime_type);
                json.field("data", &image.data);
            });
        }
    }
}

enum Thinking {
    Off,
    Budget(u64),
    Effort(&'static str),
}

/// Whether the last answer called tools without a thought in front: made with thinking off, by another model, or
/// by a server that does not sign. The server refuses to think on from there; behind the next answer it does not.
fn is_thoughtless(turns: &[Turn<'_>]) -> bool {
    let last = turns.iter().rev().find_map(|turn| match turn {
        Turn::Assistant(blocks, own) => Some((blocks, *own)),
        _ => None,
    });
    last.is_some_and(|(blocks, own)| {
        let thought = own && matches!(blocks.first(), Some(Block::Thinking(_)));
        !thought && blocks.iter().any(|block| matches!(block, Block::ToolCall(_)))
    })
}

/// `max_tokens` and how to think within it.
fn limits(request: &Request, turns: &[Turn<'_>]) -> (u64, Thinking) {
    let model = &request.model;
    let max_tokens = request.max_tokens.unwrap_or_else(|| model.max_tokens.min(MAX_TOKENS)).max(1);
    let level = model.clamp_level(request.thinking);
    // The server refuses to think when a tool is forced.
    let forced = matches!(tool_choice(request), ToolChoice::Required | ToolChoice::Tool(_));
    if level == ThinkingLevel::Off && model.compat.always_thinks == Some(true) {
        // As little as it can.
        return (max_tokens, Thinking::Effort("low"));
    }
    if level == ThinkingLevel::Off || forced {
        return (max_tokens, Thinking::Off);
    }
    if model.thinking_mode == ThinkingMode::Adaptive {
        let word = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::XHigh => "max",
        };
        return (max_tokens, Thinking::Effort(word));
    }
    if is_thoughtless(turns) {
        return (max_tokens, Thinking::Off);
    }
    let own = request.thinking_budgets.iter().find(|(known, _)| *known == level).map(|(_, budget)| *budget);
    let budget = own.unwrap_or(match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 4096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::XHigh => 32_768,
    });
    let ceiling = model.max_tokens.max(max_tokens);
    let max_tokens = max_tokens.max(budget.saturating_add(ANSWER_TOKENS).min(ceiling));
    let room = match max_tokens.saturating_sub(ANSWER_TOKENS) {
        room if room >= SMALLEST_BUDGET => room,
        _ => max_tokens - 1,
    };
    match budget.min(room) {
        budget if budget >= SMALLEST_BUDGET => (max_tokens, Thinking::Budget(budget)),
        _ => (max_tokens, Thinking::Off),
    }
}

/// The events of a message that came in one piece.
fn whole(mut message: Value) -> Option<Vec<Value>> {
    let blocks = match message.get_mut("content")?.take() {
        Value::Array(blocks) => blocks,
        _ => return None,
    };
    let (delta, usage) = (json!({"stop_reason": message.get("stop_reason")}), message.get("usage").cloned());
    let mut events = Vec::with_capacity(2 * blocks.len() + 2);
    for (index, block) in blocks.into_iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    Some(events)
}

/// What is known of an answer: the server's block numbers as ours, and the reason that it named.
#[derive(Default)]
struct Answer {
    blocks: HashMap<u64, Open>,
    stop: Option<StopReason>,
    ended: bool,
}

struct Open {
    index: usize,
    /// Arguments that came whole with the start of a call.
    whole: Option<Value>,
}

/// An event that adds to a block.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
}

impl Fold for Answer {
    fn event(&mut self, data: &Value, place: &Place<'_>, assembly: &mut Assembly) -> Result<Flow, ErrorInfo> {
        let number = data.get("index").and_then(Value::as_u64).unwrap_or(0);
        match data.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => usage(data.pointer("/message/usage"), assembly),
            "content_block_start" => {
                if let Some(block) = data.get("content_block") {
                    self.start(number, block, assembly);
                }
            }
            "content_block_delta" => {
                if let (Some(open), Some(delta)) = (self.blocks.get(&number), data.get("delta")) {
                    let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
                    match text("type") {
                        "text_delta" => assembly.delta(open.index, text("text")),
                        "thinking_delta" => assembly.delta(open.index, text("thinking")),
                        "input_json_delta" => assembly.delta(open.index, text("partial_json")),
                        "signature_delta" => assembly.sign(open.index, text("signature")),
                        _ => {}
                    }
                }
            }
            "content_block_stop" => {
                if let Some(open) = self.blocks.remove(&number) {
                    if let Some(whole) = open.whole
                        && assembly.text(open.index).is_empty()
                    {
                        assembly.delta(open.index, &whole.to_string());
                    }
                    assembly.end(open.index);
                }
            }
            "message_delta" => {
                usage(data.get("usage"), assembly);
                match data.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    None => {}
                    Some("refusal") => {
                        let said = data.pointer("/delta/stop_details/explanation").and_then(Value::as_str);
                        let text = said.unwrap_or("the model refused to answer");
                        return Err(classify::own(place, ErrorKind::Refusal, text));
                    }
                    Some("max_tokens" | "model_context_window_exceeded") => self.stop = Some(StopReason::Length),
                    Some("tool_use") => self.stop = Some(StopReason::ToolUse),
                    Some(_) => self.stop = Some(StopReason::Stop),
                }
            }
            "message_stop" => {
                self.ended = true;
                return Ok(Flow::Done(self.stop.unwrap_or_default()));
            }
            "error" => return Err(classify::from_stream(place, data)),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn quick(&mut self, data: &str, assembly: &mut Assembly) -> bool {
        let Ok(Piece { kind, index, delta }) = serde_json::from_str::<Piece<'_>>(data) else {
            return false;
        };
        let (Some(open), "content_block_delta") = (self.blocks.get(&index), &*kind) else {
            return false;
        };
        let text = match &*delta.kind {
            "text_delta" => delta.text,
            "thinking_delta" => delta.thinking,
            "input_json_delta" => delta.partial_json,
            _ => return false,
        };
        assembly.delta(open.index, &text.unwrap_or_default());
        true
    }

    fn end(&mut self) -> Option<StopReason> {
        self.ended.then(|| self.stop.unwrap_or_default())
    }
}

impl Answer {
    fn start(&mut self, number: u64, block: &Value, assembly: &mut Assembly) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut whole = None;
        let index = match text("type") {
            "text" => {
                let index = assembly.begin(Kind::Text);
                assembly.delta(index, text("text"));
                index
            }
            "thinking" => {
                let index = assembly.begin(Kind::Thinking);
                assembly.delta(index, text("thinking"));
                assembly.sign(index, text("signature"));
                index
            }
            "redacted_thinking" => {
                let index = assembly.begin(Kind::Thinking);
                assembly.redact(index);
                assembly.sign(index, text("data"));
                index
            }
            "tool_use" => {
                let input = block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
                whole = input.cloned().map(Value::Object);
                assembly.begin_call(text("id"), text("name"))
            }
            // Blocks of tools that the server runs itself.
            _ => return,
        };
        self.blocks.insert(number, Open { index, whole });
    }
}

/// Numbers of the server replace what was known: it sends sums.
fn usage(usage: Option<&Value>, assembly: &mut Assembly) {
    let number = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64);
    let known = &mut assembly.usage;
    known.input = number("input_tokens").unwrap_or(known.input);
    known.output = number("output_tokens").unwrap_or(known.output);
    known.cache_read = number("cache_read_input_tokens").unwrap_or(known.cache_read);
    known.cache_write = number("cache_creation_input_tokens").unwrap_or(known.cache_write);
}
