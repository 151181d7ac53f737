//! The terminal as both faces wait for it: keys that were read, messages that came, and bytes that may go on as a sequence.

use std::io;
use std::time::{Duration, Instant};

use sinew_tui::{Event, InputParser};

use super::mailbox::{Inbox, Message};
use super::tty::Tty;

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// The terminal, and the inbox whose messages wake the one who waits for it.
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

    /// The next message, if one has come.
    pub(super) fn next_message(&self) -> Option<Message> {
        self.inbox.messages.try_recv().ok()
    }

    /// Waits for input or a message, at most for `limit`. Gives the bytes that were read; none of them: the terminal is at its
    /// end.
    ///
    /// # Errors
    /// The terminal is gone.
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

    /// Takes bytes apart.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.last_byte = Instant::now();
        self.input.feed(bytes)
    }

    /// The time at which bytes that may go on as a sequence are taken for what they are.
    pub(super) fn due(&self) -> Option<Instant> {
        self.input.patience().map(|patience| self.last_byte + patience)
    }

    /// Takes such bytes for what they are; none where they are not due.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Vec<Event>> {
        self.due().is_some_and(|due| now >= due).then(|| self.input.expire())
    }
}
