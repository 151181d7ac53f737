//! The session entries that undo reads.

use serde::{Deserialize, Serialize};
use sinew_session::Body;

/// The `customType` of the entries.
pub const CUSTOM_TYPE: &str = "checkpoint";

/// A session entry about checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum UndoRecord {
    /// A span of a turn in which something changed.
    Span {
        /// The entry of the message that started the turn.
        turn: String,
        /// The checkpoint before the span.
        start: String,
        /// The checkpoint after the span.
        end: String,
        /// The background jobs that were still running when the turn ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        jobs: Vec<String>,
        /// The contents that could not be stored, one sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gaps: Vec<String>,
        /// Whether it was found after the turn, by another full scan.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        late: bool,
    },
    /// Turns were undone.
    Undo {
        /// The entries of the messages that started them.
        turns: Vec<String>,
        /// The checkpoint that a redo restores.
        redo: String,
        /// Whether the turns count as undone, because no single files were selected.
        complete: bool,
    },
    /// An undo was reverted.
    Redo {
        /// The checkpoint of the undo.
        redo: String,
    },
}

impl UndoRecord {
    /// Returns the entry that stores the record.
    #[must_use]
    pub fn to_body(&self) -> Body {
        // A record has no value that JSON cannot represent.
        Body::Custom { custom_type: CUSTOM_TYPE.into(), data: serde_json::to_value(self).unwrap_or_default() }
    }

    /// Returns the record of an entry; `None` for other entries.
    #[must_use]
    pub fn of_body(body: &Body) -> Option<UndoRecord> {
        match body {
            Body::Custom { custom_type, data } if custom_type == CUSTOM_TYPE => {
                serde_json::from_value(data.clone()).ok()
            }
            _ => None,
        }
    }
}
