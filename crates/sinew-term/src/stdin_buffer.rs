//! Splits terminal input into complete sequences.

/// The size at which an incomplete control sequence is abandoned, in bytes.
const SEQUENCE_LIMIT: usize = 256;
/// The size at which an incomplete control string (for example a clipboard reply) is abandoned, in bytes.
const STRING_LIMIT: usize = 1 << 20;
/// The size at which a paste is delivered in parts, in bytes.
const PASTE_LIMIT: usize = 64 << 20;

const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// A unit of the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// One character, or one escape sequence: a key, mouse, focus or a reply.
    Sequence(String),
    /// Pasted text (bracketed paste), without its markers.
    Paste(String),
    /// The position of the cursor, counted from 1: the answer to [`StdinBuffer::await_cursor_report`].
    CursorReport {
        /// The line.
        row: u32,
        /// The column of the cell.
        column: u32,
    },
}

/// Collects the bytes that a terminal sends until sequences and characters are complete.
///
/// It has no clock: if [`StdinBuffer::is_waiting`] and nothing was received for 10 ms to 50 ms, the owner calls
/// [`StdinBuffer::flush`]; this distinguishes a press of escape from the start of a sequence.
#[derive(Default, Debug)]
pub struct StdinBuffer {
    pending: Vec<u8>,
    /// The number of bytes of `pending` known not to contain the end of the paste or string that starts there.
    searched: usize,
    pasting: bool,
    /// The number of requested cursor reports that have not arrived yet.
    awaited: u32,
}

/// Parses `CSI row ; column R`.
fn cursor_report(bytes: &[u8]) -> Option<Input> {
    let body = std::str::from_utf8(bytes.strip_prefix(b"\x1b[")?.strip_suffix(b"R")?).ok()?;
    let (row, column) = body.split_once(';')?;
    let number = |text: &str| text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    Some(Input::CursorReport { row: number(row)?, column: number(column)? })
}

/// The extent of the first unit in a buffer.
enum Part {
    Whole(usize),
    /// It needs more bytes.
    Open,
    /// It ends here without being complete: interrupted by an ESC, or too long.
    Broken(usize),
}

impl StdinBuffer {
    /// Creates an empty buffer.
    pub fn new() -> StdinBuffer {
        StdinBuffer::default()
    }

