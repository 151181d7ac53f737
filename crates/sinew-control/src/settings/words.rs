//! The values of settings that are one of several words, as types.

use serde::Deserialize;
use sinew_agent::core::{Interrupt, QueueMode, ToolExecution};
use sinew_agent::resource::stream::InterruptMode;
use sinew_llm::provider::CacheRetention;
use sinew_session::Sync;
use sinew_tools::{EditMode, FileGuard};
use sinew_tui::OutputUnit;

/// The values of `sandbox.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// No sandbox.
    Off,
    /// Only what permission rules deny is closed.
    Rules,
    /// Programs can write in the working directory only.
    Workspace,
    /// Programs can write nowhere.
    ReadOnly,
}

/// The values of `sandbox.network`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxNetwork {
    /// No network.
    Off,
    /// The whole network.
    On,
    /// Only this machine.
    Loopback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApproveOutside {
    Ask,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum IndexPolicy {
    Auto,
    Off,
}

/// The form of the interactive mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuiMode {
    /// Linear mode if the terminal has no cursor movement.
    Auto,
    /// The screen.
    Screen,
    /// Lines that never change.
    Linear,
}

/// The key bindings of the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuiEditor {
    /// The keys of Emacs and readline.
    Emacs,
    /// The keys of vi.
    Vi,
}

/// How the terminal notifies the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the code that its name says")]
pub enum TuiNotify {
    Auto,
    Osc99,
    Osc777,
    Osc9,
    Bell,
    Off,
}

/// The part of the terminal that is redrawn after a change of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuiResize {
    /// The screen.
    Screen,
    /// The part that still changes.
    Live,
    /// Everything.
    Rebuild,
}

/// The set of symbols on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymbolPreset {
    /// All symbols.
    Unicode,
    /// For fonts with more symbols; currently the same set.
    Nerd,
    /// Only ASCII.
    Ascii,
}

/// The panel that opens when Esc is pressed twice in an empty editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubleEscape {
    /// The tree of the session.
    Tree,
    /// The list of branches.
    Branch,
    /// No panel.
    None,
}

/// Whether tools use the files of the editor or those on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientFs {
    /// The files of the editor, if it supports that.
    Auto,
    /// The files on disk.
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ContextMode {
    Discard,
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RepeatMode {
    Once,
    AfterGap,
}

// The words of types that other crates define.

#[derive(Deserialize)]
#[serde(remote = "CacheRetention", rename_all = "kebab-case")]
pub(super) enum CacheRetentionWord {
    None,
    Short,
    Long,
}

#[derive(Deserialize)]
#[serde(remote = "ToolExecution", rename_all = "kebab-case")]
pub(super) enum ToolExecutionWord {
    Parallel,
    Sequential,
}

#[derive(Deserialize)]
#[serde(remote = "QueueMode", rename_all = "kebab-case")]
pub(super) enum DeliveryWord {
    All,
    OneAtATime,
}

#[derive(Deserialize)]
#[serde(remote = "Interrupt", rename_all = "kebab-case")]
pub(super) enum InterruptWord {
    Immediate,
    Wait,
}

#[derive(Deserialize)]
#[serde(remote = "FileGuard", rename_all = "kebab-case")]
pub(super) enum FileGuardWord {
    On,
    Warn,
    Off,
}

#[derive(Deserialize)]
#[serde(remote = "EditMode", rename_all = "kebab-case")]
pub(super) enum EditModeWord {
    Replace,
    Hashline,
    Patch,
}

#[derive(Deserialize)]
#[serde(remote = "Sync", rename_all = "kebab-case")]
pub(super) enum SyncWord {
    Turn,
    Always,
    Never,
}

#[derive(Deserialize)]
#[serde(remote = "InterruptMode", rename_all = "kebab-case")]
pub(super) enum InterruptModeWord {
    Always,
    ProseOnly,
    ToolOnly,
    Never,
}

#[derive(Deserialize)]
#[serde(remote = "OutputUnit", rename_all = "kebab-case")]
pub(super) enum OutputUnitWord {
    Line,
    Sentence,
    End,
}

/// Reads a number that is not negative.
pub(super) fn amount<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?;
    match value.filter(|value| *value < 0.0) {
        Some(negative) => Err(serde::de::Error::custom(format!("{negative} is negative"))),
        None => Ok(value),
    }
}
