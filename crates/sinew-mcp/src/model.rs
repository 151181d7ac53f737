//! The data types of what servers offer and answer. Definitions keep the server's bytes and are parsed when they are
//! used, because most of a thousand tools are never used.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::era::Era;

/// A server's description of itself, as of the start of the connection.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The protocol era of the server.
    pub era: Era,
    /// True if the era is certain and can be cached. False if the server answered slowly and the handshake decided.
    pub era_certain: bool,
    /// The revision of the protocol.
    pub version: &'static str,
    /// The server's name; empty if it did not send one.
    pub name: String,
    /// The server's version; empty if it did not send one.
    pub server_version: String,
    /// The capabilities that the server declared.
    pub capabilities: Map<String, Value>,
    /// The server's instructions for the model; `None` if it has none.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// Returns true if the server declares a capability (`tools`, `resources`, `prompts`, `completions`).
    #[must_use]
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Returns true if the server reports changes of the list of `capability`.
    #[must_use]
    pub fn tells_changes_of(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| value["listChanged"] == true)
    }
}

/// A definition with a name: a tool, prompt or resource, as the server wrote it.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name; for a resource, its URI.
    pub name: String,
    /// The whole definition. Shared, since lists of a thousand definitions are copied often.
    pub raw: JsonPart,
}

/// A text that consists of parts. A part may be read when it is first used.
pub trait JsonText: Send + Sync {
    /// Returns the whole text.
    fn text(&self) -> &str;
}

impl JsonText for String {
    fn text(&self) -> &str {
        self
    }
}

/// A JSON text within a longer shared text: a thousand definitions are read from a file at once.
#[derive(Clone)]
pub struct JsonPart {
    whole: Arc<dyn JsonText>,
    range: Range<usize>,
}

impl JsonPart {
    /// Creates the part of `whole` in a byte range.
    #[must_use]
    pub fn new(whole: &Arc<dyn JsonText>, range: Range<usize>) -> JsonPart {
        JsonPart { whole: Arc::clone(whole), range }
    }

    /// Returns the text; `null` if the range is outside the text or splits a character.
    #[must_use]
    pub fn get(&self) -> &str {
        self.whole.text().get(self.range.clone()).unwrap_or("null")
    }

    /// Returns the length of the text in bytes, without reading it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.range.len()
    }
}

impl From<String> for JsonPart {
    fn from(text: String) -> JsonPart {
        JsonPart { range: 0..text.len(), whole: Arc::new(text) }
    }
}

impl fmt::Debug for JsonPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Definition {
    /// Reads a definition whose name is the member `key`. Returns `None` if there is no such string.
    #[must_use]
    pub fn new(raw: &RawValue, key: &str) -> Option<Definition> {
        let map: Map<String, Value> = serde_json::from_str(raw.get()).ok()?;
        let name = map.get(key)?.as_str()?.to_string();
        (!name.is_empty()).then(|| Definition { name, raw: raw.get().to_string().into() })
    }

    /// Parses the definition. Runs in time linear in its size; the result is not cached.
    #[must_use]
    pub fn value(&self) -> Value {
        // A definition that cannot be parsed, for example because it is too deep, has no usable members.
        serde_json::from_str(self.raw.get()).unwrap_or_default()
    }

    /// Returns the member `key`; empty if it is not a string.
    #[must_use]
    pub fn text(&self, key: &str) -> String {
        self.value()[key].as_str().unwrap_or_default().to_string()
    }
}

/// The result of a list.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The items in the server's order, with unique names.
    pub items: Vec<Definition>,
    /// Problems to show to the user: an unreadable page, items without a name, a limit.
    pub notes: Vec<String>,
}

/// The result of a tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    /// The content, in the server's order.
    pub content: Vec<Content>,
    /// `structuredContent` as the server wrote it; `None` if there is none.
    pub structured: Option<Box<RawValue>>,
    /// True if the tool failed; the content describes why.
    pub is_error: bool,
}

impl ToolResult {
    /// Returns the texts of the content, joined with line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|part| match part {
                Content::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// An image in Base64.
    Image {
        /// The Base64 data.
        data: String,
        /// The type, such as `image/png`.
        mime: String,
    },
    /// Sound in Base64.
    Audio {
        /// The Base64 data.
        data: String,
        /// The type, such as `audio/wav`.
        mime: String,
    },
    /// A resource that can be read with `resources/read`.
    Link {
        /// The URI.
        uri: String,
        /// The name; may be empty.
        name: String,
        /// The type; may be empty.
        mime: String,
    },
    /// An embedded resource.
    Resource(Resource),
    /// A content type of a later revision: the value of its `type`.
    Other(String),
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The type; may be empty.
    pub mime: String,
    /// Text, or bytes in Base64.
    pub body: ResourceBody,
}

