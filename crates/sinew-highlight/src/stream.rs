//! Highlights text that arrives in chunks, and the loop over lines.

use memchr::memchr;

use crate::colors::{Colors, Palette};
use crate::grammar::Grammar;
use crate::lex::Lexer;
use crate::names::{self, Engine};
use crate::paint::Paint;

/// The length at which an unfinished line is no longer highlighted, because each chunk lexes it again.
const LONGEST_PENDING: usize = 8 << 10;

/// Highlights code that arrives in chunks, such as the answer of a model.
///
/// For complete lines it returns the same bytes as one call of [`crate::highlight`] with the joined text. A chunk that
/// ends inside a line is coloured as far as possible and ends with the colours reset; the rest of the line is coloured
/// with the earlier part as context.
#[derive(Clone)]
pub struct HighlightStream {
    highlighter: Option<Highlighter>,
    palette: Palette,
    /// The unfinished line, whose chunks are shown already.
    pending: String,
    /// True if the line became too long to be highlighted.
    line_too_long: bool,
    /// The number of such lines.
    long_lines: usize,
}

impl HighlightStream {
    /// Creates a stream for code in `lang`, which is looked up as in [`crate::highlight`].
    #[must_use]
    pub fn new(lang: &str, colors: &Colors) -> Self {
        let palette = Palette::new(colors);
        let highlighter = if palette.is_plain() { None } else { names::find(lang).map(Highlighter::new) };
        Self { highlighter, palette, pending: String::new(), line_too_long: false, long_lines: 0 }
    }

    /// Returns the number of lines so far that a limit left plain: too long, or beyond the budget of a grammar (see
    /// [`crate::HighlightResult::plain_lines`]).
    #[must_use]
    pub fn plain_lines(&self) -> usize {
        self.long_lines + self.highlighter.as_ref().map_or(0, Highlighter::plain_lines)
    }

    /// Highlights the next chunk.
    #[must_use]
    pub fn push(&mut self, chunk: &str) -> String {
        let Some(highlighter) = &mut self.highlighter else {
            return chunk.to_owned();
        };
        let mut out = String::new();
        let mut chunk = chunk;
        let was_long = self.line_too_long;
        if self.line_too_long || !self.pending.is_empty() {
            let end = memchr(b'\n', chunk.as_bytes()).map(|end| end + 1);
            let (head, tail) = chunk.split_at(end.unwrap_or(chunk.len()));
            out = resume(highlighter, &self.palette, &mut self.pending, &mut self.line_too_long, head);
            self.long_lines += usize::from(self.line_too_long && !was_long);
            if end.is_none() {
                return out;
            }
            chunk = tail;
        }
        // Complete lines update the state; the rest is highlighted with a copy of it.
        let lines = chunk.rfind('\n').map_or(0, |end| end + 1);
        let (lines, rest) = chunk.split_at(lines);
        if !lines.is_empty() {
            out.push_str(&highlighter.run(lines, &self.palette, 0).unwrap_or_else(|| lines.to_owned()));
        }
        if !rest.is_empty() {
            out.push_str(&resume(highlighter, &self.palette, &mut self.pending, &mut self.line_too_long, rest));
            self.long_lines += usize::from(self.line_too_long);
        }
        out
    }
}

/// Continues an unfinished line.
fn resume(
    highlighter: &mut Highlighter,
    palette: &Palette,
    pending: &mut String,
    line_too_long: &mut bool,
    piece: &str,
) -> String {
    let ends = piece.ends_with('\n');
    let shown = pending.len();
    if *line_too_long || shown + piece.len() > LONGEST_PENDING && !ends {
        // The state includes the known part of the line, so that the next line starts with a good guess.
        if !*line_too_long {
            pending.push_str(piece);
            let _ = highlighter.run(pending, palette, 0);
            pending.clear();
        }
        *line_too_long = !ends;
        return piece.to_owned();
    }
    pending.push_str(piece);
    if ends {
        let line = std::mem::take(pending);
        return highlighter.run(&line, palette, shown).unwrap_or_else(|| piece.to_owned());
    }
    highlighter.clone().run(pending, palette, shown).unwrap_or_else(|| piece.to_owned())
}

/// A lexer or a grammar with its state.
#[derive(Clone)]
pub(crate) enum Highlighter {
    NativeLexer(Lexer),
    // Much larger than a lexer.
    Grammar(Box<Grammar>),
}

impl Highlighter {
    pub(crate) fn new(engine: Engine) -> Self {
        match engine {
            Engine::Native(language) => Self::NativeLexer(Lexer::new(language)),
            Engine::Grammar(syntax) => Self::Grammar(Box::new(Grammar::new(syntax))),
        }
    }

    /// Returns the number of lines that a limit left plain.
    pub(crate) fn plain_lines(&self) -> usize {
        match self {
            Self::NativeLexer(_) => 0,
            Self::Grammar(grammar) => grammar.plain_lines(),
        }
    }

    /// Highlights a text as [`paint`] does.
    pub(crate) fn run(&mut self, code: &str, palette: &Palette, skip: usize) -> Option<String> {
        paint(code, palette, skip, |line, paint| match self {
            Self::NativeLexer(lexer) => lexer.line(line, paint),
            Self::Grammar(grammar) => grammar.line(line, paint),
        })
    }
}

/// Highlights a text that begins at the start of a line, by lines without their line ends; its first `skip` bytes are
/// not shown. `None` if a token was cut inside a character.
pub(crate) fn paint(
    code: &str,
    palette: &Palette,
    skip: usize,
    mut line_of: impl FnMut(&[u8], &mut Paint<'_>),
) -> Option<String> {
    let code = code.as_bytes();
    let mut paint = Paint::new(palette, (code.len() - skip) * 3 + 64);
    let mut escape = memchr(0x1b, code);
    let mut at = 0;
    while at < code.len() {
        let end = memchr(b'\n', &code[at..]).map_or(code.len(), |end| at + end + 1);
        let line = &code[at..end];
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let muted = escape.is_some_and(|escape| escape < end);
        paint.begin(muted, skip.saturating_sub(at));
        line_of(text, &mut paint);
        paint.end(&line[text.len()..]);
        at = end;
        if muted {
            escape = memchr(0x1b, &code[at..]).map(|escape| at + escape);
        }
    }
    paint.finish()
}
