//! The rules of the real servers for conversations: a request that breaks one gets 400.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RecordedRequest, Reply};

/// Returns the reply 400 of the provider whose protocol the path names, if its real server would reject the
/// conversation; `None` otherwise.
#[must_use]
pub fn refusal(request: &RecordedRequest) -> Option<Reply> {
    let body = request.json();
    let checked = match request.path.split('?').next().unwrap_or_default() {
        path if path.ends_with("/v1/messages") => anthropic(&body),
        path if path.ends_with("/chat/completions") => chat(&body),
        path if path.ends_with("/responses") => responses(&body),
        path if path.ends_with(":streamGenerateContent") => google(&body),
        path => Err(format!("no such path: {path}")),
    };
    let text = checked.err()?;
    Some(Reply::json(400, &json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}})))
}

type CheckResult = Result<(), String>;

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn need(holds: bool, text: impl Into<String>) -> CheckResult {
    if holds { Ok(()) } else { Err(text.into()) }
}

fn ids<'a>(blocks: &'a [Value], kind: &str, key: &str) -> Vec<&'a str> {
    blocks.iter().filter(|block| text(block, "type") == kind).map(|block| text(block, key)).collect()
}

fn same(a: &[&str], b: &[&str]) -> bool {
    a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>() && a.len() == b.len()
}

/// Checks that the servers accept a name as a tool, even in an old call.
fn need_name(at: usize, name: &str) -> CheckResult {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let holds = !name.is_empty() && name.len() <= 64 && name.chars().all(fine);
    need(holds, format!("messages.{at}: tool name {name:?} should match ^[a-zA-Z0-9_-]{{1,64}}$"))
}

/// The prefix of the signatures of [`sign`].
const SIGNED: &str = "signed:";

/// Returns the signature of thinking; [`anthropic`] rejects thinking that was changed afterwards.
#[must_use]
pub fn sign(thought: &str) -> String {
    // FNV-1a.
    let hash = thought
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{SIGNED}{hash:016x}")
}

/// Checks that the thinking configuration never changes within a tool loop of a conversation with Anthropic: a request
/// that answers the calls of the previous one must have the same configuration.
///
/// # Errors
/// Returns a description of the change if it changed.
pub fn one_thinking_per_loop(requests: &[RecordedRequest]) -> CheckResult {
    for (before, after) in requests.iter().zip(requests.iter().skip(1)) {
        let (old, new) = (before.json(), after.json());
        let last = list(&new, "messages").last().map_or(&[][..], |last| list(last, "content"));
        if ids(last, "tool_result", "tool_use_id").is_empty() {
            continue;
        }
        for key in ["thinking", "output_config"] {
            need(old[key] == new[key], format!("{key} was {} and is {} within a loop", old[key], new[key]))?;
        }
        let beta = |request: &RecordedRequest| request.header("anthropic-beta").unwrap_or_default().to_string();
        need(beta(before) == beta(after), format!("anthropic-beta was {:?} and is {:?}", beta(before), beta(after)))?;
    }
    Ok(())
}

