//! Code line by line, without border and indentation, so that a selection contains the source.

use sinew_highlight::{Colors, LineHighlighter};

use crate::text::ansi::AnsiReader;
use crate::text::row::{Line, Row};
use crate::text::style::{Color, Style};
use crate::text::wrap::{WrapMode, wrap};
use crate::theme::{Theme, Token};

/// Highlights the lines of one language, each in the context of the previous ones.
#[derive(Clone)]
pub(crate) struct CodeLines {
    highlighter: LineHighlighter,
    reader: AnsiReader,
}

/// Categories are encoded as palette colours, so that the theme is applied when a line is shown.
const CATEGORIES: [Token; 9] = [
    Token::SyntaxComment,
    Token::SyntaxKeyword,
    Token::SyntaxFunction,
    Token::SyntaxVariable,
    Token::SyntaxString,
    Token::SyntaxNumber,
    Token::SyntaxType,
    Token::SyntaxOperator,
    Token::SyntaxPunctuation,
];

impl CodeLines {
    pub(crate) fn new(lang: &str) -> CodeLines {
        let code = |at: usize| format!("\x1b[38;5;{at}m");
        let colors = Colors {
            comment: code(0),
            keyword: code(1),
            function: code(2),
            variable: code(3),
            string: code(4),
            number: code(5),
            r#type: code(6),
            operator: code(7),
            punctuation: code(8),
            ..Colors::default()
        };
        CodeLines { highlighter: LineHighlighter::new(lang, &colors), reader: AnsiReader::new() }
    }

    /// Returns the next line, without its end, in the colours of `theme` on `bg`.
    pub(crate) fn line(&mut self, text: &str, theme: &Theme, bg: Color) -> Line {
        if text.contains('\x1b') {
            return Line::styled(text, Style::PLAIN.on(bg));
        }
        let colored = self.highlighter.line(text);
        let coded = self.reader.line(&colored, Style::PLAIN);
        let mut line = Line::new();
        let mut start = 0;
        for run in coded.runs() {
            let style = match run.style.fg {
                Color::Indexed(at) if usize::from(at) < CATEGORIES.len() => theme.style(CATEGORIES[usize::from(at)]),
                _ => Style::PLAIN,
            };
            line.push(&coded.text()[start..run.end], style.on(bg));
            start = run.end;
        }
        line
    }
}

/// Appends the rows of a line of code: soft if the width of all clusters is certain.
pub(crate) fn code_rows(line: &Line, width: usize, number: u32, out: &mut Vec<Row>) {
    let (none, before) = (Line::new(), out.len());
    wrap(line, width, WrapMode::Soft, number, (&none, &none), out);
    out[before..].iter_mut().for_each(|row| row.foreign = true);
}
