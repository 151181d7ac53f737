//! Code line by line, by the lexers alone.

use crate::colors::{Colors, Palette};
use crate::{lex, names, stream};

/// Colours code that is handed over line by line, by the language's lexer; it knows no grammars, and links none.
#[derive(Clone)]
pub struct LineHighlighter {
    lexer: Option<lex::Lexer>,
    palette: Palette,
}

impl LineHighlighter {
    /// A highlighter of `lang`; a language without a lexer of our own stays plain.
    #[must_use]
    pub fn new(lang: &str, colors: &Colors) -> Self {
        Self { lexer: names::find_lexer(lang).map(lex::Lexer::new), palette: Palette::new(colors) }
    }

    /// Takes the next line, with or without its end, and gives it coloured. A line goes by what stood before it, never by
    /// what follows.
    #[must_use]
    pub fn line(&mut self, line: &str) -> String {
        match &mut self.lexer {
            Some(lexer) => stream::paint(line, &self.palette, 0, |line, paint| lexer.line(line, paint))
                .unwrap_or_else(|| line.to_owned()),
            None => line.to_owned(),
        }
    }
}
