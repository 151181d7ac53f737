//! The data that describes a language to the table-driven lexer.

use crate::category::Category::{self, Comment, Plain, Punctuation, String, Variable};
use crate::lex::words::Row;

/// A language as data. [`PLAIN`] contains the defaults.
pub(crate) struct Rules {
    /// Words with a fixed category.
    pub(crate) words: &'static [Row],
    /// True if `words` are case-insensitive.
    pub(crate) fold: bool,
    /// True if `words` are only recognised at the start of a statement.
    pub(crate) words_at_start: bool,
    /// True if `words` are recognised after a dot.
    pub(crate) words_after_dot: bool,
    /// Prefixes of line comments, and where they are recognised.
    pub(crate) comments: &'static [(&'static str, Anchor)],
    /// Block comments, strings and other text between delimiters; the first match decides.
    pub(crate) regions: &'static [Region],
    /// Strings with a custom delimiter: `qw(…)`, `~r/…/`.
    pub(crate) delimited: &'static [Delimited],
    /// Prefixes of a here-document's label.
    pub(crate) heredocs: &'static [&'static str],
    /// True if blanks may precede a quoted label.
    pub(crate) spaced_heredocs: bool,
    /// True if `{name|…|name}` is a string.
    pub(crate) tagged_strings: bool,
    /// Prefixes of a name: `$x`, `@x`, `:x`.
    pub(crate) sigils: &'static [Sigil],
    /// Lines identified by their start.
    pub(crate) lines: &'static [LineRule],
    /// Names identified by the text after them: `name =`, `name:`.
    pub(crate) keys: &'static [Key],
    /// Bytes that may begin a name, in addition to letters and `_`.
    pub(crate) begins: &'static str,
    /// Bytes that may occur in a name, in addition to letters, digits and `_`.
    pub(crate) letters: &'static str,
    /// Bytes that may end a name, once.
    pub(crate) tails: &'static str,
    /// Bytes that separate the parts of a number: `8'hFF`, `16#FF#`.
    pub(crate) number_marks: &'static str,
    /// Prefixes of a number: `$FF`.
    pub(crate) number_prefixes: &'static [&'static str],
    /// True if a sign that follows no value belongs to the number.
    pub(crate) signed: bool,
    /// True if a number may end with a dot.
    pub(crate) open_numbers: bool,
    /// True if a line that begins with `#` is a preprocessor line.
    pub(crate) preprocessor: bool,
    /// How names of functions are recognised.
    pub(crate) calls: Calls,
    /// The category of names that begin with an upper-case letter.
    pub(crate) capitalised: Category,
    /// The category of names in upper case.
    pub(crate) shouted: Category,
    /// Bytes after which a statement begins.
    pub(crate) statement_ends: &'static str,
    /// Bytes of operators.
    pub(crate) operators: &'static str,
    /// Bytes of punctuation.
    pub(crate) punctuation: &'static str,
}

/// How names of functions are recognised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Not at all.
    None,
    /// By an opening parenthesis after the name.
    Bracket,
    /// By an opening parenthesis before the name, as in Lisp.
    Head,
    /// By the position at the start of a statement, as in a shell.
    Command,
}

/// The positions in which a delimiter is recognised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Everywhere.
    Any,
    /// In the first column of a line.
    Column0,
    /// Before anything else on a line.
    LineStart,
    /// At the start of a line or after a blank.
    AfterBlank,
    /// Not directly after a value: distinguishes a transpose or attribute quote from a string.
    NotAfterValue,
    /// Where a value is expected, or after a blank but not before one: distinguishes a regular expression from a
    /// division.
    Operand,
    /// The start of a statement.
    Statement,
}

/// A text between two delimiters.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) category: Category,
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
    /// Long brackets: a byte that may be repeated after `begin` and as often after `end`, and the text that follows it
    /// in both.
    pub(crate) level: Option<(u8, &'static str, &'static str)>,
    /// Escapes the next byte; 0 for none.
    pub(crate) escape: u8,
    /// True if a doubled end delimiter is literal.
    pub(crate) doubled: bool,
    /// True if regions of this kind nest.
    pub(crate) nests: bool,
    /// True if strings in the region are recognised, so that an end delimiter in a string does not end the region.
    pub(crate) reads_strings: bool,
    /// True if it may span lines.
    pub(crate) multiline: bool,
    /// The number of bytes within which it must end on its line; 0 without a limit.
    pub(crate) within: u16,
    pub(crate) place: Anchor,
    /// True if the end is only recognised at the start of a line, and includes the whole line.
    pub(crate) ends_as_line: bool,
    /// True if letters after the end belong to it, like the flags of a regular expression.
    pub(crate) flags: bool,
    pub(crate) interpolations: &'static [Interpolation],
}

