//! OpenAI Chat Completions, and the many mostly compatible servers.

mod answer;
mod compat;

use serde_json::Value;

use super::json::Json;
use super::prepare::{
    Part, content_parts, data_url, fit_arguments, fit_id, fit_name, fit_schema, foreign_thought, images, is_own,
    joined, parts, system, temperature, tool_choice,
};
use super::protocol::Protocol;
use crate::message::{AssistantMessage, Block, ImageBlock, LlmMessage};
use crate::model::{MaxTokensField, ThinkingFormat, ThinkingLevel};
use crate::provider::{Auth, CacheRetention, Request, ToolChoice};

pub(super) const PROTOCOL: Protocol = Protocol {
    api: "openai-completions",
    path: |_| "/chat/completions".to_string(),
    headers: bearer,
    body,
    parser: |_| Box::new(answer::Answer::default()),
    refuses_thinking: |_, _| false,
    from_complete: |answer| answer.get("choices").is_some_and(Value::is_array).then(|| vec![answer]),
};

/// Returns the key in the form that every server of this family accepts.
pub(super) fn bearer(request: &Request) -> Vec<(String, String)> {
    match &request.auth {
        Auth::None => Vec::new(),
        Auth::ApiKey(key) | Auth::Bearer(key) => vec![("Authorization".into(), format!("Bearer {}", key.expose()))],
    }
}

fn body(request: &Request) -> Vec<u8> {
    let quirks = compat::resolve(&request.model);
    let level = request.model.clamp_level(request.thinking);
    let mut json = Json::default();
    json.object(|json| {
        json.field("model", &request.model.id);
        json.field("stream", &true);
        if quirks.usage_in_streaming {
            json.key("stream_options").object(|json| json.field("include_usage", &true));
        }
        if quirks.store {
            json.field("store", &false);
        }
        if let Some(limit) = request.max_tokens {
            let key = match quirks.max_tokens_field {
                MaxTokensField::MaxTokens => "max_tokens",
                MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            };
            json.field(key, &limit);
        }
        if let Some(temperature) = temperature(request) {
            json.field("temperature", &temperature);
        }
        if request.model.reasoning {
            thinking(json, &quirks, level, request.model.effort(level));
        }
        if let Some(session) =
            request.session_id.as_ref().filter(|_| quirks.cache_key && request.cache != CacheRetention::None)
        {
            json.field("prompt_cache_key", session);
            if request.cache == CacheRetention::Long {
                json.field("prompt_cache_retention", "24h");
            }
        }
        let claude = request.model.compat.cache_control_format.is_some() || request.model.id.starts_with("anthropic/");
        if quirks.cache_control && claude {
            match request.cache {
                CacheRetention::None => {}
                CacheRetention::Short => json.key("cache_control").object(|json| json.field("type", "ephemeral")),
                CacheRetention::Long => json.key("cache_control").object(|json| {
                    json.field("type", "ephemeral");
                    json.field("ttl", "1h");
                }),
            }
        }
        if let Some(routing) = &request.model.compat.open_router_routing {
            json.field("provider", routing);
        }
        if let Some(routing) = &request.model.compat.vercel_gateway_routing {
            json.key("providerOptions").object(|json| json.field("gateway", routing));
        }
        tools(request, json);
        json.key("messages").array(|json| messages(request, &quirks, json));
    });
    json.into_bytes()
}

fn thinking(json: &mut Json, quirks: &compat::Quirks, level: ThinkingLevel, effort: Option<&str>) {
    match quirks.thinking_format {
        ThinkingFormat::Openai => {
            if let Some(effort) = effort.filter(|_| quirks.reasoning_effort) {
                json.field("reasoning_effort", effort);
            }
        }
        ThinkingFormat::Zai => json.key("thinking").object(|json| {
            json.field("type", if level == ThinkingLevel::Off { "disabled" } else { "enabled" });
        }),
        ThinkingFormat::Qwen => json.field("enable_thinking", &(level != ThinkingLevel::Off)),
    }
}

fn tools(request: &Request, json: &mut Json) {
    if request.tools.is_empty() {
        return;
    }
    json.key("tools").array(|json| {
        for tool in &request.tools {
            json.object(|json| {
                json.field("type", "function");
                json.key("function").object(|json| {
                    json.field("name", &tool.name);
                    json.field("description", &tool.description);
                    json.field("parameters", &*fit_schema(&tool.parameters));
                });
            });
        }
    });
    match tool_choice(request) {
        ToolChoice::Auto => {}
        ToolChoice::None => json.field("tool_choice", "none"),
        ToolChoice::Required => json.field("tool_choice", "required"),
        ToolChoice::Tool(name) => json.key("tool_choice").object(|json| {
            json.field("type", "function");
            json.key("function").object(|json| json.field("name", name));
        }),
    }
}

