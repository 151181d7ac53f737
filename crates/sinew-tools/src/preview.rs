//! The changes of files that a call would make, without making them: for people who are asked about it.

use serde_json::Value;

use super::file_change::FileChange;
use super::{Host, SPECS};

impl Host {
    /// The changes of files that a call would make now; none if it makes none, would fail, or is a call of a tool that
    /// cannot tell. Reads the files: not for a thread that answers keys.
    #[must_use]
    pub fn preview(&self, tool: &str, arguments: &Value) -> Vec<FileChange> {
        let offered = |spec: &&&super::Spec| spec.name == tool && (spec.offered)(&self.options);
        let preview = SPECS.iter().find(offered).and_then(|spec| spec.preview);
        preview.and_then(|preview| preview(self, arguments)).unwrap_or_default()
    }
}
