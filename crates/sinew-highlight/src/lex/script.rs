//! JavaScript and TypeScript, with JSX.

use memchr::memchr3;

use super::scan::{Line, begins_name, is_capitalised, is_name};
use super::script_words::{HARD, SOFT, TYPES, TYPESCRIPT};
use super::words::Then;
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable,
};

/// The maximum nesting of modes; deeper code stays text.
const DEEPEST: usize = 48;
/// The maximum number of slashes per line that are tried as regular expressions, because each needs a search of the
/// line.
const MOST_SLASHES: u32 = 8;

/// The state of the lexer between lines.
#[derive(Clone)]
pub(crate) struct Script {
    types: bool,
    elements: bool,
    modes: Vec<Mode>,
    /// The open brackets, innermost in the last bit: 1 for a brace.
    braces: u64,
    /// Those of them that enclose the members of a class or a type.
    bodies: u64,
    /// True if the next brace begins such a body.
    body: bool,
    comment: bool,
    /// The number of slashes in this line that looked like a regular expression but were not.
    slashes: u32,
    /// True if names belong to a type.
    typing: bool,
    /// The previous token, across lines.
    before: PreviousToken,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Code in `${…}` or in a JSX `{…}`, with the number of its open braces.
    Code(u32),
    /// Inside a template literal.
    Template,
    /// Inside `<name …>`.
    Tag,
    /// Between the tags of an element.
    Children,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PreviousToken {
    /// The beginning of an expression.
    Start,
    /// `{`, `,` or `;`: a key may follow.
    Separator,
    /// The end of a value: `/` divides.
    Value,
    Name,
    Dot,
    Keyword,
    /// A type follows.
    Colon,
}

impl Script {
    pub(crate) fn new(types: bool, elements: bool) -> Self {
        Self {
            types,
            elements,
            modes: Vec::new(),
            braces: 0,
            bodies: 0,
            body: false,
            comment: false,
            slashes: 0,
            typing: false,
            before: PreviousToken::Separator,
        }
    }

    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if line.starts_with(b"#!") && self.modes.is_empty() {
            return line.rest(Comment);
        }
        if self.comment {
            self.block(line);
        }
        self.slashes = 0;
        let mut then = Then::Any;
        let mut angles = 0u32;
        while !line.is_done() {
            match self.modes.last() {
                None | Some(Mode::Code(_)) => self.code(line, &mut then, &mut angles),
                Some(Mode::Template) => self.template(line),
                Some(Mode::Tag) => self.tag(line),
                Some(Mode::Children) => self.children(line),
            }
        }
    }

    fn push(&mut self, mode: Mode) -> bool {
        let fits = self.modes.len() < DEEPEST;
        if fits {
            self.modes.push(mode);
        }
        fits
    }

