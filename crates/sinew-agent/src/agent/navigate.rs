//! Going elsewhere in the tree of a session, with a summary of the branch that is left where one is wanted; sessions
//! made from this one. Nothing of it happens while a run is active.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::json;
use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::message::{AgentMessage, Block, CompactionSummary, Content};
use sinew_session::{Body, Entry, MENTION, PathEnd, Session};

use super::compact::{self, Purpose};
use super::extension_points::{CancelDecision, refused};
use super::session::AgentSession;
use crate::compaction::{Files, files_of, tokens, with_files};
use crate::hook_points::text_of;

const LEFT: &str = "The user has left this branch and goes on from an earlier point. Say what was tried, what was found \
out, and what was changed on disk and still is.";

/// The choice of a summary for the branch that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchSummaryChoice<'a> {
    /// As `branchSummary.enabled` says.
    AsSet,
    /// It stays in the file, and the model does not hear of it.
    Silently,
    /// It is summed up; the text says what matters to the user.
    Summarised(Option<&'a str>),
}

/// The result of a move in the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NavigationResult {
    /// The text of the user at the target, for the editor.
    pub editor_text: Option<String>,
    /// The entry of the summary.
    pub summary_id: Option<String>,
    /// [`AgentSession::abort`] ended the summary: nothing has moved.
    pub aborted: bool,
    /// An extension refused it: nothing has moved.
    pub cancelled: bool,
}

/// A session that was made of a part of another one.
pub enum SessionCopy {
    /// In this file. Opening it is the caller's.
    File(PathBuf),
    /// In memory, as the one that it was made from.
    InMemory(Box<Session>),
}

/// A session that ends before a message of the user.
pub struct BranchedSession {
    /// The session.
    pub copy: SessionCopy,
    /// The text of the user where it begins, for the editor.
    pub text: String,
}

impl AgentSession {
    /// Goes to an entry of the tree: before a message of the user or of an extension, whose text is given back, and
    /// behind any other. A summary of what lies between here and the common ancestor stands at the new place; where
    /// there is nothing to say it moves without.
    ///
    /// # Errors
    /// A run is active, no entry has the id, it is where the session stands (`Already at this point`), or nobody could
    /// sum up; nothing has moved then.
    pub async fn navigate_tree(&self, target: &str, leave: BranchSummaryChoice<'_>) -> Result<NavigationResult> {
        let mut context = self.begin_maintenance()?;
        let (place, editor_text, left) = {
            let session = self.session();
            let entry = session.entry(target)?;
            if session.leaf() == Some(target) {
                return Err(Error::new(ErrorCode::InvalidState, "Already at this point"));
            }
            let (place, text) = match &entry.body {
                Body::Message { message: AgentMessage::User(user) } => (entry.parent_id, Some(user.content.text())),
                Body::CustomMessage { custom_type, content, .. } if custom_type != MENTION => {
                    (entry.parent_id, Some(content.text()))
                }
                _ => (Some(entry.id), None),
            };
            // The parent may be one that the file does not have.
            let place = place.filter(|id| session.entry(id).is_ok());
            let left = session.left_behind(place.as_deref())?;
            (place, text, left)
        };
        let instructions = match leave {
            BranchSummaryChoice::Silently => None,
            BranchSummaryChoice::AsSet => self.settings().branch_summary.enabled.then_some(None),
            BranchSummaryChoice::Summarised(instructions) => Some(instructions),
        };
        let old = self.session().leaf().map(str::to_string);
        let (mut leaving, mut given) = (CancelDecision::default(), None);
        self.ask("session_before_tree", json!({"targetId": target, "oldLeafId": old}), |_, answer| {
            given = text_of(&answer, "summary").or(given.take());
            refused(&answer, &mut leaving)
        })
        .await;
        if leaving.cancelled {
            return Ok(NavigationResult { cancelled: true, ..NavigationResult::default() });
        }
        let mut moved = NavigationResult { editor_text, ..NavigationResult::default() };
        let from_extension = given.is_some().then_some(true);
        let summary = match (given, instructions) {
            (Some(given), _) => Some((given, Files::default())),
            (None, Some(instructions)) => {
                let cancel = self.new_token();
                match self.sum_up(left, instructions, &cancel).await {
                    Ok(summary) => summary,
                    Err(_) if cancel.is_cancelled() => {
                        return Ok(NavigationResult { editor_text: None, aborted: true, ..moved });
                    }
                    Err(error) => return Err(error),
                }
            }
            (None, None) => None,
        };
        self.session().set_leaf(place.as_deref())?;
        if let Some((summary, files)) = summary {
            self.conversation.append(Body::BranchSummary {
                from_id: place.unwrap_or_else(|| "root".into()),
                summary,
                details: Some(files.to_details()),
                from_extension,
            });
            moved.summary_id = self.session().leaf().map(str::to_string);
        }
        *context = self.conversation.reread()?;
        self.restore_told(None);
        drop(context);
        self.conversation.flush_pending_if_idle();
        let new = self.session().leaf().map(str::to_string);
        let told = json!({"newLeafId": new, "oldLeafId": old, "summaryEntryId": moved.summary_id});
        self.ask("session_tree", told, |_, _| ControlFlow::Continue(())).await;
        Ok(moved)
    }

