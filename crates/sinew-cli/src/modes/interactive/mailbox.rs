//! Messages to the thread of the screen, and the byte that wakes it.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use sinew_agent::event::Event;
use sinew_llm::message::BashExecution;
use sinew_tools::Question;
use sinew_tui::BlockId;
use tokio::sync::oneshot;

/// Everything that reaches the screen from elsewhere.
pub(super) enum Message {
    /// An event of the current session.
    Event(Arc<Event>),
    /// A question of the model; its answer, or none.
    Question(Question, oneshot::Sender<Option<String>>),
    /// A call that needs permission: title, what will happen, the answer.
    Permission(String, String, oneshot::Sender<bool>),
    /// A line for people.
    Notice(String),
    /// A verb failed; the text that it was given comes back to the editor.
    Failed { error: String, text: String },
    /// Queued messages were taken back.
    TakenBack(Vec<String>),
    /// The output of a slash command.
    Output(String),
    /// A command of the user ended; none: it was cancelled before it began.
    CommandEnded(BlockId, Result<Option<BashExecution>, String>),
    /// Another session is current.
    SessionChanged,
    /// The terminal has another size.
    Resized,
    /// The program is to end with this exit code.
    End(u8),
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
