//! Terminals to paint on: three emulators behind one trait, and a strict screen that is part of these tests.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of a shared module")]

pub mod emulators;
pub mod model;
pub mod strict;

use proptest::test_runner::{Config, TestRunner};
use sinew_tui::{Attrs, Row, Style};

/// The content of one column of a terminal; empty for the second column of a wide cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    pub text: String,
    pub style: Style,
}

impl View {
    pub fn blank(style: Style) -> View {
        View { text: " ".into(), style }
    }
}

/// Returns the expected view of a row in a terminal of `columns`.
pub fn view_row(row: &Row, columns: usize) -> Vec<View> {
    let mut views = Vec::new();
    for cell in row.cells() {
        if views.len() + cell.width > columns {
            break;
        }
        views.push(View { text: cell.text.into(), style: seen(cell.style, cell.text) });
        views.extend((1..cell.width).map(|_| View { text: String::new(), style: seen(cell.style, "x") }));
    }
    views.resize(columns, View::blank(Style::PLAIN.on(row.fill)));
    views
}

/// Returns the visible part of a style: of a blank, only the background and lines.
pub fn seen(style: Style, text: &str) -> Style {
    if text != " " {
        return style;
    }
    let attrs = Attrs(style.attrs.0 & (Attrs::UNDERLINE.0 | Attrs::REVERSE.0 | Attrs::STRIKE.0));
    let fg = if attrs == Attrs::NONE { sinew_tui::Color::Default } else { style.fg };
    Style { fg, bg: style.bg, attrs }
}

/// A terminal.
pub trait Terminal {
    fn name(&self) -> &'static str;
    fn feed(&mut self, bytes: &[u8]);
    fn resize(&mut self, columns: usize, rows: usize);
    /// Returns the row and column of the cursor on the screen.
    fn cursor(&self) -> (usize, usize);
    /// Returns the rows of scrollback and screen.
    fn lines(&mut self) -> Vec<Vec<View>>;
    /// Returns the number of rows of the screen.
    fn height(&self) -> usize;
    /// Returns true if all attributes and colours can be read.
    fn knows_styles(&self) -> bool {
        true
    }
    /// Returns scrollback and screen as text; rows that the terminal wrapped by itself are one line.
    fn text(&mut self) -> Vec<String>;
}

pub fn text_of(views: &[View]) -> String {
    let text: String = views.iter().map(|view| view.text.as_str()).collect();
    text.trim_end().to_owned()
}

/// Runs a property test with `cases` random inputs.
pub fn run<T: std::fmt::Debug>(cases: u32, input: impl proptest::strategy::Strategy<Value = T>, test: impl Fn(T)) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&input, |input| {
        test(input);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
