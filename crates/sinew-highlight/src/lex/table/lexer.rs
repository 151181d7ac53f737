//! The table-driven lexer: the loop over the tokens of a line.

use super::compiled::{Class, CompiledRules, Language, PreviousToken};
use super::regions::Frames;
use super::rules::{Calls, Key, Sigil, is_in};
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable,
};
use crate::lex::preprocessor::directive;
use crate::lex::scan::{Line, begins_name, is_capitalised, is_shouted};
use crate::lex::words::Then;

/// The maximum distance of the closing bracket after `${`.
const LONGEST_BRACES: usize = 256;
/// The maximum length of a quoted label of a here-document.
const LONGEST_LABEL: usize = 64;

/// The state of the lexer between lines.
#[derive(Clone)]
pub(crate) struct TableLexer {
    language: &'static Language,
    frames: Frames,
    delimited: Option<OpenDelimited>,
    /// The label of the open here-document, and whether its end may be indented.
    heredoc: Option<(Box<[u8]>, bool)>,
    /// The end of the open string of OCaml: `|name}`.
    tagged: Option<Box<[u8]>>,
    /// True if the previous line ended with a backslash.
    continued: bool,
    /// The category of the value at the end of the previous line.
    value: Option<Category>,
}

/// A string with a custom delimiter.
#[derive(Clone, Copy)]
struct OpenDelimited {
    open: u8,
    close: u8,
    depth: u32,
    /// The number of remaining parts, including this one.
    parts: u8,
}

/// The context that previous tokens provide for the next one.
struct Context {
    before: PreviousToken,
    then: Then,
    /// The index of the first byte of the line that is not a blank.
    indent: usize,
    /// The category of the rest of the line, and of the next one if it continues there.
    value: Option<Category>,
    /// The label of a here-document that begins on the next line.
    heredoc: Option<(Box<[u8]>, bool)>,
}

