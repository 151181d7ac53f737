//! What `tool_search` answers.

use serde_json::json;
use sinew_tools::tool::ToolOutput;

use super::tools::SessionShared;

/// Finds tools, waits a while for servers of which nothing is known, and starts those of which something was found.
pub(super) async fn search(session: &SessionShared, query: &str, limit: usize) -> ToolOutput {
    let manager = &session.manager;
    let missing = manager.settle().await;
    let index = manager.index();
    let mut found = index.search(query);
    found.retain(|tool| session.excluded.iter().all(|name| name != tool.name));
    if found.is_empty() {
        let servers = manager.standing_lines().join(", ");
        return ToolOutput::text(format!("No tools match. Servers: {servers}."));
    }
    let (mut text, loaded) = index.render(&found, limit, &manager.catalogue());
    for tool in found.iter().filter(|tool| loaded.iter().any(|name| name == tool.name)) {
        manager.warm(tool.server);
    }
    if !missing.is_empty() {
        text.push_str(&format!("Not searched: {}.\n", missing.join(", ")));
    }
    ToolOutput::text(text).with_details(json!({"addedToolNames": loaded}))
}
