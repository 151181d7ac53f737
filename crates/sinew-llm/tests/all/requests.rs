//! Tests of the requests of each protocol: thinking, limits, tools and differences between servers.

use std::sync::Arc;

use serde_json::{Value, json};
use sinew_llm::message::{ImageBlock, ThinkingBlock, ToolResultMessage};
use sinew_llm::model::{Compat, Input, MaxTokensField, Model, ThinkingMode};
use sinew_llm::models::Registry;
use sinew_llm::{
    AssistantMessage, Block, CacheRetention, LlmMessage, Request, ThinkingLevel, ToolCall, ToolChoice, ToolDef, wire,
};
use sinew_testkit::provider::order;

fn request(api: &str, base_url: &str) -> Request {
    let model = Model {
        id: "m".into(),
        provider: "p".into(),
        api: api.into(),
        base_url: base_url.into(),
        reasoning: true,
        max_tokens: 64_000,
        ..Model::default()
    };
    Request { model, messages: vec![LlmMessage::user("hi").into()], ..Request::default() }
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&wire::request_body(request).unwrap()).unwrap()
}

#[track_caller]
fn check(request: &Request, pointer: &str, expect: Value) {
    let body = body(request);
    assert_eq!(body.pointer(pointer).unwrap_or(&Value::Null), &expect, "{pointer} of {body}");
}

#[test]
fn maps_levels_to_budgets_and_efforts() {
    let table = [
        (ThinkingLevel::Off, json!(null), json!(null), 0),
        (ThinkingLevel::Minimal, json!(1024), json!("minimal"), 512),
        (ThinkingLevel::Low, json!(4096), json!("low"), 2048),
        (ThinkingLevel::Medium, json!(10_240), json!("medium"), 8192),
        (ThinkingLevel::High, json!(20_480), json!("high"), 16_384),
        (ThinkingLevel::XHigh, json!(32_768), json!("high"), 24_576),
    ];
    for (thinking, tokens, word, google) in table {
        let ask = |api: &str| Request { thinking, ..request(api, "https://x.test") };
        check(&ask("anthropic-messages"), "/thinking/budget_tokens", tokens);
        check(&ask("openai-completions"), "/reasoning_effort", word.clone());
        check(&ask("openai-responses"), "/reasoning/effort", word);
        check(&ask("google-generative-ai"), "/generationConfig/thinkingConfig/thinkingBudget", json!(google));
    }
    let mut own = Request { thinking: ThinkingLevel::Low, ..request("anthropic-messages", "") };
    own.thinking_budgets = vec![(ThinkingLevel::Low, 2222)];
    check(&own, "/thinking/budget_tokens", json!(2222));
    own.model.thinking_mode = ThinkingMode::Adaptive;
    check(&own, "/output_config/effort", json!("low"));
    own.model.reasoning = false;
    check(&own, "/thinking", json!(null));
}

#[test]
fn sends_claude_models_the_effort_of_the_table() {
    let registry = Registry::builtin(&|_| None);
    for (id, thinking, word) in [
        ("claude-opus-5", ThinkingLevel::XHigh, "xhigh"),
        ("claude-sonnet-5", ThinkingLevel::XHigh, "xhigh"),
        ("claude-opus-4-8", ThinkingLevel::XHigh, "xhigh"),
        ("claude-opus-4-7", ThinkingLevel::XHigh, "xhigh"),
        ("claude-opus-4-6", ThinkingLevel::XHigh, "max"),
        ("claude-sonnet-4-6", ThinkingLevel::XHigh, "max"),
        ("claude-opus-5", ThinkingLevel::High, "high"),
        ("claude-opus-4-6", ThinkingLevel::Minimal, "low"),
    ] {
        let model = registry.find("anthropic", id).unwrap_or_else(|| panic!("no row of {id}"));
        let asked = Request { thinking, model, ..request("anthropic-messages", "https://x.test") };
        check(&asked, "/output_config/effort", json!(word));
    }
}

