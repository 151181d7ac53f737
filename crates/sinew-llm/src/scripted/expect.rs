//! Expectations of a script about a request.

use serde::Deserialize;

use crate::message::{LlmMessage, text_of};
use crate::model::ThinkingLevel;
use crate::provider::Request;

/// All given values must match.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Expect {
    last_role: Option<String>,
    last_contains: Option<String>,
    any_contains: Option<String>,
    system_contains: Option<String>,
    messages: Option<usize>,
    tools: Vec<String>,
    no_tools: Option<bool>,
    tool_result: Option<ExpectedResult>,
    thinking: Option<ThinkingLevel>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ExpectedResult {
    id: Option<String>,
    contains: Option<String>,
    is_error: Option<bool>,
}

impl Expect {
    /// Compares a request; the error contains the expected and the actual value of the first field that differs.
    pub(super) fn check(&self, request: &Request) -> Result<(), (String, String)> {
        let last = request.conversation().last();
        if let Some(role) = &self.last_role {
            let got = last.map_or("no message", LlmMessage::role);
            equal("lastRole", role, got)?;
        }
        if let Some(part) = &self.last_contains {
            contains("lastContains", part, &last.map(text).unwrap_or_default())?;
        }
        if let Some(part) = &self.any_contains
            && !request.conversation().any(|message| text(message).contains(part))
        {
            return Err((format!("anyContains \"{part}\""), format!("{} messages without it", request.messages.len())));
        }
        if let Some(part) = &self.system_contains {
            let system: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
            contains("systemContains", part, &system.join("\n\n"))?;
        }
        if let Some(count) = self.messages {
            equal("messages", &count.to_string(), &request.messages.len().to_string())?;
        }
        let offered: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        if let Some(missing) = self.tools.iter().find(|name| !offered.contains(&name.as_str())) {
            return Err((format!("tools with \"{missing}\""), format!("[{}]", offered.join(", "))));
        }
        if self.no_tools == Some(true) && !offered.is_empty() {
            return Err(("noTools".to_string(), format!("[{}]", offered.join(", "))));
        }
        if let Some(result) = &self.tool_result {
            result.check(request)?;
        }
        if let Some(level) = self.thinking {
            equal("thinking", level.as_str(), request.thinking.as_str())?;
        }
        Ok(())
    }
}

impl ExpectedResult {
    fn check(&self, request: &Request) -> Result<(), (String, String)> {
        let results = request.conversation().rev().filter_map(|message| match message {
            LlmMessage::ToolResult(result) => Some(result),
            _ => None,
        });
        let wanted = |id: &String| self.id.as_ref().is_none_or(|known| known == id);
        let named = self.id.as_deref().unwrap_or("any id");
        let Some(result) = results.into_iter().find(|result| wanted(&result.tool_call_id)) else {
            return Err((format!("toolResult of {named}"), "none".to_string()));
        };
        if let Some(part) = &self.contains {
            contains("toolResult.contains", part, &text_of(&result.content))?;
        }
        if let Some(error) = self.is_error {
            equal("toolResult.isError", &error.to_string(), &result.is_error.to_string())?;
        }
        Ok(())
    }
}

fn text(message: &LlmMessage) -> String {
    match message {
        LlmMessage::User(message) => message.content.text(),
        LlmMessage::Assistant(message) => text_of(&message.content),
        LlmMessage::ToolResult(message) => text_of(&message.content),
    }
}

fn equal(what: &str, expected: &str, got: &str) -> Result<(), (String, String)> {
    if expected == got { Ok(()) } else { Err((format!("{what} {expected}"), got.to_string())) }
}

fn contains(what: &str, part: &str, got: &str) -> Result<(), (String, String)> {
    if got.contains(part) {
        return Ok(());
    }
    let shown: String = got.chars().take(200).collect();
    Err((format!("{what} \"{part}\""), format!("\"{shown}\"")))
}