    /// Adds bytes and returns the complete units, in order. Runs in linear time. An empty chunk added to an empty
    /// buffer is one empty sequence.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        let mut found = Vec::new();
        if bytes.is_empty() && self.pending.is_empty() && !self.pasting {
            found.push(Input::Sequence(String::new()));
        }
        // A pending single escape was a key if the next chunk starts another sequence.
        if !self.pasting && self.pending == b"\x1b" && bytes.first() == Some(&0x1B) {
            self.searched = 0;
            found.push(Input::Sequence(take(&mut self.pending, 1)));
        }
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            if self.pasting {
                match self.paste_end(at) {
                    Some((end, next)) => {
                        found.push(Input::Paste(text(&self.pending[at..end])));
                        at = next;
                    }
                    None => break,
                }
                continue;
            }
            let rest = &self.pending[at..];
            let length = match part(rest, std::mem::take(&mut self.searched)) {
                Part::Open => {
                    self.searched = rest.len();
                    break;
                }
                Part::Whole(length) | Part::Broken(length) => length,
            };
            let report = |piece: &[u8]| cursor_report(piece).filter(|_| self.awaited > 0);
            let mut piece = &rest[..length];
            // A sequence that a terminal sends by itself has no alt modifier: the ESC before it was typed earlier.
            if let Some(sent) = piece.strip_prefix(b"\x1b")
                && (sent == PASTE_START || report(sent).is_some())
            {
                found.push(Input::Sequence("\x1b".to_string()));
                piece = sent;
            }
            if piece == PASTE_START {
                self.pasting = true;
                self.searched = 0;
            } else {
                match report(piece) {
                    Some(report) => {
                        self.awaited -= 1;
                        found.push(report);
                    }
                    None => found.push(Input::Sequence(text(piece))),
                }
            }
            at += length;
        }
        self.pending.drain(..at);
        found
    }

    /// Returns the end of the paste that starts at `at`, and where the input continues after it; `None` if it has not
    /// ended.
    fn paste_end(&mut self, at: usize) -> Option<(usize, usize)> {
        let body = &self.pending[at..];
        let from = self.searched.saturating_sub(PASTE_END.len()).min(body.len());
        if let Some(place) = memchr::memmem::find(&body[from..], PASTE_END) {
            self.pasting = false;
            self.searched = 0;
            return Some((at + from + place, at + from + place + PASTE_END.len()));
        }
        self.searched = body.len();
        // Keeps what may be the start of the end marker, and an incomplete character.
        if body.len() > PASTE_LIMIT {
            let keep = body.len() - PASTE_END.len();
            let cut = (keep - 3..=keep).rev().find(|cut| body[*cut] & 0xC0 != 0x80).unwrap_or(keep);
            self.searched = 0;
            return Some((at + cut, at + cut));
        }
        None
    }

    /// Records that the terminal was asked for the cursor position (`CSI 6 n`): the next `CSI row ; column R` is the
    /// answer. Without a request it is a key, F3 with modifiers.
    pub fn await_cursor_report(&mut self) {
        self.awaited = self.awaited.saturating_add(1);
    }

    /// Stops waiting and returns the pending bytes unchanged as one sequence. A paste in progress continues.
    pub fn flush(&mut self) -> Vec<Input> {
        if self.pasting || self.pending.is_empty() {
            return Vec::new();
        }
        self.searched = 0;
        let length = self.pending.len();
        vec![Input::Sequence(take(&mut self.pending, length))]
    }

    /// Returns true if an incomplete sequence waits for more bytes or for [`StdinBuffer::flush`].
    pub fn is_waiting(&self) -> bool {
        !self.pasting && !self.pending.is_empty()
    }

    /// Returns the last byte of the paste in progress (`Some(None)` while it is empty); `None` without a paste.
    pub fn pasting(&self) -> Option<Option<u8>> {
        self.pasting.then(|| self.pending.last().copied())
    }

    /// Ends a paste whose end marker is missing, and returns the received part without a trailing escape, which the
    /// user pressed. `None` without a paste.
    pub fn end_paste(&mut self) -> Option<Input> {
        if !std::mem::take(&mut self.pasting) {
            return None;
        }
        self.searched = 0;
        let body = std::mem::take(&mut self.pending);
        Some(Input::Paste(text(body.strip_suffix(b"\x1b").unwrap_or(&body))))
    }

    /// Returns the pending bytes as text.
    pub fn pending(&self) -> String {
        text(&self.pending)
    }

    /// Discards everything, including a paste in progress and pending requests.
    pub fn clear(&mut self) {
        *self = StdinBuffer::default();
    }
}

fn take(bytes: &mut Vec<u8>, length: usize) -> String {
    text(&bytes.drain(..length).collect::<Vec<_>>())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the first unit in `bytes`, of which `searched` bytes were checked before.
fn part(bytes: &[u8], searched: usize) -> Part {
    match bytes {
        [] | [0x1B] | [0x1B, 0x1B] => Part::Open,
        // ESC before a sequence is the alt modifier.
        [0x1B, 0x1B, b'[' | b'O', ..] => match sequence(&bytes[1..], searched.saturating_sub(1)) {
            Part::Whole(length) => Part::Whole(length + 1),
            Part::Broken(length) => Part::Broken(length + 1),
            Part::Open => Part::Open,
        },
        [0x1B, 0x1B, ..] => Part::Whole(1),
        [0x1B, ..] => sequence(bytes, searched),
        _ => character(bytes),
    }
}

/// Returns a sequence that starts with ESC and has at least one more byte.
fn sequence(bytes: &[u8], searched: usize) -> Part {
    match bytes[1] {
        b'[' => csi(bytes),
        b'O' => match bytes[2..].iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';')) {
            Some(place) if place + 2 >= SEQUENCE_LIMIT => Part::Broken(SEQUENCE_LIMIT),
            Some(place) if matches!(bytes[2 + place], 0x20..=0x7E) => Part::Whole(3 + place),
            Some(place) => Part::Broken(2 + place),
            None => open(bytes, SEQUENCE_LIMIT),
        },
        b']' | b'P' | b'_' | b'^' | b'X' => control_string(bytes, searched),
        _ => match character(&bytes[1..]) {
            Part::Whole(length) => Part::Whole(length + 1),
            other => other,
        },
    }
}