    /// The summary of a branch and the files that it touched; none where nobody said anything on it.
    async fn sum_up(
        &self,
        left: Vec<Entry>,
        instructions: Option<&str>,
        cancel: &tokio_util::sync::CancellationToken,
    ) -> Result<Option<(String, Files)>> {
        let current = self.model();
        let window = current.model.context_window;
        let room = window.saturating_sub(self.settings().branch_summary.reserve.min(window / 4));
        let mut files = Files::default();
        let mut messages = Vec::new();
        for entry in left {
            if let Body::BranchSummary { details: Some(details), .. }
            | Body::Compaction { details: Some(details), .. } = &entry.body
            {
                files.add_details(details);
            }
            messages.extend(message(entry));
        }
        let touched = files_of(&messages);
        files.modified.extend(touched.modified);
        files.read.extend(touched.read);
        files.read.retain(|path| !files.modified.contains(path));
        // The newest first, up to the budget.
        let mut size = 0;
        let within = messages.iter().rev().take_while(|message| {
            size += tokens(message);
            size <= room
        });
        let count = within.count().max(1);
        let kept = messages.split_off(messages.len().saturating_sub(count));
        if kept.is_empty() {
            return Ok(None);
        }
        let additional = match instructions {
            Some(instructions) => format!("{LEFT}\n\nAdditional focus: {instructions}"),
            None => LEFT.to_string(),
        };
        // Also where a provider does not listen.
        let summary = tokio::select! {
            summary = compact::ask(self, &current, &kept, None, Some(&additional), Purpose::Branch, cancel) => summary?,
            () = cancel.cancelled() => return Err(Error::new(ErrorCode::Aborted, "the summary was ended")),
        };
        Ok(Some((with_files(&summary, &files), files)))
    }

    /// Gives an entry a label, or takes it away.
    ///
    /// # Errors
    /// No entry has the id.
    pub fn set_label(&self, target: &str, label: Option<&str>) -> Result<()> {
        self.session().entry(target)?;
        self.conversation.append(Body::Label { target_id: target.into(), label: label.map(str::to_string) });
        Ok(())
    }