/// Checks a request of Anthropic Messages.
///
/// # Errors
/// Returns the server's complaint if it would reject the request.
pub fn anthropic(body: &Value) -> CheckResult {
    let messages = list(body, "messages");
    need(!messages.is_empty(), "messages: at least one message is required")?;
    need(text(&messages[0], "role") == "user", "messages: first message must use the \"user\" role")?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    need(marks <= 4, format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."))?;
    if let Some(budget) = body.pointer("/thinking/budget_tokens").and_then(Value::as_u64) {
        need(budget >= 1024, "thinking.budget_tokens: must be at least 1024")?;
        need(body["max_tokens"].as_u64() > Some(budget), "`max_tokens` must be greater than `thinking.budget_tokens`")?;
    }
    let mut called: Vec<&str> = Vec::new();
    let mut used = BTreeSet::new();
    let mut behind_results = false;
    // The position and the first part of the first answer of an unfinished turn, if it calls tools. Tool results, even
    // with text of the user after them, continue a turn.
    let mut begun = None;
    for (at, message) in messages.iter().enumerate() {
        let blocks = list(message, "content");
        need(!blocks.is_empty(), format!("messages.{at}: content must not be empty"))?;
        for block in blocks {
            if text(block, "type") == "text" {
                need(
                    !text(block, "text").trim().is_empty(),
                    format!("messages.{at}: text content blocks must be non-empty"),
                )?;
            }
            if text(block, "type") == "tool_result" {
                let said = list(block, "content");
                need(
                    block["is_error"] != true || !said.is_empty(),
                    format!("messages.{at}: tool_result: content cannot be empty if `is_error` is true"),
                )?;
                let blank = |part: &Value| text(part, "type") == "text" && text(part, "text").trim().is_empty();
                need(!said.iter().any(blank), format!("messages.{at}: text content blocks must be non-empty"))?;
            }
            if text(block, "type") == "thinking" {
                let (thought, signature) = (text(block, "thinking"), text(block, "signature"));
                need(!signature.is_empty(), format!("messages.{at}: thinking: signature is required"))?;
                need(
                    !signature.starts_with(SIGNED) || signature == sign(thought),
                    format!("messages.{at}: Invalid `signature` in `thinking` block"),
                )?;
            }
        }
        let last = blocks.last().map_or("", |block| text(block, "type"));
        need(
            !last.ends_with("thinking"),
            format!("messages.{at}: the final block of an assistant message cannot be `thinking`"),
        )?;
        let results = ids(blocks, "tool_result", "tool_use_id");
        if text(message, "role") == "user" {
            need(
                same(&results, &called),
                format!(
                    "messages.{at}: tool_use ids {called:?} need tool_result blocks immediately after, got {results:?}"
                ),
            )?;
            let first_other =
                blocks.iter().position(|block| text(block, "type") != "tool_result").unwrap_or(blocks.len());
            need(first_other >= results.len(), format!("messages.{at}: tool_result blocks must come first"))?;
            if results.is_empty() && !behind_results {
                begun = None;
            }
            behind_results |= !results.is_empty();
            called.clear();
        } else {
            behind_results = false;
            need(called.is_empty(), format!("messages.{at}: tool_use ids {called:?} have no result"))?;
            need(results.is_empty(), format!("messages.{at}: tool_result in an assistant message"))?;
            called = ids(blocks, "tool_use", "id");
            for id in &called {
                let fine = !id.is_empty()
                    && id.len() <= 64
                    && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                need(fine, format!("messages.{at}: id \"{id}\" should match ^[a-zA-Z0-9_-]+$"))?;
                need(used.insert(*id), format!("messages.{at}: tool_use ids must be unique: {id}"))?;
            }
            for block in blocks.iter().filter(|block| text(block, "type") == "tool_use") {
                need_name(at, text(block, "name"))?;
                need(block["input"].is_object(), format!("messages.{at}: tool_use.input: must be an object"))?;
            }
            if begun.is_none() && !called.is_empty() {
                begun = Some((at, text(&blocks[0], "type")));
            }
        }
    }
    // With a budget, the turn has to begin with thinking; a model that decides by itself may have none.
    if let Some((at, first)) = begun
        && text(&body["thinking"], "type") == "enabled"
    {
        let text = format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        );
        need(first.ends_with("thinking"), text)?;
    }
    need(called.is_empty(), format!("messages: tool_use ids {called:?} have no result"))?;
    anthropic_references(body)
}

/// Checks the tools that a result adds to the conversation.
fn anthropic_references(body: &Value) -> CheckResult {
    let tools = list(body, "tools");
    let is_deferred = |tool: &&Value| tool["defer_loading"] == true;
    need(
        tools.is_empty() || !tools.iter().all(|tool| is_deferred(&tool)),
        "All tools have defer_loading set. At least one tool must be non-deferred.",
    )?;
    for tool in tools.iter().filter(is_deferred) {
        need(
            tool.get("cache_control").is_none(),
            format!("Tool '{}' cannot have both defer_loading=true and cache_control set", text(tool, "name")),
        )?;
    }
    let names: BTreeSet<&str> = tools.iter().map(|tool| text(tool, "name")).collect();
    need(names.len() == tools.len(), "tools: Tool names must be unique.")?;
    for block in list(body, "messages").iter().flat_map(|message| list(message, "content")) {
        need(text(block, "type") != "tool_reference", "tool_reference is only allowed in a tool_result")?;
        let said = list(block, "content");
        let references = said.iter().filter(|part| text(part, "type") == "tool_reference");
        need(
            references.clone().count() == 0 || references.clone().count() == said.len(),
            "Tool definitions/code execution functions cannot be mixed with other content",
        )?;
        for name in references.map(|part| text(part, "tool_name")) {
            need(
                tools.iter().filter(is_deferred).any(|tool| tool["name"] == name),
                format!("Tool reference '{name}' has no corresponding tool definition"),
            )?;
        }
    }
    Ok(())
}

