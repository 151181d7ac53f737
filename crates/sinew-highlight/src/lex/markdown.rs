//! Markdown, with code blocks in languages that have a lexer.

use memchr::{memchr, memrchr};

use super::scan::Line;
use super::{Lexer, NativeLexer};
use crate::category::Category::{Comment, Keyword, Number, Plain, Punctuation, String, Type, Variable};
use crate::names;

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Markdown {
    fence: Option<Fence>,
    comment: bool,
    /// True if the previous line was empty, or for the first line.
    fresh: bool,
    /// Inside a list, whose items may be indented.
    list: bool,
    begun: bool,
}

#[derive(Clone)]
struct Fence {
    byte: u8,
    length: usize,
    lexer: Option<Box<Lexer>>,
}

impl Markdown {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        let first = !std::mem::replace(&mut self.begun, true);
        let indent = line.after_blanks(0);
        if let Some(fence) = &mut self.fence {
            if fence.closes(&line.text[indent..]) {
                self.fence = None;
                line.blanks();
                return line.rest(Punctuation);
            }
            return match &mut fence.lexer {
                Some(lexer) => line.hand_over(line.text.len(), |text, paint| lexer.line(text, paint)),
                None => line.rest(String),
            };
        }
        if self.comment {
            return self.comment(line);
        }
        let fresh = std::mem::replace(&mut self.fresh, indent >= line.text.len()) || first;
        let tabbed = line.text[..indent].contains(&b'\t');
        if first && line.text == b"---" {
            // Front matter is lexed as YAML and ends at the same marker.
            let lexer = Some(Box::new(Lexer::new(NativeLexer::Yaml)));
            self.fence = Some(Fence { byte: b'-', length: 3, lexer });
            return line.rest(Punctuation);
        }
        if (indent >= 4 || tabbed) && fresh && indent < line.text.len() && !self.list && !is_item(&line.text[indent..])
        {
            self.fresh = true;
            return line.rest(String);
        }
        line.blanks();
        let rest = &line.text[indent..];
        if indent < line.text.len() {
            self.list = is_item(rest) || self.list && (indent > 1 || !fresh);
        }
        match line.first() {
            b'|' if rest.iter().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ')) => line.rest(Punctuation),
            0 if line.is_done() => {}
            b'#' if heading(rest) => line.rest(Keyword),
            b'=' | b'-' if !fresh && rest.len() > 1 && rest.trim_ascii_end().iter().all(|&byte| byte == rest[0]) => {
                line.rest(Keyword)
            }
            b'>' => line.rest(Comment),
            byte @ (b'`' | b'~') if rest.len() > 2 && rest[1] == byte && rest[2] == byte => self.begin(line, byte),
            b'-' | b'*' | b'_' if is_rule(rest) => line.rest(Punctuation),
            b'-' | b'*' | b'+' if is_item(rest) => {
                line.take(indent + 1, Punctuation);
                self.inline(line);
            }
            b'0'..=b'9' if is_item(rest) => {
                let end = line.name_end(indent);
                line.take(end + 1, Punctuation);
                self.inline(line);
            }
            b'[' if definition(rest) => {
                let end = line.find(b"]:", indent).unwrap_or(indent);
                line.take(indent + 1, Punctuation);
                line.take(end, Type);
                line.take(end + 2, Punctuation);
                line.blanks();
                line.rest(Variable);
            }
            _ => self.inline(line),
        }
    }

    fn begin(&mut self, line: &mut Line<'_, '_, '_>, byte: u8) {
        let start = line.at;
        let length = line.text[start..].iter().take_while(|&&other| other == byte).count();
        let info = line.text[start + length..].trim_ascii();
        if byte == b'`' && info.contains(&b'`') {
            return self.inline(line);
        }
        line.take(start + length, Punctuation);
        line.blanks();
        line.rest(Variable);
        let word =
            info.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'#' | b'-' | b'_')).next();
        let lexer = word.and_then(|word| std::str::from_utf8(word).ok()).and_then(inner_lexer);
        self.fence = Some(Fence { byte, length, lexer });
    }

    fn comment(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"-->", line.at);
        self.comment = end.is_none();
        line.take(end.map_or(line.text.len(), |end| end + 3), Comment);
        if !line.is_done() {
            self.inline(line);
        }
    }

    fn inline(&mut self, line: &mut Line<'_, '_, '_>) {
        let bar = line.text[..line.at].trim_ascii().is_empty() && line.first() == b'|';
        let last_angle = memrchr(b'>', line.text).unwrap_or(0);
        // Lengths of backtick runs that have no counterpart in the rest of the line.
        let mut missing = 0u64;
        while !line.is_done() {
            let at = line.at;
            match line.first() {
                b'`' => {
                    let length = line.text[at..].iter().take_while(|&&byte| byte == b'`').count();
                    let tried = length >= 64 || missing >> length & 1 == 1;
                    match if tried { None } else { code_end(line, at + length, length) } {
                        Some(end) => line.take(end, String),
                        None => {
                            missing |= 1 << length.min(63);
                            line.take(at + length, Plain);
                        }
                    }
                }
                b'\\' => line.take(at + 2, Plain),
                b'[' => link(line),
                b']' if line.byte(at + 1) == b'(' => {
                    line.take(at + 2, Punctuation);
                    address(line, b")");
                }
                b'|' if bar => line.take(at + 1, Punctuation),
                b'!' if line.byte(at + 1) == b'[' => {
                    line.take(at + 1, Punctuation);
                    link(line);
                }
                b'<' if line.starts_with(b"<!--") => {
                    line.take(at + 4, Comment);
                    return self.comment(line);
                }
                b'<' if line.starts_with(b"<http") || line.starts_with(b"<mailto:") => {
                    let end = line.find(b">", at).map_or(line.text.len(), |end| end + 1);
                    line.take(end, String);
                }
                b'<' if line.byte(at + 1).is_ascii_alphabetic() || line.byte(at + 1) == b'/' => {
                    if at >= last_angle {
                        line.take(at + 1, Plain);
                        continue;
                    }
                    let end = line.find(b">", at).map_or(last_angle, |end| end + 1);
                    let mut lexer = Lexer::new(NativeLexer::Html);
                    line.hand_over(end, |text, paint| lexer.line(text, paint));
                }
                b'*' | b'_' if line.byte(at + 1) != b' ' || at > 0 && line.byte(at - 1) != b' ' => {
                    let inside = line.first() == b'_'
                        && at > 0
                        && line.byte(at - 1).is_ascii_alphanumeric()
                        && line.byte(at + 1).is_ascii_alphanumeric();
                    line.take(at + 1, if inside { Plain } else { Punctuation });
                }
                b'h' if line.starts_with(b"http://") || line.starts_with(b"https://") => {
                    let end = line.text[at..]
                        .iter()
                        .position(|byte| matches!(byte, b' ' | b'\t' | b')' | b'>' | b']' | b'"' | b'|'));
                    line.take(end.map_or(line.text.len(), |end| at + end), Variable);
                }
                b'&' => {
                    let end = line.name_end(if line.byte(at + 1) == b'#' { at + 2 } else { at + 1 });
                    let entity = line.byte(end) == b';' && end > at + 1;
                    line.take(if entity { end + 1 } else { at + 1 }, if entity { Number } else { Plain });
                }
                _ => {
                    let stop = |byte: &u8| {
                        matches!(byte, b'`' | b'\\' | b'[' | b']' | b'|' | b'!' | b'<' | b'*' | b'_' | b'h' | b'&')
                    };
                    let end = line.text[at + 1..].iter().position(stop);
                    line.take(end.map_or(line.text.len(), |end| at + 1 + end), Plain);
                }
            }
        }
    }
}

