//! The row of data that describes a language to the table-driven lexer.

use crate::category::Category::{self, Comment, Plain, Punctuation, String, Variable};
use crate::lex::words::Row;

/// A language as data. [`PLAIN`] holds what most languages share.
pub(crate) struct Rules {
    /// Words with a fixed meaning.
    pub(crate) words: &'static [Row],
    /// True when letter case does not count in `words`.
    pub(crate) fold: bool,
    /// True when `words` count only where a statement begins.
    pub(crate) words_at_start: bool,
    /// True when `words` count behind a dot.
    pub(crate) words_after_dot: bool,
    /// Starts of a comment that ends with the line, and the places where they count.
    pub(crate) comments: &'static [(&'static str, Place)],
    /// Comments with an end, strings and all else that runs from one text to another; the first that fits decides.
    pub(crate) regions: &'static [Region],
    /// Strings whose delimiter the code chooses: `qw(…)`, `~r/…/`.
    pub(crate) delimited: &'static [Delimited],
    /// Starts of a here-document, before its label.
    pub(crate) heredocs: &'static [&'static str],
    /// Marks before a name: `$x`, `@x`, `:x`.
    pub(crate) sigils: &'static [Sigil],
    /// Lines by how they begin.
    pub(crate) lines: &'static [LineRule],
    /// Names by what follows them: `name =`, `name:`.
    pub(crate) keys: &'static [Key],
    /// Bytes that begin a name, beside letters and `_`.
    pub(crate) begins: &'static str,
    /// Bytes that a name holds, beside letters, digits and `_`.
    pub(crate) letters: &'static str,
    /// Bytes of which one may end a name.
    pub(crate) tails: &'static str,
    /// Bytes that join two halves of a number: `8'hFF`, `16#FF#`.
    pub(crate) number_marks: &'static str,
    /// Prefixes of a number, before its digits: `$FF`.
    pub(crate) number_prefixes: &'static [&'static str],
    /// True when a sign belongs to a number where no value precedes it.
    pub(crate) signed: bool,
    /// True when a number may end with a dot.
    pub(crate) open_numbers: bool,
    /// True when a line that begins with `#` is for a preprocessor.
    pub(crate) preprocessor: bool,
    /// The way in which names of functions are recognised.
    pub(crate) calls: Calls,
    /// Names that begin with an upper-case letter.
    pub(crate) capitalised: Category,
    /// Names in upper case.
    pub(crate) shouted: Category,
    /// Bytes after which a statement begins.
    pub(crate) statement_ends: &'static str,
    /// Bytes of operators.
    pub(crate) operators: &'static str,
    /// Bytes of punctuation.
    pub(crate) punctuation: &'static str,
}

/// The way in which names of functions are recognised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Nothing.
    None,
    /// An opening bracket after the name.
    Bracket,
    /// An opening bracket before the name, as in Lisp.
    Head,
    /// The place at the beginning of a statement, as in a shell.
    Command,
}

/// The place at which a mark counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Everywhere.
    Any,
    /// At the very beginning of a line.
    Column0,
    /// Before all else on a line.
    LineStart,
    /// At the beginning of a line or after a blank.
    AfterBlank,
    /// Not right behind a value: what a transposing or an attribute's quote is told from a string by.
    NotAfterValue,
    /// A place at which a value is expected, or behind a blank and before none: tells a regular expression from a division.
    Operand,
    /// The start of a statement.
    Statement,
}

/// A stretch of text from one mark to another.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) category: Category,
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
    /// Long brackets: a byte, any number of which is behind `begin` and, as often, behind `end`; then what follows it
    /// in both places.
    pub(crate) level: Option<(u8, &'static str, &'static str)>,
    /// Hides the byte behind it; 0 for none.
    pub(crate) escape: u8,
    /// True when a doubled end means the end's own text.
    pub(crate) doubled: bool,
    /// True when regions of this kind nest.
    pub(crate) nests: bool,
    /// True when it goes on over the end of a line.
    pub(crate) multiline: bool,
    /// Bytes within which it must end on its line, or it is none; 0 where it need not.
    pub(crate) within: u16,
    pub(crate) place: Place,
    /// True when the end counts only at the beginning of a line and takes the whole of it.
    pub(crate) ends_as_line: bool,
    /// Letters behind the end belong to it, as the flags of a regular expression do.
    pub(crate) flags: bool,
    pub(crate) interpolations: &'static [Interpolation],
}

/// Code inside a string.
#[derive(Clone, Copy)]
pub(crate) struct Interpolation {
    pub(crate) begin: &'static str,
    /// The bracket that ends it; 0 where it is a name.
    pub(crate) end: u8,
}

/// A string whose delimiter is the byte behind its mark; brackets nest.
pub(crate) struct Delimited {
    pub(crate) begin: &'static str,
    /// Two for `s/…/…/`.
    pub(crate) parts: u8,
    /// Letters that may be between the mark and the delimiter, of which there is one: `~r`.
    pub(crate) letter: bool,
    /// True when a blank may precede a bracket.
    pub(crate) spaced: bool,
    /// True when only an opening bracket is a delimiter.
    pub(crate) brackets: bool,
}

/// A mark before a name.
pub(crate) struct Sigil {
    pub(crate) mark: &'static str,
    pub(crate) category: Category,
    /// Brackets that may be in place of a name: `${…}`.
    pub(crate) braces: &'static str,
    /// Bytes of which one may be in place of a name: `$?`.
    pub(crate) specials: &'static str,
    pub(crate) place: Place,
}

