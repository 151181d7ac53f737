//! Templates: HTML with embedded code.

use super::html::Html;
use super::scan::Line;
use super::{Lexer, NativeLexer};
use crate::category::Category::{Comment, Keyword};

/// A language of templates.
pub(crate) struct Rules {
    /// The start and the end of a comment; the start is searched before those of code.
    comment: (&'static str, &'static str),
    /// The delimiters of code.
    code: &'static [(&'static str, &'static str)],
    /// The language of the code.
    language: fn() -> Option<NativeLexer>,
}

/// `{# #}`, `{% %}` and `{{ }}` of Jinja, Twig and Django.
pub(crate) static BRACES: Rules = Rules {
    comment: ("{#", "#}"),
    code: &[("{%", "%}"), ("{{", "}}")],
    language: || Some(NativeLexer::Table(super::table::template_code())),
};

/// `<% %>` of Ruby.
pub(crate) static ERB: Rules =
    Rules { comment: ("<%#", "%>"), code: &[("<%", "%>")], language: || Some(NativeLexer::Ruby) };

/// The state of the lexer between lines.
#[derive(Clone)]
pub(crate) struct Template {
    rules: &'static Rules,
    html: Html,
    mode: Mode,
    /// The lexer of the code, which continues across code blocks.
    code: Option<Box<Lexer>>,
}

#[derive(Clone, Copy)]
enum Mode {
    Html,
    Comment,
    /// Code, with its end delimiter.
    Code(&'static str),
}

impl Template {
    pub(crate) fn new(rules: &'static Rules) -> Self {
        Self {
            rules,
            html: Html::default(),
            mode: Mode::Html,
            code: (rules.language)().map(|code| Box::new(Lexer::new(code))),
        }
    }

    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if line.text.is_empty() && matches!(self.mode, Mode::Html) {
            return self.html.line(line);
        }
        while !line.is_done() {
            match self.mode {
                Mode::Html => self.markup(line),
                Mode::Comment => {
                    let mark = self.rules.comment.1;
                    let end = line.find(mark.as_bytes(), line.at);
                    line.take(end.map_or(line.text.len(), |end| end + mark.len()), Comment);
                    if end.is_some() {
                        self.mode = Mode::Html;
                    }
                }
                Mode::Code(mark) => self.code(line, mark),
            }
        }
    }

    /// Highlights HTML up to the next delimiter.
    fn markup(&mut self, line: &mut Line<'_, '_, '_>) {
        let begin = self.rules.code[0].0.as_bytes()[0];
        let mut from = line.at;
        let (stop, mode, size) = loop {
            let Some(at) = line.find(&[begin], from) else { break (line.text.len(), Mode::Html, 0) };
            let text = &line.text[at..];
            if text.starts_with(self.rules.comment.0.as_bytes()) {
                break (at, Mode::Comment, 0);
            }
            if let Some((open, close)) = self.rules.code.iter().find(|(open, _)| text.starts_with(open.as_bytes())) {
                // `{%-`, `<%=`: modifiers of the delimiter.
                let more = matches!(text.get(open.len()), Some(b'-' | b'=' | b'~' | b'+'));
                break (at, Mode::Code(close), open.len() + usize::from(more));
            }
            from = at + 1;
        };
        let html = &mut self.html;
        line.hand_over(stop, |text, paint| html.line(&mut Line::new(text, paint)));
        self.mode = mode;
        line.take(stop + size, Keyword);
    }

    fn code(&mut self, line: &mut Line<'_, '_, '_>, mark: &'static str) {
        let end = line.find(mark.as_bytes(), line.at);
        let stop = end.unwrap_or(line.text.len());
        let trim = end.is_some() && stop > line.at && matches!(line.byte(stop - 1), b'-' | b'~');
        let inside = if trim { stop - 1 } else { stop };
        if let Some(code) = &mut self.code {
            line.hand_over(inside, |text, paint| code.line(text, paint));
        }
        if end.is_some() {
            line.take(stop + mark.len(), Keyword);
            self.mode = Mode::Html;
        }
    }
}
