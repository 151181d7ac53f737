//! Parses bytes of the terminal into events.

use std::time::Duration;

use sinew_term::{Input, KeyPress, StdinBuffer, decode_key};

use crate::keys::ends_line;

/// Input from the terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A key.
    Key(KeyPress),
    /// Pasted text, with its original line ends. It contains no keys.
    Paste(String),
    /// The terminal received (true) or lost the focus.
    Focus(bool),
    /// The reply to a query.
    Reply(Reply),
    /// An unknown sequence.
    Unknown(String),
}

/// The reply of a terminal to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Row and column of the cursor, counted from 1 (`CSI 6n`).
    Cursor(usize, usize),
    /// The flags of Kitty's keyboard protocol (`CSI ?u`).
    KittyFlags(u32),
    /// Name and version (`CSI >0q`).
    Name(String),
    /// The foreground (`OSC 10`).
    Foreground([u8; 3]),
    /// The background (`OSC 11`).
    Background([u8; 3]),
    /// A mode and its state: 0 unknown, 1 set, 2 reset, 3 always set, 4 never (`CSI ?…$p`).
    Mode(u32, u32),
    /// Height and width of a cell in pixels (`CSI 16t`).
    CellSize(u32, u32),
    /// Rows and columns of the screen (`CSI 18t`).
    ScreenSize(usize, usize),
    /// The kind of terminal (`CSI c`): sent last, so all earlier queries have been answered.
    DeviceAttributes,
    /// The user changed to a dark (true) or light scheme (mode 2031).
    DarkScheme(bool),
    /// The terminal has processed everything up to here (`CSI 5n`).
    Status,
    /// Another reply.
    Other,
}

/// Splits and decodes the input from a terminal.
///
/// It has no clock: if [`InputParser::patience`] returns a time and no byte arrives within it, the caller calls
/// [`InputParser::expire`].
#[derive(Debug, Default)]
pub struct InputParser {
    buffer: StdinBuffer,
    kitty: bool,
    /// True if sequences may arrive in pieces, over a slow connection.
    remote: bool,
    /// True after a bracketed paste: line ends in a burst of text are keys from then on.
    marks: bool,
    /// The number of expected replies.
    awaited: u32,
}

impl InputParser {
    /// Creates a parser without any protocol. If `remote`, waits are longer.
    #[must_use]
    pub fn new(remote: bool) -> InputParser {
        InputParser { remote, ..InputParser::default() }
    }

    /// Called when the terminal has enabled or disabled Kitty's protocol.
    pub fn set_kitty(&mut self, on: bool) {
        self.kitty = on;
    }

    /// Returns true if the terminal has enabled Kitty's protocol.
    #[must_use]
    pub fn has_kitty(&self) -> bool {
        self.kitty
    }

    /// Called after a query for the position of the cursor: the next report is its reply and not a key.
    pub fn await_cursor(&mut self) {
        self.buffer.await_cursor_report();
        self.awaited += 1;
    }

    /// Parses the bytes of one read.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let parts = self.buffer.feed(bytes);
        self.events(parts)
    }

    /// Returns how long to wait for more bytes before [`InputParser::expire`]; `None` if nothing is incomplete.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        if self.buffer.pasting().is_some_and(|last| last == Some(0x1B)) {
            return Some(Duration::from_millis(100));
        }
        if !self.buffer.is_waiting() {
            return None;
        }
        let pending = self.buffer.pending();
        let lone = pending == "\x1b" || pending == "\x1b\x1b";
        // A string sequence is a reply and never typed, so it may arrive slowly.
        let reply = pending.starts_with("\x1b]") || pending.starts_with("\x1bP") || (self.awaited > 0 && !lone);
        Some(Duration::from_millis(match (lone && !self.kitty, reply, self.remote) {
            (true, _, false) => 25,
            (true, _, true) => 60,
            (false, true, _) => 1_000,
            (false, false, _) => 100,
        }))
    }

    /// Handles a timeout: an ESC was a key, an incomplete sequence is discarded, a lone ESC ends a paste.
    pub fn expire(&mut self) -> Vec<Event> {
        if self.buffer.pasting().is_some() {
            let part = self.buffer.end_paste();
            return self.events(part.into_iter().collect());
        }
        let parts = self.buffer.flush();
        self.events(parts)
    }

    /// Returns true during an incomplete paste.
    #[must_use]
    pub fn is_pasting(&self) -> bool {
        self.buffer.pasting().is_some()
    }

    fn events(&mut self, parts: Vec<Input>) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Input::Paste(text) => {
                    self.marks = true;
                    events.push(Event::Paste(text));
                }
                Input::CursorReport { row, column } => {
                    self.awaited = self.awaited.saturating_sub(1);
                    events.push(Event::Reply(Reply::Cursor(row as usize, column as usize)));
                }
                Input::Sequence(sequence) => self.sequence(&sequence, &mut events),
            }
        }
        if !self.marks {
            join_lines(&mut events);
        }
        events
    }

    fn sequence(&mut self, sequence: &str, events: &mut Vec<Event>) {
        // Bytes that are not text are dropped.
        if sequence.is_empty() || sequence.chars().all(|c| c == char::REPLACEMENT_CHARACTER) {
            return;
        }
        // Replies and focus changes have no alt: the ESC before one was typed a moment earlier.
        if let Some(sent) = sequence.strip_prefix('\x1b')
            && (matches!(sent, "\x1b[I" | "\x1b[O") || reply(sent).is_some())
        {
            self.sequence("\x1b", events);
            return self.sequence(sent, events);
        }
        match sequence {
            "\x1b[I" => events.push(Event::Focus(true)),
            "\x1b[O" => events.push(Event::Focus(false)),
            // Two ESC that expired together are two keys.
            "\x1b\x1b" => {
                let key = decode_key("\x1b", self.kitty).map(Event::Key);
                events.extend([key.clone(), key].into_iter().flatten());
            }
            _ => events.push(match reply(sequence) {
                Some(reply) => Event::Reply(reply),
                None => match decode_key(sequence, self.kitty) {
                    Some(press) => Event::Key(press),
                    None => Event::Unknown(sequence.to_owned()),
                },
            }),
        }
    }
}

