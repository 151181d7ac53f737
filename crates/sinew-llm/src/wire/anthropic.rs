//! Anthropic Messages.

mod answer;
mod thinking;

use super::json::Json;
use super::prepare::{
    Part, content_parts, fit_arguments, fit_id, fit_name, fit_schema, foreign_thought, is_own, parts, references,
    temperature, tool_choice,
};
use super::protocol::Protocol;
use crate::message::{Block, LlmMessage, ToolResultMessage};
use crate::provider::{Auth, CacheRetention, Request, ToolChoice, ToolDef, ToolLoading};
use thinking::Thinking;

pub(super) const PROTOCOL: Protocol = Protocol {
    api: "anthropic-messages",
    path,
    headers,
    body,
    parser: |_| Box::new(answer::Answer::default()),
    from_complete: answer::from_complete,
    refuses_thinking: thinking::is_refused,
};

/// The maximum length of an id that the server accepts.
const ID_LIMIT: usize = 64;

/// Base URLs of other protocols end in `/v1`, and so do some custom base URLs for this one.
fn path(request: &Request) -> String {
    let base = request.model.base_url.split('?').next().unwrap_or_default();
    if base.trim_end_matches('/').ends_with("/v1") { "/messages".into() } else { "/v1/messages".into() }
}

fn headers(request: &Request) -> Vec<(String, String)> {
    let mut headers = vec![("anthropic-version".to_string(), "2023-06-01".to_string())];
    let mut betas = Vec::new();
    match &request.auth {
        Auth::None => {}
        Auth::ApiKey(key) => headers.push(("x-api-key".into(), key.expose().into())),
        Auth::Bearer(token) => {
            headers.push(("Authorization".into(), format!("Bearer {}", token.expose())));
            betas.push("oauth-2025-04-20");
        }
    }
    if thinking::is_interleaved(request) {
        betas.push(thinking::INTERLEAVED);
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta".into(), betas.join(",")));
    }
    headers
}

fn body(request: &Request) -> Vec<u8> {
    let turns = turns(request);
    let (max_tokens, thinking) = thinking::limits(request);
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
            Thinking::Unset | Thinking::Disabled => {
                if let Some(temperature) = temperature(request) {
                    json.field("temperature", &temperature);
                }
                if thinking == Thinking::Disabled {
                    json.key("thinking").object(|json| json.field("type", "disabled"));
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
            let is_deferred = |tool: &ToolDef| tool.loading == ToolLoading::Deferred;
            let last = request.tools.iter().rposition(|tool| !is_deferred(tool));
            json.key("tools").array(|json| {
                for (index, tool) in request.tools.iter().enumerate() {
                    json.object(|json| {
                        json.field("name", &tool.name);
                        json.field("description", &tool.description);
                        json.field("input_schema", &*fit_schema(&tool.parameters));
                        if is_deferred(tool) {
                            json.field("defer_loading", &true);
                        }
                        put_mark(json, Some(index) == last);
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

/// A message as the server counts messages: the results of one batch are one message.
enum Turn<'a> {
    User(Vec<Part<'a>>),
    Assistant(Vec<&'a Block>, bool),
    Results(Vec<&'a ToolResultMessage>),
}

fn messages(request: &Request, turns: &[Turn<'_>], json: &mut Json, put_mark: &impl Fn(&mut Json, bool)) {
    let users = turns.iter().enumerate().filter(|(_, turn)| !matches!(turn, Turn::Assistant(..)));
    let marked: Vec<usize> = users.map(|(index, _)| index).rev().take(2).collect();
    // Requests that begin a conversation may share its first parts, such as those of several subagents.
    let is_first = marked.len() == 1;
    for (index, turn) in turns.iter().enumerate() {
        let marked = marked.contains(&index);
        json.object(|json| match turn {
            Turn::User(parts) => {
                json.field("role", "user");
                json.key("content").array(|json| {
                    for (at, part) in parts.iter().enumerate() {
                        json.object(|json| {
                            part_fields(json, part);
                            put_mark(json, marked && (at + 1 == parts.len() || is_first && at + 2 == parts.len()));
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
                    let mut behind = Vec::new();
                    for (at, result) in results.iter().enumerate() {
                        json.object(|json| {
                            json.field("type", "tool_result");
                            json.field("tool_use_id", &*fit_id(&result.tool_call_id, ID_LIMIT));
                            let mut parts = parts(request, &result.content);
                            let found = references(request, result);
                            if !found.is_empty() {
                                // The server accepts nothing else next to them.
                                behind.append(&mut parts);
                                json.key("content").array(|json| {
                                    found.iter().for_each(|tool| {
                                        json.object(|json| {
                                            json.field("type", "tool_reference");
                                            json.field("tool_name", &tool.name);
                                        });
                                    });
                                });
                                put_mark(json, marked && at + 1 == results.len());
                                return;
                            }
                            // The server rejects an error without content.
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
                    behind.iter().for_each(|part| json.object(|json| part_fields(json, part)));
                });
            }
        });
    }
}

fn turns(request: &Request) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(request.messages.len());
    for (message, kept) in request.conversation().zip(thinking::kept(request)) {
        match message {
            LlmMessage::User(user) => {
                turns.push(Turn::User(content_parts(request, &user.content)));
            }
            LlmMessage::Assistant(answer) => {
                let own = is_own(request, answer);
                let mut blocks: Vec<&Block> =
                    answer.content.iter().filter(|block| is_sent(request, block, own, kept)).collect();
                // The server rejects an answer that ends with thinking.
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
        // The text is a complete answer, not the beginning of one.
        turns.push(Turn::User(vec![Part::Text("(continue)")]));
    }
    turns
}

/// Returns true if a block of an answer is sent. The server rejects blank texts and thinking without a signature.
/// `kept` is true if the thinking of the message's turn is sent.
fn is_sent(request: &Request, block: &Block, own: bool, kept: bool) -> bool {
    match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::Thinking(thought) if own => {
            kept && thought.thinking_signature.as_ref().is_some_and(|signature| !signature.is_empty())
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
                json.field("input", &*fit_arguments(request, call));
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
