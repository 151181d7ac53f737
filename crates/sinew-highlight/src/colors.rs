//! The palette, and the sequences that reset its colours.

use crate::category::{CATEGORIES, Category};

/// A palette: one ANSI string per category, such as `"\x1b[38;5;81m"`.
///
/// A colour must consist of complete SGR sequences (`ESC [ numbers m`, one or several). Any other text would change the
/// displayed code, so it is ignored like an empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Colors {
    /// The colour of comments.
    pub comment: String,
    /// The colour of keywords.
    pub keyword: String,
    /// The colour of function names.
    pub function: String,
    /// The colour of variables.
    pub variable: String,
    /// The colour of strings.
    pub string: String,
    /// The colour of numbers.
    pub number: String,
    /// The colour of type names.
    pub r#type: String,
    /// The colour of operators.
    pub operator: String,
    /// The colour of punctuation.
    pub punctuation: String,
    /// The colour of added lines of a diff.
    pub inserted: String,
    /// The colour of removed lines of a diff.
    pub deleted: String,
}

/// A compiled palette.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    pub(crate) styles: [Style; CATEGORIES],
}

/// One colour: its start and reset sequences, and its attributes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Style {
    /// Empty for "no colour".
    pub(crate) begin: Box<str>,
    /// Resets exactly what `begin` sets, so that a background of the caller is kept.
    pub(crate) end: Box<str>,
    /// The attributes that `begin` sets, as bit flags.
    pub(crate) sets: u8,
}

const FOREGROUND: u8 = 1;
const WEIGHT: u8 = 2;
const SLANT: u8 = 4;
const UNDERLINE: u8 = 8;
/// Attributes that are visible on blanks.
pub(crate) const VISIBLE_ON_BLANKS: u8 = UNDERLINE | BACKGROUND | OTHER;
const BACKGROUND: u8 = 16;
const OTHER: u8 = 32;

impl Palette {
    pub(crate) fn new(colors: &Colors) -> Self {
        let mut styles: [Style; CATEGORIES] = Default::default();
        for category in Category::ALL {
            styles[category as usize] = Style::new(colors.get(category));
        }
        Self { styles }
    }

    /// Returns true if no category has a colour.
    pub(crate) fn is_plain(&self) -> bool {
        self.styles.iter().all(|style| style.begin.is_empty())
    }
}

impl Colors {
    fn get(&self, category: Category) -> &str {
        match category {
            Category::Plain => "",
            Category::Comment => &self.comment,
            Category::Keyword => &self.keyword,
            Category::Function => &self.function,
            Category::Variable => &self.variable,
            Category::String => &self.string,
            Category::Number => &self.number,
            Category::Type => &self.r#type,
            Category::Operator => &self.operator,
            Category::Punctuation => &self.punctuation,
            Category::Inserted => &self.inserted,
            Category::Deleted => &self.deleted,
        }
    }
}

impl Style {
    fn new(begin: &str) -> Self {
        let Some(sets) = attributes(begin) else {
            return Self::default();
        };
        if sets == 0 {
            return Self::default();
        }
        let mut codes = Vec::new();
        if sets & OTHER != 0 {
            codes.push("0");
        } else {
            for (bit, code) in
                [(FOREGROUND, "39"), (WEIGHT, "22"), (SLANT, "23"), (UNDERLINE, "24"), (BACKGROUND, "49")]
            {
                if sets & bit != 0 {
                    codes.push(code);
                }
            }
        }
        Self { begin: begin.into(), end: format!("\x1b[{}m", codes.join(";")).into(), sets }
    }
}

/// Returns the attributes that a run of SGR sequences sets; `None` for any other text, and for a colour longer than 128
/// bytes, because it would be repeated for every token.
fn attributes(text: &str) -> Option<u8> {
    if text.len() > 128 {
        return None;
    }
    let mut sets = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (body, after) = rest.strip_prefix("\x1b[")?.split_once('m')?;
        if !body.bytes().all(|byte| byte.is_ascii_digit() || byte == b';' || byte == b':') {
            return None;
        }
        sets |= attributes_of(body);
        rest = after;
    }
    Some(sets)
}

fn attributes_of(body: &str) -> u8 {
    let mut sets = 0;
    let mut codes = body.split(';');
    while let Some(code) = codes.next() {
        let (code, inline) = code.split_once(':').map_or((code, false), |(head, _)| (head, true));
        sets |= match code {
            "1" | "2" => WEIGHT,
            "3" => SLANT,
            "4" | "21" => UNDERLINE,
            "38" | "48" => {
                if !inline {
                    match codes.next() {
                        Some("2") => drop(codes.nth(2)),
                        Some("5") => drop(codes.next()),
                        _ => {}
                    }
                }
                if code == "38" { FOREGROUND } else { BACKGROUND }
            }
            "30" | "31" | "32" | "33" | "34" | "35" | "36" | "37" => FOREGROUND,
            "90" | "91" | "92" | "93" | "94" | "95" | "96" | "97" => FOREGROUND,
            "40" | "41" | "42" | "43" | "44" | "45" | "46" | "47" => BACKGROUND,
            "100" | "101" | "102" | "103" | "104" | "105" | "106" | "107" => BACKGROUND,
            "0" | "" | "39" | "49" | "22" | "23" | "24" => 0,
            _ => OTHER,
        };
    }
    sets
}
