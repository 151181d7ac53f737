//! Commands of the user: `!command`.

use std::sync::Arc;

use sinew::base::CancelToken;
use sinew::shell::RunOptions;
use sinew_llm::message::BashExecution;

use super::{SPEC, invalidation, owner};
use crate::Host;
use crate::child::Filter;
use crate::shell::carry::Exports;
use crate::shell::command::{Command, Start, Work};
use crate::shell::environment;
use crate::shell::output::Output;
use crate::shells::ShellOwner;
use crate::tool::cancelled;
use crate::tool::{ToolError, Updates};

impl Host {
    /// Runs a command of the user, after the commands queued in the session's shell: with all variables of the user, and
    /// without sandbox, guard, interceptor and time limit. The exit status is part of the result; the caller sets the
    /// time of the message.
    ///
    /// These commands have a shell of their own, because a model may have defined functions in the session's shell that
    /// would see the user's credentials. It begins each command in the directory of the session's shell. The directory
    /// and the exported variables that the command changes are changed in the session's shell too, except for variables
    /// that look like credentials.
    ///
    /// # Errors
    /// Returns an error if a shell cannot be started, or if `cancel` was set before the command began.
    pub async fn user_command(
        &self,
        command: &str,
        cancel: &CancelToken,
        updates: Updates,
    ) -> Result<BashExecution, ToolError> {
        let turns = async { (self.shell.turn().await, self.user_shell.turn().await) };
        let _turns = tokio::select! {
            biased;
            () = cancelled(cancel) => return Err(ToolError::Aborted),
            turns = turns => turns,
        };
        let text = match &self.options.settings.shell_command_prefix {
            Some(prefix) => format!("{prefix} {command}"),
            None => command.to_string(),
        };
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
            work: in_user_shell(self, run)?,
        })?;
        let cancel_handle = running.cancel_handle();
        let _hook = cancel.on_cancel(move || cancel_handle.cancel());
        let end = running.ended().await;
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

/// Runs a command in the user's shell, and changes the session's shell accordingly. The caller has both turns.
fn in_user_shell(host: &Host, run: RunOptions) -> Result<Work, ToolError> {
    let shells = &host.options.shells;
    shells.used(&(Arc::clone(&host.user_shell) as Arc<dyn ShellOwner>));
    shells.used(&owner(host));
    let (shell, user, session) = (host.user_shell.open()?, Arc::clone(&host.user_shell), Arc::clone(&host.shell));
    let options = Arc::clone(&host.options);
    Ok(Box::new(move |running, cancel| {
        let folder = session.folder().unwrap_or_else(|| options.cwd.clone());
        let before = Exports::after_moving(&shell, &folder)?;
        let result = shell.run(&run, cancel, &mut |chunk| running.push(&chunk))?;
        user.ended(&result, true);
        let share = || -> Result<(), ToolError> {
            let settings = &options.settings;
            let filter = Filter { pass: &settings.pass_through, keys: &settings.provider_keys };
            let script = before.script_to(&Exports::of(&shell)?, |name| filter.hides(name));
            script.map_or(Ok(()), |script| session.change(script))
        };
        // The command has run, so this error must not replace its result.
        if result.state_lost.is_none()
            && let Err(ToolError::Failed(error)) = share()
        {
            // Nobody stops a command that has ended.
            let _ = running.push(&format!("\n[The model's shell was not changed: {error}]\n"));
        }
        Ok(result)
    }))
}
