//! Google Generative Language.

use serde_json::Value;

use super::end_reason::end_of;
use super::json::Json;
use super::prepare::{
    Part, content_parts, fit_arguments, fit_name, fit_schema, foreign_thought, images, is_own, joined, parts,
    temperature, tool_choice,
};
use super::protocol::{Progress, Protocol, ResponseParser, argument_text};
use crate::assembly::{Assembly, Kind};
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::message::{Block, ImageBlock, LlmMessage, StopReason};
use crate::model::ThinkingLevel;
use crate::provider::{Auth, Request, ToolChoice};

pub(super) const PROTOCOL: Protocol = Protocol {
    api: "google-generative-ai",
    path: |request| format!("/models/{}:streamGenerateContent?alt=sse", request.model.id.trim_start_matches("models/")),
    headers,
    body,
    parser: |_| Box::new(Answer::default()),
    refuses_thinking: |_, _| false,
    from_complete: |answer| match answer {
        // This is the format without `alt=sse`.
        Value::Array(list) => Some(list),
        answer => (answer.get("candidates").is_some() || answer.get("promptFeedback").is_some()).then(|| vec![answer]),
    },
};

/// The minimum budget of a model that cannot stop thinking.
const SMALLEST_BUDGET: u64 = 128;

fn headers(request: &Request) -> Vec<(String, String)> {
    match &request.auth {
        Auth::None => Vec::new(),
        Auth::ApiKey(key) => vec![("x-goog-api-key".into(), key.expose().into())],
        Auth::Bearer(token) => vec![("Authorization".into(), format!("Bearer {}", token.expose()))],
    }
}

fn body(request: &Request) -> Vec<u8> {
    let mut json = Json::default();
    json.object(|json| {
        json.key("generationConfig").object(|json| {
            if let Some(limit) = request.max_tokens {
                json.field("maxOutputTokens", &limit);
            }
            if let Some(temperature) = temperature(request) {
                json.field("temperature", &temperature);
            }
            if request.model.reasoning {
                let level = request.model.clamp_level(request.thinking);
                json.key("thinkingConfig").object(|json| {
                    if level != ThinkingLevel::Off {
                        json.field("includeThoughts", &true);
                    }
                    json.field("thinkingBudget", &budget(request, level));
                });
            }
        });
        if !request.tools.is_empty() {
            json.key("tools").array(|json| {
                json.object(|json| {
                    json.key("functionDeclarations").array(|json| {
                        for tool in &request.tools {
                            json.object(|json| {
                                json.field("name", &tool.name);
                                json.field("description", &tool.description);
                                json.field("parametersJsonSchema", &*fit_schema(&tool.parameters));
                            });
                        }
                    });
                });
            });
            put_tool_choice(request, json);
        }
        let system: Vec<&str> =
            request.system.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty()).collect();
        if !system.is_empty() {
            json.key("systemInstruction").object(|json| {
                json.key("parts")
                    .array(|json| system.iter().for_each(|text| json.object(|json| json.field("text", text))));
            });
        }
        json.key("contents").array(|json| contents(request, json));
    });
    json.into_bytes()
}

fn budget(request: &Request, level: ThinkingLevel) -> u64 {
    let own = request.thinking_budgets.iter().find(|(known, _)| *known == level).map(|(_, budget)| *budget);
    let cannot_stop =
        !request.model.thinking_levels.is_empty() && !request.model.thinking_levels.contains(&ThinkingLevel::Off);
    own.unwrap_or(match level {
        ThinkingLevel::Off if cannot_stop => SMALLEST_BUDGET,
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 512,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High => 16_384,
        ThinkingLevel::XHigh => 24_576,
    })
}

fn put_tool_choice(request: &Request, json: &mut Json) {
    let choice = tool_choice(request);
    let mode = match choice {
        ToolChoice::Auto => return,
        ToolChoice::None => "NONE",
        ToolChoice::Required | ToolChoice::Tool(_) => "ANY",
    };
    json.key("toolConfig").object(|json| {
        json.key("functionCallingConfig").object(|json| {
            json.field("mode", mode);
            if let ToolChoice::Tool(name) = choice {
                json.field("allowedFunctionNames", &[name]);
            }
        });
    });
}

