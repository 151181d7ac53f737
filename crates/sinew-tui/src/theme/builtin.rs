//! The built-in themes.

use super::{Theme, Token};
use crate::text::style::Color;

impl Theme {
    /// Returns a theme with the 16 named colours on the terminal's own background: it works with every scheme, and is
    /// used if the background is unknown.
    #[must_use]
    pub fn ansi() -> Theme {
        build("ansi", |token| match token {
            Token::Accent | Token::MdHeading | Token::MdLink | Token::SyntaxFunction | Token::MdListBullet => {
                Color::Named(4)
            }
            Token::Success | Token::ToolDiffAdded | Token::SyntaxString => Color::Named(2),
            Token::Error | Token::ToolDiffRemoved => Color::Named(1),
            Token::Warning | Token::SyntaxNumber | Token::BashMode => Color::Named(3),
            Token::SyntaxKeyword => Color::Named(5),
            Token::SyntaxType | Token::MdCode => Color::Named(6),
            _ => Color::Default,
        })
    }

    /// Returns the theme for dark backgrounds.
    #[must_use]
    pub fn dark() -> Theme {
        build("dark", |token| match token {
            Token::Accent | Token::MdLink | Token::MdListBullet => Color::Rgb(138, 190, 183),
            Token::Border | Token::Muted | Token::MdLinkUrl | Token::MdQuote | Token::MdHr => Color::Rgb(150, 152, 158),
            Token::Dim | Token::ThinkingText | Token::MdQuoteBorder | Token::ToolDiffContext => {
                Color::Rgb(140, 142, 148)
            }
            Token::Success | Token::ToolDiffAdded => Color::Rgb(140, 200, 130),
            Token::Error | Token::ToolDiffRemoved => Color::Rgb(240, 130, 125),
            Token::Warning | Token::BashMode => Color::Rgb(230, 200, 110),
            Token::SelectedBg => Color::Rgb(58, 58, 74),
            Token::UserMessageBg => Color::Rgb(48, 50, 62),
            Token::MdHeading => Color::Rgb(240, 198, 116),
            Token::MdCode => Color::Rgb(138, 190, 183),
            Token::MdCodeBlock | Token::ToolOutput => Color::Rgb(185, 187, 192),
            Token::SyntaxComment => Color::Rgb(128, 160, 118),
            Token::SyntaxKeyword => Color::Rgb(110, 170, 235),
            Token::SyntaxFunction => Color::Rgb(220, 220, 170),
            Token::SyntaxVariable => Color::Rgb(156, 220, 254),
            Token::SyntaxString => Color::Rgb(214, 157, 133),
            Token::SyntaxNumber => Color::Rgb(181, 206, 168),
            Token::SyntaxType => Color::Rgb(78, 201, 176),
            Token::SyntaxOperator | Token::SyntaxPunctuation => Color::Rgb(200, 200, 200),
            _ => Color::Default,
        })
    }

    /// Returns the theme for light backgrounds.
    #[must_use]
    pub fn light() -> Theme {
        build("light", |token| match token {
            Token::Accent | Token::MdLink | Token::MdListBullet | Token::MdCode => Color::Rgb(0, 95, 100),
            Token::Border | Token::Muted | Token::MdLinkUrl | Token::MdQuote | Token::MdHr => Color::Rgb(90, 92, 98),
            Token::Dim | Token::ThinkingText | Token::MdQuoteBorder | Token::ToolDiffContext => Color::Rgb(95, 97, 103),
            Token::Success | Token::ToolDiffAdded => Color::Rgb(20, 100, 30),
            Token::Error | Token::ToolDiffRemoved => Color::Rgb(170, 20, 25),
            Token::Warning | Token::BashMode => Color::Rgb(120, 80, 0),
            Token::SelectedBg => Color::Rgb(208, 214, 232),
            Token::UserMessageBg => Color::Rgb(232, 234, 240),
            Token::MdHeading => Color::Rgb(120, 75, 0),
            Token::MdCodeBlock | Token::ToolOutput => Color::Rgb(70, 72, 78),
            Token::SyntaxComment => Color::Rgb(0, 105, 0),
            Token::SyntaxKeyword => Color::Rgb(0, 0, 200),
            Token::SyntaxFunction => Color::Rgb(110, 80, 20),
            Token::SyntaxVariable => Color::Rgb(0, 16, 128),
            Token::SyntaxString => Color::Rgb(163, 21, 21),
            Token::SyntaxNumber => Color::Rgb(0, 95, 65),
            Token::SyntaxType => Color::Rgb(30, 95, 120),
            Token::SyntaxOperator | Token::SyntaxPunctuation => Color::Rgb(50, 50, 50),
            _ => Color::Default,
        })
    }
}

fn build(name: &str, color: impl Fn(Token) -> Color) -> Theme {
    Theme { name: name.to_owned(), colors: Token::ALL.iter().map(|token| color(*token)).collect() }
}
