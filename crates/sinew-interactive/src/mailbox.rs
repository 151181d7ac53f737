//! Messages to the thread of the screen, and the byte that wakes it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};

use sinew_agent::event::Event;
use sinew_control::actions::Control;
use sinew_llm::message::{AgentMessage, BashExecution};
use sinew_tools::tool::ToolOutput;
use sinew_tools::{Approval, ApprovalRequest, FileChange, Question};
use sinew_tui::{BlockId, Passages, Search, ViewPosition, Viewer};
use tokio::sync::oneshot;

use super::choices::tree::TreeFilter;
use super::choices::{Choice, Entries, Topic};
use super::complete::Candidate;
use super::copy::CopyResult;
use super::keys::Bindings;
use super::leaving::SessionMove;
use super::pasting::Clip;
use super::pictures::PreparedPicture;
use super::status::Facts;

/// Why a conversation is read for a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewPurpose {
    /// To open a view.
    Open,
    /// For the view that is open.
    Refresh,
}

/// A message to the screen.
pub(super) enum Message {
    /// The agent has started, with the warnings of its start.
    Started(Arc<Control>, Vec<String>),
    /// An event of the current session.
    Event(Arc<Event>),
    /// A question of the model. The sender returns the answer, or `None` if the user declines.
    Question(Question, oneshot::Sender<Option<String>>),
    /// A call that needs permission.
    Approval(Box<ApprovalRequest>, oneshot::Sender<Approval>),
    /// The same with the changes that the call would make to files.
    Previewed(Box<ApprovalRequest>, Vec<FileChange>, oneshot::Sender<Approval>),
    /// A line for the user.
    Notice(String),
    /// An action failed; its text returns to the editor.
    Failed { error: String, text: String },
    /// The agent accepted this prompt: into a queue, or for a run that has begun.
    Accepted { number: u64, runs: bool },
    /// This prompt did not reach the agent.
    Returned(u64),
    /// An action has ended that may have changed the session. If it did, an earlier message reported that.
    ChangeEnded,
    /// A text to send as if the user had typed it.
    Submit(String),
    /// Queued messages were removed from the queue.
    TakenBack(Vec<String>),
    /// The output of a slash command.
    Output(String),
    /// The same, if the action may have changed the contents of the status row.
    Changed(String),
    /// A review has ended; its text was shown.
    Reviewed,
    /// The last lines of the output of a user's command that is running.
    CommandOutput(BlockId, ToolOutput),
    /// A command of the user ended; `None` if it was cancelled before it began.
    CommandEnded(BlockId, Result<Option<BashExecution>, String>),
    /// A slash command ended; its output follows in another message.
    WorkEnded,
    /// A full-screen view of the conversation or of another text.
    Viewer(Box<Viewer>),
    /// The conversation of a subagent, for a view.
    SubagentPassages { id: String, passages: Arc<dyn Passages>, is_over: bool, purpose: ViewPurpose },
    /// A search in that view has ended.
    Searched(Box<SearchResult>),
    /// Another session, or another entry of it, is current. Contains the text of the divider on the screen.
    SessionChanged(String),
    /// A text to continue with in the editor.
    EditorText(String),
    /// The entries of a panel.
    Entries(Topic, Entries),
    /// The current label of an entry in the tree, which the user wants to change.
    Label { id: String, label: String, filter: TreeFilter },
    /// The preview of an entry in a panel.
    Preview(Choice, Vec<String>),
    /// Completions for the text before the cursor, which replace it from a byte offset on. With `from_tab` the user
    /// pressed Tab, and a single candidate is accepted at once.
    Candidates { text: String, from: usize, candidates: Vec<Candidate>, from_tab: bool },
    /// A login continues in a browser or with a code.
    LoginStep(LoginStep),
    /// A login, or storing a key, has ended.
    LoggedIn { provider: String, result: Result<(), String> },
    /// Another model answers from now on. Contains its key.
    ModelChanged(String),
    /// The contents of the status row.
    Facts(Box<Facts>),
    /// The earlier prompts, oldest first, or the reason why they were not read.
    Prompts(Result<Vec<String>, String>),
    /// The output line of the status command, or the reason why it failed.
    Status(Result<String, String>),
    /// A session to show.
    Shown(Box<SessionTail>),
    /// The content of the clipboard, or the reason why it was not read.
    Clipboard(Result<Clip, String>),
    /// A picture for its block, prepared for the terminal; `None` if it cannot be shown.
    Picture(BlockId, Option<PreparedPicture>),
    /// A text was copied.
    Copied(CopyResult),
    /// A program that used the terminal has ended.
    ProgramEnded(io::Result<ExitStatus>),
    /// The user's key bindings were read again.
    Keys(Box<Bindings>),
    /// The size of the terminal changed.
    Resized,
    /// The session continues in another directory, so this interactive mode ends.
    Moved(SessionMove),
    /// The program should exit with this code.
    End(u8),
}

/// The next step that the user has to take in a login.
pub(super) enum LoginStep {
    /// Open a URL; if the browser runs on another machine, paste the URL at which it ends.
    Browser { provider: String, url: String },
    /// Open a URL and enter a code there.
    Code { provider: String, address: String, code: String },
}

/// The end of a session for the screen, its draft, and the prompts of its directory, oldest first.
pub(super) struct SessionTail {
    pub(super) divider: Option<String>,
    /// The number of omitted messages.
    pub(super) older: usize,
    pub(super) messages: Result<Vec<AgentMessage>, String>,
    pub(super) prompts: Result<Vec<String>, String>,
    /// The draft at the time when the session was left.
    pub(super) draft: Result<Option<String>, String>,
}

/// The result of a search in a view, and whether it is still needed.
pub(super) struct SearchResult {
    pub(super) search: Search,
    pub(super) spot: Option<ViewPosition>,
    pub(super) goes_on: Arc<AtomicBool>,
}

/// The sending side; cheap to clone.
#[derive(Clone)]
pub(super) struct Mailbox {
    sender: Sender<Message>,
    wake: Arc<UnixStream>,
}

/// The receiving side.
pub(super) struct Inbox {
    pub(super) messages: Receiver<Message>,
    /// Readable when a message has arrived.
    pub(super) wake: UnixStream,
}

impl Inbox {
    /// Reads the bytes that woke the thread, with a buffer of any length.
    pub(super) fn drain_wake(&self, buffer: &mut [u8]) {
        // Only the wake-up matters; an error means that there are no more bytes.
        while (&self.wake).read(buffer).is_ok_and(|count| count == buffer.len()) {}
    }
}

/// Opens a mailbox.
///
/// # Errors
/// Returns an error if the process has no descriptors left.
pub(super) fn open() -> io::Result<(Mailbox, Inbox)> {
    let (sender, messages) = mpsc::channel();
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok((Mailbox { sender, wake: Arc::new(wake) }, Inbox { messages, wake: woken }))
}

impl Mailbox {
    /// Sends a message; it is dropped if the screen has ended.
    pub(super) fn send(&self, message: Message) {
        if self.sender.send(message).is_ok() {
            // An error means that the pipe is full, so the thread wakes up anyway.
            let _ = (&*self.wake).write(&[0]);
        }
    }
}
