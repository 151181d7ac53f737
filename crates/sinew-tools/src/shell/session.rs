//! The shell of a session: the order of its users, its working directory, and its state when it has to continue in
//! another process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use sinew::base::CancelToken;
use sinew::shell::{Environment, RunOptions, RunResult, Shell, ShellOptions};
use tempfile::TempPath;
use tokio::sync::OwnedMutexGuard;

use super::environment;
use crate::confinement::Confinement;
use crate::options::HostOptions;
use crate::shells::ShellOwner;
use crate::tool::ToolError;

/// The maximum time for a shell to write its state.
const SAVE: Duration = Duration::from_secs(5);
/// The last line of a complete state.
const WHOLE: &str = "# whole";
const SAVE_SCRIPT: &str = include_str!("save.bash");

/// A script that restores the state of the shell in another one: variables, functions, aliases, options. The last owner
/// deletes the file.
pub(crate) type State = Arc<TempPath>;

/// The right to use the shell, granted in the order of requests.
pub(crate) type Turn = OwnedMutexGuard<()>;

/// The shell of a session, which starts with its first command.
pub(crate) struct SessionShell {
    options: Arc<HostOptions>,
    turn: Arc<tokio::sync::Mutex<()>>,
    now: Mutex<CurrentShell>,
}

#[derive(Default)]
struct CurrentShell {
    shell: Option<Arc<Shell>>,
    folder: Option<PathBuf>,
    /// The state for the next shell; `None` if there was no shell before.
    state: Option<State>,
    /// The sandbox of the next shell.
    confinement: Option<Arc<Confinement>>,
    /// The shell that was in use before [`SessionShell::enter`].
    aside: Option<Box<SuspendedShell>>,
    closed: bool,
}

/// A shell that is suspended while the session uses another sandbox.
struct SuspendedShell {
    shell: Option<Arc<Shell>>,
    folder: Option<PathBuf>,
    state: Option<State>,
    confinement: Option<Arc<Confinement>>,
}

impl SessionShell {
    pub(crate) fn new(options: Arc<HostOptions>) -> SessionShell {
        SessionShell { options, turn: Arc::default(), now: Mutex::default() }
    }

    /// Waits until all earlier commands have ended.
    pub(crate) async fn turn(&self) -> Turn {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Returns the shell, and opens it if necessary.
    pub(crate) fn open(&self) -> Result<Arc<Shell>, ToolError> {
        let mut now = self.now();
        if now.closed {
            return Err(ToolError::Failed("Cannot run a command: the session has ended.".into()));
        }
        if let Some(shell) = &now.shell {
            return Ok(Arc::clone(shell));
        }
        let set = setup(&self.options, now.folder.as_deref(), now.state.as_ref(), now.confinement.as_deref())?;
        let shell = Arc::new(Shell::new(self.options.supervisor.clone(), set));
        now.shell = Some(Arc::clone(&shell));
        Ok(shell)
    }

    /// Returns the working directory after the last command; `None` if it never changed.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.now().folder.clone()
    }

    /// Records the state after a command; `moves` is false for a command with its own working directory.
    pub(crate) fn ended(&self, result: &RunResult, moves: bool) {
        let mut now = self.now();
        if result.state_lost.is_some() {
            (now.shell, now.folder, now.state) = (None, None, None);
        } else if moves {
            now.folder.clone_from(&result.working_dir);
        }
    }

    /// Saves the state of the shell, or the state for the next one. `None` if there is none or it cannot be saved.
    /// Blocks; the caller has the turn.
    pub(crate) fn save(&self) -> Option<State> {
        let (shell, state) = {
            let now = self.now();
            (now.shell.clone(), now.state.clone())
        };
        match shell {
            Some(shell) => save(&shell, &self.options.environment),
            None => state,
        }
    }

    /// Hands the shell over; the next command gets a new one with `state`.
    pub(crate) fn give_away(&self, state: Option<State>) {
        let mut now = self.now();
        (now.shell, now.state) = (None, state);
    }

    /// Sets the sandbox of the next shell.
    pub(crate) fn confine(&self, confinement: Option<Arc<Confinement>>) {
        self.now().confinement = confinement;
    }

    /// Returns the sandbox of the next shell.
    pub(crate) fn confinement(&self) -> Option<Arc<Confinement>> {
        self.now().confinement.clone()
    }

