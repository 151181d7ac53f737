//! The eleven categories that a palette can colour, and "plain" for all else.

/// The kind of a piece of source code, as far as colours go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Category {
    /// No colour.
    #[default]
    Plain,
    /// Comments and quotations.
    Comment,
    /// Keywords, constants of the language (`true`, `null`), tags, headings, keys of YAML and TOML.
    Keyword,
    /// Names of functions and macros, where they are defined and where they are called.
    Function,
    /// Variables, parameters, attributes and properties, as far as the language tells them apart.
    Variable,
    /// Strings, character literals, regular expressions, raw text.
    String,
    /// Numbers and colours.
    Number,
    /// Names of types, classes and modules.
    Type,
    /// Operators.
    Operator,
    /// Brackets, commas, semicolons and the like.
    Punctuation,
    /// Lines that a diff adds.
    Inserted,
    /// Lines that a diff removes.
    Deleted,
}

/// Number of categories, [`Category::Plain`] included.
pub(crate) const CATEGORIES: usize = 12;

impl Category {
    /// Every category in the order of its number.
    pub const ALL: [Self; CATEGORIES] = [
        Self::Plain,
        Self::Comment,
        Self::Keyword,
        Self::Function,
        Self::Variable,
        Self::String,
        Self::Number,
        Self::Type,
        Self::Operator,
        Self::Punctuation,
        Self::Inserted,
        Self::Deleted,
    ];

    /// The lower-case name, as the keys of a palette spell it (`plain` has no key).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Comment => "comment",
            Self::Keyword => "keyword",
            Self::Function => "function",
            Self::Variable => "variable",
            Self::String => "string",
            Self::Number => "number",
            Self::Type => "type",
            Self::Operator => "operator",
            Self::Punctuation => "punctuation",
            Self::Inserted => "inserted",
            Self::Deleted => "deleted",
        }
    }
}
