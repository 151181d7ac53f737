//! Converts text with SGR codes, as tools print it, to styled lines.

use super::row::Line;
use super::style::{Attrs, Color, Style};

/// Reads coloured text that arrives in pieces: the style continues from line to line.
#[derive(Clone, Debug, Default)]
pub struct AnsiReader {
    style: Style,
}

impl AnsiReader {
    /// Creates a reader that begins with the plain style.
    #[must_use]
    pub fn new() -> AnsiReader {
        AnsiReader::default()
    }

    /// Converts one line without its end. SGR codes become styles over `base`; a carriage return restarts the line, as
    /// progress bars expect; other control sequences are removed. Runs in linear time.
    pub fn line(&mut self, text: &str, base: Style) -> Line {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let mut line = Line::new();
        for (index, part) in text.split('\r').enumerate() {
            if index > 0 {
                line = Line::new();
            }
            self.push(part, base, &mut line);
        }
        line
    }

    fn push(&mut self, mut rest: &str, base: Style, line: &mut Line) {
        while let Some(at) = rest.find("\x1b[") {
            let body = &rest[at + 2..];
            let end = body.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'));
            match end.filter(|end| body.as_bytes()[*end] == b'm') {
                Some(end) => {
                    line.push(&rest[..at], self.style.over(base));
                    self.style = apply_sgr(self.style, &body[..end]);
                    rest = &body[end + 1..];
                }
                None => {
                    // Any other sequence is removed from the line together with the surrounding text.
                    let next = body.find("\x1b[").map_or(rest.len(), |next| at + 2 + next);
                    line.push(&rest[..next], self.style.over(base));
                    rest = &rest[next..];
                }
            }
        }
        line.push(rest, self.style.over(base));
    }
}

/// Returns `style` after the SGR codes of `body` (the part between `ESC [` and `m`).
#[must_use]
pub fn apply_sgr(mut style: Style, body: &str) -> Style {
    let mut codes = body.split([';', ':']).map(|code| if code.is_empty() { Some(0) } else { code.parse::<u16>().ok() });
    while let Some(code) = codes.next() {
        let clear = |style: &mut Style, attrs: u8| style.attrs.0 &= !attrs;
        match code {
            Some(0) => style = Style::PLAIN,
            Some(1) => style.attrs = style.attrs.with(Attrs::BOLD),
            Some(2) => style.attrs = style.attrs.with(Attrs::DIM),
            Some(3) => style.attrs = style.attrs.with(Attrs::ITALIC),
            Some(4) => style.attrs = style.attrs.with(Attrs::UNDERLINE),
            Some(7) => style.attrs = style.attrs.with(Attrs::REVERSE),
            Some(9) => style.attrs = style.attrs.with(Attrs::STRIKE),
            Some(22) => clear(&mut style, Attrs::BOLD.0 | Attrs::DIM.0),
            Some(23) => clear(&mut style, Attrs::ITALIC.0),
            Some(24) => clear(&mut style, Attrs::UNDERLINE.0),
            Some(27) => clear(&mut style, Attrs::REVERSE.0),
            Some(29) => clear(&mut style, Attrs::STRIKE.0),
            Some(n @ 30..=37) => style.fg = Color::Named((n - 30) as u8),
            Some(n @ 90..=97) => style.fg = Color::Named((n - 90 + 8) as u8),
            Some(n @ 40..=47) => style.bg = Color::Named((n - 40) as u8),
            Some(n @ 100..=107) => style.bg = Color::Named((n - 100 + 8) as u8),
            Some(39) => style.fg = Color::Default,
            Some(49) => style.bg = Color::Default,
            Some(n @ (38 | 48)) => {
                let byte = |code: Option<Option<u16>>| code.flatten().and_then(|code| u8::try_from(code).ok());
                let color = match codes.next().flatten() {
                    Some(5) => byte(codes.next()).map(Color::Indexed),
                    Some(2) => match (byte(codes.next()), byte(codes.next()), byte(codes.next())) {
                        (Some(r), Some(g), Some(b)) => Some(Color::Rgb(r, g, b)),
                        _ => None,
                    },
                    _ => None,
                };
                match color {
                    Some(color) if n == 38 => style.fg = color,
                    Some(color) => style.bg = color,
                    None => return style,
                }
            }
            _ => {}
        }
    }
    style
}
