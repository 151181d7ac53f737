//! The line that a lexer reads, and the small scanners that all lexers share.

use memchr::{memchr2, memmem};

use crate::category::Category;
use crate::paint::Paint;

/// One line without its line end, highlighted from left to right.
pub(crate) struct Line<'a, 'p, 'c> {
    /// The bytes of the line.
    pub(crate) text: &'a [u8],
    /// Everything before this offset is highlighted.
    pub(crate) at: usize,
    paint: &'p mut Paint<'c>,
}

impl<'a, 'p, 'c> Line<'a, 'p, 'c> {
    pub(crate) fn new(text: &'a [u8], paint: &'p mut Paint<'c>) -> Self {
        Self { text, at: 0, paint }
    }

    /// Highlights up to `end`. A cut inside a character is moved to its end.
    #[inline]
    pub(crate) fn take(&mut self, end: usize, category: Category) {
        let mut end = end.min(self.text.len());
        while self.text.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end += 1;
        }
        if end > self.at {
            self.paint.piece(&self.text[self.at..end], category);
            self.at = end;
        }
    }

    /// Appends blanks, if there are any.
    #[inline]
    pub(crate) fn blanks(&mut self) {
        let start = self.at;
        while matches!(self.text.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if self.at > start {
            self.paint.blank(&self.text[start..self.at]);
        }
    }

    /// Highlights the rest of the line.
    pub(crate) fn rest(&mut self, category: Category) {
        self.take(self.text.len(), category);
    }

    /// Passes the line up to `end` to another lexer.
    pub(crate) fn hand_over(&mut self, end: usize, lex: impl FnOnce(&[u8], &mut Paint<'c>)) {
        let end = end.clamp(self.at, self.text.len());
        lex(&self.text[self.at..end], self.paint);
        self.at = end;
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Returns the byte at an index; 0 beyond the end.
    #[inline]
    pub(crate) fn byte(&self, index: usize) -> u8 {
        self.text.get(index).copied().unwrap_or(0)
    }

    /// Returns the next byte; 0 at the end.
    #[inline]
    pub(crate) fn first(&self) -> u8 {
        self.byte(self.at)
    }

    #[inline]
    pub(crate) fn starts_with(&self, prefix: &[u8]) -> bool {
        self.text[self.at.min(self.text.len())..].starts_with(prefix)
    }

    /// Returns the position of `needle` at or after `from`.
    pub(crate) fn find(&self, needle: &[u8], from: usize) -> Option<usize> {
        let from = from.min(self.text.len());
        memmem::find(&self.text[from..], needle).map(|found| from + found)
    }

    /// Returns the position of `needle` between two indices; searches no further than that.
    pub(crate) fn find_before(&self, needle: &[u8], from: usize, stop: usize) -> Option<usize> {
        let stop = stop.min(self.text.len());
        let from = from.min(stop);
        memmem::find(&self.text[from..stop], needle).map(|found| from + found)
    }

    /// Returns the index of the first byte at or after `from` that is not a blank.
    #[inline]
    pub(crate) fn after_blanks(&self, from: usize) -> usize {
        let mut index = from;
        while matches!(self.text.get(index), Some(b' ' | b'\t')) {
            index += 1;
        }
        index
    }

    /// Returns the end of the name that begins at `from`.
    #[inline]
    pub(crate) fn name_end(&self, from: usize) -> usize {
        let mut index = from;
        while self.text.get(index).is_some_and(|&byte| is_name(byte)) {
            index += 1;
        }
        index
    }

    /// Returns the index after the quote that closes a string; `None` if the line ends first. `from` is after the
    /// opening quote; a backslash escapes the next byte.
    #[inline]
    pub(crate) fn quote_end(&self, quote: u8, from: usize) -> Option<usize> {
        let mut index = from;
        loop {
            let found = memchr2(quote, b'\\', self.text.get(index..)?)?;
            index += found;
            if self.text[index] == quote {
                return Some(index + 1);
            }
            index += 2;
        }
    }

    /// Returns the end of the number that begins at `from`. A `.` belongs to it before a digit, and at its end if
    /// `open` is true.
    pub(crate) fn number_end(&self, from: usize, open: bool) -> usize {
        let hex = self.byte(from) == b'0' && matches!(self.byte(from + 1) | 0x20, b'x');
        let mut index = from;
        let mut dotted = false;
        loop {
            match self.byte(index) {
                b'e' | b'E' if !hex && matches!(self.byte(index + 1), b'+' | b'-') => index += 2,
                b'p' | b'P' if hex && matches!(self.byte(index + 1), b'+' | b'-') => index += 2,
                byte if byte.is_ascii_alphanumeric() || byte == b'_' => index += 1,
                b'.' if !dotted => {
                    let next = self.byte(index + 1);
                    let tail = open && next != b'.' && !is_name(next);
                    let exponent = open && matches!(next, b'e' | b'E') && self.byte(index + 2).is_ascii_digit();
                    if !(next.is_ascii_digit() || tail || exponent) {
                        return index;
                    }
                    dotted = true;
                    index += 1;
                }
                _ => return index,
            }
        }
    }
}

/// Returns true for bytes of names in every language: ASCII letters and digits, `_`, and every byte of a character
/// beyond ASCII.
#[inline]
pub(crate) fn is_name(byte: u8) -> bool {
    NAME[byte as usize]
}

/// Returns true for bytes that may begin a name.
#[inline]
pub(crate) fn begins_name(byte: u8) -> bool {
    NAME[byte as usize] && !byte.is_ascii_digit()
}

static NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte == b'_' as usize || byte >= 0x80;
        byte += 1;
    }
    table
};

/// Returns true if a name is written like a class: an upper-case letter first, and a lower-case one later.
pub(crate) fn is_capitalised(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_uppercase) && name.iter().any(u8::is_ascii_lowercase)
}

/// Returns true if a name is written like a constant: all upper case, at least two bytes.
pub(crate) fn is_shouted(name: &[u8]) -> bool {
    name.len() > 1
        && name[0].is_ascii_uppercase()
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}
