//! The lines of a session file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sinew_llm::message::{AgentMessage, Common, Content};

use super::depth;
use super::scan::Head;
use super::whole_characters;

/// The version that this program writes.
pub(super) const VERSION: u64 = 3;

/// Line 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: String,
    /// 3; a file without it is of version 1.
    #[serde(default = "first")]
    pub version: u64,
    /// 16 hex digits in files of ours.
    pub id: String,
    /// The start of the session.
    #[serde(default)]
    pub timestamp: String,
    /// The absolute folder in which it works.
    #[serde(default)]
    pub cwd: String,
    /// The title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `auto` or `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_source: Option<String>,
    /// The id of the session that this one was made from; a path in files of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

fn first() -> u64 {
    1
}

/// Any other line.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// 8 hex digits in files of ours, unique in the file.
    pub id: String,
    /// The entry before it on its branch.
    pub parent_id: Option<String>,
    /// Its time, ISO 8601.
    pub timestamp: String,
    /// Its content.
    pub body: Body,
}

/// The content of an entry, told apart by `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    /// A message of the conversation.
    Message {
        /// The message.
        message: AgentMessage,
    },
    /// The thinking level from here on.
    ThinkingLevelChange {
        /// `off` to `xhigh`.
        thinking_level: String,
    },
    /// The model of a role from here on.
    ModelChange {
        /// `provider/id`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
        /// The role; absent is `default`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// The provider as another program writes it; folded into `model` when read.
        #[serde(default, skip_serializing)]
        provider: Option<String>,
        /// The id as another program writes it; folded into `model` when read.
        #[serde(default, skip_serializing)]
        model_id: Option<String>,
    },
    /// The service tier from here on.
    ServiceTierChange {
        /// The tier; null is the provider's default.
        service_tier: Option<String>,
    },
    /// A compaction: everything before it is replaced by a summary.
    #[serde(rename_all = "camelCase")]
    Compaction {
        /// The summary.
        summary: String,
        /// One line of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short_summary: Option<String>,
        /// From here on the entries stay as they are.
        first_kept_entry_id: String,
        /// The number of tokens that the context had.
        #[serde(default)]
        tokens_before: u64,
        /// `readFiles` and `modifiedFiles`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// The value that an extension wants back at the next compaction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preserve_data: Option<Value>,
        /// An extension wrote the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_extension: Option<bool>,
    },
    /// A summary of a branch that was left.
    BranchSummary {
        /// The entry behind which it stands, or `root`.
        from_id: String,
        /// The summary.
        summary: String,
        /// `readFiles` and `modifiedFiles`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// An extension wrote the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_extension: Option<bool>,
    },
    /// The state of an extension; no model sees it.
    Custom {
        /// The extension's own name of the kind.
        custom_type: String,
        /// The value that it keeps.
        #[serde(default)]
        data: Value,
    },
    /// A message of an extension that the model sees.
    CustomMessage {
        /// The extension's own name of the kind.
        custom_type: String,
        /// The content that the model reads.
        content: Content,
        /// The user sees it too.
        #[serde(default)]
        display: bool,
        /// Facts for the extension.
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
        /// Its label; absent clears it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Rules that a stream broke and that were put into the context.
    TtsrInjection {
        /// Their names.
        injected_rules: Vec<String>,
    },
    /// The start of a subagent.
    SessionInit {
        /// Its system prompt.
        system_prompt: String,
        /// Its task.
        task: String,
        /// The tools it has.
        tools: Vec<String>,
        /// The shape of its answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    /// The mode from here on.
    ModeChange {
        /// `plan` or `none`.
        mode: String,
        /// The value that the mode keeps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// The tools of MCP servers that are on from here.
    McpToolSelection {
        /// Their names.
        selected_tool_names: Vec<String>,
        /// Their part in front of requests, as it is sent: the same each time the session is opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        front: Option<Value>,
    },
    /// A new title.
    SessionInfo {
        /// The title; empty takes it away.
        #[serde(default)]
        title: String,
        /// The title as another program writes it; folded into `title` when read.
        #[serde(default, skip_serializing)]
        name: Option<String>,
        /// `auto` or `user`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title_source: Option<String>,
    },
    /// Results of tools that are sent shortened from here on.
    Prune {
        /// The calls whose results they are.
        tool_call_ids: Vec<String>,
        /// The number of tokens that this saves.
        #[serde(default)]
        tokens: u64,
        /// The bytes of each result that are sent all the same, its beginning and its end; `None`: a note alone is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_bytes: Option<u64>,
    },
    /// A type that this program does not know: kept as it is.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// An entry of a head and a body.
fn entry_of(head: Head<'_>, body: Body) -> Entry {
    Entry {
        id: head.id.into_owned(),
        parent_id: head.parent_id.map(Cow::into_owned),
        timestamp: head.timestamp.map(Cow::into_owned).unwrap_or_default(),
        body,
    }
}

/// Nearly every line: a message of the common kind. Read in one pass, where any other line takes two or more.
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
    message: Common,
}

impl Entry {
    /// Reads a line, without what nests too deep. Half a character is U+FFFD.
    pub(super) fn parse(line: &[u8]) -> Result<Entry, serde_json::Error> {
        let line = &*depth::without_deep(line);
        Entry::parse_shallow(line).or_else(|cause| match whole_characters::replaced(line) {
            Some(whole) => Entry::parse_shallow(&whole),
            None => Err(cause),
        })
    }

    fn parse_shallow(line: &[u8]) -> Result<Entry, serde_json::Error> {
        if let Ok(MessageLine { kind, id, parent_id, timestamp, message: Common(message) }) =
            serde_json::from_slice(line)
            && kind == "message"
        {
            return Ok(entry_of(Head { kind, id, parent_id, timestamp }, Body::Message { message }));
        }
        Entry::parse_any(line)
    }

    /// Reads a line of any kind and shape.
    pub(super) fn parse_any(line: &[u8]) -> Result<Entry, serde_json::Error> {
        let head = Head::parse(line)?;
        let body: Body = serde_json::from_slice(line)?;
        Ok(entry_of(head, body.folded()))
    }

    /// An entry whose type is known but whose shape is not: kept as it is, without what nests too deep.
    pub(super) fn parse_unknown(line: &[u8]) -> Result<Entry, serde_json::Error> {
        Ok(entry_of(Head::parse(line)?, Body::Other(depth::parse(line)?)))
    }

    /// The entry as an object, in the order in which a person would read it.
    pub(super) fn to_value(&self) -> Value {
        let body = match serde_json::to_value(&self.body) {
            Ok(Value::Object(body)) => body,
            // Every body is an object of strings, numbers and values: there is nothing that could fail.
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

/// Gives an entry that has a field under our name the same under the name that pi reads, and the other way round.
pub(super) fn name_twice(entry: &mut Map<String, Value>) {
    let text = |entry: &Map<String, Value>, name: &str| entry.get(name).and_then(Value::as_str).map(str::to_string);
    match entry.get("type").and_then(Value::as_str) {
        Some("session_info") => {
            let title = text(entry, "title").or_else(|| text(entry, "name")).unwrap_or_default();
            for name in ["title", "name"] {
                entry.entry(name).or_insert_with(|| title.clone().into());
            }
        }
        // It knows no roles: the model of another one is none that answers.
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
    /// Sets something from here on.
    State,
    /// Never the leaf after a load.
    Aside,
    /// In the tree, but with nothing for the context.
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
    /// The `type` of the entry.
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

    /// The body with what other programs name otherwise under our names.
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

    /// The `type` of the entry as the file has it.
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