fn messages(request: &Request, quirks: &compat::Quirks, json: &mut Json) {
    if let Some(system) = system(request) {
        let developer = quirks.developer_role && request.model.reasoning;
        json.object(|json| {
            json.field("role", if developer { "developer" } else { "system" });
            json.field("content", &system);
        });
    }
    // The images of a batch of results, which tool messages cannot contain.
    let mut pictures: Vec<&ImageBlock> = Vec::new();
    let mut after_result = false;
    let mut rest = request.conversation().peekable();
    while let Some(message) = rest.next() {
        let result = matches!(message, LlmMessage::ToolResult(_));
        if !result {
            picture_message(json, quirks, &mut pictures, &mut after_result);
        }
        match message {
            LlmMessage::User(user) => {
                bridge(json, quirks, after_result);
                let mut parts = content_parts(request, &user.content);
                if quirks.alternation {
                    while let Some(LlmMessage::User(next)) = rest.peek() {
                        parts.extend(content_parts(request, &next.content));
                        rest.next();
                    }
                }
                user_message(json, &parts);
            }
            LlmMessage::Assistant(answer) => assistant_message(request, quirks, json, answer),
            LlmMessage::ToolResult(result) => {
                let parts = parts(request, &result.content);
                json.object(|json| {
                    json.field("role", "tool");
                    json.field("tool_call_id", &*fit_id(&result.tool_call_id, quirks.id_limit));
                    if quirks.tool_result_name {
                        json.field("name", &*fit_name(request, &result.tool_name));
                    }
                    let text = joined(&parts);
                    json.field("content", if text.is_empty() { "(no text)" } else { &text });
                });
                pictures.extend(images(&parts));
            }
        }
        after_result = result;
    }
    picture_message(json, quirks, &mut pictures, &mut after_result);
}

fn picture_message(json: &mut Json, quirks: &compat::Quirks, pictures: &mut Vec<&ImageBlock>, after_result: &mut bool) {
    if pictures.is_empty() {
        return;
    }
    bridge(json, quirks, *after_result);
    let parts: Vec<Part<'_>> = std::iter::once(Part::Text("Images of the tool results above:"))
        .chain(pictures.drain(..).map(Part::Image))
        .collect();
    user_message(json, &parts);
    *after_result = false;
}

/// Writes an assistant message between a result and a user message, for servers that require it.
fn bridge(json: &mut Json, quirks: &compat::Quirks, after_result: bool) {
    if after_result && quirks.assistant_after_tool_result {
        json.object(|json| {
            json.field("role", "assistant");
            json.field("content", "I have read the results.");
        });
    }
}

fn user_message(json: &mut Json, parts: &[Part<'_>]) {
    json.object(|json| {
        json.field("role", "user");
        match parts {
            [Part::Text(text)] => json.field("content", text),
            parts => json.key("content").array(|json| {
                for part in parts {
                    json.object(|json| match part {
                        Part::Text(text) => {
                            json.field("type", "text");
                            json.field("text", text);
                        }
                        Part::Image(image) => {
                            json.field("type", "image_url");
                            json.key("image_url").object(|json| json.field("url", &data_url(image)));
                        }
                    });
                }
            }),
        }
    });
}

fn assistant_message(request: &Request, quirks: &compat::Quirks, json: &mut Json, answer: &AssistantMessage) {
    let own = is_own(request, answer);
    let mut text = String::new();
    for block in &answer.content {
        match block {
            Block::Text(block) => text.push_str(&block.text),
            Block::Thinking(thought) if !own => text.push_str(foreign_thought(request, thought).unwrap_or_default()),
            _ => {}
        }
    }
    let calls: Vec<_> = answer.tool_calls().collect();
    if text.is_empty() && calls.is_empty() {
        return;
    }
    json.object(|json| {
        json.field("role", "assistant");
        if text.is_empty() {
            json.field("content", &());
        } else {
            json.field("content", &text);
        }
        let thought = own && answer::thoughts(json, answer);
        if !thought && quirks.thought_wanted && request.model.reasoning {
            json.field("reasoning_content", "");
        }
        if !calls.is_empty() {
            json.key("tool_calls").array(|json| {
                for call in calls {
                    json.object(|json| {
                        json.field("id", &*fit_id(&call.id, quirks.id_limit));
                        json.field("type", "function");
                        json.key("function").object(|json| {
                            json.field("name", &*fit_name(request, &call.name));
                            json.field("arguments", &fit_arguments(request, call).to_string());
                        });
                    });
                }
            });
        }
    });
}
