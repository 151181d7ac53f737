//! Switches to other sessions, and to other entries in the tree of a session. If loading fails, the current session is
//! unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_agent::agent::{BranchSummaryChoice, NavigationResult, SessionCopy};
use sinew_session::SessionSummary;

use super::{Control, ControlError};
use crate::app::OpenSession;
use crate::sessions::StartedSession;

/// The reason that extensions receive if the session changes to a branch of it.
const BRANCH: &str = "branch";

/// The user message before which a new branch begins, for the editor.
pub struct BranchStart {
    /// The text of that message.
    pub text: String,
    /// True if an extension refused the branch; the session is then unchanged.
    pub cancelled: bool,
}

impl Control {
    /// Changes to a new session. Returns true if an extension refused it.
    ///
    /// # Errors
    /// Returns an error if `parent` is not a session.
    pub async fn new_session(&self, parent: Option<&str>) -> Result<bool, ControlError> {
        let parent = parent.map(|parent| self.app.store.id_of(parent)).transpose()?;
        if self.session().agent.may_switch("new", None).await.cancelled {
            return Ok(true);
        }
        self.replace("new", |control, _| {
            let mut started = control.app.store.fresh();
            if let Some(parent) = &parent {
                started.session.set_parent(parent);
            }
            Ok(Some(started))
        })
        .await?;
        Ok(false)
    }

    /// Changes to the session `name`: its path, or the start or end of its id. Returns true if an extension refused it.
    /// Does nothing but warn if that session is the current one.
    ///
    /// # Errors
    /// Returns an error if no session or several match, the file is not a session, or another process writes to it.
    pub async fn switch_session(&self, name: &str) -> Result<bool, ControlError> {
        // Checked before anything is stopped, so that a wrong name has no effect.
        let file = self.app.store.find(name)?;
        let old = self.session();
        if is_file_of(&old, &file) {
            old.agent.warn("This session is already the current one, so nothing changed.".into()).await;
            return Ok(false);
        }
        if old.agent.may_switch("resume", Some(&file)).await.cancelled {
            return Ok(true);
        }
        // Locked before anything is stopped, so that a session that another process uses has no effect. A subagent of
        // the current session keeps its file locked until it is stopped.
        let of_child = old.agent.session().path().is_some_and(|own| file.starts_with(sinew_session::children_of(own)));
        let locked = if of_child { None } else { Some(self.app.store.open(&file)?) };
        self.replace("resume", |control, _| match locked {
            Some(locked) => Ok(Some(locked)),
            None => Ok(Some(control.app.store.open(&file)?)),
        })
        .await?;
        Ok(false)
    }

    /// Changes to a copy of the session that ends before a message of the user.
    ///
    /// # Errors
    /// Returns an error if the message does not exist.
    pub async fn branch(&self, entry: &str) -> Result<BranchStart, ControlError> {
        // Checked before anything is stopped, so that a wrong entry has no effect.
        self.session().agent.branch_text(entry)?;
        let mut text = String::new();
        let cancelled = self
            .copied(entry, |old| {
                let branched = old.agent.branch(entry)?;
                text = branched.text;
                Ok(branched.copy)
            })
            .await?;
        Ok(BranchStart { text, cancelled })
    }

    /// Changes to a copy of the path to the current entry. Returns true if an extension refused it.
    ///
    /// # Errors
    /// Returns an error if the session is empty.
    pub async fn clone_branch(&self) -> Result<bool, ControlError> {
        let Some(leaf) = self.session().agent.session().leaf().map(str::to_string) else {
            return Err("Cannot clone session: no current entry selected".into());
        };
        self.copied(&leaf, |old| Ok(old.agent.clone_branch()?)).await
    }

