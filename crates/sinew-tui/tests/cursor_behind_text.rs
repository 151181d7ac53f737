//! Terminals that put the cursor behind the text of its row when they get narrower.

use std::sync::Arc;

use sinew_tui::theme::Theme;
use sinew_tui::{Caret, Chrome, Line, Screen, ScreenOptions, Size, Style, TextBlock};

/// Resizes a screen whose cursor stands one blank behind the prompt; the terminal reports `column`, counted from 1.
fn resized(column: usize) -> String {
    let mut screen = Screen::new(Size::new(60, 16), ScreenOptions::default(), Arc::new(Theme::default()));
    screen.push(TextBlock::new("an answer", Style::PLAIN));
    screen.set_chrome(Chrome {
        status: vec![Line::plain("ready").into_row(60)],
        editor: vec![Line::plain("› ").into_row(60)],
        caret: Caret { column: 2, ..Caret::default() },
        ..Chrome::default()
    });
    screen.paint();
    screen.resize(Size::new(34, 12));
    screen.ask_place();
    String::from_utf8(screen.place(3, column).bytes).expect("a frame is text")
}

#[test]
fn item_19_the_window_is_found_where_the_cursor_lost_its_blanks() {
    for column in [3, 2] {
        let frame = resized(column);
        assert!(frame.starts_with("\u{1b}[m\u{1b}[2A\r\u{1b}[C\u{1b}[J\r\u{1b}[K"), "{column}: {frame:?}");
    }
    // A column that no terminal puts it into: nothing above is touched.
    let frame = resized(20);
    assert!(frame.starts_with("\u{1b}[m\r\u{1b}[C\u{1b}[J\r\u{1b}[K"), "{frame:?}");
}
