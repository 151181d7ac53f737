//! Highlights source code as coloured terminal text.
//!
//! [`highlight`] colours a whole text, [`HighlightStream`] a text that arrives in chunks. About a hundred languages
//! have built-in lexers that are optimised for speed: the most common languages have their own, the others are rows of
//! data for a table-driven lexer. The remaining languages use a TextMate grammar, which is much slower and therefore
//! has a budget ([`HighlightResult`]). All use the same eleven categories, so a palette ([`Colors`]) has eleven
//! colours.
//!
//! These guarantees apply to every input:
//! - removing the colour codes returns the input, byte for byte;
//! - every line ends with its colours reset, so that lines can be shown separately;
//! - a text that a lexer misunderstands gets wrong colours, never wrong text.
//!
//! ```
//! use sinew_highlight::{Colors, highlight};
//!
//! let colors = Colors { keyword: "\x1b[31m".into(), ..Colors::default() };
//! assert_eq!(highlight("let x;\n", "rust", &colors), "\x1b[31mlet\x1b[39m x;\n");
//! ```

mod category;
mod colors;
mod grammar;
mod lex;
mod lines;
mod names;
mod paint;
mod scopes;
mod stream;

pub use category::Category;
pub use colors::Colors;
pub use lines::LineHighlighter;
pub use stream::HighlightStream;

use colors::Palette;
use stream::Highlighter;

/// Colours `code`, written in `lang`.
///
/// `lang` is a name, an alias or a file extension, ignoring case (`"typescript"`, `"ts"`, `".ts"`). For an unknown
/// language, or a palette without colours, the code is returned unchanged. A line that contains an escape character
/// stays plain, because an added code could become part of its sequence. Runs in linear time; if a grammar is used,
/// highlighting stops after about a tenth of a second, and the rest stays plain: [`highlight_detailed`] returns how
/// much.
#[must_use]
pub fn highlight(code: &str, lang: &str, colors: &Colors) -> String {
    highlight_detailed(code, lang, colors).text
}

/// A highlighted text, and how many lines a limit left plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightResult {
    /// The code with colours.
    pub text: String,
    /// The number of lines that a limit left plain. Always 0 for a language with a built-in lexer. A language with a
    /// grammar has a budget of 32 KiB of code per text (8 KiB for the slowest ones), after which all lines stay plain;
    /// before that, lines of more than 1 KiB stay plain.
    pub plain_lines: usize,
}

/// Does the same as [`highlight`], and returns how many lines a limit left plain.
#[must_use]
pub fn highlight_detailed(code: &str, lang: &str, colors: &Colors) -> HighlightResult {
    let mut highlighter = names::find(lang).map(Highlighter::new);
    let text = whole(code, highlighter.as_mut(), colors);
    HighlightResult { text, plain_lines: highlighter.map_or(0, |highlighter| highlighter.plain_lines()) }
}

/// Does the same as [`highlight`] for languages with a built-in lexer only. A program that uses no other function of
/// this crate links no grammars, which saves 1.6 MB.
#[must_use]
pub fn highlight_by_lexer(code: &str, lang: &str, colors: &Colors) -> String {
    let palette = Palette::new(colors);
    let Some(language) = names::find_lexer(lang).filter(|_| !palette.is_plain()) else {
        return code.to_owned();
    };
    let mut lexer = lex::Lexer::new(language);
    stream::paint(code, &palette, 0, |line, paint| lexer.line(line, paint)).unwrap_or_else(|| code.to_owned())
}

/// Does the same as [`highlight`], but always with the language's TextMate grammar, as a reference for the lexers.
#[must_use]
pub fn highlight_by_grammar(code: &str, lang: &str, colors: &Colors) -> String {
    let mut grammar = names::find_grammar(lang).map(|syntax| Highlighter::new(names::Engine::Grammar(syntax)));
    whole(code, grammar.as_mut(), colors)
}

/// Returns true if [`highlight`] supports a language.
#[must_use]
pub fn supports(lang: &str) -> bool {
    names::find(lang).is_some()
}

/// Returns one name for each language that [`highlight`] supports, in lower case, sorted.
#[must_use]
pub fn languages() -> Vec<String> {
    names::all()
}

fn whole(code: &str, highlighter: Option<&mut Highlighter>, colors: &Colors) -> String {
    let palette = Palette::new(colors);
    match highlighter {
        Some(highlighter) if !palette.is_plain() => {
            highlighter.run(code, &palette, 0).unwrap_or_else(|| code.to_owned())
        }
        _ => code.to_owned(),
    }
}
