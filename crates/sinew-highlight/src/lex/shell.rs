//! Bash, sh and zsh.

use std::sync::LazyLock;

use super::scan::{Line, begins_name, is_name};
use super::words::{Then, Words};
use crate::category::Category::{Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Variable};

/// The maximum nesting of modes.
const DEEPEST: usize = 32;
/// The maximum length of a here-document delimiter.
const LONGEST_LABEL: usize = 64;

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Shell {
    modes: Vec<Mode>,
    /// Here-documents that begin after this line, or the one that is open (first).
    documents: Vec<Document>,
    open: bool,
    /// The next word is the name of a command.
    command: bool,
    resumed: bool,
    /// The last keyword was `case`.
    switched: bool,
    /// True if the patterns of a `case` branch follow.
    pattern: bool,
    /// The nesting depth of `case`.
    cases: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// `"…"`.
    Double,
    /// `'…'` and `$'…'`.
    Single(bool),
    /// `$(…)`, `(…)`.
    Round,
    /// `` `…` ``.
    Back,
    /// `${…}`.
    Brace,
    /// `$((…))`, `((…))`.
    Sum,
    /// `[[ … ]]` and `[ … ]`.
    Test,
}

#[derive(Clone, PartialEq, Eq)]
struct Document {
    label: Vec<u8>,
    tabs: bool,
    raw: bool,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        (Keyword, Then::Function, "function"),
        (Keyword, Then::Variable, "declare export local readonly typeset"),
        (Keyword, Then::Any, "if then elif else while until do time coproc"),
        (Keyword, Then::Type, "fi done esac for select case in return break continue"),
    ])
});

