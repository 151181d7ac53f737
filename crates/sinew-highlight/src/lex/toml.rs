//! TOML.

use super::scan::{Line, is_name};
use crate::category::Category::{Comment, Keyword, Number, Plain, Punctuation, String, Type};

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Toml {
    /// The quote of the open triple-quoted string.
    open: Option<u8>,
    /// The number of open brackets in values.
    depth: u32,
}

impl Toml {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if let Some(quote) = self.open {
            self.triple(line, quote);
        }
        let mut value = self.depth > 0;
        line.blanks();
        if line.at == 0 && line.first() == b'[' || line.first() == b'[' && !value {
            return header(line);
        }
        loop {
            line.blanks();
            let at = line.at;
            let byte = line.first();
            match byte {
                0 if line.is_done() => return,
                b'#' => return line.rest(Comment),
                b'"' | b'\'' => {
                    if line.byte(at + 1) == byte && line.byte(at + 2) == byte {
                        line.take(at + 3, String);
                        self.triple(line, byte);
                        continue;
                    }
                    let end = quoted_end(line, byte, at + 1);
                    let key = is_key(line, end, value);
                    line.take(end, if key { Keyword } else { String });
                }
                b'=' => {
                    value = true;
                    line.take(at + 1, Punctuation);
                }
                b'[' | b'{' => {
                    self.depth = self.depth.saturating_add(1);
                    line.take(at + 1, Punctuation);
                }
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    line.take(at + 1, Punctuation);
                }
                b',' | b'.' => line.take(at + 1, Punctuation),
                _ if is_name(byte) || matches!(byte, b'-' | b'+') => bare(line, value),
                _ => line.take(at + 1, Plain),
            }
        }
    }

    fn triple(&mut self, line: &mut Line<'_, '_, '_>, quote: u8) {
        let mut from = line.at;
        self.open = Some(quote);
        while let Some(end) = if quote == b'"' { line.quote_end(quote, from) } else { raw_end(line, quote, from) } {
            if line.byte(end) == quote && line.byte(end + 1) == quote {
                self.open = None;
                return line.take(end + 2, String);
            }
            from = end;
        }
        line.rest(String);
    }
}

fn raw_end(line: &Line<'_, '_, '_>, quote: u8, from: usize) -> Option<usize> {
    line.find(&[quote], from).map(|end| end + 1)
}

fn quoted_end(line: &Line<'_, '_, '_>, quote: u8, from: usize) -> usize {
    let end = if quote == b'"' { line.quote_end(quote, from) } else { raw_end(line, quote, from) };
    end.unwrap_or(line.text.len())
}

/// Returns true if the name that ends at `end` is a key: followed by `=`, or by a dot and more of the key.
fn is_key(line: &Line<'_, '_, '_>, end: usize, value: bool) -> bool {
    let next = line.byte(line.after_blanks(end));
    next == b'=' || next == b'.' && !value
}

/// Highlights `[table]` and `[[array]]`.
fn header(line: &mut Line<'_, '_, '_>) {
    loop {
        line.blanks();
        let at = line.at;
        match line.first() {
            0 if line.is_done() => return,
            b'#' => return line.rest(Comment),
            b'[' | b']' | b'.' => line.take(at + 1, Punctuation),
            quote @ (b'"' | b'\'') => line.take(quoted_end(line, quote, at + 1), Type),
            byte if is_name(byte) || byte == b'-' => line.take(bare_end(line, at), Type),
            _ => line.take(at + 1, Plain),
        }
    }
}

fn bare_end(line: &Line<'_, '_, '_>, from: usize) -> usize {
    let mut end = from;
    while is_name(line.byte(end)) || line.byte(end) == b'-' {
        end += 1;
    }
    end
}

/// Handles a key, a number, a date or a boolean.
fn bare(line: &mut Line<'_, '_, '_>, value: bool) {
    let at = line.at;
    let end = bare_end(line, at + 1);
    if is_key(line, end, value) {
        return line.take(end, Keyword);
    }
    let text = &line.text[at..end];
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if digits.first().is_some_and(u8::is_ascii_digit) {
        let mut end = end;
        while is_name(line.byte(end)) || matches!(line.byte(end), b'.' | b':' | b'+' | b'-') {
            end += 1;
        }
        return line.take(end, Number);
    }
    let category = match digits {
        b"true" | b"false" => Keyword,
        b"inf" | b"nan" => Number,
        _ => Plain,
    };
    line.take(end, category);
}
