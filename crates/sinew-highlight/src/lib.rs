//! Source code to coloured terminal text.
//!
//! [`highlight`] colours a whole text, [`HighlightStream`] one that arrives in pieces. About a hundred languages have lexers
//! of our own, made for speed: those that are shown most have one each, the others are rows of data for one table-driven
//! lexer. The rest goes through a TextMate grammar, which is much slower and therefore has a budget ([`HighlightResult`]).
//! Both know the same eleven categories, so a palette ([`Colors`]) has eleven colours.
//!
//! Three laws hold for every input:
//! - removing the colour codes gives the input back, byte for byte;
//! - every line ends with the colours taken back, so lines can be cut apart and shown alone;
//! - a text that a lexer misunderstands gets odd colours, never odd text.
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
/// `lang` is a name, an alias or a file extension in any letter case (`"typescript"`, `"ts"`, `".ts"`). A language that
/// is not known, or a palette without colours, gives the code back unchanged. A line that holds an escape character of
/// its own stays plain, since a code of ours could become part of its sequence. Takes linear time; where a grammar does
/// the work, it ends after a tenth of a second or so, and what is left stays plain: [`highlight_detailed`] says how much.
#[must_use]
pub fn highlight(code: &str, lang: &str, colors: &Colors) -> String {
    highlight_detailed(code, lang, colors).text
}

/// A coloured text, and how much of it no limit let through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightResult {
    /// The code with colours.
    pub text: String,
    /// The number of lines that a limit left plain. Always 0 for a language with a lexer of our own. A language that goes
    /// through a grammar has a budget of 32 KiB of code for one text (8 KiB for the slowest few), after which all lines stay plain; before that, lines
    /// of more than 1 KiB do.
    pub plain_lines: usize,
}

/// Like [`highlight`], and says how many lines a limit left plain.
#[must_use]
pub fn highlight_detailed(code: &str, lang: &str, colors: &Colors) -> HighlightResult {
    let mut highlighter = names::find(lang).map(Highlighter::new);
    let text = whole(code, highlighter.as_mut(), colors);
    HighlightResult { text, plain_lines: highlighter.map_or(0, |highlighter| highlighter.plain_lines()) }
}

/// Like [`highlight`], but a language without a lexer of our own is not known. A program that calls nothing else here links
/// no grammar, which saves it 1.6 MB.
#[must_use]
pub fn highlight_by_lexer(code: &str, lang: &str, colors: &Colors) -> String {
    let palette = Palette::new(colors);
    let Some(language) = names::find_lexer(lang).filter(|_| !palette.is_plain()) else {
        return code.to_owned();
    };
    let mut lexer = lex::Lexer::new(language);
    stream::paint(code, &palette, 0, |line, paint| lexer.line(line, paint)).unwrap_or_else(|| code.to_owned())
}

/// Like [`highlight`], but always by the language's TextMate grammar: what the lexers are measured against.
#[must_use]
pub fn highlight_by_grammar(code: &str, lang: &str, colors: &Colors) -> String {
    let mut grammar = names::find_grammar(lang).map(|syntax| Highlighter::new(names::Engine::Grammar(syntax)));
    whole(code, grammar.as_mut(), colors)
}

/// Returns whether [`highlight`] knows a language.
#[must_use]
pub fn supports(lang: &str) -> bool {
    names::find(lang).is_some()
}

/// One name for each language that [`highlight`] knows, in lower case, sorted.
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
