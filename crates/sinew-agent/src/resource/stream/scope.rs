//! The part of an answer that a rule applies to.

use sinew::walk::{GlobSet, GlobSyntax};

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The text.
    Text,
    /// The thinking blocks.
    Thinking,
    /// The arguments of a tool.
    Tool {
        /// The name of the tool; `None` for every tool.
        name: Option<String>,
        /// A glob for the files of the call; `None` for any call.
        glob: Option<String>,
    },
}

impl Scope {
    /// Returns the scope of the arguments of every tool.
    #[must_use]
    pub fn every_tool() -> Scope {
        Scope::Tool { name: None, glob: None }
    }

    /// Parses `text`, `thinking`, `tool`, `tool:<name>` or `tool:<name>(<glob>)`.
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

/// The parts of an answer in which a violation stops it; in other parts the rule is injected later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptMode {
    /// All parts.
    Always,
    /// Text and thinking.
    ProseOnly,
    /// Arguments of tools.
    ToolOnly,
    /// No part.
    Never,
}

impl InterruptMode {
    /// Parses `always`, `prose-only`, `tool-only` or `never`.
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

    /// Returns whether a violation in the arguments of a tool (`tool`) or in prose stops the answer.
    pub(super) fn stops(self, tool: bool) -> bool {
        match self {
            InterruptMode::Always => true,
            InterruptMode::ProseOnly => !tool,
            InterruptMode::ToolOnly => tool,
            InterruptMode::Never => false,
        }
    }
}
