//! Everything that can be known of a session. Nothing of it waits for a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_agent::agent::{AgentSettings, ContextUsage, SessionStats};
use sinew_agent::mcp::ServersTokens;
use sinew_agent::resource::ListedCommand;
use sinew_llm::message::AgentMessage;
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_session::Session;
use sinew_tools::Phase;
use sinew_tools::tool::Tool;

use super::{Control, ControlError};

/// The session and its agent at one moment.
pub(crate) struct State {
    pub(crate) session: SessionIdentity,
    /// The mode that was last recorded in the session, `none` without one.
    pub(crate) session_mode: String,
    pub(crate) title: Option<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) model: Model,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) is_running: bool,
    pub(crate) is_compacting: bool,
    pub(crate) is_retrying: bool,
    pub(crate) settings: Arc<AgentSettings>,
    /// Messages of the context.
    pub(crate) messages: usize,
    /// Messages that wait in the queues.
    pub(crate) queued: usize,
    pub(crate) todo: Vec<Phase>,
    pub(crate) system: String,
    /// The tools that the model is offered and people may see.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

/// The names of a session.
pub(crate) struct SessionIdentity {
    pub(crate) id: String,
    /// None: it is kept in memory only.
    pub(crate) file: Option<PathBuf>,
}

/// Counts, cost and fill of the window.
pub(crate) struct Stats {
    pub(crate) session: SessionIdentity,
    pub(crate) title: Option<String>,
    pub(crate) model: String,
    pub(crate) counts: SessionStats,
    pub(crate) context: Option<ContextUsage>,
    /// The share of servers in the context; None where the session has none.
    pub(crate) servers: Option<ServersTokens>,
}

impl Control {
    /// The session and its agent now.
    ///
    /// # Errors
    /// The session file can no longer be read.
    pub(crate) fn state(&self) -> Result<State, ControlError> {
        let open = self.session();
        let agent = &open.agent;
        let (steering, follow_up) = agent.queued();
        let tools = agent.tools().all().iter().filter(|tool| !tool.flags().hidden).cloned().collect();
        let (session, title, messages, session_mode) = {
            let session = agent.session();
            (SessionIdentity::of(&session), session.title(), session.context_len()?, session.mode()?)
        };
        Ok(State {
            session,
            session_mode,
            title,
            cwd: self.app.startup.paths.cwd.clone(),
            model: agent.model().model,
            thinking: agent.thinking(),
            is_running: agent.is_running(),
            is_compacting: agent.is_compacting(),
            is_retrying: agent.is_retrying(),
            settings: agent.settings(),
            messages,
            queued: steering.len() + follow_up.len(),
            todo: open.host.todo_phases(),
            system: agent.system().join("\n\n"),
            tools,
        })
    }

    /// Counts, cost and fill of the window.
    ///
    /// # Errors
    /// The session file can no longer be read.
    pub(crate) fn stats(&self) -> Result<Stats, ControlError> {
        let open = self.session();
        let agent = &open.agent;
        let counts = agent.stats()?;
        let context = agent.context_usage()?;
        let servers = match open.servers() {
            Some(servers) => Some(servers.tokens(&agent.conversation()?)),
            None => None,
        };
        let (session, title) = {
            let session = agent.session();
            (SessionIdentity::of(&session), session.title())
        };
        Ok(Stats { session, title, model: agent.model().model.key(), counts, context, servers })
    }

    /// The messages of the context.
    ///
    /// # Errors
    /// The session file can no longer be read.
    pub(crate) fn messages(&self) -> Result<Vec<AgentMessage>, ControlError> {
        Ok(self.session().agent.conversation()?)
    }

    /// The text of the last answer; None where there is none.
    ///
    /// # Errors
    /// The session file can no longer be read.
    pub(crate) fn last_text(&self) -> Result<Option<String>, ControlError> {
        Ok(self.session().agent.last_text()?)
    }

    /// The messages of the user before which a branch may begin: entry and text.
    ///
    /// # Errors
    /// The session file can no longer be read.
    pub(crate) fn branch_points(&self) -> Result<Vec<(String, String)>, ControlError> {
        Ok(self.session().agent.branch_points()?)
    }

    /// The slash commands of extensions, skills, commands and templates, and the prompts of servers.
    pub(crate) fn listed_commands(&self) -> Vec<ListedCommand> {
        let (commands, _) = self.app.commands();
        let mut list = self.app.resources().resources.listed_commands(&commands);
        list.extend(self.app.mcp.prompts().into_iter().map(|prompt| ListedCommand {
            name: prompt.command,
            description: prompt.description,
            hint: prompt.hint,
            source: "prompt",
        }));
        list
    }
}

impl SessionIdentity {
    fn of(session: &Session) -> SessionIdentity {
        SessionIdentity { id: session.id().to_string(), file: session.path().map(Path::to_path_buf) }
    }
}
