//! Messages to the thread of the screen, and the byte that wakes it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};

use sinew_agent::event::Event;
use sinew_llm::message::{AgentMessage, BashExecution};
use sinew_tools::tool::ToolOutput;
use sinew_tools::{Approval, ApprovalRequest, FileChange, Question};
use sinew_tui::{BlockId, Search, Spot, Viewer};
use tokio::sync::oneshot;

use super::choices::{Choice, Entries, Topic};
use super::complete::Candidate;
use super::copy::Copied;
use super::keys::Bindings;
use super::leaving::Moved;
use super::pasting::Clip;
use super::pictures::Prepared;
use super::status::Facts;
use super::tree::TreeFilter;
use crate::control::Control;

/// Everything that reaches the screen from elsewhere.
pub(super) enum Message {
    /// The agent is there, with the warnings of its start.
    Started(Arc<Control>, Vec<String>),
    /// An event of the current session.
    Event(Arc<Event>),
    /// A question of the model; its answer, or none.
    Question(Question, oneshot::Sender<Option<String>>),
    /// A call that needs permission.
    Approval(Box<ApprovalRequest>, oneshot::Sender<Approval>),
    /// The same, with the changes of files that the call would make.
    Previewed(Box<ApprovalRequest>, Vec<FileChange>, oneshot::Sender<Approval>),
    /// A line for people.
    Notice(String),
    /// A verb failed; the text that it was given comes back to the editor.
    Failed { error: String, text: String },
    /// The agent has this prompt: in a queue, or in a run that has begun.
    Accepted { number: u64, runs: bool },
    /// This prompt did not reach the agent.
    Returned(u64),
    /// Work is over after which another session may be current; where it is, that was told before.
    ChangeEnded,
    /// A text to send as if the user had written it.
    Submit(String),
    /// Queued messages were taken back.
    TakenBack(Vec<String>),
    /// The output of a slash command.
    Output(String),
    /// The same, and what the status row shows may be another one.
    Changed(String),
    /// The end of the output of a command of the user that goes on.
    CommandOutput(BlockId, ToolOutput),
    /// A command of the user ended; none: it was cancelled before it began.
    CommandEnded(BlockId, Result<Option<BashExecution>, String>),
    /// A slash command ended; what it gives follows.
    WorkEnded,
    /// A view of the conversation, or of something else.
    Viewer(Box<Viewer>),
    /// A search through that view is over.
    Searched(Box<Searched>),
    /// Another session is current, or another place of it: what divides the two on the screen.
    SessionChanged(String),
    /// A text to go on with in the editor.
    EditorText(String),
    /// The entries of a panel.
    Entries(Topic, Entries),
    /// The present label of a place of the tree, which the user wants to change.
    Label { id: String, label: String, filter: TreeFilter },
    /// More about an entry of a panel.
    Preview(Choice, Vec<String>),
    /// Completions for the text before the cursor, which replace it from a byte on. With `from_tab` the user asked for
    /// them, and a single one is taken.
    Candidates { text: String, from: usize, candidates: Vec<Candidate>, from_tab: bool },
    /// A login goes on in a browser or by a code.
    LoginStep(LoginStep),
    /// A login, or the keeping of a key, ended.
    LoggedIn { provider: String, result: Result<(), String> },
    /// Another model answers from now on: its key.
    ModelChanged(String),
    /// The facts of the status row.
    Facts(Box<Facts>),
    /// The prompts of before, oldest first, or why they were not read.
    Prompts(Result<Vec<String>, String>),
    /// The line that the command of the status wrote, or why it did not.
    Status(Result<String, String>),
    /// A session as it is shown.
    Shown(Box<Shown>),
    /// The content of the clipboard, or why there is none.
    Clipboard(Result<Clip, String>),
    /// A picture for its block, ready for the terminal; none: it cannot be shown.
    Picture(BlockId, Option<Prepared>),
    /// A copy was made.
    Copied(Copied),
    /// A program that had the terminal ended.
    ProgramEnded(io::Result<ExitStatus>),
    /// The keys of the user were read anew.
    Keys(Box<Bindings>),
    /// The terminal has another size.
    Resized,
    /// The session goes on in another folder: here everything ends.
    Moved(Moved),
    /// The program is to end with this exit code.
    End(u8),
}

/// The next step of a login that the user has to take.
pub(super) enum LoginStep {
    /// Open an address; where the browser runs elsewhere, paste the one that it ends at.
    Browser { provider: String, url: String },
    /// Open an address and type a code there.
    Code { provider: String, address: String, code: String },
}

/// The end of a session, for the screen, its draft, and the prompts of its folder, oldest first.
pub(super) struct Shown {
    pub(super) divider: Option<String>,
    /// Messages that are left out.
    pub(super) older: usize,
    pub(super) messages: Result<Vec<AgentMessage>, String>,
    pub(super) prompts: Result<Vec<String>, String>,
    /// The text that was being written when the session was left.
    pub(super) draft: Result<Option<String>, String>,
}

/// The end of a search through a view, and whether somebody still waits for it.
pub(super) struct Searched {
    pub(super) search: Search,
    pub(super) spot: Option<Spot>,
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
    /// Readable where a message came.
    pub(super) wake: UnixStream,
}

impl Inbox {
    /// Takes the bytes that woke the thread, over a buffer of any length.
    pub(super) fn drain_wake(&self, buffer: &mut [u8]) {
        // Only the fact that they came matters; an error is that there are no more.
        while (&self.wake).read(buffer).is_ok_and(|count| count == buffer.len()) {}
    }
}

/// Opens a mailbox.
///
/// # Errors
/// The process has no descriptor left.
pub(super) fn open() -> io::Result<(Mailbox, Inbox)> {
    let (sender, messages) = mpsc::channel();
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok((Mailbox { sender, wake: Arc::new(wake) }, Inbox { messages, wake: woken }))
}

impl Mailbox {
    /// Sends a message; one to a screen that is gone is lost.
    pub(super) fn send(&self, message: Message) {
        if self.sender.send(message).is_ok() {
            // A full pipe wakes as well as one byte does.
            let _ = (&*self.wake).write(&[0]);
        }
    }
}
