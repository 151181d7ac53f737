//! Commands of the user: `!command`.

use std::sync::Arc;

use sinew::base::CancelToken;
use sinew::shell::RunOptions;
use sinew_llm::message::BashExecution;

use super::{SPEC, in_shell, invalidation, outside, settle};
use crate::Host;
use crate::shell::command::{Command, Start};
use crate::shell::environment;
use crate::shell::output::Output;
use crate::tool::cancelled;
use crate::tool::{ToolError, Updates};

impl Host {
    /// Runs a command of the user in the session's shell, after the commands queued there, with all variables of the
    /// user and without guard, interceptor and time limit. If the session has a sandbox, the command runs outside it in
    /// a separate shell. The exit status is part of the result; the caller sets the time of the message.
    ///
    /// # Errors
    /// Returns an error if the shell cannot be started, or if `cancel` was set before the command began.
    pub async fn user_command(
        &self,
        command: &str,
        cancel: &CancelToken,
        updates: Updates,
    ) -> Result<BashExecution, ToolError> {
        let _turn = tokio::select! {
            biased;
            () = cancelled(cancel) => return Err(ToolError::Aborted),
            turn = self.shell.turn() => turn,
        };
        let settings = &self.options.settings;
        let text = match &settings.shell_command_prefix {
            Some(prefix) => format!("{prefix} {command}"),
            None => command.to_string(),
        };
        let is_outside = self.shell.confinement().is_some();
        let env = environment::withheld(&self.options);
        let run = RunOptions { command: text, cwd: None, env, stdin: None };
        let running = Command::start(Start {
            command: command.to_string(),
            seconds: None,
            head: None,
            tail: None,
            output: Output::new(Arc::clone(&self.options.artifacts), SPEC.name),
            updates,
            after: invalidation(self, &run),
            work: if is_outside { outside::work(self, run.clone())? } else { in_shell(self, run.clone())? },
        })?;
        let cancel_handle = running.cancel_handle();
        let _hook = cancel.on_cancel(move || cancel_handle.cancel());
        let end = running.ended().await;
        if !is_outside {
            settle(self, end, &run);
        }
        let result = end.result.as_ref().map_err(Clone::clone)?;
        let artifact = end.shown.artifact().and_then(|id| self.options.artifacts.find(id).ok());
        Ok(BashExecution {
            command: command.to_string(),
            output: end.shown.text.clone(),
            exit_code: result.exit_code,
            cancelled: result.cancelled,
            truncated: end.shown.meta.is_some(),
            full_output_path: artifact.map(|path| path.display().to_string()),
            ..BashExecution::default()
        })
    }
}
