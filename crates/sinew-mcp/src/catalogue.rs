//! The front: the MCP tools that are part of every request, and the search over all other tools.
//!
//! The front depends only on files and the cache, not on which servers run, the order in which they connect or what
//! they offer later. So the first bytes of every request stay the same, and providers can cache them.

mod provider_schema;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::Definition;
use crate::names::name_tools;
pub use provider_schema::provider_schema;

/// The size of all definitions above which tools are deferred, in tokens of four bytes.
pub const DIRECT_TOKENS: usize = 1_000;

/// The maximum number of tools in the front.
pub const DIRECT_TOOLS: usize = 10;

/// A definition that is larger than this, in bytes, can only be called through `call_tool`.
pub const DEFINITION_BYTES: usize = 64 * 1024;

/// The maximum size of a search result, in tokens.
pub const SEARCH_TOKENS: usize = 4_000;

/// The maximum length of the text about one server in the front, in characters.
const SERVER_CHARACTERS: usize = 80;

/// The maximum size of the text about all servers, in bytes. The names of the servers may exceed it.
const SERVERS_BYTES: usize = 1_400;

/// The maximum size of a server's instructions in a search result, in bytes.
const INSTRUCTION_BYTES: usize = 2 * 1024;

/// A word of at least this many bytes also matches longer words that begin with it.
const STEM: usize = 4;

/// The maximum number of further names that a search lists after the definitions.
const FURTHER_NAMES: usize = 20;

/// How the tools of a server are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expose {
    /// In the front if all MCP tools are few, small and known; otherwise deferred.
    #[default]
    Auto,
    /// The definitions are part of every request.
    Direct,
    /// The model finds the tools with `tool_search`.
    Deferred,
    /// The tools cannot be called.
    Off,
}

/// A server, as described by the configuration files and the cache.
#[derive(Debug, Clone, Default)]
pub struct CatalogueServer {
    /// The name in the files.
    pub name: String,
    /// The user's description; `None` if there is none.
    pub description: Option<String>,
    /// The server's instructions from the cache; `None` if it has none.
    pub instructions: Option<String>,
    /// How its tools are offered.
    pub expose: Expose,
    /// The tools from the cache; `None` if the server is not cached.
    pub tools: Option<Vec<Definition>>,
}

/// A tool in the front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontTool {
    /// The name for the model.
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The tool's name at the server.
    pub tool: String,
    /// The description.
    pub description: String,
    /// The schema of the arguments, in a form that every provider accepts.
    pub schema: Value,
}

/// The MCP part of every request of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// The tools, in the order of the files.
    pub tools: Vec<FrontTool>,
    /// The description of `tool_search`; `None` if no server is deferred.
    pub search: Option<String>,
}

/// Selects the front. `servers` are in the order of the files; `reserved` are the names of other tools.
#[must_use]
pub fn select_front(servers: &[CatalogueServer], reserved: &[&str]) -> Front {
    let auto = |server: &&CatalogueServer| server.expose == Expose::Auto;
    let small = servers.iter().filter(auto).all(|server| server.tools.is_some()) && {
        let tools: Vec<&Definition> =
            servers.iter().filter(auto).flat_map(|server| server.tools.iter().flatten()).collect();
        let bytes: usize = tools.iter().map(|tool| tool.raw.bytes()).sum();
        tools.len() <= DIRECT_TOOLS && bytes / 4 <= DIRECT_TOKENS
    };
    let direct = |server: &CatalogueServer| match server.expose {
        Expose::Direct => true,
        Expose::Auto => small,
        Expose::Deferred | Expose::Off => false,
    };
    let mut front = Front::default();
    let mut deferred = Vec::new();
    // Deferred tools get their names when they are searched.
    let named = if servers.iter().any(direct) { named(servers, reserved) } else { Vec::new() };
    let mut named = named.into_iter();
    for server in servers {
        let (names, tools) = named.next().unwrap_or_default();
        if server.expose == Expose::Off {
            continue;
        }
        let mut left_over = !direct(server) || server.tools.is_none();
        if direct(server) {
            for (name, tool) in names.into_iter().zip(tools) {
                match front_tool(name, &server.name, tool) {
                    Some(tool) => front.tools.push(tool),
                    None => left_over = true,
                }
            }
        }
        if left_over {
            deferred.push(server);
        }
    }
    if !deferred.is_empty() {
        let each = SERVERS_BYTES / deferred.len();
        let list: Vec<String> = deferred.into_iter().map(|server| server_line(server, each)).collect();
        front.search = Some(format!(
            "Find tools of other servers by what they do; they are not listed here. Servers: {}.",
            list.join(", ")
        ));
    }
    front
}

/// The description of `call_tool`, which calls a found tool if the provider does not support tool search.
pub const CALL_TOOL: &str = "Call a tool that tool_search returned.";

