//! Agents that a model can start: from files, and built in.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sinew::base::{Error, Result};
use sinew::view::ViewMode;
use sinew_llm::model::ThinkingLevel;
use sinew_session::files::read_text;

use super::request::check_name;
use crate::resource::ResourceFolders;
use crate::resource::frontmatter::{Frontmatter, strict};

/// Keys of an agent file that have an effect.
const KEYS: [&str; 15] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "spawns",
    "model",
    "thinking",
    "skills",
    "mcp",
    "maxTurns",
    "maxTokens",
    "maxCost",
    "background",
    "isolation",
    "output",
];

/// The name of the agent that continues the conversation of its parent.
const FORK: &str = "fork";

/// An agent that a model can start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    /// The name by which it is started.
    pub name: String,
    /// One line for the model that chooses among agents.
    pub description: String,
    /// Instructions, added to the system prompt.
    pub prompt: String,
    /// The source of the definition.
    pub source: AgentSource,
    /// The names of its tools; `None` for all tools of its parent.
    pub tools: Option<Vec<String>>,
    /// The names of tools that it does not get.
    pub disallowed_tools: Vec<String>,
    /// The names of the agents that it can start itself; empty for none. A name that ends with `*` means all that begin
    /// like it.
    pub spawns: Vec<String>,
    /// True if it only gets tools that change nothing, and programs cannot write.
    pub is_read_only: bool,
    /// The pattern of its model; `None` for the model of its parent.
    pub model: Option<String>,
    /// Its thinking level; `None` for that of its parent.
    pub thinking: Option<ThinkingLevel>,
    /// The names of the skills whose texts it reads before its assignment.
    #[serde(default)]
    pub skills: Vec<String>,
    /// The names of the MCP servers whose tools it gets; `None` for all.
    #[serde(default)]
    pub mcp: Option<Vec<String>>,
    /// The maximum number of requests; `None` for that of the settings.
    pub max_turns: Option<u32>,
    /// The maximum number of tokens of input and output; `None` for that of the settings.
    pub max_tokens: Option<u64>,
    /// The maximum cost in US dollars; `None` for no limit of its own.
    pub max_cost: Option<f64>,
    /// True if calls do not wait for it by default.
    pub background: bool,
    /// How its files are isolated from the project; `None` for a child that works in the project.
    #[serde(default)]
    pub isolation: Option<String>,
    /// The JSON Schema of its results; `None` without one.
    pub schema: Option<Value>,
}

impl AgentDefinition {
    /// Returns true if the agent continues the conversation of its parent.
    #[must_use]
    pub fn is_fork(&self) -> bool {
        self.source == AgentSource::BuiltIn && self.name == FORK
    }
}

/// The source of an agent. If two agents have one name, the first in this order is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentSource {
    /// A file of the project, `.sinew/agents/*.md`.
    Project,
    /// A file of the user, `~/.sinew/agent/agents/*.md`.
    User,
    /// A file of another program, `.claude/agents/*.md` of the project or the home directory.
    Foreign,
    /// Part of Sinew.
    BuiltIn,
}

/// The agents of a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentDefinitions {
    /// The agents, each name once.
    pub agents: Vec<AgentDefinition>,
    /// The files that cannot be used, and the keys without effect, one line each.
    pub faults: Vec<String>,
}

/// The files from which agents are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFiles {
    /// True if the files of the project are read too.
    pub is_trusted: bool,
    /// True if the files of other programs are read too.
    pub foreign: bool,
}

impl AgentDefinitions {
    /// Reads the agent files that `files` selects, and adds the built-in agents.
    #[must_use]
    pub fn find(folders: &ResourceFolders, files: AgentFiles) -> AgentDefinitions {
        let mut found = AgentDefinitions::default();
        if files.is_trusted {
            found.read(&folders.project.join("agents"), AgentSource::Project);
        }
        found.read(&folders.agent.join("agents"), AgentSource::User);
        let project = files.is_trusted.then_some(&folders.cwd);
        for folder in project.into_iter().chain(&folders.home).filter(|_| files.foreign) {
            found.read(&folder.join(".claude").join("agents"), AgentSource::Foreign);
        }
        for agent in built_in() {
            found.add(agent);
        }
        found
    }

    /// Returns the agent `name`.
    ///
    /// # Errors
    /// Returns an error that lists all names if there is no such agent, or that describes the fault of its file.
    pub fn get(&self, name: &str) -> Result<&AgentDefinition> {
        if let Some(agent) = self.agents.iter().find(|agent| agent.name == name) {
            return Ok(agent);
        }
        let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        let mut message = format!("task: unknown agent {name:?}; known: {}", names.join(", "));
        for fault in &self.faults {
            message.push('\n');
            message.push_str(fault);
        }
        Err(Error::invalid(message))
    }

    fn read(&mut self, folder: &Path, source: AgentSource) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        files.sort();
        for file in files {
            let agent = read_text(&file).map_err(|error| error.to_string()).and_then(|text| parse(&text, source));
            match agent {
                Ok((agent, unused)) => {
                    self.add(agent);
                    self.faults.extend(unused.map(|keys| format!("{}: no effect: {keys}", file.display())));
                }
                Err(reason) => self.faults.push(format!("{}: {reason}", file.display())),
            }
        }
    }

    fn add(&mut self, agent: AgentDefinition) {
        if self.agents.iter().all(|known| known.name != agent.name) {
            self.agents.push(agent);
        }
    }
}

