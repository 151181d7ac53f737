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

pub use completions::{COMMANDS, completions};
pub use help::help;
pub use man::man;
pub use mcp::McpArgs;
pub use parse::parse;

/// The command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Args {
    /// Flags of the output.
    pub output: OutputArgs,
    /// Flags of the session.
    pub session: SessionArgs,
    /// Flags of the model.
    pub model: ModelArgs,
    /// Flags of the tools.
    pub tools: ToolArgs,
    pub(crate) prompt: PromptArgs,
    /// Flags of skills, templates, rules and hooks.
    pub resources: ResourceArgs,
    /// Flags of the run.
    pub run: RunArgs,
    /// Flags of MCP servers.
    pub mcp: McpArgs,
    /// The positional arguments, in order.
    pub words: Vec<String>,
}

/// Flags that select the output and its format.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputArgs {
    /// `-p`.
    pub print: bool,
    /// `None` if `--mode` was not used, which means text.
    pub(crate) mode: Option<Mode>,
    /// Writes one JSON object at the end (`--output json`).
    pub object: bool,
    /// The path of a JSON Schema.
    pub schema: Option<String>,
    /// In the modes json and rpc, each event contains the complete message instead of the difference.
    pub snapshots: bool,
    pub(crate) verbose: bool,
    /// The interactive mode as plain lines, without a screen.
    pub linear: bool,
    /// `--export`.
    pub export: Option<String>,
    /// Lists the models that match the filter, which may be empty.
    pub list_models: Option<String>,
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
}

/// Values of `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The answer as text, or the interactive mode.
    Text,
    /// Events as lines of JSON.
    Json,
    /// Requests and events as lines of JSON.
    Rpc,
    /// The Agent Client Protocol, for editors.
    Acp,
}

/// Flags that select and configure sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionArgs {
    /// The session to continue.
    pub choice: SessionChoice,
    /// A directory that directly contains the session files.
    pub folder: Option<String>,
    /// `--all`.
    pub all: bool,
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--usage` of `sinew undo`.
    pub usage: bool,
    /// `--force` of `sinew undo`.
    pub force: bool,
    /// The paths after `--` of `sinew undo`.
    pub undo_paths: Vec<String>,
}

/// The session to open first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionChoice {
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
pub struct ModelArgs {
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
    pub script: Option<String>,
}

/// Flags that configure tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolArgs {
    /// `--tools`.
    pub only: Option<Vec<String>>,
    pub(crate) without: Option<Vec<String>>,
    pub(crate) none: bool,
    pub(crate) no_builtin: bool,
    /// The mode of the sandbox, a value of `sandbox.mode`.
    pub(crate) sandbox: Option<&'static str>,
    /// Runs even if the system cannot enforce the sandbox.
    pub(crate) sandbox_fallback: bool,
    /// Permission rules.
    pub allow: Vec<String>,
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
pub struct ResourceArgs {
    /// `--skill`.
    pub skills: Vec<String>,
    /// `--prompt-template`.
    pub templates: Vec<String>,
    /// `--hook`.
    pub hooks: Vec<String>,
    /// Paths of files that configure MCP servers.
    pub mcp_configs: Vec<String>,
    pub(crate) no_mcp: bool,
    pub(crate) no_skills: bool,
    pub(crate) no_templates: bool,
    pub(crate) no_rules: bool,
}

/// Flags that configure the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunArgs {
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
    pub stdin: bool,
    /// Whether the project is trusted; `None` to ask.
    pub(crate) trust: Option<bool>,
}

impl Args {
    /// Returns the output mode; the default is text.
    pub fn mode(&self) -> Mode {
        self.output.mode.unwrap_or(Mode::Text)
    }

    /// Returns true if a program reads the output: no questions are asked, and the process exits after the run.
    pub fn is_for_programs(&self) -> bool {
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
