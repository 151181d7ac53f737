//! The tools that the suite calls.

use std::sync::Arc;

use serde_json::{Value, json};
use sinew_mcp::server::{ServedCall, ServedOutput, ServedTool};
use sinew_mcp::{BoxFuture, Progress};

use super::PICTURE;

/// Silent audio, as WAV in Base64.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

struct Fixture {
    name: &'static str,
    schema: Value,
    needs: &'static [&'static str],
    run: fn(&ServedCall) -> ServedOutput,
}

impl ServedTool for Fixture {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "A fixture of the conformance suite."
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn needs(&self) -> &[&'static str] {
        self.needs
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput> {
        Box::pin(std::future::ready((self.run)(&call)))
    }
}

pub(super) fn all() -> Vec<Arc<dyn ServedTool>> {
    let plain = |name, run: fn(&ServedCall) -> ServedOutput| Fixture {
        name,
        schema: json!({"type": "object"}),
        needs: &[],
        run,
    };
    let tools = vec![
        plain("test_simple_text", |_| text("This is a simple text response for testing.")),
        plain("test_image_content", |_| blocks(vec![picture()])),
        plain("test_audio_content", |_| blocks(vec![json!({"type": "audio", "data": SOUND, "mimeType": "audio/wav"})])),
        plain("test_embedded_resource", |_| {
            blocks(vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
        }),
        plain("test_multiple_content_types", |_| ServedOutput {
            text: "Multiple content types test:".into(),
            content: vec![
                picture(),
                resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
            ],
            ..ServedOutput::default()
        }),
        plain("test_error_handling", |_| ServedOutput::error("This tool intentionally returns an error for testing")),
        plain("test_tool_with_progress", |call| {
            for progress in [0.0, 50.0, 100.0] {
                call.progress.report(&Progress { progress, total: Some(100.0), message: None });
            }
            text("done")
        }),
        plain("test_streaming_elicitation", |_| text("This server asks nobody anything.")),
        plain("test_logging_tool", |_| text("This server logs nothing.")),
        Fixture { needs: &["sampling"], ..plain("test_missing_capability", |_| text("sampled")) },
        Fixture {
            schema: json!({
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
                "required": ["region"],
            }),
            ..plain("test_header", |call| text(&json!(call.arguments).to_string()))
        },
        Fixture { schema: schema_of_2020(), ..plain("json_schema_2020_12_tool", |_| text("ok")) },
    ];
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn ServedTool>).collect()
}

fn text(text: &str) -> ServedOutput {
    ServedOutput { text: text.into(), ..ServedOutput::default() }
}

fn blocks(content: Vec<Value>) -> ServedOutput {
    ServedOutput { content, ..ServedOutput::default() }
}

fn picture() -> Value {
    json!({"type": "image", "data": PICTURE, "mimeType": "image/png"})
}

fn resource(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

/// JSON Schema keywords that a server must preserve.
fn schema_of_2020() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
