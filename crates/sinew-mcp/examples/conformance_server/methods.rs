//! The resources, prompts and completions that the suite requests.

use serde_json::{Map, Value, json};
use sinew_jsonrpc::RpcError;
use sinew_mcp::server::ServedMethods;

use super::PICTURE;

pub(super) struct Fixtures;

impl ServedMethods for Fixtures {
    fn capabilities(&self) -> Map<String, Value> {
        ["resources", "prompts", "completions"].map(|name| (name.to_string(), json!({}))).into_iter().collect()
    }

    fn answer(&self, method: &str, params: &Map<String, Value>) -> Option<Result<Value, RpcError>> {
        Some(match method {
            "resources/list" => Ok(kept(json!({"resources": [
                {"uri": "test://static-text", "name": "text", "description": "A text.", "mimeType": "text/plain"},
                {"uri": "test://static-binary", "name": "picture", "description": "A picture.", "mimeType": "image/png"},
            ]}))),
            "resources/templates/list" => Ok(kept(json!({"resourceTemplates": [
                {"uriTemplate": "test://template/{id}/data", "name": "data", "mimeType": "application/json"},
            ]}))),
            "resources/read" => read(params.get("uri").and_then(Value::as_str).unwrap_or_default()),
            "prompts/list" => Ok(kept(json!({"prompts": [
                {"name": "test_simple_prompt", "description": "A text."},
                {"name": "test_prompt_with_arguments", "description": "Two arguments.", "arguments": [
                    {"name": "arg1", "required": true}, {"name": "arg2", "required": true},
                ]},
                {"name": "test_prompt_with_embedded_resource", "description": "A resource.", "arguments": [
                    {"name": "resourceUri", "required": true},
                ]},
                {"name": "test_prompt_with_image", "description": "A picture."},
            ]}))),
            "prompts/get" => prompt(params),
            "completion/complete" => {
                Ok(json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}))
            }
            _ => return None,
        })
    }
}

fn kept(mut list: Value) -> Value {
    list["ttlMs"] = 1_000.into();
    list["cacheScope"] = "private".into();
    list
}

fn read(uri: &str) -> Result<Value, RpcError> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PICTURE}),
        (_, Some(id)) => {
            let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
            json!({"uri": uri, "mimeType": "application/json", "text": text})
        }
        _ => {
            let mut error = RpcError::invalid_params("Resource not found");
            error.data = serde_json::value::to_raw_value(&json!({ "uri": uri })).ok();
            return Err(error);
        }
    };
    Ok(kept(json!({ "contents": [content] })))
}

fn prompt(params: &Map<String, Value>) -> Result<Value, RpcError> {
    let arguments = params.get("arguments").cloned().unwrap_or_default();
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_string();
    let text = |text: String| json!({"type": "text", "text": text});
    let contents = match params.get("name").and_then(Value::as_str).unwrap_or_default() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".into())],
        "test_prompt_with_arguments" => {
            vec![text(format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing.",
            }}),
            text("Please process the embedded resource above.".into()),
        ],
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PICTURE, "mimeType": "image/png"}),
            text("Please analyze the image above.".into()),
        ],
        other => return Err(RpcError::invalid_params(format!("Unknown prompt: {other}"))),
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({"role": "user", "content": content})).collect();
    Ok(json!({ "messages": messages }))
}
