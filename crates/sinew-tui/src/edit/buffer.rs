//! Changes of the text, all of which go through one function.

use super::undo::Change;
use super::{Editor, LastCommand};

impl Editor {
    /// Replaces the bytes `from..to` and moves the cursor after the new text. If `joins`, one undo removes it together
    /// with the previous change.
    pub(super) fn replace(&mut self, from: usize, to: usize, text: &str, joins: bool) {
        if from == to && text.is_empty() {
            return;
        }
        let removed = self.text[from..to].to_owned();
        self.text.replace_range(from..to, text);
        let before = self.cursor;
        self.cursor = from + text.len();
        self.sticky = None;
        self.history.leave();
        self.undo.add(Change { at: from, removed, inserted: text.to_owned(), cursor: before, group: 0 }, joins);
    }

    pub(super) fn undo_one(&mut self) -> bool {
        self.last = LastCommand::Other;
        let Some(change) = self.undo.back() else { return false };
        let end = change.at + change.inserted.len();
        self.text.replace_range(change.at..end, &change.removed);
        self.cursor = change.cursor;
        !self.undo.goes_back(change.group) || self.undo_one()
    }

    pub(super) fn redo_one(&mut self) -> bool {
        self.last = LastCommand::Other;
        let Some(change) = self.undo.forward() else { return false };
        let end = change.at + change.removed.len();
        self.text.replace_range(change.at..end, &change.inserted);
        self.cursor = change.at + change.inserted.len();
        !self.undo.goes_forward(change.group) || self.redo_one()
    }
}