    /// Returns true between [`SessionShell::enter`] and [`SessionShell::leave`].
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.now().aside.is_some()
    }

    /// Suspends the shell. The next command gets a new shell in another sandbox, in the same directory but without the
    /// state of the first, because definitions from one sandbox must not reach another.
    pub(crate) fn enter(&self, confinement: Arc<Confinement>) {
        let mut now = self.now();
        if now.aside.is_none() {
            let (shell, state) = (now.shell.take(), now.state.take());
            let (folder, confinement) = (now.folder.clone(), now.confinement.take());
            now.aside = Some(Box::new(SuspendedShell { shell, folder, state, confinement }));
        }
        now.confinement = Some(confinement);
    }

    /// Ends the shell of [`SessionShell::enter`] and continues with the suspended one.
    pub(crate) fn leave(&self) {
        let mut now = self.now();
        let Some(aside) = now.aside.take() else { return };
        let SuspendedShell { shell, folder, state, confinement } = *aside;
        let left = std::mem::replace(&mut now.shell, shell);
        (now.folder, now.state, now.confinement) = (folder, state, confinement);
        drop(now);
        if let Some(left) = left {
            left.close();
        }
    }

    /// Terminates the shell and all its processes. Later commands are errors.
    pub(crate) fn close(&self) {
        let shells = {
            let mut now = self.now();
            now.closed = true;
            let aside = now.aside.take().and_then(|aside| aside.shell);
            [now.shell.take(), aside]
        };
        for shell in shells.into_iter().flatten() {
            shell.close();
        }
    }

    fn now(&self) -> MutexGuard<'_, CurrentShell> {
        self.now.lock()
    }
}

impl ShellOwner for SessionShell {
    fn rest(&self) -> bool {
        let Ok(_turn) = self.turn.try_lock() else { return false };
        let Some(shell) = self.now().shell.clone() else { return true };
        // A server started with `server &` should keep running.
        if shell.jobs().is_ok_and(|jobs| !jobs.is_empty()) {
            return false;
        }
        let state = save(&shell, &self.options.environment);
        self.give_away(state);
        shell.close();
        true
    }
}

/// Returns the options of a shell of the session.
pub(crate) fn setup(
    options: &HostOptions,
    folder: Option<&Path>,
    state: Option<&State>,
    confinement: Option<&Confinement>,
) -> Result<ShellOptions, ToolError> {
    let settings = &options.settings;
    // The directory may have been deleted since.
    let folder = folder.filter(|folder| folder.is_dir()).unwrap_or(&options.cwd);
    Ok(ShellOptions {
        env: environment::of_commands(options),
        cwd: Some(folder.to_path_buf()),
        snapshot: state.map(|state| state.to_path_buf()).or_else(|| settings.shell_snapshot.clone()),
        engine: settings.engine,
        bash: settings.bash.clone(),
        sandbox: confinement.map(Confinement::of_program).transpose()?,
    })
}

/// Returns a text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns `command` for another shell: it restores `state` first and then sets `env`.
pub(crate) fn carried(state: Option<&State>, env: &[(String, String)], command: &str) -> String {
    let Some(state) = state else { return command.to_string() };
    let mut script = format!(". {} >/dev/null 2>&1\n", quoted(&state.to_string_lossy()));
    for (name, value) in env {
        script.push_str(&format!("export {name}={}\n", quoted(value)));
    }
    script + command
}

fn save(shell: &Shell, environment: &Environment) -> Option<State> {
    let file = tempfile::Builder::new().prefix("sinew-state-").tempfile().ok()?.into_temp_path();
    let plain = |name: &&str| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    let names: Vec<&str> = environment.iter().filter_map(|(name, _)| name.to_str()).filter(plain).collect();
    let command = SAVE_SCRIPT
        .replace("@FILE@", &file.to_str()?.replace('\'', r"'\''"))
        .replace("@NAMES@", &names.join(" "))
        .replace("@WHOLE@", WHOLE);
    let cancel = CancelToken::never().with_timeout(SAVE);
    let run = RunOptions { command, ..RunOptions::default() };
    shell.run(&run, &cancel, &mut |_| std::ops::ControlFlow::Continue(())).ok()?;
    let written = std::fs::read(&file).ok()?;
    written.trim_ascii_end().ends_with(WHOLE.as_bytes()).then(|| Arc::new(file))
}
