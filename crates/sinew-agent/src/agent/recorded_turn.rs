//! A turn of an agent whose file changes are recorded for undo.

use std::sync::Arc;

use parking_lot::Mutex;

use super::session::AgentSession;
use crate::event::Event;
use crate::undo::{TurnRecorder, UndoRecord, UndoWarning};

/// A running turn. Its events mark the start and end of its calls.
pub(super) struct RecordedTurn<'a> {
    agent: &'a AgentSession,
    recorder: &'a TurnRecorder,
    /// The id of the entry of the message that started the turn.
    id: Mutex<Option<String>>,
    /// The records that are not in the session yet.
    records: Mutex<Vec<UndoRecord>>,
}

/// Stores the records of a subagent that works after its call has returned, in the session that the user sees.
pub type KeepRecord = Arc<dyn Fn(UndoRecord) + Send + Sync>;

impl<'a> RecordedTurn<'a> {
    /// Starts the turn; `None` if undo is off.
    pub(super) async fn begin(agent: &'a AgentSession) -> Option<RecordedTurn<'a>> {
        let recorder = agent.undo.as_deref()?;
        let turn = RecordedTurn { agent, recorder, id: Mutex::default(), records: Mutex::default() };
        turn.warn(recorder.begin_turn().await).await;
        Some(turn)
    }

    /// Processes an event of the run before it is sent to others.
    pub(super) async fn observe(&self, event: &Event) {
        match event {
            Event::MessageEnd { .. } => {
                self.set_id();
                self.keep(Ok(None)).await;
            }
            Event::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                let tools = self.agent.tools();
                let Some(tool) = tools.look_up(tool_name) else { return };
                self.warn(self.recorder.call_started(tool_call_id, &tool.semantics(), args).await).await;
            }
            Event::ToolExecutionEnd { tool_call_id, .. } => {
                let ended = self.recorder.call_ended(tool_call_id).await;
                self.keep(ended).await;
            }
            _ => {}
        }
    }

    /// Remembers the entry of the first message. It has already been written to the session.
    fn set_id(&self) {
        let mut id = self.id.lock();
        if id.is_none() {
            *id = self.agent.session().leaf().map(str::to_string);
        }
    }

    /// Ends the turn.
    pub(super) async fn end(self) {
        let id = self.id.lock().get_or_insert_default().clone();
        let ended = self.recorder.end_turn(&id).await;
        self.keep(ended).await;
    }

    /// Shows a warning. The reason why a call is not covered also goes into the session.
    async fn warn(&self, warning: Option<UndoWarning>) {
        let Some(warning) = warning else { return };
        self.agent.warn(warning.to_string()).await;
        if let UndoWarning::Uncovered(reason) = warning {
            self.records.lock().push(UndoRecord::Uncovered { turn: String::new(), reason });
        }
    }

    /// Stores the records so far, once the turn has its first message.
    async fn keep(&self, ended: Result<Option<UndoRecord>, String>) {
        let (of_hooks, mut warnings) = self.recorder.take_hook_work();
        let mut records = std::mem::take(&mut *self.records.lock());
        records.extend(of_hooks);
        match ended {
            Ok(record) => records.extend(record),
            Err(warning) => warnings.push(warning),
        }
        for warning in warnings {
            self.agent.warn(warning).await;
        }
        let turn = self.id.lock().clone();
        match turn {
            Some(turn) => records.into_iter().for_each(|record| self.agent.keep_record_of(&turn, record)),
            None => self.records.lock().extend(records),
        }
    }
}
