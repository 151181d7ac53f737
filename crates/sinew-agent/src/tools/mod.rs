//! The built-in tools: what a model can do to files, the shell and the web.
//!
//! Each tool is one `Spec`: a name, a schema and a function. What they share lives in [`Host`]; whoever draws a
//! call looks at the `details` of its output, the model sees only the text.

mod arguments;
mod ask;
mod bash;
mod edit;
mod fetch;
mod find;
mod grep;
mod hashline;
mod job;
mod ls;
mod paths;
#[cfg(unix)]
mod place;
#[cfg(not(unix))]
#[path = "place_by_path.rs"]
mod place;
mod read;
mod save;
mod seen;
mod settings;
mod spec;
mod todo;
mod truncate;
mod undo;
mod write;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sinew::base::Cancel;
use sinew::shell::{Companion, Environment};

use sinew_llm::http::HttpClient;

use crate::artifacts::Artifacts;
use crate::extension::{Extension, PathCheck};
use crate::resource::Resources;
use crate::tool::Tool;
pub use bash::{Console, Shells};
pub(crate) use ls::list as folder_listing;
pub(crate) use paths::size as size_text;
pub(crate) use paths::spelled;
pub(crate) use read::picture_block;
pub use settings::{EditMode, EditSettings, FileGuard, GuardSettings, ImageSettings, InterceptorSettings, Settings};
use spec::{Builtin, Spec};
pub use todo::{Phase, Status, Task};

/// What the tools of one session stand on. Values only: the tools read no environment variable and no settings file.
pub struct HostOptions {
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// What `~` stands for. `None`: a path with `~` is taken as it is.
    pub home: Option<PathBuf>,
    /// Search, scans and threads.
    pub sinew: Arc<sinew::Sinew>,
    /// The program that keeps shells.
    pub companion: Companion,
    /// The user's environment, whole. Commands get it without secrets.
    pub environment: Environment,
    /// Where long output goes.
    pub artifacts: Arc<Artifacts>,
    /// How pages are got; the address filter is set by the tool.
    pub http: sinew_llm::http::HttpConfig,
    /// Who answers questions. `None`: there is no user interface and no tool `ask`.
    pub ask: Option<Arc<dyn Ask>>,
    /// Who shows commands that need a terminal. `None`: there is no user interface, or it is not to be used
    /// (`SINEW_NO_PTY`), and they run without one.
    pub console: Option<Arc<dyn Console>>,
    /// The open shells of all sessions of the process.
    pub shells: Arc<Shells>,
    /// What the user chose.
    pub settings: Settings,
}

/// The state that the tools of one session share.
pub struct Host {
    options: Arc<HostOptions>,
    seen: seen::Seen,
    snapshots: hashline::Snapshots,
    undo: undo::Undo,
    warned: Mutex<HashSet<seen::Hash>>,
    shell: Arc<bash::SessionShell>,
    jobs: bash::Jobs,
    todo: todo::Todo,
    http: HttpClient,
    pages: fetch::Pages,
    resources: Mutex<Arc<Resources>>,
    extensions: Mutex<Vec<Arc<dyn Extension>>>,
}

impl Host {
    /// Starts nothing and touches no file.
    #[must_use]
    pub fn new(options: HostOptions) -> Arc<Host> {
        let options = Arc::new(options);
        Arc::new(Host {
            http: fetch::client(&options),
            shell: Arc::new(bash::SessionShell::new(Arc::clone(&options))),
            jobs: bash::Jobs::default(),
            options,
            seen: seen::Seen::default(),
            snapshots: hashline::Snapshots::default(),
            undo: undo::Undo::default(),
            warned: Mutex::default(),
            todo: todo::Todo::default(),
            pages: fetch::Pages::default(),
            resources: Mutex::default(),
            extensions: Mutex::default(),
        })
    }

    /// What `skill://` and `rule://` mean from now on. Before the first call there is nothing behind them.
    pub fn set_resources(&self, resources: Arc<Resources>) {
        *self.resources.lock().unwrap_or_else(PoisonError::into_inner) = resources;
    }

    /// Who is asked about the files that tools open, from now on.
    pub fn set_extensions(&self, extensions: &[Arc<dyn Extension>]) {
        *self.extensions.lock().unwrap_or_else(PoisonError::into_inner) = extensions.to_vec();
    }

    /// What is to be said of the files that one of `tools` opens in a call; none where the user attaches them.
    pub(crate) fn access(&self, tools: &[&str], call: Option<&str>, cwd: &std::path::Path) -> Access {
        let extensions = self.extensions.lock().unwrap_or_else(PoisonError::into_inner);
        Access { checks: extensions.iter().filter_map(|extension| extension.path_check(tools, call, cwd)).collect() }
    }

