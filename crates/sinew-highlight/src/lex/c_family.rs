//! The lexer of languages with C-like syntax: C, C++, Java, C#, Go, Rust.

use memchr::memmem;

use super::c_family_words::{self, Dialect, Rules};
use super::preprocessor::directive;
use super::scan::{Line, begins_name, is_capitalised, is_shouted};
use super::words::Then;
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable,
};

/// The length within which C#'s `$"…{code}…"` must end; without a limit, a line of unclosed ones would be searched for
/// each of them.
const MOST_INTERPOLATED: usize = 2000;

/// The state of the lexer between lines.
#[derive(Clone)]
pub(crate) struct CFamily {
    dialect: Dialect,
    open: Open,
    names: Names,
    /// The number of open parentheses.
    depth: u32,
    /// Inside Rust's `#[…]`.
    attribute: bool,
}

/// The meaning of names before a colon, in Rust.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Fields of a value.
    Values,
    /// Parameters, until the body begins.
    Parameters,
    /// Fields of a type, until its body ends; true once the body has begun.
    Fields(bool),
}

/// A construct that the previous line left open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A line comment that a backslash continues.
    Comment,
    /// A block comment with its nesting depth.
    Block(u32),
    /// A string with backslash escapes, and its quote.
    Quoted(u8),
    /// A string that ends with a quote and a number of repeated bytes: Rust's raw strings, C#'s and Java's triple
    /// quotes.
    Raw {
        quotes: u8,
        hashes: u8,
        escapes: bool,
    },
    /// C#'s `@"…"`: a doubled quote is an escaped quote.
    Verbatim,
    /// Go's backquoted string.
    Backtick,
    /// C++'s raw string; the delimiter between the quote and the parenthesis.
    Delimited([u8; 16], u8),
}

/// The previous token, as far as the next one depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreviousToken {
    Other,
    Name,
    Type,
    Dot,
    Arrow,
    Path,
    Close,
    Keyword,
}

