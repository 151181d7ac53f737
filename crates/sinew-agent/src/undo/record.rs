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
        /// The subagent that made the changes after its call had returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subagent: Option<String>,
    },
    /// Calls of a turn that its checkpoints do not cover.
    Uncovered {
        /// The entry of the message that started the turn.
        turn: String,
        /// The reason, as a sentence.
        reason: String,
    },
    /// Turns were undone.
    Undo {
        /// The entries of the messages that started them.
        turns: Vec<String>,
        /// The checkpoint that a redo restores; `None` if no file had to be restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redo: Option<String>,
        /// Whether the turns count as undone, because no single files were selected.
        complete: bool,
        /// Whether files were kept that were changed after the turns.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
    },
    /// An undo was reverted.
    Redo {
        /// The checkpoint of the undo.
        redo: String,
    },
}

impl UndoRecord {
    /// Assigns a span, or the reason why calls are not covered, to a turn.
    #[must_use]
    pub fn of_turn(mut self, id: &str) -> UndoRecord {
        if let UndoRecord::Span { turn, .. } | UndoRecord::Uncovered { turn, .. } = &mut self {
            *turn = id.to_string();
        }
        self
    }

    /// Marks a span as found after the turn.
    #[must_use]
    pub(crate) fn marked_late(mut self) -> UndoRecord {
        if let UndoRecord::Span { late, .. } = &mut self {
            *late = true;
        }
        self
    }

    /// Assigns a span to a subagent that works after its call has returned.
    #[must_use]
    pub fn by_subagent(mut self, name: &str) -> UndoRecord {
        if let UndoRecord::Span { subagent, .. } = &mut self {
            *subagent = Some(name.to_string());
        }
        self
    }

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