    /// Changes to a copy of the whole session, at the same position in its tree, and returns its file; `None` if an
    /// extension refused it.
    ///
    /// # Errors
    /// Returns an error if a run is active, or if the session is only kept in memory.
    pub async fn fork(&self) -> Result<Option<PathBuf>, ControlError> {
        // Checked before anything is stopped.
        if self.session().agent.is_running() {
            return Err("Agent is already processing: wait until it is done, or abort it".into());
        }
        self.session().agent.check_fork()?;
        if self.session().agent.may_switch("fork", None).await.cancelled {
            return Ok(None);
        }
        let mut file = PathBuf::new();
        self.replace("fork", |control, old| {
            file = old.agent.fork()?;
            let leaf = old.agent.session().leaf().map(str::to_string);
            let mut started = control.app.store.open(&file)?;
            started.session.set_leaf(leaf.as_deref())?;
            Ok(Some(started))
        })
        .await?;
        Ok(Some(file))
    }

    /// Lets the model summarise what a successor needs, and changes to a new session that begins with the summary.
    /// Returns true if an extension refused it.
    ///
    /// # Errors
    /// Returns an error if a run is active, there is nothing to summarise, the user cancelled, the model wrote nothing,
    /// or the session is only kept in memory.
    #[cfg(unix)]
    pub async fn handoff(&self, focus: Option<&str>) -> Result<bool, ControlError> {
        let open = self.session();
        if open.agent.session().path().is_none() {
            return Err(
                "Handoff failed: this session is only kept in memory, and a handoff needs a session file".into()
            );
        }
        if open.agent.may_switch("new", None).await.cancelled {
            return Ok(true);
        }
        let handed = open.agent.handoff(focus).await?;
        let file = handed.path.ok_or("Handoff failed: this session has no file yet")?;
        self.replace("new", |control, _| Ok(Some(control.app.store.open(&file)?))).await?;
        Ok(false)
    }

    /// Moves the session and its artifacts to the sessions of another directory, and returns that directory.
    ///
    /// # Errors
    /// Returns an error if the directory does not exist, a run is active, the session is only kept in memory, or a file
    /// cannot be written.
    #[cfg(unix)]
    pub fn move_to(&self, folder: &Path) -> Result<PathBuf, ControlError> {
        let open = self.session();
        if open.agent.is_running() {
            return Err("Agent is already processing: wait until it is done, or abort it".into());
        }
        let folder = folder.canonicalize().ok().filter(|path| path.is_dir());
        let folder = folder.ok_or("the folder does not exist")?;
        let sessions = self.app.store.sessions();
        let sessions = sessions
            .ok_or("sessionDir stores the sessions of all folders together, so there is nowhere to move this one")?;
        open.agent.session().move_to(sessions, &folder)?;
        Ok(folder)
    }

    /// Moves to another entry of the tree. Messages that arrive meanwhile wait for
    /// [`take_up`](sinew_agent::agent::AgentSession::take_up).
    ///
    /// # Errors
    /// Returns an error if the entry does not exist, a run is active, or the previous branch cannot be summarised.
    pub async fn navigate(
        &self,
        open: &OpenSession,
        target: &str,
        leave: BranchSummaryChoice<'_>,
    ) -> Result<NavigationResult, ControlError> {
        Ok(open.agent.navigate_tree(target, leave).await?)
    }

    /// Sets the title of the session.
    ///
    /// # Errors
    /// Returns an error if the title is empty.
    pub fn set_title(&self, title: &str) -> Result<(), ControlError> {
        Ok(self.session().agent.set_title(title)?)
    }

    /// Lists the sessions of this directory that contain a message; with `all`, the sessions of all directories,
    /// including empty ones.
    ///
    /// # Errors
    /// Returns an error if listing panicked.
    pub async fn list_sessions(&self, all: bool) -> Result<Vec<SessionSummary>, ControlError> {
        let app = Arc::clone(&self.app);
        let listed = tokio::task::spawn_blocking(move || app.store.list(all)).await;
        listed.map_err(|panic| format!("list_sessions: {panic}").into())
    }