#[test]
fn sends_rare_efforts_only_to_models_that_list_them() {
    let ask = |api: &str, thinking, levels: &[ThinkingLevel]| {
        let mut asked = Request { thinking, ..request(api, "https://x.test") };
        asked.model.thinking_levels = levels.to_vec();
        asked
    };
    let all = ThinkingLevel::ALL;
    for (api, pointer) in [("openai-completions", "/reasoning_effort"), ("openai-responses", "/reasoning/effort")] {
        check(&ask(api, ThinkingLevel::XHigh, &all), pointer, json!("xhigh"));
        check(&ask(api, ThinkingLevel::Off, &all), pointer, json!("none"));
        check(&ask(api, ThinkingLevel::Off, &all[2..]), pointer, json!(null));
        check(&ask(api, ThinkingLevel::XHigh, &all[..5]), pointer, json!("high"));
    }
    let budget = "/generationConfig/thinkingConfig/thinkingBudget";
    check(&ask("google-generative-ai", ThinkingLevel::Off, &all), budget, json!(0));
    check(&ask("google-generative-ai", ThinkingLevel::Off, &all[1..]), budget, json!(128));
}

#[test]
fn a_budget_leaves_tokens_for_the_answer() {
    for (model_max, asked, max_tokens, budget) in [
        (64_000, None, 36_864, json!(32_768)),
        (64_000, Some(50_000), 50_000, json!(32_768)),
        (16_000, None, 16_000, json!(11_904)),
        (2000, None, 2000, json!(1999)),
        (900, None, 900, json!(null)),
    ] {
        let mut ask =
            Request { thinking: ThinkingLevel::XHigh, max_tokens: asked, ..request("anthropic-messages", "") };
        ask.model.max_tokens = model_max;
        check(&ask, "/max_tokens", json!(max_tokens));
        check(&ask, "/thinking/budget_tokens", budget);
    }
    check(&request("anthropic-messages", ""), "/max_tokens", json!(32_000));
}

