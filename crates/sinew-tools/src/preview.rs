//! The changes of files that a call would make, without making them: for people who are asked about it.

use serde_json::Value;

use super::file_change::FileChange;
use super::{Host, edit, hashline, write};

impl Host {
    /// The changes of files that a call of `edit` or `write` would make now; none where it makes none, would fail, or is
    /// a call of another tool. Reads the files: not for a thread that answers keys.
    #[must_use]
    pub fn preview(&self, tool: &str, arguments: &Value) -> Vec<FileChange> {
        let changes = match tool {
            "edit" if arguments.get("input").is_some() => hashline::preview(self, arguments),
            "edit" => edit::preview(self, arguments).map(|change| vec![change]),
            "write" => write::preview(self, arguments).map(|change| vec![change]),
            _ => None,
        };
        changes.unwrap_or_default()
    }
}