/// Parses an agent file; the error is one line. Also returns the keys without effect in a file of another program;
/// Sinew's own files must not contain any.
fn parse(text: &str, source: AgentSource) -> Result<(AgentDefinition, Option<String>), String> {
    let front = strict(text)?;
    let unknown: Vec<&str> = front.keys().filter(|key| !KEYS.contains(key)).collect();
    if let (Some(key), true) = (unknown.first(), source != AgentSource::Foreign) {
        return Err(format!("unknown key {key}; known: {}", KEYS.join(", ")));
    }
    let required = |key: &str| front.text(key).ok_or_else(|| format!("{key} is missing"));
    let name = required("name")?;
    check_name(&name).map_err(|error| error.message().to_string())?;
    let agent = AgentDefinition {
        description: required("description")?,
        prompt: front.body.trim().to_string(),
        source,
        tools: list(&front, "tools"),
        disallowed_tools: list(&front, "disallowedTools").unwrap_or_default(),
        spawns: list(&front, "spawns").unwrap_or_default(),
        is_read_only: false,
        model: front.text("model").filter(|model| model != "inherit"),
        thinking: parsed(&front, "thinking", ThinkingLevel::parse)?,
        skills: list(&front, "skills").unwrap_or_default(),
        mcp: list(&front, "mcp"),
        max_turns: parsed(&front, "maxTurns", |text| text.parse().ok().filter(|turns| *turns > 0))?,
        max_tokens: parsed(&front, "maxTokens", |text| text.parse().ok().filter(|tokens| *tokens > 0))?,
        max_cost: parsed(&front, "maxCost", |text| {
            text.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost > 0.0)
        })?,
        background: parsed(&front, "background", |text| text.parse().ok())?.unwrap_or_default(),
        isolation: isolation(&front)?,
        schema: schema(&front)?,
        name,
    };
    Ok((agent, (!unknown.is_empty()).then(|| unknown.join(", "))))
}

/// Returns the entries of a list or of a text with commas; `None` without the key.
fn list(front: &Frontmatter, key: &str) -> Option<Vec<String>> {
    let entries = front.texts(key);
    let entries = entries.iter().flat_map(|text| text.split(',')).map(|text| text.trim().to_string());
    front.value(key).map(|_| entries.filter(|text| !text.is_empty()).collect())
}

fn parsed<T>(front: &Frontmatter, key: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    let Some(text) = front.text(key) else { return Ok(None) };
    parse(&text).map(Some).ok_or_else(|| format!("{key}: {text:?} is not valid"))
}

fn isolation(front: &Frontmatter) -> Result<Option<String>, String> {
    let mode = parsed(front, "isolation", |text| {
        let is_known = text == "none" || ViewMode::from_name(text).is_some_and(|mode| mode != ViewMode::Overlay);
        is_known.then(|| text.to_string())
    })?;
    Ok(mode.filter(|mode| mode != "none"))
}

fn schema(front: &Frontmatter) -> Result<Option<Value>, String> {
    match front.value("output") {
        None => Ok(None),
        Some(schema @ Value::Object(_)) => Ok(Some(schema.clone())),
        Some(other) => Err(format!("output: {other} is not a JSON Schema: expected an object")),
    }
}

fn built_in() -> [AgentDefinition; 5] {
    let agent = |name: &str, description: &str, prompt: &str, is_read_only: bool| AgentDefinition {
        name: name.into(),
        description: description.into(),
        prompt: prompt.into(),
        source: AgentSource::BuiltIn,
        tools: None,
        disallowed_tools: Vec::new(),
        spawns: if is_read_only { Vec::new() } else { vec!["*".into()] },
        is_read_only,
        model: None,
        thinking: None,
        skills: Vec::new(),
        mcp: None,
        max_turns: None,
        max_tokens: None,
        max_cost: None,
        background: false,
        isolation: None,
        schema: None,
    };
    [
        agent(
            "explore",
            "finds out how something works or where it is; changes nothing",
            "Answer the question by searching and reading. Name each place as path:line. Say what you saw, what you \
             concluded from it, and what you did not look at.",
            true,
        ),
        agent(
            "plan",
            "works out how to make a change; changes nothing",
            "Work out how to make the change. Read the code that it touches first. Result: the steps in order, each \
             with its files, then the risks and how to check the outcome.",
            true,
        ),
        agent(
            "reviewer",
            "looks for faults in a change; changes nothing",
            "Look for faults that a user of this code would meet: wrong results, lost data, crashes, broken contracts. \
             For each: path, lines, severity (high, medium, low), the claim, and the evidence that you read or ran. Leave \
             out what you could not confirm.",
            true,
        ),
        agent(
            "task",
            "carries out a piece of work with all tools",
            "Carry out the assignment completely and check the outcome. Do nothing that the assignment does not ask for. \
             Result: what you changed, how you checked it, and what is left.",
            false,
        ),
        AgentDefinition {
            spawns: Vec::new(),
            ..agent(FORK, "continues this conversation: it knows everything that was said, with all tools", "", false)
        },
    ]
}
