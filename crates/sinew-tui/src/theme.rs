//! Colours by name.

mod builtin;
mod contrast;

pub use contrast::contrast;
pub(crate) use contrast::distance;

use crate::text::style::{Attrs, Color, Style};

macro_rules! tokens {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// An element of the screen with its own colour.
        #[allow(missing_docs, reason = "the names say what is coloured")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Token { $($variant),* }

        impl Token {
            /// All tokens.
            pub const ALL: &[Token] = &[$(Token::$variant),*];

            /// Returns the name in theme files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Token::$variant => $name),* }
            }
        }
    };
}

tokens! {
    Accent "accent", Border "border", Success "success", Error "error", Warning "warning", Muted "muted", Dim "dim",
    Text "text", ThinkingText "thinkingText", SelectedBg "selectedBg", UserMessageBg "userMessageBg",
    UserMessageText "userMessageText", ToolTitle "toolTitle", ToolOutput "toolOutput", MdHeading "mdHeading",
    MdLink "mdLink", MdLinkUrl "mdLinkUrl", MdCode "mdCode", MdCodeBlock "mdCodeBlock", MdQuote "mdQuote", MdQuoteBorder "mdQuoteBorder",
    MdHr "mdHr", MdListBullet "mdListBullet", ToolDiffAdded "toolDiffAdded", ToolDiffRemoved "toolDiffRemoved",
    ToolDiffContext "toolDiffContext", SyntaxComment "syntaxComment", SyntaxKeyword "syntaxKeyword",
    SyntaxFunction "syntaxFunction", SyntaxVariable "syntaxVariable", SyntaxString "syntaxString",
    SyntaxNumber "syntaxNumber", SyntaxType "syntaxType", SyntaxOperator "syntaxOperator",
    SyntaxPunctuation "syntaxPunctuation", BashMode "bashMode",
}

impl Token {
    /// Returns true if the token is a background colour.
    #[must_use]
    pub fn is_background(self) -> bool {
        matches!(self, Token::SelectedBg | Token::UserMessageBg)
    }
}

/// A colour for each token.
#[derive(Clone, PartialEq, Debug)]
pub struct Theme {
    /// The name.
    pub name: String,
    colors: Vec<Color>,
}

impl Default for Theme {
    /// Returns [`Theme::ansi`], which works in every terminal.
    fn default() -> Theme {
        Theme::ansi()
    }
}

impl Theme {
    /// Returns the colour of a token.
    #[must_use]
    pub fn color(&self, token: Token) -> Color {
        self.colors[token as usize]
    }

    /// Returns the style of a token. Dimmed elements are dimmed without colours as well.
    #[must_use]
    pub fn style(&self, token: Token) -> Style {
        match (token, self.color(token)) {
            (token, color) if token.is_background() => Style::PLAIN.on(color),
            (Token::Dim | Token::Muted | Token::ThinkingText, Color::Default) => Style::PLAIN.with(Attrs::DIM),
            (_, color) => Style::fg(color),
        }
    }

    /// Derives the backgrounds from the terminal's own: 8 % towards its text colour. The theme of named colours has
    /// none.
    #[must_use]
    pub fn on_terminal(mut self, background: [u8; 3], text: [u8; 3]) -> Theme {
        if self.name != "ansi" {
            let mix = |at: usize| ((u16::from(background[at]) * 92 + u16::from(text[at]) * 8 + 50) / 100) as u8;
            for token in Token::ALL.iter().filter(|token| token.is_background()) {
                self.colors[*token as usize] = Color::Rgb(mix(0), mix(1), mix(2));
            }
        }
        self
    }

    /// Changes colours by the names and values of a theme file: `#rrggbb`, 0–255, or an empty value for the terminal's
    /// own. Ignores invalid entries, and returns a message for each.
    pub fn apply<'a>(&mut self, values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, value) in values {
            let token = Token::ALL.iter().find(|token| token.name() == name);
            match (token, parse_color(value)) {
                (Some(token), Some(color)) => self.colors[*token as usize] = color,
                (None, _) => problems.push(format!("unknown color `{name}`")),
                (_, None) => problems
                    .push(format!("`{name}`: `{value}` is not a color; use `#rrggbb`, 0 to 255, or an empty text")),
            }
        }
        problems
    }

    /// Shows added and removed lines in blue and orange, for users who cannot distinguish green from red.
    #[must_use]
    pub fn color_blind(mut self) -> Theme {
        let light = self.name == "light";
        let (added, removed) = match (self.name.as_str(), light) {
            ("ansi", _) => (Color::Named(4), Color::Named(3)),
            (_, true) => (Color::Rgb(0, 83, 165), Color::Rgb(150, 70, 0)),
            _ => (Color::Rgb(110, 180, 255), Color::Rgb(255, 170, 80)),
        };
        self.colors[Token::ToolDiffAdded as usize] = added;
        self.colors[Token::ToolDiffRemoved as usize] = removed;
        self
    }
}

/// Parses a colour of a theme file; `None` if it is invalid.
#[must_use]
pub fn parse_color(text: &str) -> Option<Color> {
    if text.is_empty() {
        return Some(Color::Default);
    }
    if let Some(hex) = text.strip_prefix('#') {
        let value = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 6)?;
        let [_, r, g, b] = value.to_be_bytes();
        return Some(Color::Rgb(r, g, b));
    }
    text.parse().ok().map(|n: u8| if n < 16 { Color::Named(n) } else { Color::Indexed(n) })
}