impl TableLexer {
    pub(crate) fn new(language: &'static Language) -> Self {
        Self {
            language,
            frames: Frames::default(),
            delimited: None,
            heredoc: None,
            tagged: None,
            continued: false,
            value: None,
        }
    }

    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        let table: &'static CompiledRules = self.language;
        self.frames.begin_line();
        if let Some((label, indented)) = &self.heredoc {
            let text = if *indented { line.text.trim_ascii_start() } else { line.text };
            if text.trim_ascii_end() == &**label {
                self.heredoc = None;
            }
            return line.rest(String);
        }
        let start = if self.continued { PreviousToken::Other } else { PreviousToken::Start };
        let mut context = Context {
            before: start,
            then: Then::Any,
            indent: line.after_blanks(0),
            value: self.value.filter(|_| self.continued),
            heredoc: None,
        };
        if let Some(value) = context.value {
            line.rest(value);
        };
        if let Some(open) = self.delimited {
            self.delimited_rest(line, open);
            context.before = PreviousToken::Value;
        }
        if let Some(end) = self.tagged.take() {
            self.tagged_rest(line, end);
            context.before = PreviousToken::Value;
        }
        if table.has_line_rules && line.at == 0 && !self.frames.in_text() {
            line_rules(table, line);
        }
        loop {
            if self.frames.in_text() {
                self.frames.resume(table, line);
                context.before = PreviousToken::Value;
            }
            line.blanks();
            if line.is_done() {
                break;
            }
            let byte = line.first();
            if table.special[byte as usize] && self.special(table, line, &mut context) {
                continue;
            }
            match table.class[byte as usize] {
                Class::Name => name(table, line, &mut context),
                Class::Digit => number(table, line, line.at, &mut context),
                Class::Symbol(category) => self.symbol(table, line, category, &mut context),
            }
        }
        self.frames.end_line(table);
        self.continued = line.text.last() == Some(&b'\\');
        self.heredoc = context.heredoc;
        self.value = context.value;
    }

    /// Handles comments, regions and other tokens that cannot be recognised from their first byte.
    fn special(&mut self, table: &CompiledRules, line: &mut Line<'_, '_, '_>, context: &mut Context) -> bool {
        let rules = &table.rules;
        let before = context.before;
        for (index, region) in rules.regions.iter().enumerate() {
            if line.starts_with(region.begin.as_bytes())
                && table.is_place(line, region.place, before, context.indent)
                && self.frames.begin(table, line, index)
            {
                if region.category != Comment {
                    context.before = PreviousToken::Value;
                    context.then = Then::Any;
                }
                return true;
            }
        }
        for &(begin, place) in rules.comments {
            if line.starts_with(begin.as_bytes()) && table.is_place(line, place, before, context.indent) {
                // A backslash at the end continues a comment of a language with C's preprocessor.
                context.value = rules.preprocessor.then_some(Comment);
                line.rest(Comment);
                return true;
            }
        }
        if self.delimited(table, line, context) || heredoc(table, line, context) || self.tagged(table, line, context) {
            return true;
        }
        for sigil in rules.sigils {
            if line.starts_with(sigil.mark.as_bytes())
                && table.is_place(line, sigil.place, before, context.indent)
                && sigil_name(table, line, sigil, context)
            {
                return true;
            }
        }
        for prefix in rules.number_prefixes {
            let from = line.at + prefix.len();
            if line.starts_with(prefix.as_bytes()) && line.byte(from).is_ascii_hexdigit() {
                number(table, line, from, context);
                return true;
            }
        }
        let (byte, next) = (line.first(), line.byte(line.at + 1));
        match byte {
            b'.' if next.is_ascii_digit() && before != PreviousToken::Value => number(table, line, line.at, context),
            b'-' | b'+'
                if rules.signed
                    && next.is_ascii_digit()
                    && (before != PreviousToken::Value || line.byte(line.at - 1) == b' ') =>
            {
                number(table, line, line.at + 1, context);
            }
            b'\\' if table.class[byte as usize] != Class::Name => {
                line.take(line.at + 2, if line.at + 1 == line.text.len() { Punctuation } else { Plain });
            }
            _ => return false,
        }
        true
    }

    /// Handles an operator, a bracket or an unknown character.
    fn symbol(
        &mut self,
        table: &CompiledRules,
        line: &mut Line<'_, '_, '_>,
        category: Category,
        context: &mut Context,
    ) {
        let at = line.at;
        let byte = line.first();
        if matches!(byte, b'{' | b'}' | b'(' | b')') && self.frames.bracket(byte) {
            return line.take(at + 1, Punctuation);
        }
        context.before = match byte {
            b')' | b']' => PreviousToken::Value,
            b'}' if !table.statement_ends[b'}' as usize] => PreviousToken::Value,
            b'.' if line.byte(at + 1) == b'.' => {
                return line.take(at + 2, Operator);
            }
            b'.' => PreviousToken::Dot,
            b':' if line.byte(at + 1) == b':' => {
                context.before = PreviousToken::Other;
                return line.take(at + 2, Punctuation);
            }
            b'-' if line.byte(at + 1) == b'>' => {
                context.before = PreviousToken::Other;
                return line.take(at + 2, category);
            }
            _ if table.statement_ends[byte as usize] => PreviousToken::Start,
            b'(' => PreviousToken::Open,
            b'[' if table.rules.calls == Calls::Head && is_in(table.rules.statement_ends, b'[') => PreviousToken::Open,
            _ => PreviousToken::Other,
        };
        if matches!(byte, b';' | b'{' | b'}' | b')' | b'=') {
            context.then = Then::Any;
        }
        line.take(at + 1, category);
    }

    /// Handles `qw(…)` and `~r/…/`.
    fn delimited(&mut self, table: &CompiledRules, line: &mut Line<'_, '_, '_>, context: &mut Context) -> bool {
        let at = line.at;
        if context.before == PreviousToken::Dot || at > 0 && matches!(line.byte(at - 1), b'>' | b'{' | b'$' | b'&') {
            return false;
        }
        for row in table.rules.delimited {
            if !line.starts_with(row.begin.as_bytes()) {
                continue;
            }
            let mut from = at + row.begin.len();
            if row.letter {
                if !line.byte(from).is_ascii_alphabetic() {
                    continue;
                }
                from = line.name_end(from);
            }
            let glued = from;
            if row.spaced && line.byte(from) == b' ' {
                from += 1;
            }
            let open = line.byte(from);
            let close = match open {
                b'(' => b')',
                b'[' => b']',
                b'{' => b'}',
                b'<' => b'>',
                _ if row.brackets || from > glued || open <= b' ' || open >= 0x7f || table.letters[open as usize] => {
                    continue;
                }
                b',' | b';' | b')' | b'=' if open != b'=' || line.byte(from + 1) == b'>' || row.parts == 1 => continue,
                b':' if line.byte(from + 1) == b':' => continue,
                other => other,
            };
            // `y => 1` and `{s}` are names.
            if open == b'=' && line.byte(from + 1) == b'>' {
                continue;
            }
            line.take(from + 1, String);
            context.before = PreviousToken::Value;
            context.then = Then::Any;
            self.delimited_rest(line, OpenDelimited { open, close, depth: 1, parts: row.parts });
            return true;
        }
        false
    }

    /// Handles OCaml's `{name|…|name}`.
    fn tagged(&mut self, table: &CompiledRules, line: &mut Line<'_, '_, '_>, context: &mut Context) -> bool {
        let from = line.at + 1;
        if !table.rules.tagged_strings || line.first() != b'{' {
            return false;
        }
        let rest = &line.text[from..];
        let name =
            rest.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').take(LONGEST_LABEL).count();
        if line.byte(from + name) != b'|' {
            return false;
        }
        let end = [b"|", &rest[..name], b"}"].concat();
        line.take(from + name + 1, String);
        context.before = PreviousToken::Value;
        context.then = Then::Any;
        self.tagged_rest(line, end.into());
        true
    }

    fn tagged_rest(&mut self, line: &mut Line<'_, '_, '_>, end: Box<[u8]>) {
        match line.find(&end, line.at) {
            Some(found) => line.take(found + end.len(), String),
            None => {
                line.rest(String);
                self.tagged = Some(end);
            }
        }
    }

    fn delimited_rest(&mut self, line: &mut Line<'_, '_, '_>, mut open: OpenDelimited) {
        let mut index = line.at;
        self.delimited = None;
        while index < line.text.len() {
            let byte = line.text[index];
            index += 1;
            if byte == b'\\' {
                index += 1;
            } else if byte == open.close {
                open.depth -= 1;
                if open.depth > 0 {
                    continue;
                }
                open.parts -= 1;
                if open.parts == 0 {
                    let end = line.name_end(index);
                    return line.take(end, String);
                }
                open.depth = 1;
                if open.open != open.close {
                    // The second part has its own brackets: `s{…}{…}`.
                    index = line.after_blanks(index);
                    if line.byte(index) == open.open {
                        index += 1;
                    }
                }
            } else if byte == open.open {
                open.depth = open.depth.saturating_add(1);
            }
        }
        line.rest(String);
        self.delimited = Some(open);
    }
}

