//! The keys of a run: what they do while it goes on, and while nothing does.

use sinew_agent::agent::Delivery;

use super::{Action, Bindings};

/// The circumstances in which a key of the run is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::modes::interactive) struct Situation {
    /// A run goes on, or something else that can be interrupted.
    pub(in crate::modes::interactive) is_running: bool,
    pub(in crate::modes::interactive) has_draft: bool,
    /// The same key was pressed a short time before.
    pub(in crate::modes::interactive) is_second: bool,
}

/// The effect of a key of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::modes::interactive) enum RunAction {
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
    Notice(RunNotice),
    Leave,
    /// The key is the editor's.
    Edit,
}

/// A note about a key of the run that does nothing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::modes::interactive) enum RunNotice {
    /// Only a second press leaves.
    Again,
    /// Nobody leaves a model that is at work by accident.
    Busy,
}

impl RunNotice {
    /// The note, with the keys of the user.
    pub(in crate::modes::interactive) fn text(self, keys: &Bindings) -> String {
        match self {
            RunNotice::Again => format!("{} again leaves", keys.short(Action::Clear)),
            RunNotice::Busy => format!("the model is at work: {} interrupts it", keys.short(Action::Interrupt)),
        }
    }
}

/// Tells what an action does to a run; none where it is not one of those.
pub(in crate::modes::interactive) fn run_action(action: Action, now: Situation) -> Option<RunAction> {
    use RunAction::{Edit, Interrupt, Leave, Nothing, Notice, Send, TakeBack, Tree};
    let Situation { is_running, has_draft, is_second } = now;
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
                    let now = Situation { is_running, has_draft, is_second };
                    assert_eq!(run_action(key, now), Some(expect), "{key:?} {now:?}");
                }
            }
        }
        let now = Situation { is_running: true, has_draft: true, is_second: false };
        assert_eq!(run_action(Action::Tab, now), None);
    }
}