/// Checks a request of OpenAI Chat Completions.
///
/// # Errors
/// Returns the server's complaint if it would reject the request.
pub fn chat(body: &Value) -> CheckResult {
    let messages = list(body, "messages");
    need(!messages.is_empty(), "messages: too short")?;
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            let place = open.iter().position(|known| *known == id);
            let place = place.ok_or(format!(
                "messages.{at}: role 'tool' must answer a preceding message with 'tool_calls' ({id})"
            ))?;
            open.remove(place);
            need(message["content"].is_string(), format!("messages.{at}: content must be a string"))?;
            continue;
        }
        need(open.is_empty(), format!("messages.{at}: tool_call_ids {open:?} did not have response messages"))?;
        if role == "assistant" {
            let calls = list(message, "tool_calls");
            need(
                !calls.is_empty() || !text(message, "content").is_empty(),
                format!("messages.{at}: content or tool_calls is required"),
            )?;
            for call in calls {
                let arguments = call.pointer("/function/arguments").and_then(Value::as_str).unwrap_or("missing");
                need(
                    serde_json::from_str::<Value>(arguments).is_ok(),
                    format!("messages.{at}: arguments are no JSON"),
                )?;
                need_name(at, text(&call["function"], "name"))?;
                let id = text(call, "id");
                need(!id.is_empty() && id.len() <= 40, format!("messages.{at}: bad id \"{id}\""))?;
                need(!open.contains(&id), format!("messages.{at}: duplicate id \"{id}\""))?;
                open.push(id);
            }
        }
    }
    need(open.is_empty(), format!("tool_call_ids {open:?} did not have response messages"))
}

/// Checks a request of OpenAI Responses.
///
/// # Errors
/// Returns the server's complaint if it would reject the request.
pub fn responses(body: &Value) -> CheckResult {
    let input = list(body, "input");
    need(!input.is_empty(), "input: too short")?;
    let calls = ids(input, "function_call", "call_id");
    let outputs = ids(input, "function_call_output", "call_id");
    need(same(&calls, &outputs), format!("No tool output found for function call: {calls:?} and {outputs:?}"))?;
    let (searches, found) = (ids(input, "tool_search_call", "call_id"), ids(input, "tool_search_output", "call_id"));
    need(same(&searches, &found), format!("No output found for tool search call: {searches:?} and {found:?}"))?;
    let offered = list(body, "tools").iter().any(|tool| tool["type"] == "tool_search" && tool["execution"] == "client");
    need(searches.is_empty() || offered, "tool_search_call without the tool 'tool_search'")?;
    need(
        !list(body, "tools").iter().any(|tool| tool["defer_loading"] == true) || offered,
        "defer_loading needs the tool 'tool_search'",
    )?;
    for tool in input.iter().flat_map(|item| list(item, "tools")) {
        need(tool["type"] == "function" && tool["parameters"]["type"] == "object", "tools: not a function")?;
    }
    let mut used = BTreeSet::new();
    for (at, item) in input.iter().enumerate() {
        if text(item, "type").starts_with("tool_search") {
            need(item["execution"] == "client", format!("input.{at}: execution must be 'client'"))?;
            let arguments = text(item, "type") != "tool_search_call" || item["arguments"].is_object();
            need(arguments, format!("input.{at}: arguments must be an object"))?;
        }
        if text(item, "type") == "function_call" {
            need_name(at, text(item, "name"))?;
            let id = text(item, "call_id");
            need(!id.is_empty() && id.len() <= 64, format!("input.{at}: bad call_id \"{id}\""))?;
            need(used.insert(id), format!("input.{at}: duplicate call_id \"{id}\""))?;
        }
        if text(item, "type") == "reasoning" {
            let known = item["encrypted_content"].is_string() || !list(item, "content").is_empty();
            need(known, format!("input.{at}: Item with id '{}' not found", text(item, "id")))?;
            let next = input.get(at + 1).map_or("", |next| text(next, "type"));
            need(
                matches!(next, "message" | "function_call" | "tool_search_call" | "reasoning"),
                format!("input.{at}: 'reasoning' without its required following item"),
            )?;
        }
    }
    Ok(())
}

/// Checks a request of Google Generative Language.
///
/// # Errors
/// Returns the server's complaint if it would reject the request.
pub fn google(body: &Value) -> CheckResult {
    let contents = list(body, "contents");
    need(!contents.is_empty(), "contents is not specified")?;
    let names = |turn: &Value, key: &str| -> Vec<String> {
        list(turn, "parts").iter().filter_map(|part| Some(text(part.get(key)?, "name").to_string())).collect()
    };
    let mut called: Vec<String> = Vec::new();
    for (at, turn) in contents.iter().enumerate() {
        need(!list(turn, "parts").is_empty(), format!("contents.{at}: parts must not be empty"))?;
        let answered = names(turn, "functionResponse");
        need(
            answered == called,
            format!(
                "contents.{at}: the number of function response parts must equal the function call parts: {called:?}, {answered:?}"
            ),
        )?;
        for call in list(turn, "parts").iter().filter_map(|part| part.get("functionCall")) {
            need_name(at, text(call, "name"))?;
            need(call["args"].is_object(), format!("contents.{at}: function_call.args: must be an object"))?;
        }
        called = if text(turn, "role") == "model" { names(turn, "functionCall") } else { Vec::new() };
    }
    need(called.is_empty(), "a function call turn must be followed by its responses")
}