/// Applies the rules for the start of a line.
fn line_rules(table: &CompiledRules, line: &mut Line<'_, '_, '_>) {
    let start = line.after_blanks(0);
    let rest = &line.text[start.min(line.text.len())..];
    if table.rules.preprocessor && rest.first() == Some(&b'#') {
        directive(line, start);
        return;
    }
    for rule in table.rules.lines {
        if (rule.indented || start == 0) && rest.starts_with(rule.begin.as_bytes()) {
            line.blanks();
            if rule.whole {
                return line.rest(rule.category);
            }
            return line.take(start + rule.begin.len(), rule.category);
        }
    }
}

/// Handles `<<EOF` and `<<-"EOF"`.
fn heredoc(table: &CompiledRules, line: &mut Line<'_, '_, '_>, context: &mut Context) -> bool {
    for begin in table.rules.heredocs {
        if !line.starts_with(begin.as_bytes()) {
            continue;
        }
        let mut from = line.at + begin.len();
        let after = line.after_blanks(from);
        // Perl: `<< 'A B'`. Elsewhere an operator may precede a string.
        if table.rules.spaced_heredocs && matches!(line.byte(after), b'"' | b'\'') {
            from = after;
        }
        let quote = line.byte(from);
        let quoted = matches!(quote, b'"' | b'\'');
        if quoted {
            from += 1;
        }
        let closing = || line.find_before(&[quote], from, from + LONGEST_LABEL).unwrap_or(from);
        let end = if quoted { closing() } else { line.name_end(from) };
        let label = &line.text[from.min(end)..end];
        let fits =
            label.first().is_some_and(|&byte| if quoted { begins_name(byte) } else { byte.is_ascii_uppercase() });
        if !fits || quoted && line.byte(end) != quote {
            continue;
        }
        context.heredoc = Some((label.into(), matches!(begin.as_bytes().last(), Some(b'-' | b'~'))));
        context.before = PreviousToken::Value;
        line.take(if quoted { end + 1 } else { end }, String);
        return true;
    }
    false
}

