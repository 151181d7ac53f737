//! Commands in a terminal that the user sees and can type into.

use std::path::PathBuf;
use std::sync::Arc;

use sinew::shell::pty::{PtyOptions, PtySession};
use sinew::shell::{Engine, RunOptions, RunResult, Shell};

use super::command::Work;
use super::environment;
use super::session::{State, carried, setup};
use crate::confinement::Confinement;
use crate::console::Console;
use crate::options::HostOptions;
use crate::tool::ToolError;

/// Prevents programs from waiting for input, unless that is their purpose.
const VARIABLES: [(&str, &str); 7] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS", "/usr/bin/false"),
    ("CI", "1"),
];

/// Runs a command in a terminal, in a copy of the session's shell.
pub(crate) fn work(
    options: &HostOptions,
    console: Arc<dyn Console>,
    run: RunOptions,
    folder: Option<PathBuf>,
    state: Option<State>,
    confinement: Option<&Confinement>,
) -> Result<Work, ToolError> {
    let own = VARIABLES.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
    let own: Vec<(String, String)> = own.chain(run.env).collect();
    let mut env = environment::of_commands(options);
    env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    let cwd = folder_of(run.cwd, folder, options);
    let shell = Shell::new(options.supervisor.clone(), setup(options, None, None, None)?);
    let sandbox = confinement.map(Confinement::of_program).transpose()?;
    let (supervisor, bash) = (options.supervisor.path().to_path_buf(), options.settings.bash.clone());
    Ok(Box::new(move |running, cancel| {
        let is_bash = shell.engine() == Engine::Bash;
        let command = carried(state.as_ref().filter(|_| is_bash), &own, &run.command);
        let bash = bash.map_or_else(|| "bash".to_string(), |bash| bash.display().to_string());
        let session = PtySession::new();
        let (cols, rows) = console.open(&run.command, &session);
        let (shown, running) = (Arc::clone(&console), Arc::clone(running));
        let options = PtyOptions {
            shell: if is_bash { bash } else { "sh".into() },
            cwd: Some(cwd),
            env,
            cols,
            rows,
            supervisor: Some(supervisor),
            sandbox,
            ..PtyOptions::new(command)
        };
        let end = session.run(options, cancel, move |chunk| {
            shown.show(&chunk);
            running.push(&chunk)
        });
        console.close();
        let end = end.map_err(|error| ToolError::Failed(format!("PTY error: {}", error.message())))?;
        Ok(RunResult {
            exit_code: end.exit_code,
            cancelled: end.cancelled,
            timed_out: end.timed_out,
            ..RunResult::default()
        })
    }))
}

/// Returns the working directory of a command in its own process.
fn folder_of(asked: Option<PathBuf>, session: Option<PathBuf>, options: &HostOptions) -> PathBuf {
    let folder = asked.or(session).filter(|folder| folder.is_dir());
    folder.unwrap_or_else(|| options.cwd.clone())
}