/// The body of a [`Resource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes in Base64.
    Blob(String),
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    /// The role: `user` or `assistant`.
    pub role: String,
    /// The content.
    pub content: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireToolResult<'a> {
    #[serde(default)]
    content: Value,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Reads the result of `tools/call`.
pub(crate) fn tool_result(raw: &RawValue) -> Result<ToolResult, String> {
    let wire: WireToolResult<'_> =
        serde_json::from_str(raw.get()).map_err(|error| format!("invalid result: {error}"))?;
    Ok(ToolResult {
        content: match wire.content {
            Value::Null => Vec::new(),
            // Some servers return the text or the block alone.
            Value::String(text) => vec![Content::Text(text)],
            Value::Array(parts) => parts.iter().map(content).collect(),
            part @ Value::Object(_) => vec![content(&part)],
            other => return Err(format!("invalid result: the content is {other}")),
        },
        structured: wire.structured_content.map(RawValue::to_owned),
        is_error: wire.is_error.unwrap_or(false),
    })
}

/// Reads the result of `resources/read`.
pub(crate) fn resource_result(raw: &RawValue) -> Result<Vec<Resource>, String> {
    let value: Value = parse(raw)?;
    let contents = value["contents"].as_array().ok_or("a resource without contents")?;
    Ok(contents.iter().map(resource).collect())
}

/// Reads the result of `prompts/get`.
pub(crate) fn prompt_result(raw: &RawValue) -> Result<Vec<PromptMessage>, String> {
    let value: Value = parse(raw)?;
    let messages = value["messages"].as_array().ok_or("a prompt without messages")?;
    Ok(messages
        .iter()
        .map(|message| PromptMessage { role: text(message, "role"), content: content(&message["content"]) })
        .collect())
}

fn parse(raw: &RawValue) -> Result<Value, String> {
    serde_json::from_str(raw.get()).map_err(|error| format!("invalid result: {error}"))
}

fn content(part: &Value) -> Content {
    if let Some(text) = part.as_str() {
        return Content::Text(text.to_string());
    }
    let kind = text(part, "type");
    match kind.as_str() {
        "text" => Content::Text(text(part, "text")),
        "image" => Content::Image { data: text(part, "data"), mime: text(part, "mimeType") },
        "audio" => Content::Audio { data: text(part, "data"), mime: text(part, "mimeType") },
        "resource_link" => {
            Content::Link { uri: text(part, "uri"), name: text(part, "name"), mime: text(part, "mimeType") }
        }
        "resource" => Content::Resource(resource(&part["resource"])),
        _ => Content::Other(kind),
    }
}

fn resource(part: &Value) -> Resource {
    let body = match part["blob"].as_str() {
        Some(blob) => ResourceBody::Blob(blob.to_string()),
        None => ResourceBody::Text(text(part, "text")),
    };
    Resource { uri: text(part, "uri"), mime: text(part, "mimeType"), body }
}

fn text(part: &Value, key: &str) -> String {
    part[key].as_str().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &str, expect: Result<&[&str], &str>) {
        let raw = RawValue::from_string(result.to_string()).unwrap();
        let texts = tool_result(&raw).map(|result| {
            let text = |content: &Content| match content {
                Content::Text(text) => text.clone(),
                other => format!("{other:?}"),
            };
            result.content.iter().map(text).collect::<Vec<_>>()
        });
        match (texts, expect) {
            (Ok(texts), Ok(expect)) => assert_eq!(texts, expect, "{result}"),
            (Err(error), Err(expect)) => assert_eq!(error, expect, "{result}"),
            (texts, _) => panic!("{result}: {texts:?}"),
        }
    }

    #[test]
    fn accepts_a_text_or_a_block_without_a_list() {
        check(r#"{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}"#, Ok(&["a", "b"]));
        check(r#"{"content": "a"}"#, Ok(&["a"]));
        check(r#"{"content": ["a", {"type": "text", "text": "b"}]}"#, Ok(&["a", "b"]));
        check(r#"{"content": {"type": "text", "text": "a"}}"#, Ok(&["a"]));
        check(r#"{"content": null}"#, Ok(&[]));
        check("{}", Ok(&[]));
        check(r#"{"content": 7}"#, Err("invalid result: the content is 7"));
    }
}