fn csi(bytes: &[u8]) -> Part {
    match bytes.get(2) {
        // The oldest mouse reports have three characters after the sequence.
        Some(b'M') => {
            let mut length = 3;
            for _ in 0..3 {
                match bytes.get(length..).filter(|rest| !rest.is_empty()).map(character) {
                    Some(Part::Whole(more)) => length += more,
                    _ => return Part::Open,
                }
            }
            return Part::Whole(length);
        }
        // The function keys of the Linux console, and `CSI [ 5 ~`.
        Some(b'[') => {
            return match bytes.get(3) {
                Some(b'0'..=b'9') => match bytes.get(4) {
                    Some(b'~') => Part::Whole(5),
                    Some(_) => Part::Whole(4),
                    None => Part::Open,
                },
                Some(0x20..=0x7E) => Part::Whole(4),
                Some(_) => Part::Broken(3),
                None => Part::Open,
            };
        }
        _ => {}
    }
    let digits = bytes[2..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    // rxvt ends keys with `$`, which elsewhere is in the middle, but never directly after a number.
    if digits > 0 && digits < SEQUENCE_LIMIT && bytes.get(2 + digits) == Some(&b'$') {
        return Part::Whole(3 + digits);
    }
    match bytes[2..].iter().position(|byte| !matches!(byte, 0x20..=0x3F)) {
        None => open(bytes, SEQUENCE_LIMIT),
        Some(place) if place + 2 >= SEQUENCE_LIMIT => Part::Broken(SEQUENCE_LIMIT),
        Some(place) if matches!(bytes[2 + place], 0x40..=0x7E) => Part::Whole(3 + place),
        Some(place) => Part::Broken(2 + place),
    }
}

fn control_string(bytes: &[u8], searched: usize) -> Part {
    // OSC and APC may end with a bell; in a DCS it is part of the content.
    let bell = matches!(bytes[1], b']' | b'_');
    // The last byte checked may be the ESC of a terminator.
    let from = searched.saturating_sub(1).max(2);
    let stop = bytes[from..].iter().position(|byte| *byte == 0x1B || (bell && *byte == 0x07));
    match stop.map(|place| place + from) {
        Some(place) if bytes[place] == 0x07 => Part::Whole(place + 1),
        Some(place) => match bytes.get(place + 1) {
            Some(b'\\') => Part::Whole(place + 2),
            Some(_) => Part::Broken(place),
            None => Part::Open,
        },
        None => open(bytes, STRING_LIMIT),
    }
}

/// Returns an incomplete sequence, which is abandoned once it is as long as `limit`.
fn open(bytes: &[u8], limit: usize) -> Part {
    if bytes.len() < limit {
        return Part::Open;
    }
    // The cut must not be inside a character.
    Part::Broken(
        (limit - 3..=limit).rev().find(|cut| bytes.get(*cut).is_none_or(|byte| byte & 0xC0 != 0x80)).unwrap_or(limit),
    )
}

/// Returns one UTF-8 character; a byte that does not start a character is a separate unit.
fn character(bytes: &[u8]) -> Part {
    let length = match bytes[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return Part::Whole(1),
    };
    let tail = bytes[1..].iter().take(length - 1).take_while(|byte| **byte & 0xC0 == 0x80).count();
    if tail == length - 1 || bytes.len() > 1 + tail { Part::Whole(1 + tail) } else { Part::Open }
}
