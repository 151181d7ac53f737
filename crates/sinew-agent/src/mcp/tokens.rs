//! The tokens that servers use in a context, by server: in each request, loaded by searches, and saved.

use serde::Serialize;
use serde_json::Value;
use sinew_llm::message::AgentMessage;
use sinew_mcp::catalogue::FrontTool;

use super::tools::{SEARCH_TOOL, SessionServers};
use crate::compaction::definition_bytes;

/// The approximate number of tokens of server tools in a session: bytes ÷ 4.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServersTokens {
    /// The tools that search and call all others, in each request; 0 if they are not needed.
    pub search: usize,
    /// The servers, in the order of the files.
    pub servers: Vec<ServerTokens>,
}

/// The approximate number of tokens of one server's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerTokens {
    /// The name of the server.
    pub server: String,
    /// Definitions that are part of each request.
    pub front: usize,
    /// Definitions that searches in the conversation found.
    pub loaded: usize,
    /// Known definitions that were never sent.
    pub saved: usize,
}

impl SessionServers {
    /// Counts the tokens of server tools in the session with the context `conversation`. Starts no server.
    #[must_use]
    pub fn tokens(&self, conversation: &[AgentMessage]) -> ServersTokens {
        let manager = self.manager();
        let (index, front) = (manager.index(), self.front());
        let found = found_names(conversation);
        let servers = manager.catalogue().into_iter().map(|server| {
            let in_front: Vec<&FrontTool> = front.iter().filter(|tool| tool.server == server.name).collect();
            let (mut loaded, mut saved) = (0, 0);
            for tool in server.tools.iter().flatten() {
                let Some(name) = index.name_of(&server.name, &tool.name) else { continue };
                if in_front.iter().any(|front| front.tool == tool.name) {
                    continue;
                }
                let bytes = tool.raw.bytes();
                match found.contains(&name) {
                    true => loaded += bytes,
                    false => saved += bytes,
                }
            }
            let front: usize = in_front.iter().map(|tool| front_bytes(tool)).sum();
            ServerTokens { server: server.name, front: front / 4, loaded: loaded / 4, saved: saved / 4 }
        });
        let servers = servers.collect();
        let search: usize = self
            .tools()
            .iter()
            .skip_while(|tool| tool.name() != SEARCH_TOOL)
            .map(|tool| definition_bytes(&**tool))
            .sum();
        ServersTokens { search: search / 4, servers }
    }
}

fn front_bytes(tool: &FrontTool) -> usize {
    tool.name.len() + tool.description.len() + tool.schema.to_string().len()
}

/// Returns the names of the tools that searches in a conversation found.
fn found_names(conversation: &[AgentMessage]) -> Vec<&str> {
    let results = conversation.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) if result.tool_name == SEARCH_TOOL => result.details.as_ref(),
        _ => None,
    });
    let lists = results.filter_map(|details| details.get("addedToolNames").and_then(Value::as_array));
    lists.flatten().filter_map(Value::as_str).collect()
}
