//! Highlights code line by line, with the lexers only.

use crate::colors::{Colors, Palette};
use crate::{lex, names, stream};

/// Highlights code that is passed line by line, with the language's lexer; supports no grammars, and links none.
#[derive(Clone)]
pub struct LineHighlighter {
    lexer: Option<lex::Lexer>,
    palette: Palette,
}

impl LineHighlighter {
    /// Creates a highlighter for `lang`; a language without a built-in lexer stays plain.
    #[must_use]
    pub fn new(lang: &str, colors: &Colors) -> Self {
        Self { lexer: names::find_lexer(lang).map(lex::Lexer::new), palette: Palette::new(colors) }
    }

    /// Highlights the next line, with or without its line end. The result depends on the previous lines, never on the
    /// following ones.
    #[must_use]
    pub fn line(&mut self, line: &str) -> String {
        match &mut self.lexer {
            Some(lexer) => stream::paint(line, &self.palette, 0, |line, paint| lexer.line(line, paint))
                .unwrap_or_else(|| line.to_owned()),
            None => line.to_owned(),
        }
    }
}
