//! Tests `/redraw all`: it erases all earlier output, and the redrawn rows appear once.

use crate::support;

use std::sync::Arc;

use proptest::prelude::*;
use sinew_tui::theme::Theme;
use sinew_tui::{Chrome, Line, Screen, ScreenOptions, Size, Style, TextBlock};
use support::Terminal;
use support::emulators::Alacritty;

fn paint(screen: &mut Screen, terminal: &mut Alacritty) {
    while {
        let frame = screen.paint();
        terminal.feed(&frame.bytes);
        frame.more
    } {}
}

/// Returns all rows that are not empty.
fn rows(terminal: &mut Alacritty) -> Vec<String> {
    let lines = terminal.lines();
    let texts = lines.iter().map(|line| support::text_of(line).trim_end().to_string());
    texts.filter(|text| !text.is_empty()).collect()
}

proptest! {
    #[test]
    fn erase_all_clears_everything_and_starts_in_the_first_row(
        columns in 12_usize..100, height in 6_usize..40, before in 0_usize..60, shell in 0_usize..50, after in 0_usize..60,
    ) {
        let mut terminal = Alacritty::new(columns, height);
        (0..shell).for_each(|line| terminal.feed(format!("shell {line}\r\n").as_bytes()));
        terminal.feed(b"\x1b[?7l");
        let mut screen = Screen::new(Size::new(columns, height), ScreenOptions::default(), Arc::new(Theme::default()));
        let chrome = Chrome {
            status: vec![Line::plain("status").into_row(columns)],
            editor: vec![Line::plain("> ").into_row(columns)],
            ..Chrome::default()
        };
        screen.set_chrome(chrome);
        for line in 0..before {
            screen.push_close(TextBlock::new(&format!("before {line}"), Style::PLAIN));
            paint(&mut screen, &mut terminal);
        }
        terminal.feed(&screen.erase_all());
        prop_assert!(rows(&mut terminal).is_empty());
        prop_assert_eq!((terminal.cursor(), screen.live_blocks()), ((0, 0), 0));
        for line in 0..after {
            screen.push_close(TextBlock::new(&format!("after {line}"), Style::PLAIN));
            if line % 3 == 0 {
                paint(&mut screen, &mut terminal);
            }
        }
        paint(&mut screen, &mut terminal);
        let expect: Vec<String> = (0..after).map(|line| format!("after {line}")).collect();
        let shown = rows(&mut terminal);
        prop_assert_eq!(&shown[..after], &expect[..]);
        prop_assert_eq!(&shown[after..], ["status", ">"]);
    }
}
