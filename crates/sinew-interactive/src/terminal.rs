//! The terminal for both faces: reads keys, waits for messages, and resolves ambiguous escape sequences after a
//! timeout.

use std::io;
use std::time::{Duration, Instant};

use sinew_tui::{Event, InputParser};

use super::mailbox::{Inbox, Message};
use super::tty::Tty;

/// The size of the read buffer in bytes.
const BUFFER: usize = 64 << 10;

/// The terminal, and the inbox whose messages wake the thread that waits.
pub(super) struct Terminal {
    pub(super) tty: Tty,
    pub(super) inbox: Inbox,
    pub(super) input: InputParser,
    last_byte: Instant,
    buffer: Vec<u8>,
}

impl Terminal {
    pub(super) fn new(tty: Tty, inbox: Inbox, input: InputParser) -> Terminal {
        Terminal { tty, inbox, input, last_byte: Instant::now(), buffer: vec![0; BUFFER] }
    }

    /// Returns the next message, if there is one.
    pub(super) fn next_message(&self) -> Option<Message> {
        self.inbox.messages.try_recv().ok()
    }

    /// Waits for input or a message, at most for `limit`. Returns the bytes that were read; they are empty at the end
    /// of the input.
    ///
    /// # Errors
    /// Returns an error if the terminal is closed.
    pub(super) fn wait(&mut self, limit: Option<Duration>) -> io::Result<Option<Vec<u8>>> {
        let ready = self.tty.wait(&self.inbox.wake, limit)?;
        if ready.woken {
            self.inbox.drain_wake(&mut self.buffer);
        }
        if !ready.input {
            return Ok(None);
        }
        Ok(self.tty.read(&mut self.buffer)?.map(<[u8]>::to_vec))
    }

    /// Parses bytes.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.last_byte = Instant::now();
        self.input.feed(bytes)
    }

    /// Returns the time at which an incomplete sequence is interpreted as separate keys.
    pub(super) fn due(&self) -> Option<Instant> {
        self.input.patience().map(|patience| self.last_byte + patience)
    }

    /// Interprets an incomplete sequence as separate keys; returns `None` if it is not due yet.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Vec<Event>> {
        self.due().is_some_and(|due| now >= due).then(|| self.input.expire())
    }
}
