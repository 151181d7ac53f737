//! The lines of a session file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sinew_llm::message::{AgentMessage, CommonMessage, Content};

use super::depth;
use super::scan::Head;
use super::whole_characters;

/// The current version.
pub(super) const VERSION: u64 = 3;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: String,
    /// 3; a file without a version has version 1.
    #[serde(default = "first")]
    pub version: u64,
    /// 16 hexadecimal digits in Sinew's files.
    pub id: String,
    /// The start time of the session.
    #[serde(default)]
    pub timestamp: String,
    /// The absolute working directory.
    #[serde(default)]
    pub cwd: String,
    /// The title; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `auto` or `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_source: Option<String>,
    /// The id of the session that this one was created from; a path in files of other programs; `None` without a
    /// parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

fn first() -> u64 {
    1
}

/// Any other line.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// 8 hexadecimal digits in Sinew's files, unique in the file.
    pub id: String,
    /// The previous entry on its branch; `None` for a root.
    pub parent_id: Option<String>,
    /// The time in ISO 8601.
    pub timestamp: String,
    /// The content.
    pub body: Body,
}

/// The content of an entry, identified by `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    /// A message of the conversation.
    Message {
        /// The message.
        message: AgentMessage,
    },
    /// Changes the thinking level.
    ThinkingLevelChange {
        /// `off` to `xhigh`.
        thinking_level: String,
    },
    /// Changes the model of a role.
    ModelChange {
        /// `provider/id`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
        /// The role; `None` means `default`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// The provider as other programs write it; merged into `model` by the reader.
        #[serde(default, skip_serializing)]
        provider: Option<String>,
        /// The id as other programs write it; merged into `model` by the reader.
        #[serde(default, skip_serializing)]
        model_id: Option<String>,
    },
    /// Changes the service tier.
    ServiceTierChange {
        /// The tier; `None` means the provider's default.
        service_tier: Option<String>,
    },
    /// A compaction: a summary replaces everything before it.
    #[serde(rename_all = "camelCase")]
    Compaction {
        /// The summary.
        summary: String,
        /// A one-line summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short_summary: Option<String>,
        /// The first entry that is kept unchanged.
        first_kept_entry_id: String,
        /// The number of tokens before the compaction.
        #[serde(default)]
        tokens_before: u64,
        /// `readFiles` and `modifiedFiles`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// Data that an extension needs at the next compaction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preserve_data: Option<Value>,
        /// True if an extension wrote the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_extension: Option<bool>,
    },
    /// The summary of a branch that was left.
    BranchSummary {
        /// The entry that the summary follows, or `root`.
        from_id: String,
        /// The summary.
        summary: String,
        /// `readFiles` and `modifiedFiles`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// True if an extension wrote the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_extension: Option<bool>,
    },
    /// The state of an extension, which models do not see.
    Custom {
        /// The extension's name for the kind.
        custom_type: String,
        /// The stored value.
        #[serde(default)]
        data: Value,
    },
    /// A message of an extension for the model.
    CustomMessage {
        /// The extension's name for the kind.
        custom_type: String,
        /// The content for the model.
        content: Content,
        /// True if the user sees it too.
        #[serde(default)]
        display: bool,
        /// Data for the extension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// The cause: the user or the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attribution: Option<String>,
    },
    /// A bookmark of the user.
    Label {
        /// The entry.
        target_id: String,
        /// The label; `None` removes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Rules that an answer violated and that were added to the context.
    TtsrInjection {
        /// The names of the rules.
        injected_rules: Vec<String>,
    },
    /// The start of a subagent.
    SessionInit {
        /// The system prompt.
        system_prompt: String,
        /// The task.
        task: String,
        /// The available tools.
        tools: Vec<String>,
        /// The schema of the answer, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    /// Changes the mode.
    ModeChange {
        /// `plan` or `none`.
        mode: String,
        /// Data of the mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Changes the enabled tools of MCP servers.
    McpToolSelection {
        /// The names of the tools.
        selected_tool_names: Vec<String>,
        /// The request prefix of MCP servers, as it is sent: unchanged each time the session is opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        front: Option<Value>,
    },
    /// Changes the title.
    SessionInfo {
        /// The title; empty removes it.
        #[serde(default)]
        title: String,
        /// The title as other programs write it; merged into `title` by the reader.
        #[serde(default, skip_serializing)]
        name: Option<String>,
        /// `auto` or `user`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title_source: Option<String>,
    },
    /// Shortens tool results in all later requests.
    Prune {
        /// The calls of these results.
        tool_call_ids: Vec<String>,
        /// The number of tokens saved.
        #[serde(default)]
        tokens: u64,
        /// The number of bytes of each result that are still sent, from its start and end; `None` sends only a note.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_bytes: Option<u64>,
    },
    /// An unknown type, which is preserved.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// Combines a head and a body.
fn entry_of(head: Head<'_>, body: Body) -> Entry {
    Entry {
        id: head.id.into_owned(),
        parent_id: head.parent_id.map(Cow::into_owned),
        timestamp: head.timestamp.map(Cow::into_owned).unwrap_or_default(),
        body,
    }
}

/// The most frequent kind of line: an ordinary message. Parsed in one pass, while any other line needs two or more.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(default, borrow)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    timestamp: Option<Cow<'a, str>>,
    message: CommonMessage,
}

impl Entry {
    /// Parses a line, without values that are nested too deeply. Lone surrogates become U+FFFD.
    pub(super) fn parse(line: &[u8]) -> Result<Entry, serde_json::Error> {
        let line = &*depth::without_deep(line);
        Entry::parse_shallow(line).or_else(|cause| match whole_characters::replaced(line) {
            Some(whole) => Entry::parse_shallow(&whole),
            None => Err(cause),
        })
    }

    fn parse_shallow(line: &[u8]) -> Result<Entry, serde_json::Error> {
        if let Ok(MessageLine { kind, id, parent_id, timestamp, message: CommonMessage(message) }) =
            serde_json::from_slice(line)
            && kind == "message"
        {
            return Ok(entry_of(Head { kind, id, parent_id, timestamp }, Body::Message { message }));
        }
        Entry::parse_any(line)
    }

    /// Parses a line of any kind.
    pub(super) fn parse_any(line: &[u8]) -> Result<Entry, serde_json::Error> {
        let head = Head::parse(line)?;
        let body: Body = serde_json::from_slice(line)?;
        Ok(entry_of(head, body.folded()))
    }

    /// Parses an entry whose type is known but whose fields are invalid: it is preserved, without values that are
    /// nested too deeply.
    pub(super) fn parse_unknown(line: &[u8]) -> Result<Entry, serde_json::Error> {
        Ok(entry_of(Head::parse(line)?, Body::Other(depth::parse(line)?)))
    }

    /// Returns the entry as an object, with fields in a readable order.
    pub(super) fn to_value(&self) -> Value {
        let body = match serde_json::to_value(&self.body) {
            Ok(Value::Object(body)) => body,
            // Every body is an object of strings, numbers and values, so serialising cannot fail.
            _ => Map::new(),
        };
        let mut object = Map::new();
        object.insert("type".into(), body.get("type").cloned().unwrap_or_default());
        object.insert("id".into(), self.id.clone().into());
        object.insert("parentId".into(), self.parent_id.clone().into());
        object.insert("timestamp".into(), self.timestamp.clone().into());
        for (key, value) in body {
            object.entry(key).or_insert(value);
        }
        name_twice(&mut object);
        Value::Object(object)
    }
}

/// Adds fields under the names that pi uses, and the other way round.
pub(super) fn name_twice(entry: &mut Map<String, Value>) {
    let text = |entry: &Map<String, Value>, name: &str| entry.get(name).and_then(Value::as_str).map(str::to_string);
    match entry.get("type").and_then(Value::as_str) {
        Some("session_info") => {
            let title = text(entry, "title").or_else(|| text(entry, "name")).unwrap_or_default();
            for name in ["title", "name"] {
                entry.entry(name).or_insert_with(|| title.clone().into());
            }
        }
        // pi has no roles: the model of another role does not answer.
        Some("model_change") if text(entry, "role").is_none_or(|role| role == "default") => {
            match (text(entry, "model"), text(entry, "provider"), text(entry, "modelId")) {
                (Some(model), None, None) => {
                    if let Some((provider, id)) = model.split_once('/') {
                        entry.insert("provider".into(), provider.into());
                        entry.insert("modelId".into(), id.into());
                    }
                }
                (None, Some(provider), Some(id)) => {
                    entry.insert("model".into(), format!("{provider}/{id}").into());
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// The role of an entry in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Compaction,
    BranchSummary,
    CustomMessage,
    /// Sets state.
    State,
    /// Never becomes the leaf after loading.
    Aside,
    /// In the tree, but not relevant for the context.
    Silent,
}

impl Kind {
    pub(super) fn of(name: &str) -> Kind {
        match name {
            "message" => Kind::Message,
            "compaction" => Kind::Compaction,
            "branch_summary" => Kind::BranchSummary,
            "custom_message" => Kind::CustomMessage,
            "thinking_level_change"
            | "model_change"
            | "service_tier_change"
            | "ttsr_injection"
            | "mode_change"
            | "mcp_tool_selection"
            | "prune" => Kind::State,
            "label" | "session_info" => Kind::Aside,
            _ => Kind::Silent,
        }
    }

    /// Returns true if the entry becomes a message of the context.
    pub(super) fn is_message(self) -> bool {
        matches!(self, Kind::Message | Kind::BranchSummary | Kind::CustomMessage)
    }
}

impl Body {
    /// Returns the `type` of the entry.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Body::Message { .. } => "message",
            Body::ThinkingLevelChange { .. } => "thinking_level_change",
            Body::ModelChange { .. } => "model_change",
            Body::ServiceTierChange { .. } => "service_tier_change",
            Body::Compaction { .. } => "compaction",
            Body::BranchSummary { .. } => "branch_summary",
            Body::Custom { .. } => "custom",
            Body::CustomMessage { .. } => "custom_message",
            Body::Label { .. } => "label",
            Body::TtsrInjection { .. } => "ttsr_injection",
            Body::SessionInit { .. } => "session_init",
            Body::ModeChange { .. } => "mode_change",
            Body::McpToolSelection { .. } => "mcp_tool_selection",
            Body::SessionInfo { .. } => "session_info",
            Body::Prune { .. } => "prune",
            Body::Other(fields) => fields.get("type").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// Converts the field names of other programs.
    pub(super) fn folded(mut self) -> Body {
        match &mut self {
            Body::ModelChange { model, provider, model_id, .. } => {
                if let (Some(provider), Some(id)) = (provider.take(), model_id.take())
                    && model.is_empty()
                {
                    *model = format!("{provider}/{id}");
                }
            }
            Body::SessionInfo { title, name, .. } => {
                if let (Some(name), true) = (name.take(), title.is_empty()) {
                    *title = name.split_whitespace().collect::<Vec<_>>().join(" ");
                }
            }
            _ => {}
        }
        self
    }

    /// Returns the role of the entry in the tree.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Body::Message { .. } => Kind::Message,
            Body::Compaction { .. } => Kind::Compaction,
            Body::BranchSummary { .. } => Kind::BranchSummary,
            Body::CustomMessage { .. } => Kind::CustomMessage,
            Body::ThinkingLevelChange { .. }
            | Body::ModelChange { .. }
            | Body::ServiceTierChange { .. }
            | Body::TtsrInjection { .. }
            | Body::ModeChange { .. }
            | Body::McpToolSelection { .. }
            | Body::Prune { .. } => Kind::State,
            Body::Label { .. } | Body::SessionInfo { .. } => Kind::Aside,
            Body::Custom { .. } | Body::SessionInit { .. } | Body::Other(_) => Kind::Silent,
        }
    }
}
