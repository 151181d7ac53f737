//! The part of an answer that a rule is about.

use sinew::walk::{GlobSet, GlobSyntax};

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The text of the model.
    Text,
    /// Its thoughts.
    Thinking,
    /// The arguments of a tool.
    Tool {
        /// The tool; absent: every one.
        name: Option<String>,
        /// The files that the call is about; absent: any, or none.
        glob: Option<String>,
    },
}

impl Scope {
    /// The arguments of every tool.
    #[must_use]
    pub fn every_tool() -> Scope {
        Scope::Tool { name: None, glob: None }
    }

    /// Reads `text`, `thinking`, `tool`, `tool:<name>` or `tool:<name>(<glob>)`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Scope> {
        match text {
            "text" => return Some(Scope::Text),
            "thinking" => return Some(Scope::Thinking),
            "tool" => return Some(Scope::every_tool()),
            _ => {}
        }
        let rest = text.strip_prefix("tool:")?;
        let (name, glob) = match rest.split_once('(') {
            Some((name, glob)) => (name, Some(glob.strip_suffix(')')?.to_string())),
            None => (rest, None),
        };
        let usable = glob.as_deref().is_none_or(|glob| GlobSet::new(glob, GlobSyntax::default()).is_ok());
        let name = Some(name.trim()).filter(|name| !name.is_empty() && *name != "*").map(str::to_string);
        usable.then_some(Scope::Tool { name, glob })
    }
}

/// The answers that are stopped when a rule is broken; all others are told of it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptMode {
    /// Everything.
    Always,
    /// Text and thoughts.
    ProseOnly,
    /// Arguments of tools.
    ToolOnly,
    /// Nothing.
    Never,
}

impl InterruptMode {
    /// Reads `always`, `prose-only`, `tool-only` or `never`.
    #[must_use]
    pub fn parse(word: &str) -> Option<InterruptMode> {
        Some(match word {
            "always" => InterruptMode::Always,
            "prose-only" => InterruptMode::ProseOnly,
            "tool-only" => InterruptMode::ToolOnly,
            "never" => InterruptMode::Never,
            _ => return None,
        })
    }

    /// Returns whether it stops a tool's arguments, or with false the rest.
    pub(super) fn stops(self, tool: bool) -> bool {
        match self {
            InterruptMode::Always => true,
            InterruptMode::ProseOnly => !tool,
            InterruptMode::ToolOnly => tool,
            InterruptMode::Never => false,
        }
    }
}
