//! CSS, with the extensions of SCSS and Less.

use memchr::memchr2;

use super::scan::{Line, begins_name, is_name};
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Variable,
};

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Css {
    comment: bool,
    /// Open braces, innermost in the last bit: 1 for declarations, 0 for rules (`@media`).
    blocks: u64,
    /// The next brace begins a block of rules.
    group: bool,
    /// True after the colon of a declaration.
    value: bool,
    /// The number of open parentheses in a condition of `@media`.
    condition: u32,
}

impl Css {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if self.comment {
            self.block(line);
        }
        loop {
            line.blanks();
            let at = line.at;
            let byte = line.first();
            let next = line.byte(at + 1);
            match byte {
                0 if line.is_done() => return,
                b'/' if next == b'*' => {
                    line.take(at + 2, Comment);
                    self.block(line);
                }
                b'/' if next == b'/' => return line.rest(Comment),
                b'"' | b'\'' => line.take(line.quote_end(byte, at + 1).unwrap_or(line.text.len()), String),
                b'{' => {
                    self.blocks = self.blocks << 1 | u64::from(!self.group);
                    (self.group, self.value, self.condition) = (false, false, 0);
                    line.take(at + 1, Punctuation);
                }
                b'}' => {
                    self.blocks >>= 1;
                    (self.group, self.value, self.condition) = (false, false, 0);
                    line.take(at + 1, Punctuation);
                }
                b';' => {
                    (self.group, self.value) = (false, false);
                    line.take(at + 1, Punctuation);
                }
                b'@' if begins_name(next) || next == b'-' => {
                    let end = word_end(line, at + 1);
                    let rules = matches!(
                        &line.text[at + 1..end],
                        b"media"
                            | b"supports"
                            | b"layer"
                            | b"document"
                            | b"container"
                            | b"keyframes"
                            | b"-webkit-keyframes"
                            | b"-moz-keyframes"
                    );
                    self.group = rules;
                    self.value = !rules;
                    line.take(end, Keyword);
                }
                b'(' => {
                    self.condition = self.condition.saturating_add(1);
                    line.take(at + 1, Punctuation);
                }
                b')' => {
                    self.condition = self.condition.saturating_sub(1);
                    line.take(at + 1, Punctuation);
                }
                b'0'..=b'9' => number(line, at),
                b'.' if next.is_ascii_digit() => number(line, at),
                b'-' | b'+' if self.in_value() && (next.is_ascii_digit() || next == b'.') => number(line, at),
                b'#' if self.in_value() => line.take(line.name_end(at + 1), Number),
                b'!' if begins_name(next) => line.take(line.name_end(at + 1), Keyword),
                b'$' => line.take(word_end(line, at + 1), Variable),
                b'.' | b'#' if !self.in_value() && (begins_name(next) || matches!(next, b'-' | b'\\')) => {
                    line.take(word_end(line, at + 1), Variable);
                }
                b':' => self.colon(line),
                _ if begins_name(byte) || byte == b'-' && (begins_name(next) || next == b'-') => self.word(line),
                b'>' | b'+' | b'~' | b'*' | b'=' | b'/' | b'|' | b'^' | b'-' | b'<' | b'&' => {
                    line.take(at + 1, self.operator(byte))
                }
                b',' | b'[' | b']' => line.take(at + 1, Punctuation),
                _ => line.take(at + 1, Plain),
            }
        }
    }

    fn block(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"*/", line.at);
        self.comment = end.is_none();
        line.take(end.map_or(line.text.len(), |end| end + 2), Comment);
    }

    fn in_value(&self) -> bool {
        self.value || self.group && self.condition > 0
    }

    fn operator(&self, byte: u8) -> Category {
        match byte {
            b'*' if !self.value => Keyword,
            b'&' => Keyword,
            b'>' | b'+' | b'~' if !self.in_value() => Punctuation,
            _ => Operator,
        }
    }

    /// Handles the colon of a declaration, or the beginning of `:hover` and `::before`.
    fn colon(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        let declares = self.blocks & 1 == 1 && !self.value && !self.selects(line);
        if declares || self.in_value() || self.group {
            self.value |= declares;
            return line.take(at + 1, Punctuation);
        }
        let mut start = at + 1;
        if line.byte(start) == b':' {
            start += 1;
        }
        line.take(start, Variable);
        let end = word_end(line, start);
        line.take(end, Variable);
    }

    /// Returns true if this line begins a nested rule rather than a declaration.
    fn selects(&self, line: &Line<'_, '_, '_>) -> bool {
        let next = memchr2(b'{', b';', &line.text[line.at..]);
        next.is_some_and(|next| line.byte(line.at + next) == b'{')
    }

    fn word(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        let end = word_end(line, at);
        let text = &line.text[at..end];
        let after = line.after_blanks(end);
        let next = line.byte(after);
        let category = if text.starts_with(b"--") {
            Variable
        } else if self.group {
            match text {
                b"and" | b"or" | b"not" | b"only" => Keyword,
                _ if self.condition > 0 && next == b':' => Variable,
                _ => Variable,
            }
        } else if self.value {
            if line.byte(end) == b'(' { Function } else { Variable }
        } else if self.blocks & 1 == 1 && !self.selects(line)
            || line.text[..at].iter().rev().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
        {
            Variable
        } else {
            Keyword
        };
        line.take(end, category);
        if category == Function && matches!(&line.text[at..end], b"url") && !matches!(line.byte(end + 1), b'"' | b'\'')
        {
            line.take(end + 1, Punctuation);
            let stop = line.find(b")", end).unwrap_or(line.text.len());
            line.take(stop, String);
            line.take(stop + 1, Punctuation);
        }
    }
}

/// Returns the end of a word with hyphens.
fn word_end(line: &Line<'_, '_, '_>, from: usize) -> usize {
    let mut end = from;
    loop {
        match line.byte(end) {
            b'\\' => end += 2,
            byte if is_name(byte) || byte == b'-' => end += 1,
            _ => return end.min(line.text.len()),
        }
    }
}

/// Highlights a number with its sign and unit.
fn number(line: &mut Line<'_, '_, '_>, at: usize) {
    let mut end = at;
    if matches!(line.byte(end), b'-' | b'+') {
        end += 1;
    }
    while line.byte(end).is_ascii_digit() || line.byte(end) == b'.' && line.byte(end + 1).is_ascii_digit() {
        end += 1;
    }
    if line.byte(end) == b'%' {
        end += 1;
    } else {
        end = line.name_end(end);
    }
    line.take(end, Number);
}
