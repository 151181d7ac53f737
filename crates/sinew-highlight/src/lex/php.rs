//! PHP embedded in HTML.

use std::sync::LazyLock;

use super::c_family_words::symbols;
use super::html::Html;
use super::scan::{Line, begins_name, is_name, is_shouted};
use super::words::{Then, Words};
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable,
};

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Php {
    html: Html,
    mode: Mode,
}

#[derive(Clone, Default, PartialEq, Eq)]
enum Mode {
    /// Nothing was read yet: a text may begin with code.
    #[default]
    Unknown,
    Html,
    Code,
    Comment,
    /// A string, with its quote.
    Quoted(u8),
    /// A here-document: its label and whether variables are expanded.
    Document(Vec<u8>, bool),
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    Words::folded(&[
        (Keyword, Then::Type, "class interface trait enum extends implements instanceof insteadof"),
        (Keyword, Then::Type, "new"),
        (Keyword, Then::Module, "namespace use"),
        (Keyword, Then::Function, "function"),
        (Keyword, Then::Variable, "const"),
        (
            Keyword,
            Then::Any,
            "abstract and as break case catch clone continue declare default die do else elseif enddeclare endfor endforeach endif \
             endswitch endwhile exit final finally fn for foreach from global goto if include include_once match or private protected public \
             readonly require require_once return static switch throw try var while xor yield true false null",
        ),
        (Keyword, Then::Any, "array echo empty eval isset list print unset"),
        (Type, Then::Any, "bool boolean callable double float int integer iterable mixed never object string void"),
        (Variable, Then::Any, "self parent"),
        (Variable, Then::Any, "__CLASS__ __DIR__ __FILE__ __FUNCTION__ __LINE__ __METHOD__ __NAMESPACE__ __TRAIT__"),
    ])
});

static SYMBOLS: [Category; 128] = symbols("+-*/%=!&|^~<>?@.", "()[]{},;:\\");