impl CFamily {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, open: Open::Nothing, names: Names::Values, depth: 0, attribute: false }
    }

    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        let rules = c_family_words::rules(self.dialect);
        self.resume(line);
        let mut then = Then::Any;
        let mut before = PreviousToken::Other;
        if rules.preprocessor && self.open == Open::Nothing {
            self.directive(line);
        }
        if line.first() == b'}' {
            self.names = Names::Values;
        }
        let mut angles = 0u32;
        loop {
            line.blanks();
            if line.is_done() {
                return;
            }
            let at = line.at;
            let byte = line.first();
            if begins_name(byte) {
                if self.prefixed_string(line, byte) {
                    before = PreviousToken::Other;
                    continue;
                }
                let end = line.name_end(at);
                // The name after `impl` or `struct` follows the type parameters.
                let mut aside = Then::Any;
                let then = if angles > 0 { &mut aside } else { &mut then };
                self.name(line, rules, end, then, &mut before);
                continue;
            }
            let last = before;
            before = PreviousToken::Other;
            match byte {
                b'0'..=b'9' => self.number(line),
                b'"' | b'\'' | b'`' => self.string(line, byte),
                b'/' if line.byte(at + 1) == b'/' => return self.line_comment(line),
                b'/' if line.byte(at + 1) == b'*' => {
                    line.take(at + 2, Comment);
                    self.open = Open::Block(1);
                    self.resume(line);
                }
                b'.' if line.byte(at + 1).is_ascii_digit()
                    && (last == PreviousToken::Other || self.dialect == Dialect::Go) =>
                {
                    self.number(line)
                }
                b'.' if line.starts_with(b"...") || line.starts_with(b"..") && self.dialect == Dialect::Rust => {
                    let end = if line.starts_with(b"...") { 3 } else { 2 };
                    line.take(at + end, Operator);
                }
                b'.' => {
                    line.take(at + 1, Punctuation);
                    // Go writes the package before a type: `x io.Reader`.
                    before = if self.dialect == Dialect::Go && last == PreviousToken::Type {
                        PreviousToken::Name
                    } else {
                        PreviousToken::Dot
                    };
                }
                b'-' if line.byte(at + 1) == b'>' => {
                    line.take(at + 2, rules.arrow);
                    before = PreviousToken::Arrow;
                }
                b':' if line.byte(at + 1) == b':' => {
                    line.take(at + 2, Punctuation);
                    before = PreviousToken::Path;
                }
                b':' if line.byte(at + 1) == b'=' => line.take(at + 2, Operator),
                b'@' if begins_name(line.byte(at + 1)) && self.dialect == Dialect::Java => {
                    line.take(at + 1, Punctuation);
                    let end = line.name_end(at + 1);
                    let keyword = line.text[at + 1..end] == *b"interface";
                    line.take(end, if keyword { Keyword } else { Function });
                    then = if keyword { Then::Type } else { Then::Any };
                }
                b'@' | b'$' if self.dialect == Dialect::CSharp => self.csharp_string(line),
                b'#' if self.dialect == Dialect::Rust && matches!(line.byte(at + 1), b'[' | b'!') => {
                    self.attribute(line)
                }
                b'<' | b'>' => {
                    let generic = self.is_generic(line, byte, last);
                    line.take(at + 1, if generic { Punctuation } else { Operator });
                    if generic && byte == b'>' {
                        before = PreviousToken::Type;
                    }
                    if generic && self.dialect == Dialect::Rust {
                        angles = if byte == b'<' { angles + 1 } else { angles.saturating_sub(1) };
                    }
                }
                b'*' | b'&' => {
                    let glued = at > 0 && line.byte(at - 1) == b' ' && line.byte(at + 1) != b' ';
                    if self.dialect == Dialect::Go
                        && matches!(last, PreviousToken::Name | PreviousToken::Close)
                        && glued
                    {
                        before = last;
                    }
                    line.take(at + 1, Operator);
                    if last == PreviousToken::Type && matches!(self.dialect, Dialect::C | Dialect::Cpp) {
                        before = PreviousToken::Type;
                    }
                }
                b'?' if last == PreviousToken::Type && matches!(self.dialect, Dialect::CSharp) => {
                    line.take(at + 1, Operator);
                    before = PreviousToken::Type;
                }
                _ => {
                    match byte {
                        b'(' => self.depth = self.depth.saturating_add(1),
                        b'{' | b'}' | b';' => self.depth = 0,
                        b')' => {
                            self.depth = self.depth.saturating_sub(1);
                            before = PreviousToken::Close;
                        }
                        b']' => {
                            self.attribute = false;
                            before =
                                if last == PreviousToken::Type { PreviousToken::Type } else { PreviousToken::Close };
                        }
                        b'[' if last == PreviousToken::Type => before = PreviousToken::Type,
                        _ => {}
                    }
                    line.take(at + 1, rules.symbols[(byte & 127) as usize]);
                }
            }
            if matches!(byte, b';' | b'{' | b'}' | b')' | b'=') {
                then = Then::Any;
                angles = 0;
                self.names = match (self.names, byte) {
                    (names, b')' | b'=') => names,
                    (Names::Fields(false), b'{') => Names::Fields(true),
                    (Names::Fields(true), b'{') => Names::Fields(true),
                    _ => Names::Values,
                };
            }
        }
    }

    /// Ends what the previous line left open, if it ends here.
    fn resume(&mut self, line: &mut Line<'_, '_, '_>) {
        match self.open {
            Open::Nothing => {}
            Open::Comment => self.line_comment(line),
            Open::Block(depth) => self.block(line, depth),
            Open::Quoted(quote) => self.quoted(line, quote, line.at),
            Open::Raw { quotes, hashes, escapes } => self.raw(line, quotes, hashes, escapes),
            Open::Verbatim => self.verbatim(line),
            Open::Backtick => {
                let end = line.find(b"`", line.at).map(|end| end + 1);
                self.close(line, end);
            }
            Open::Delimited(label, length) => {
                let mut needle = [0; 18];
                let length = length as usize;
                needle[0] = b')';
                needle[1..=length].copy_from_slice(&label[..length]);
                needle[length + 1] = b'"';
                let end = line.find(&needle[..length + 2], line.at).map(|end| end + length + 2);
                self.close(line, end);
            }
        }
    }

    /// Colours a string to its end, or to the end of the line if it continues.
    fn close(&mut self, line: &mut Line<'_, '_, '_>, end: Option<usize>) {
        if let Some(end) = end {
            line.take(end, String);
            self.open = Open::Nothing;
        } else {
            line.rest(String);
        }
    }

    /// Colours the rest of the line; in C a backslash at its end continues the comment.
    fn line_comment(&mut self, line: &mut Line<'_, '_, '_>) {
        let continues = matches!(self.dialect, Dialect::C | Dialect::Cpp) && line.text.last() == Some(&b'\\');
        self.open = if continues { Open::Comment } else { Open::Nothing };
        line.rest(Comment);
    }

    fn block(&mut self, line: &mut Line<'_, '_, '_>, mut depth: u32) {
        let mut from = line.at;
        let nests = self.dialect == Dialect::Rust;
        while let Some(end) = line.find(b"*/", from) {
            if nests {
                let mut inner = from;
                while let Some(start) = memmem::find(&line.text[inner.min(end)..end], b"/*") {
                    depth = depth.saturating_add(1);
                    inner += start + 2;
                }
            }
            depth -= 1;
            from = end + 2;
            if depth == 0 {
                line.take(from, Comment);
                self.open = Open::Nothing;
                return;
            }
        }
        if nests {
            while let Some(start) = line.find(b"/*", from) {
                depth = depth.saturating_add(1);
                from = start + 2;
            }
        }
        line.rest(Comment);
        self.open = Open::Block(depth);
    }

    fn quoted(&mut self, line: &mut Line<'_, '_, '_>, quote: u8, from: usize) {
        match line.quote_end(quote, from) {
            Some(end) => {
                line.take(end, String);
                self.open = Open::Nothing;
            }
            None => {
                let goes_on = match self.dialect {
                    Dialect::Rust => quote == b'"',
                    Dialect::C | Dialect::Cpp => line.text.last() == Some(&b'\\'),
                    _ => false,
                };
                line.rest(String);
                self.open = if goes_on { Open::Quoted(quote) } else { Open::Nothing };
            }
        }
    }

    fn raw(&mut self, line: &mut Line<'_, '_, '_>, quotes: u8, hashes: u8, escapes: bool) {
        self.open = Open::Raw { quotes, hashes, escapes };
        let mut index = line.at;
        while let Some(found) = line.find(b"\"", index) {
            if escapes && line.text[index..found].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1 {
                index = found + 1;
                continue;
            }
            let mut end = found;
            let mut count = 0;
            while count < quotes && line.byte(end) == b'"' {
                count += 1;
                end += 1;
            }
            let mut marks = 0;
            while marks < hashes && line.byte(end) == b'#' {
                marks += 1;
                end += 1;
            }
            if count == quotes && marks == hashes {
                return self.close(line, Some(end));
            }
            index = if quotes == 1 { found + 1 } else { end.max(found + 1) };
        }
        line.rest(String);
    }

    fn verbatim(&mut self, line: &mut Line<'_, '_, '_>) {
        self.open = Open::Verbatim;
        let mut index = line.at;
        while let Some(found) = line.find(b"\"", index) {
            if line.byte(found + 1) != b'"' {
                return self.close(line, Some(found + 1));
            }
            index = found + 2;
        }
        line.rest(String);
    }

    fn number(&mut self, line: &mut Line<'_, '_, '_>) {
        let open = matches!(self.dialect, Dialect::C | Dialect::Cpp | Dialect::Go | Dialect::Java | Dialect::Rust);
        let mut end = line.number_end(line.at, open);
        while self.dialect == Dialect::Cpp && line.byte(end) == b'\'' && line.byte(end + 1).is_ascii_alphanumeric() {
            end = line.number_end(end + 1, open);
        }
        line.take(end.max(line.at + 1), Number);
    }

    fn string(&mut self, line: &mut Line<'_, '_, '_>, quote: u8) {
        let at = line.at;
        match (self.dialect, quote) {
            (Dialect::Rust, b'\'') => self.lifetime_or_char(line),
            (Dialect::Go, b'`') => {
                line.take(at + 1, String);
                self.open = Open::Backtick;
                self.resume(line);
            }
            (_, b'`') => line.take(at + 1, Plain),
            (Dialect::Java | Dialect::CSharp, b'"') if line.starts_with(b"\"\"\"") => {
                line.take(at + 3, String);
                self.raw(line, 3, 0, self.dialect == Dialect::Java);
            }
            _ => self.quoted(line, quote, at + 1),
        }
    }

    fn lifetime_or_char(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        if begins_name(line.byte(at + 1)) {
            let end = line.name_end(at + 1);
            if line.byte(end) != b'\'' {
                let label = line.byte(end) == b':' && line.byte(end + 1) != b':';
                return line.take(end, if label { Variable } else { Keyword });
            }
        }
        // The longest character is `'\u{10FFFF}'`.
        let mut end = at + 1;
        while end < at + 12 && !matches!(line.byte(end), b'\'' | 0) {
            end += if line.byte(end) == b'\\' { 2 } else { 1 };
        }
        match line.byte(end) {
            b'\'' if end > at + 1 => line.take(end + 1, String),
            _ => line.take(at + 1, Plain),
        }
    }

    /// Handles strings with a prefix before the quote. Returns true if there was one.
    fn prefixed_string(&mut self, line: &mut Line<'_, '_, '_>, byte: u8) -> bool {
        let at = line.at;
        match (self.dialect, byte) {
            (Dialect::Rust, b'r' | b'b' | b'c') => {
                let mut index = at + 1;
                if byte != b'r' && line.byte(index) == b'r' {
                    index += 1;
                }
                let raw = line.text[at..index].contains(&b'r');
                let mut hashes = 0;
                while raw && line.byte(index) == b'#' && hashes < 255 {
                    hashes += 1;
                    index += 1;
                }
                match line.byte(index) {
                    b'"' if raw => {
                        line.take(index + 1, String);
                        self.raw(line, 1, hashes, false);
                    }
                    b'"' => self.quoted(line, b'"', index + 1),
                    b'\'' if byte == b'b' && index == at + 1 => self.quoted(line, b'\'', index + 1),
                    _ => return false,
                }
                true
            }
            (Dialect::C | Dialect::Cpp, b'L' | b'u' | b'U' | b'R') => {
                let mut index = at + 1;
                while index - at < 3 && matches!(line.byte(index), b'8' | b'R') {
                    index += 1;
                }
                let quote = line.byte(index);
                if quote != b'"' && (quote != b'\'' || byte == b'R') {
                    return false;
                }
                if line.byte(index - 1) != b'R' || quote != b'"' {
                    self.quoted(line, quote, index + 1);
                    return true;
                }
                let Some(length) = line.text[index + 1..].iter().take(17).position(|&byte| byte == b'(') else {
                    return false;
                };
                let mut label = [0; 16];
                label[..length].copy_from_slice(&line.text[index + 1..index + 1 + length]);
                line.take(index + 2 + length, String);
                self.open = Open::Delimited(label, length as u8);
                self.resume(line);
                true
            }
            _ => false,
        }
    }

    /// Handles `@"…"`, `$"…{name}…"`, `$@"…"`, `$"""…"""` and names like `@class`.
    fn csharp_string(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        let mut index = at;
        while matches!(line.byte(index), b'@' | b'$') {
            index += 1;
        }
        if line.byte(index) != b'"' {
            let end = if begins_name(line.byte(index)) { line.name_end(index) } else { index };
            return line.take(end, Variable);
        }
        let verbatim = line.text[at..index].contains(&b'@');
        if line.text[index..].starts_with(b"\"\"\"") {
            line.take(index + 3, String);
            self.raw(line, 3, 0, false);
        } else if verbatim {
            line.take(index + 1, String);
            self.verbatim(line);
        } else {
            self.interpolated(line, index + 1);
        }
    }

    /// Handles the content of `$"…"`: simple names in braces are recognised, everything else stays a string.
    fn interpolated(&mut self, line: &mut Line<'_, '_, '_>, from: usize) {
        let end = interpolated_end(&line.text[..line.text.len().min(from + MOST_INTERPOLATED)], from, 0)
            .or_else(|| line.quote_end(b'"', from))
            .unwrap_or(line.text.len());
        let mut index = from;
        while index < end {
            if line.byte(index) == b'{' && line.byte(index + 1) == b'{' {
                index += 2;
                continue;
            }
            if line.byte(index) == b'{' && begins_name(line.byte(index + 1)) {
                line.take(index, String);
                line.take(index + 1, Punctuation);
                let mut stop = line.name_end(index + 1);
                line.take(stop, Variable);
                while line.byte(stop) == b'.' && begins_name(line.byte(stop + 1)) {
                    line.take(stop + 1, Punctuation);
                    stop = line.name_end(stop + 1);
                    line.take(stop, if line.byte(stop) == b'(' { Function } else { Variable });
                }
                if line.byte(stop) == b'}' {
                    line.take(stop + 1, Punctuation);
                    stop += 1;
                }
                index = stop;
                continue;
            }
            index += 1;
        }
        line.take(end, String);
    }

    /// Handles `#[…]` and `#![…]`: the name in it is an annotation.
    fn attribute(&mut self, line: &mut Line<'_, '_, '_>) {
        let mut end = line.at + 1;
        if line.byte(end) == b'!' {
            line.take(end, Punctuation);
            line.take(end + 1, Operator);
            end += 1;
        }
        if line.byte(end) != b'[' {
            return line.take(end, Punctuation);
        }
        line.take(end + 1, Punctuation);
        let stop = line.name_end(end + 1);
        line.take(stop, Function);
        self.attribute = true;
    }

    /// Handles a line that begins with `#`.
    fn directive(&mut self, line: &mut Line<'_, '_, '_>) {
        let start = line.after_blanks(line.at);
        if line.at != 0 || line.byte(start) != b'#' {
            return;
        }
        if matches!(directive(line, start), b"error" | b"warning" | b"region" | b"endregion") {
            let category = if self.dialect == Dialect::CSharp { Type } else { String };
            line.rest(category);
        }
    }

    /// Returns true if an angle bracket belongs to type parameters rather than a comparison.
    fn is_generic(&self, line: &Line<'_, '_, '_>, byte: u8, last: PreviousToken) -> bool {
        let at = line.at;
        if matches!(self.dialect, Dialect::C | Dialect::Go) {
            return false;
        }
        let (before, after) = (if at == 0 { 0 } else { line.byte(at - 1) }, line.byte(at + 1));
        if byte == b'<' {
            let glued = begins_name(before) || before.is_ascii_digit() || before == b':';
            (glued || last == PreviousToken::Keyword)
                && !matches!(after, b' ' | b'=' | b'<' | b'-')
                && !after.is_ascii_digit()
        } else {
            (before.is_ascii_alphanumeric()
                || matches!(before, b'_' | b'>' | b']' | b'?' | b'<' | b'*' | b'&' | b')' | b'}'))
                && after != b'='
        }
    }

    fn name(
        &mut self,
        line: &mut Line<'_, '_, '_>,
        rules: &Rules,
        end: usize,
        then: &mut Then,
        before: &mut PreviousToken,
    ) {
        let at = line.at;
        let last = *before;
        let text = &line.text[at..end];
        let word = rules.words.get(text).filter(|_| last != PreviousToken::Dot);
        // An attribute derives a list of names.
        if let Some(word) = word.filter(|word| !(self.attribute && word.category == Type)) {
            *then = word.then;
            match text {
                b"struct" | b"union" => self.names = Names::Fields(false),
                b"fn" => self.names = Names::Parameters,
                b"impl" => {
                    let begins = matches!(line.text[..at].trim_ascii(), b"" | b"unsafe" | b"default");
                    let named = begins && line.find(b" for ", end).is_none();
                    *then = if named { Then::Type } else { Then::Any };
                }
                b"for" if self.dialect == Dialect::Rust => {
                    let start = line.after_blanks(0);
                    *then = if line.text[start..].starts_with(b"impl") { Then::Type } else { Then::Any };
                }
                _ => {}
            }
            *before = match word.category {
                Type => PreviousToken::Type,
                Variable | Number | Function => PreviousToken::Name,
                _ => PreviousToken::Keyword,
            };
            let called = word.category == Function;
            if !called || line.byte(line.after_blanks(end)) == b'(' {
                return line.take(end, word.category);
            }
        }
        let after = line.after_blanks(end);
        let next = line.byte(after);
        let wanted = std::mem::take(then);
        let category = match wanted {
            Then::Type if next != b':' || self.dialect != Dialect::Cpp => Type,
            Then::Function if next == b'(' || self.dialect != Dialect::Go => Function,
            Then::Module => {
                *then = Then::Module;
                rules.module
            }
            Then::Variable => Variable,
            _ => rules.name(&NameContext {
                text,
                last,
                next,
                after_next: line.byte(after + 1),
                glued: after == end,
                depth: self.depth,
                declares: self.names != Names::Values,
            }),
        };
        let package = category == Type && self.dialect == Dialect::Go && next == b'.';
        let category = if package { Variable } else { category };
        *before = if category == Type || package { PreviousToken::Type } else { PreviousToken::Name };
        if category == Function && self.dialect == Dialect::Rust && next == b'!' {
            return line.take(end + 1, Function);
        }
        line.take(end, category);
    }
}