/// Handles `$name`, `${…}` and `$?`.
fn sigil_name(table: &CompiledRules, line: &mut Line<'_, '_, '_>, sigil: &Sigil, context: &mut Context) -> bool {
    let at = line.at;
    let from = at + sigil.mark.len();
    let next = line.byte(from);
    let mut end = table.name_end(line, from);
    let mut category = sigil.category;
    if end == from {
        end = match next {
            b'{' | b'(' if is_in(sigil.braces, next) => {
                let close = if next == b'{' { b"}" } else { b")" };
                match line.find_before(close, from, from + LONGEST_BRACES) {
                    Some(found) => found + 1,
                    None => from,
                }
            }
            0 => return false,
            _ if is_in(sigil.specials, next) => from + 1,
            _ => return false,
        };
    } else if let Some(word) = table.words.get(&line.text[at..end]) {
        category = word.category;
        context.then = word.then;
        line.take(end, category);
        context.before = PreviousToken::Keyword;
        return true;
    }
    line.take(end, category);
    context.before = if category == Keyword { PreviousToken::Keyword } else { PreviousToken::Value };
    context.then = Then::Any;
    true
}

/// Handles a number whose digits begin at `from`.
fn number(table: &CompiledRules, line: &mut Line<'_, '_, '_>, from: usize, context: &mut Context) {
    let open = table.rules.open_numbers;
    let mut end = line.number_end(from, open);
    while is_in(table.rules.number_marks, line.byte(end)) && line.byte(end) != 0 {
        let next = line.number_end(end + 1, open);
        if next == end + 1 {
            // A based number in Ada ends with its marker, a percentage with its sign.
            if matches!(line.byte(end), b'#' | b'%') {
                end += 1;
            }
            break;
        }
        end = next;
    }
    line.take(end.max(line.at + 1), Number);
    context.before = PreviousToken::Value;
}

fn name(table: &CompiledRules, line: &mut Line<'_, '_, '_>, context: &mut Context) {
    let rules = &table.rules;
    let at = line.at;
    // The first byte may be one that is only valid at the start of a name.
    let end = table.name_end(line, at + 1).max(at + 1);
    let text = &line.text[at..end];
    let before = context.before;
    let allowed = (before != PreviousToken::Dot || rules.words_after_dot)
        && (!rules.words_at_start || before == PreviousToken::Start);
    let word = table.words.get(text).filter(|_| allowed);
    // A command has precedence over a key, and a key over a word.
    let key = if rules.words_at_start && word.is_some() { None } else { key_of(table, line, end, context.indent) };
    if let Some(key) = key {
        line.take(end, key.category);
        context.before = PreviousToken::Value;
        if let Some(value) = key.value {
            let mark = line.after_blanks(end) + key.mark.len();
            line.blanks();
            line.take(mark, Punctuation);
            line.blanks();
            line.rest(value);
            context.value = Some(value);
        }
        return;
    }
    if let Some(word) = word {
        if word.category == Comment {
            return line.rest(Comment);
        }
        context.then = word.then;
        context.before = if word.category == Keyword || word.category == Operator {
            PreviousToken::Keyword
        } else {
            PreviousToken::Value
        };
        return line.take(end, word.category);
    }
    let next = line.byte(end);
    let category = match (context.then, rules.calls) {
        (Then::Type, _) => Type,
        (Then::Function, _) => Function,
        (Then::Variable, _) => Variable,
        (Then::Module, _) => Type,
        (Then::Any, Calls::Head) if before == PreviousToken::Open => Function,
        (Then::Any, Calls::Command) if before == PreviousToken::Start => Function,
        (Then::Any, Calls::Bracket) if next == b'(' => Function,
        _ if rules.shouted != Plain && is_shouted(text) => rules.shouted,
        _ if rules.capitalised != Plain
            && (is_capitalised(text) || text.len() == 1 && text[0].is_ascii_uppercase()) =>
        {
            rules.capitalised
        }
        _ => Plain,
    };
    // A path continues after its dots: `a.b.C`.
    if !(context.then == Then::Module && matches!(next, b'.' | b':')) {
        context.then = Then::Any;
    }
    context.before = PreviousToken::Value;
    line.take(end, category);
}

/// Returns the rule by which a name that ends at `end` is a key; `None` if it is not a key.
fn key_of<'a>(table: &'a CompiledRules, line: &Line<'_, '_, '_>, end: usize, indent: usize) -> Option<&'a Key> {
    if table.rules.keys.is_empty() {
        return None;
    }
    let first = indent == line.at;
    let behind = line.after_blanks(end);
    table.rules.keys.iter().find(|key| {
        let mark = key.mark.as_bytes();
        let at = if key.spaced { behind } else { end };
        (first || !key.first)
            && line.text[at.min(line.text.len())..].starts_with(mark)
            // `==`, `::` and `=>` are different markers.
            && !(mark.len() == 1 && matches!(line.byte(at + 1), b'=' | b':' | b'>') && mark[0] != b' ')
    })
}
