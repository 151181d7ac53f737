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
    let mut undos: Vec<(Vec<String>, String, bool)> = Vec::new();
    for id in session.path_ids() {
        let body = session.entry(id)?.body;
        match (&body, UndoRecord::of_body(&body)) {
            (Body::Message { message: AgentMessage::User(user) }, _) => {
                let title = user.content.text().lines().next().unwrap_or_default().to_string();
                history.turns.push(Turn { id: id.to_string(), title, ..Turn::default() });
            }
            (_, Some(UndoRecord::Span { turn, start, end, jobs, gaps, late })) => {
                let at = history.turns.iter().position(|known| known.id == turn);
                let at = at.unwrap_or_else(|| {
                    // A job or an extension started the turn, without a prompt.
                    history.turns.push(Turn { id: turn, title: "(without a prompt)".into(), ..Turn::default() });
                    history.turns.len() - 1
                });
                if !late {
                    // Steering messages that arrived meanwhile belong to the turn.
                    history.turns.truncate(at + 1);
                    history.turns[at].jobs = jobs;
                }
                let turn = &mut history.turns[at];
                turn.spans.push((start, end));
                turn.gaps.extend(gaps);
            }
            (_, Some(UndoRecord::Undo { turns, redo, complete })) => undos.push((turns, redo, complete)),
            (_, Some(UndoRecord::Redo { redo })) => undos.retain(|(_, known, _)| *known != redo),
            _ => {}
        }
    }
    for (turns, redo, complete) in undos {
        history.redos.push(redo);
        for turn in history.turns.iter_mut().filter(|turn| complete && turns.contains(&turn.id)) {
            turn.is_undone = true;
        }
    }
    Ok(history)
}
