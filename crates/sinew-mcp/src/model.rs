//! Offers and answers of servers. Definitions keep the server's bytes and are read when somebody asks: most of a
//! thousand tools are never looked at.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::era::Era;

/// The description that a server gave of itself when the connection was made.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The protocol era of the server.
    pub era: Era,
    /// True if the era is a fact of the server, to be kept. False where it was slow to answer and shook hands
    /// meanwhile.
    pub era_certain: bool,
    /// The revision of the protocol.
    pub version: &'static str,
    /// Its name; empty where it gave none.
    pub name: String,
    /// Its own version; empty where it gave none.
    pub server_version: String,
    /// Its capabilities, as it said.
    pub capabilities: Map<String, Value>,
    /// Guidance for its use, for the model.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// Returns true if the server declares a capability (`tools`, `resources`, `prompts`, `completions`).
    #[must_use]
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Returns true if the server tells when the list of `capability` changes.
    #[must_use]
    pub fn tells_changes_of(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| value["listChanged"] == true)
    }
}

/// A definition with a name: a tool, prompt or resource, as the server wrote it.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Its name; of a resource the address.
    pub name: String,
    /// The whole definition. Shared: lists of a thousand are made for each question about them.
    pub raw: JsonPart,
}

/// A text that parts are cut from. It may be read when the first of them is looked at.
pub trait JsonText: Send + Sync {
    /// The whole text.
    fn text(&self) -> &str;
}

impl JsonText for String {
    fn text(&self) -> &str {
        self
    }
}

/// A JSON text within a longer text that others share: a thousand definitions are read from a file as one piece.
#[derive(Clone)]
pub struct JsonPart {
    whole: Arc<dyn JsonText>,
    range: Range<usize>,
}

impl JsonPart {
    /// The part of `whole` in a range of bytes.
    #[must_use]
    pub fn new(whole: &Arc<dyn JsonText>, range: Range<usize>) -> JsonPart {
        JsonPart { whole: Arc::clone(whole), range }
    }

    /// The text; `null` where the range is not within the whole, or cuts a character.
    #[must_use]
    pub fn get(&self) -> &str {
        self.whole.text().get(self.range.clone()).unwrap_or("null")
    }

    /// The length of the text in bytes, which reads nothing.
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
    /// Reads a definition whose name is the member `key`. None where there is no such string.
    #[must_use]
    pub fn new(raw: &RawValue, key: &str) -> Option<Definition> {
        let map: Map<String, Value> = serde_json::from_str(raw.get()).ok()?;
        let name = map.get(key)?.as_str()?.to_string();
        (!name.is_empty()).then(|| Definition { name, raw: raw.get().to_string().into() })
    }

    /// The definition as a tree. Linear in its size; nothing of it is kept.
    #[must_use]
    pub fn value(&self) -> Value {
        // Too deep or otherwise odd for a tree: it has no members that could be used.
        serde_json::from_str(self.raw.get()).unwrap_or_default()
    }

    /// The member `key` where it is a string; empty otherwise.
    #[must_use]
    pub fn text(&self, key: &str) -> String {
        self.value()[key].as_str().unwrap_or_default().to_string()
    }
}

/// The result of a list.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// In the server's order, each name once.
    pub items: Vec<Definition>,
    /// Oddities for the user: a page that could not be read, items without a name, a limit.
    pub notes: Vec<String>,
}

/// The result of a tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    /// In the server's order.
    pub content: Vec<Content>,
    /// `structuredContent` as the server wrote it.
    pub structured: Option<Box<RawValue>>,
    /// The tool failed; the content tells why.
    pub is_error: bool,
}

impl ToolResult {
    /// The texts of the content, with line breaks between them.
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
    /// A picture in Base64.
    Image {
        /// Base64.
        data: String,
        /// `image/png`.
        mime: String,
    },
    /// Sound in Base64.
    Audio {
        /// Base64.
        data: String,
        /// `audio/wav`.
        mime: String,
    },
    /// Something that can be read with `resources/read`.
    Link {
        /// Its address.
        uri: String,
        /// Its name; may be empty.
        name: String,
        /// Its type; may be empty.
        mime: String,
    },
    /// A resource that came along.
    Resource(Resource),
    /// A kind of a later revision: its `type`.
    Other(String),
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its type; may be empty.
    pub mime: String,
    /// Text, or bytes in Base64.
    pub body: ResourceBody,
}

/// See [`Resource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes in Base64.
    Blob(String),
}

/// A message of a prompt: role (`user`, `assistant`) and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// One part.
    pub content: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireToolResult<'a> {
    #[serde(default)]
    content: Option<Vec<Value>>,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Reads the result of `tools/call`.
pub(crate) fn tool_result(raw: &RawValue) -> Result<ToolResult, String> {
    let wire: WireToolResult<'_> =
        serde_json::from_str(raw.get()).map_err(|error| format!("a result that cannot be read: {error}"))?;
    Ok(ToolResult {
        content: wire.content.unwrap_or_default().iter().map(content).collect(),
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
    serde_json::from_str(raw.get()).map_err(|error| format!("a result that cannot be read: {error}"))
}

fn content(part: &Value) -> Content {
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
