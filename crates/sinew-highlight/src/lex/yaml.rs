//! YAML.

use super::scan::Line;
use crate::category::Category::{Comment, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable};

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Yaml {
    /// The quote of the open string.
    quote: Option<u8>,
    /// The indentation of the line that began a block scalar (`|`, `>`).
    block: Option<usize>,
    /// The number of open brackets of flow collections.
    flow: u32,
}

impl Yaml {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        let indent = line.after_blanks(0);
        if let Some(parent) = self.block {
            if indent >= line.text.len() {
                return line.blanks();
            }
            if indent > parent || parent == 0 && indent > 0 {
                return line.rest(String);
            }
            self.block = None;
        }
        if let Some(quote) = self.quote {
            self.quoted(line, quote);
        }
        if line.at == 0 && self.flow == 0 {
            if line.starts_with(b"---") || line.starts_with(b"...") {
                line.take(3, Keyword);
            } else if line.first() == b'%' {
                return line.rest(Keyword);
            }
        }
        let mut parent = indent;
        loop {
            line.blanks();
            let at = line.at;
            let next = line.byte(at + 1);
            let alone = matches!(next, b' ' | b'\t' | 0);
            match line.first() {
                0 if line.is_done() => return,
                b'#' if at == 0 || matches!(line.byte(at - 1), b' ' | b'\t') => return line.rest(Comment),
                b'-' if alone && self.flow == 0 => {
                    line.take(at + 1, Punctuation);
                    // A block scalar of the item may be indented one more than its dash.
                    parent = at;
                }
                b'?' | b':' if alone || self.flow > 0 => line.take(at + 1, Punctuation),
                b'[' | b'{' => {
                    self.flow = self.flow.saturating_add(1);
                    line.take(at + 1, Punctuation);
                }
                b']' | b'}' if self.flow > 0 => {
                    self.flow -= 1;
                    line.take(at + 1, Punctuation);
                }
                b',' if self.flow > 0 => line.take(at + 1, Punctuation),
                quote @ (b'"' | b'\'') => {
                    let end = quote_end(line, quote, at + 1);
                    if end.is_some_and(|end| {
                        line.byte(end) == b':' && (matches!(line.byte(end + 1), b' ' | 0) || self.flow > 0)
                    }) {
                        line.take(end.unwrap_or(at + 1), Keyword);
                        continue;
                    }
                    line.take(at + 1, String);
                    self.quoted(line, quote);
                }
                byte @ (b'&' | b'*') if !alone => {
                    line.take(at + 1, Keyword);
                    line.take(word_end(line, at + 1), if byte == b'&' { Type } else { Variable });
                }
                b'!' => line.take(word_end(line, at), Type),
                b'|' | b'>' if self.flow == 0 => {
                    self.block = Some(parent);
                    line.take(at + 1, Keyword);
                    let end = line.name_end(at + 1);
                    line.take(if matches!(line.byte(end), b'-' | b'+') { end + 1 } else { end }, Keyword);
                    line.blanks();
                    let comment = line.first() == b'#';
                    return line.rest(if comment { Comment } else { Plain });
                }
                _ => self.plain(line),
            }
        }
    }

    fn quoted(&mut self, line: &mut Line<'_, '_, '_>, quote: u8) {
        let end = quote_end(line, quote, line.at);
        self.quote = if end.is_none() { Some(quote) } else { None };
        line.take(end.unwrap_or(line.text.len()), String);
    }

    /// Handles an unquoted scalar: a key, a number, a boolean or text.
    fn plain(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        let mut end = at;
        let mut key = false;
        while end < line.text.len() {
            match line.byte(end) {
                b':' if matches!(line.byte(end + 1), b' ' | b'\t' | 0)
                    || self.flow > 0 && matches!(line.byte(end + 1), b',' | b']' | b'}') =>
                {
                    key = true;
                    break;
                }
                b'#' if end > at && matches!(line.byte(end - 1), b' ' | b'\t') => break,
                b',' | b'[' | b']' | b'{' | b'}' if self.flow > 0 => break,
                _ => end += 1,
            }
        }
        let end = end.max(at + 1).min(line.text.len());
        let text = line.text[at..end].trim_ascii();
        let category = if key { if text == b"<<" { Operator } else { Keyword } } else { scalar(text) };
        line.take(at + text.len().max(1), category);
    }
}

fn scalar(text: &[u8]) -> crate::category::Category {
    match text {
        b"true" | b"false" | b"True" | b"False" | b"TRUE" | b"FALSE" | b"null" | b"Null" | b"NULL" | b"~" => {
            return Keyword;
        }
        b"yes" | b"no" | b"on" | b"off" | b"Yes" | b"No" | b"On" | b"Off" | b"YES" | b"NO" | b"ON" | b"OFF" | b"y"
        | b"n" | b"Y" | b"N" => {
            return Keyword;
        }
        b".inf" | b"-.inf" | b".nan" | b".Inf" | b".NaN" => return Number,
        _ => {}
    }
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let hex = digits.strip_prefix(b"0x").or(digits.strip_prefix(b"0o"));
    if let Some(hex) = hex {
        return if !hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit) { Number } else { String };
    }
    if !digits.first().is_some_and(u8::is_ascii_digit) && !digits.starts_with(b".") {
        return String;
    }
    let dots = digits.iter().filter(|&&byte| byte == b'.').count();
    let all = digits.iter().any(u8::is_ascii_digit)
        && digits.iter().enumerate().all(|(index, &byte)| {
            byte.is_ascii_digit()
                || matches!(byte, b'.' | b'_')
                || index > 0 && matches!(byte, b'e' | b'E' | b'+' | b'-')
        });
    let date =
        digits.len() >= 10 && digits[4] == b'-' && digits[7] == b'-' && digits[..4].iter().all(u8::is_ascii_digit);
    let signs =
        digits.iter().any(|byte| matches!(byte, b'+' | b'-')) && !digits.iter().any(|byte| matches!(byte, b'e' | b'E'));
    if date || all && dots < 2 && !signs { Number } else { String }
}

fn quote_end(line: &Line<'_, '_, '_>, quote: u8, from: usize) -> Option<usize> {
    if quote == b'"' {
        return line.quote_end(quote, from);
    }
    let mut from = from;
    loop {
        let end = line.find(b"'", from)? + 1;
        if line.byte(end) != b'\'' {
            return Some(end);
        }
        from = end + 1;
    }
}

fn word_end(line: &Line<'_, '_, '_>, from: usize) -> usize {
    let mut end = from;
    while end < line.text.len() && !matches!(line.byte(end), b' ' | b'\t' | b',' | b']' | b'}') {
        end += 1;
    }
    end
}
