//! A turn of an agent whose file changes are recorded for undo.

use parking_lot::Mutex;

use super::session::AgentSession;
use crate::event::Event;
use crate::undo::{TurnRecorder, UndoRecord};

/// A running turn. Its events mark the start and end of its calls.
pub(super) struct RecordedTurn<'a> {
    agent: &'a AgentSession,
    recorder: &'a TurnRecorder,
    /// The id of the entry of the message that started the turn.
    id: Mutex<Option<String>>,
}

impl<'a> RecordedTurn<'a> {
    /// Starts the turn; `None` if undo is off.
    pub(super) async fn begin(agent: &'a AgentSession) -> Option<RecordedTurn<'a>> {
        let recorder = agent.undo.as_deref()?;
        if let Some(warning) = recorder.begin_turn().await {
            agent.warn(warning).await;
        }
        Some(RecordedTurn { agent, recorder, id: Mutex::default() })
    }

    /// Processes an event of the run before it is sent to others.
    pub(super) async fn observe(&self, event: &Event) {
        match event {
            Event::MessageEnd { .. } => {
                // The message has already been written to the session.
                let mut id = self.id.lock();
                if id.is_none() {
                    *id = self.agent.session().leaf().map(str::to_string);
                }
            }
            Event::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                let tools = self.agent.tools();
                let Some(tool) = tools.look_up(tool_name) else { return };
                if let Some(warning) = self.recorder.call_started(tool_call_id, &tool.semantics(), args).await {
                    self.agent.warn(warning).await;
                }
            }
            Event::ToolExecutionEnd { tool_call_id, .. } => {
                let ended = self.recorder.call_ended(tool_call_id).await;
                self.keep(ended).await;
            }
            _ => {}
        }
    }

    /// Ends the turn.
    pub(super) async fn end(self) {
        let id = self.id.lock().clone().unwrap_or_default();
        let ended = self.recorder.end_turn(&id).await;
        self.keep(ended).await;
    }

    async fn keep(&self, ended: Result<Option<UndoRecord>, String>) {
        match ended {
            Ok(Some(UndoRecord::Span { start, end, jobs, gaps, late, .. })) => {
                let turn = self.id.lock().clone().unwrap_or_default();
                let record = UndoRecord::Span { turn, start, end, jobs, gaps, late };
                self.agent.conversation.append(record.to_body());
            }
            Ok(_) => {}
            Err(warning) => self.agent.warn(warning).await,
        }
    }
}
