//! Coloured text to the category of each byte and back to text.

use sinew_highlight::{Category, Colors};

/// Colours that can be told apart: the number of the category.
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

/// The text without the codes of [`palette`], and the category of each of its bytes.
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

/// The category that a code at the beginning of a text switches to, and the text behind it.
fn code(text: &str) -> Option<(Category, &str)> {
    if let Some(after) = text.strip_prefix("\x1b[39m") {
        return Some((Category::Plain, after));
    }
    let (number, after) = text.strip_prefix("\x1b[38;5;")?.split_once('m')?;
    let category = Category::ALL.get(number.parse::<usize>().ok()?)?;
    Some((*category, after))
}
