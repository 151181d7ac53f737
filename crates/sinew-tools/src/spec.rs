//! The description of a built-in tool as data.

use std::sync::Arc;

use serde_json::Value;

use super::{Host, HostOptions, arguments};
use crate::file_change::FileChange;
use crate::semantics::Semantics;
use crate::tool::{Boxed, Call, Concurrency, Tool, ToolError, ToolFlags, ToolOutput, panic_text};

pub(super) type Outcome = Result<ToolOutput, ToolError>;

/// The properties of a built-in tool.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: fn(&HostOptions) -> Value,
    pub(super) guidelines: &'static [&'static str],
    pub(super) concurrency: Concurrency,
    pub(super) flags: ToolFlags,
    pub(super) semantics: Semantics,
    /// Returns true if the tool is available in this session.
    pub(super) offered: fn(&HostOptions) -> bool,
    /// Returns the reason why a call cannot succeed, from arguments that are still streaming.
    pub(super) reject_early: Option<fn(&Host, &Value) -> Option<String>>,
    /// Returns the file changes that a call would make now; `None` if it would fail. Reads the files.
    pub(super) preview: Option<Preview>,
    pub(super) run: Run,
}

/// Computes the file changes that a call would make.
pub(super) type Preview = fn(&Host, &Value) -> Option<Vec<FileChange>>;

/// The function of a tool.
pub(super) enum Run {
    /// Runs on a thread that may block.
    Blocking(fn(&Host, &Call) -> Outcome),
    /// Runs as a future.
    Future(fn(Arc<Host>, Call) -> Boxed<'static, Outcome>),
}

/// Neither hidden nor exclusive, and always offered.
pub(super) const PLAIN: ToolFlags = ToolFlags {
    hidden: false,
    non_abortable: false,
    ignores_steering: false,
    default_inactive: false,
    deferrable: false,
};

pub(super) fn always(_: &HostOptions) -> bool {
    true
}

/// A tool with its host.
pub(super) struct Builtin {
    pub(super) host: Arc<Host>,
    pub(super) spec: &'static Spec,
}

impl Tool for Builtin {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn description(&self) -> &str {
        self.spec.description
    }

    fn parameters(&self) -> Value {
        (self.spec.parameters)(&self.host.options)
    }

    fn guidelines(&self) -> Vec<String> {
        self.spec.guidelines.iter().map(|line| (*line).to_string()).collect()
    }

    fn concurrency(&self) -> Concurrency {
        self.spec.concurrency
    }

    fn flags(&self) -> ToolFlags {
        self.spec.flags
    }

    fn semantics(&self) -> Semantics {
        self.spec.semantics
    }

    fn intent(&self, partial: &Value) -> Option<String> {
        let text = partial.get(self.spec.semantics.headline)?.as_str()?;
        let line = text.lines().next().unwrap_or_default();
        Some(format!("{} {}", self.spec.name, sinew::term::sanitize(line)))
    }

    fn can_reject_early(&self) -> bool {
        self.spec.reject_early.is_some() && self.host.options.settings.edit.stream_guard
    }

    fn reject_early(&self, whole: &Value) -> Option<String> {
        self.spec.reject_early?(&self.host, &self.prepare(whole.clone()))
    }

    fn prepare(&self, arguments: Value) -> Value {
        arguments::mend(&self.parameters(), arguments)
    }

    fn execute(&self, call: Call) -> Boxed<'_, Outcome> {
        match self.spec.run {
            Run::Future(run) => run(Arc::clone(&self.host), call),
            Run::Blocking(run) => {
                let host = Arc::clone(&self.host);
                Box::pin(async move {
                    let work = tokio::task::spawn_blocking(move || run(&host, &call));
                    work.await.unwrap_or_else(|lost| match lost.try_into_panic() {
                        Ok(panic) => Err(ToolError::Failed(format!("crashed: {}", panic_text(panic.as_ref())))),
                        Err(_) => Err(ToolError::Aborted),
                    })
                })
            }
        }
    }
}
