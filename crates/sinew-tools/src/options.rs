//! The options of a session's tools.

use std::path::PathBuf;
use std::sync::Arc;

use sinew::shell::{Environment, Supervisor};
use sinew_session::artifacts::Artifacts;

use crate::console::Console;
use crate::question::{Ask, Requester};
use crate::searches::Searches;
use crate::settings::Settings;
use crate::shells::Shells;

/// The services and settings of one session's tools. The tools themselves read no environment variables and no settings
/// files.
pub struct HostOptions {
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The directory that `~` stands for in a path. `None` disables the expansion.
    pub home: Option<PathBuf>,
    /// The search service.
    pub searches: Arc<Searches>,
    /// The program that supervises shells.
    pub supervisor: Supervisor,
    /// The complete environment of the user. Commands get it without secrets.
    pub environment: Environment,
    /// The store of long output.
    pub artifacts: Arc<Artifacts>,
    /// The HTTP configuration for fetching pages; the tool adds its own address filter.
    pub http: sinew_llm::http::HttpConfig,
    /// The user interface that asks questions. `None` disables the tool `ask`.
    pub ask: Option<Arc<dyn Ask>>,
    /// The subagent to which the tools belong. It can ask for permission, but has no tool `ask`. `None` for a session of
    /// the user.
    pub requester: Option<Arc<Requester>>,
    /// The user interface that shows commands in a terminal. `None` if there is none or it is disabled
    /// (`SINEW_NO_PTY`): commands then run without a terminal.
    pub console: Option<Arc<dyn Console>>,
    /// The open shells of all sessions of the process.
    pub shells: Arc<Shells>,
    /// The settings of the user.
    pub settings: Settings,
}
