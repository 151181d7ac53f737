//! Parses the command line into [`Args`].
//!
//! `table::FLAGS` is the only list of flags. Each row names the value of the flag, the field of [`Args`] that it sets,
//! and its text in `--help`. `parse` says why `clap` is not used.

mod completions;
mod help;
mod man;
mod mcp;
mod parse;
mod table;

#[cfg(test)]
mod tests;

use sinew_llm::model::ThinkingLevel;

pub(crate) use completions::{COMMANDS, completions};
pub(crate) use help::help;
pub(crate) use man::man;
pub(crate) use mcp::McpArgs;
pub(crate) use parse::parse;

/// The command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Args {
    pub(crate) output: OutputArgs,
    pub(crate) session: SessionArgs,
    pub(crate) model: ModelArgs,
    pub(crate) tools: ToolArgs,
    pub(crate) prompt: PromptArgs,
    pub(crate) resources: ResourceArgs,
    pub(crate) run: RunArgs,
    pub(crate) mcp: McpArgs,
    /// The positional arguments, in order.
    pub(crate) words: Vec<String>,
}

/// Flags that select the output and its format.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OutputArgs {
    pub(crate) print: bool,
    /// `None` if `--mode` was not used, which means text.
    pub(crate) mode: Option<Mode>,
    /// Writes one JSON object at the end (`--output json`).
    pub(crate) object: bool,
    /// The path of a JSON Schema.
    pub(crate) schema: Option<String>,
    /// In the modes json and rpc, each event contains the complete message instead of the difference.
    pub(crate) snapshots: bool,
    pub(crate) verbose: bool,
    /// The interactive mode as plain lines, without a screen.
    pub(crate) linear: bool,
    pub(crate) export: Option<String>,
    /// Lists the models that match the filter, which may be empty.
    pub(crate) list_models: Option<String>,
    pub(crate) help: bool,
    pub(crate) version: bool,
}

/// Values of `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Text,
    Json,
    Rpc,
    /// The Agent Client Protocol, for editors.
    Acp,
}

/// Flags that select and configure sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SessionArgs {
    pub(crate) choice: SessionChoice,
    /// A directory that directly contains the session files.
    pub(crate) folder: Option<String>,
    pub(crate) all: bool,
    pub(crate) dry_run: bool,
    /// `--usage` of `sinew undo`.
    pub(crate) usage: bool,
    /// `--force` of `sinew undo`.
    pub(crate) force: bool,
    /// The paths after `--` of `sinew undo`.
    pub(crate) undo_paths: Vec<String>,
}

/// The session to open first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    /// A new session.
    #[default]
    New,
    /// The last session of this terminal or directory.
    Continue,
    /// The session with this id or path; `None` if the id is missing.
    Resume(Option<String>),
    /// The session in this file, which need not exist yet.
    File(String),
    /// A copy of the session with this id or path.
    Fork(String),
    /// A new session that is only kept in memory.
    InMemory,
}

/// Flags that select models.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelArgs {
    pub(crate) pattern: Option<String>,
    pub(crate) provider: Option<String>,
    /// Globs: the first matching model answers, and the user can switch to the others.
    pub(crate) scope: Option<Vec<String>>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) api_key: Option<String>,
    pub(crate) fallback: Option<String>,
    pub(crate) max_tokens: Option<u64>,
    /// The models of the roles.
    pub(crate) fast: Option<String>,
    pub(crate) slow: Option<String>,
    pub(crate) plan: Option<String>,
    /// The script of a scripted provider.
    pub(crate) script: Option<String>,
}

/// Flags that configure tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolArgs {
    pub(crate) only: Option<Vec<String>>,
    pub(crate) without: Option<Vec<String>>,
    pub(crate) none: bool,
    pub(crate) no_builtin: bool,
    /// The mode of the sandbox, a value of `sandbox.mode`.
    pub(crate) sandbox: Option<&'static str>,
    /// Runs even if the system cannot enforce the sandbox.
    pub(crate) sandbox_fallback: bool,
    /// Permission rules.
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
}

/// Flags that change the system prompt: texts, or paths of files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PromptArgs {
    pub(crate) system: Option<String>,
    pub(crate) append: Vec<String>,
    pub(crate) no_context_files: bool,
}

/// Flags that configure skills, templates, rules and hooks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResourceArgs {
    pub(crate) skills: Vec<String>,
    pub(crate) templates: Vec<String>,
    pub(crate) hooks: Vec<String>,
    /// Paths of files that configure MCP servers.
    pub(crate) mcp_configs: Vec<String>,
    pub(crate) no_mcp: bool,
    pub(crate) no_skills: bool,
    pub(crate) no_templates: bool,
    pub(crate) no_rules: bool,
}

/// Flags that configure the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RunArgs {
    pub(crate) max_turns: Option<u64>,
    /// The limit in US dollars.
    pub(crate) max_cost: Option<f64>,
    pub(crate) cwd: Option<String>,
    /// The name of the agent whose instructions, tools and model sessions have.
    pub(crate) agent: Option<String>,
    /// Starts sessions in plan mode.
    pub(crate) plan: bool,
    pub(crate) offline: bool,
    /// Waits for standard input without a time limit.
    pub(crate) stdin: bool,
    /// Whether the project is trusted; `None` to ask.
    pub(crate) trust: Option<bool>,
}

impl Args {
    /// Returns the output mode; the default is text.
    pub(crate) fn mode(&self) -> Mode {
        self.output.mode.unwrap_or(Mode::Text)
    }

    /// Returns true if a program reads the output: no questions are asked, and the process exits after the run.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.output.object || self.output.schema.is_some()
    }
}

impl Mode {
    /// Returns the name of the mode on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Mode::Text => "text",
            Mode::Json => "json",
            Mode::Rpc => "rpc",
            Mode::Acp => "acp",
        }
    }
}

impl SessionChoice {
    /// Returns the flag that selects this session; `None` for a new session.
    pub(crate) fn flag(&self) -> Option<&'static str> {
        match self {
            SessionChoice::New => None,
            SessionChoice::Continue => Some("continue"),
            SessionChoice::Resume(_) => Some("resume"),
            SessionChoice::File(_) => Some("session"),
            SessionChoice::Fork(_) => Some("fork"),
            SessionChoice::InMemory => Some("no-session"),
        }
    }
}
