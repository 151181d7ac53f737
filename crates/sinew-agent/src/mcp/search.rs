//! Runs `tool_search`.

use serde_json::json;
use sinew_tools::tool::ToolOutput;

use super::tools::SessionShared;

/// Searches tools. Waits a limited time for servers whose tools are unknown, and starts the servers of the tools that
/// were found.
pub(super) async fn search(session: &SessionShared, query: &str, limit: usize) -> ToolOutput {
    let manager = &session.manager;
    let missing = manager.settle().await;
    let index = manager.index();
    let mut found = index.search(query);
    found.retain(|tool| session.offers(tool.server, tool.name));
    let resources = resources(session, query, limit);
    if found.is_empty() && !resources.is_empty() {
        return ToolOutput::text(resources).with_details(json!({"addedToolNames": []}));
    }
    if found.is_empty() {
        let servers = manager.standing_lines().join(", ");
        return ToolOutput::text(format!("No tools match. Servers: {servers}."));
    }
    let (mut text, loaded) = index.render(&found, limit, &manager.catalogue());
    for tool in found.iter().filter(|tool| loaded.iter().any(|(name, _)| name == tool.name)) {
        manager.warm(tool.server);
    }
    text.push_str(&resources);
    if !missing.is_empty() {
        text.push_str(&format!("Not searched: {}.\n", missing.join(", ")));
    }
    let (names, lines): (Vec<String>, Vec<usize>) = loaded.into_iter().unzip();
    ToolOutput::text(text).with_details(json!({"addedToolNames": names, "definitionLines": lines}))
}

/// Returns lines with the resources whose names, addresses or descriptions contain all words of a query; empty if there
/// are none.
fn resources(session: &SessionShared, query: &str, limit: usize) -> String {
    let mut only = None;
    let mut words = Vec::new();
    for word in query.split_whitespace() {
        match word.split_once(':') {
            Some(("server", server)) => only = Some(server),
            // `name:` searches for the exact name of a tool.
            Some(("name", _)) => return String::new(),
            _ => words.push(word.to_lowercase()),
        }
    }
    if words.is_empty() {
        return String::new();
    }
    let mut lines = Vec::new();
    let mut more = 0;
    for (server, known) in session.manager.known() {
        if only.is_some_and(|only| only != server) || !session.may_use(&server) {
            continue;
        }
        for resource in &known.resources {
            let value = resource.value();
            let text = |key: &str| value[key].as_str().unwrap_or_default();
            let all = [&resource.name, text("name"), text("title"), text("description")].join("\n").to_lowercase();
            if !words.iter().all(|word| all.contains(word)) {
                continue;
            }
            if lines.len() == limit {
                more += 1;
                continue;
            }
            let about = [text("title"), text("name"), text("description")].into_iter().find(|text| !text.is_empty());
            let about: String = about.unwrap_or_default().lines().next().unwrap_or_default().chars().take(80).collect();
            lines.push(format!("mcp://{server}/{} {about}", resource.name).trim_end().to_string());
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let rest = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!("Resources, for the tool read:\n{}\n{rest}", lines.join("\n"))
}
