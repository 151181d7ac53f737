//! The state that the tools of a session share, and its notifications to the session.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sinew_llm::fetch::AddressCheck;
use sinew_llm::http::HttpClient;
use sinew_session::artifacts::Artifacts;

use crate::access::{Access, PathPolicy};
use crate::confinement::Confinement;
use crate::editor::{Editor, unsaved};
use crate::options::HostOptions;
use crate::pages::{self, Pages};
use crate::read_tracker;
use crate::semantics::Effects;
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
    /// The shell of the commands that the user types. It is never in a sandbox.
    pub(crate) user_shell: Arc<SessionShell>,
    pub(crate) jobs: Jobs,
    pub(crate) todo: TaskList,
    pub(crate) http: HttpClient,
    pub(crate) pages: Pages,
    resources: Mutex<Option<Arc<dyn ResourceLookup>>>,
    policies: Mutex<Vec<Arc<dyn PathPolicy>>>,
    editor: OnceLock<Arc<dyn Editor>>,
    instructions: OnceLock<Instructions>,
    /// The files of instructions that were shown to the model.
    instructed: Mutex<HashSet<PathBuf>>,
    outside: Mutex<OutsideGrants>,
}

/// The commands that the user allowed to run outside the sandbox in this session.
#[derive(Default)]
struct OutsideGrants {
    /// True if every refused command may run outside.
    all: bool,
    /// The arguments of the allowed calls.
    calls: Vec<serde_json::Value>,
}

impl Host {
    /// Creates the state. Starts no process and opens no file.
    #[must_use]
    pub fn new(options: HostOptions) -> Arc<Host> {
        let options = Arc::new(options);
        Arc::new(Host {
            http: pages::client(&options),
            shell: Arc::new(SessionShell::new(Arc::clone(&options))),
            user_shell: Arc::new(SessionShell::new(Arc::clone(&options))),
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
            instructions: OnceLock::new(),
            instructed: Mutex::default(),
            outside: Mutex::default(),
        })
    }

    /// Sets the resolver of `skill://` and `rule://`. Before the first call there are no such resources.
    pub fn set_resources(&self, resources: Arc<dyn ResourceLookup>) {
        *self.resources.lock() = Some(resources);
    }

    /// Sets the function that finds the instructions for a file; later calls are ignored. Default: no instructions.
    pub fn set_instructions(&self, instructions: Instructions) {
        // A second function would show the same files again.
        let _ = self.instructions.set(instructions);
    }

    /// Returns the instructions for a file that the model has not seen in this session. `file` is a link-free path.
    pub(crate) fn new_instructions(&self, file: &Path, cwd: &Path) -> String {
        let found = self.instructions.get().map(|find| find(file)).unwrap_or_default();
        let access = self.attachment_access(cwd);
        let mut text = String::new();
        for (path, content) in found {
            if path != file && access.allows(&path) && self.instructed.lock().insert(path.clone()) {
                text.push_str(&format!("\n\n[Instructions for this directory, from {}]\n{content}", path.display()));
            }
        }
        text
    }