/// The context of a name.
struct NameContext<'a> {
    text: &'a [u8],
    last: PreviousToken,
    /// The next byte that is not a blank, and the byte after it.
    next: u8,
    after_next: u8,
    /// True if there is no blank between the name and `next`.
    glued: bool,
    /// The number of open parentheses.
    depth: u32,
    /// True if names before a colon are declarations here.
    declares: bool,
}

impl Rules {
    /// Returns the category of a name that is in no word list.
    fn name(&self, seen: &NameContext<'_>) -> Category {
        let NameContext { text, last, next, after_next, glued, depth, declares } = *seen;
        let called = next == b'(';
        match self.dialect {
            Dialect::Rust => match last {
                _ if next == b'!' && glued && after_next != b'=' => Function,
                PreviousToken::Dot if called || next == b':' && after_next == b':' => Function,
                PreviousToken::Path if is_shouted(text) => Variable,
                PreviousToken::Dot | PreviousToken::Path => Plain,
                _ if called && text[0].is_ascii_lowercase() => Function,
                _ if declares && next == b':' && after_next != b':' && glued => Variable,
                _ if is_shouted(text) => Variable,
                _ => Plain,
            },
            Dialect::Go => match last {
                _ if called => Function,
                PreviousToken::Name | PreviousToken::Close if !glued_call(last, next) => Type,
                _ => Variable,
            },
            Dialect::C | Dialect::Cpp => match last {
                _ if called => Function,
                PreviousToken::Dot => Variable,
                PreviousToken::Arrow | PreviousToken::Path => Plain,
                PreviousToken::Type | PreviousToken::Name if depth > 0 && matches!(next, b',' | b')' | b'[') => {
                    Variable
                }
                _ if self.dialect == Dialect::Cpp && text.starts_with(b"m_") => Variable,
                _ => Plain,
            },
            Dialect::Java => match last {
                _ if called && !(last == PreviousToken::Keyword && is_capitalised(text)) => Function,
                PreviousToken::Path => Function,
                _ if is_shouted(text) => Variable,
                _ if text[0].is_ascii_uppercase() => Type,
                PreviousToken::Type if depth > 0 && matches!(next, b',' | b')') => Variable,
                _ if next == b'-' && after_next == b'>' => Variable,
                _ => Plain,
            },
            Dialect::CSharp => match last {
                _ if called && last != PreviousToken::Keyword => Function,
                _ if called => Type,
                PreviousToken::Dot => Variable,
                _ if begins_name(next) && !glued => Type,
                _ if matches!(next, b'<' | b'?' | b'[') && glued && text[0].is_ascii_uppercase() => Type,
                _ => Variable,
            },
        }
    }
}

