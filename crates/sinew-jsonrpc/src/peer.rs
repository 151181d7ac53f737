//! Our side of a connection: the pending calls, and tolerated protocol errors.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::calls::{CallTable, TooManyCalls};
use crate::frame::SkippedMessage;
use crate::limits::Limits;
use crate::message::{self, Id, Message, Outcome, RpcError};

/// Our side of a connection: assigns ids, and finds the pending call for each answer.
///
/// `W` is the value that the owner stores for a pending call, for example the sender of a channel. Every `W` is
/// returned exactly once: with its answer, when its call is cancelled, or when the connection closes.
#[derive(Debug)]
pub struct Peer<W> {
    limits: Limits,
    calls: CallTable<W>,
    bad_in_a_row: usize,
}

/// The meaning of a received message.
#[derive(Debug)]
pub enum Event<W> {
    /// The answer to one of our calls.
    Answer {
        /// The id of the call.
        id: i64,
        /// The value stored for it.
        waiter: W,
        /// The result or error.
        outcome: Outcome,
    },
    /// A request of the other side.
    Request {
        /// The id of the request, which its answer repeats.
        id: Id,
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Box<RawValue>>,
    },
    /// A notification of the other side.
    Notification {
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Box<RawValue>>,
    },
    /// An answer without a pending call: late, sent twice, or invalid. To be dropped.
    Unclaimed {
        /// The id in the answer.
        id: Option<Id>,
        /// The error, if it is one: an error without an id reports that the other side could not parse a message.
        error: Option<RpcError>,
    },
    /// A message that is not JSON-RPC, or too large. To be logged.
    Bad {
        /// The reason.
        reason: String,
        /// The first 200 bytes.
        preview: String,
        /// True if the limit of consecutive invalid messages is reached, so that the connection should be closed.
        fatal: bool,
    },
}

/// The number of bytes of an invalid message that are shown.
const PREVIEW: usize = 200;

impl<W> Peer<W> {
    /// Creates a peer without calls.
    #[must_use]
    pub fn new(limits: Limits) -> Peer<W> {
        Peer { limits, calls: CallTable::new(limits.waiting_calls), bad_in_a_row: 0 }
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Adds a call and returns its id, to be sent with [`message::encode_request`]. Ids begin at 1 and are never used
    /// again.
    ///
    /// # Errors
    /// Returns [`TooManyCalls`] if the limit of pending calls is reached.
    pub fn register(&mut self, waiter: W) -> Result<i64, TooManyCalls<W>> {
        self.calls.register(waiter)
    }

    /// Adds a call and encodes its request, without a frame.
    ///
    /// # Errors
    /// Returns the errors of [`Peer::register`].
    pub fn call(
        &mut self,
        method: &str,
        params: Option<&impl Serialize>,
        waiter: W,
    ) -> Result<(i64, Vec<u8>), TooManyCalls<W>> {
        let id = self.register(waiter)?;
        Ok((id, message::encode_request(&Id::Number(id), method, params)))
    }

    /// Returns the value of a pending call; `None` if there is no such call.
    #[must_use]
    pub fn waiter(&self, id: i64) -> Option<&W> {
        self.calls.get(id)
    }

    /// Returns the number of pending calls.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.calls.waiting()
    }

    /// Cancels a pending call; a late answer is [`Event::Unclaimed`]. `None` if it was answered or cancelled before.
    pub fn give_up(&mut self, id: i64) -> Option<W> {
        self.calls.take(id)
    }

    /// Ends the connection and returns all pending calls, oldest first.
    pub fn close(&mut self) -> Vec<(i64, W)> {
        self.calls.close()
    }

    /// Parses the bytes of one frame and calls `emit` for each message in it.
    pub fn receive(&mut self, bytes: &[u8], mut emit: impl FnMut(Event<W>)) {
        match message::parse(bytes, self.limits.depth) {
            Ok(messages) => {
                self.bad_in_a_row = 0;
                for message in messages {
                    emit(self.event(message));
                }
            }
            Err(reason) => emit(self.bad(reason, bytes)),
        }
    }

    /// Handles a message that was too large: returns the error for the call that it answers, if its start or end
    /// identifies the call.
    pub fn receive_skipped(&mut self, skipped: &SkippedMessage) -> Event<W> {
        let Limits { message_bytes, .. } = self.limits;
        let reason = format!("a message of {} bytes, more than {message_bytes}", skipped.bytes);
        if let Some(id) = answered_call(skipped)
            && let Some(waiter) = self.calls.take(id)
        {
            let error = RpcError::new(RpcError::INTERNAL_ERROR, format!("The answer was {reason}, and was not read."));
            return Event::Answer { id, waiter, outcome: Err(error) };
        }
        self.bad(reason, &skipped.head)
    }

    fn event(&mut self, message: Message) -> Event<W> {
        match message {
            Message::Request { id, method, params } => Event::Request { id, method, params },
            Message::Notification { method, params } => Event::Notification { method, params },
            Message::Response { id, outcome } => {
                // Every id that this side sends is a number.
                let answered = id.as_ref().and_then(Id::to_number);
                match answered.and_then(|id| Some((id, self.calls.take(id)?))) {
                    Some((id, waiter)) => Event::Answer { id, waiter, outcome },
                    None => Event::Unclaimed { id, error: outcome.err() },
                }
            }
        }
    }

    fn bad(&mut self, reason: String, bytes: &[u8]) -> Event<W> {
        self.bad_in_a_row += 1;
        let preview = String::from_utf8_lossy(&bytes[..bytes.len().min(PREVIEW)]).into_owned();
        Event::Bad { reason, preview, fatal: self.bad_in_a_row >= self.limits.bad_in_a_row }
    }
}

/// Returns the id of the call that a skipped message answers. Programs write it directly after the version or directly
/// after the result; other positions are not guessed.
fn answered_call(skipped: &SkippedMessage) -> Option<i64> {
    let head: Vec<u8> = skipped.head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digits = |bytes: &[u8]| -> Option<i64> {
        let end = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
        std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()
    };
    for front in [&br#"{"jsonrpc":"2.0","id":"#[..], br#"{"id":"#] {
        if let Some(rest) = head.strip_prefix(front) {
            return digits(rest.strip_prefix(b"\"").unwrap_or(rest));
        }
    }
    let tail: Vec<u8> = skipped.tail.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let tail = tail.strip_suffix(b"}")?;
    let (tail, mark) = match tail.strip_suffix(br#","jsonrpc":"2.0""#) {
        Some(tail) => (tail, &br#","id":"#[..]),
        None => (tail, &br#","jsonrpc":"2.0","id":"#[..]),
    };
    let tail = tail.strip_suffix(b"\"").unwrap_or(tail);
    let from = tail.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    let before = tail[..from].strip_suffix(b"\"").unwrap_or(&tail[..from]);
    before.ends_with(mark).then(|| std::str::from_utf8(&tail[from..]).ok()?.parse().ok()).flatten()
}
