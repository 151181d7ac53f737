//! Tests of tool properties whose names no provider accepts, over real sockets in every protocol.

use serde_json::{Map, Value, json};
use sinew_llm::http::HttpClient;
use sinew_llm::{AssistantMessage, LlmMessage, Model, Request, ToolDef, wire};
use sinew_testkit::provider::{Reply, Server};
use tokio_util::sync::CancellationToken;

const APIS: [&str; 4] = ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

fn tool() -> ToolDef {
    let filter = json!({"type": "object", "properties": {"@type": {"type": "string"}}, "required": ["@type"]});
    let parameters = json!({
        "type": "object",
        "properties": {"filter[bundleId]": {"type": "array", "items": filter}, "plain": {"type": "string"}},
        "required": ["filter[bundleId]"],
    });
    ToolDef { name: "apps".into(), description: "lists".into(), parameters, ..ToolDef::default() }
}

fn request(api: &str, base_url: &str, messages: Vec<LlmMessage>) -> Request {
    let model =
        Model { id: "m".into(), api: api.into(), provider: "p".into(), base_url: base_url.into(), ..Model::default() };
    Request {
        model,
        messages: messages.into_iter().map(Into::into).collect(),
        tools: vec![tool()],
        ..Request::default()
    }
}

/// The schema of the only tool in a request.
fn schema(api: &str, body: &Value) -> Value {
    let at = match api {
        "anthropic-messages" => "/tools/0/input_schema",
        "openai-completions" => "/tools/0/function/parameters",
        "openai-responses" => "/tools/0/parameters",
        _ => "/tools/0/functionDeclarations/0/parametersJsonSchema",
    };
    body.pointer(at).unwrap_or_else(|| panic!("{api}: {body}")).clone()
}

/// An answer that calls the tool with the given arguments.
fn answer(api: &str, arguments: &Value) -> String {
    let text = arguments.to_string();
    let events = match api {
        "anthropic-messages" => vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "apps", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_stop"}),
        ],
        "openai-completions" => vec![json!({"choices": [{"finish_reason": "tool_calls",
            "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "apps", "arguments": text}}]}}]})],
        "openai-responses" => vec![
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "apps", "arguments": text}}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ],
        _ => vec![json!({"candidates": [{"finishReason": "STOP",
            "content": {"parts": [{"functionCall": {"name": "apps", "args": arguments}}]}}]})],
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

async fn ask(api: &str, request: impl Fn(&str) -> Request, body: String) -> (AssistantMessage, Value) {
    let server = Server::replies(vec![Reply::stream(body)]);
    let request = request(&server.url());
    let provider = wire::provider(api, HttpClient::default()).unwrap();
    let message = provider.stream(request, CancellationToken::new()).result().await;
    (message, server.requests()[0].json())
}

/// Returns the name of the only property besides `plain`.
fn renamed(schema: &Value) -> String {
    let names = schema["properties"].as_object().unwrap().keys();
    let names: Vec<&String> = names.filter(|name| *name != "plain").collect();
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    assert!(names.len() == 1 && names[0].len() <= 64 && names[0].bytes().all(fine), "{names:?}");
    names[0].clone()
}

#[tokio::test]
async fn renames_unaccepted_properties_only_on_the_wire() {
    for api in APIS {
        let begin = |url: &str| request(api, url, vec![LlmMessage::user("hi")]);
        let body: Value = serde_json::from_slice(&wire::request_body(&begin("http://h")).unwrap()).unwrap();
        let outer = schema(api, &body);
        let filter = renamed(&outer);
        let inner = outer["properties"][&filter]["items"].clone();
        let kind = renamed(&inner);
        assert_eq!((&outer["required"], &inner["required"]), (&json!([filter]), &json!([kind])), "{api}");
        let item: Map<String, Value> = Map::from_iter([(kind, json!("app"))]);
        let sent = json!({filter.clone(): [item], "plain": "@type"});
        let (message, _) = ask(api, begin, answer(api, &sent)).await;
        // All code above the wire sees the original names.
        let own = json!({"filter[bundleId]": [{"@type": "app"}], "plain": "@type"});
        let call = message.tool_calls().next().unwrap_or_else(|| panic!("{api}: {message:?}")).clone();
        assert_eq!(call.arguments, own, "{api}");
        // A model that uses the original names anyway is understood.
        let (direct, _) = ask(api, begin, answer(api, &own)).await;
        assert_eq!(direct.tool_calls().next().unwrap().arguments, own, "{api}");
        // In the next request, the call has the same names as the schema.
        let again = |url: &str| request(api, url, vec![LlmMessage::user("hi"), message.clone().into()]);
        let (_, body) = ask(api, again, answer(api, &sent)).await;
        assert_eq!(schema(api, &body), outer, "{api}");
        let (text, escaped) = (body.to_string(), sent.to_string());
        let escaped = escaped.replace('"', "\\\"");
        assert!(text.contains(&sent.to_string()) || text.contains(&escaped), "{api}: {text}");
    }
}