/// Returns true for a Go name between a closing bracket and a dot, which is not a type.
fn glued_call(last: PreviousToken, next: u8) -> bool {
    last == PreviousToken::Close && next == b'.'
}

/// Returns the end of C#'s `$"…{code}…"`; strings in the code may contain quotes and braces. `None` if the string or its
/// code does not end on the line, or if strings are nested too deeply.
fn interpolated_end(text: &[u8], mut index: usize, depth: usize) -> Option<usize> {
    const DEEPEST: usize = 8;
    // The number of open braces: 0 in the text of the string.
    let mut braces = 0usize;
    loop {
        let byte = *text.get(index)?;
        let next = text.get(index + 1).copied();
        index += match byte {
            b'\\' => 2,
            b'{' | b'}' if braces == 0 && next == Some(byte) => 2,
            b'"' if braces == 0 => return Some(index + 1),
            b'"' if depth < DEEPEST => interpolated_end_or_quote(text, index, depth)? - index,
            b'"' => return None,
            b'\'' if braces > 0 && text.get(index + 2) == Some(&b'\'') => 3,
            b'{' => {
                braces += 1;
                1
            }
            b'}' => {
                braces = braces.saturating_sub(1);
                1
            }
            _ => 1,
        };
    }
}

/// Returns the end of the string in code that begins with the quote at `index`.
fn interpolated_end_or_quote(text: &[u8], index: usize, depth: usize) -> Option<usize> {
    if index > 0 && text[index - 1] == b'$' {
        return interpolated_end(text, index + 1, depth + 1);
    }
    let mut at = index + 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
