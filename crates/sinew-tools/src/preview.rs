//! Computes the file changes of a call without making them, for permission prompts.

use serde_json::Value;

use super::file_change::FileChange;
use super::{Host, SPECS};

impl Host {
    /// Returns the file changes that a call would make now; empty if it makes none, would fail, or belongs to a tool
    /// without previews. Reads the files, so it must not run on the input thread.
    #[must_use]
    pub fn preview(&self, tool: &str, arguments: &Value) -> Vec<FileChange> {
        let offered = |spec: &&&super::Spec| spec.name == tool && (spec.offered)(&self.options);
        let preview = SPECS.iter().find(offered).and_then(|spec| spec.preview);
        preview.and_then(|preview| preview(self, arguments)).unwrap_or_default()
    }
}