    /// Gives the session a title that no automatic one replaces.
    ///
    /// # Errors
    /// The name is blank.
    pub fn set_title(&self, name: &str) -> Result<()> {
        let title = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Error::invalid("Session name cannot be empty"));
        }
        self.conversation.append(Body::SessionInfo { title, name: None, title_source: Some("user".into()) });
        Ok(())
    }

    /// A new session beside this one that ends before a message of the user, whose text is given back.
    ///
    /// # Errors
    /// A run is active, the entry is no message of the user, or the file cannot be written.
    pub fn branch(&self, entry: &str) -> Result<BranchedSession> {
        let _permit = self.begin_maintenance()?;
        let text = self.branch_text(entry)?;
        let copy = copy(&self.session(), PathEnd::Before(entry), &self.context.cwd)?;
        Ok(BranchedSession { copy, text })
    }

    /// Returns the text of the user's message at which a branch can begin.
    ///
    /// # Errors
    /// Returns an error if `entry` is no message of the user.
    pub fn branch_text(&self, entry: &str) -> Result<String> {
        match self.session().entry(entry)?.body {
            Body::Message { message: AgentMessage::User(user) } => Ok(user.content.text()),
            _ => Err(Error::invalid(format!("entry {entry:?} is no message of the user: a branch begins at one"))),
        }
    }

    /// Checks that the session can be copied into a file.
    ///
    /// # Errors
    /// Returns an error if the session is kept in memory only.
    pub fn check_fork(&self) -> Result<()> {
        folder(&self.session(), "fork").map(drop)
    }

    /// A new session beside this one with the path to where this one stands.
    ///
    /// # Errors
    /// A run is active, there is no entry, or the file cannot be written.
    pub fn clone_branch(&self) -> Result<SessionCopy> {
        let _permit = self.begin_maintenance()?;
        let session = self.session();
        let Some(leaf) = session.leaf() else {
            return Err(Error::new(ErrorCode::InvalidState, "Cannot clone session: no current entry selected"));
        };
        copy(&session, PathEnd::At(leaf), &self.context.cwd)
    }

    /// A copy of the whole session beside it. Opening it is the caller's.
    ///
    /// # Errors
    /// A run is active, the session is in memory, or the file cannot be written.
    pub fn fork(&self) -> Result<PathBuf> {
        let _permit = self.begin_maintenance()?;
        let session = self.session();
        session.fork(folder(&session, "fork")?, &self.context.cwd)
    }

    /// Moves the session and its artifacts to the folder of `cwd` below `sessions`. Loading what belongs to the new
    /// directory is the caller's.
    ///
    /// # Errors
    /// A run is active, the session is in memory, or a file cannot be moved; everything is where it was then.
    pub fn move_to(&self, sessions: &Path, cwd: &Path) -> Result<PathBuf> {
        let _permit = self.begin_maintenance()?;
        self.session().move_to(sessions, cwd)
    }
}

fn copy(session: &Session, end: PathEnd<'_>, cwd: &Path) -> Result<SessionCopy> {
    match session.path() {
        None => Ok(SessionCopy::InMemory(Box::new(session.path_in_memory(end)?))),
        Some(path) => match path.parent().filter(|_| path.is_file()) {
            Some(folder) => session.path_to_file(end, folder, cwd).map(SessionCopy::File),
            None => Err(Error::new(ErrorCode::InvalidState, "this session has no file yet: it begins with a prompt")),
        },
    }
}

fn folder<'a>(session: &'a Session, verb: &str) -> Result<&'a Path> {
    let parent = session.path().filter(|path| path.is_file()).and_then(Path::parent);
    parent.ok_or_else(|| Error::new(ErrorCode::InvalidState, format!("cannot {verb} an in-memory session")))
}

/// The message of an entry for a model that sums up.
fn message(entry: Entry) -> Option<AgentMessage> {
    match entry.body {
        Body::Compaction { summary, tokens_before, .. } => {
            Some(AgentMessage::CompactionSummary(CompactionSummary { summary, tokens_before, timestamp: 0 }))
        }
        _ => entry.into_message().filter(|message| !is_empty(message)),
    }
}

fn is_empty(message: &AgentMessage) -> bool {
    match message {
        AgentMessage::User(user) => matches!(&user.content, Content::Text(text) if text.trim().is_empty()),
        AgentMessage::Assistant(answer) => {
            !answer.content.iter().any(|block| matches!(block, Block::Text(_) | Block::ToolCall(_)))
        }
        _ => false,
    }
}
