//! The turns of a branch, with their spans.

use sinew::base::Result;
use sinew_llm::message::AgentMessage;
use sinew_session::{Body, Session};

use super::record::UndoRecord;

/// A prompt of the user and everything that followed from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// The entry of its first message.
    pub id: String,
    /// The first line of the prompt.
    pub title: String,
    /// Pairs of checkpoints in chronological order, one for each span in which something changed.
    pub spans: Vec<(String, String)>,
    /// The background jobs that were still running when it ended.
    pub jobs: Vec<String>,
    /// The contents that its checkpoints could not store.
    pub gaps: Vec<String>,
    /// Whether all of its changes were undone and not redone.
    pub is_undone: bool,
    /// Whether its undo kept files that were changed after the turn.
    pub has_kept: bool,
}

/// The turns of a branch, and the undos.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The turns, oldest first.
    pub turns: Vec<Turn>,
    /// The checkpoints of the undos that a redo can revert, oldest first.
    pub redos: Vec<String>,
}

/// Returns the turns and undos on the path to the leaf of a session.
///
/// # Errors
/// Returns an error if the file of the session can no longer be read.
pub fn history(session: &Session) -> Result<History> {
    let mut history = History::default();
    let mut undos: Vec<Undone> = Vec::new();
    for id in session.path_ids() {
        let body = session.entry(id)?.body;
        match (&body, UndoRecord::of_body(&body)) {
            (Body::Message { message: AgentMessage::User(user) }, _) => {
                let title = user.content.text().lines().next().unwrap_or_default().to_string();
                history.turns.push(Turn { id: id.to_string(), title, ..Turn::default() });
            }
            (_, Some(UndoRecord::Span { turn, start, end, jobs, gaps, late, subagent })) => {
                let at = history.position(turn, subagent.as_deref());
                if !late && subagent.is_none() {
                    // Steering messages that arrived meanwhile belong to the turn, and so does the work of subagents.
                    let spans = history.turns.split_off(at + 1).into_iter().flat_map(|turn| turn.spans);
                    history.turns[at].spans.extend(spans);
                    history.turns[at].jobs = jobs;
                }
                let turn = &mut history.turns[at];
                turn.spans.push((start, end));
                turn.gaps.extend(gaps);
            }
            (_, Some(UndoRecord::Uncovered { turn, reason })) => {
                let at = history.position(turn, None);
                history.turns[at].gaps.push(reason);
            }
            (_, Some(UndoRecord::Undo { turns, redo, complete, kept })) => {
                undos.push(Undone { turns, redo, complete, kept });
            }
            (_, Some(UndoRecord::Redo { redo })) => undos.retain(|undo| undo.redo.as_deref() != Some(&*redo)),
            _ => {}
        }
    }
    for Undone { turns, redo, complete, kept } in undos {
        history.redos.extend(redo);
        for turn in history.turns.iter_mut().filter(|turn| complete && turns.contains(&turn.id)) {
            (turn.is_undone, turn.has_kept) = (true, kept);
        }
    }
    Ok(history)
}

/// An undo that was not redone.
struct Undone {
    turns: Vec<String>,
    redo: Option<String>,
    complete: bool,
    kept: bool,
}

impl History {
    /// Returns the index of a turn. One that no prompt started is added: a job, an extension or a subagent started it.
    fn position(&mut self, id: String, subagent: Option<&str>) -> usize {
        if let Some(at) = self.turns.iter().position(|known| known.id == id) {
            return at;
        }
        let title = subagent.map_or("(without a prompt)".into(), |subagent| format!("(subagent {subagent})"));
        self.turns.push(Turn { id, title, ..Turn::default() });
        self.turns.len() - 1
    }

    /// Returns the turns that an undo takes back: the latest open ones, at most `count`. With `force`, a later undo that
    /// kept files is completed first.
    pub(super) fn into_undoable(self, count: usize, force: bool) -> Vec<Turn> {
        let is_open = |turn: &Turn| !turn.is_undone;
        let last_open = self.turns.iter().rposition(is_open).map_or(0, |at| at + 1);
        if force && self.turns[last_open..].iter().any(|turn| turn.has_kept) {
            return self.turns.into_iter().skip(last_open).filter(|turn| turn.has_kept).collect();
        }
        let open: Vec<Turn> = self.turns.into_iter().filter(is_open).collect();
        let from = open.len().saturating_sub(count.max(1));
        open.into_iter().skip(from).collect()
    }
}
