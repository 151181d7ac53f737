//! The entries of a session that undo reads.

use serde::{Deserialize, Serialize};
use sinew_session::Body;

/// The `customType` of the entries.
pub const CUSTOM_TYPE: &str = "checkpoint";

/// An entry of the session about checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum UndoRecord {
    /// A stretch of a turn in which something changed.
    Span {
        /// The entry of the message that began the turn.
        turn: String,
        /// The checkpoint before.
        start: String,
        /// The checkpoint after.
        end: String,
        /// The background jobs that ran on when the turn was over.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        jobs: Vec<String>,
        /// The contents that could not be kept, one sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gaps: Vec<String>,
        /// It was found after the turn, by reading everything once more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        late: bool,
    },
    /// Turns were undone.
    Undo {
        /// The entries of the messages that began them.
        turns: Vec<String>,
        /// The checkpoint by which the undo can be undone.
        redo: String,
        /// The turns count as undone: the files were not selected one by one.
        complete: bool,
    },
    /// An undo was undone.
    Redo {
        /// The checkpoint of the undo.
        redo: String,
    },
}

impl UndoRecord {
    /// Returns the entry that keeps the record.
    #[must_use]
    pub fn to_body(&self) -> Body {
        // A record has no value that JSON lacks.
        Body::Custom { custom_type: CUSTOM_TYPE.into(), data: serde_json::to_value(self).unwrap_or_default() }
    }

    /// Returns the record of an entry; `None` if it keeps something else.
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