#[test]
fn a_tool_can_be_forced_or_forbidden() {
    let named = ToolChoice::Tool("ls".into());
    for (api, pointer, none, required, tool) in [
        (
            "anthropic-messages",
            "/tool_choice",
            json!({"type": "none"}),
            json!({"type": "any"}),
            json!({"type": "tool", "name": "ls"}),
        ),
        (
            "openai-completions",
            "/tool_choice",
            json!("none"),
            json!("required"),
            json!({"type": "function", "function": {"name": "ls"}}),
        ),
        (
            "openai-responses",
            "/tool_choice",
            json!("none"),
            json!("required"),
            json!({"type": "function", "name": "ls"}),
        ),
        (
            "google-generative-ai",
            "/toolConfig/functionCallingConfig",
            json!({"mode": "NONE"}),
            json!({"mode": "ANY"}),
            json!({"mode": "ANY", "allowedFunctionNames": ["ls"]}),
        ),
    ] {
        let tools = vec![ToolDef {
            name: "ls".into(),
            parameters: json!({"type": "object", "properties": {"z": {}, "a": {}}}),
            ..ToolDef::default()
        }];
        let ask = |tool_choice| Request { tools: tools.clone(), tool_choice, ..request(api, "") };
        check(&ask(ToolChoice::Auto), pointer, json!(null));
        check(&ask(ToolChoice::None), pointer, none);
        check(&ask(ToolChoice::Required), pointer, required);
        check(&ask(named.clone()), pointer, tool);
        let text = String::from_utf8(wire::request_body(&ask(ToolChoice::Auto)).unwrap()).unwrap();
        assert!(text.contains(r#"{"z":{},"a":{}}"#), "a schema keeps the order of its keys: {text}");
    }
}

#[test]
fn sends_only_what_a_server_supports() {
    let ask = |base: &str| Request {
        max_tokens: Some(7),
        system: vec!["s".into()],
        session_id: Some("id".into()),
        thinking: ThinkingLevel::High,
        cache: CacheRetention::Long,
        ..request("openai-completions", base)
    };
    let openai = ask("https://api.openai.com/v1");
    check(&openai, "/max_completion_tokens", json!(7));
    check(&openai, "/store", json!(false));
    check(&openai, "/messages/0/role", json!("developer"));
    check(&openai, "/prompt_cache_key", json!("id"));
    check(&openai, "/prompt_cache_retention", json!("24h"));
    let responses =
        Request { model: Model { api: "openai-responses".into(), ..openai.model.clone() }, ..openai.clone() };
    check(&responses, "/prompt_cache_key", json!("id"));
    check(&responses, "/prompt_cache_retention", json!("24h"));
    check(&Request { cache: CacheRetention::Short, ..responses }, "/prompt_cache_retention", json!(null));
    let local = ask("http://127.0.0.1:8000/v1");
    check(&local, "/max_tokens", json!(7));
    check(&local, "/store", json!(null));
    check(&local, "/messages/0/role", json!("system"));
    check(&local, "/prompt_cache_key", json!(null));
    check(&local, "/stream_options/include_usage", json!(true));
    check(&ask("https://api.z.ai/api/paas/v4"), "/thinking/type", json!("enabled"));
    check(&ask("https://api.x.ai/v1"), "/reasoning_effort", json!(null));
    let mut own = ask("https://api.openai.com/v1");
    own.model.compat = Compat {
        max_tokens_field: Some(MaxTokensField::MaxTokens),
        supports_store: Some(false),
        supports_developer_role: Some(false),
        supports_usage_in_streaming: Some(false),
        open_router_routing: Some(json!({"only": ["x"]})),
        ..Compat::default()
    };
    check(&own, "/max_tokens", json!(7));
    check(&own, "/store", json!(null));
    check(&own, "/messages/0/role", json!("system"));
    check(&own, "/stream_options", json!(null));
    check(&own, "/provider/only/0", json!("x"));
}

#[test]
fn formats_results_for_each_server() {
    let call = ToolCall { id: "call-1".into(), name: "ls".into(), arguments: json!({}), ..ToolCall::default() };
    let answer = AssistantMessage { content: vec![Block::ToolCall(call)], ..AssistantMessage::default() };
    let result = ToolResultMessage {
        tool_call_id: "call-1".into(),
        tool_name: "ls".into(),
        content: vec![Block::text("none")],
        is_error: true,
        ..ToolResultMessage::default()
    };
    let messages: Vec<Arc<LlmMessage>> =
        [LlmMessage::user("hi"), LlmMessage::from(answer), LlmMessage::from(result), LlmMessage::user("so?")]
            .map(Arc::new)
            .into();
    let ask = |api: &str, base: &str| Request { messages: messages.clone(), ..request(api, base) };
    check(&ask("anthropic-messages", ""), "/messages/2/content/0/is_error", json!(true));
    check(
        &ask("openai-responses", ""),
        "/input/2",
        json!({"type": "function_call_output", "call_id": "call-1", "output": "none"}),
    );
    check(
        &ask("google-generative-ai", ""),
        "/contents/2/parts/0/functionResponse",
        json!({"name": "ls", "response": {"error": "none"}}),
    );

    let usual = body(&ask("openai-completions", "http://local"));
    assert_eq!(usual["messages"][2], json!({"role": "tool", "tool_call_id": "call-1", "content": "none"}));
    assert_eq!(usual["messages"][3]["role"], "user");
    let mistral = body(&ask("openai-completions", "https://api.mistral.ai/v1"));
    let id = mistral["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(mistral["messages"][2], json!({"role": "tool", "tool_call_id": id, "name": "ls", "content": "none"}));
    assert_eq!(mistral["messages"][3]["role"], "assistant");
}

/// A call and its result, made by the model `of`, preceded by thinking with this signature.
fn called(api: &str, of: &str, signature: Option<&str>, name: &str) -> Vec<Arc<LlmMessage>> {
    let call = ToolCall { id: "c".into(), name: name.into(), arguments: json!({}), ..ToolCall::default() };
    let thought = ThinkingBlock {
        thinking: "hm".into(),
        thinking_signature: signature.map(str::to_string),
        ..ThinkingBlock::default()
    };
    let answer = AssistantMessage {
        content: vec![Block::Thinking(thought), Block::ToolCall(call)],
        api: api.into(),
        provider: "p".into(),
        model: of.into(),
        ..AssistantMessage::default()
    };
    let result = ToolResultMessage {
        tool_call_id: "c".into(),
        tool_name: name.into(),
        content: vec![Block::text("none")],
        ..ToolResultMessage::default()
    };
    [LlmMessage::user("hi"), LlmMessage::from(answer), LlmMessage::from(result)].map(Arc::new).into()
}

/// How the answers of a loop begin.
#[derive(Clone, Copy)]
enum First {
    /// Signed thinking of this model.
    Thought,
    /// Thinking of a server that does not sign.
    Unsigned,
    /// Thinking that was signed, and changed afterwards.
    Changed,
    /// The call.
    Call,
    /// Thinking of another model.
    Foreign,
}

/// A loop with answers that begin like this, each with its result.
fn looped(answers: &[First]) -> Vec<Arc<LlmMessage>> {
    let mut messages = vec![LlmMessage::user("hi")];
    for (at, first) in answers.iter().enumerate() {
        let id = format!("c{at}");
        let thinking = format!("hm {at}");
        let thinking_signature = match first {
            First::Thought | First::Foreign => Some(order::sign(&thinking)),
            First::Changed => Some(String::new()),
            First::Unsigned | First::Call => None,
        };
        let thought = Block::Thinking(ThinkingBlock { thinking, thinking_signature, redacted: false });
        let call = Block::ToolCall(ToolCall {
            id: id.clone(),
            name: "ls".into(),
            arguments: json!({}),
            ..ToolCall::default()
        });
        let content = if matches!(first, First::Call) { vec![call] } else { vec![thought, call] };
        messages.push(LlmMessage::from(AssistantMessage {
            content,
            api: "anthropic-messages".into(),
            provider: "p".into(),
            model: if matches!(first, First::Foreign) { "other" } else { "m" }.into(),
            ..AssistantMessage::default()
        }));
        messages.push(LlmMessage::from(ToolResultMessage {
            tool_call_id: id,
            tool_name: "ls".into(),
            content: vec![Block::text("none")],
            ..ToolResultMessage::default()
        }));
    }
    messages.into_iter().map(Arc::new).collect()
}

/// Anthropic treats a loop as one turn, whose first answer contains thinking or not.
#[test]
fn a_loop_keeps_its_thinking_configuration() {
    use First::{Call, Changed, Foreign, Thought, Unsigned};
    let api = "anthropic-messages";
    let ask = |messages: Vec<Arc<LlmMessage>>| Request { messages, thinking: ThinkingLevel::Low, ..request(api, "") };
    // The answers; whether the loop continues to think, and which thinking is sent back.
    let table: &[(&[First], bool, &[&str])] = &[
        (&[Thought], true, &["hm 0"]),
        (&[Thought, Call], true, &["hm 0"]),
        (&[Thought, Call, Call], true, &["hm 0"]),
        (&[Thought, Call, Thought], true, &["hm 0", "hm 2"]),
        (&[Thought, Foreign], true, &["hm 0"]),
        // Only the server knows whether thinking was requested; it returns an error if it needs the thinking.
        (&[Call], true, &[]),
        (&[Unsigned, Unsigned], true, &[]),
        // A model whose thinking this one cannot read began the loop.
        (&[Foreign], false, &[]),
        (&[Foreign, Call, Call], false, &[]),
        (&[Foreign, Call, Thought], false, &["hm 2"]),
        // The thinking of a turn is sent back completely or not at all.
        (&[Changed], false, &[]),
        (&[Thought, Changed], false, &[]),
        (&[Changed, Thought, Call], false, &[]),
        (&[Thought, Changed, Thought], false, &[]),
    ];
    for (answers, thinks, thoughts) in table {
        let mut asked = ask(looped(answers));
        let budget = if *thinks { json!(4096) } else { json!(null) };
        let sent = |asked: &Request| {
            let body = body(asked).to_string();
            (0..answers.len()).map(|at| format!("hm {at}")).filter(|text| body.contains(text)).collect::<Vec<_>>()
        };
        check(&asked, "/thinking/budget_tokens", budget.clone());
        assert_eq!(sent(&asked), *thoughts);
        if !matches!(answers[0], Call | Unsigned) {
            order::anthropic(&body(&asked)).unwrap();
        }
        // Steering after the results belongs to the same turn.
        asked.messages.push(LlmMessage::user("and?").into());
        check(&asked, "/thinking/budget_tokens", budget);
        // A model that decides by itself may not have thought.
        asked.model.thinking_mode = ThinkingMode::Adaptive;
        check(&asked, "/thinking/type", json!("adaptive"));
        assert_eq!(sent(&asked), *thoughts);
        // After the end of a turn a new one begins. Thinking that could not be sent back still cannot.
        asked.model.thinking_mode = ThinkingMode::default();
        let said = AssistantMessage { content: vec![Block::text("done")], ..AssistantMessage::default() };
        asked.messages.extend([LlmMessage::from(said), LlmMessage::user("more")].map(Arc::new));
        check(&asked, "/thinking/budget_tokens", json!(4096));
        assert_eq!(sent(&asked), *thoughts);
        order::anthropic(&body(&asked)).unwrap();
    }
}

#[test]
fn disables_thinking_of_models_that_think_by_default() {
    let ask = |always_thinks: Option<bool>, tool_choice: ToolChoice| {
        let mut asked = Request { tool_choice, ..request("anthropic-messages", "") };
        asked.model.thinking_mode = ThinkingMode::Adaptive;
        asked.model.compat.always_thinks = always_thinks;
        asked
    };
    check(&ask(None, ToolChoice::Auto), "/thinking", json!({"type": "disabled"}));
    check(&ask(Some(false), ToolChoice::Required), "/thinking", json!({"type": "disabled"}));
    check(&ask(Some(true), ToolChoice::Auto), "/thinking", json!({"type": "adaptive"}));
    check(&ask(Some(true), ToolChoice::Auto), "/output_config/effort", json!("low"));
    let mut other = ask(None, ToolChoice::Auto);
    other.model.reasoning = false;
    check(&other, "/thinking", json!(null));
}

#[test]
fn new_gemini_models_get_a_signature_for_each_foreign_call() {
    let api = "google-generative-ai";
    let signature = |id: &str, of: &str, own: Option<&str>| {
        let mut messages = called(api, of, None, "ls");
        let LlmMessage::Assistant(answer) = Arc::make_mut(&mut messages[1]) else { panic!("no answer") };
        let answer = Arc::make_mut(answer);
        answer.content.push(answer.content[1].clone());
        let Block::ToolCall(call) = &mut answer.content[1] else { panic!("no call") };
        call.thought_signature = own.map(str::to_string);
        let mut asked = Request { messages, ..request(api, "") };
        asked.model.id = id.into();
        let parts = body(&asked)["contents"][1]["parts"].clone();
        let calls = parts.as_array().unwrap().iter().filter(|part| part.get("functionCall").is_some());
        calls.map(|part| part["thoughtSignature"].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
    };
    let skip = "skip_thought_signature_validator";
    assert_eq!(signature("gemini-3-pro-preview", "claude", None), [skip, ""]);
    assert_eq!(signature("models/gemini-3.1-flash", "claude", Some("foreign")), [skip, ""]);
    assert_eq!(signature("gemini-3-pro", "gemini-3-pro", Some("own")), ["own", ""]);
    assert_eq!(signature("gemini-2.5-pro", "claude", None), ["", ""]);
    assert_eq!(signature("gemma-3", "claude", None), ["", ""]);
}

#[test]
fn deepseek_gets_thinking_with_every_answer() {
    let api = "openai-completions";
    let ask = |of: &str, signature| Request {
        messages: called(api, of, signature, "ls"),
        ..request(api, "https://api.deepseek.com/v1")
    };
    check(&ask("m", Some("reasoning_content")), "/messages/1/reasoning_content", json!("hm"));
    check(&ask("other", None), "/messages/1/reasoning_content", json!(""));
    let mut plain = ask("other", None);
    plain.model.reasoning = false;
    check(&plain, "/messages/1/reasoning_content", json!(null));
    let elsewhere = Request { messages: called(api, "other", None, "ls"), ..request(api, "http://local/v1") };
    check(&elsewhere, "/messages/1/reasoning_content", json!(null));
}

#[test]
fn merges_neighbouring_messages_if_roles_must_alternate() {
    let said = |base: &str, strict: Option<bool>| {
        let messages = ["a", "b", "c"].map(LlmMessage::user).map(Arc::new).into();
        let mut asked = Request { messages, ..request("openai-completions", base) };
        asked.model.compat.requires_assistant_after_tool_result = strict;
        body(&asked)["messages"].clone()
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let one = json!([{"role": "user", "content": [text("a"), text("b"), text("c")]}]);
    assert_eq!(said("https://api.mistral.ai/v1", None), one);
    assert_eq!(said("http://local/v1", Some(true)), one);
    assert_eq!(said("http://local/v1", None).as_array().unwrap().len(), 3);
}

#[test]
fn changes_an_unaccepted_tool_name_equally_in_call_and_result() {
    let long = "long".repeat(30);
    let fits = [("", "_"), ("a.b", "a_b"), ("日本 x", "____x"), ("-a", "_-a"), ("7z", "_7z"), (&long, &long[..64])];
    for (name, fit) in fits {
        for (api, call, result) in [
            ("anthropic-messages", "/messages/1/content/0/name", None),
            ("openai-completions", "/messages/1/tool_calls/0/function/name", Some("/messages/2/name")),
            ("openai-responses", "/input/1/name", None),
            (
                "google-generative-ai",
                "/contents/1/parts/0/functionCall/name",
                Some("/contents/2/parts/0/functionResponse/name"),
            ),
        ] {
            let messages = called(api, "other", None, name);
            let mut asked = Request { messages, ..request(api, "https://api.mistral.ai/v1") };
            check(&asked, call, json!(fit));
            if let Some(result) = result {
                check(&asked, result, json!(fit));
            }
            // The server judges the name of an offered tool.
            asked.tools = vec![ToolDef { name: name.into(), ..ToolDef::default() }];
            check(&asked, call, json!(name));
        }
    }
}

#[test]
fn does_not_send_blank_texts() {
    let takes = |api: &str, body: &Value| match api {
        "anthropic-messages" => order::anthropic(body),
        "openai-completions" => order::chat(body),
        "openai-responses" => order::responses(body),
        _ => order::google(body),
    };
    for api in wire::apis() {
        for (blank, is_error) in [("", false), (" \n", false), ("", true), ("\t", true)] {
            let mut messages = called(api, "other", None, "ls");
            let LlmMessage::ToolResult(result) = Arc::make_mut(&mut messages[2]) else { panic!("no result") };
            let result = Arc::make_mut(result);
            (result.content, result.is_error) = (vec![Block::text(blank), Block::text(blank)], is_error);
            messages.push(LlmMessage::user(blank).into());
            let body = body(&Request { messages, ..request(api, "") });
            takes(api, &body).unwrap_or_else(|text| panic!("{blank:?} {is_error}: {text}: {body}"));
            assert!(body.to_string().contains("(empty)"), "{body}");
        }
    }
}

#[test]
fn every_tool_schema_is_an_object_without_alternatives() {
    let text = json!({"type": "string"});
    let both = json!({"type": "object", "properties": {"b": text}, "required": ["b"],
        "anyOf": [{"properties": {"a": text, "b": 7}}, {"required": ["b"]}]});
    let table = [
        (json!({}), json!({"type": "object", "properties": {}})),
        (json!(null), json!({"type": "object", "properties": {}})),
        (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
        (both, json!({"type": "object", "properties": {"b": text, "a": text}, "required": ["b"]})),
        (json!({"oneOf": [{"properties": {"a": text}}]}), json!({"type": "object", "properties": {"a": text}})),
        (
            json!({"$schema": "x", "type": "object", "properties": {"a": {"anyOf": [text]}}}),
            json!({"$schema": "x", "type": "object", "properties": {"a": {"anyOf": [text]}}}),
        ),
    ];
    for (parameters, fit) in table {
        for (api, pointer) in [
            ("anthropic-messages", "/tools/0/input_schema"),
            ("openai-completions", "/tools/0/function/parameters"),
            ("openai-responses", "/tools/0/parameters"),
            ("google-generative-ai", "/tools/0/functionDeclarations/0/parametersJsonSchema"),
        ] {
            let tools = vec![ToolDef { name: "ls".into(), parameters: parameters.clone(), ..ToolDef::default() }];
            check(&Request { tools, ..request(api, "") }, pointer, fit.clone());
        }
    }
}

#[test]
fn omits_thinking_that_only_its_server_knows_and_the_item_of_its_call() {
    let sent = |item: Value| {
        let mut messages = called("openai-responses", "m", Some(&item.to_string()), "ls");
        let LlmMessage::Assistant(answer) = Arc::make_mut(&mut messages[1]) else { panic!("no answer") };
        let Block::ToolCall(call) = &mut Arc::make_mut(answer).content[1] else { panic!("no call") };
        call.id = "c|fc_1".into();
        let body = body(&Request { messages, ..request("openai-responses", "") });
        let input = body["input"].as_array().unwrap().clone();
        let call = input.iter().find(|item| item["type"] == "function_call").unwrap();
        (input[1]["type"] == "reasoning", call["id"].as_str() == Some("fc_1"))
    };
    let named = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]});
    let with = |key: &str, value: Value| {
        let mut item = named.clone();
        item[key] = value;
        item
    };
    assert_eq!(sent(with("encrypted_content", json!("gAAA"))), (true, true));
    assert_eq!(sent(with("content", json!([{"type": "reasoning_text", "text": "hm"}]))), (true, true));
    assert_eq!(sent(with("encrypted_content", json!(null))), (false, false));
    assert_eq!(sent(named), (false, false));
}

#[test]
fn openrouter_gets_cache_markers_for_models_of_anthropic() {
    let ask = |base: &str, id: &str, cache| {
        let mut asked = Request { cache, ..request("openai-completions", base) };
        asked.model.id = id.into();
        asked
    };
    let base = "https://openrouter.ai/api/v1";
    let (claude, short) = ("anthropic/claude-sonnet-4.5", json!({"type": "ephemeral"}));
    check(&ask(base, claude, CacheRetention::Short), "/cache_control", short);
    check(&ask(base, claude, CacheRetention::Long), "/cache_control/ttl", json!("1h"));
    check(&ask(base, claude, CacheRetention::None), "/cache_control", json!(null));
    check(&ask(base, "openai/gpt-5", CacheRetention::Short), "/cache_control", json!(null));
    check(&ask("http://local/v1", claude, CacheRetention::Short), "/cache_control", json!(null));
}

#[test]
fn sends_thinking_only_back_to_its_own_model() {
    let sent = |api: &str, signature: &str, change: fn(&mut Request)| {
        let mut asked = Request { messages: called(api, "m", Some(signature), "ls"), ..request(api, "") };
        change(&mut asked);
        body(&asked).to_string().contains("hm")
    };
    let item =
        json!({"type": "reasoning", "id": "rs", "encrypted_content": "x", "summary": [{"text": "hm"}]}).to_string();
    for (api, signature) in [
        ("anthropic-messages", "sig"),
        ("openai-completions", "reasoning"),
        ("openai-responses", &item),
        ("google-generative-ai", "sig"),
    ] {
        assert!(sent(api, signature, |_| ()), "{api}");
        assert!(!sent(api, signature, |asked| asked.model.id = "other".into()), "{api}");
        assert!(!sent(api, signature, |asked| asked.model.provider = "other".into()), "{api}");
    }
}

#[test]
fn ids_are_valid_and_unique() {
    let long = |end: &str| format!("call_{}{end}", "x".repeat(80));
    let mut messages = vec![LlmMessage::user("hi")];
    for id in [long("a"), long("b"), "a.b".into(), "a:b".into()] {
        let call = ToolCall { id: id.clone(), name: "ls".into(), arguments: json!({}), ..ToolCall::default() };
        messages.push(LlmMessage::Assistant(
            AssistantMessage { content: vec![Block::ToolCall(call)], ..AssistantMessage::default() }.into(),
        ));
        let content = vec![Block::text("none")];
        messages.push(LlmMessage::ToolResult(
            ToolResultMessage { tool_call_id: id, content, ..ToolResultMessage::default() }.into(),
        ));
    }
    let messages: Vec<Arc<LlmMessage>> = messages.into_iter().map(Arc::new).collect();
    let ask = |api: &str| body(&Request { messages: messages.clone(), ..request(api, "") });
    order::anthropic(&ask("anthropic-messages")).unwrap();
    order::chat(&ask("openai-completions")).unwrap();
    order::responses(&ask("openai-responses")).unwrap();
}

#[test]
fn images_of_results_are_moved_or_replaced_by_text() {
    let image = Block::Image(ImageBlock { data: "cGljdHVyZQ==".into(), mime_type: "image/png".into() });
    for (api, pointer) in [
        ("anthropic-messages", "/messages/2/content/0/content/1/source/data"),
        ("openai-completions", "/messages/3/content/1/image_url/url"),
        ("openai-responses", "/input/2/output/1/image_url"),
        ("google-generative-ai", "/contents/3/parts/1/inlineData/data"),
    ] {
        let mut messages = called(api, "other", None, "ls");
        let LlmMessage::ToolResult(result) = Arc::make_mut(&mut messages[2]) else { panic!("no result") };
        Arc::make_mut(result).content.push(image.clone());
        let mut asked = Request { messages, ..request(api, "") };
        asked.model.input = vec![Input::Text, Input::Image];
        let seen = body(&asked);
        let data = seen.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} of {seen}"));
        assert!(data.ends_with("cGljdHVyZQ=="), "{data}");
        asked.model.input = vec![Input::Text];
        let blind = body(&asked).to_string();
        assert!(
            blind.contains("[image omitted: the model takes no images]") && !blind.contains("cGljdHVyZQ"),
            "{blind}"
        );
    }
}

#[test]
fn does_not_send_unsupported_options() {
    let rules = Compat {
        supports_temperature: Some(false),
        supports_forced_tool_choice: Some(false),
        supports_assistant_prefill: Some(false),
        always_thinks: Some(true),
        ..Compat::default()
    };
    let ask = |api: &str, compat: &Compat| {
        let mut asked =
            Request { temperature: Some(0.5), tool_choice: ToolChoice::Required, ..request(api, "https://x.test") };
        asked.tools = vec![ToolDef { name: "t".into(), ..ToolDef::default() }];
        asked.model.compat = compat.clone();
        asked
    };
    for (api, temperature, choice) in [
        ("anthropic-messages", "/temperature", "/tool_choice"),
        ("openai-completions", "/temperature", "/tool_choice"),
        ("openai-responses", "/temperature", "/tool_choice"),
        ("google-generative-ai", "/generationConfig/temperature", "/toolConfig"),
    ] {
        check(&ask(api, &Compat::default()), temperature, json!(0.5));
        assert!(body(&ask(api, &Compat::default())).pointer(choice).is_some(), "{api}");
        check(&ask(api, &rules), temperature, json!(null));
        check(&ask(api, &rules), choice, json!(null));
    }
    let mut claude = ask("anthropic-messages", &rules);
    claude.model.thinking_mode = ThinkingMode::Adaptive;
    check(&claude, "/output_config/effort", json!("low"));
    let said = AssistantMessage { content: vec![Block::text("so far")], ..AssistantMessage::default() };
    claude.messages.push(LlmMessage::from(said).into());
    let last = |asked: &Request| body(asked)["messages"].as_array().unwrap().last().unwrap()["role"].clone();
    assert_eq!(last(&claude), "user");
    claude.model.compat = Compat::default();
    assert_eq!(last(&claude), "assistant");
}

#[test]
fn every_difference_of_a_known_host_can_be_configured_for_a_proxy() {
    let mut asked = request("openai-completions", "https://proxy.test/v1");
    asked.model.reasoning = true;
    asked.session_id = Some("s".into());
    let call =
        ToolCall { id: "call_with_a_long_id".into(), name: "t".into(), arguments: json!({}), ..ToolCall::default() };
    let said = AssistantMessage { content: vec![Block::ToolCall(call)], ..AssistantMessage::default() };
    asked.messages.extend([LlmMessage::from(said), LlmMessage::user("a"), LlmMessage::user("b")].map(Arc::new));
    let plain = body(&asked);
    asked.model.compat = serde_json::from_value(json!({
        "requiresReasoningContentOnAssistantMessages": true, "requiresMistralToolIds": true, "requiresAlternatingRoles": true,
        "supportsPromptCacheKey": true, "cacheControlFormat": "anthropic", "maxTokensField": "max_tokens",
    }))
    .unwrap();
    let set = body(&asked);
    let messages = |body: &Value| body["messages"].as_array().unwrap().clone();
    let answer = |body: &Value| messages(body).into_iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!((answer(&plain).get("reasoning_content"), &answer(&set)["reasoning_content"]), (None, &json!("")));
    let id = |body: &Value| answer(body)["tool_calls"][0]["id"].as_str().unwrap().len();
    assert_eq!((id(&plain), id(&set)), (19, 9));
    assert_eq!(messages(&plain).len(), messages(&set).len() + 1, "two messages of a user became one");
    assert_eq!((plain.get("prompt_cache_key"), &set["prompt_cache_key"]), (None, &json!("s")));
    assert_eq!((plain.get("cache_control"), &set["cache_control"]), (None, &json!({"type": "ephemeral"})));
}
