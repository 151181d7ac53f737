//! Runs commands in the session's shell and calls tools for the user instead of the model.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sinew::base::{CancelHandle, CancelToken};
use sinew_llm::message::{AgentMessage, BashExecution};
use sinew_tools::tool::{ToolError, Updates};

use super::{Control, ControlError};
use crate::app::OpenSession;

/// The commands that are running or waiting for the shell.
#[derive(Default)]
pub(super) struct RunningCommands {
    next: AtomicU64,
    running: Mutex<HashMap<u64, CancelHandle>>,
}

impl RunningCommands {
    /// Registers a running command. It is unregistered when the first value is dropped; the token cancels it.
    pub(super) fn begin(&self) -> (RunningCommand<'_>, CancelToken) {
        let (cancel_handle, cancel) = CancelHandle::new();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.running.lock().insert(id, cancel_handle);
        (RunningCommand { commands: self, id }, cancel)
    }

    pub(super) fn abort(&self) {
        self.running.lock().values().for_each(CancelHandle::cancel);
    }
}

/// A registered command; dropping it ends the registration.
pub(super) struct RunningCommand<'a> {
    commands: &'a RunningCommands,
    id: u64,
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        self.commands.running.lock().remove(&self.id);
    }
}

impl Control {
    /// Runs a command of the user and records it in the session. The model sees it in the next request, unless it is
    /// excluded from the context. `updates` receives its output while it runs. Returns `None` if it was cancelled
    /// before it began; nothing is recorded then.
    ///
    /// # Errors
    /// Returns an error if the shell cannot run the command.
    pub async fn bash(
        &self,
        command: &str,
        exclude_from_context: bool,
        updates: Updates,
    ) -> Result<Option<BashExecution>, ControlError> {
        let open = self.session();
        let (running, cancel) = self.bash.begin();
        if let Some(run) = open.agent.asked_user_bash(command, exclude_from_context).await {
            return Ok(Some(self.keep(&open, run, exclude_from_context)));
        }
        let ended = open.host.user_command(command, &cancel, updates).await;
        drop(running);
        match ended {
            Ok(run) => Ok(Some(self.keep(&open, run, exclude_from_context))),
            Err(ToolError::Aborted) => Ok(None),
            Err(ToolError::Failed(text)) => Err(text.into()),
        }
    }

    /// Stops all commands and calls of the user, running or waiting.
    pub fn abort_bash(&self) {
        self.bash.abort();
    }

    fn keep(&self, open: &OpenSession, run: BashExecution, exclude_from_context: bool) -> BashExecution {
        let timestamp = self.app.clock.now();
        let run = BashExecution { exclude_from_context: exclude_from_context.then_some(true), timestamp, ..run };
        open.agent.record(AgentMessage::BashExecution(run.clone()));
        run
    }
}
