//! Ruby.

use std::sync::LazyLock;

use super::scan::{Line, begins_name, is_name, is_shouted};
use super::words::{Then, Words};
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable,
};
use crate::paint::Paint;

/// The maximum nesting of code in strings in code.
const DEEPEST: u32 = 4;
/// The maximum length of a here-document delimiter.
const LONGEST_LABEL: usize = 64;

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Ruby {
    open: Open,
    documents: Vec<Document>,
    /// True inside the parentheses of a method's parameters.
    parameters: bool,
    /// True after the bar that opens the parameters of a block.
    bars: bool,
    /// The number of surrounding strings.
    nested: u32,
}

/// A construct that the previous line left open.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    /// `=begin` … `=end`.
    Comment,
    /// Everything after `__END__`.
    End,
    Text(Text),
}

/// A string: its end, the bracket that nests in it (0 for none), the nesting depth, and whether code may be embedded.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Text {
    close: u8,
    open: u8,
    depth: u32,
    embeds: bool,
}

#[derive(Clone)]
struct Document {
    label: Vec<u8>,
    indented: bool,
    embeds: bool,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        (Keyword, Then::Type, "class module"),
        (Keyword, Then::Function, "def"),
        (
            Keyword,
            Then::Any,
            "BEGIN END alias and begin break case catch defined? do else elsif end ensure for if in loop next nil not or redo rescue retry return \
             then throw true false undef unless until when while yield raise require require_relative load autoload attr attr_accessor attr_reader \
             attr_writer extend include prepend initialize new private private_class_method private_constant protected public \
             public_class_method module_function refine using",
        ),
        (Variable, Then::Any, "self __FILE__ __LINE__ __dir__ __method__"),
        (
            Function,
            Then::Any,
            "abort at_exit binding block_given? caller exec exit exit! fail fork format freeze frozen? gets global_variables instance_variable_get \
             instance_variable_set instance_variables instance_of? is_a? kind_of? lambda local_variables method methods nil? object_id open p print \
             printf proc putc puts rand readline readlines respond_to? select send sleep spawn sprintf srand super syscall system tap test trap warn \
             Array Float Integer String define_method instance_eval class_eval module_eval instance_variable_defined? display dup clone eval class \
             extended hash inspect singleton_methods public_send to_enum enum_for __send__",
        ),
    ])
});

