//! HTML and XML.

use super::scan::{Line, is_name};
use super::{Lexer, NativeLexer};
use crate::category::Category::{Comment, Keyword, Plain, Punctuation, String, Variable};
use crate::paint::Paint;

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Html {
    mode: Mode,
    /// The language inside a script or a style element, and its lexer.
    inner: Option<(Inner, Box<Lexer>)>,
    /// The language of the element whose opening tag is being read.
    pending: Option<Inner>,
    /// XML has no elements that contain another language.
    xml: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Text,
    Comment,
    /// `<![CDATA[…]]>`.
    Data,
    /// `<!…>` and `<?…>`.
    Declaration,
    Tag,
    Value(u8),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inner {
    Script,
    Style,
}

impl Inner {
    const fn end(self) -> &'static [u8] {
        match self {
            Self::Script => b"</script",
            Self::Style => b"</style",
        }
    }

    fn lexer(self) -> Lexer {
        Lexer::new(match self {
            Self::Script => NativeLexer::JavaScript,
            Self::Style => NativeLexer::Css,
        })
    }
}

impl Html {
    /// Creates a lexer for XML.
    pub(crate) fn xml() -> Self {
        Self { xml: true, ..Self::default() }
    }

    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        while !line.is_done() {
            if self.inner.is_some() && self.mode == Mode::Text {
                self.embedded(line);
                continue;
            }
            match self.mode {
                Mode::Text => self.text(line),
                Mode::Comment => {
                    let end = line.find(b"-->", line.at);
                    if end.is_some() {
                        self.mode = Mode::Text;
                    }
                    line.take(end.map_or(line.text.len(), |end| end + 3), Comment);
                }
                Mode::Data => self.data(line),
                Mode::Declaration => self.declaration(line),
                Mode::Tag => self.tag(line),
                Mode::Value(quote) => self.value(line, quote),
            }
        }
        if let (Mode::Text, Some((_, lexer)), true) = (self.mode, &mut self.inner, line.text.is_empty()) {
            line.hand_over(0, |text, paint| lexer.line(text, paint));
        }
    }

    fn text(&mut self, line: &mut Line<'_, '_, '_>) {
        let at = line.at;
        let next = line.byte(at + 1);
        match line.first() {
            b'<' if line.starts_with(b"<!--") => {
                line.take(at + 4, Comment);
                self.mode = Mode::Comment;
            }
            b'<' if line.starts_with(b"<![CDATA[") => {
                self.mode = Mode::Data;
                self.data(line);
            }
            b'<' if matches!(next, b'!' | b'?') => {
                line.take(at + 2, Punctuation);
                let end = tag_end(line, line.at);
                line.take(end, Keyword);
                self.mode = Mode::Declaration;
            }
            b'<' if next.is_ascii_alphabetic() || next == b'_' || next == b'/' => {
                let close = next == b'/';
                line.take(at + if close { 2 } else { 1 }, Punctuation);
                let start = line.at;
                let end = tag_end(line, start);
                let name = &line.text[start..end];
                self.pending = match name {
                    _ if close || self.xml => None,
                    _ if name.eq_ignore_ascii_case(b"script") => Some(Inner::Script),
                    _ if name.eq_ignore_ascii_case(b"style") => Some(Inner::Style),
                    _ => None,
                };
                line.take(end, Keyword);
                self.mode = Mode::Tag;
            }
            b'&' => {
                let mut end = at + 1;
                while is_name(line.byte(end)) || line.byte(end) == b'#' {
                    end += 1;
                }
                let entity = end > at + 1 && line.byte(end) == b';';
                line.take(if entity { end + 1 } else { at + 1 }, if entity { String } else { Plain });
            }
            _ => {
                let end = line.text[at + 1..].iter().position(|byte| matches!(byte, b'<' | b'&'));
                line.take(end.map_or(line.text.len(), |end| at + 1 + end), Plain);
            }
        }
    }

    fn data(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"]]>", line.at);
        if end.is_some() {
            self.mode = Mode::Text;
        }
        line.take(end.map_or(line.text.len(), |end| end + 3), String);
    }

    fn declaration(&mut self, line: &mut Line<'_, '_, '_>) {
        line.blanks();
        let at = line.at;
        match line.first() {
            0 if line.is_done() => {}
            b'>' => {
                line.take(at + 1, Punctuation);
                self.mode = Mode::Text;
            }
            b'?' if line.byte(at + 1) == b'>' => {
                line.take(at + 2, Punctuation);
                self.mode = Mode::Text;
            }
            quote @ (b'"' | b'\'') => {
                let end = line.find(&[quote], at + 1).map_or(line.text.len(), |end| end + 1);
                line.take(end, String);
            }
            b'=' => line.take(at + 1, Punctuation),
            byte if is_name(byte) => {
                let end = tag_end(line, at);
                let keyword = matches!(&line.text[at..end], b"SYSTEM" | b"PUBLIC");
                line.take(end, if keyword { Keyword } else { Variable });
            }
            _ => line.take(at + 1, Plain),
        }
    }

    fn tag(&mut self, line: &mut Line<'_, '_, '_>) {
        line.blanks();
        let at = line.at;
        match line.first() {
            0 if line.is_done() => {}
            b'>' => {
                line.take(at + 1, Punctuation);
                self.mode = Mode::Text;
                self.inner = self.pending.take().map(|inner| (inner, Box::new(inner.lexer())));
            }
            b'/' if line.byte(at + 1) == b'>' => {
                line.take(at + 2, Punctuation);
                self.mode = Mode::Text;
                self.pending = None;
            }
            b'=' => {
                line.take(at + 1, Punctuation);
                line.blanks();
                let start = line.at;
                match line.first() {
                    quote @ (b'"' | b'\'') => {
                        line.take(start + 1, String);
                        self.value(line, quote);
                    }
                    _ => {
                        let end = line.text[start..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'>'));
                        line.take(end.map_or(line.text.len(), |end| start + end), String);
                    }
                }
            }
            b'<' => self.mode = Mode::Text,
            _ => {
                let end = line.text[at + 1..]
                    .iter()
                    .position(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'=' | b'/' | b'<'));
                line.take(end.map_or(line.text.len(), |end| at + 1 + end), Variable);
            }
        }
    }

    fn value(&mut self, line: &mut Line<'_, '_, '_>, quote: u8) {
        let end = line.find(&[quote], line.at).map(|end| end + 1);
        self.mode = if end.is_some() { Mode::Tag } else { Mode::Value(quote) };
        line.take(end.unwrap_or(line.text.len()), String);
    }

    /// Highlights a line of a script or a style, up to its closing tag.
    fn embedded(&mut self, line: &mut Line<'_, '_, '_>) {
        let Some((inner, lexer)) = &mut self.inner else { return };
        let needle = inner.end();
        let close = line.text[line.at..].windows(needle.len()).position(|text| text.eq_ignore_ascii_case(needle));
        let end = close.map_or(line.text.len(), |close| line.at + close);
        line.hand_over(end, |text, paint: &mut Paint<'_>| lexer.line(text, paint));
        if close.is_some() {
            self.inner = None;
            self.text(line);
        }
    }
}

fn tag_end(line: &Line<'_, '_, '_>, from: usize) -> usize {
    let mut end = from;
    while is_name(line.byte(end)) || matches!(line.byte(end), b'-' | b':' | b'.') {
        end += 1;
    }
    end
}