/// Without paste markers, a paste looks like typing: an Enter in one read with text before and after it is a line end.
fn join_lines(events: &mut [Event]) {
    let is_text = |event: &Event| matches!(event, Event::Key(press) if !press.text.is_empty());
    let first = events.iter().position(is_text);
    let last = events.iter().rposition(is_text);
    let (Some(first), Some(last)) = (first, last) else { return };
    for event in &mut events[first..last] {
        if matches!(event, Event::Key(press) if ends_line(press.key)) {
            *event = Event::Paste("\n".to_owned());
        }
    }
}

/// Parses a sequence as a reply; `None` if it is not a reply.
fn reply(sequence: &str) -> Option<Reply> {
    if let Some(body) = sequence.strip_prefix("\x1b[") {
        let last = body.chars().next_back()?;
        let head = &body[..body.len() - last.len_utf8()];
        return match last {
            'u' => head.strip_prefix('?').and_then(|flags| flags.parse().ok()).map(Reply::KittyFlags),
            'c' if head.starts_with(['?', '>', '=']) => Some(Reply::DeviceAttributes),
            'y' => {
                let (mode, state) = head.strip_prefix('?')?.strip_suffix('$')?.split_once(';')?;
                Some(Reply::Mode(mode.parse().ok()?, state.parse().ok()?))
            }
            't' => {
                let mut numbers = head.split(';').map(|number| number.parse::<u32>().ok());
                match (numbers.next()?, numbers.next()?, numbers.next()?) {
                    (Some(6), Some(height), Some(width)) => Some(Reply::CellSize(height, width)),
                    (Some(8), Some(rows), Some(columns)) => Some(Reply::ScreenSize(rows as usize, columns as usize)),
                    _ => Some(Reply::Other),
                }
            }
            'n' => match head {
                "0" => Some(Reply::Status),
                "?997;1" => Some(Reply::DarkScheme(true)),
                "?997;2" => Some(Reply::DarkScheme(false)),
                _ => Some(Reply::Other),
            },
            _ => None,
        };
    }
    let body = sequence.strip_prefix("\x1b]").or_else(|| sequence.strip_prefix("\x1bP"))?;
    let body = body.strip_suffix("\x1b\\").or_else(|| body.strip_suffix('\x07')).unwrap_or(body);
    Some(if sequence.starts_with("\x1bP") {
        body.strip_prefix(">|").map_or(Reply::Other, |name| Reply::Name(name.to_owned()))
    } else if let Some(color) = body.strip_prefix("10;").and_then(color) {
        Reply::Foreground(color)
    } else if let Some(color) = body.strip_prefix("11;").and_then(color) {
        Reply::Background(color)
    } else {
        Reply::Other
    })
}

/// Parses `rgb:rr/gg/bb` with one to four digits each, or `#rrggbb`.
fn color(text: &str) -> Option<[u8; 3]> {
    let part = |text: &str| {
        let value = u32::from_str_radix(text, 16).ok().filter(|_| (1..=4).contains(&text.len()))?;
        let most = (1u32 << (4 * text.len())) - 1;
        u8::try_from(value * 255 / most).ok()
    };
    if let Some(hex) = text.strip_prefix('#').filter(|hex| hex.len() == 6 && hex.is_ascii()) {
        return Some([part(&hex[..2])?, part(&hex[2..4])?, part(&hex[4..])?]);
    }
    let body = text.strip_prefix("rgba:").or_else(|| text.strip_prefix("rgb:"))?;
    let mut parts = body.split('/');
    Some([part(parts.next()?)?, part(parts.next()?)?, part(parts.next()?)?])
}
