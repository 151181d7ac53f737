//! The keys of vi in the editor, where they are wanted.

use sinew_tui::{EditAction, Vi, ViKey, ViMode, ViPress};

use super::Ui;
use crate::modes::interactive::keys::{Action, Press};
use crate::settings::TuiEditor;

/// The mode of the keys and what is typed of a command, for the status.
pub(super) fn told(vi: &Vi) -> String {
    let mode = match vi.mode() {
        ViMode::Insert => "insert",
        ViMode::Normal => "normal",
        ViMode::Visual => "visual",
    };
    format!("{mode} {}", vi.keys()).trim_end().into()
}

impl Ui {
    /// Takes the keys that the settings want.
    pub(super) fn take_editor(&mut self) {
        if (self.tui.editor == TuiEditor::Vi) != self.vi.is_some() {
            self.turn_vi();
        }
    }

    /// Gives the editor the keys of vi, or takes them from it.
    pub(super) fn turn_vi(&mut self) {
        self.begin_text();
        self.vi = if self.vi.is_some() { None } else { Some(Vi::default()) };
    }

    /// Another text is written from here on: as one writes it, not as commands.
    pub(super) fn begin_text(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.restart(&mut self.editor);
        }
    }

    /// Gives a key to vi; false where it has its own meaning.
    pub(super) fn take_vi_key(&mut self, press: Press<'_>) -> bool {
        let Some(vi) = &mut self.vi else { return false };
        let press = match press {
            Press::Action(Action::Interrupt) => ViPress::Escape,
            Press::Action(Action::Edit(EditAction::DeleteBackward)) => ViPress::Backspace,
            // In vi it is one key with the search through the history.
            Press::Action(Action::SearchHistory) => ViPress::Redo,
            Press::Action(_) => ViPress::Text(""),
            Press::Text(text) => ViPress::Text(text),
        };
        match vi.key(&mut self.editor, press) {
            ViKey::Passed => return false,
            ViKey::Taken => {}
            ViKey::Unknown(keys) => self.notify(format!("{keys} is no command of vi here")),
        }
        self.popup = None;
        true
    }

    /// The editor was moved by a key of its own.
    pub(super) fn after_edit(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.rest(&mut self.editor);
        }
        self.complete();
    }
}
