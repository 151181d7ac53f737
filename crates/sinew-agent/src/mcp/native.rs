//! The tools that a search found, for providers that load tools into a conversation by themselves.
//!
//! The messages depend only on the search result in the session, even if the server has changed its tools since.

use serde_json::{Value, json};
use sinew_llm::message::{Block, ToolResultMessage};
use sinew_llm::provider::{ToolDef, ToolLoading};
use sinew_mcp::catalogue::provider_schema;

use super::tools::{CALL_TOOL_NAME, SEARCH_TOOL};
use crate::core::LoadedTools;

/// Returns how a provider learns about a tool that is part of the request.
pub(super) fn loading(name: &str) -> ToolLoading {
    match name {
        SEARCH_TOOL => ToolLoading::Search,
        // `call_tool` is needed only for definitions that the provider would reject, which a search result mentions.
        CALL_TOOL_NAME => ToolLoading::Deferred,
        _ => ToolLoading::Always,
    }
}

/// Replaces the definitions in the text of a search result by blocks `tool_reference`, and returns the definitions.
/// Returns `None` if the result has no such definition.
pub(super) fn loaded(result: &ToolResultMessage, stands_in_front: &dyn Fn(&str) -> bool) -> Option<LoadedTools> {
    if result.tool_name != SEARCH_TOOL || result.is_error {
        return None;
    }
    let details = result.details.as_ref()?;
    let (names, lines) = (details["addedToolNames"].as_array()?, details["definitionLines"].as_array()?);
    let Block::Text(text) = result.content.first()? else { return None };
    let mut rest = String::new();
    let mut tools: Vec<ToolDef> = Vec::new();
    let mut found: Vec<&str> = Vec::new();
    for (number, line) in text.text.lines().enumerate() {
        let name = lines.iter().position(|line| line.as_u64() == Some(number as u64));
        let name = name.and_then(|at| names.get(at)?.as_str()).filter(|name| !stands_in_front(name));
        let definition = name.and_then(|name| Some((name, definition(name, line)?)));
        match (name, definition) {
            (_, Some((name, tool))) => {
                found.push(name);
                tools.push(tool);
                continue;
            }
            (Some(_), None) if !found.contains(&CALL_TOOL_NAME) => found.push(CALL_TOOL_NAME),
            _ => {}
        }
        rest.push_str(line);
        rest.push('\n');
    }
    if found.is_empty() {
        return None;
    }
    let mut content: Vec<Block> = Vec::new();
    if !rest.is_empty() {
        content.push(Block::text(format!("[{SEARCH_TOOL}] {rest}")));
    }
    content.extend(found.iter().map(|name| Block::Other(json!({"type": "tool_reference", "tool_name": name}))));
    content.extend(result.content[1..].iter().cloned());
    Some(LoadedTools { result: ToolResultMessage { content, ..result.clone() }, tools })
}

/// Converts a definition for the provider; `None` if the provider would reject it.
fn definition(name: &str, line: &str) -> Option<ToolDef> {
    let value: Value = serde_json::from_str(line).ok()?;
    (value["name"] == name).then_some(())?;
    Some(ToolDef {
        name: name.to_string(),
        description: value["description"].as_str().unwrap_or_default().to_string(),
        parameters: provider_schema(&value["parameters"])?,
        loading: ToolLoading::Deferred,
    })
}