/// Returns each server's tools with their names.
fn named<'a>(servers: &'a [CatalogueServer], reserved: &[&str]) -> Vec<(Vec<String>, Vec<&'a Definition>)> {
    let tools: Vec<Vec<&Definition>> =
        servers.iter().map(|server| server.tools.iter().flatten().collect::<Vec<_>>()).collect();
    let pairs: Vec<(&str, &str)> = servers
        .iter()
        .zip(&tools)
        .flat_map(|(server, tools)| tools.iter().map(|tool| (server.name.as_str(), tool.name.as_str())))
        .collect();
    let mut names = name_tools(&pairs, reserved).into_iter();
    tools.into_iter().map(|tools| (names.by_ref().take(tools.len()).collect(), tools)).collect()
}

/// Returns `github (issues, pull requests)`, in about `bytes` bytes.
fn server_line(server: &CatalogueServer, bytes: usize) -> String {
    let room = bytes.saturating_sub(server.name.len() + 5);
    let about = server.description.as_deref().or(server.instructions.as_deref()).unwrap_or_default();
    let line = about.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|char| !char.is_control()).take(SERVER_CHARACTERS).collect();
    match cut(&line, room).trim_end().trim_end_matches('.') {
        "" => server.name.clone(),
        line => format!("{} ({line})", server.name),
    }
}

fn front_tool(name: String, server: &str, tool: &Definition) -> Option<FrontTool> {
    if tool.raw.bytes() > DEFINITION_BYTES {
        return None;
    }
    let value = tool.value();
    Some(FrontTool {
        name,
        server: server.to_string(),
        tool: tool.name.clone(),
        description: value["description"].as_str().unwrap_or_default().to_string(),
        schema: provider_schema(&value["inputSchema"])?,
    })
}

/// An index of the tools that can be searched and called. Built at the first search.
#[derive(Debug, Default)]
pub struct ToolIndex {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    server_name: String,
    tool: Definition,
    name_words: Words,
    about_words: Words,
    parameter_words: Words,
}

/// The unique words, in one allocation: a thousand tools have about ten thousand.
#[derive(Debug)]
struct Words(Box<str>);

/// A tool found by [`ToolIndex`].
#[derive(Debug, Clone, Copy)]
pub struct FoundTool<'a> {
    /// The name for the model.
    pub name: &'a str,
    /// The name of the server.
    pub server: &'a str,
    /// The definition at the server.
    pub tool: &'a Definition,
}

impl ToolIndex {
    /// Creates an index of all servers that are not off.
    #[must_use]
    pub fn new(servers: &[CatalogueServer], reserved: &[&str]) -> ToolIndex {
        let mut entries = Vec::new();
        for (server, (names, tools)) in servers.iter().zip(named(servers, reserved)) {
            if server.expose == Expose::Off {
                continue;
            }
            for (name, tool) in names.into_iter().zip(tools) {
                entries.push(entry(name, &server.name, tool));
            }
        }
        ToolIndex { entries }
    }

    /// Creates an index with existing names: `name` returns the name for a server and tool. Tools without a name are
    /// left out.
    #[must_use]
    pub fn with_names(servers: &[CatalogueServer], name: impl Fn(&str, &str) -> Option<String>) -> ToolIndex {
        let on = servers.iter().filter(|server| server.expose != Expose::Off);
        let entries = on.flat_map(|server| {
            let tools = server.tools.iter().flatten();
            tools
                .filter_map(|tool| Some(entry(name(&server.name, &tool.name)?, &server.name, tool)))
                .collect::<Vec<_>>()
        });
        ToolIndex { entries: entries.collect() }
    }