impl Ruby {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        match self.open {
            Open::Nothing => {}
            Open::End => return line.rest(Comment),
            Open::Comment => {
                if line.starts_with(b"=end") {
                    self.open = Open::Nothing;
                }
                return line.rest(Comment);
            }
            Open::Text(_) => {}
        }
        if !self.documents.is_empty() {
            return self.document(line);
        }
        if let Open::Text(text) = self.open {
            self.text(line, text);
        } else if line.starts_with(b"=begin") {
            self.open = Open::Comment;
            return line.rest(Comment);
        } else if line.text == b"__END__" {
            self.open = Open::End;
            return line.rest(Keyword);
        }
        let mut then = Then::Any;
        let mut last = PreviousToken::Start;
        while !line.is_done() {
            line.blanks();
            self.token(line, &mut then, &mut last);
        }
        self.bars = false;
    }

    fn document(&mut self, line: &mut Line<'_, '_, '_>) {
        let document = &self.documents[0];
        let text = if document.indented { line.text.trim_ascii() } else { line.text };
        if text == document.label {
            self.documents.remove(0);
            return line.rest(String);
        }
        if document.embeds {
            self.embedded(line, line.text.len());
        }
        line.rest(String);
    }

    fn token(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, last: &mut PreviousToken) {
        let at = line.at;
        let byte = line.first();
        let next = line.byte(at + 1);
        let before = std::mem::replace(last, PreviousToken::Operator);
        let value = matches!(before, PreviousToken::Value | PreviousToken::Name);
        let spaced = at > 0 && matches!(line.byte(at - 1), b' ' | b'\t');
        match byte {
            0 if line.is_done() => {}
            b'#' => line.rest(Comment),
            _ if begins_name(byte) => self.name(line, then, before, last),
            b'0'..=b'9' => {
                line.take(line.number_end(at, false), Number);
                *last = PreviousToken::Value;
            }
            b'"' | b'\'' | b'`' => {
                line.take(at + 1, String);
                self.text(line, Text { close: byte, open: 0, depth: 0, embeds: byte != b'\'' });
                if line.first() == b':' && line.byte(line.at + 1) != b':' && at > 0 {
                    line.take(line.at + 1, String);
                    *last = PreviousToken::Operator;
                } else {
                    *last = PreviousToken::Value;
                }
            }
            b'@' | b'$' => {
                let mut end = at + 1;
                if line.byte(end) == b'@' {
                    end += 1;
                }
                let stop = line.name_end(end);
                line.take(if stop == end && byte == b'$' { end + 1 } else { stop }, Variable);
                *last = PreviousToken::Value;
            }
            b':' if next == b':' => {
                line.take(at + 2, Punctuation);
                *last = PreviousToken::Path;
            }
            b':' if next == b'"' => {
                line.take(at + 2, String);
                self.text(line, Text { close: b'"', open: 0, depth: 0, embeds: true });
                *last = PreviousToken::Value;
            }
            b':' if begins_name(next)
                || matches!(next, b'[' | b'=' | b'<' | b'+' | b'*' | b'-' | b'!') && before != PreviousToken::Name =>
            {
                let mut end = line.name_end(at + 1);
                while end == at + 1
                    && matches!(line.byte(end), b'[' | b']' | b'=' | b'<' | b'>' | b'+' | b'*' | b'-' | b'!' | b'~')
                    && end < at + 4
                {
                    end += 1;
                    if line.byte(end - 1) != b'[' && !matches!(line.byte(end), b']' | b'=' | b'<' | b'>' | b'~') {
                        break;
                    }
                }
                if matches!(line.byte(end), b'?' | b'!' | b'=')
                    && is_name(line.byte(end - 1))
                    && line.byte(end + 1) != b'>'
                {
                    end += 1;
                }
                line.take(end, String);
                *last = PreviousToken::Value;
            }
            b'/' if !value || before == PreviousToken::Name && spaced && !matches!(next, b' ' | b'=') => {
                self.regex(line, last)
            }
            b'%' if !value || before == PreviousToken::Name && spaced && next != b' ' && next != b'=' => {
                self.percent(line, last)
            }
            b'<' if next == b'<' && self.begin_document(line, before, spaced) => *last = PreviousToken::Value,
            b'?' if !value && is_name(next) && !is_name(line.byte(at + 2)) => {
                line.take(at + 2, String);
                *last = PreviousToken::Value;
            }
            b'|' if self.bars || matches!(before, PreviousToken::Brace | PreviousToken::Do) => {
                self.bars = !self.bars;
                line.take(at + 1, Punctuation);
            }
            b'.' if next == b'.' => line.take(at + if line.byte(at + 2) == b'.' { 3 } else { 2 }, Operator),
            b'.' => {
                line.take(at + 1, Punctuation);
                *last = PreviousToken::Dot;
            }
            b'=' if next == b'>' => line.take(at + 2, Punctuation),
            b'(' | b'[' | b'{' => {
                line.take(at + 1, Punctuation);
                *last = if byte == b'{' { PreviousToken::Brace } else { PreviousToken::Start };
            }
            b')' | b']' | b'}' => {
                if byte == b')' {
                    self.parameters = false;
                }
                line.take(at + 1, Punctuation);
                *last = PreviousToken::Value;
            }
            b',' | b';' => {
                line.take(at + 1, Punctuation);
                *last = PreviousToken::Start;
            }
            b'<' if *then == Then::Variable => {
                line.take(at + 1, Punctuation);
                *then = Then::Type;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'<' | b'>' | b'!' | b'&' | b'|' | b'^' | b'~' | b'?' | b':' => {
                line.take(at + 1, Operator)
            }
            _ => line.take(at + 1, Plain),
        }
    }

    fn name(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, before: PreviousToken, last: &mut PreviousToken) {
        let at = line.at;
        let mut end = line.name_end(at);
        if matches!(line.byte(end), b'?' | b'!') && line.byte(end + 1) != b'=' && line.byte(end + 1) != b'~' {
            let ternary = line.byte(end) == b'?' && line.byte(end + 1) == b':';
            if !ternary {
                end += 1;
            }
        }
        let text = &line.text[at..end];
        *last = PreviousToken::Name;
        let key = line.byte(end) == b':' && line.byte(end + 1) != b':' && before != PreviousToken::Dot;
        let wanted = std::mem::take(then);
        if key
            && (matches!(before, PreviousToken::Start | PreviousToken::Brace | PreviousToken::Name) || self.parameters)
            && wanted != Then::Function
        {
            let parameter = self.parameters || self.bars;
            line.take(end, if parameter { Variable } else { String });
            line.take(end + 1, if parameter { Punctuation } else { String });
            *last = PreviousToken::Start;
            return;
        }
        if wanted == Then::Function {
            if text == b"self" || line.byte(end) == b'.' {
                line.take(end, Variable);
                line.take(end + 1, Punctuation);
                *then = Then::Function;
                return;
            }
            let mut end = end;
            if line.byte(end) == b'=' && matches!(line.byte(end + 1), b'(' | b' ') && line.byte(end + 1) == b'(' {
                end += 1;
            }
            line.take(end, Function);
            self.parameters = line.byte(end) == b'(' || line.byte(end) == b' ' && begins_name(line.byte(end + 1));
            return;
        }
        if let Some(word) = WORDS.get(text).filter(|word| {
            before != PreviousToken::Dot || word.category == Function || matches!(text, b"new" | b"extend" | b"include")
        }) {
            if word.category == Keyword {
                *last = if text == b"do" { PreviousToken::Do } else { PreviousToken::Start };
                *then = word.then;
                if matches!(text, b"end" | b"nil" | b"true" | b"false" | b"new") {
                    *last = PreviousToken::Value;
                }
            }
            let dotted = before == PreviousToken::Dot
                && !matches!(text, b"new" | b"extend" | b"include")
                && word.category == Keyword;
            return line.take(end, if dotted { Plain } else { word.category });
        }
        let category = match wanted {
            Then::Type => {
                let path = line.byte(end) == b':' && line.byte(end + 1) == b':';
                *then = if path { Then::Type } else { Then::Variable };
                Type
            }
            _ => self.other(line, text, end, before),
        };
        if self.parameters && line.text.len() == end {
            self.parameters = line.find(b"(", 0).is_some();
        }
        line.take(end, category);
    }

    fn other(&self, line: &Line<'_, '_, '_>, text: &[u8], end: usize, before: PreviousToken) -> Category {
        if (self.parameters || self.bars) && before != PreviousToken::Dot && text[0].is_ascii_lowercase() {
            return Variable;
        }
        if !text[0].is_ascii_uppercase() {
            return Plain;
        }
        let path = line.byte(end) == b':' && line.byte(end + 1) == b':';
        let sent = line.byte(end) == b'.' && !is_shouted(text);
        if path || sent || before == PreviousToken::Path && !is_shouted(text) { Type } else { Variable }
    }

    fn regex(&mut self, line: &mut Line<'_, '_, '_>, last: &mut PreviousToken) {
        line.take(line.at + 1, String);
        self.text(line, Text { close: b'/', open: 0, depth: 0, embeds: true });
        let end = line.name_end(line.at);
        if self.open == Open::Nothing {
            line.take(end, String);
        }
        *last = PreviousToken::Value;
    }

    /// Handles `%w(…)`, `%q{…}`, `%(…)` and similar literals.
    fn percent(&mut self, line: &mut Line<'_, '_, '_>, last: &mut PreviousToken) {
        let at = line.at;
        let letter = line.byte(at + 1);
        let mark = if letter.is_ascii_alphabetic() { at + 2 } else { at + 1 };
        let open = line.byte(mark);
        let known = matches!(letter, b'w' | b'W' | b'i' | b'I' | b'q' | b'Q' | b'r' | b's' | b'x') || mark == at + 1;
        if !known || !open.is_ascii_punctuation() {
            return line.take(at + 1, Operator);
        }
        let close = match open {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            other => other,
        };
        line.take(mark + 1, String);
        let embeds = !matches!(letter, b'w' | b'i' | b'q' | b's');
        self.text(line, Text { close, open: if close == open { 0 } else { open }, depth: 0, embeds });
        if letter == b'r' && self.open == Open::Nothing {
            line.take(line.name_end(line.at), String);
        }
        *last = PreviousToken::Value;
    }

    fn begin_document(&mut self, line: &mut Line<'_, '_, '_>, before: PreviousToken, spaced: bool) -> bool {
        let at = line.at;
        let indented = matches!(line.byte(at + 2), b'-' | b'~');
        let start = if indented { at + 3 } else { at + 2 };
        let quote = line.byte(start);
        let quoted = matches!(quote, b'\'' | b'"' | b'`');
        let begin = if quoted { start + 1 } else { start };
        let end = if quoted { line.find(&[quote], begin).unwrap_or(begin) } else { line.name_end(begin) };
        let closed = !quoted || line.byte(end) == quote;
        let shift = !indented
            && !quoted
            && (!quote.is_ascii_uppercase()
                || before == PreviousToken::Value
                || before == PreviousToken::Name && !spaced);
        if end == begin
            || end - begin > LONGEST_LABEL
            || !closed
            || shift
            || self.documents.len() >= 8
            || self.nested > 0
        {
            return false;
        }
        self.documents.push(Document { label: line.text[begin..end].to_vec(), indented, embeds: quote != b'\'' });
        line.take(if quoted { end + 1 } else { end }, String);
        true
    }

    /// Highlights the rest of a string after its opening delimiter.
    fn text(&mut self, line: &mut Line<'_, '_, '_>, mut text: Text) {
        let embeds = text.embeds;
        let mut index = line.at;
        while index < line.text.len() {
            let byte = line.byte(index);
            if byte == b'\\' {
                index += 2;
            } else if byte == text.close && text.depth == 0 {
                if embeds {
                    self.embedded(line, index);
                }
                line.take(index + 1, String);
                self.open = Open::Nothing;
                return;
            } else if byte == b'#' && line.byte(index + 1) == b'{' && text.embeds {
                // A quote in embedded code does not end the string.
                match code_end(&line.text[index + 2..]) {
                    Some(end) => index += 3 + end,
                    None => {
                        index += 2;
                        text.embeds = false;
                    }
                }
            } else {
                if byte == text.close {
                    text.depth -= 1;
                } else if byte == text.open && text.open != 0 {
                    text.depth = text.depth.saturating_add(1);
                }
                index += 1;
            }
        }
        if embeds {
            self.embedded(line, line.text.len());
        }
        line.rest(String);
        text.embeds = embeds;
        self.open = Open::Text(text);
    }

    /// Highlights a string and its embedded code up to `stop`.
    fn embedded(&self, line: &mut Line<'_, '_, '_>, stop: usize) {
        if self.nested >= DEEPEST {
            return;
        }
        while let Some(start) = line.find_before(b"#{", line.at, stop) {
            let Some(end) = code_end(&line.text[start + 2..stop]) else { return };
            line.take(start, String);
            line.take(start + 2, Punctuation);
            let nested = self.nested + 1;
            line.hand_over(start + 2 + end, |text, paint| inner(text, paint, nested));
            line.take(start + 3 + end, Punctuation);
        }
    }
}

/// The previous token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreviousToken {
    Start,
    Operator,
    Value,
    Name,
    Dot,
    Path,
    Brace,
    Do,
}

fn inner(text: &[u8], paint: &mut Paint<'_>, nested: u32) {
    let mut line = Line::new(text, paint);
    let mut lexer = Ruby { nested, ..Ruby::default() };
    let (mut then, mut last) = (Then::Any, PreviousToken::Start);
    while !line.is_done() {
        line.blanks();
        lexer.token(&mut line, &mut then, &mut last);
    }
}

/// Returns the brace that ends embedded code, with a short look-ahead.
fn code_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0u32;
    for (index, &byte) in text.iter().enumerate().take(1000) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(index),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}
