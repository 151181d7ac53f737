//! Decodes server-sent events from bytes that are split anywhere.
//!
//! The decoder never reconnects, because that would repeat a paid request. Runs in linear time; the size of an event is
//! limited.

use std::fmt;

/// The maximum size of one event: 16 MB.
pub const EVENT_LIMIT: usize = 16 * 1024 * 1024;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field of this event.
    pub event: Option<String>,
    /// The `data` lines, joined with LF. Invalid UTF-8 is replaced by U+FFFD.
    pub data: String,
    /// The last `id` field of the stream so far; `None` without one.
    pub id: Option<String>,
    /// The `retry` field of this event, in milliseconds; `None` without one.
    pub retry: Option<u64>,
}

/// An event was larger than [`EVENT_LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLarge;

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of the stream is larger than {} MB", EVENT_LIMIT >> 20)
    }
}

impl std::error::Error for EventTooLarge {}

/// Converts chunks of bytes to events: lines end with LF, CR or CRLF, a leading byte order mark is dropped, lines that
/// start with a colon are comments, and a blank line ends an event.
#[derive(Debug, Default)]
pub struct SseDecoder {
    // The beginning of an incomplete line.
    line: Vec<u8>,
    // True if the last chunk ended with CR: a LF at the start of the next one belongs to it.
    after_cr: bool,
    // True once a line has been read, so that a byte order mark is data.
    begun: bool,
    pending: SseEvent,
    has_data: bool,
}

impl SseDecoder {
    /// Creates a decoder at the start of a stream.
    #[must_use]
    pub fn new() -> SseDecoder {
        SseDecoder::default()
    }

    /// Adds bytes and calls `emit` with each event that they complete.
    ///
    /// # Errors
    /// Returns [`EventTooLarge`]; the decoder cannot be used afterwards.
    pub fn feed(&mut self, mut bytes: &[u8], mut emit: impl FnMut(SseEvent)) -> Result<(), EventTooLarge> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let rest = &bytes[end + 1..];
            if self.line.is_empty() {
                self.take_line(&bytes[..end], &mut emit)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.take_line(&line, &mut emit)?;
                line.clear();
                self.line = line;
            }
            bytes = match bytes[end] {
                b'\r' if rest.is_empty() => {
                    self.after_cr = true;
                    rest
                }
                b'\r' => rest.strip_prefix(b"\n").unwrap_or(rest),
                _ => rest,
            };
        }
        self.line.extend_from_slice(bytes);
        self.check_size(0)
    }

    /// Returns the event at the end of the stream without a final blank line, if it has data. It may be incomplete.
    #[must_use]
    pub fn finish(mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut last = None;
        if !line.is_empty() {
            self.take_line(&line, &mut |event| last = Some(event)).ok()?;
        }
        if last.is_none() && self.has_data { Some(self.pending) } else { last }
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.line.len() + self.pending.data.len() + more > EVENT_LIMIT { Err(EventTooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, mut line: &[u8], emit: &mut impl FnMut(SseEvent)) -> Result<(), EventTooLarge> {
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            let id = self.pending.id.clone();
            let event = std::mem::replace(&mut self.pending, SseEvent { id, ..SseEvent::default() });
            if std::mem::take(&mut self.has_data) {
                emit(event);
            }
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.check_size(value.len())?;
                if self.has_data {
                    self.pending.data.push('\n');
                }
                self.has_data = true;
                self.pending.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.pending.event = Some(String::from_utf8_lossy(value).into_owned()),
            b"id" if !value.contains(&0) => self.pending.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                let digits = std::str::from_utf8(value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
                self.pending.retry = digits.and_then(|v| v.parse().ok()).or(self.pending.retry);
            }
            // A comment (its field is empty), or an unknown field.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
