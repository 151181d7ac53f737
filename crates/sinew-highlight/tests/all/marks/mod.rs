//! Converts coloured text to plain text with the category of each byte.

use sinew_highlight::{Category, Colors};

/// Returns a palette with a different colour for each category: its number.
pub(crate) fn palette() -> Colors {
    let color = |category: Category| format!("\x1b[38;5;{}m", category as u8);
    Colors {
        comment: color(Category::Comment),
        keyword: color(Category::Keyword),
        function: color(Category::Function),
        variable: color(Category::Variable),
        string: color(Category::String),
        number: color(Category::Number),
        r#type: color(Category::Type),
        operator: color(Category::Operator),
        punctuation: color(Category::Punctuation),
        inserted: color(Category::Inserted),
        deleted: color(Category::Deleted),
    }
}

/// Returns the text without the codes of [`palette`], and the category of each byte.
pub(crate) fn decode(text: &str) -> (String, Vec<Category>) {
    let (mut plain, mut categories) = (String::new(), Vec::new());
    let mut current = Category::Plain;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((category, after)) = code(rest) {
            current = category;
            rest = after;
            continue;
        }
        plain.push(first);
        categories.extend(std::iter::repeat_n(current, first.len_utf8()));
        rest = &rest[first.len_utf8()..];
    }
    (plain, categories)
}

/// Returns the category that a code at the start of a text selects, and the text after the code.
fn code(text: &str) -> Option<(Category, &str)> {
    if let Some(after) = text.strip_prefix("\x1b[39m") {
        return Some((Category::Plain, after));
    }
    let (number, after) = text.strip_prefix("\x1b[38;5;")?.split_once('m')?;
    let category = Category::ALL.get(number.parse::<usize>().ok()?)?;
    Some((*category, after))
}
