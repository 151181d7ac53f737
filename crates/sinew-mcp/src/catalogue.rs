//! The tools of servers in front of a request, decided once, and the search over all the others.
//!
//! The front is a function of files and cache: which servers run, in which order they connect and what they offer
//! later does not change it. That keeps the first bytes of every request the same, which is what providers cache.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::Definition;
use crate::names::name_tools;

/// The cost of MCP in front of a request above which it is deferred, in tokens of four bytes.
pub const DIRECT_TOKENS: usize = 1_000;

/// The most tools that may stand in front.
pub const DIRECT_TOOLS: usize = 10;

/// A definition beyond this many bytes is only reached through `call_tool`.
pub const DEFINITION_BYTES: usize = 64 * 1024;

/// The longest result of a search, in tokens of four bytes.
pub const SEARCH_TOKENS: usize = 4_000;

/// The longest text about a server in front of a request, in characters.
const SERVER_CHARACTERS: usize = 80;

/// The longest text about all servers, in bytes, as long as that leaves room for more than their names.
const SERVERS_BYTES: usize = 1_400;

/// The longest part of a server's instructions that its first hit shows, in bytes.
const INSTRUCTION_BYTES: usize = 2 * 1024;

/// A word of at least this many bytes is found by longer ones that begin with it.
const STEM: usize = 4;

/// Further names behind the definitions of a search.
const FURTHER_NAMES: usize = 20;

/// The way in which a server's tools are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expose {
    /// In front where all of MCP is small and known, else deferred.
    #[default]
    Auto,
    /// The definitions stand in front of every request.
    Direct,
    /// The model finds them by search.
    Deferred,
    /// They cannot be called.
    Off,
}

/// A server as files and cache tell of it.
#[derive(Debug, Clone, Default)]
pub struct CatalogueServer {
    /// Its name in the files.
    pub name: String,
    /// The user's words about it.
    pub description: Option<String>,
    /// Its own, from the cache.
    pub instructions: Option<String>,
    /// The way in which it is offered.
    pub expose: Expose,
    /// Its tools from the cache; None where it is not in there.
    pub tools: Option<Vec<Definition>>,
}

/// A tool in front of every request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontTool {
    /// The name for the model.
    pub name: String,
    /// Its server.
    pub server: String,
    /// Its name there.
    pub tool: String,
    /// Its description.
    pub description: String,
    /// The schema of its arguments, as providers take it.
    pub schema: Value,
}

/// The part about servers in front of every request of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// In the order of the files.
    pub tools: Vec<FrontTool>,
    /// The description of `tool_search`, where at least one server is deferred.
    pub search: Option<String>,
}

/// Decides what stands in front. `servers` come in the order of the files; `reserved` are the names of other tools.
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
    // The names of a thousand tools that do not stand in front are made when they are searched.
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

/// The description of `call_tool`, by which a found tool is called where a provider knows no better way.
pub const CALL_TOOL: &str = "Call a tool that tool_search returned.";

/// The names and tools of each server.
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

/// `github (issues, pull requests)`, in about so many bytes.
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

/// A tool's input schema as every provider takes it: an object with properties. None for one that a provider would
/// refuse, and with it the whole request: alternatives at the top, references to elsewhere, endless nesting.
#[must_use]
pub fn provider_schema(schema: &Value) -> Option<Value> {
    const DEPTH: usize = 64;
    const NODES: usize = 10_000;
    let mut members = match schema {
        Value::Object(members) => members.clone(),
        Value::Null | Value::Bool(true) => Map::new(),
        _ => return None,
    };
    let kind = members.get("type").cloned().unwrap_or_else(|| "object".into());
    let alternatives = ["oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "$ref"];
    if kind != "object" || alternatives.iter().any(|key| members.contains_key(*key)) {
        return None;
    }
    let mut nodes = 0;
    if !fits(schema, DEPTH, &mut nodes, NODES) {
        return None;
    }
    members.insert("type".to_string(), kind);
    if !members.get("properties").is_some_and(Value::is_object) {
        members.insert("properties".to_string(), json!({}));
    }
    members.remove("$schema");
    Some(Value::Object(members))
}

/// Returns true if a schema is small enough and refers to nothing outside itself.
fn fits(schema: &Value, depth: usize, nodes: &mut usize, most: usize) -> bool {
    *nodes += 1;
    if depth == 0 || *nodes > most {
        return false;
    }
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| {
            let local = key != "$ref" || value.as_str().is_none_or(|target| target.starts_with('#'));
            local && fits(value, depth - 1, nodes, most)
        }),
        Value::Array(items) => items.iter().all(|item| fits(item, depth - 1, nodes, most)),
        _ => true,
    }
}

/// The tools that can be searched and called, by their names. Built when the first search comes.
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

/// Words, each once, in one piece of memory: a thousand tools have some ten thousands of them.
#[derive(Debug)]
struct Words(Box<str>);

/// A tool that was found.
#[derive(Debug, Clone, Copy)]
pub struct FoundTool<'a> {
    /// The name for the model.
    pub name: &'a str,
    /// Its server.
    pub server: &'a str,
    /// Its definition there.
    pub tool: &'a Definition,
}

impl ToolIndex {
    /// An index over all servers but those that are off.
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

    /// The same with names that were given before: `name` finds them by server and tool. A tool without one is left out.
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

    /// The tool of a name that the model used.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<FoundTool<'_>> {
        self.entries.iter().find(|entry| entry.name == name).map(Entry::found)
    }

    /// The name of a server's tool.
    #[must_use]
    pub fn name_of(&self, server: &str, tool: &str) -> Option<&str> {
        let found = self.entries.iter().find(|entry| entry.server_name == server && entry.tool.name == tool);
        found.map(|entry| entry.name.as_str())
    }

    /// Tools that fit a query, best first, the same ones in the same order each time. Words match whole or by their
    /// beginning, in names, descriptions, and names and descriptions of parameters; `name:<exact>` and `server:<name>`
    /// narrow. Linear in all words of all tools.
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
        // Stable: those that fit equally stay in the order of the files.
        scored.sort_by_key(|(count, score, _)| std::cmp::Reverse((*count, *score)));
        scored.into_iter().map(|(_, _, entry)| entry.found()).collect()
    }

    /// Names like one that does not exist, at most ten.
    #[must_use]
    pub fn near_names(&self, name: &str) -> Vec<&str> {
        let name = name.strip_prefix("mcp_").unwrap_or(name);
        self.search(&name.replace('_', " ")).into_iter().take(10).map(|found| found.name).collect()
    }

    /// The text of a search for the model: up to `limit` definitions within [`SEARCH_TOKENS`], the instructions of
    /// each server with its first one, then the names of what else was found. The names of the tools whose definitions
    /// are in it come beside it, each with the number of its line.
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
            // A definition is read where it may be shown.
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

    /// `whole` where the word is among them, `front` where one begins like it.
    fn score(&self, word: &str, whole: usize, front: usize) -> usize {
        let mut score = 0;
        for have in self.0.split(' ') {
            if have == word {
                return whole;
            }
            // A longer word counts as well: "issues" finds "issue".
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

/// Letters and digits in lower case, apart at everything else and where a word in camelCase begins.
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
