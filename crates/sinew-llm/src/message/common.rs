//! Parses the formats of nearly all messages in one pass.
//!
//! The derived parsers of [`AgentMessage`] and [`Block`] buffer each message until they have read the key that
//! identifies its kind, which may be at the end, and then parse it again for each level. Here all fields of all kinds
//! are parsed as they arrive, and anything else is an error, after which the caller parses the message as an
//! [`AgentMessage`]. Both parsers return equal results.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{
    AgentMessage, AssistantMessage, Block, Content, ErrorInfo, ImageBlock, StopReason, TextBlock, ThinkingBlock,
    ToolCall, ToolResultMessage, Usage, UserMessage, empty_object,
};

/// A message of the three roles that models support, with the four kinds of blocks. Any other message is an error.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonMessage(pub AgentMessage);

impl<'de> Deserialize<'de> for CommonMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CommonMessage, D::Error> {
        let fields: MessageFields<'de> = object(deserializer)?;
        fields.message().map(CommonMessage).ok_or_else(|| D::Error::custom("no common message"))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageFields<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    content: CommonContent,
    #[serde(default)]
    timestamp: i64,
    #[serde(default)]
    api: String,
    #[serde(default)]
    provider: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    stop_reason: StopReason,
    #[serde(default)]
    error_message: Option<String>,
    #[serde(default)]
    error: Option<ErrorInfo>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    details: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

impl MessageFields<'_> {
    fn message(self) -> Option<AgentMessage> {
        let CommonContent(content) = self.content;
        let timestamp = self.timestamp;
        match (&*self.role, content) {
            ("user", content) => Some(UserMessage { content, timestamp }.into()),
            ("assistant", Content::Blocks(content)) => Some(AgentMessage::from(AssistantMessage {
                content,
                api: self.api,
                provider: self.provider,
                model: self.model,
                usage: self.usage,
                stop_reason: self.stop_reason,
                error_message: self.error_message,
                error: self.error,
                timestamp,
                paused: false,
                unknown_end: None,
            })),
            ("toolResult", Content::Blocks(content)) => Some(AgentMessage::from(ToolResultMessage {
                tool_call_id: self.tool_call_id?,
                tool_name: self.tool_name,
                content,
                details: self.details,
                is_error: self.is_error,
                timestamp,
            })),
            _ => None,
        }
    }
}

struct CommonContent(Content);

impl<'de> Deserialize<'de> for CommonContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CommonContent, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CommonContent;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or blocks")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<CommonContent, E> {
                Ok(CommonContent(Content::Text(text.to_string())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CommonContent, A::Error> {
                let mut blocks = Vec::new();
                while let Some(CommonBlock(block)) = list.next_element()? {
                    // Most messages have one block.
                    if blocks.is_empty() {
                        blocks.reserve_exact(1);
                    }
                    blocks.push(block);
                }
                Ok(CommonContent(Content::Blocks(blocks)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

struct CommonBlock(Block);

impl<'de> Deserialize<'de> for CommonBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CommonBlock, D::Error> {
        let fields: BlockFields<'de> = object(deserializer)?;
        fields.block().map(CommonBlock).ok_or_else(|| D::Error::custom("no common block"))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockFields<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    thinking_signature: Option<String>,
    #[serde(default)]
    redacted: bool,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default = "empty_object")]
    arguments: Value,
    #[serde(default)]
    thought_signature: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    mime_type: Option<String>,
}

impl BlockFields<'_> {
    fn block(self) -> Option<Block> {
        Some(match &*self.kind {
            "text" => Block::Text(TextBlock { text: self.text?, signature: self.signature }),
            "thinking" => Block::Thinking(ThinkingBlock {
                thinking: self.thinking?,
                thinking_signature: self.thinking_signature,
                redacted: self.redacted,
            }),
            "toolCall" => Block::ToolCall(ToolCall {
                id: self.id?,
                name: self.name?,
                arguments: self.arguments,
                thought_signature: self.thought_signature,
                partial_json: self.partial_json,
                invalid_arguments: None,
            }),
            "image" => Block::Image(ImageBlock { data: self.data?, mime_type: self.mime_type? }),
            _ => return None,
        })
    }
}

/// Parses fields from an object only; serde would also accept a list of their values, whose order differs here.
fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_map(Object(PhantomData))
}

#[cfg(test)]
mod tests;
