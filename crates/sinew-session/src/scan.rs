//! Scans the head of a line without a full parser: most of a line is text that the tree does not need, and most lines
//! are written in one simple form.
//!
//! Everything accepted here is accepted by `serde_json` with the same meaning, which a test checks. Everything else,
//! for example an escape in a key or a tab between two values, is left to `serde_json`.

use std::borrow::Cow;

use serde::Deserialize;

use super::whole_characters;

/// The maximum nesting of objects and arrays.
const DEPTH: u32 = 60;

/// The fields that every line has, which is all that the tree needs.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) parent_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) timestamp: Option<Cow<'a, str>>,
}

impl<'a> Head<'a> {
    /// Parses the head of a line, and checks that the rest is JSON of any depth.
    pub(super) fn parse(line: &'a [u8]) -> Result<Head<'a>, serde_json::Error> {
        if let Some(head) = head(line) {
            return Ok(head);
        }
        serde_json::from_slice(line).or_else(|cause| match whole_characters::replaced(line) {
            Some(whole) => serde_json::from_slice::<Head<'_>>(&whole).map(Head::into_owned),
            None => Err(cause),
        })
    }

    fn into_owned(self) -> Head<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Head {
            kind: owned(self.kind),
            id: owned(self.id),
            parent_id: self.parent_id.map(owned),
            timestamp: self.timestamp.map(owned),
        }
    }
}

/// Returns the head of a line if it is JSON in the simple form; `None` otherwise. Reads each byte at most twice.
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    if has_control(line) {
        return None;
    }
    let mut scan = Scan { line, at: 0 };
    let (mut kind, mut id, mut parent, mut time) = (None, None, None, None);
    scan.expect(b'{')?;
    loop {
        match scan.key()? {
            b"type" => once(&mut kind, scan.text()?)?,
            b"id" => once(&mut id, scan.text()?)?,
            b"parentId" => once(&mut parent, scan.text_or_null()?)?,
            b"timestamp" => once(&mut time, scan.text_or_null()?)?,
            other if other.is_ascii() => scan.value()?,
            _ => return None,
        }
        scan.blanks();
        match scan.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    (scan.at == line.len()).then_some(())?;
    Some(Head { kind: kind?, id: id?, parent_id: parent.flatten(), timestamp: time.flatten() })
}

/// JSON allows some controls between values and none in strings; Sinew's writers produce none.
fn has_control(line: &[u8]) -> bool {
    line.chunks(64).any(|chunk| chunk.iter().fold(false, |any, byte| any | (*byte < b' ')))
}

fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

/// A position in a line without control characters.
struct Scan<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Reads a key and its colon; returns the key, which must not contain escapes.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        let key = self.plain()?;
        self.colon()?;
        Some(key)
    }

    fn colon(&mut self) -> Option<()> {
        self.blanks();
        self.expect(b':')?;
        self.blanks();
        Some(())
    }

    /// Reads a string without escapes.
    fn plain(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        self.at = stop(self.line, start);
        let text = &self.line[start..self.at];
        self.expect(b'"')?;
        Some(text)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        str::from_utf8(self.plain()?).ok().map(Cow::Borrowed)
    }

    fn text_or_null(&mut self) -> Option<Option<Cow<'a, str>>> {
        if self.peek() == Some(b'n') { self.word(b"null").map(|()| None) } else { self.text().map(Some) }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.line[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    /// Reads any string.
    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            self.at = stop(self.line, self.at);
            if self.next()? == b'"' {
                return Some(());
            }
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.line.get(self.at..self.at + 4)?;
                    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                    self.at += 4;
                }
                _ => return None,
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.at;
        self.digits()?;
        if self.line[first] == b'0' && self.at > first + 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Reads any value.
    fn value(&mut self) -> Option<()> {
        // One bit for each open bracket, set for an array.
        let (mut depth, mut arrays) = (0, 0_u64);
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    self.blanks();
                    if self.peek()? == open + 2 {
                        self.at += 1;
                    } else {
                        depth += 1;
                        if depth > DEPTH {
                            return None;
                        }
                        arrays = arrays << 1 | u64::from(open == b'[');
                        if open == b'{' {
                            self.string()?;
                            self.colon()?;
                        }
                        continue;
                    }
                }
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => self.number()?,
            }
            loop {
                if depth == 0 {
                    return Some(());
                }
                self.blanks();
                let array = arrays & 1 == 1;
                match self.next()? {
                    b',' => {
                        self.blanks();
                        if !array {
                            self.string()?;
                            self.colon()?;
                        }
                        break;
                    }
                    b']' if array => {}
                    b'}' if !array => {}
                    _ => return None,
                }
                depth -= 1;
                arrays >>= 1;
            }
        }
    }
}

/// Returns the offset of the next quote or backslash, or the end. Processes eight bytes at a time, because the distance
/// is too short for a call of a search function.
fn stop(line: &[u8], from: usize) -> usize {
    const LOW: u64 = u64::MAX / 255;
    // The lowest set bit belongs to the first byte that is zero.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & LOW << 7;
    let mut at = from;
    while let Some(chunk) = line.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let found = zeros(word ^ (LOW * u64::from(b'"'))) | zeros(word ^ (LOW * u64::from(b'\\')));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    line[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')).map_or(line.len(), |more| at + more)
}

#[cfg(test)]
mod tests;
