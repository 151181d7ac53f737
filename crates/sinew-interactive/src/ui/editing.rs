//! The vi keys in the editor, if they are enabled.

use sinew_control::settings::TuiEditor;
use sinew_tui::{EditAction, Vi, ViKey, ViMode, ViPress};

use super::Ui;
use crate::keys::{Action, Press};

/// Returns the mode and the typed part of a command, for the status row.
pub(super) fn told(vi: &Vi) -> String {
    let mode = match vi.mode() {
        ViMode::Insert => "insert",
        ViMode::Normal => "normal",
        ViMode::Visual => "visual",
    };
    format!("{mode} {}", vi.keys()).trim_end().into()
}

impl Ui {
    /// Selects the keys according to the settings.
    pub(super) fn take_editor(&mut self) {
        if (self.tui.editor == TuiEditor::Vi) != self.vi.is_some() {
            self.turn_vi();
        }
    }

    /// Enables or disables vi keys in the editor.
    pub(super) fn turn_vi(&mut self) {
        self.begin_text();
        self.vi = if self.vi.is_some() { None } else { Some(Vi::default()) };
    }

    /// Begins a new text in insert mode.
    pub(super) fn begin_text(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.restart(&mut self.editor);
        }
    }

    /// Passes a key to vi; returns false if the key has its own meaning.
    pub(super) fn take_vi_key(&mut self, press: Press<'_>) -> bool {
        let Some(vi) = &mut self.vi else { return false };
        let press = match press {
            Press::Action(Action::Interrupt) => ViPress::Escape,
            Press::Action(Action::Edit(EditAction::DeleteBackward)) => ViPress::Backspace,
            // In vi this key means redo instead of the history search.
            Press::Action(Action::SearchHistory) => ViPress::Redo,
            Press::Action(_) => ViPress::Text(""),
            Press::Text(text) => ViPress::Text(text),
        };
        match vi.key(&mut self.editor, press) {
            ViKey::Passed => return false,
            ViKey::Taken => {}
            ViKey::Unknown(keys) => self.notify(format!("{keys} is not a vi command here")),
        }
        self.popup = None;
        true
    }

    /// Updates the state after a key of the editor.
    pub(super) fn after_edit(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.rest(&mut self.editor);
        }
        self.complete();
    }
}
