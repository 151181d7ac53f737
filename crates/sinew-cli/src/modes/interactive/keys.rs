//! Keys of the editor as data, and the keys of a run.

use sinew_agent::agent::Delivery;
use sinew_tui::EditAction;

/// The circumstances in which a key of the run is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Situation {
    /// A run goes on, or something else that can be interrupted.
    pub(super) is_running: bool,
    pub(super) has_draft: bool,
    /// The same key was pressed a short time before.
    pub(super) is_second: bool,
}

/// The effect of a key of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunAction {
    Nothing,
    Send(Delivery),
    /// Ends the run; queued messages come back, the draft stays.
    Interrupt,
    /// Clears the draft, which history and undo keep.
    Clear,
    /// Opens the tree.
    Tree,
    /// Takes the newest queued message back.
    TakeBack,
    Notice(&'static str),
    Leave,
    /// The key is the editor's.
    Edit,
}

/// Tells what a key does to a run; none where it is not one of those keys.
pub(super) fn run_action(key: &str, now: Situation) -> Option<RunAction> {
    use RunAction::{Clear, Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
    let Situation { is_running, has_draft, is_second } = now;
    Some(match (key, is_running, has_draft) {
        ("enter", _, true) => Send(Delivery::Steer),
        ("ctrl+q" | "ctrl+enter" | "alt+enter", _, true) => Send(Delivery::FollowUp),
        ("enter" | "ctrl+q" | "ctrl+enter" | "alt+enter", _, false) => Nothing,
        ("escape", true, _) => Interrupt,
        ("escape", false, _) if !is_second => Nothing,
        ("escape", false, true) => Clear,
        ("escape", false, false) => Tree,
        ("ctrl+c", _, true) => Clear,
        ("ctrl+c", true, false) => Interrupt,
        ("ctrl+c", false, false) if is_second => Leave,
        ("ctrl+c", false, false) => Notice("ctrl+c again leaves"),
        ("ctrl+d", _, true) => Edit,
        ("ctrl+d", true, false) => Notice("the model is at work: esc interrupts it"),
        ("ctrl+d", false, false) => Leave,
        ("alt+up", true, _) => TakeBack,
        ("alt+up", false, _) => Nothing,
        _ => return None,
    })
}

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
    ("alt+up", "take the newest queued message back"),
    ("ctrl+c", "interrupt, or clear the editor; twice: leave"),
    ("ctrl+d", "leave, where the editor is empty"),
    ("ctrl+o", "show the conversation with all output"),
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
    fn item_65_each_cell_of_the_table_of_run_control() {
        use RunAction::{Clear, Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
        let (steer, follow_up) = (Send(Delivery::Steer), Send(Delivery::FollowUp));
        let (busy, again) = (Notice("the model is at work: esc interrupts it"), Notice("ctrl+c again leaves"));
        // Idle and empty, idle with a draft, running and empty, running with a draft.
        let situations = [(false, false), (false, true), (true, false), (true, true)];
        for (key, once, twice) in [
            ("enter", [Nothing, steer, Nothing, steer], [Nothing, steer, Nothing, steer]),
            ("ctrl+q", [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            ("ctrl+enter", [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            ("alt+enter", [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            ("escape", [Nothing, Nothing, Interrupt, Interrupt], [Tree, Clear, Interrupt, Interrupt]),
            ("ctrl+c", [again, Clear, Interrupt, Clear], [Leave, Clear, Interrupt, Clear]),
            ("ctrl+d", [Leave, Edit, busy, Edit], [Leave, Edit, busy, Edit]),
            ("alt+up", [Nothing, Nothing, TakeBack, TakeBack], [Nothing, Nothing, TakeBack, TakeBack]),
        ] {
            for (is_second, expect) in [(false, once), (true, twice)] {
                for ((is_running, has_draft), expect) in situations.into_iter().zip(expect) {
                    let now = Situation { is_running, has_draft, is_second };
                    assert_eq!(run_action(key, now), Some(expect), "{key} {now:?}");
                }
            }
        }
        let now = Situation { is_running: true, has_draft: true, is_second: false };
        assert_eq!(run_action("a", now), None);
    }

    #[test]
    fn each_key_does_one_thing() {
        for (at, (key, _)) in ACTIONS.iter().enumerate() {
            assert!(ACTIONS[..at].iter().all(|(other, _)| other != key), "{key}");
        }
    }
}
