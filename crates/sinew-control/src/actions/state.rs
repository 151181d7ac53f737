//! Queries of a session's state. None of them waits for a run.

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

/// A snapshot of the session and its agent.
pub struct State {
    /// The identifiers of the session.
    pub session: SessionIdentity,
    /// The mode that was last recorded in the session, or `none`.
    pub session_mode: String,
    /// The title of the session, if it has one.
    pub title: Option<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The current model.
    pub model: Model,
    /// The current thinking level.
    pub thinking: ThinkingLevel,
    /// True while the agent works on a prompt.
    pub is_running: bool,
    /// True while the conversation is summarized.
    pub is_compacting: bool,
    /// True while the agent waits before it repeats a request.
    pub is_retrying: bool,
    /// The settings of the agent.
    pub settings: Arc<AgentSettings>,
    /// The number of messages in the context.
    pub messages: usize,
    /// The number of queued messages.
    pub queued: usize,
    /// The task list.
    pub todo: Vec<Phase>,
    /// The system prompt.
    pub system: String,
    /// The tools that are offered to the model and shown to people.
    pub tools: Vec<Arc<dyn Tool>>,
}

/// The identifiers of a session.
pub struct SessionIdentity {
    /// The id of the session.
    pub id: String,
    /// `None` if the session is only kept in memory.
    pub file: Option<PathBuf>,
}

/// Message counts, cost, and usage of the context window.
pub struct Stats {
    /// The identifiers of the session.
    pub session: SessionIdentity,
    /// The title of the session, if it has one.
    pub title: Option<String>,
    /// The current model, as `provider/id`.
    pub model: String,
    /// Counts of messages and tokens, and the cost.
    pub counts: SessionStats,
    /// The use of the context window, if it is known.
    pub context: Option<ContextUsage>,
    /// The number of tokens in the context that MCP servers use; `None` if the session has no servers.
    pub servers: Option<ServersTokens>,
}

impl Control {
    /// Returns the current state of the session and its agent.
    ///
    /// # Errors
    /// Returns an error if the session file cannot be read any more.
    pub fn state(&self) -> Result<State, ControlError> {
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

    /// Returns the message counts, the cost, and the usage of the context window.
    ///
    /// # Errors
    /// Returns an error if the session file cannot be read any more.
    pub fn stats(&self) -> Result<Stats, ControlError> {
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

    /// Returns the messages of the context.
    ///
    /// # Errors
    /// Returns an error if the session file cannot be read any more.
    pub fn messages(&self) -> Result<Vec<AgentMessage>, ControlError> {
        Ok(self.session().agent.conversation()?)
    }

    /// Returns the text of the last answer; `None` if there is no answer.
    ///
    /// # Errors
    /// Returns an error if the session file cannot be read any more.
    pub fn last_text(&self) -> Result<Option<String>, ControlError> {
        Ok(self.session().agent.last_text()?)
    }

    /// Returns the user messages before which a branch can begin: entry and text.
    ///
    /// # Errors
    /// Returns an error if the session file cannot be read any more.
    pub fn branch_points(&self) -> Result<Vec<(String, String)>, ControlError> {
        Ok(self.session().agent.branch_points()?)
    }

    /// Returns the slash commands of extensions, skills, commands and templates, and the prompts of MCP servers.
    pub fn listed_commands(&self) -> Vec<ListedCommand> {
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
