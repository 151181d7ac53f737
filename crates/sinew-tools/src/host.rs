//! The state that the tools of a session share, and what it tells whoever runs them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sinew_llm::fetch::AddressCheck;
use sinew_llm::http::HttpClient;
use sinew_session::artifacts::Artifacts;

use crate::access::{Access, PathPolicy};
use crate::editor::Editor;
use crate::options::HostOptions;
use crate::pages::{self, Pages};
use crate::read_tracker;
use crate::shell::jobs::{Entry, JobNotice, Jobs};
use crate::shell::session::SessionShell;
use crate::snapshots::Snapshots;
use crate::tasks::TaskList;
use crate::undo_log::UndoLog;

/// The state that the tools of one session share.
pub struct Host {
    pub(crate) options: Arc<HostOptions>,
    pub(crate) seen: read_tracker::ReadTracker,
    pub(crate) snapshots: Snapshots,
    pub(crate) undo: UndoLog,
    warned: Mutex<HashSet<read_tracker::Hash>>,
    pub(crate) shell: Arc<SessionShell>,
    pub(crate) jobs: Jobs,
    pub(crate) todo: TaskList,
    pub(crate) http: HttpClient,
    pub(crate) pages: Pages,
    resources: Mutex<Option<Arc<dyn ResourceLookup>>>,
    policies: Mutex<Vec<Arc<dyn PathPolicy>>>,
    editor: OnceLock<Arc<dyn Editor>>,
}

impl Host {
    /// Starts nothing and touches no file.
    #[must_use]
    pub fn new(options: HostOptions) -> Arc<Host> {
        let options = Arc::new(options);
        Arc::new(Host {
            http: pages::client(&options),
            shell: Arc::new(SessionShell::new(Arc::clone(&options))),
            jobs: Jobs::default(),
            options,
            seen: read_tracker::ReadTracker::default(),
            snapshots: Snapshots::default(),
            undo: UndoLog::default(),
            warned: Mutex::default(),
            todo: TaskList::default(),
            pages: Pages::default(),
            resources: Mutex::default(),
            policies: Mutex::default(),
            editor: OnceLock::new(),
        })
    }

    /// Sets what `skill://` and `rule://` mean from now on. Before the first call there is nothing behind them.
    pub fn set_resources(&self, resources: Arc<dyn ResourceLookup>) {
        *self.resources.lock() = Some(resources);
    }

    /// Returns the store of long output.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<Artifacts> {
        &self.options.artifacts
    }

    /// Returns true if pictures are made small enough for models.
    #[must_use]
    pub fn resizes_pictures(&self) -> bool {
        self.options.settings.images.auto_resize
    }

    /// Sets who is asked about the files that tools open, from now on. Default: nobody.
    pub fn set_path_policies(&self, policies: Vec<Arc<dyn PathPolicy>>) {
        *self.policies.lock() = policies;
    }

    /// Sets the editor that the session runs in; the first one stays. Before that there is none.
    pub fn set_editor(&self, editor: Arc<dyn Editor>) {
        // A second one would see half of a session.
        let _ = self.editor.set(editor);
    }

    /// The editor that the session runs in.
    pub(crate) fn editor(&self) -> Option<&dyn Editor> {
        self.editor.get().map(|editor| &**editor)
    }

    /// The checks of the files that `tool` opens in a call; `call` is `None` if the user attaches them.
    pub(crate) fn access(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Access {
        let policies = self.policies.lock();
        Access { checks: policies.iter().filter_map(|policy| policy.path_check(tool, call, cwd)).collect() }
    }

    /// The checks of the addresses to which a server leads a call.
    pub(crate) fn address_checks(&self, tool: &str, call: &str) -> Vec<AddressCheck> {
        self.policies.lock().iter().filter_map(|policy| policy.address_check(tool, call)).collect()
    }

    pub(crate) fn resources(&self) -> Option<Arc<dyn ResourceLookup>> {
        self.resources.lock().clone()
    }

    /// A file went with a message of the user: `lines`, the first ones as it has them, count as read, also where they
    /// are `whole`. `hash` is that of the content, `path` that of the file without links.
    pub fn mentioned(&self, path: &Path, hash: Option<[u8; 32]>, whole: bool, lines: &[u8]) {
        self.seen.showed(path, hash, whole, 1, read_tracker::lines(lines));
    }

    /// Forgets what the model has seen of files, so that it has to read them before it edits them.
    pub fn forget(&self, paths: &[PathBuf]) {
        paths.iter().for_each(|path| self.seen.forget(path));
    }

    /// Returns true if this is the first time that something, named by a digest, is asked about.
    pub(crate) fn first_time(&self, what: read_tracker::Hash) -> bool {
        self.warned.lock().insert(what)
    }

    /// Waits for the next thing that the session is to be told between and during its runs. Dropping it loses nothing.
    pub async fn notice(&self) -> Notice {
        tokio::select! {
            JobNotice { id, state, follow_up } = self.jobs.next() => Notice::Job { id, state, follow_up },
            () = self.todo.cleared() => Notice::TodoCleared,
        }
    }

    /// The commands in the background, in the order of their start.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs.all().iter().map(Job::of).collect()
    }

    /// The end of the output of a command in the background.
    ///
    /// # Errors
    /// No job has the id.
    pub fn job_output(&self, id: &str) -> Result<String, String> {
        self.job(id).map(|job| job.command.glance())
    }

    /// Begins to end a command in the background; gives a line about it.
    ///
    /// # Errors
    /// No job has the id.
    pub fn cancel_job(&self, id: &str) -> Result<String, String> {
        let job = self.job(id)?;
        job.command.cancel();
        Ok(job.summary())
    }

    fn job(&self, id: &str) -> Result<Entry, String> {
        let all = self.jobs.all();
        all.iter().find(|job| job.id == id).cloned().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|job| job.id.as_str()).collect();
            let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            format!("No job {id:?}. Known: {known}")
        })
    }

    /// Ends the shell of the session, its jobs and everything that they started; returns when they are gone. Later
    /// commands are errors.
    pub fn close(&self) {
        self.jobs.close();
        self.shell.close();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.close();
    }
}

/// A command in the background, as it is at present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The name by which it is asked about and ended.
    pub id: String,
    /// The command line.
    pub command: String,
    /// `running`, `done`, `failed` or `cancelled`.
    pub state: &'static str,
    /// Seconds for which it runs or ran.
    pub seconds: u64,
    /// A line about it.
    pub summary: String,
}

impl Job {
    fn of(entry: &Entry) -> Job {
        Job {
            id: entry.id.clone(),
            command: entry.command.command.clone(),
            state: entry.state(),
            seconds: entry.command.took().as_secs(),
            summary: entry.summary(),
        }
    }
}

/// Resolves the addresses `skill://` and `rule://` for the tool `read`.
pub trait ResourceLookup: Send + Sync {
    /// The file behind `skill://<name>[/<rel>]`; `rest` is what stands behind the two slashes.
    ///
    /// # Errors
    /// No skill has the name, or the path leaves its folder; a text for the model.
    fn skill_file(&self, rest: &str) -> Result<PathBuf, String>;

    /// The text of `rule://<name>`.
    ///
    /// # Errors
    /// No rule has the name; a text for the model.
    fn rule_text(&self, name: &str) -> Result<String, String>;
}

/// An event beside the calls of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A job changed its state.
    Job {
        /// The job.
        id: String,
        /// `running`, `done`, `failed` or `cancelled`.
        state: &'static str,
        /// The text for the model, where it has not seen the end itself.
        follow_up: Option<String>,
    },
    /// A finished list of tasks was put away.
    TodoCleared,
}
