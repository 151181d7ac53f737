//! Limits of size, depth and number.

/// Limits of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message without its frame. A longer one is skipped to its end. Default 16,000,000; connections
    /// whose messages carry pictures (ACP) take [`Limits::with_message_bytes`] of 64,000,000.
    pub message_bytes: usize,
    /// Objects and arrays inside one another. Default 128.
    pub depth: usize,
    /// Calls that wait for an answer at a time. Default 1,000.
    pub waiting_calls: usize,
    /// Messages that wait to be written. Enforced by the owner of the pipe. Default 256.
    pub queued_messages: usize,
    /// Messages in a row that are no JSON-RPC, after which the connection ends. Default 100.
    pub bad_in_a_row: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { message_bytes: 16_000_000, depth: 128, waiting_calls: 1_000, queued_messages: 256, bad_in_a_row: 100 }
    }
}

impl Limits {
    /// The same limits with another size of a message.
    #[must_use]
    pub fn with_message_bytes(self, message_bytes: usize) -> Limits {
        Limits { message_bytes, ..self }
    }
}
