//! Stashed drafts.

use sinew_tui::Editor;

use super::keys::{Action, Bindings};

/// The drafts, the newest last.
#[derive(Default)]
pub(super) struct Stash(Vec<String>);

/// The result of stashing or restoring a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StashResult {
    Aside,
    Back,
    /// There is no draft.
    Nothing,
}

impl StashResult {
    /// Returns a line about the result.
    pub(super) fn text(self, keys: &Bindings) -> String {
        let key = keys.short(Action::Stash);
        match self {
            StashResult::Aside => format!("stashed: restored after the next message, or with {key}"),
            StashResult::Back => "the draft is restored".into(),
            StashResult::Nothing => format!("no stashed draft: {key} stashes the current one"),
        }
    }
}

impl Stash {
    /// Stashes the draft; in an empty editor, restores the newest one.
    pub(super) fn switch(&mut self, editor: &mut Editor) -> StashResult {
        if !editor.is_empty() {
            self.0.push(editor.text());
            editor.set_text("");
            return StashResult::Aside;
        }
        match self.give_back(editor) {
            true => StashResult::Back,
            false => StashResult::Nothing,
        }
    }

    /// Restores the newest draft in an empty editor; returns false if there is none, or the editor is not empty.
    pub(super) fn give_back(&mut self, editor: &mut Editor) -> bool {
        let draft = self.0.pop_if(|_| editor.is_empty());
        draft.inspect(|draft| editor.set_text(draft)).is_some()
    }

    /// Removes all drafts and returns them, the oldest first.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0)
    }

    /// Moves all drafts to the history.
    pub(super) fn file(&mut self, editor: &mut Editor) {
        self.take().iter().for_each(|draft| editor.history().add(draft));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stashed_draft_comes_back_or_is_in_the_history() {
        let (mut stash, mut editor) = (Stash::default(), Editor::new());
        assert!(!stash.give_back(&mut editor));
        for draft in ["one", "two"] {
            editor.set_text(draft);
            stash.switch(&mut editor);
            assert!(editor.is_empty());
        }
        editor.set_text("three");
        assert!(!stash.give_back(&mut editor), "the current text stays");
        assert_eq!(editor.submit(), "three");
        assert!(stash.give_back(&mut editor));
        assert_eq!(editor.text(), "two");
        editor.clear();
        stash.switch(&mut editor);
        assert_eq!(editor.text(), "one");
        stash.switch(&mut editor);
        stash.file(&mut editor);
        assert_eq!(editor.history().entries(), ["three", "two", "one"]);
        assert!(!stash.give_back(&mut editor));
    }
}