/// Code inside a string.
#[derive(Clone, Copy)]
pub(crate) struct Interpolation {
    pub(crate) begin: &'static str,
    /// The bracket that ends it; 0 for a name.
    pub(crate) end: u8,
}

/// A string whose delimiter is the byte after its prefix; brackets nest.
pub(crate) struct Delimited {
    pub(crate) begin: &'static str,
    /// Two for `s/…/…/`.
    pub(crate) parts: u8,
    /// True if exactly one letter is expected between the prefix and the delimiter: `~r`.
    pub(crate) letter: bool,
    /// True if a blank may precede a bracket.
    pub(crate) spaced: bool,
    /// True if only an opening bracket is a delimiter.
    pub(crate) brackets: bool,
}

/// A prefix of a name.
pub(crate) struct Sigil {
    pub(crate) mark: &'static str,
    pub(crate) category: Category,
    /// Brackets that may follow instead of a name: `${…}`.
    pub(crate) braces: &'static str,
    /// Bytes of which one may follow instead of a name: `$?`.
    pub(crate) specials: &'static str,
    pub(crate) place: Anchor,
}

/// A line identified by its start.
pub(crate) struct LineRule {
    pub(crate) begin: &'static str,
    pub(crate) category: Category,
    /// True if blanks may precede it.
    pub(crate) indented: bool,
    /// True if the rest of the line has the same category.
    pub(crate) whole: bool,
}

/// A name identified by the text after it.
pub(crate) struct Key {
    pub(crate) mark: &'static str,
    pub(crate) category: Category,
    /// True if the name must be the first on its line.
    pub(crate) first: bool,
    /// True if blanks may precede the marker.
    pub(crate) spaced: bool,
    /// The category of the rest of the line; `None` lexes it normally.
    pub(crate) value: Option<Category>,
}

/// The values that most languages share.
pub(crate) const PLAIN: Rules = Rules {
    words: &[],
    fold: false,
    words_at_start: false,
    words_after_dot: false,
    comments: &[],
    regions: &[],
    delimited: &[],
    heredocs: &[],
    spaced_heredocs: false,
    tagged_strings: false,
    sigils: &[],
    lines: &[],
    keys: &[],
    begins: "",
    letters: "",
    tails: "",
    number_marks: "",
    number_prefixes: &[],
    signed: false,
    open_numbers: false,
    preprocessor: false,
    calls: Calls::Bracket,
    capitalised: Plain,
    shouted: Plain,
    statement_ends: ";{}",
    operators: "+-*/%=!&|^~<>?",
    punctuation: "()[]{},;:.",
};

pub(crate) const SLASHES: (&str, Anchor) = ("//", Anchor::Any);
pub(crate) const HASH: (&str, Anchor) = ("#", Anchor::Any);
pub(crate) const DASHES: (&str, Anchor) = ("--", Anchor::Any);
pub(crate) const SEMICOLON: (&str, Anchor) = (";", Anchor::Any);
pub(crate) const PERCENT: (&str, Anchor) = ("%", Anchor::Any);

/// `/* … */`.
pub(crate) const C_COMMENT: Region = block("/*", "*/");
/// `"…"` on one line, with backslashes.
pub(crate) const DOUBLE: Region = quote("\"");
/// `'…'` on one line, with backslashes.
pub(crate) const SINGLE: Region = quote("'");
/// The number of bytes within which a character literal must end.
pub(crate) const CHAR_LENGTH: u16 = 12;
/// `'x'` and its escapes: one character.
pub(crate) const CHAR: Region = Region { place: Anchor::NotAfterValue, ..quote("'").within(CHAR_LENGTH) };
/// `"""…"""` over lines.
pub(crate) const TRIPLE: Region = quote("\"\"\"").lines();

/// Returns the region of a comment that may span lines.
pub(crate) const fn block(begin: &'static str, end: &'static str) -> Region {
    Region {
        category: Comment,
        begin,
        end,
        level: None,
        escape: 0,
        doubled: false,
        nests: false,
        reads_strings: false,
        multiline: true,
        within: 0,
        place: Anchor::Any,
        ends_as_line: false,
        flags: false,
        interpolations: &[],
    }
}

