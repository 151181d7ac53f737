//! Undo and redo of the files of a session, while no run is active.

use std::sync::Arc;

use sinew::base::{Error, ErrorCode, Result};

use super::session::AgentSession;
use crate::undo::{
    CheckpointStore, History, OFF, UndoPlan, UndoRequest, UndoResult, carry_out, history, plan_redo, plan_undo,
};

impl AgentSession {
    /// Returns the turns of the current branch and what was undone.
    ///
    /// # Errors
    /// If the file of the session can no longer be read.
    pub fn undo_history(&self) -> Result<History> {
        history(&self.session())
    }

    /// Plans the undo of the latest turns. Nothing is written.
    ///
    /// # Errors
    /// Undo is off, no turn is left, or a checkpoint is lost.
    pub async fn plan_undo(&self, request: UndoRequest) -> Result<UndoPlan> {
        self.plan(move |store, history| plan_undo(store, history, &request)).await
    }

    /// Plans the redo of the latest undo. Nothing is written.
    ///
    /// # Errors
    /// Undo is off, nothing was undone, or a checkpoint is lost.
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

    /// Carries a plan out; no run begins meanwhile. [`AgentSession::keep_undo`] writes what was done into the session.
    ///
    /// # Errors
    /// A run is active, a checkpoint is lost, or the store cannot be written.
    pub async fn carry_out_undo(&self, plan: UndoPlan) -> Result<UndoResult> {
        let store = self.checkpoints()?;
        let permit = self.begin_maintenance()?;
        let result = blocking(move || carry_out(&store, plan)).await;
        drop(permit);
        self.conversation.flush_pending_if_idle();
        result
    }

    /// Finds what the last turn changed without that the system announced it.
    pub(super) async fn prove_turn(&self) {
        let Some(recorder) = &self.undo else { return };
        match recorder.prove().await {
            Ok(Some(record)) => self.conversation.append(record.to_body()),
            Ok(None) => {}
            Err(warning) => self.warn(warning).await,
        }
    }

    /// Writes what was undone into the session.
    pub fn keep_undo(&self, result: &UndoResult) {
        if let Some(record) = &result.record {
            self.conversation.append(record.to_body());
        }
    }

    /// Returns the checkpoints of the session's directory.
    ///
    /// # Errors
    /// Undo is off.
    pub fn checkpoints(&self) -> Result<Arc<CheckpointStore>> {
        let recorder = self.undo.as_ref().ok_or_else(|| Error::new(ErrorCode::Unsupported, OFF))?;
        Ok(Arc::clone(recorder.store()))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|panic| Error::new(ErrorCode::Internal, format!("undo: {panic}")))?
}
