//! OpenAI Responses.

mod answer;
mod items;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::json::Json;
use super::openai_completions;
use super::prepare::{
    Part, content_parts, data_url, fit_arguments, fit_id, fit_name, fit_schema, foreign_thought, is_own, joined, parts,
    references, system, temperature, tool_choice,
};
use super::protocol::Protocol;
use crate::message::{AssistantMessage, Block, LlmMessage, ToolCall, ToolResultMessage};
use crate::model::ThinkingLevel;
use crate::provider::{CacheRetention, Request, ToolChoice, ToolDef, ToolLoading};

pub(super) const PROTOCOL: Protocol = Protocol {
    api: "openai-responses",
    path: |_| "/responses".to_string(),
    headers: openai_completions::bearer,
    body,
    parser: |request| Box::new(answer::Answer::new(request)),
    refuses_thinking: |_, _| false,
    from_complete: |answer| {
        answer.get("output")?.as_array()?;
        Some(vec![json!({"type": "response.done", "response": answer})])
    },
};

/// The maximum length of a call id.
const ID_LIMIT: usize = 64;

fn body(request: &Request) -> Vec<u8> {
    let level = request.model.clamp_level(request.thinking);
    let mut json = Json::default();
    json.object(|json| {
        json.field("model", &request.model.id);
        json.field("stream", &true);
        json.field("store", &false);
        if let Some(limit) = request.max_tokens {
            // The minimum that the server accepts.
            json.field("max_output_tokens", &limit.max(16));
        }
        if let Some(temperature) = temperature(request) {
            json.field("temperature", &temperature);
        }
        if request.model.reasoning {
            if let Some(effort) = request.model.effort(level) {
                json.key("reasoning").object(|json| {
                    json.field("effort", effort);
                    if level != ThinkingLevel::Off {
                        json.field("summary", "auto");
                    }
                });
            }
            json.field("include", &["reasoning.encrypted_content"]);
        }
        if let Some(session) = request.session_id.as_ref().filter(|_| request.cache != CacheRetention::None) {
            json.field("prompt_cache_key", session);
            if request.cache == CacheRetention::Long {
                json.field("prompt_cache_retention", "24h");
            }
        }
        tools(request, json);
        if let Some(system) = system(request) {
            json.field("instructions", &system);
        }
        json.key("input").array(|json| input(request, json));
    });
    json.into_bytes()
}

fn tools(request: &Request, json: &mut Json) {
    if request.tools.is_empty() {
        return;
    }
    json.key("tools").array(|json| {
        for tool in &request.tools {
            match tool.loading {
                ToolLoading::Always => json.object(|json| function(json, tool)),
                ToolLoading::Search => json.object(|json| {
                    json.field("type", "tool_search");
                    json.field("execution", "client");
                    json.field("description", &tool.description);
                    json.field("parameters", &*fit_schema(&tool.parameters));
                }),
                ToolLoading::Deferred => {}
            }
        }
    });
    match tool_choice(request) {
        ToolChoice::Auto => {}
        ToolChoice::None => json.field("tool_choice", "none"),
        ToolChoice::Required => json.field("tool_choice", "required"),
        ToolChoice::Tool(name) => json.key("tool_choice").object(|json| {
            json.field("type", "function");
            json.field("name", name);
        }),
    }
}

fn function(json: &mut Json, tool: &ToolDef) {
    json.field("type", "function");
    json.field("name", &tool.name);
    json.field("description", &tool.description);
    json.field("parameters", &*fit_schema(&tool.parameters));
    json.field("strict", &false);
}

/// Returns true if a call belongs to the search that the server supports natively.
fn searches(request: &Request, name: &str) -> bool {
    request.tools.iter().any(|tool| tool.loading == ToolLoading::Search && tool.name == name)
}

/// Writes the tools that a search found, followed by its other output.
fn found(request: &Request, json: &mut Json, result: &ToolResultMessage, call_id: &str) {
    json.object(|json| {
        json.field("type", "tool_search_output");
        json.field("call_id", call_id);
        json.field("execution", "client");
        json.field("status", "completed");
        json.key("tools").array(|json| {
            for tool in references(request, result) {
                json.object(|json| {
                    function(json, tool);
                    json.field("defer_loading", &true);
                });
            }
        });
    });
    let parts = parts(request, &result.content);
    if !parts.is_empty() {
        json.object(|json| {
            json.field("role", "user");
            json.key("content").array(|json| content(json, &parts));
        });
    }
}