    /// Exports the session as one HTML page, and returns the path of the file. `to` is a file or a directory; `None`
    /// chooses a name in the working directory. With `details` the page contains the system prompt and the tools.
    ///
    /// # Errors
    /// Returns an error if the page cannot be written.
    pub async fn export(&self, to: Option<PathBuf>, details: bool) -> Result<PathBuf, ControlError> {
        let (app, open) = (Arc::clone(&self.app), self.session());
        // Runs outside of the agent's threads, because a long session takes a while.
        let written = tokio::task::spawn_blocking(move || {
            let agent = &open.agent;
            let system = agent.system().join("\n\n");
            let tools = agent.tools();
            let tools: Vec<sinew_export::Tool> = tools
                .all()
                .iter()
                .filter(|tool| details && !tool.flags().hidden)
                .map(|tool| sinew_export::Tool {
                    name: tool.name().to_string(),
                    description: tool.description().to_string(),
                    parameters: tool.parameters(),
                })
                .collect();
            let secrets = app.models.secrets();
            let options = sinew_export::Options {
                secrets: Some(&secrets),
                system: details.then_some(&*system),
                tools: &tools,
                made_by: concat!("Exported by sinew ", env!("CARGO_PKG_VERSION")),
            };
            let cwd = &app.startup.paths.cwd;
            let file = agent.session().path().map(Path::to_path_buf);
            match file.filter(|file| file.is_file()) {
                // A separate reader, because a run may continue to write.
                Some(file) => sinew_export::export(&app.store.view(&file)?, &options, cwd, to.as_deref()),
                None => sinew_export::export(&agent.session(), &options, cwd, to.as_deref()),
            }
        });
        Ok(written.await.map_err(|panic| format!("export_html: {panic}"))??)
    }

    /// Changes to the session that `make` returns, unless an extension refuses it at `entry`. Returns true if one did.
    async fn copied(
        &self,
        entry: &str,
        make: impl FnOnce(&OpenSession) -> Result<SessionCopy, ControlError>,
    ) -> Result<bool, ControlError> {
        let leaving = self.session().agent.may_branch(entry).await;
        if leaving.cancelled {
            return Ok(true);
        }
        self.replace(BRANCH, |control, old| {
            let copy = make(old)?;
            if leaving.skip_restore {
                // The extension opens the new session itself.
                return Ok(None);
            }
            Ok(Some(match copy {
                SessionCopy::File(file) => control.app.store.open(&file)?,
                SessionCopy::InMemory(session) => StartedSession { session: *session, warnings: Vec::new() },
            }))
        })
        .await?;
        Ok(false)
    }

    /// Stops all work, and changes to the session that `make` returns; with `None` the current session stays. If
    /// opening fails, the old session stays. Extensions receive `reason`.
    async fn replace(
        &self,
        reason: &str,
        make: impl FnOnce(&Control, &OpenSession) -> Result<Option<StartedSession>, ControlError>,
    ) -> Result<(), ControlError> {
        let old = self.session();
        self.quiet(&old).await;
        old.agent.clear_queues().await;
        // A write error was reported when it occurred.
        let _ = old.agent.session().flush();
        let Some(started) = make(self, &old)? else { return Ok(()) };
        let mut warnings = Vec::new();
        let new = self.app.open(started, &old.agent, &mut warnings).await?;
        let settings = old.agent.settings();
        new.agent.change_settings(|new| *new = (*settings).clone());
        self.selection.lock().turn();
        self.offer(&new, &mut Vec::new())?;
        // A job may have started a run meanwhile.
        self.quiet(&old).await;
        self.enter(Arc::new(new)).await;
        // Terminates the shell and the jobs of the old session, which may take a moment.
        tokio::task::block_in_place(|| old.host.close());
        let agent = &self.session().agent;
        let previous = old.agent.session().path().map(Path::to_path_buf);
        match reason {
            BRANCH => agent.branched(previous.as_deref()).await,
            reason => agent.switched(reason, previous.as_deref()).await,
        }
        for warning in warnings {
            agent.warn(warning).await;
        }
        Ok(())
    }
}

fn is_file_of(open: &OpenSession, file: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    open.agent.session().path().is_some_and(|path| real(path) == real(file))
}