fn contents(request: &Request, json: &mut Json) {
    let messages: Vec<&LlmMessage> = request.conversation().collect();
    let mut rest = messages.as_slice();
    while let Some(message) = rest.first() {
        match message {
            LlmMessage::User(user) => {
                let parts = content_parts(request, &user.content);
                turn(json, "user", |json| user_parts(json, &parts));
                rest = &rest[1..];
            }
            LlmMessage::Assistant(answer) => {
                let own = is_own(request, answer);
                let sent: Vec<&Block> = answer.content.iter().filter(|block| is_sent(request, block, own)).collect();
                if !sent.is_empty() {
                    let mut unsigned = unsigned_call(request, &sent, own);
                    turn(json, "model", |json| {
                        for block in &sent {
                            let bare = unsigned.take_if(|call| std::ptr::eq(*call, *block)).is_some();
                            model_part(request, json, block, own, bare);
                        }
                    });
                }
                rest = &rest[1..];
            }
            LlmMessage::ToolResult(_) => {
                // The results of a batch are one turn; their images are another.
                let end =
                    rest.iter().position(|message| !matches!(message, LlmMessage::ToolResult(_))).unwrap_or(rest.len());
                results(request, json, &rest[..end]);
                rest = &rest[end..];
            }
        }
    }
}

fn turn(json: &mut Json, role: &str, fill: impl FnOnce(&mut Json)) {
    json.object(|json| {
        json.field("role", role);
        json.key("parts").array(fill);
    });
}

fn user_parts(json: &mut Json, parts: &[Part<'_>]) {
    for part in parts {
        json.object(|json| match part {
            Part::Text(text) => json.field("text", text),
            Part::Image(image) => inline(json, image),
        });
    }
}

fn inline(json: &mut Json, image: &ImageBlock) {
    json.key("inlineData").object(|json| {
        json.field("mimeType", &image.mime_type);
        json.field("data", &image.data);
    });
}

fn results(request: &Request, json: &mut Json, batch: &[&LlmMessage]) {
    let mut pictures = Vec::new();
    turn(json, "user", |json| {
        for message in batch {
            let LlmMessage::ToolResult(result) = message else { continue };
            let parts = parts(request, &result.content);
            json.object(|json| {
                json.key("functionResponse").object(|json| {
                    json.field("name", &*fit_name(request, &result.tool_name));
                    let key = if result.is_error { "error" } else { "output" };
                    json.key("response").object(|json| json.field(key, &joined(&parts)));
                });
            });
            pictures.extend(images(&parts));
        }
    });
    if !pictures.is_empty() {
        turn(json, "user", |json| {
            json.object(|json| json.field("text", "Images of the tool results above:"));
            pictures.iter().for_each(|image| json.object(|json| inline(json, image)));
        });
    }
}

fn is_sent(request: &Request, block: &Block, own: bool) -> bool {
    match block {
        Block::Text(text) => !text.text.is_empty(),
        Block::Thinking(thought) => {
            let signed = thought.thinking_signature.as_ref().is_some_and(|signature| !signature.is_empty());
            own && signed || !own && foreign_thought(request, thought).is_some()
        }
        Block::ToolCall(_) => true,
        Block::Image(_) | Block::Other(_) => false,
    }
}

/// The signature for unsigned thinking: the server's own value for "do not validate".
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the call that must be signed but is not. Models from Gemini 3 on reject an answer whose first call has no
/// signature, and do not accept the signature of another model. Returns `None` if there is no such call.
fn unsigned_call<'a>(request: &Request, blocks: &[&'a Block], own: bool) -> Option<&'a Block> {
    let version = request.model.id.trim_start_matches("models/").strip_prefix("gemini-")?;
    let version = version.split(['.', '-']).next()?.parse::<u32>().ok()?;
    let mut calls = blocks.iter().filter(|block| matches!(block, Block::ToolCall(_)));
    let first = calls.next()?;
    let signed = own && matches!(first, Block::ToolCall(call) if call.thought_signature.is_some());
    (version >= 3 && !signed).then_some(*first)
}

