//! Python.

use std::sync::LazyLock;

use super::c_family_words::symbols;
use super::scan::{Line, begins_name, is_shouted};
use super::words::{Then, Words};
use crate::category::Category::{
    self, Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type, Variable,
};
use crate::paint::Paint;

/// The maximum nesting of f-strings in f-strings.
const DEEPEST: u32 = 4;

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Python {
    /// The open triple-quoted string.
    open: Option<Quote>,
    /// The number of open brackets.
    depth: u32,
    /// The bracket depth of the parameters that are being declared.
    parameters: Option<u32>,
    /// The same for the base classes.
    bases: Option<u32>,
    /// The number of surrounding f-strings.
    nested: u32,
}

#[derive(Clone, Copy)]
struct Quote {
    byte: u8,
    triple: bool,
    format: bool,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        (Keyword, Then::Type, "class"),
        (Keyword, Then::Function, "def"),
        (Keyword, Then::Module, "import from"),
        (Keyword, Then::Variable, "lambda"),
        (
            Keyword,
            Then::Any,
            "and as assert async await break continue del elif else except finally for global if in is nonlocal not or pass raise \
             return try while with yield True False None NotImplemented Ellipsis",
        ),
        (
            Variable,
            Then::Any,
            "self cls __name__ __file__ __doc__ __all__ __dict__ __class__ __module__ __version__ __slots__ __package__ __path__ __spec__ __annotations__ __debug__ __qualname__ __bases__ __members__",
        ),
        (
            Function,
            Then::Any,
            "__import__ abs all any ascii bin breakpoint callable chr compile delattr dir divmod enumerate eval exec filter format getattr \
             globals hasattr hash help hex id input isinstance issubclass iter len locals map max min next oct open ord pow print \
             range repr reversed round setattr sorted sum super vars zip staticmethod classmethod property",
        ),
        (
            Type,
            Then::Any,
            "bool bytearray bytes complex dict float frozenset int list memoryview object set slice str tuple type \
             ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError BufferError BytesWarning \
             ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning \
             EOFError EnvironmentError Exception FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError \
             ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt \
             LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError \
             PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError ResourceWarning RuntimeError \
             RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError \
             TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning \
             UserWarning ValueError Warning ZeroDivisionError",
        ),
    ])
});

static SYMBOLS: [Category; 128] = python_symbols();

const fn python_symbols() -> [Category; 128] {
    symbols("+-*/%=!&|^~<>@", "()[]{},;:.")
}

impl Python {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if let Some(quote) = self.open.take() {
            self.string(line, quote);
        }
        let start = line.after_blanks(line.at);
        let soft = self.depth == 0 && line.at == 0 && soft_statement(line, start);
        if soft {
            line.blanks();
            let end = line.name_end(start);
            line.take(end, Keyword);
        }
        let mut then = Then::Any;
        let mut last = 0u8;
        if self.depth == 0 && line.byte(start) == b'@' && line.at == 0 {
            line.blanks();
            line.take(start + 1, Punctuation);
            let mut end = line.name_end(start + 1);
            while line.byte(end) == b'.' && begins_name(line.byte(end + 1)) {
                line.take(end, Function);
                line.take(end + 1, Punctuation);
                end = line.name_end(end + 1);
            }
            line.take(end, Function);
        }
        while !line.is_done() {
            line.blanks();
            self.token(line, &mut then, &mut last);
        }
    }

    fn token(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, last: &mut u8) {
        let at = line.at;
        let byte = line.first();
        if begins_name(byte) {
            if let Some((quote, from)) = prefixed(line) {
                *last = b'"';
                line.take(from, String);
                return self.string(line, quote);
            }
            self.name(line, then, *last);
            *last = b'a';
            return;
        }
        match byte {
            0 if line.is_done() => return,
            b'#' => return line.rest(Comment),
            b'0'..=b'9' => line.take(line.number_end(at, true), Number),
            b'.' if line.byte(at + 1).is_ascii_digit() && *last != b'a' => {
                line.take(line.number_end(at + 1, false), Number)
            }
            b'"' | b'\'' => {
                let triple = is_triple(line, at, byte);
                line.take(at + if triple { 3 } else { 1 }, String);
                self.string(line, Quote { byte, triple, format: false });
            }
            b'-' if line.byte(at + 1) == b'>' => line.take(at + 2, Punctuation),
            b':' if line.byte(at + 1) == b'=' => line.take(at + 2, Operator),
            b'.' if line.starts_with(b"...") => line.take(at + 3, Keyword),
            b'(' | b'[' | b'{' => {
                self.depth = self.depth.saturating_add(1);
                if byte == b'(' && *then == Then::Function {
                    self.parameters = Some(self.depth);
                }
                if byte == b'(' && *then == Then::Type {
                    self.bases = Some(self.depth);
                }
                *then = Then::Any;
                line.take(at + 1, Punctuation);
            }
            b')' | b']' | b'}' => {
                if self.parameters == Some(self.depth) {
                    self.parameters = None;
                }
                if self.bases == Some(self.depth) {
                    self.bases = None;
                }
                self.depth = self.depth.saturating_sub(1);
                line.take(at + 1, Punctuation);
            }
            b':' | b';' => {
                *then = Then::Any;
                line.take(at + 1, Punctuation);
            }
            _ => line.take(at + 1, SYMBOLS[(byte & 127) as usize]),
        }
        *last = byte;
    }

    fn name(&mut self, line: &mut Line<'_, '_, '_>, then: &mut Then, last: u8) {
        let at = line.at;
        let end = line.name_end(at);
        let text = &line.text[at..end];
        let after = line.after_blanks(end);
        let next = line.byte(after);
        let assigned = next == b'=' && line.byte(after + 1) != b'=';
        let declared = self.parameters == Some(self.depth) && matches!(last, b'(' | b',' | b'*' | 0);
        let word = WORDS.get(text).filter(|word| {
            let name =
                last == b'.' || declared || assigned && self.depth > 0 || matches!(*then, Then::Function | Then::Type);
            word.category == Keyword && last != b'.' || !name || word.category == Variable && last == b'.'
        });
        if let Some(word) = word {
            if word.category == Keyword {
                *then = word.then;
            }
            return line.take(end, word.category);
        }
        let category = match *then {
            Then::Function => Function,
            Then::Type => Type,
            Then::Variable if matches!(last, b'a' | b',' | b'*') => Variable,
            Then::Module => Plain,
            _ if declared => Variable,
            _ if assigned && self.depth > 0 && matches!(last, b'(' | b',' | 0) => Variable,
            _ if self.bases == Some(self.depth) && next != b'(' => Type,
            _ if next == b'(' => Function,
            _ if is_magic(text) => Function,
            _ if is_shouted(text) => Variable,
            _ => Plain,
        };
        line.take(end, category);
    }

    /// Highlights the rest of a string after its opening quotes.
    fn string(&mut self, line: &mut Line<'_, '_, '_>, quote: Quote) {
        let end = string_end(line, quote);
        let stop = end.unwrap_or(line.text.len());
        if quote.format && self.nested < DEEPEST {
            self.fields(line, stop);
        }
        line.take(stop, String);
        let goes_on = quote.triple || line.text.last() == Some(&b'\\');
        self.open = if end.is_none() && goes_on { Some(quote) } else { None };
    }

    /// Highlights the fields of an f-string, `{value!r:spec}`, up to `stop`.
    fn fields(&self, line: &mut Line<'_, '_, '_>, stop: usize) {
        let mut index = line.at;
        while index < stop {
            let Some(open) = line.find_before(b"{", index, stop) else { return };
            if line.byte(open + 1) == b'{' {
                index = open + 2;
                continue;
            }
            let Some(field) = field(&line.text[open + 1..stop]) else { return };
            line.take(open, String);
            line.take(open + 1, Punctuation);
            let nested = self.nested + 1;
            line.hand_over(open + 1 + field.value, |text, paint| inner(text, paint, nested));
            if field.conversion {
                line.take(line.at + 2, Keyword);
            }
            line.take(open + 1 + field.end, String);
            line.take(open + 2 + field.end, Punctuation);
            index = line.at;
        }
    }
}