    fn block(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"*/", line.at);
        self.comment = end.is_none();
        line.take(end.map_or(line.text.len(), |end| end + 2), Comment);
    }

    fn code(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, angles: &mut u32) {
        line.blanks();
        let at = line.at;
        let byte = line.first();
        if begins_name(byte) || byte == b'$' || byte == b'#' && begins_name(line.byte(at + 1)) {
            return self.name(line, then, *angles > 0);
        }
        let next = line.byte(at + 1);
        let last = std::mem::replace(&mut self.before, PreviousToken::Start);
        if matches!(byte, b';' | b'{' | b'}' | b')' | b'=') || byte == b',' && *angles == 0 {
            self.typing = byte == b'=' && next != b'>' && *then == Then::Module;
        }
        match byte {
            0 if line.is_done() => self.before = last,
            b'0'..=b'9' => {
                let end = line.number_end(at, true);
                line.take(end, Number);
                self.before = PreviousToken::Value;
            }
            b'.' if next.is_ascii_digit() => {
                let end = line.number_end(at + 1, false);
                line.take(end, Number);
                self.before = PreviousToken::Value;
            }
            b'.' if line.starts_with(b"...") => line.take(at + 3, Operator),
            b'.' => {
                line.take(at + 1, Punctuation);
                self.before = PreviousToken::Dot;
            }
            b'"' | b'\'' => {
                let end = line.quote_end(byte, at + 1).unwrap_or(line.text.len());
                line.take(end, String);
                self.before = PreviousToken::Value;
            }
            b'`' => {
                line.take(at + 1, String);
                self.before = PreviousToken::Value;
                self.push(Mode::Template);
            }
            b'/' if next == b'/' => {
                self.before = last;
                line.rest(Comment);
            }
            b'/' if next == b'*' => {
                self.before = last;
                line.take(at + 2, Comment);
                self.block(line);
            }
            b'/' if !matches!(last, PreviousToken::Value | PreviousToken::Name | PreviousToken::Dot)
                && self.slashes < MOST_SLASHES =>
            {
                self.regex(line)
            }
            b'<' if self.begins_element(line, last) => {
                line.take(at + 1, Punctuation);
                self.element(line);
            }
            b'<' if self.types
                && (last == PreviousToken::Name || !matches!(last, PreviousToken::Value))
                && !matches!(next, b' ' | b'=' | b'<') =>
            {
                line.take(at + 1, Punctuation);
                *angles += 1;
                self.before = PreviousToken::Colon;
            }
            b'>' if *angles > 0 => {
                line.take(at + 1, Punctuation);
                *angles -= 1;
                self.before = PreviousToken::Name;
            }
            b'?' if next == b'.' && !line.byte(at + 2).is_ascii_digit() => {
                line.take(at + 2, if self.types { Punctuation } else { Operator });
                self.before = PreviousToken::Dot;
            }
            b'(' | b'[' | b'{' => {
                self.open(byte, last, *angles > 0);
                if byte == b'{' && *angles == 0 {
                    *then = Then::Any;
                }
                line.take(at + 1, Punctuation);
            }
            b')' | b']' | b'}' => self.close(line, byte),
            b';' => {
                *then = Then::Any;
                *angles = 0;
                self.body = false;
                self.before = PreviousToken::Separator;
                line.take(at + 1, Punctuation);
            }
            b',' => {
                self.before = if *angles > 0 { PreviousToken::Colon } else { PreviousToken::Separator };
                line.take(at + 1, Punctuation);
            }
            b':' => {
                let key = last != PreviousToken::Value && !self.types && self.braces & 1 == 1 || at == 0;
                line.take(at + 1, if key { Punctuation } else { self.colon(line, last) });
                let typed = self.types
                    && (at == 0 || !matches!(line.byte(at - 1), b' ' | b'\t'))
                    && (self.braces & 1 == 0 || self.bodies & 1 == 1 || last == PreviousToken::Value);
                self.typing = typed;
                self.before = if typed { PreviousToken::Colon } else { PreviousToken::Start };
            }
            b'=' if next == b'>' => line.take(at + 2, Operator),
            b'=' if self.typing => {
                line.take(at + 1, Operator);
                self.before = PreviousToken::Colon;
            }
            b'|' | b'&'
                if self.types
                    && next != byte
                    && (*angles > 0
                        || self.typing
                        || last == PreviousToken::Colon
                        || line.text[..at].iter().all(u8::is_ascii_whitespace)) =>
            {
                self.typing = true;
                line.take(at + 1, Operator);
                self.before = PreviousToken::Colon;
            }
            b'+' | b'-' if next == byte => {
                line.take(at + 2, Operator);
                self.before = last;
            }
            b'!' if self.types && next != b'=' && matches!(last, PreviousToken::Name | PreviousToken::Value) => {
                line.take(at + 1, Operator);
                self.before = PreviousToken::Value;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'!' | b'&' | b'|' | b'^' | b'~' | b'?' | b'<' | b'>' => {
                line.take(at + 1, Operator);
            }
            b'@' => line.take(at + 1, Punctuation),
            b'\\' => line.take(at + 2, Plain),
            _ => line.take(at + 1, Plain),
        }
    }

    /// Returns the category of a colon: punctuation after a key or a label, an operator in `?:` or before a type.
    fn colon(&self, line: &Line<'_, '_, '_>, last: PreviousToken) -> Category {
        if !self.types {
            let glued = line.at > 0 && is_name(line.byte(line.at - 1));
            return if glued && (last == PreviousToken::Name || self.braces & 1 == 1) { Punctuation } else { Operator };
        }
        let glued = line.at > 0 && (is_name(line.byte(line.at - 1)) || matches!(line.byte(line.at - 1), b'"' | b'\''));
        if glued && self.braces & 1 == 1 && self.bodies & 1 == 0 { Punctuation } else { Operator }
    }

    /// Opens a bracket. A brace in angle brackets is the default of a type parameter.
    fn open(&mut self, byte: u8, last: PreviousToken, in_angles: bool) {
        let brace = byte == b'{';
        let body = brace && (self.body && !in_angles || self.types && last == PreviousToken::Colon);
        self.braces = self.braces << 1 | u64::from(brace);
        self.bodies = self.bodies << 1 | u64::from(body);
        if brace {
            self.body &= in_angles;
            self.before = PreviousToken::Separator;
            if let Some(Mode::Code(depth)) = self.modes.last_mut() {
                *depth = depth.saturating_add(1);
            }
        }
    }

    fn close(&mut self, line: &mut Line<'_, '_, '_>, byte: u8) {
        line.take(line.at + 1, Punctuation);
        self.braces >>= 1;
        self.bodies >>= 1;
        self.before = if byte == b'}' { PreviousToken::Separator } else { PreviousToken::Value };
        if byte == b'}' {
            match self.modes.last_mut() {
                Some(Mode::Code(0)) => {
                    self.modes.pop();
                }
                Some(Mode::Code(depth)) => *depth -= 1,
                _ => {}
            }
        }
    }

    fn template(&mut self, line: &mut Line<'_, '_, '_>) {
        let mut index = line.at;
        while let Some(found) = memchr3(b'`', b'$', b'\\', &line.text[index.min(line.text.len())..]) {
            index += found;
            match line.byte(index) {
                b'`' => {
                    line.take(index + 1, String);
                    self.modes.pop();
                    self.before = PreviousToken::Value;
                    return;
                }
                b'$' if line.byte(index + 1) == b'{' && self.modes.len() < DEEPEST => {
                    line.take(index, String);
                    line.take(index + 2, Punctuation);
                    self.push(Mode::Code(0));
                    self.braces <<= 1;
                    self.bodies <<= 1;
                    self.before = PreviousToken::Start;
                    return;
                }
                b'\\' => index += 2,
                _ => index += 1,
            }
        }
        line.rest(String);
    }

    fn regex(&mut self, line: &mut Line<'_, '_, '_>) {
        let mut index = line.at + 1;
        let mut class = false;
        loop {
            match line.byte(index) {
                0 if index >= line.text.len() => {
                    self.slashes += 1;
                    return line.take(line.at + 1, Operator);
                }
                b'\\' => index += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => break,
                _ => {}
            }
            index += 1;
        }
        let end = line.name_end(index + 1);
        line.take(end, String);
        self.before = PreviousToken::Value;
    }

    fn begins_element(&self, line: &Line<'_, '_, '_>, last: PreviousToken) -> bool {
        let next = line.byte(line.at + 1);
        if !self.elements || matches!(last, PreviousToken::Value | PreviousToken::Name | PreviousToken::Colon) {
            return false;
        }
        if next == b'>' {
            return true;
        }
        if !next.is_ascii_alphabetic() {
            return false;
        }
        // `<T,>(…)` and `<T extends …>(…)` are type parameters.
        let end = line.name_end(line.at + 1);
        !(self.types && (line.byte(end) == b',' || line.text[end..].starts_with(b" extends ")))
    }

    /// Handles an opening tag after its `<`.
    fn element(&mut self, line: &mut Line<'_, '_, '_>) {
        if line.first() == b'>' {
            line.take(line.at + 1, Punctuation);
            self.push(Mode::Children);
            return;
        }
        self.tag_name(line);
        self.push(Mode::Tag);
    }

    fn tag_name(&mut self, line: &mut Line<'_, '_, '_>) {
        loop {
            let start = line.at;
            let mut end = line.name_end(start);
            while matches!(line.byte(end), b'-' | b':') && is_name(line.byte(end + 1)) {
                end = line.name_end(end + 1);
            }
            let category =
                if line.text[start..end].first().is_some_and(u8::is_ascii_uppercase) { Type } else { Keyword };
            line.take(end, category);
            if line.first() != b'.' {
                return;
            }
            line.take(line.at + 1, Punctuation);
        }
    }

    fn tag(&mut self, line: &mut Line<'_, '_, '_>) {
        line.blanks();
        let at = line.at;
        match line.first() {
            0 if line.is_done() => {}
            b'>' => {
                line.take(at + 1, Punctuation);
                self.modes.pop();
                self.push(Mode::Children);
            }
            b'/' if line.byte(at + 1) == b'>' => {
                line.take(at + 2, Punctuation);
                self.modes.pop();
                self.before = PreviousToken::Value;
            }
            b'/' if line.byte(at + 1) == b'/' => line.rest(Comment),
            quote @ (b'"' | b'\'') => {
                let end = line.text[at + 1..]
                    .iter()
                    .position(|&byte| byte == quote)
                    .map_or(line.text.len(), |end| at + end + 2);
                line.take(end, String);
            }
            b'{' => self.expression(line),
            b'=' => line.take(at + 1, Operator),
            byte if begins_name(byte) => {
                let mut end = line.name_end(at);
                while matches!(line.byte(end), b'-' | b':') && is_name(line.byte(end + 1)) {
                    end = line.name_end(end + 1);
                }
                line.take(end, Variable);
            }
            _ => line.take(at + 1, Plain),
        }
    }

    fn expression(&mut self, line: &mut Line<'_, '_, '_>) {
        line.take(line.at + 1, Punctuation);
        if self.push(Mode::Code(0)) {
            self.braces <<= 1;
            self.bodies <<= 1;
            self.before = PreviousToken::Start;
        }
    }

    fn children(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        match line.first() {
            b'{' => self.expression(line),
            b'<' if line.byte(at + 1) == b'/' => {
                line.take(at + 2, Punctuation);
                self.tag_name(line);
                line.blanks();
                if line.first() == b'>' {
                    line.take(line.at + 1, Punctuation);
                }
                self.modes.pop();
                self.before = PreviousToken::Value;
            }
            b'<' => {
                line.take(at + 1, Punctuation);
                self.element(line);
            }
            _ => {
                let end = line.text[at..].iter().position(|&byte| matches!(byte, b'<' | b'{'));
                line.take(end.map_or(line.text.len(), |end| at + end), Plain);
            }
        }
    }

    fn name(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, in_angles: bool) {
        let at = line.at;
        let mut end = at + 1;
        while is_name(line.byte(end)) || line.byte(end) == b'$' {
            end += 1;
        }
        let text = &line.text[at..end];
        let after = line.after_blanks(end);
        let next = line.byte(after);
        let last = self.before;
        let member = last == PreviousToken::Dot;
        let key = self.is_key(line, last, end);
        if !member
            && !key
            && let Some(word) = HARD.get(text).or_else(|| self.soft(line, text, after, last, in_angles))
        {
            self.before = match word.category {
                Keyword if matches!(text, b"null" | b"true" | b"false" | b"undefined" | b"NaN") => PreviousToken::Value,
                Keyword
                    if self.types
                        && matches!(text, b"as" | b"extends" | b"implements" | b"is" | b"keyof" | b"satisfies") =>
                {
                    PreviousToken::Colon
                }
                Keyword => PreviousToken::Keyword,
                _ => PreviousToken::Name,
            };
            *then = word.then;
            self.typing |= self.before == PreviousToken::Colon;
            if word.category == Keyword && matches!(text, b"class" | b"interface" | b"enum" | b"type") {
                self.body = text != b"enum";
            }
            return line.take(end, word.category);
        }
        let wanted = std::mem::take(then);
        self.before = PreviousToken::Name;
        let category =
            match wanted {
                Then::Type if !member => {
                    if self.types && next == b'<' || next == b'=' {
                        *then = Then::Module;
                    }
                    Type
                }
                Then::Module => {
                    *then = Then::Module;
                    Type
                }
                Then::Function => Function,
                _ if key && !self.is_function_value(line, after) && next != b'(' => {
                    if self.types && self.bodies & 1 == 1 { Variable } else { Plain }
                }
                _ => self.plain_name(line, text, after, last, in_angles),
            };
        line.take(end, category);
    }

    fn plain_name(
        &self,
        line: &Line<'_, '_, '_>,
        text: &[u8],
        after: usize,
        last: PreviousToken,
        in_angles: bool,
    ) -> Category {
        let next = line.byte(after);
        let member = last == PreviousToken::Dot;
        if next != b'('
            && (last == PreviousToken::Colon || member && self.typing || in_angles && text[0].is_ascii_uppercase())
        {
            return Type;
        }
        if next == b'(' || next == b'`' && line.text[..after].ends_with(text) || self.is_function_value(line, after) {
            return if !member && last == PreviousToken::Keyword && TYPES.get(text).is_some() {
                Type
            } else {
                Function
            };
        }
        if self.types
            && next == b'<'
            && line.text[after..].windows(2).take(200).any(|pair| pair == b">(")
            && !line.text[..after].ends_with(b" ")
        {
            return Function;
        }
        if !member {
            if let Some(word) = TYPES.get(text) {
                return word.category;
            }
            if is_capitalised(text) && next == b'.' {
                return if self.types { Variable } else { Type };
            }
        }
        if member && !self.types { Plain } else { Variable }
    }

    /// Returns true if a name is a key of an object or a member of a type: `name:`, `name?:`.
    fn is_key(&self, line: &Line<'_, '_, '_>, last: PreviousToken, end: usize) -> bool {
        if self.braces & 1 == 0 || last != PreviousToken::Separator {
            return false;
        }
        let end = if self.types && line.byte(end) == b'?' { end + 1 } else { end };
        line.byte(end) == b':' || self.types && self.bodies & 1 == 1 && line.byte(end) == b';'
    }

    /// Returns true if a function follows `=` or `:` after a name.
    fn is_function_value(&self, line: &Line<'_, '_, '_>, after: usize) -> bool {
        let sign = line.byte(after);
        if !matches!(sign, b'=' | b':') || line.byte(after + 1) == b'=' || line.byte(after + 1) == b'>' {
            return false;
        }
        let mut from = line.after_blanks(after + 1);
        if line.text[from.min(line.text.len())..].starts_with(b"async ") {
            from = line.after_blanks(from + 6);
        }
        let rest = &line.text[from.min(line.text.len())..];
        if rest.starts_with(b"function") {
            return !rest.get(8).is_some_and(|&byte| is_name(byte));
        }
        if sign == b':' && self.types {
            return false;
        }
        if rest.first() == Some(&b'(') {
            // Finds the parenthesis that closes the parameters, with a short look-ahead.
            let mut depth = 0;
            for (index, &byte) in rest.iter().take(160).enumerate() {
                match byte {
                    b'(' => depth += 1,
                    b')' => {
                        depth -= 1;
                        if depth == 0 {
                            let arrow = line.after_blanks(from + index + 1);
                            return line.text[arrow.min(line.text.len())..].starts_with(b"=>")
                                || self.types
                                    && line.byte(arrow) == b':'
                                    && rest[index..].windows(2).take(80).any(|pair| pair == b"=>");
                        }
                    }
                    _ => {}
                }
            }
            return false;
        }
        let name = rest.iter().position(|&byte| !is_name(byte)).unwrap_or(rest.len());
        name > 0 && line.text[line.after_blanks(from + name).min(line.text.len())..].starts_with(b"=>")
    }

    /// Handles words that are keywords only in some contexts.
    fn soft(
        &self,
        line: &Line<'_, '_, '_>,
        text: &[u8],
        after: usize,
        last: PreviousToken,
        in_angles: bool,
    ) -> Option<super::words::Word> {
        let next = line.byte(after);
        if let Some(word) = SOFT.get(text) {
            let fits = begins_name(next)
                || matches!(next, b'{' | b'*' | b'[' | b'"' | b'\'' | b'#' | b'$')
                || text == b"async" && next == b'(';
            let other =
                matches!(text, b"of" | b"from" | b"as") && matches!(last, PreviousToken::Start | PreviousToken::Dot);
            return (fits && !other).then_some(word);
        }
        if !self.types {
            return None;
        }
        let word = TYPESCRIPT.get(text)?;
        if word.category == Type {
            let fits = last == PreviousToken::Colon
                || in_angles
                || matches!(last, PreviousToken::Keyword | PreviousToken::Start)
                    && !matches!(next, b'.' | b'(' | b'=' | b':');
            return fits.then_some(word);
        }
        let fits = begins_name(next)
            || matches!(next, b'{' | b'[' | b'"' | b'\'' | b'#' | b'$')
            || text == b"constructor" && next == b'(';
        fits.then_some(word)
    }
}