impl Php {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if self.mode == Mode::Unknown {
            let start = line.after_blanks(0);
            if start < line.text.len() {
                let markup = line.byte(start) == b'<' || line.starts_with(b"#!");
                self.mode = if markup { Mode::Html } else { Mode::Code };
            }
        }
        if line.text.is_empty() && self.mode == Mode::Html {
            return self.html.line(line);
        }
        let mut then = Then::Any;
        let mut last = 0u8;
        while !line.is_done() {
            match &self.mode {
                Mode::Unknown => line.blanks(),
                Mode::Html => self.markup(line),
                Mode::Code => {
                    line.blanks();
                    self.token(line, &mut then, &mut last);
                }
                Mode::Comment => self.comment(line),
                Mode::Quoted(quote) => {
                    let quote = *quote;
                    self.quoted(line, quote);
                }
                Mode::Document(..) => self.document(line),
            }
        }
    }

    fn markup(&mut self, line: &mut Line<'_, '_, '_>) {
        let open = line.find(b"<?", line.at).filter(|&open| {
            let rest = &line.text[open + 2..];
            rest.is_empty()
                || rest[0] == b'='
                || rest.len() >= 3 && rest[..3].eq_ignore_ascii_case(b"php")
                || matches!(rest[0], b' ' | b'\t')
        });
        let end = open.unwrap_or(line.text.len());
        let html = &mut self.html;
        line.hand_over(end, |text, paint| html.line(&mut Line::new(text, paint)));
        if let Some(open) = open {
            let size = match line.byte(open + 2) {
                b'=' => 3,
                b'p' | b'P' => 5,
                _ => 2,
            };
            line.take(open + size, Punctuation);
            self.mode = Mode::Code;
        }
    }

    fn comment(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"*/", line.at);
        self.mode = if end.is_some() { Mode::Code } else { Mode::Comment };
        line.take(end.map_or(line.text.len(), |end| end + 2), Comment);
    }

    fn quoted(&mut self, line: &mut Line<'_, '_, '_>, quote: u8) {
        let end = line.quote_end(quote, line.at);
        self.mode = if end.is_some() { Mode::Code } else { Mode::Quoted(quote) };
        let end = end.unwrap_or(line.text.len());
        if quote != b'\'' {
            variables(line, end);
        }
        line.take(end, String);
    }

    fn document(&mut self, line: &mut Line<'_, '_, '_>) {
        let Mode::Document(label, embeds) = &self.mode else { return };
        let start = line.after_blanks(0);
        let end = start + label.len();
        if line.at == 0 && line.text[start..].starts_with(label) && !is_name(line.byte(end)) {
            line.blanks();
            line.take(end, Keyword);
            self.mode = Mode::Code;
            return;
        }
        if *embeds {
            variables(line, line.text.len());
        }
        line.rest(String);
    }

    fn token(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, last: &mut u8) {
        let at = line.at;
        let byte = line.first();
        let next = line.byte(at + 1);
        match byte {
            0 if line.is_done() => return,
            b'?' if next == b'>' => {
                line.take(at + 2, Punctuation);
                self.mode = Mode::Html;
            }
            b'#' if next == b'[' => line.take(at + 2, Punctuation),
            b'#' => return self.line_comment(line),
            b'/' if next == b'/' => return self.line_comment(line),
            b'/' if next == b'*' => {
                line.take(at + 2, Comment);
                self.comment(line);
            }
            b'$' if begins_name(next) => line.take(line.name_end(at + 1), Variable),
            b'"' | b'\'' | b'`' => {
                line.take(at + 1, String);
                self.quoted(line, byte);
            }
            b'<' if line.starts_with(b"<<<") && self.begin_document(line) => {}
            b'0'..=b'9' => line.take(line.number_end(at, false), Number),
            b'-' if next == b'>' => line.take(at + 2, Punctuation),
            b'?' if line.starts_with(b"?->") => line.take(at + 3, Punctuation),
            b':' if next == b':' => line.take(at + 2, Punctuation),
            b'=' if next == b'>' => line.take(at + 2, Operator),
            _ if begins_name(byte) => {
                self.name(line, then, *last);
                *last = b'a';
                return;
            }
            _ => {
                if matches!(byte, b';' | b'{' | b'(' | b')') {
                    *then = Then::Any;
                }
                line.take(at + 1, SYMBOLS[(byte & 127) as usize]);
            }
        }
        *last = line.byte(line.at.saturating_sub(1));
        if line.at >= 2 && matches!(&line.text[line.at - 2..line.at], b"->" | b"::") {
            *last = b'.';
        }
    }

    /// Highlights a `//` or `#` comment, which ends with the line or the code.
    fn line_comment(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"?>", line.at).unwrap_or(line.text.len());
        line.take(end, Comment);
    }

    fn begin_document(&mut self, line: &mut Line<'_, '_, '_>) -> bool {
        let at = line.at;
        let start = line.after_blanks(at + 3);
        let quote = line.byte(start);
        let quoted = matches!(quote, b'\'' | b'"');
        let begin = if quoted { start + 1 } else { start };
        let end = line.name_end(begin);
        if end == begin || end - begin > 64 || quoted && line.byte(end) != quote {
            return false;
        }
        let label = line.text[begin..end].to_vec();
        line.take(at + 3, String);
        line.blanks();
        line.take(if quoted { end + 1 } else { end }, Keyword);
        line.rest(Plain);
        self.mode = Mode::Document(label, quote != b'\'');
        true
    }

    fn name(&self, line: &mut Line<'_, '_, '_>, then: &mut Then, last: u8) {
        let at = line.at;
        let end = line.name_end(at);
        let text = &line.text[at..end];
        let next = line.byte(line.after_blanks(end));
        let member = last == b'.';
        let wanted = std::mem::take(then);
        if !member && wanted != Then::Variable {
            let word =
                WORDS.get(text).filter(|word| wanted != Then::Function || word.category == Keyword && next != b'(');
            if let Some(word) = word {
                *then = word.then;
                return line.take(end, word.category);
            }
        }
        let category = match wanted {
            Then::Function => Function,
            Then::Variable if !member => Variable,
            Then::Type | Then::Module => {
                *then = wanted;
                Type
            }
            _ if member && text == b"class" => Keyword,
            _ if next == b'(' => Function,
            _ if member => Variable,
            _ if next == b':' && line.byte(end + 1) == b':' => Type,
            _ if next == b'\\' || last == b'\\' => Type,
            _ if is_shouted(text) => Variable,
            _ if next == b'$' || next == b'.' || last == b':' || next == b'|' || last == b'|' || last == b'?' => Type,
            _ if text[0].is_ascii_uppercase() => Type,
            _ => Plain,
        };
        line.take(end, category);
    }
}

/// Highlights the variables in a string, up to `stop`.
fn variables(line: &mut Line<'_, '_, '_>, stop: usize) {
    let mut index = line.at;
    while let Some(dollar) = line.find_before(b"$", index, stop) {
        index = dollar + 1;
        if !begins_name(line.byte(index)) {
            continue;
        }
        if dollar > 0 && line.byte(dollar - 1) == b'\\' {
            continue;
        }
        line.take(dollar, String);
        let end = line.name_end(index).min(stop);
        line.take(end, Variable);
        index = line.at;
        if line.starts_with(b"->") && begins_name(line.byte(index + 2)) {
            line.take(index + 2, Punctuation);
            let end = line.name_end(index + 2).min(stop);
            line.take(end, Variable);
            index = line.at;
        }
    }
}
