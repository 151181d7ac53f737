//! The keys that control a run: their effect during a run, and while idle.

use sinew_agent::agent::Delivery;

use super::{Action, Bindings};

/// The situation in which a key of the run is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunKeyContext {
    /// True if a run is active, or other work that can be interrupted.
    pub(crate) is_running: bool,
    pub(crate) has_draft: bool,
    /// True if the same key was pressed shortly before.
    pub(crate) is_second: bool,
}

/// The effect of a key that controls a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunAction {
    Nothing,
    Send(Delivery),
    /// Aborts the run; queued messages return to the editor, and the draft is kept.
    Interrupt,
    /// Clears the draft, which is kept in the history and for undo.
    Clear,
    /// Opens the tree.
    Tree,
    /// Moves the newest queued message back to the editor.
    TakeBack,
    Notice(RunNotice),
    Leave,
    /// The editor handles the key.
    Edit,
}

/// The reason why a key has no effect now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunNotice {
    /// A second press is required to exit.
    Again,
    /// Exiting is disabled while the model is working, to avoid accidents.
    Busy,
}

impl RunNotice {
    /// Returns the text of the note, with the user's keys.
    pub(crate) fn text(self, keys: &Bindings) -> String {
        match self {
            RunNotice::Again => format!("press {} again to quit", keys.short(Action::Clear)),
            RunNotice::Busy => format!("the model is working: {} interrupts it", keys.short(Action::Interrupt)),
        }
    }
}

/// Returns the effect of an action on a run; `None` for other actions.
pub(crate) fn run_action(action: Action, now: RunKeyContext) -> Option<RunAction> {
    use RunAction::{Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
    let RunKeyContext { is_running, has_draft, is_second } = now;
    Some(match (action, is_running, has_draft) {
        (Action::Submit, _, true) => Send(Delivery::Steer),
        (Action::FollowUp, _, true) => Send(Delivery::FollowUp),
        (Action::Submit | Action::FollowUp, _, false) => Nothing,
        (Action::Interrupt, true, _) => Interrupt,
        (Action::Interrupt, false, _) if !is_second => Nothing,
        (Action::Interrupt, false, true) => RunAction::Clear,
        (Action::Interrupt, false, false) => Tree,
        (Action::Clear, _, true) => RunAction::Clear,
        (Action::Clear, true, false) => Interrupt,
        (Action::Clear, false, false) if is_second => Leave,
        (Action::Clear, false, false) => Notice(RunNotice::Again),
        (Action::Exit, _, true) => Edit,
        (Action::Exit, true, false) => Notice(RunNotice::Busy),
        (Action::Exit, false, false) => Leave,
        (Action::Dequeue, true, _) => TakeBack,
        (Action::Dequeue, false, _) => Nothing,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_action_in_each_situation() {
        use RunAction::{Clear, Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
        let (steer, follow_up) = (Send(Delivery::Steer), Send(Delivery::FollowUp));
        let (busy, again) = (Notice(RunNotice::Busy), Notice(RunNotice::Again));
        // Idle and empty, idle with a draft, running and empty, running with a draft.
        let situations = [(false, false), (false, true), (true, false), (true, true)];
        for (key, once, twice) in [
            (Action::Submit, [Nothing, steer, Nothing, steer], [Nothing, steer, Nothing, steer]),
            (Action::FollowUp, [Nothing, follow_up, Nothing, follow_up], [Nothing, follow_up, Nothing, follow_up]),
            (Action::Interrupt, [Nothing, Nothing, Interrupt, Interrupt], [Tree, Clear, Interrupt, Interrupt]),
            (Action::Clear, [again, Clear, Interrupt, Clear], [Leave, Clear, Interrupt, Clear]),
            (Action::Exit, [Leave, Edit, busy, Edit], [Leave, Edit, busy, Edit]),
            (Action::Dequeue, [Nothing, Nothing, TakeBack, TakeBack], [Nothing, Nothing, TakeBack, TakeBack]),
        ] {
            for (is_second, expect) in [(false, once), (true, twice)] {
                for ((is_running, has_draft), expect) in situations.into_iter().zip(expect) {
                    let now = RunKeyContext { is_running, has_draft, is_second };
                    assert_eq!(run_action(key, now), Some(expect), "{key:?} {now:?}");
                }
            }
        }
        let now = RunKeyContext { is_running: true, has_draft: true, is_second: false };
        assert_eq!(run_action(Action::Tab, now), None);
    }
}