impl Shell {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if self.open {
            return self.document(line);
        }
        if !self.resumed {
            self.command = true;
        }
        self.resumed = line.text.last() == Some(&b'\\');
        let mut then = Then::Any;
        while !line.is_done() {
            match self.modes.last().copied() {
                Some(Mode::Double) => self.double(line),
                Some(Mode::Single(escapes)) => self.single(line, escapes),
                Some(Mode::Brace) => self.brace(line),
                Some(Mode::Sum) => self.sum(line),
                _ if self.pattern => self.patterns(line),
                _ => self.code(line, &mut then),
            }
        }
        self.open = !self.documents.is_empty();
    }

    fn push(&mut self, mode: Mode) {
        if self.modes.len() < DEEPEST {
            self.modes.push(mode);
        }
    }

    /// Highlights a line of a here-document.
    fn document(&mut self, line: &mut Line<'_, '_, '_>) {
        let Some(document) = self.documents.first() else { return };
        let text = if document.tabs { line.text.trim_ascii_start() } else { line.text };
        if text == document.label {
            self.documents.remove(0);
            self.open = !self.documents.is_empty();
            return line.rest(Keyword);
        }
        if document.raw {
            return line.rest(String);
        }
        while let Some(dollar) = line.find(b"$", line.at) {
            line.take(dollar, String);
            let end = variable_end(line, dollar);
            if end > dollar + 1 {
                line.take(end, Variable);
            } else {
                line.take(dollar + 1, String);
            }
        }
        line.rest(String);
    }

    fn double(&mut self, line: &mut Line<'_, '_, '_>) {
        let mut end = line.at;
        loop {
            match line.byte(end) {
                0 if end >= line.text.len() => return line.rest(String),
                b'"' => {
                    line.take(end + 1, String);
                    self.modes.pop();
                    return;
                }
                b'\\' => end += 2,
                b'`' => {
                    line.take(end, String);
                    line.take(end + 1, Punctuation);
                    self.backquote();
                    return;
                }
                b'$' => {
                    line.take(end, String);
                    if self.dollar(line, String) {
                        return;
                    }
                    end = line.at;
                }
                _ => end += 1,
            }
        }
    }

    fn backquote(&mut self) {
        if self.modes.contains(&Mode::Back) {
            while self.modes.pop().is_some_and(|mode| mode != Mode::Back) {}
            self.command = false;
        } else {
            self.push(Mode::Back);
            self.command = true;
        }
    }

    fn single(&mut self, line: &mut Line<'_, '_, '_>, escapes: bool) {
        let end = if escapes { line.quote_end(b'\'', line.at) } else { line.find(b"'", line.at).map(|end| end + 1) };
        if end.is_some() {
            self.modes.pop();
        }
        line.take(end.unwrap_or(line.text.len()), String);
    }

    /// Handles `$…`. Returns true if the mode changed.
    fn dollar(&mut self, line: &mut Line<'_, '_, '_>, otherwise: crate::category::Category) -> bool {
        let at = line.at;
        match (line.byte(at + 1), line.byte(at + 2)) {
            (b'(', b'(') => {
                line.take(at + 1, Variable);
                line.take(at + 3, Punctuation);
                self.push(Mode::Sum);
                true
            }
            (b'(', _) => {
                line.take(at + 1, Variable);
                line.take(at + 2, Punctuation);
                self.push(Mode::Round);
                self.command = true;
                true
            }
            (b'{', _) => {
                line.take(at + 1, Variable);
                line.take(at + 2, Punctuation);
                if matches!(line.first(), b'#' | b'!') {
                    line.take(at + 3, Operator);
                }
                let end = line.name_end(line.at);
                let end = if end == line.at && matches!(line.byte(end), b'@' | b'*' | b'?' | b'$' | b'-') {
                    end + 1
                } else {
                    end
                };
                line.take(end, Variable);
                self.push(Mode::Brace);
                true
            }
            (b'\'', _) if otherwise != String => {
                line.take(at + 2, String);
                self.push(Mode::Single(true));
                true
            }
            (b'"', _) if otherwise != String => {
                line.take(at + 2, String);
                self.push(Mode::Double);
                true
            }
            _ => {
                let end = variable_end(line, at);
                line.take(end, if end > at + 1 { Variable } else { otherwise });
                false
            }
        }
    }

    /// Handles the text after the name in `${name…}`.
    fn brace(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        match line.first() {
            b'}' => {
                line.take(at + 1, Punctuation);
                self.modes.pop();
            }
            b'"' => {
                line.take(at + 1, String);
                self.push(Mode::Double);
            }
            b'\'' => {
                line.take(at + 1, String);
                self.push(Mode::Single(false));
            }
            b'$' => {
                self.dollar(line, Plain);
            }
            b'[' | b']' => line.take(at + 1, Punctuation),
            b'@' | b'!' => line.take(at + 1, Variable),
            b':' | b'-' | b'+' | b'=' | b'?' | b'#' | b'%' | b'/' | b'^' | b',' | b'*' => line.take(at + 1, Operator),
            b'\\' => line.take(at + 2, String),
            b'0'..=b'9' => line.take(line.name_end(at), Number),
            _ => {
                let end = line.text[at..]
                    .iter()
                    .position(|byte| matches!(byte, b'}' | b'"' | b'\'' | b'$' | b'\\' | b'[' | b']' | b'/'));
                line.take(end.map_or(line.text.len(), |end| at + end.max(1)), Plain);
            }
        }
    }

    fn sum(&mut self, line: &mut Line<'_, '_, '_>) {
        line.blanks();
        let at = line.at;
        match line.first() {
            b')' if line.byte(at + 1) == b')' => {
                line.take(at + 2, Punctuation);
                self.modes.pop();
            }
            b'(' => {
                line.take(at + 1, Punctuation);
                self.push(Mode::Round);
            }
            b'$' => {
                self.dollar(line, Plain);
            }
            b'"' => {
                line.take(at + 1, String);
                self.push(Mode::Double);
            }
            b'0'..=b'9' => line.take(line.name_end(at), Number),
            byte if begins_name(byte) => line.take(line.name_end(at), Plain),
            b',' | b';' | b')' | b'[' | b']' => line.take(at + 1, Punctuation),
            _ => line.take(at + 1, Operator),
        }
    }

    fn code(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then) {
        line.blanks();
        let at = line.at;
        let next = line.byte(at + 1);
        let byte = line.first();
        let test = self.modes.last() == Some(&Mode::Test);
        match byte {
            0 if line.is_done() => {}
            b'#' if at == 0 || matches!(line.byte(at - 1), b' ' | b'\t' | b';' | b'(' | b'&' | b'|') => {
                line.rest(Comment)
            }
            b'"' => {
                line.take(at + 1, String);
                self.push(Mode::Double);
                self.command = false;
            }
            b'\'' => {
                line.take(at + 1, String);
                self.push(Mode::Single(false));
                self.command = false;
            }
            b'$' => {
                let changed = self.dollar(line, Plain);
                if !changed {
                    self.command = false;
                }
            }
            b'`' => {
                line.take(at + 1, Punctuation);
                self.backquote();
            }
            b'\\' => {
                let end = at + 2;
                line.take(end, if end > line.text.len() { Punctuation } else { String });
            }
            b'(' if next == b'(' && self.command => {
                line.take(at + 2, Punctuation);
                self.push(Mode::Sum);
            }
            b'(' => {
                line.take(at + 1, Punctuation);
                if next == b')' {
                    line.take(at + 2, Punctuation);
                } else {
                    self.push(Mode::Round);
                }
                self.command = at == 0 || line.byte(at - 1) != b'=';
            }
            b')' => {
                let closes = matches!(self.modes.last(), Some(Mode::Round));
                if closes {
                    self.modes.pop();
                }
                line.take(at + 1, if closes { Punctuation } else { Keyword });
                self.command = !closes;
            }
            b'{' | b'}' if self.command && matches!(next, b' ' | b'\t' | b';' | b')' | 0) => {
                line.take(at + 1, Punctuation)
            }
            b'[' if self.command => {
                let end = if next == b'[' { at + 2 } else { at + 1 };
                line.take(end, Function);
                self.command = false;
                self.push(Mode::Test);
            }
            b']' if test => {
                let end = if next == b']' { at + 2 } else { at + 1 };
                line.take(end, Function);
                self.modes.pop();
            }
            b';' if matches!(next, b';' | b'&') => {
                line.take(at + if next == b';' && line.byte(at + 2) == b'&' { 3 } else { 2 }, Punctuation);
                self.command = true;
                self.pattern = self.cases > 0;
            }
            b';' | b'|' | b'&' => {
                let redirects = byte == b'&' && next == b'>';
                line.take(if next == byte || redirects { at + 2 } else { at + 1 }, Operator);
                *then = Then::Any;
                self.command = !redirects && (!test || byte == b';');
            }
            b'<' if next == b'<' && line.byte(at + 2) != b'<' => self.begin_document(line),
            b'<' | b'>' => {
                let mut end = at + 1;
                while matches!(line.byte(end), b'<' | b'>' | b'&' | b'|') {
                    end += 1;
                }
                line.take(end, Operator);
                let descriptor = line.name_end(end);
                if end - at > 1 && line.text[end..descriptor].iter().all(u8::is_ascii_digit) {
                    line.take(descriptor, Number);
                }
            }
            b'=' | b'!' if test || self.command => {
                let end = if matches!(next, b'=' | b'~') { at + 2 } else { at + 1 };
                line.take(end, Operator);
            }
            b'*' | b'?' => line.take(at + 1, Operator),
            b'-' if !self.command
                && option_end(line, at) > at + 1
                && (at == 0 || matches!(line.byte(at - 1), b' ' | b'\t')) =>
            {
                let end = option_end(line, at);
                line.take(end, Variable);
                if line.first() == b'=' {
                    line.take(line.at + 1, Operator);
                }
            }
            _ => self.word(line, then),
        }
    }

    /// Handles the patterns of a `case` branch.
    fn patterns(&mut self, line: &mut Line<'_, '_, '_>) {
        line.blanks();
        let at = line.at;
        match line.first() {
            0 if line.is_done() => {}
            b'#' => line.rest(Comment),
            b')' => {
                line.take(at + 1, Keyword);
                self.pattern = false;
                self.command = true;
            }
            b'(' => line.take(at + 1, Keyword),
            b'"' => {
                line.take(at + 1, String);
                self.push(Mode::Double);
            }
            b'\'' => {
                line.take(at + 1, String);
                self.push(Mode::Single(false));
            }
            b'$' => {
                self.dollar(line, Plain);
            }
            b'|' | b'*' | b'?' => line.take(at + 1, Operator),
            b'[' | b']' => line.take(at + 1, Keyword),
            b'\\' => line.take(at + 2, String),
            _ => {
                let end = line.text[at + 1..].iter().position(|byte| {
                    matches!(
                        byte,
                        b' ' | b'\t' | b')' | b'(' | b'"' | b'\'' | b'$' | b'|' | b'*' | b'?' | b'[' | b']' | b'\\'
                    )
                });
                let end = end.map_or(line.text.len(), |end| at + 1 + end);
                let last = line.text[at..end] == *b"esac";
                if last {
                    self.end_case();
                    self.command = false;
                }
                line.take(end, if last { Keyword } else { Plain });
            }
        }
    }

    fn end_case(&mut self) {
        self.cases = self.cases.saturating_sub(1);
        self.pattern = false;
    }

    fn begin_document(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        let tabs = line.byte(at + 2) == b'-';
        line.take(if tabs { at + 3 } else { at + 2 }, Operator);
        line.blanks();
        let start = line.at;
        let mut raw = false;
        let mut quote = 0;
        let mut end = start;
        let mut label = Vec::new();
        while end < line.text.len() {
            let byte = line.byte(end);
            match byte {
                _ if quote != 0 && byte == quote => quote = 0,
                b'\'' | b'"' if quote == 0 => (raw, quote) = (true, byte),
                b'\\' if quote != b'\'' => {
                    raw = true;
                    end += 1;
                    label.extend(line.text.get(end));
                }
                b' ' | b'\t' | b';' | b'|' | b'&' | b'>' | b'<' | b')' if quote == 0 => break,
                _ => label.push(byte),
            }
            end += 1;
        }
        let end = end.min(line.text.len());
        line.take(end, Keyword);
        let sums = self.modes.contains(&Mode::Sum);
        if !label.is_empty() && label.len() <= LONGEST_LABEL && !sums && self.documents.len() < 8 {
            self.documents.push(Document { label, tabs, raw });
        }
    }

    fn word(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then) {
        let at = line.at;
        let end = word_end(line, at);
        let name = line.name_end(at);
        let sign = line.byte(name);
        let array = sign == b'[' && name > at && line.text[name..end.max(name)].windows(2).any(|pair| pair == b"]=");
        let assigns = name > at
            && begins_name(line.first())
            && (sign == b'=' || sign == b'+' && line.byte(name + 1) == b'=' || array)
            && (self.command || *then == Then::Variable);
        if assigns {
            return self.assign(line, name, array);
        }
        let text = &line.text[at..end];
        if text.iter().all(u8::is_ascii_digit) && matches!(line.byte(end), b'<' | b'>') {
            return line.take(end.max(at + 1), Number);
        }
        let wanted = std::mem::take(then);
        if wanted == Then::Function || self.command && line.text[end..].starts_with(b"()") {
            self.command = false;
            return line.take(end, Function);
        }
        if wanted == Then::Variable {
            *then = Then::Variable;
            let variable = name == end;
            return line.take(end, if variable { Variable } else { Plain });
        }
        if (self.command || matches!(text, b"in" | b"do"))
            && let Some(word) = WORDS.get(text).filter(|_| self.command || wanted == Then::Module || text == b"do")
        {
            match text {
                b"case" => self.cases = self.cases.saturating_add(1),
                b"esac" => self.end_case(),
                b"in" => self.pattern = self.cases > 0 && self.switched,
                _ => {}
            }
            self.switched = text == b"case";
            *then = match text {
                b"for" | b"select" | b"case" => Then::Module,
                _ if word.then == Then::Type => Then::Any,
                _ => word.then,
            };
            self.command = word.then == Then::Any;
            return line.take(end, Keyword);
        }
        if wanted == Then::Module {
            *then = Then::Module;
        }
        if self.command {
            self.command = false;
            return line.take(end, Function);
        }
        line.take(end.max(at + 1), Plain);
    }

    fn assign(&mut self, line: &mut Line<'_, '_, '_>, name: usize, array: bool) {
        line.take(name, Variable);
        if array {
            line.take(name + 1, Punctuation);
            let close = line.find(b"]=", name).unwrap_or(name);
            line.take(close, Plain);
            line.take(close + 1, Punctuation);
        }
        if line.first() == b'+' {
            line.take(line.at + 1, Operator);
        }
        line.take(line.at + 1, Operator);
        let end = word_end(line, line.at);
        if end > line.at {
            line.take(end, String);
        }
    }
}

/// Returns the end of `$name`, `$1` or `$@`.
fn variable_end(line: &Line<'_, '_, '_>, dollar: usize) -> usize {
    let next = line.byte(dollar + 1);
    if begins_name(next) && next < 0x80 {
        let mut end = dollar + 1;
        while is_name(line.byte(end)) && line.byte(end) < 0x80 {
            end += 1;
        }
        end
    } else if next.is_ascii_digit() || matches!(next, b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') {
        dollar + 2
    } else {
        dollar + 1
    }
}

fn option_end(line: &Line<'_, '_, '_>, at: usize) -> usize {
    let mut end = at;
    while is_name(line.byte(end)) || line.byte(end) == b'-' {
        end += 1;
    }
    end
}

fn word_end(line: &Line<'_, '_, '_>, from: usize) -> usize {
    let mut end = from;
    while end < line.text.len()
        && !matches!(
            line.byte(end),
            b' ' | b'\t'
                | b';'
                | b'|'
                | b'&'
                | b'('
                | b')'
                | b'<'
                | b'>'
                | b'"'
                | b'\''
                | b'`'
                | b'$'
                | b'\\'
                | b'*'
                | b'?'
        )
    {
        end += 1;
    }
    end
}
