//! Splits a stream of bytes into messages.
//!
//! A decoder receives bytes in chunks of any size, and calls back with complete messages. It stores at most one message
//! of the allowed size; a message that arrives within one chunk is not copied.

/// An item that a decoder found in the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The bytes of one message, without line end or header.
    Message(&'a [u8]),
    /// A message beyond the limit, which was skipped.
    TooLarge(&'a SkippedMessage),
    /// The stream cannot be read any further, with the reason. Nothing follows.
    Broken(&'static str),
}

/// The size, the start and the end of a skipped message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedMessage {
    /// The size in bytes.
    pub bytes: u64,
    /// The first bytes, at most [`SAMPLE`].
    pub head: Vec<u8>,
    /// The last bytes, at most [`SAMPLE`].
    pub tail: Vec<u8>,
}

/// The number of bytes stored from the start and the end of a skipped message: enough to find the id of an answer.
pub const SAMPLE: usize = 256;

/// The capacity above which a buffer is freed after a large message.
const KEPT_CAPACITY: usize = 256 * 1024;

/// Splits a stream at line ends (`\n`, `\r\n`). Drops lines of only white space, and a byte order mark at the start of
/// a line.
#[derive(Debug)]
pub struct LineDecoder {
    body: BodyBuffer,
}

impl LineDecoder {
    /// Creates a decoder for messages of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> LineDecoder {
        LineDecoder { body: BodyBuffer::new(limit) }
    }

    /// Adds bytes and calls `emit` for each message that ends in them.
    pub fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(Frame<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.body.complete(&bytes[..end], |frame| emit_line(frame, &mut emit));
            bytes = &bytes[end + 1..];
        }
        self.body.add(bytes);
    }

    /// Ends the stream: a last line without a line end is a message too.
    pub fn finish(&mut self, mut emit: impl FnMut(Frame<'_>)) {
        self.body.complete(&[], |frame| emit_line(frame, &mut emit));
    }

    /// Returns the number of bytes that the decoder has allocated.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.body.bytes.capacity()
    }
}

fn emit_line(frame: Frame<'_>, emit: &mut impl FnMut(Frame<'_>)) {
    match frame {
        Frame::Message(line) => {
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
            if !line.is_empty() {
                emit(Frame::Message(line));
            }
        }
        other => emit(other),
    }
}

/// Splits a stream of messages with `Content-Length` headers, as used by language servers.
#[derive(Debug)]
pub struct HeaderDecoder {
    header: Vec<u8>,
    /// The number of missing bytes of the body; `None` inside a header.
    missing: Option<u64>,
    body: BodyBuffer,
    broken: bool,
}

/// The maximum size of all header lines of one message.
const HEADER_LIMIT: usize = 4 * 1024;

impl HeaderDecoder {
    /// Creates a decoder for messages of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> HeaderDecoder {
        HeaderDecoder { header: Vec::new(), missing: None, body: BodyBuffer::new(limit), broken: false }
    }

    /// Adds bytes and calls `emit` for each message that ends in them.
    pub fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(Frame<'_>)) {
        while !self.broken {
            let Some(missing) = self.missing else {
                let Some(end) = memchr::memchr(b'\n', bytes) else {
                    self.header.extend_from_slice(bytes);
                    if self.header.len() > HEADER_LIMIT {
                        self.fail("a header of more than 4 KB", &mut emit);
                    }
                    return;
                };
                self.header.extend_from_slice(&bytes[..=end]);
                bytes = &bytes[end + 1..];
                if self.header.len() > HEADER_LIMIT {
                    self.fail("a header of more than 4 KB", &mut emit);
                } else if self.header.ends_with(b"\n\r\n") || self.header.ends_with(b"\n\n") {
                    match content_length(&self.header) {
                        Some(length) => self.missing = Some(length),
                        None => self.fail("a header without a usable Content-Length", &mut emit),
                    }
                    self.header.clear();
                }
                continue;
            };
            let available = bytes.len() as u64;
            if available < missing {
                self.body.add(bytes);
                self.missing = Some(missing - available);
                return;
            }
            // It is not longer than `bytes`, so it fits.
            let (rest_of_body, next) = bytes.split_at(missing as usize);
            self.body.complete(rest_of_body, &mut emit);
            self.missing = None;
            bytes = next;
            if bytes.is_empty() {
                return;
            }
        }
    }

    fn fail(&mut self, reason: &'static str, emit: &mut impl FnMut(Frame<'_>)) {
        self.broken = true;
        self.header = Vec::new();
        emit(Frame::Broken(reason));
    }
}

fn content_length(header: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(header).ok()?;
    let mut lengths = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-length").then(|| value.trim())
    });
    let length = lengths.next()?;
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    (digits && lengths.next().is_none()).then(|| length.parse().ok()).flatten()
}

/// Returns the message on one line, followed by a line end. Line breaks are replaced by spaces: JSON has line breaks
/// only between its tokens, where a space is equivalent.
#[must_use]
pub fn into_line(mut message: Vec<u8>) -> Vec<u8> {
    for byte in &mut message {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    message.push(b'\n');
    message
}

/// Returns the message after a `Content-Length` header.
#[must_use]
pub fn with_header(message: &[u8]) -> Vec<u8> {
    let mut framed = format!("Content-Length: {}\r\n\r\n", message.len()).into_bytes();
    framed.extend_from_slice(message);
    framed
}

/// The received part of a message.
#[derive(Debug)]
struct BodyBuffer {
    limit: usize,
    bytes: Vec<u8>,
    skipped: Option<SkippedMessage>,
}

impl BodyBuffer {
    fn new(limit: usize) -> BodyBuffer {
        BodyBuffer { limit, bytes: Vec::new(), skipped: None }
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            skipped.add(bytes);
        } else if self.bytes.len() + bytes.len() > self.limit {
            let mut skipped = SkippedMessage { bytes: 0, head: Vec::new(), tail: Vec::new() };
            skipped.add(&std::mem::take(&mut self.bytes));
            skipped.add(bytes);
            self.skipped = Some(skipped);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Emits the message that ends with `last`, even if it is empty.
    fn complete(&mut self, last: &[u8], mut emit: impl FnMut(Frame<'_>)) {
        if self.skipped.is_none() && self.bytes.is_empty() && last.len() <= self.limit {
            return emit(Frame::Message(last));
        }
        self.add(last);
        match self.skipped.take() {
            Some(skipped) => emit(Frame::TooLarge(&skipped)),
            None => emit(Frame::Message(&self.bytes)),
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_CAPACITY);
    }
}

impl SkippedMessage {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = SAMPLE - self.head.len();
        self.head.extend_from_slice(&bytes[..room.min(bytes.len())]);
        let new = &bytes[bytes.len().saturating_sub(SAMPLE)..];
        let surplus = (self.tail.len() + new.len()).saturating_sub(SAMPLE);
        self.tail.drain(..surplus);
        self.tail.extend_from_slice(new);
    }
}
