//! The eleven categories that a palette can colour, and "plain" for everything else.

/// The category of a token, which determines its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Category {
    /// No colour.
    #[default]
    Plain,
    /// Comments and quoted lines.
    Comment,
    /// Keywords, built-in constants (`true`, `null`), tags, headings, keys of YAML and TOML.
    Keyword,
    /// Names of functions and macros, in definitions and calls.
    Function,
    /// Variables, parameters, attributes and properties, as far as the lexer can distinguish them.
    Variable,
    /// Strings, character literals, regular expressions and raw text.
    String,
    /// Numbers and colour values.
    Number,
    /// Names of types, classes and modules.
    Type,
    /// Operators.
    Operator,
    /// Brackets, commas, semicolons and similar characters.
    Punctuation,
    /// Added lines of a diff.
    Inserted,
    /// Removed lines of a diff.
    Deleted,
}

/// The number of categories, including [`Category::Plain`].
pub(crate) const CATEGORIES: usize = 12;

impl Category {
    /// Every category, ordered by number.
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

    /// Returns the lower-case name, as in the keys of a palette (`plain` has no key).
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
