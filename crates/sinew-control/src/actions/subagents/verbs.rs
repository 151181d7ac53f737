//! Lets a person or a client list children, write to them, and end them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sinew_agent::agent::{Delivery, Snapshots, Stop};
use sinew_agent::subagent::{AgentSource, ChildState, usage};
use sinew_llm::message::{LlmMessage, Usage};

use super::super::{Control, ControlError};
use super::follow::{ChildConversation, ChildForwarder};
use super::{Child, Figures};
use crate::app::OpenSession;
use crate::failure::known_names;

/// The number of lines that `/tasks ID` shows.
const LAST_LINES: usize = 20;

/// A child, for lists.
#[derive(Debug, Clone)]
pub struct ListedChild {
    /// The id of the child.
    pub id: String,
    /// The name of the agent.
    pub agent: String,
    /// The task of the child, in a few words.
    pub description: Option<String>,
    /// The model, as `provider/id`.
    pub model: String,
    /// The state of the child.
    pub state: ChildState,
    /// Tokens, cost and turns.
    pub figures: Figures,
    /// The last line that it wrote; `None` once it has ended.
    pub last_line: Option<String>,
}

impl ListedChild {
    /// Returns its state and its use.
    pub fn summary(&self) -> String {
        let Figures { turns, tokens, cost } = self.figures;
        format!("{} · {} · {}", self.state.as_str(), self.model, usage(turns, tokens, cost))
    }
}

impl Control {
    /// Ends all children in the background, of any session.
    pub fn stop_children(&self) {
        self.subagents.stop();
    }

    /// Waits until no child works in the background, and until the runs that were started by their ends are over. Returns
    /// how the last of those runs ended; `None` if there was none.
    pub async fn children_ended(&self) -> Option<Stop> {
        self.subagents.background.close();
        self.subagents.background.wait().await;
        self.subagents.background.reopen();
        self.subagents.last_stop.lock().take()
    }

    /// Returns the children of the current session, oldest first: those of earlier programs, then its own.
    pub fn children(&self) -> Vec<ListedChild> {
        let own = self.own_children();
        let mut all = self.earlier_children();
        all.retain(|earlier| own.iter().all(|child| child.id() != earlier.id));
        all.extend(own.iter().map(|child| child.listed()));
        all
    }

    /// Returns one of [`Control::children`].
    ///
    /// # Errors
    /// Returns an error that lists the ids if no child has this one.
    pub fn listed_child(&self, id: &str) -> Result<ListedChild, ControlError> {
        let earlier = || self.earlier_children().into_iter().find(|child| child.id.eq_ignore_ascii_case(id));
        self.child(id).map(|child| child.listed()).or_else(|error| earlier().ok_or(error))
    }

    /// Returns true if a child of the current session has not ended. Reads no session.
    pub fn has_children_at_work(&self) -> bool {
        self.own_children().iter().any(|child| child.is_at_work())
    }

    pub(super) fn own_children(&self) -> Vec<Arc<Child>> {
        let session = self.session().agent.session().id().to_string();
        let children = self.subagents.children.lock();
        children.iter().filter(|child| child.session == session).cloned().collect()
    }

    /// Sends a message to a child. A running child reads it after its running tools, a waiting one with its assignment.
    ///
    /// # Errors
    /// Returns an error if there is no such child, or it does not work.
    pub async fn steer_child(&self, id: &str, text: &str) -> Result<(), ControlError> {
        let child = self.child(id)?;
        if child.state() == ChildState::Queued {
            child.mail.lock().push(text.to_string());
            return Ok(());
        }
        let open = child.open.lock().upgrade().filter(|_| child.is_at_work());
        let open =
            open.ok_or_else(|| format!("{} is {}: it cannot receive messages", child.id(), child.state().as_str()))?;
        Ok(open.agent.queue(LlmMessage::user(text).into(), Delivery::Steer).await?)
    }

    /// Ends a running or waiting child.
    ///
    /// # Errors
    /// Returns an error if there is no such child, or it has ended.
    pub fn abort_child(&self, id: &str) -> Result<(), ControlError> {
        let child = self.child(id)?;
        if !child.is_at_work() {
            return Err(format!("{} is {} already", child.id(), child.state().as_str()).into());
        }
        child.cancel.cancel();
        Ok(())
    }

    /// Moves the call that waits for a child to the background, with all children of the call. Returns their ids.
    ///
    /// # Errors
    /// Returns an error if the id is unknown, if the child has ended, or if it works in the background or for another
    /// child.
    pub fn move_to_background(&self, id: &str) -> Result<Vec<String>, ControlError> {
        let child = self.child(id)?;
        let id = child.id();
        if !child.is_at_work() {
            return Err(format!("{id} is {} already", child.state().as_str()).into());
        }
        if child.depth > 1 {
            return Err(format!("{id} was started by a subagent, which waits for it; move that one instead").into());
        }
        if child.released.is_cancelled() {
            return Err(format!("{id} works in the background already").into());
        }
        child.released.cancel();
        let own = self.own_children();
        let moved = own.iter().filter(|other| other.call == child.call && other.is_at_work());
        Ok(moved.map(|child| child.id().to_string()).collect())
    }

    /// Adds the turns, messages and tool calls of children to the events of the session, or stops that.
    pub async fn show_child_events(&self, enabled: bool) {
        self.subagents.shows_events.store(enabled, Ordering::Relaxed);
        let children = self.subagents.children.lock().clone();
        for child in children {
            let open = child.open.lock().upgrade();
            match open {
                Some(open) if enabled => self.forward_events(&child, &open, &self.session()),
                _ => child.end_forwarding().await,
            }
        }
    }