fn model_part(request: &Request, json: &mut Json, block: &Block, own: bool, bare: bool) {
    let sign = |json: &mut Json, signature: &Option<String>| {
        if let Some(signature) = signature.as_ref().filter(|_| own) {
            json.field("thoughtSignature", signature);
        }
    };
    json.object(|json| match block {
        Block::Text(text) => {
            json.field("text", &text.text);
            sign(json, &text.signature);
        }
        Block::Thinking(thought) => {
            json.field("text", &thought.thinking);
            if own {
                json.field("thought", &true);
            }
            sign(json, &thought.thinking_signature);
        }
        Block::ToolCall(call) => {
            json.key("functionCall").object(|json| {
                json.field("name", &*fit_name(request, &call.name));
                if call.arguments.is_object() {
                    json.field("args", &*fit_arguments(request, call));
                } else {
                    json.key("args").object(|_| {});
                }
            });
            if bare {
                json.field("thoughtSignature", NO_SIGNATURE);
            } else {
                sign(json, &call.thought_signature);
            }
        }
        Block::Image(_) | Block::Other(_) => {}
    });
}

/// The reason that the server sent; there is no other end marker.
#[derive(Default)]
struct Answer {
    stop: Option<StopReason>,
}

impl ResponseParser for Answer {
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify::from_stream(context, data));
        }
        if let Some(usage) = data.get("usageMetadata") {
            read_usage(usage, assembly);
        }
        if let Some(reason) = data.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return Err(classify::own(
                context,
                ErrorKind::Refusal,
                &format!("the provider refused the prompt: {reason}"),
            ));
        }
        let Some(candidate) = data.pointer("/candidates/0") else {
            return Ok(Progress::More);
        };
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        parts.into_iter().flatten().for_each(|part| read_part(part, assembly));
        match candidate.get("finishReason").and_then(Value::as_str) {
            None | Some("" | "FINISH_REASON_UNSPECIFIED") => {}
            Some(reason) => {
                let explanation = candidate.get("finishMessage").and_then(Value::as_str);
                self.stop = Some(end_of(reason, explanation, StopReason::Stop, context, assembly)?);
            }
        }
        Ok(Progress::More)
    }

    fn end(&mut self, _assembly: &mut Assembly) -> Option<StopReason> {
        self.stop
    }
}

fn read_part(part: &Value, assembly: &mut Assembly) {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    let signature = text("thoughtSignature").unwrap_or_default();
    if let Some(call) = part.get("functionCall") {
        if let Some(delta) = text("text").filter(|delta| !delta.is_empty()) {
            assembly.run(Kind::Text, delta);
        }
        assembly.end_runs();
        let string = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        // The server needs no ids back, and its own ids repeat.
        let index = assembly.begin_call("", string("name"));
        assembly.sign(index, signature);
        // Pieces are only sent on request. As a list, they are reported as invalid arguments.
        let arguments = argument_text(call.get("args").or_else(|| call.get("partialArgs")));
        assembly.delta(index, if arguments.is_empty() { "{}" } else { &arguments });
        assembly.end(index);
        return;
    }
    let Some(delta) = text("text") else {
        return;
    };
    let thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
    if delta.is_empty() && signature.is_empty() {
        return;
    }
    let index = assembly.run(if thought { Kind::Thinking } else { Kind::Text }, delta);
    if !signature.is_empty() {
        assembly.replace_signature(index, signature.to_string());
    }
}

fn read_usage(usage: &Value, assembly: &mut Assembly) {
    let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let cached = number("cachedContentTokenCount");
    assembly.usage.input = (number("promptTokenCount") + number("toolUsePromptTokenCount")).saturating_sub(cached);
    assembly.usage.output = number("candidatesTokenCount") + number("thoughtsTokenCount");
    assembly.usage.cache_read = cached;
}