/// Returns the region of a string on one line with backslash escapes.
pub(crate) const fn quote(mark: &'static str) -> Region {
    Region { category: String, escape: b'\\', multiline: false, ..block(mark, mark) }
}

impl Region {
    /// Allows the region to span lines.
    pub(crate) const fn lines(self) -> Self {
        Self { multiline: true, ..self }
    }

    /// Removes escapes.
    pub(crate) const fn raw(self) -> Self {
        Self { escape: 0, ..self }
    }

    /// Makes a doubled end delimiter literal, without other escapes.
    pub(crate) const fn doubled(self) -> Self {
        Self { doubled: true, escape: 0, ..self }
    }

    pub(crate) const fn nested(self) -> Self {
        Self { nests: true, ..self }
    }

    /// Ignores end delimiters in strings inside the region, as in OCaml's comments.
    pub(crate) const fn with_strings(self) -> Self {
        Self { reads_strings: true, ..self }
    }

    pub(crate) const fn within(self, within: u16) -> Self {
        Self { within, ..self }
    }

    pub(crate) const fn at(self, place: Anchor) -> Self {
        Self { place, ..self }
    }

    pub(crate) const fn is(self, category: Category) -> Self {
        Self { category, ..self }
    }

    pub(crate) const fn interpolations(self, interpolations: &'static [Interpolation]) -> Self {
        Self { interpolations, ..self }
    }

    /// Sets another start: `r"…"`.
    pub(crate) const fn begin(self, begin: &'static str) -> Self {
        Self { begin, ..self }
    }

    pub(crate) const fn end(self, end: &'static str) -> Self {
        Self { end, ..self }
    }

    /// Turns the region into long brackets: `[==[ … ]==]`.
    pub(crate) const fn level(self, byte: u8, begin: &'static str, end: &'static str) -> Self {
        Self { level: Some((byte, begin, end)), escape: 0, multiline: true, ..self }
    }

    /// Makes the region consist of complete lines, from one that begins with `begin` to one that begins with `end`.
    pub(crate) const fn whole_lines(self) -> Self {
        Self { ends_as_line: true, place: Anchor::Column0, escape: 0, multiline: true, ..self }
    }
}

/// `/…/` with flags, where a value is expected.
pub(crate) const REGEX: Region = Region { place: Anchor::Operand, flags: true, ..quote("/").within(u16::MAX) };

/// `$name` and `${…}`.
pub(crate) const DOLLARS: &[Interpolation] = &[interpolation("${", b'}'), interpolation("$", 0)];
/// `#{…}`.
pub(crate) const HASH_BRACE: &[Interpolation] = &[interpolation("#{", b'}')];

pub(crate) const fn interpolation(begin: &'static str, end: u8) -> Interpolation {
    Interpolation { begin, end }
}

pub(crate) const fn sigil(mark: &'static str, category: Category) -> Sigil {
    Sigil { mark, category, braces: "", specials: "", place: Anchor::Any }
}

/// `$name`, `${…}`.
pub(crate) const DOLLAR: Sigil = Sigil { braces: "{", ..sigil("$", Variable) };

/// Returns the rule for `name =` at the beginning of a line.
pub(crate) const fn key(mark: &'static str, category: Category) -> Key {
    Key { mark, category, first: true, spaced: true, value: None }
}

/// Returns the rule for a line whose first marker has its own category.
pub(crate) const fn mark(begin: &'static str, category: Category) -> LineRule {
    LineRule { begin, category, indented: true, whole: false }
}

/// Returns the rule for a line of one category.
pub(crate) const fn whole_line(begin: &'static str, category: Category) -> LineRule {
    LineRule { begin, category, indented: true, whole: true }
}

/// Returns the rule for a string with a custom delimiter.
pub(crate) const fn delimited(begin: &'static str, parts: u8) -> Delimited {
    Delimited { begin, parts, letter: false, spaced: false, brackets: false }
}

/// Returns true if a list of bytes contains one.
pub(crate) const fn is_in(list: &str, byte: u8) -> bool {
    let list = list.as_bytes();
    let mut index = 0;
    while index < list.len() {
        if list[index] == byte {
            return true;
        }
        index += 1;
    }
    false
}

/// The category of the delimiters around code in a string.
pub(crate) const INTERPOLATION_MARK: Category = Punctuation;
