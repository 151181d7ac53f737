//! The rules that a branch has shown to the model, and how long ago.

use sinew_base::Result;
use sinew_llm::message::{AgentMessage, StopReason};

use super::entry::{Body, Kind};
use super::store::Session;

impl Session {
    /// Returns the rules that the model was shown on the path of the leaf, each with the number of completed turns
    /// since the last time. With `within`, rules that are at least that many turns old are skipped, and no older entry
    /// is read.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn told_rules(&self, within: Option<u64>) -> Result<Vec<(String, u64)>> {
        let (mut told, mut turns) = (Vec::new(), 0);
        for at in self.tree.path(self.tree.leaf()).into_iter().rev() {
            match self.tree.nodes[at].kind {
                Kind::State => {
                    let Body::TtsrInjection { injected_rules } = self.read(at)?.body else { continue };
                    for rule in injected_rules {
                        if !told.iter().any(|(name, _)| *name == rule) {
                            told.push((rule, turns));
                        }
                    }
                }
                Kind::Message if within.is_some() => {
                    turns += u64::from(is_completed_turn(&self.read(at)?.body));
                    if within.is_some_and(|within| turns >= within) {
                        break;
                    }
                }
                _ => {}
            }
        }
        Ok(told)
    }
}

fn is_completed_turn(body: &Body) -> bool {
    matches!(body, Body::Message { message: AgentMessage::Assistant(answer) }
        if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted))
}
