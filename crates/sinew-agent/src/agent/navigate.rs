//! Moves in the session tree, with an optional summary of the branch that is left, and copies of the session. All of
//! these require that no run is active.

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

/// Whether the branch that is left is summarized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchSummaryChoice<'a> {
    /// Uses the setting `branchSummary.enabled`.
    AsSet,
    /// No summary: the branch stays in the file, but the model does not learn of it.
    Silently,
    /// With a summary; the text names the topics that matter to the user.
    Summarised(Option<&'a str>),
}

/// The result of a move in the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NavigationResult {
    /// The text of the user message at the target, for the editor.
    pub editor_text: Option<String>,
    /// The entry id of the summary; `None` if there is none.
    pub summary_id: Option<String>,
    /// Whether [`AgentSession::abort`] cancelled the summary. The session did not move.
    pub aborted: bool,
    /// Whether an extension refused. The session did not move.
    pub cancelled: bool,
}

/// A new session that was copied from a part of another one.
pub enum SessionCopy {
    /// Stored in this file. The caller opens it.
    File(PathBuf),
    /// In memory, because the original is in memory.
    InMemory(Box<Session>),
}

/// A session that ends before a user message.
pub struct BranchedSession {
    /// The session.
    pub copy: SessionCopy,
    /// The text of that user message, for the editor.
    pub text: String,
}

impl AgentSession {
    /// Moves to an entry of the tree. If the target is a message of the user or of an extension, the session moves
    /// before it and returns its text; otherwise it moves after the target. A summary of the entries between the old
    /// position and the common ancestor is added at the new position, if there is anything to summarize.
    ///
    /// # Errors
    /// Returns an error if a run is active, if no entry has the id, if it is the current position (`Already at this
    /// point`), or if no model could write the summary. The session does not move then.
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
            // The parent may be missing in the file.
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

    /// Returns the summary of a branch and the files that it touched; `None` if the branch has no messages.
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
        // Includes the newest messages first, up to the budget.
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
        // Needed because a provider may ignore the cancellation.
        let summary = tokio::select! {
            summary = compact::ask(self, &current, &kept, None, Some(&additional), Purpose::Branch, cancel) => summary?,
            () = cancel.cancelled() => return Err(Error::new(ErrorCode::Aborted, "the summary was cancelled")),
        };
        Ok(Some((with_files(&summary, &files), files)))
    }

    /// Sets or removes the label of an entry.
    ///
    /// # Errors
    /// Returns an error if no entry has the id.
    pub fn set_label(&self, target: &str, label: Option<&str>) -> Result<()> {
        self.session().entry(target)?;
        self.conversation.append(Body::Label { target_id: target.into(), label: label.map(str::to_string) });
        Ok(())
    }

    /// Sets the title of the session. It is not replaced by an automatic one.
    ///
    /// # Errors
    /// Returns an error if the name is blank.
    pub fn set_title(&self, name: &str) -> Result<()> {
        let title = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Error::invalid("Session name cannot be empty"));
        }
        self.conversation.append(Body::SessionInfo { title, name: None, title_source: Some("user".into()) });
        Ok(())
    }

    /// Creates a session that ends before a user message, and returns it with the text of the message.
    ///
    /// # Errors
    /// Returns an error if a run is active, if the entry is not a user message, or if the file cannot be written.
    pub fn branch(&self, entry: &str) -> Result<BranchedSession> {
        let _permit = self.begin_maintenance()?;
        let text = self.branch_text(entry)?;
        let copy = copy(&self.session(), PathEnd::Before(entry), &self.context.cwd)?;
        Ok(BranchedSession { copy, text })
    }

    /// Returns the text of the user's message at which a branch can begin.
    ///
    /// # Errors
    /// Returns an error if `entry` is not a message of the user.
    pub fn branch_text(&self, entry: &str) -> Result<String> {
        match self.session().entry(entry)?.body {
            Body::Message { message: AgentMessage::User(user) } => Ok(user.content.text()),
            _ => {
                Err(Error::invalid(format!("entry {entry:?} is not a message of the user: a branch must begin at one")))
            }
        }
    }

    /// Checks that the session can be copied into a file.
    ///
    /// # Errors
    /// Returns an error if the session is kept in memory only.
    pub fn check_fork(&self) -> Result<()> {
        folder(&self.session(), "fork").map(drop)
    }

    /// Creates a session with the path to the current position.
    ///
    /// # Errors
    /// Returns an error if a run is active, if the session has no entry, or if the file cannot be written.
    pub fn clone_branch(&self) -> Result<SessionCopy> {
        let _permit = self.begin_maintenance()?;
        let session = self.session();
        let Some(leaf) = session.leaf() else {
            return Err(Error::new(ErrorCode::InvalidState, "Cannot clone session: no current entry selected"));
        };
        copy(&session, PathEnd::At(leaf), &self.context.cwd)
    }

    /// Copies the whole session to a new file next to it. The caller opens the copy.
    ///
    /// # Errors
    /// Returns an error if a run is active, if the session is in memory, or if the file cannot be written.
    pub fn fork(&self) -> Result<PathBuf> {
        let _permit = self.begin_maintenance()?;
        let session = self.session();
        session.fork(folder(&session, "fork")?, &self.context.cwd)
    }

    /// Moves the session and its artifacts to the folder of `cwd` below `sessions`. The caller loads the settings and
    /// resources of the new directory.
    ///
    /// # Errors
    /// Returns an error if a run is active, if the session is in memory, or if a file cannot be moved; nothing is moved
    /// then.
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
            None => {
                Err(Error::new(ErrorCode::InvalidState, "this session has no file yet: the first prompt creates it"))
            }
        },
    }
}

fn folder<'a>(session: &'a Session, verb: &str) -> Result<&'a Path> {
    let parent = session.path().filter(|path| path.is_file()).and_then(Path::parent);
    parent.ok_or_else(|| Error::new(ErrorCode::InvalidState, format!("cannot {verb} an in-memory session")))
}

/// Returns the message of an entry for a summary.
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