impl Fence {
    fn closes(&self, text: &[u8]) -> bool {
        let text = text.trim_ascii_end();
        let matches = text.len() >= self.length && text.iter().all(|&byte| byte == self.byte);
        matches && (self.byte != b'-' || text.len() == 3)
    }
}

/// Returns the lexer of a code block. `None` if the language has no built-in lexer; the block is then shown as text.
fn inner_lexer(name: &str) -> Option<Box<Lexer>> {
    // Markdown in Markdown could nest infinitely.
    let language = names::find_lexer(name).filter(|language| !matches!(language, NativeLexer::Markdown))?;
    Some(Box::new(Lexer::new(language)))
}

fn heading(text: &[u8]) -> bool {
    let marks = text.iter().take_while(|&&byte| byte == b'#').count();
    marks <= 6 && matches!(text.get(marks), None | Some(b' ' | b'\t'))
}

fn is_rule(text: &[u8]) -> bool {
    let marks = text.iter().filter(|&&byte| byte == text[0]).count();
    marks >= 3 && text.iter().all(|&byte| byte == text[0] || byte == b' ' || byte == b'\t')
}

fn is_item(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (mark, after) = (text.get(digits), text.get(digits + 1));
    let marked = if digits > 0 { matches!(mark, Some(b'.' | b')')) } else { matches!(mark, Some(b'-' | b'*' | b'+')) };
    digits < 10 && marked && matches!(after, None | Some(b' ' | b'\t'))
}

fn definition(text: &[u8]) -> bool {
    memchr(b']', text).is_some_and(|end| end > 1 && text.get(end + 1) == Some(&b':'))
}

/// Returns the end of a code span whose delimiters have the given length.
fn code_end(line: &Line<'_, '_, '_>, from: usize, length: usize) -> Option<usize> {
    let mut index = from;
    loop {
        index = line.find(b"`", index)?;
        let marks = line.text[index..].iter().take_while(|&&byte| byte == b'`').count();
        index += marks;
        if marks == length {
            return Some(index);
        }
    }
}

/// Handles `[text](address)`, `[text][name]` and plain brackets.
fn link(line: &mut Line<'_, '_, '_>) {
    let at = line.at;
    let close = closing_bracket(&line.text[at..line.text.len().min(at + 300)]).map(|close| at + close);
    let Some(close) = close.filter(|&close| matches!(line.byte(close + 1), b'(' | b'[')) else {
        return line.take(at + 1, Punctuation);
    };
    line.take(at + 1, Punctuation);
    if line.starts_with(b"![") {
        return;
    }
    line.take(close, String);
    line.take(close + 2, Punctuation);
    let needle: &[u8] = if line.byte(close + 1) == b'(' { b")" } else { b"]" };
    address(line, needle);
}

/// Handles an address after its opening bracket, ended by `close`.
fn address(line: &mut Line<'_, '_, '_>, close: &[u8]) {
    let end = line.find(close, line.at).unwrap_or(line.text.len());
    line.take(end, Variable);
    line.take(end + 1, Punctuation);
}

/// The maximum nesting of brackets in the text of a link, so that a line of opening brackets is not searched at each of
/// them.
const DEEPEST: u32 = 8;

/// Returns the bracket that closes the one at the start of a text.
fn closing_bracket(text: &[u8]) -> Option<usize> {
    let mut depth = 0u32;
    for index in memchr::memchr2_iter(b'[', b']', text) {
        if text[index] == b'[' {
            depth += 1;
            if depth > DEEPEST {
                return None;
            }
        } else if depth == 1 {
            return Some(index);
        } else {
            depth -= 1;
        }
    }
    None
}