    fn resources(&self) -> Arc<Resources> {
        Arc::clone(&self.resources.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A file went with a message of the user: `lines`, the first ones as it has them, count as read, also where they
    /// are `whole`. `hash` is that of the content, `path` that of the file without links.
    pub(crate) fn mentioned(&self, path: &std::path::Path, hash: Option<seen::Hash>, whole: bool, lines: &[u8]) {
        self.seen.showed(path, hash, whole, 1, seen::lines(lines));
    }

    /// Whether this is the first time that something, named by a digest, is asked about.
    fn first_time(&self, what: seen::Hash) -> bool {
        self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(what)
    }

    /// Waits for the next thing that the session is to be told between and during its runs. Dropping it loses nothing.
    pub async fn notice(&self) -> Notice {
        tokio::select! {
            bash::Told { id, state, follow_up } = self.jobs.next() => Notice::Job { id, state, follow_up },
            () = self.todo.cleared() => Notice::TodoCleared,
        }
    }

    /// Ends the shell of the session, its jobs and everything that they started; returns when they are gone. Later
    /// commands are errors.
    pub fn close(&self) {
        self.jobs.close();
        self.shell.close();
    }
}

/// What is said of the files that a call opens.
#[derive(Clone, Default)]
pub(crate) struct Access {
    checks: Vec<PathCheck>,
}

impl Access {
    /// Whether anybody says anything: else no path has to be looked up.
    pub(crate) fn is_limited(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Asks about a path without links, and what is known of the file there.
    pub(crate) fn check(&self, path: &std::path::Path, facts: Option<&std::fs::Metadata>) -> Result<(), String> {
        self.checks.iter().try_for_each(|check| check(path, facts))
    }

    /// Asks about what was opened by `path`.
    pub(crate) fn check_opened(&self, file: &std::fs::File, path: &std::path::Path) -> Result<(), String> {
        if !self.is_limited() {
            return Ok(());
        }
        let failed = |error: std::io::Error| format!("Cannot read {}: {error}", path.display());
        let real = crate::files::opened_path(file, path).map_err(failed)?;
        self.check(&real, Some(&file.metadata().map_err(failed)?))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.close();
    }
}

/// What happens beside the calls of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A job changed its state.
    Job {
        /// Which.
        id: String,
        /// `running`, `done`, `failed` or `cancelled`.
        state: &'static str,
        /// What the model is to be told, where it has not seen the end itself.
        follow_up: Option<String>,
    },
    /// A finished list of tasks was put away.
    TodoCleared,
}

/// Resolves when somebody wants the end.
async fn cancelled(cancel: &Cancel) {
    let bell = Arc::new(tokio::sync::Notify::new());
    let ring = Arc::clone(&bell);
    let _hook = cancel.on_cancel(move || ring.notify_one());
    bell.notified().await;
}

/// Shows questions to the user and waits for the answers.
pub trait Ask: Send + Sync {
    /// One answer per question, in their order. `None`: the user cancelled.
    fn ask<'a>(&'a self, questions: &'a [Question]) -> crate::tool::Boxed<'a, Option<Vec<String>>>;

    /// Whether the user says yes. A question with two answers where nothing shows it better.
    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> crate::tool::Boxed<'a, bool> {
        const YES: &str = "Yes";
        Box::pin(async move {
            let choice = |label: &str| Choice { label: label.into(), description: None };
            let question = Question {
                id: None,
                question: format!("{title}\n{message}"),
                options: vec![choice(YES), choice("No")],
                multi: false,
                recommended: None,
            };
            matches!(self.ask(&[question]).await.as_deref(), Some([answer]) if answer == YES)
        })
    }
}

/// A question of the model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Names the answer; the number of the question where there is none.
    pub id: Option<String>,
    /// The question.
    pub question: String,
    /// Answers to choose from; the user may write another one.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether more than one may be chosen. Default: `false`.
    #[serde(default)]
    pub multi: bool,
    /// The index of the option that the model would take.
    pub recommended: Option<usize>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Choice {
    /// What it is called.
    pub label: String,
    /// What it means.
    pub description: Option<String>,
}

/// The built-in tools in the order in which models see them. Those that the settings switch off are left out.
#[must_use]
pub fn builtin(host: &Arc<Host>) -> Vec<Arc<dyn Tool>> {
    SPECS
        .iter()
        .filter(|spec| (spec.offered)(&host.options))
        .map(|spec| Arc::new(Builtin { host: Arc::clone(host), spec }) as Arc<dyn Tool>)
        .collect()
}

/// The names of all built-in tools, for a flag that lists some of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    // The two ways to edit share a name, and stand side by side.
    SPECS.iter().filter(|spec| !std::ptr::eq(**spec, &raw const hashline::SPEC)).map(|spec| spec.name)
}

static SPECS: &[&Spec] = &[
    &read::SPEC,
    &write::SPEC,
    &edit::SPEC,
    &hashline::SPEC,
    &undo::SPEC,
    &bash::SPEC,
    &job::SPEC,
    &grep::SPEC,
    &find::SPEC,
    &ls::SPEC,
    &fetch::SPEC,
    &todo::SPEC,
    &ask::SPEC,
];
