//! The command line as a typed value: flags, words, and what is wrong with them.
//!
//! `table::FLAGS` is the only list of flags: each row says what stands behind the flag, which field of [`Args`] it fills and
//! what `--help` says of it. `clap` was measured beside it (see `parse`) and not taken.

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
    /// Everything that is no flag, in order.
    pub(crate) words: Vec<String>,
}

/// Flags about what is written, and in which form.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OutputArgs {
    pub(crate) print: bool,
    /// None: `--mode` was not given, which means text.
    pub(crate) mode: Option<Mode>,
    /// One JSON object at the end (`--output json`).
    pub(crate) object: bool,
    /// The file of a JSON Schema.
    pub(crate) schema: Option<String>,
    /// Each event of the modes json and rpc holds all that it is about.
    pub(crate) snapshots: bool,
    pub(crate) verbose: bool,
    /// The interactive mode in words, line by line.
    pub(crate) linear: bool,
    pub(crate) export: Option<String>,
    /// Lists the models that fit the filter, which may be empty.
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

/// Flags about sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SessionArgs {
    pub(crate) choice: SessionChoice,
    /// A folder that holds the session files themselves.
    pub(crate) folder: Option<String>,
    pub(crate) all: bool,
    pub(crate) dry_run: bool,
    /// `--usage` of `sinew undo`.
    pub(crate) usage: bool,
    /// `--force` of `sinew undo`.
    pub(crate) force: bool,
}

/// The session to begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    /// A new one.
    #[default]
    New,
    /// The last one of this terminal or folder.
    Continue,
    /// The one that an id or a path names; None: the id is missing.
    Resume(Option<String>),
    /// The one in this file, which may be missing.
    File(String),
    /// A copy of the one that an id or a path names.
    Fork(String),
    /// A new one that is kept in memory only.
    InMemory,
}

/// Flags about who answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelArgs {
    pub(crate) pattern: Option<String>,
    pub(crate) provider: Option<String>,
    /// Globs: the first model that fits answers, the others are there to change to.
    pub(crate) scope: Option<Vec<String>>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) api_key: Option<String>,
    pub(crate) fallback: Option<String>,
    pub(crate) max_tokens: Option<u64>,
    /// Models of the roles.
    pub(crate) fast: Option<String>,
    pub(crate) slow: Option<String>,
    pub(crate) plan: Option<String>,
    /// The file of a scripted provider.
    pub(crate) script: Option<String>,
}

/// Flags about tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolArgs {
    pub(crate) only: Option<Vec<String>>,
    pub(crate) without: Option<Vec<String>>,
    pub(crate) none: bool,
    pub(crate) no_builtin: bool,
    /// The mode of the sandbox, a word of `sandbox.mode`.
    pub(crate) sandbox: Option<&'static str>,
    /// Runs even if the system cannot enforce the sandbox.
    pub(crate) sandbox_fallback: bool,
    /// Rules of permissions.
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
}

/// Flags about the system prompt: texts, or names of files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PromptArgs {
    pub(crate) system: Option<String>,
    pub(crate) append: Vec<String>,
    pub(crate) no_context_files: bool,
}

/// Flags about skills, templates, rules and hooks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResourceArgs {
    pub(crate) skills: Vec<String>,
    pub(crate) templates: Vec<String>,
    pub(crate) hooks: Vec<String>,
    /// Files that name servers.
    pub(crate) mcp_configs: Vec<String>,
    pub(crate) no_mcp: bool,
    pub(crate) no_skills: bool,
    pub(crate) no_templates: bool,
    pub(crate) no_rules: bool,
}

/// Flags about the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RunArgs {
    pub(crate) max_turns: Option<u64>,
    /// US dollars.
    pub(crate) max_cost: Option<f64>,
    pub(crate) cwd: Option<String>,
    /// Sessions begin in plan mode.
    pub(crate) plan: bool,
    pub(crate) offline: bool,
    /// Standard input is waited for, however long it is silent.
    pub(crate) stdin: bool,
    /// The answer to the question whether the project is trusted.
    pub(crate) trust: Option<bool>,
}

impl Args {
    /// The mode; text where none was named.
    pub(crate) fn mode(&self) -> Mode {
        self.output.mode.unwrap_or(Mode::Text)
    }

    /// Returns true if a program reads the answer: nobody is asked, and the run ends with it.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.output.object || self.output.schema.is_some()
    }
}

impl Mode {
    /// Its name on the command line.
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
    /// The flag that asks for it; none for a new session.
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
