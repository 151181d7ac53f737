//! A path as comparable symbols, with the bonus of each position.

use crate::fold::fold;

/// The bonus of a position in addition to the letter itself.
pub(crate) mod bonus {
    /// After `/`, or at the start.
    pub(crate) const SEGMENT: u8 = 10;
    /// After another separator.
    pub(crate) const WORD: u8 = 8;
    /// A camel-case boundary.
    pub(crate) const HUMP: u8 = 7;
    /// The first digit of a number.
    pub(crate) const NUMBER: u8 = 5;
    /// A separator itself.
    pub(crate) const MARK: u8 = 4;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Slash,
    Mark,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '/' => Class::Slash,
        _ if c.is_ascii() => Class::Mark,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_alphabetic() => Class::Lower,
        _ => Class::Mark,
    }
}

fn worth(before: Class, this: Class, after: Option<Class>) -> u8 {
    use Class::{Digit, Lower, Mark, Slash, Upper};
    match (before, this) {
        (_, Slash) => bonus::MARK,
        (Slash, _) => bonus::SEGMENT,
        (_, Mark) => bonus::MARK,
        (Mark, _) => bonus::WORD,
        (Lower | Digit, Upper) => bonus::HUMP,
        // The S of `HTTPServer`.
        (Upper, Upper) if after == Some(Lower) => bonus::HUMP,
        (Lower | Upper, Digit) => bonus::NUMBER,
        _ => 0,
    }
}

/// A parsed path. Reused between paths for its memory.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// The folded letters.
    pub(crate) letters: Vec<char>,
    pub(crate) worth: Vec<u8>,
    /// For each symbol the UTF-16 unit of the path where it begins.
    pub(crate) origin: Vec<u32>,
    /// The index of the first byte of the name.
    pub(crate) name: usize,
}

impl Symbols {
    pub(crate) fn read(&mut self, path: &str, keep_case: bool) {
        self.letters.clear();
        self.worth.clear();
        self.origin.clear();
        self.name = 0;
        let mut before = Class::Slash;
        let mut unit = 0;
        let mut rest = path.chars().peekable();
        while let Some(c) = rest.next() {
            let origin = unit;
            unit += u32::from(c > '\u{FFFF}') + 1;
            let Some(letter) = fold(c, keep_case) else { continue };
            let this = class(c);
            self.worth.push(worth(before, this, rest.peek().map(|next| class(*next))));
            self.letters.push(letter);
            self.origin.push(origin);
            if this == Class::Slash && rest.peek().is_some() {
                self.name = self.letters.len();
            }
            before = this;
        }
    }
}

/// The same for an ASCII path, where each symbol is a byte: nearly every path.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) letters: Vec<u8>,
    pub(crate) worth: Vec<u8>,
    pub(crate) name: usize,
}

/// Returns the index where the name begins. A trailing slash belongs to the name of a directory.
pub(crate) fn name_start(path: &[u8]) -> usize {
    memchr::memrchr(b'/', &path[..path.len().saturating_sub(1)]).map_or(0, |slash| slash + 1)
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Mark; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'/' => Class::Slash,
            _ => Class::Mark,
        };
        byte += 1;
    }
    table
};

impl Bytes {
    pub(crate) fn read(&mut self, path: &[u8], keep_case: bool) {
        self.letters.clear();
        self.worth.clear();
        self.letters.extend_from_slice(path);
        if !keep_case {
            self.letters.make_ascii_lowercase();
        }
        self.name = name_start(path);
        let mut before = Class::Slash;
        for (index, byte) in path.iter().enumerate() {
            let this = CLASSES[usize::from(*byte)];
            let after = path.get(index + 1).map(|next| CLASSES[usize::from(*next)]);
            self.worth.push(worth(before, this, after));
            before = this;
        }
    }
}