fn input(request: &Request, json: &mut Json) {
    let mut ids = CallIds::default();
    for message in request.conversation() {
        match message {
            LlmMessage::User(user) => {
                let parts = content_parts(request, &user.content);
                json.object(|json| {
                    json.field("role", "user");
                    json.key("content").array(|json| content(json, &parts));
                });
            }
            LlmMessage::Assistant(answer) => assistant(request, json, answer, &mut ids),
            LlmMessage::ToolResult(result) if searches(request, &result.tool_name) => {
                found(request, json, result, ids.of(&result.tool_call_id));
            }
            LlmMessage::ToolResult(result) => {
                let parts = parts(request, &result.content);
                json.object(|json| {
                    json.field("type", "function_call_output");
                    json.field("call_id", ids.of(&result.tool_call_id));
                    if parts.iter().any(|part| matches!(part, Part::Image(_))) {
                        json.key("output").array(|json| content(json, &parts));
                    } else {
                        let text = joined(&parts);
                        json.field("output", if text.is_empty() { "(no text)" } else { &text });
                    }
                });
            }
        }
    }
}

fn content(json: &mut Json, parts: &[Part<'_>]) {
    for part in parts {
        match part {
            Part::Text(text) => text_part(json, "input_text", text),
            Part::Image(image) => json.object(|json| {
                json.field("type", "input_image");
                json.field("detail", "auto");
                json.field("image_url", &data_url(image));
            }),
        }
    }
}

fn text_part(json: &mut Json, kind: &str, text: &str) {
    json.object(|json| {
        json.field("type", kind);
        json.field("text", text);
    });
}

fn assistant<'a>(request: &Request, json: &mut Json, answer: &'a AssistantMessage, ids: &mut CallIds<'a>) {
    let own = is_own(request, answer);
    let thoughts = answer.content.iter().filter(|block| matches!(block, Block::Thinking(_)));
    // A call refers to its item only together with its thinking, because the server needs both.
    let named = own && thoughts.clone().count() == thoughts.filter_map(sealed).count();
    // The server rejects thinking without a following item.
    let spoken = answer.content.iter().rposition(|block| match block {
        Block::Text(text) => !text.text.is_empty(),
        block => matches!(block, Block::ToolCall(_)),
    });
    let content = spoken.map_or(&[][..], |last| &answer.content[..=last]);
    for block in content {
        match block {
            Block::Thinking(_) if own => {
                if let Some(item) = sealed(block) {
                    json.value(&item);
                }
            }
            Block::Thinking(thought) => {
                if let Some(text) = foreign_thought(request, thought) {
                    said(json, text);
                }
            }
            Block::Text(text) if !text.text.is_empty() => said(json, &text.text),
            Block::ToolCall(call) => called(request, json, call, named, ids),
            _ => {}
        }
    }
}

/// Returns the item of a thinking block, if it has content. The server stores no items, and rejects one that only has
/// an id.
fn sealed(block: &Block) -> Option<Value> {
    let Block::Thinking(thought) = block else { return None };
    let item: Value = serde_json::from_str(thought.thinking_signature.as_deref()?).ok()?;
    let has = |key: &str| match item.get(key) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        _ => false,
    };
    (has("encrypted_content") || has("content")).then_some(item)
}

fn said(json: &mut Json, text: &str) {
    json.object(|json| {
        json.field("type", "message");
        json.field("role", "assistant");
        json.key("content").array(|json| {
            json.object(|json| {
                json.field("type", "output_text");
                json.field("text", text);
                json.key("annotations").array(|_| {});
            });
        });
        json.field("status", "completed");
    });
}

fn called<'a>(request: &Request, json: &mut Json, call: &'a ToolCall, named: bool, ids: &mut CallIds<'a>) {
    if searches(request, &call.name) {
        json.object(|json| {
            json.field("type", "tool_search_call");
            json.field("call_id", ids.of(&call.id));
            json.field("execution", "client");
            json.field("status", "completed");
            json.field("arguments", &call.arguments);
        });
        return;
    }
    json.object(|json| {
        json.field("type", "function_call");
        // The item's id links a call to its thinking; another model's server would reject it.
        if let Some((_, item)) = call.id.split_once('|').filter(|(_, item)| named && item.starts_with("fc")) {
            json.field("id", item);
        }
        json.field("call_id", ids.of(&call.id));
        json.field("name", &*fit_name(request, &call.name));
        json.field("arguments", &fit_arguments(request, call).to_string());
    });
}

/// The ids of a conversation's calls, in the form that the server receives.
#[derive(Default)]
struct CallIds<'a> {
    known: HashMap<&'a str, String>,
    taken: HashSet<String>,
}

impl<'a> CallIds<'a> {
    /// Returns the server's part of `<call_id>|<item_id>`. A server may use an id twice, or none at all: then the
    /// complete id distinguishes them.
    fn of(&mut self, id: &'a str) -> &str {
        let CallIds { known, taken } = self;
        known.entry(id).or_insert_with(|| {
            let call = id.split_once('|').map_or(id, |(call, _)| call);
            let mut fit = fit_id(call, ID_LIMIT).into_owned();
            if call.is_empty() || taken.contains(&fit) {
                fit = fit_id(id, ID_LIMIT).into_owned();
            }
            taken.insert(fit.clone());
            fit
        })
    }
}
