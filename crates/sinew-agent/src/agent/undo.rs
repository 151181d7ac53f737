//! Undo and redo of the file changes of a session, while no run is active.

use std::sync::Arc;

use sinew::base::{Error, ErrorCode, Result};

use super::session::AgentSession;
use crate::undo::{
    CheckpointStore, History, OFF, TurnRecorder, UndoPlan, UndoRecord, UndoRequest, UndoResult, carry_out, history,
    plan_redo, plan_undo,
};

impl AgentSession {
    /// Returns the turns of the current branch and the undone ones.
    ///
    /// # Errors
    /// Returns an error if the file of the session can no longer be read.
    pub fn undo_history(&self) -> Result<History> {
        history(&self.session())
    }

    /// Plans the undo of the latest turns. Nothing is written.
    ///
    /// # Errors
    /// Returns an error if undo is off, if no turn is left, or if a checkpoint is lost.
    pub async fn plan_undo(&self, request: UndoRequest) -> Result<UndoPlan> {
        self.plan(move |store, history| plan_undo(store, history, &request)).await
    }

    /// Plans the redo of the latest undo. Nothing is written.
    ///
    /// # Errors
    /// Returns an error if undo is off, if nothing was undone, or if a checkpoint is lost.
    pub async fn plan_redo(&self, request: UndoRequest) -> Result<UndoPlan> {
        self.plan(move |store, history| plan_redo(store, history, &request)).await
    }

    async fn plan(
        &self,
        make: impl FnOnce(&CheckpointStore, History) -> Result<UndoPlan> + Send + 'static,
    ) -> Result<UndoPlan> {
        let (store, history) = (self.checkpoints()?, self.undo_history()?);
        blocking(move || make(&store, history)).await
    }

    /// Executes a plan; no run can start meanwhile. [`AgentSession::keep_undo`] records the result in the session.
    ///
    /// # Errors
    /// Returns an error if a run is active, if a checkpoint is lost, or if the store cannot be written.
    pub async fn carry_out_undo(&self, plan: UndoPlan) -> Result<UndoResult> {
        let store = self.checkpoints()?;
        let permit = self.begin_maintenance()?;
        let result = blocking(move || carry_out(&store, plan)).await;
        drop(permit);
        self.conversation.flush_pending_if_idle();
        result
    }

    /// Detects changes of the last turn that the file system did not report.
    pub(super) async fn prove_turn(&self) {
        let Some(recorder) = &self.undo else { return };
        match recorder.prove().await {
            Ok(Some(record)) => self.append_undo(&record),
            Ok(None) => {}
            Err(warning) => self.warn(warning).await,
        }
    }

    /// Adds the changes of the hooks that ran since the last turn to that turn.
    pub(super) async fn keep_hook_work(&self) {
        let Some(recorder) = &self.undo else { return };
        let (records, warnings) = recorder.take_hook_work();
        for warning in warnings {
            self.warn(warning).await;
        }
        if records.is_empty() {
            return;
        }
        let turns = self.undo_history().map(|history| history.turns).unwrap_or_default();
        // Without a turn nothing can be undone.
        let Some(turn) = turns.last() else { return };
        records.into_iter().for_each(|record| self.keep_record_of(&turn.id, record.marked_late()));
    }

    /// Stores the record of a turn; one of a subagent in the session that the user sees.
    pub(super) fn keep_record_of(&self, turn: &str, record: UndoRecord) {
        match &self.keep_record {
            Some(keep) => keep(record),
            None => self.append_undo(&record.of_turn(turn)),
        }
    }

    /// Adds a record of an undo to the session.
    pub fn append_undo(&self, record: &UndoRecord) {
        self.conversation.append(record.to_body());
    }

    /// Runs work of a subagent that may change any file, and records the changes as a turn of their own. The work is not
    /// recorded if undo is off.
    pub async fn record_work<T>(&self, subagent: &str, work: impl FnOnce() -> T) -> T {
        let Some(recorder) = &self.undo else { return tokio::task::block_in_place(work) };
        let (done, ended) = recorder.for_subagent(false).record(work).await;
        match ended {
            Ok(Some(record)) => {
                let turn = self.session().leaf().unwrap_or_default().to_string();
                self.append_undo(&record.of_turn(&turn).by_subagent(subagent));
            }
            Ok(None) => {}
            Err(warning) => self.warn(warning).await,
        }
        self.conversation.flush_pending_if_idle();
        done
    }

    /// Returns [`TurnRecorder::for_subagent`]; `None` if undo is off.
    #[must_use]
    pub fn subagent_recorder(&self, covered: bool) -> Option<Arc<TurnRecorder>> {
        self.undo.as_ref().map(|recorder| Arc::new(recorder.for_subagent(covered)))
    }

    /// Records in the session what was undone.
    pub fn keep_undo(&self, result: &UndoResult) {
        result.record.iter().for_each(|record| self.append_undo(record));
    }

    /// Returns the recorder of the session's turns; `None` if undo is off.
    #[must_use]
    pub fn recorder(&self) -> Option<Arc<TurnRecorder>> {
        self.undo.clone()
    }

    /// Returns the checkpoints of the session's directory.
    ///
    /// # Errors
    /// Returns an error if undo is off.
    pub fn checkpoints(&self) -> Result<Arc<CheckpointStore>> {
        let recorder = self.undo.as_ref().ok_or_else(|| Error::new(ErrorCode::Unsupported, OFF))?;
        Ok(Arc::clone(recorder.store()))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|panic| Error::new(ErrorCode::Internal, format!("undo: {panic}")))?
}