/// A line by its beginning.
pub(crate) struct LineRule {
    pub(crate) begin: &'static str,
    pub(crate) category: Category,
    /// True when blanks may precede it.
    pub(crate) indented: bool,
    /// True when the rest of the line goes with it.
    pub(crate) whole: bool,
}

/// A name by what follows it.
pub(crate) struct Key {
    pub(crate) mark: &'static str,
    pub(crate) category: Category,
    /// True when the name must begin its line.
    pub(crate) first: bool,
    /// True when blanks may precede the mark.
    pub(crate) spaced: bool,
    /// The category of the rest of the line.
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

pub(crate) const SLASHES: (&str, Place) = ("//", Place::Any);
pub(crate) const HASH: (&str, Place) = ("#", Place::Any);
pub(crate) const DASHES: (&str, Place) = ("--", Place::Any);
pub(crate) const SEMICOLON: (&str, Place) = (";", Place::Any);
pub(crate) const PERCENT: (&str, Place) = ("%", Place::Any);

/// `/* … */`.
pub(crate) const C_COMMENT: Region = block("/*", "*/");
/// `"…"` on one line, with backslashes.
pub(crate) const DOUBLE: Region = quote("\"");
/// `'…'` on one line, with backslashes.
pub(crate) const SINGLE: Region = quote("'");
/// Bytes within which a character's quote must end.
pub(crate) const CHAR_LENGTH: u16 = 12;
/// `'x'` and its escapes: one character, or none of these.
pub(crate) const CHAR: Region = Region { place: Place::NotAfterValue, ..quote("'").within(CHAR_LENGTH) };
/// `"""…"""` over lines.
pub(crate) const TRIPLE: Region = quote("\"\"\"").lines();

/// A comment over lines.
pub(crate) const fn block(begin: &'static str, end: &'static str) -> Region {
    Region {
        category: Comment,
        begin,
        end,
        level: None,
        escape: 0,
        doubled: false,
        nests: false,
        multiline: true,
        within: 0,
        place: Place::Any,
        ends_as_line: false,
        flags: false,
        interpolations: &[],
    }
}

/// A string on one line that a backslash lets escape.
pub(crate) const fn quote(mark: &'static str) -> Region {
    Region { category: String, escape: b'\\', multiline: false, ..block(mark, mark) }
}

impl Region {
    /// Goes on over the end of a line.
    pub(crate) const fn lines(self) -> Self {
        Self { multiline: true, ..self }
    }

    /// Without escapes.
    pub(crate) const fn raw(self) -> Self {
        Self { escape: 0, ..self }
    }

    /// A doubled end means itself; no other escapes.
    pub(crate) const fn doubled(self) -> Self {
        Self { doubled: true, escape: 0, ..self }
    }

    pub(crate) const fn nested(self) -> Self {
        Self { nests: true, ..self }
    }

    pub(crate) const fn within(self, within: u16) -> Self {
        Self { within, ..self }
    }

    pub(crate) const fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    pub(crate) const fn is(self, category: Category) -> Self {
        Self { category, ..self }
    }

    pub(crate) const fn interpolations(self, interpolations: &'static [Interpolation]) -> Self {
        Self { interpolations, ..self }
    }

    /// With another beginning: `r"…"`.
    pub(crate) const fn begin(self, begin: &'static str) -> Self {
        Self { begin, ..self }
    }

    pub(crate) const fn end(self, end: &'static str) -> Self {
        Self { end, ..self }
    }

    /// Long brackets: `[==[ … ]==]`.
    pub(crate) const fn level(self, byte: u8, begin: &'static str, end: &'static str) -> Self {
        Self { level: Some((byte, begin, end)), escape: 0, multiline: true, ..self }
    }

    /// Whole lines, from one that begins with `begin` to one that begins with `end`.
    pub(crate) const fn whole_lines(self) -> Self {
        Self { ends_as_line: true, place: Place::Column0, escape: 0, multiline: true, ..self }
    }
}

/// `/…/` with flags, where a value is expected.
pub(crate) const REGEX: Region = Region { place: Place::Operand, flags: true, ..quote("/").within(u16::MAX) };

/// `$name` and `${…}`.
pub(crate) const DOLLARS: &[Interpolation] = &[interpolation("${", b'}'), interpolation("$", 0)];
/// `#{…}`.
pub(crate) const HASH_BRACE: &[Interpolation] = &[interpolation("#{", b'}')];

pub(crate) const fn interpolation(begin: &'static str, end: u8) -> Interpolation {
    Interpolation { begin, end }
}

pub(crate) const fn sigil(mark: &'static str, category: Category) -> Sigil {
    Sigil { mark, category, braces: "", specials: "", place: Place::Any }
}

/// `$name`, `${…}`.
pub(crate) const DOLLAR: Sigil = Sigil { braces: "{", ..sigil("$", Variable) };

/// `name =` at the beginning of a line.
pub(crate) const fn key(mark: &'static str, category: Category) -> Key {
    Key { mark, category, first: true, spaced: true, value: None }
}

/// A line whose first mark has a category of its own.
pub(crate) const fn mark(begin: &'static str, category: Category) -> LineRule {
    LineRule { begin, category, indented: true, whole: false }
}

/// A line that is of one category.
pub(crate) const fn whole_line(begin: &'static str, category: Category) -> LineRule {
    LineRule { begin, category, indented: true, whole: true }
}

/// A string with a delimiter of the code's choice.
pub(crate) const fn delimited(begin: &'static str, parts: u8) -> Delimited {
    Delimited { begin, parts, letter: false, spaced: false, brackets: false }
}

/// Returns whether a list of bytes holds one.
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

/// The category of the marks around code in a string.
pub(crate) const INTERPOLATION_MARK: Category = Punctuation;
