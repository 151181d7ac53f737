//! The share of servers in a context, by server: what stands in front, what searches brought in, what was saved.

use serde::Serialize;
use serde_json::Value;
use sinew_llm::message::AgentMessage;
use sinew_mcp::catalogue::FrontTool;

use super::tools::{SEARCH_TOOL, SessionServers};
use crate::compaction::definition_bytes;

/// Tokens of the tools of servers in a session, about: bytes ÷ 4.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServersTokens {
    /// The tools that find and call all others, in front of each request; 0 where none is needed.
    pub search: usize,
    /// In the order of the files.
    pub servers: Vec<ServerTokens>,
}

/// Tokens of one server's tools, about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerTokens {
    /// Its name.
    pub server: String,
    /// Definitions in front of each request.
    pub front: usize,
    /// Definitions that searches of the conversation found.
    pub loaded: usize,
    /// Definitions that are known and were never sent.
    pub saved: usize,
}

impl SessionServers {
    /// Counts the tools of servers in the session whose context is `conversation`. Starts no server.
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

/// The names of the tools that searches of a conversation found.
fn found_names(conversation: &[AgentMessage]) -> Vec<&str> {
    let results = conversation.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) if result.tool_name == SEARCH_TOOL => result.details.as_ref(),
        _ => None,
    });
    let lists = results.filter_map(|details| details.get("addedToolNames").and_then(Value::as_array));
    lists.flatten().filter_map(Value::as_str).collect()
}
