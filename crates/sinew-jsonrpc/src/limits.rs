//! Limits of size, depth and number.

/// The limits of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of one message without its frame, in bytes. A longer one is skipped. Default 16,000,000;
    /// connections whose messages contain images (ACP) use [`Limits::with_message_bytes`] with 64,000,000.
    pub message_bytes: usize,
    /// The maximum nesting of objects and arrays. Default 128.
    pub depth: usize,
    /// The maximum number of pending calls. Default 1,000.
    pub waiting_calls: usize,
    /// The maximum number of messages waiting to be written. Enforced by the owner of the pipe. Default 256.
    pub queued_messages: usize,
    /// The number of consecutive invalid messages after which the connection ends. Default 100.
    pub bad_in_a_row: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { message_bytes: 16_000_000, depth: 128, waiting_calls: 1_000, queued_messages: 256, bad_in_a_row: 100 }
    }
}

impl Limits {
    /// Returns the same limits with another maximum size of a message.
    #[must_use]
    pub fn with_message_bytes(self, message_bytes: usize) -> Limits {
        Limits { message_bytes, ..self }
    }
}
