//! Tests terminals that move the cursor directly after the text of its row when they become narrower.

use std::sync::Arc;

use sinew_tui::theme::Theme;
use sinew_tui::{Caret, Chrome, Line, Screen, ScreenOptions, Size, Style, TextBlock};

/// Creates a screen whose cursor is one blank after the prompt.
fn prompted(options: ScreenOptions) -> Screen {
    let mut screen = Screen::new(Size::new(60, 16), options, Arc::new(Theme::default()));
    screen.push(TextBlock::new("an answer", Style::PLAIN));
    write(&mut screen, "");
    screen
}

fn write(screen: &mut Screen, draft: &str) -> String {
    screen.set_chrome(Chrome {
        status: vec![Line::plain("ready").into_row(60)],
        editor: vec![Line::plain(&format!("› {draft}")).into_row(60)],
        caret: Caret { column: 2 + draft.len(), ..Caret::default() },
        ..Chrome::default()
    });
    String::from_utf8(screen.paint().bytes).expect("a frame is text")
}

/// Resizes such a screen; the terminal reports `column`, counted from 1.
fn resized(column: usize) -> String {
    let mut screen = prompted(ScreenOptions::default());
    screen.resize(Size::new(34, 12));
    screen.ask_place();
    String::from_utf8(screen.place(3, column).bytes).expect("a frame is text")
}

#[test]
fn finds_the_window_when_the_cursor_moved_left_over_blanks() {
    for column in [3, 2] {
        let frame = resized(column);
        assert!(frame.starts_with("\u{1b}[m\u{1b}[2A\r\u{1b}[C\u{1b}[J\r\u{1b}[K"), "{column}: {frame:?}");
    }
    // No terminal reports this column, so nothing above the cursor is changed.
    let frame = resized(20);
    assert!(frame.starts_with("\u{1b}[m\r\u{1b}[C\u{1b}[J\r\u{1b}[K"), "{frame:?}");
}

#[test]
fn sets_the_column_explicitly_after_blanks() {
    // The terminal was resized twice before it reported the first size, so the position is unknown.
    let mut screen = prompted(ScreenOptions { keeps_length: true, ..ScreenOptions::default() });
    for (draft, expect) in [("", ""), ("a", "\u{1b}[3Ga"), ("ab", "b"), ("ab ", "\u{1b}[C"), ("ab c", "\u{1b}[6Gc")] {
        assert_eq!(write(&mut screen, draft), expect, "{draft:?}");
    }
}