    /// Passes the events of a child on if they are wanted.
    pub(super) fn forward_events(&self, child: &Child, open: &OpenSession, root: &Arc<OpenSession>) {
        if !self.subagents.shows_events.load(Ordering::Relaxed) {
            return;
        }
        let snapshots = self.view.as_ref().map_or(Snapshots::Unread, |view| view.snapshots());
        let mut forwarding = child.forwarding.lock();
        if forwarding.is_none() {
            *forwarding =
                Some(ChildForwarder::begin(child.id().to_string(), open.agent.subscribe(snapshots), Arc::clone(root)));
        }
    }

    /// Returns the conversation of a child of the current session.
    ///
    /// # Errors
    /// Returns an error if there is no such child, it has not started, or its file cannot be read.
    pub fn child_conversation(&self, id: &str) -> Result<ChildConversation, ControlError> {
        let open = self.child(id).ok().and_then(|child| child.open.lock().upgrade());
        if let Some(open) = open {
            return Ok(ChildConversation::Open(open));
        }
        let child = self.listed_child(id)?;
        let file = self.app.store.child_file(&self.session().agent.session(), &child.id);
        let file = file.filter(|file| file.is_file());
        let file = file.ok_or_else(|| format!("{} has no conversation: it is {}", child.id, child.state.as_str()))?;
        Ok(ChildConversation::Saved(Box::new(self.app.store.view(&file)?)))
    }

    pub(super) fn child(&self, id: &str) -> Result<Arc<Child>, ControlError> {
        let own = self.own_children();
        let found = own.iter().find(|child| child.id().eq_ignore_ascii_case(id)).cloned();
        found.ok_or_else(|| {
            let earlier = self.earlier_children();
            if let Some(child) = earlier.iter().find(|child| child.id.eq_ignore_ascii_case(id)) {
                return format!("{} is {}: it ended in an earlier run of the program", child.id, child.state.as_str())
                    .into();
            }
            let known = known_names(earlier.iter().map(|child| &*child.id).chain(own.iter().map(|child| child.id())));
            format!("no subagent {id:?}: {known}").into()
        })
    }

    /// Returns the use of all children of the program.
    pub fn children_usage(&self) -> Usage {
        self.subagents.meter.usage()
    }

    /// Returns the text of `/tasks`.
    pub(crate) fn children_text(&self) -> String {
        let children = self.children().into_iter().map(|child| {
            let about = child.description.as_ref().map(|text| format!(" · {text}")).unwrap_or_default();
            let last = child.last_line.as_ref().map(|line| format!("\n  {line}")).unwrap_or_default();
            format!("{} ({}): {}{about}{last}", child.id, child.agent, child.summary())
        });
        let lines: Vec<String> = children.collect();
        if lines.is_empty() { "No subagents.".into() } else { lines.join("\n") }
    }

    /// Returns the text of `/tasks ID`: the state of a child, and the end of what it wrote.
    ///
    /// # Errors
    /// Returns an error if there is no such child, or its file cannot be read.
    fn child_text(&self, id: &str) -> Result<String, ControlError> {
        let child = self.listed_child(id)?;
        let mut lines = vec![format!("{}: {}", child.id, child.summary())];
        let text = match self.child_conversation(id) {
            Ok(conversation) => conversation.last_text()?.unwrap_or_default(),
            Err(error) => error.message,
        };
        let written: Vec<&str> = text.trim().lines().collect();
        lines.extend(written[written.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_string()));
        Ok(lines.join("\n"))
    }

    /// Returns the text of `/agents`.
    pub(crate) fn agents_text(&self) -> String {
        let found = self.app.agent_definitions();
        let lines = found.agents.iter().map(|agent| {
            let source = match agent.source {
                AgentSource::BuiltIn => "",
                AgentSource::User => " (yours)",
                AgentSource::Project => " (project)",
                AgentSource::Foreign => " (.claude/agents)",
            };
            format!("{}{source}: {}", agent.name, agent.description)
        });
        lines.chain(found.faults.iter().cloned()).collect::<Vec<_>>().join("\n")
    }

    /// Runs `/tasks [[stop|background|apply|drop] ID]`.
    ///
    /// # Errors
    /// Returns an error for other arguments, and the errors of [`Control::abort_child`].
    pub(crate) async fn tasks_command(&self, arguments: &str) -> Result<String, ControlError> {
        match arguments.split_once(char::is_whitespace) {
            None if arguments.is_empty() => Ok(self.children_text()),
            Some(("apply", id)) => self.apply_view(id.trim()).await,
            Some(("drop", id)) => self.drop_view(id.trim()),
            Some(("background", id)) => {
                let moved = self.move_to_background(id.trim())?;
                Ok(format!("In the background now: {}. The model continues without waiting.", moved.join(", ")))
            }
            Some(("stop", id)) => self.abort_child(id.trim()).map(|()| format!("{} ends.", id.trim())),
            None => self.child_text(arguments),
            _ => Err(format!(
                "/tasks {arguments}: use /tasks, /tasks ID, or /tasks stop, background, apply or drop with an ID"
            )
            .into()),
        }
    }

    /// Runs `/steer ID TEXT`.
    ///
    /// # Errors
    /// Returns an error if the text is missing, and the errors of [`Control::steer_child`].
    pub(crate) async fn steer_command(&self, arguments: &str) -> Result<String, ControlError> {
        let Some((id, text)) = arguments.split_once(char::is_whitespace) else {
            return Err("/steer needs the ID of a subagent and a text: /steer ID TEXT".into());
        };
        self.steer_child(id, text.trim())
            .await
            .map(|()| format!("{id} will read it after its running tools; others are skipped."))
    }
}
