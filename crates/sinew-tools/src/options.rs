//! Everything that the tools of a session are given.

use std::path::PathBuf;
use std::sync::Arc;

use sinew::shell::{Environment, Supervisor};
use sinew_session::artifacts::Artifacts;

use crate::console::Console;
use crate::question::Ask;
use crate::searches::Searches;
use crate::settings::Settings;
use crate::shells::Shells;

/// The services and settings of one session's tools. Values only: the tools read no environment variable and no
/// settings file.
pub struct HostOptions {
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// The folder that `~` means. `None`: a path with `~` is taken as it is.
    pub home: Option<PathBuf>,
    /// Search, scans and threads.
    pub searches: Arc<Searches>,
    /// The program that keeps shells.
    pub supervisor: Supervisor,
    /// The user's environment, whole. Commands get it without secrets.
    pub environment: Environment,
    /// The store of long output.
    pub artifacts: Arc<Artifacts>,
    /// The connections by which pages are fetched; the address filter is set by the tool.
    pub http: sinew_llm::http::HttpConfig,
    /// The user interface that answers questions. `None`: there is none, and no tool `ask`.
    pub ask: Option<Arc<dyn Ask>>,
    /// The user interface that shows commands which need a terminal. `None`: there is none, or it is not to be used
    /// (`SINEW_NO_PTY`), and they run without one.
    pub console: Option<Arc<dyn Console>>,
    /// The open shells of all sessions of the process.
    pub shells: Arc<Shells>,
    /// The settings of the user.
    pub settings: Settings,
}
