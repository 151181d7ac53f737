//! Keys of the editor, as data.

use sinew_tui::EditAction;

const ACTIONS: &[(&str, EditAction)] = &[
    ("left", EditAction::Left),
    ("ctrl+b", EditAction::Left),
    ("right", EditAction::Right),
    ("ctrl+f", EditAction::Right),
    ("up", EditAction::Up),
    ("ctrl+p", EditAction::Up),
    ("down", EditAction::Down),
    ("ctrl+n", EditAction::Down),
    ("home", EditAction::LineStart),
    ("ctrl+a", EditAction::LineStart),
    ("end", EditAction::LineEnd),
    ("ctrl+e", EditAction::LineEnd),
    ("ctrl+home", EditAction::TextStart),
    ("ctrl+end", EditAction::TextEnd),
    ("alt+left", EditAction::WordLeft),
    ("ctrl+left", EditAction::WordLeft),
    ("alt+b", EditAction::WordLeft),
    ("alt+right", EditAction::WordRight),
    ("ctrl+right", EditAction::WordRight),
    ("alt+f", EditAction::WordRight),
    ("backspace", EditAction::DeleteBackward),
    ("ctrl+h", EditAction::DeleteBackward),
    ("shift+backspace", EditAction::DeleteBackward),
    ("delete", EditAction::DeleteForward),
    ("ctrl+d", EditAction::DeleteForward),
    ("ctrl+w", EditAction::KillWordBackward),
    ("alt+backspace", EditAction::KillWordBackward),
    ("alt+d", EditAction::KillWordForward),
    ("ctrl+u", EditAction::KillToLineStart),
    ("ctrl+k", EditAction::KillToLineEnd),
    ("ctrl+y", EditAction::Yank),
    ("alt+y", EditAction::YankPop),
    ("ctrl+t", EditAction::Transpose),
    ("ctrl+-", EditAction::Undo),
    ("ctrl+_", EditAction::Undo),
    ("alt+-", EditAction::Redo),
    ("ctrl+j", EditAction::NewLine),
    ("shift+enter", EditAction::NewLine),
];

/// Keys for `/hotkeys`: what people press, and what it does.
pub(super) const HELP: &[(&str, &str)] = &[
    ("enter", "send; while the model works: steer it after its present tools"),
    ("alt+enter, ctrl+q", "send when the model would stop"),
    ("shift+enter, ctrl+j", "a new line"),
    ("esc", "interrupt; queued messages come back to the editor; twice on an empty editor: the tree"),
    ("tab", "take a completion, complete a path, answer a panel"),
    ("alt+up", "take the queued messages back"),
    ("ctrl+c", "interrupt, or clear the editor; twice: leave"),
    ("ctrl+d", "leave, where the editor is empty"),
    ("ctrl+l", "paint the screen anew"),
    ("ctrl+g", "write the draft in your own editor ($VISUAL, $EDITOR)"),
    ("ctrl+z", "suspend"),
    ("shift+tab", "next thinking level"),
    ("up, down", "move, and go through earlier prompts"),
    ("ctrl+w, ctrl+u, ctrl+k, ctrl+y", "cut a word, to the line's begin, to its end; paste what was cut"),
    ("ctrl+-, alt+-", "undo, redo"),
];

/// Returns what a key does in the editor.
pub(super) fn action(key: &str) -> Option<EditAction> {
    ACTIONS.iter().find(|(known, _)| *known == key).map(|(_, action)| *action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_does_one_thing() {
        for (at, (key, _)) in ACTIONS.iter().enumerate() {
            assert!(ACTIONS[..at].iter().all(|(other, _)| other != key), "{key}");
        }
    }
}