/// Highlights the expression in a field.
fn inner(text: &[u8], paint: &mut Paint<'_>, nested: u32) {
    let mut line = Line::new(text, paint);
    let mut lexer = Python { nested, ..Python::default() };
    let (mut then, mut last) = (Then::Any, 0);
    while !line.is_done() {
        line.blanks();
        lexer.token(&mut line, &mut then, &mut last);
    }
}

/// The ends of the parts of a field, relative to its opening brace.
struct Field {
    value: usize,
    conversion: bool,
    end: usize,
}

fn field(text: &[u8]) -> Option<Field> {
    let mut depth = 0u32;
    let mut value = None;
    let mut conversion = false;
    for (index, &byte) in text.iter().enumerate().take(1000) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b'}' if depth == 0 => return Some(Field { value: value.unwrap_or(index), conversion, end: index }),
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'!' if depth == 0 && value.is_none() && matches!(text.get(index + 1), Some(b'r' | b's' | b'a')) => {
                value = Some(index);
                conversion = true;
            }
            b':' if depth == 0 && value.is_none() => value = Some(index),
            _ => {}
        }
    }
    None
}

/// Returns the quote of a string with a prefix, and the start of its text; `None` for other tokens.
fn prefixed(line: &Line<'_, '_, '_>) -> Option<(Quote, usize)> {
    let mut index = line.at;
    while index - line.at < 3 && matches!(line.byte(index) | 0x20, b'r' | b'b' | b'u' | b'f' | b't') {
        index += 1;
    }
    let byte = line.byte(index);
    if index == line.at || index - line.at > 2 || !matches!(byte, b'"' | b'\'') {
        return None;
    }
    let format = line.text[line.at..index].iter().any(|byte| matches!(byte | 0x20, b'f' | b't'));
    let triple = is_triple(line, index, byte);
    Some((Quote { byte, triple, format }, index + if triple { 3 } else { 1 }))
}

fn is_triple(line: &Line<'_, '_, '_>, at: usize, byte: u8) -> bool {
    line.byte(at + 1) == byte && line.byte(at + 2) == byte
}

fn string_end(line: &Line<'_, '_, '_>, quote: Quote) -> Option<usize> {
    let mut from = line.at;
    loop {
        let end = line.quote_end(quote.byte, from)?;
        if !quote.triple {
            return Some(end);
        }
        if line.byte(end) == quote.byte && line.byte(end + 1) == quote.byte {
            return Some(end + 2);
        }
        from = end;
    }
}

/// Returns true for `__init__` and similar names.
fn is_magic(text: &[u8]) -> bool {
    text.len() > 4 && text.starts_with(b"__") && text.ends_with(b"__")
}

/// Returns true if `match` or `case` begins a block here.
fn soft_statement(line: &Line<'_, '_, '_>, start: usize) -> bool {
    let end = line.name_end(start);
    matches!(&line.text[start..end], b"match" | b"case")
        && line.byte(end) == b' '
        && !matches!(line.byte(end + 1), b'=' | b'.' | b',' | b')' | b':')
        && (line.text.ends_with(b":") || line.find(b": ", end).is_some() && line.text[start] == b'c')
}