    /// Returns the store of long output.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<Artifacts> {
        &self.options.artifacts
    }

    /// Returns true if images are scaled down to the limits of models.
    #[must_use]
    pub fn resizes_pictures(&self) -> bool {
        self.options.settings.images.auto_resize
    }

    /// Replaces the policies for the files that tools open. Default: none.
    pub fn set_path_policies(&self, policies: Vec<Arc<dyn PathPolicy>>) {
        *self.policies.lock() = policies;
    }

    /// Sets the sandbox of the session, before its first command. Default: none.
    pub fn set_confinement(&self, confinement: Option<Arc<Confinement>>) {
        self.shell.confine(confinement);
    }

    /// Moves commands and tools into another sandbox until [`Host::leave_confinement`]. Until then, commands run in a
    /// separate shell that starts in the current directory and without the variables of the session.
    pub fn enter_confinement(&self, confinement: Arc<Confinement>) {
        self.shell.enter(confinement);
    }

    /// Returns to the shell and the sandbox before [`Host::enter_confinement`]; does nothing if that was not called.
    pub fn leave_confinement(&self) {
        self.shell.leave();
    }

    /// Returns the sandbox in which the next command runs.
    #[must_use]
    pub fn confinement(&self) -> Option<Arc<Confinement>> {
        self.shell.confinement()
    }

    /// Sets the editor that hosts the session; later calls are ignored. Default: no editor.
    pub fn set_editor(&self, editor: Arc<dyn Editor>) {
        // A second editor would only know a part of the session.
        let _ = self.editor.set(editor);
    }

    /// Returns the editor that hosts the session; `None` without one.
    pub(crate) fn editor(&self) -> Option<&dyn Editor> {
        self.editor.get().map(|editor| &**editor)
    }

    /// Returns the files that the editor holds with text that is not saved; none without an editor. Blocks while the
    /// editor answers.
    #[must_use]
    pub fn unsaved(&self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let Some(editor) = self.editor() else { return Vec::new() };
        let is_unsaved = |path: &PathBuf| {
            let is_file = path.symlink_metadata().is_ok_and(|facts| facts.is_file());
            is_file && std::fs::read(path).is_ok_and(|disk| unsaved(Some(editor), path, &disk).is_some())
        };
        paths.into_iter().filter(is_unsaved).collect()
    }

    /// Tells the editor that an undo changed or deleted files on disk. Blocks until the message is sent.
    pub fn restored(&self, paths: &[PathBuf]) {
        if let Some(editor) = self.editor().filter(|_| !paths.is_empty()) {
            editor.restored(paths);
        }
    }

    /// Returns true if the user allowed calls with these arguments to run outside the sandbox.
    pub(crate) fn allows_outside(&self, arguments: &serde_json::Value) -> bool {
        let granted = self.outside.lock();
        granted.all || granted.calls.contains(arguments)
    }

    /// Allows calls with these arguments to run outside the sandbox for the rest of the session.
    pub(crate) fn allow_outside(&self, arguments: serde_json::Value) {
        self.outside.lock().calls.push(arguments);
    }

    /// Allows every refused command to run outside the sandbox for the rest of the session.
    pub(crate) fn allow_all_outside(&self) {
        self.outside.lock().all = true;
    }

    /// Returns the checks for the files that `tool` opens in a call; `call` is `None` if the user attaches them.
    pub(crate) fn access(&self, tool: &str, effects: Effects, call: Option<&str>, cwd: &Path) -> Access {
        let mut checks: Vec<_> =
            self.policies.lock().iter().filter_map(|policy| policy.path_check(tool, call, cwd)).collect();
        // The user may attach files that the model must not read.
        if let Some(confinement) = self.shell.confinement().filter(|_| call.is_some()) {
            checks.extend(confinement.file_check(effects));
        }
        Access { checks }
    }

    /// Returns the checks of a call's redirects.
    pub(crate) fn address_checks(&self, tool: &str, call: &str) -> Vec<AddressCheck> {
        self.policies.lock().iter().filter_map(|policy| policy.address_check(tool, call)).collect()
    }

    pub(crate) fn resources(&self) -> Option<Arc<dyn ResourceLookup>> {
        self.resources.lock().clone()
    }

    /// Records that a file was attached to a message of the user: `lines`, the attached beginning of the file, count as
    /// read; `whole` means the complete file. `hash` is that of the content, `path` the link-free path.
    pub fn mentioned(&self, path: &Path, hash: Option<[u8; 32]>, whole: bool, lines: &[u8]) {
        self.seen.showed(path, hash, whole, 1, read_tracker::lines(lines));
    }

    /// Forgets what the model has seen of files, so that it has to read them before it edits them.
    pub fn forget(&self, paths: &[PathBuf]) {
        paths.iter().for_each(|path| self.seen.forget(path));
    }

    /// Returns true if this is the first call with this digest.
    pub(crate) fn first_time(&self, what: read_tracker::Hash) -> bool {
        self.warned.lock().insert(what)
    }

    /// Waits for the next notification of the session, during and between runs. Dropping the future loses nothing.
    pub async fn notice(&self) -> Notice {
        tokio::select! {
            JobNotice { id, state, follow_up } = self.jobs.next() => Notice::Job { id, state, follow_up },
            () = self.todo.cleared() => Notice::TodoCleared,
        }
    }

    /// Returns the background jobs, ordered by start.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs.all().iter().map(Job::of).collect()
    }

    /// Returns the end of the output of a background job.
    ///
    /// # Errors
    /// Returns an error if no job has the id.
    pub fn job_output(&self, id: &str) -> Result<String, String> {
        self.job(id).map(|job| job.command.glance())
    }

    /// Starts to terminate a background job; returns a line about it.
    ///
    /// # Errors
    /// Returns an error if no job has the id.
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

    /// Terminates the shell of the session, its jobs and all their processes, and waits for their end. Later commands
    /// fail.
    pub fn close(&self) {
        self.jobs.close();
        self.shell.close();
        self.user_shell.close();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.close();
    }
}

/// The current state of a background job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The id of the job.
    pub id: String,
    /// The command line.
    pub command: String,
    /// `running`, `done`, `failed` or `cancelled`.
    pub state: &'static str,
    /// The running time in seconds.
    pub seconds: u64,
    /// A one-line summary.
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

/// Returns the instruction files in the directories above a file, each with its path and text, the outermost first.
/// The argument is a link-free path.
pub type Instructions = Arc<dyn Fn(&Path) -> Vec<(PathBuf, String)> + Send + Sync>;

/// Resolves `skill://` and `rule://` addresses for the tool `read`.
pub trait ResourceLookup: Send + Sync {
    /// Returns the file of `skill://<name>[/<rel>]`; `rest` is the text after `skill://`.
    ///
    /// # Errors
    /// Returns a text for the model if no skill has the name, or if the path leaves its directory.
    fn skill_file(&self, rest: &str) -> Result<PathBuf, String>;

    /// Returns the text of `rule://<name>`.
    ///
    /// # Errors
    /// Returns a text for the model if no rule has the name.
    fn rule_text(&self, name: &str) -> Result<String, String>;
}

/// A notification of a session outside its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The state of a job changed.
    Job {
        /// The id of the job.
        id: String,
        /// `running`, `done`, `failed` or `cancelled`.
        state: &'static str,
        /// The text for the model if it has not seen the end of the job; `None` otherwise.
        follow_up: Option<String>,
    },
    /// A finished task list was cleared.
    TodoCleared,
}