    /// Returns the tool with a name that the model used; `None` if there is no such tool.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<FoundTool<'_>> {
        self.entries.iter().find(|entry| entry.name == name).map(Entry::found)
    }

    /// Returns the name of a server's tool; `None` if the index does not contain it.
    #[must_use]
    pub fn name_of(&self, server: &str, tool: &str) -> Option<&str> {
        let found = self.entries.iter().find(|entry| entry.server_name == server && entry.tool.name == tool);
        found.map(|entry| entry.name.as_str())
    }

    /// Returns the tools that match a query, best first and in a deterministic order. Words match whole or as a prefix,
    /// in the names and descriptions of tools and parameters; `name:<exact>` and `server:<name>` restrict the search.
    /// Runs in time linear in the words of all tools.
    #[must_use]
    pub fn search(&self, query: &str) -> Vec<FoundTool<'_>> {
        let mut words = Vec::new();
        let (mut name, mut server) = (None, None);
        for part in query.split_whitespace() {
            if let Some(exact) = part.strip_prefix("name:") {
                name = Some(exact);
            } else if let Some(of) = part.strip_prefix("server:") {
                server = Some(of);
            } else {
                words.extend(split_words(part));
            }
        }
        let mut scored: Vec<(usize, usize, &Entry)> = self
            .entries
            .iter()
            .filter(|entry| name.is_none_or(|name| entry.name == name || entry.tool.name == name))
            .filter(|entry| server.is_none_or(|server| entry.server_name == server))
            .filter_map(|entry| {
                let scores: Vec<usize> =
                    words.iter().map(|word| entry.score(word)).filter(|score| *score > 0).collect();
                let fits = !scores.is_empty() || (words.is_empty() && (name.is_some() || server.is_some()));
                fits.then(|| (scores.len(), scores.iter().sum(), entry))
            })
            .collect();
        // A stable sort: equal matches stay in the order of the files.
        scored.sort_by_key(|(count, score, _)| std::cmp::Reverse((*count, *score)));
        scored.into_iter().map(|(_, _, entry)| entry.found()).collect()
    }

    /// Returns at most ten names that are similar to a missing one.
    #[must_use]
    pub fn near_names(&self, name: &str) -> Vec<&str> {
        let name = name.strip_prefix("mcp_").unwrap_or(name);
        self.search(&name.replace('_', " ")).into_iter().take(10).map(|found| found.name).collect()
    }

    /// Renders a search for the model: up to `limit` definitions within [`SEARCH_TOKENS`], the instructions of each
    /// server before its first definition, then the names of the remaining matches. Also returns the name and the line
    /// number of each included definition.
    #[must_use]
    pub fn render(
        &self,
        found: &[FoundTool<'_>],
        limit: usize,
        servers: &[CatalogueServer],
    ) -> (String, Vec<(String, usize)>) {
        let mut text = String::new();
        let mut loaded = Vec::new();
        let mut introduced: Vec<&str> = Vec::new();
        let mut rest = Vec::new();
        for tool in found {
            // Definitions are read only if they may be shown.
            if loaded.len() >= limit || text.len() >= (SEARCH_TOKENS - 500) * 4 {
                rest.push(tool.name);
                continue;
            }
            let mut part = String::new();
            if !introduced.contains(&tool.server)
                && let Some(instructions) = servers
                    .iter()
                    .find(|server| server.name == tool.server)
                    .and_then(|server| server.instructions.as_deref())
            {
                let _ = writeln!(part, "Instructions of {}: {}", tool.server, cut(instructions, INSTRUCTION_BYTES));
            }
            let value = tool.tool.value();
            let definition = json!({
                "name": tool.name, "description": value["description"], "parameters": value["inputSchema"],
            });
            let line = text.matches('\n').count() + part.matches('\n').count();
            let _ = writeln!(part, "{definition}");
            if text.len() + part.len() <= (SEARCH_TOKENS - 500) * 4 {
                text.push_str(&part);
                introduced.push(tool.server);
                loaded.push((tool.name.to_string(), line));
            } else {
                rest.push(tool.name);
            }
        }
        if !rest.is_empty() {
            let more = rest.len().saturating_sub(FURTHER_NAMES);
            rest.truncate(FURTHER_NAMES);
            let _ = write!(text, "Also found: {}", rest.join(", "));
            let _ = if more > 0 { writeln!(text, " and {more} more.") } else { writeln!(text, ".") };
        }
        (text, loaded)
    }
}

impl Entry {
    fn found(&self) -> FoundTool<'_> {
        FoundTool { name: &self.name, server: &self.server_name, tool: &self.tool }
    }

    fn score(&self, word: &str) -> usize {
        let Entry { name_words, about_words, parameter_words, .. } = self;
        name_words.score(word, 16, 8).max(about_words.score(word, 6, 3)).max(parameter_words.score(word, 2, 1))
    }
}

impl Words {
    fn of(texts: &[&str]) -> Words {
        let mut words: Vec<String> = texts.iter().flat_map(|text| split_words(text)).collect();
        words.sort_unstable();
        words.dedup();
        Words(words.join(" ").into())
    }

    /// Returns `whole` if the word occurs, `front` if it is only a prefix.
    fn score(&self, word: &str, whole: usize, front: usize) -> usize {
        let mut score = 0;
        for have in self.0.split(' ') {
            if have == word {
                return whole;
            }
            // A longer word also matches: "issues" finds "issue".
            if have.starts_with(word) || (have.len() >= STEM && word.starts_with(have)) {
                score = front;
            }
        }
        score
    }
}

fn entry(name: String, server_name: &str, tool: &Definition) -> Entry {
    let value = tool.value();
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let mut parameters = Vec::new();
    for (key, parameter) in value["inputSchema"]["properties"].as_object().into_iter().flatten() {
        parameters.extend([key.as_str(), parameter["description"].as_str().unwrap_or_default()]);
    }
    Entry {
        name,
        server_name: server_name.to_string(),
        tool: tool.clone(),
        name_words: Words::of(&[&tool.name, server_name]),
        about_words: Words::of(&[text("description"), text("title")]),
        parameter_words: Words::of(&parameters),
    }
}

/// Splits a text into words of lower-case letters and digits, also at camelCase boundaries.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for char in text.chars() {
        if !char.is_alphanumeric() || (char.is_uppercase() && after_lower) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        after_lower = char.is_lowercase() || char.is_numeric();
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
