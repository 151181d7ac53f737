//! Property tests of the bytes sent to terminals and of the rows that terminals keep.

use crate::support;

use std::sync::Arc;

use alacritty_terminal::grid::{Dimensions, Scroll};
use alacritty_terminal::index::{Column, Line as GridLine};
use proptest::prelude::*;
use sinew_tui::theme::Theme;
use sinew_tui::{
    Caret, CaretPlace, Chrome, Depth, Line, Mark, MarkdownBlock, Row, Screen, ScreenOptions, Size, Style, TextBlock,
};
use support::emulators::{Alacritty, Avt, Vt100};
use support::model::{Op, Session, op};
use support::strict::Strict;
use support::{Terminal, run, text_of, view_row};

fn screen(columns: usize, rows: usize, options: ScreenOptions) -> Screen {
    Screen::new(Size::new(columns, rows), options, Arc::new(Theme::default()))
}

/// Paints until no more rows are ready, and returns the frames.
fn frames(screen: &mut Screen) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    loop {
        let frame = screen.paint();
        frames.push(frame.bytes);
        if !frame.more {
            return frames;
        }
    }
}

fn paint(screen: &mut Screen, terminal: &mut dyn Terminal) {
    frames(screen).iter().for_each(|bytes| terminal.feed(bytes));
}

fn ops(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), count)
}

/// Returns the escape sequences in some bytes.
fn sequences(bytes: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(bytes).expect("frames are text");
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        rest = &rest[at..];
        let end = match rest.as_bytes().get(1) {
            Some(b'[') => 3 + rest[2..].find(|c| ('\x40'..='\x7e').contains(&c)).expect("a whole sequence"),
            Some(b']') => 2 + rest.find("\x1b\\").expect("a whole string"),
            _ => 2,
        };
        found.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    found
}

#[test]
fn sends_no_sequence_that_discards_rows() {
    let input = (1..40usize, 1..14usize, ops(1..24), (1..40usize, 1..14usize));
    run(2_000, input, |(columns, rows, ops, (wider, higher))| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions { marks: true, ..Default::default() }));
        let mut bytes = Vec::new();
        for op in &ops {
            session.apply(op);
            match op {
                Op::Reset => bytes.extend(session.screen.reset().bytes),
                Op::LeaveAndReturn => {
                    bytes.extend(session.screen.leave());
                    session.screen.begin_epoch(Size::new(columns, rows));
                }
                _ => {}
            }
            frames(&mut session.screen).into_iter().for_each(|frame| bytes.extend(frame));
        }
        session.screen.resize(Size::new(wider, higher));
        bytes.extend(session.screen.ask_place());
        bytes.extend(session.screen.place(1, 1).bytes);
        bytes.extend(session.screen.leave());
        for sequence in sequences(&bytes) {
            let last = sequence.chars().last().expect("it is not empty");
            let body = sequence.strip_prefix("\x1b[");
            let forbidden = match body {
                Some(body) => matches!(last, 'S' | 'T' | 'L' | 'M' | 'r') || (last == 'J' && body != "J"),
                None => sequence == "\x1bM",
            };
            assert!(!forbidden, "{sequence:?}");
        }
    });
}

/// Returns the rows that a reader sees after scrolling up.
fn seen_by_reader(terminal: &Alacritty) -> Vec<String> {
    let grid = terminal.term().grid();
    let offset = i32::try_from(grid.display_offset()).expect("small");
    let rows = i32::try_from(grid.screen_lines()).expect("small");
    let row = |line: i32| (0..grid.columns()).map(|column| grid[GridLine(line)][Column(column)].c).collect::<String>();
    (-offset..rows - offset).map(row).collect()
}

#[test]
fn streaming_does_not_move_a_scrolled_back_view() {
    let input = (prop::collection::vec("[a-z ]{1,30}", 1..60), 1..20usize, prop::bool::ANY);
    run(200, input, |(pieces, up, code)| {
        let (columns, rows) = (30, 8);
        let mut terminal = Alacritty::new(columns, rows);
        let mut screen = screen(columns, rows, ScreenOptions::default());
        let before: String = (0..40).map(|line| format!("line {line}\n")).collect();
        screen.push(TextBlock::new(&before, Style::PLAIN));
        screen.set_chrome(Chrome { editor: vec![Line::plain("› ").into_row(columns)], ..Chrome::default() });
        paint(&mut screen, &mut terminal);
        let answer = screen.push(MarkdownBlock::streaming());
        terminal.scroll(Scroll::Delta(i32::try_from(up).expect("small")));
        // A reader who has not scrolled up sees the window.
        let page = seen_by_reader(&terminal);
        let still = terminal.term().grid().display_offset().min(rows);
        if code {
            screen.block::<MarkdownBlock>(answer).expect("it is open").push("```\n");
        }
        for piece in &pieces {
            screen.block::<MarkdownBlock>(answer).expect("it is open").push(&format!("{piece}\n"));
            paint(&mut screen, &mut terminal);
            assert_eq!(seen_by_reader(&terminal)[..still], page[..still], "{up} rows up");
        }
    });
}

#[test]
fn paints_correctly_at_every_size() {
    for (columns, rows, cases) in
        [(1, 1, 300), (1, 24, 100), (80, 1, 100), (2, 2, 300), (20, 8, 200), (80, 24, 60), (500, 200, 4)]
    {
        run(cases, ops(1..16), |ops| {
            let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
            let mut terminals: Vec<Box<dyn Terminal>> = vec![Box::new(Strict::new(columns, rows))];
            if columns > 1 {
                terminals.push(Box::new(Alacritty::new(columns, rows)));
            }
            terminals.iter_mut().for_each(|terminal| terminal.feed(b"\x1b[?7l"));
            for op in &ops {
                session.apply(op);
                if let Op::Reset = op {
                    let frame = session.screen.reset();
                    terminals.iter_mut().for_each(|terminal| terminal.feed(&frame.bytes));
                }
                for bytes in frames(&mut session.screen) {
                    terminals.iter_mut().for_each(|terminal| terminal.feed(&bytes));
                }
                assert!(session.screen.shown_rows().len() <= rows, "the window is no higher than the screen");
            }
            // Every terminal shows the window in its last rows.
            let window: Vec<String> = session.screen.shown_rows().map(|row| text_of(&view_row(row, columns))).collect();
            for terminal in &mut terminals {
                let (caret, _) = session.screen.shown_caret();
                let lines = terminal.lines();
                let top = lines.len() - terminal.height() + terminal.cursor().0 - caret;
                let shown: Vec<String> = lines[top..top + window.len()].iter().map(|row| text_of(row)).collect();
                assert_eq!(shown, window, "{} at {columns}×{rows}", terminal.name());
            }
        });
    }
}

#[test]
fn theme_changes_and_repaints_leave_the_scrollback_alone() {
    run(300, (4..40usize, 3..14usize, ops(4..24)), |(columns, rows, ops)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut terminal = Alacritty::new(columns, rows);
        terminal.feed(b"$ sinew\r\n\x1b[?7l");
        for op in &ops {
            session.apply(op);
            paint(&mut session.screen, &mut terminal);
        }
        let above = |terminal: &mut Alacritty| {
            let mut lines = terminal.lines();
            let screen = lines.len() - terminal.height();
            lines.truncate(screen);
            lines
        };
        let before = above(&mut terminal);
        session.screen.set_theme(Arc::new(Theme::light()));
        paint(&mut session.screen, &mut terminal);
        let frame = session.screen.reset();
        terminal.feed(&frame.bytes);
        assert_eq!(above(&mut terminal), before);
    });
}

#[test]
fn the_cursor_is_visible_at_the_caret_or_the_selected_row() {
    let input = (4..40usize, 3..14usize, ops(1..16), 1..8usize, 0..8usize, 0..20usize);
    run(1_000, input, |(columns, rows, ops, height, chosen, column)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut strict = Strict::new(columns, rows);
        strict.feed(b"\x1b[?7l");
        for op in &ops {
            session.apply(op);
            if let Op::LeaveAndReturn = op {
                continue;
            }
            paint(&mut session.screen, &mut strict);
            let shown: Vec<String> = session.screen.shown_rows().map(|row| text_of(&view_row(row, columns))).collect();
            let (row, at) = session.screen.shown_caret();
            assert_eq!(strict.cursor().1, at);
            assert_eq!(text_of(&strict.tape[strict.tape_row()]), shown[row], "the row of the cursor");
            assert!(strict.visible);
        }
        // A panel with the cursor in its selected row.
        session.chrome.cover = (0..height).map(|row| Row::new(Line::plain(&format!("entry {row}")), 0)).collect();
        let caret = Caret { place: CaretPlace::Cover, row: chosen % height, column };
        session.chrome.caret = caret;
        session.screen.set_chrome(session.chrome.clone());
        paint(&mut session.screen, &mut strict);
        let fits = height + session.chrome.status.len() + session.chrome.editor.len() <= rows;
        if fits {
            let expect: String = format!("entry {}", caret.row).chars().take(columns).collect();
            let row = text_of(&strict.tape[strict.tape_row()]);
            assert!(row == expect || row.ends_with('…'), "{row:?} is not {expect:?}");
            assert_eq!(strict.cursor().1, column.min(columns - 1));
        }
        assert!(strict.visible);
    });
}

#[test]
fn panels_and_status_do_not_move_the_editor() {
    let input = (10..40usize, 8..20usize, ops(6..24), 0..5usize, "[a-z ]{0,60}");
    run(1_000, input, |(columns, rows, ops, height, text)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut strict = Strict::new(columns, rows);
        strict.feed(b"\x1b[?7l");
        for op in ops.iter().filter(|op| !matches!(op, Op::LeaveAndReturn | Op::Cover(_))) {
            session.apply(op);
            paint(&mut session.screen, &mut strict);
        }
        session.chrome.caret = Caret::default();
        session.screen.set_chrome(session.chrome.clone());
        paint(&mut session.screen, &mut strict);
        // A window with too few rows for a panel grows first.
        let needed = height + session.chrome.status.len() + session.chrome.editor.len();
        if session.screen.shown_rows().len() < needed {
            return;
        }
        let before = strict.tape_row();
        for (cover, status) in [(height, "a notice"), (height, text.as_str()), (0, text.as_str()), (0, "ready 12s")] {
            session.apply(&Op::Cover(cover));
            session.chrome.pushes = false;
            session.chrome.status = vec![Line::plain(status).into_row(columns)];
            session.screen.set_chrome(session.chrome.clone());
            paint(&mut session.screen, &mut strict);
            assert_eq!(strict.tape_row(), before, "{cover} rows, {status:?}");
        }
    });
}

#[test]
fn a_pushing_panel_keeps_the_newest_rows_visible_and_loses_none() {
    let heights = [(24, 4, 6), (24, 16, 6), (24, 40, 6), (24, 40, 22), (8, 3, 5), (8, 40, 3)];
    // The panel also opens in the frame that shows the text for the first time.
    for ((rows, lines, panel), at_once) in heights.into_iter().flat_map(|height| [(height, false), (height, true)]) {
        let mut screen = screen(40, rows, ScreenOptions::default());
        let mut terminal = Alacritty::new(40, rows);
        terminal.feed(b"\x1b[?7l");
        let text: Vec<String> = (0..lines).map(|n| format!("line {n}")).collect();
        screen.push(TextBlock::new(&text.join("\n"), Style::PLAIN));
        let row = |text: &str| Line::plain(text).into_row(40);
        let chrome = Chrome { editor: vec![row("›")], status: vec![row("status")], ..Chrome::default() };
        if !at_once {
            screen.set_chrome(chrome.clone());
            paint(&mut screen, &mut terminal);
        }
        let cover: Vec<Row> = (0..panel).map(|n| row(&format!("panel {n}"))).collect();
        screen.set_chrome(Chrome { cover, pushes: true, ..chrome.clone() });
        paint(&mut screen, &mut terminal);
        let shown: Vec<String> = screen.shown_rows().map(|row| row.text().to_string()).collect();
        assert!(shown.len() <= rows);
        let above = shown.iter().position(|row| row == "panel 0").unwrap();
        let seen: Vec<&String> = shown[..above].iter().filter(|row| !row.is_empty()).collect();
        let room = rows - 2 - panel;
        assert_eq!(seen, text[lines - lines.min(room)..].iter().collect::<Vec<_>>(), "{rows} {lines} {panel}");
        // After it closes, every row appears once.
        screen.set_chrome(chrome);
        paint(&mut screen, &mut terminal);
        terminal.feed(&screen.leave());
        let kept: Vec<String> = terminal.text().into_iter().filter(|row| row.starts_with("line")).collect();
        assert_eq!(kept, text, "{rows} {lines} {panel}");
    }
}

#[test]
fn text_after_a_cluster_of_uncertain_width_is_in_its_column() {
    let uncertain = [
        "…",
        "“",
        "→",
        "é",
        "e\u{301}",
        "☺",
        "☺\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "🇩🇪",
        "👍🏽",
        "👩‍👩‍👧",
        "ก็",
        "नि",
        "\u{1f9d1}",
    ];
    let columns = 40;
    for cluster in uncertain {
        let text = format!("a{cluster}b{cluster}{cluster}c 日{cluster}d");
        let mut screen = screen(columns, 4, ScreenOptions::default());
        screen.push(TextBlock::new(&text, Style::PLAIN));
        screen.set_chrome(Chrome { editor: vec![Line::plain("› ").into_row(columns)], ..Chrome::default() });
        let frame: Vec<u8> = frames(&mut screen).concat();
        let row = screen.shown_rows().next().expect("the text").clone();
        let mut column = 0;
        let mut places = Vec::new();
        for cell in row.cells() {
            if cell.text.is_ascii() && cell.text != " " {
                places.push((cell.text.to_owned(), column));
            }
            column += cell.width;
        }
        let terminals: [Box<dyn Terminal>; 3] =
            [Box::new(Alacritty::new(columns, 4)), Box::new(Avt::new(columns, 4)), Box::new(Vt100::new(columns, 4))];
        for mut terminal in terminals {
            terminal.feed(b"\x1b[?7l");
            terminal.feed(&frame);
            let line = terminal.lines().swap_remove(0);
            for (letter, column) in &places {
                assert_eq!(&line[*column].text, letter, "column {column} of {text:?} in {}", terminal.name());
            }
        }
    }
}

/// Checks that the terminal shows the window at the end of its text, and the cursor at the screen's position.
#[track_caller]
fn check_window(screen: &Screen, terminal: &mut dyn Terminal) {
    let columns = screen.size().columns;
    let window: Vec<String> = screen.shown_rows().map(|row| text_of(&view_row(row, columns))).collect();
    let (row, column) = screen.shown_caret();
    assert_eq!(terminal.cursor().1, column);
    let lines = terminal.lines();
    let top = lines.len() - terminal.height() + terminal.cursor().0 - row;
    let shown: Vec<String> = lines[top..top + window.len()].iter().map(|row| text_of(row)).collect();
    assert_eq!(shown, window, "{}", terminal.name());
}

#[test]
fn many_resizes_end_in_one_query_and_a_correct_screen() {
    let sizes = prop::collection::vec((8..60usize, 4..20usize), 200);
    run(40, sizes, |sizes| {
        let mut terminal = Alacritty::new(60, 20);
        let mut screen = screen(60, 20, ScreenOptions::default());
        terminal.feed(b"shell\r\n\x1b[?7l");
        let text: String = (0..50).map(|line| format!("<{line}: some words of a line>\n")).collect();
        screen.push(TextBlock::new(&text, Style::PLAIN));
        let answer = screen.push(MarkdownBlock::streaming());
        screen.set_chrome(Chrome {
            editor: vec![Line::plain("› x").into_row(60)],
            caret: Caret { column: 3, ..Caret::default() },
            ..Chrome::default()
        });
        paint(&mut screen, &mut terminal);
        let mut sent = 0;
        for (columns, rows) in &sizes {
            terminal.resize(*columns, *rows);
            screen.resize(Size::new(*columns, *rows));
            screen.block::<MarkdownBlock>(answer).expect("it is open").push("more words come meanwhile ");
            sent += screen.paint().bytes.len();
        }
        assert_eq!(sent, 0, "nothing is painted while the size changes");
        let columns = screen.size().columns;
        screen.set_chrome(Chrome {
            editor: vec![Line::plain("› x").into_row(columns)],
            caret: Caret { column: 3, ..Caret::default() },
            ..Chrome::default()
        });
        screen.ask_place();
        let (row, column) = terminal.cursor();
        let frame = screen.place(row + 1, column + 1);
        terminal.feed(&frame.bytes);
        paint(&mut screen, &mut terminal);
        check_window(&screen, &mut terminal);
        let text: String =
            terminal.lines().iter().flatten().map(|view| view.text.as_str()).filter(|text| *text != " ").collect();
        let mut at = 0;
        for line in 0..50 {
            let wanted = format!("<{line}:somewordsofaline>");
            at += text[at..].find(&wanted).unwrap_or_else(|| panic!("{wanted} is lost or not in order in {text}"));
        }
    });
}

#[test]
fn a_resize_under_a_panel_in_a_burst_or_while_stopped_loses_nothing() {
    let size = || (8..50usize, 4..16usize);
    run(150, (size(), size(), 0..3usize, 1..6usize), |((columns, rows), (wider, higher), kind, cover)| {
        let mut terminal = Alacritty::new(columns, rows);
        let mut screen = screen(columns, rows, ScreenOptions::default());
        terminal.feed(b"shell\r\n\x1b[?7l");
        let chrome = |columns: usize, cover: usize| Chrome {
            cover: (0..cover).map(|row| Line::plain(&format!("entry {row}")).into_row(columns)).collect(),
            editor: vec![Line::plain("› ").into_row(columns)],
            caret: Caret { column: 2, ..Caret::default() },
            ..Chrome::default()
        };
        screen.set_chrome(chrome(columns, 0));
        paint(&mut screen, &mut terminal);
        let count = if kind == 1 { 6_000 } else { 30 };
        let text: String = (0..count).map(|line| format!("<{line}>\n")).collect();
        let resize = |screen: &mut Screen, terminal: &mut Alacritty| {
            terminal.resize(wider, higher);
            screen.resize(Size::new(wider, higher));
            screen.ask_place();
            let (row, column) = terminal.cursor();
            let frame = screen.place(row + 1, column + 1);
            terminal.feed(&frame.bytes);
        };
        match kind {
            // While a panel is shown, which keeps all rows in the window.
            0 => {
                screen.set_chrome(chrome(columns, cover));
                screen.push(TextBlock::new(&text, Style::PLAIN));
                paint(&mut screen, &mut terminal);
                resize(&mut screen, &mut terminal);
                screen.set_chrome(chrome(wider, cover));
                paint(&mut screen, &mut terminal);
            }
            // In the middle of a burst.
            1 => {
                screen.push(TextBlock::new(&text, Style::PLAIN));
                let frame = screen.paint();
                assert!(frame.more, "the burst comes in slices");
                terminal.feed(&frame.bytes);
                resize(&mut screen, &mut terminal);
            }
            // While the program was stopped.
            _ => {
                screen.push(TextBlock::new(&text, Style::PLAIN));
                paint(&mut screen, &mut terminal);
                terminal.feed(&screen.leave());
                terminal.feed(b"$ \r\n");
                terminal.resize(wider, higher);
                terminal.feed(b"$ fg\r\n");
                screen.begin_epoch(Size::new(wider, higher));
            }
        }
        screen.set_chrome(chrome(wider, 0));
        paint(&mut screen, &mut terminal);
        check_window(&screen, &mut terminal);
        let lines = terminal.lines();
        let text: String = lines.iter().flatten().map(|view| view.text.as_str()).filter(|text| *text != " ").collect();
        let mut at = 0;
        for line in 0..count {
            let wanted = format!("<{line}>");
            let found = text[at..].find(&wanted);
            at += found.unwrap_or_else(|| panic!("{wanted} is lost or not in order, kind {kind}")) + wanted.len();
        }
    });
}

#[test]
fn a_prompt_mark_ends_in_the_same_row_and_frame() {
    let texts = prop::collection::vec("[a-zé日 ]{1,90}", 1..12);
    run(300, (2..60usize, 2..14usize, texts, any::<bool>()), |(columns, rows, texts, synchronized)| {
        let options = ScreenOptions { marks: true, synchronized, ..ScreenOptions::default() };
        let mut screen = screen(columns, rows, options);
        let mut begun = 0;
        for text in &texts {
            screen.push(
                TextBlock::new(text, Style::PLAIN)
                    .with_prefix(Line::plain("› "), Line::plain("  "))
                    .marked(Mark::Prompt),
            );
            screen.push(TextBlock::new("an answer", Style::PLAIN));
            for frame in frames(&mut screen) {
                let text = String::from_utf8(frame).expect("frames are text");
                for part in text.split("\x1b]133;A").skip(1) {
                    begun += 1;
                    let end = part.find("\x1b]133;C").expect("the end is in the same frame");
                    assert!(part.starts_with(";redraw=0"), "a terminal that repaints prompts is told not to: {part:?}");
                    assert!(!part[..end].contains(['\n', '\r']), "the end is in the same row: {part:?}");
                }
                assert_eq!(text.matches("\x1b]133;A").count(), text.matches("\x1b]133;C").count());
            }
        }
        assert!(begun >= texts.len(), "every prompt is marked");
    });
}

#[test]
fn sets_no_colour_when_colour_is_off() {
    run(1_000, (2..40usize, 2..14usize, ops(1..24)), |(columns, rows, ops)| {
        let options = ScreenOptions { depth: Depth::None, ..ScreenOptions::default() };
        let mut session = Session::new(screen(columns, rows, options));
        for op in &ops {
            session.apply(op);
            let mut bytes = frames(&mut session.screen).concat();
            if let Op::Reset = op {
                bytes.extend(session.screen.reset().bytes);
            }
            for sequence in sequences(&bytes) {
                let Some(body) = sequence.strip_prefix("\x1b[").and_then(|body| body.strip_suffix('m')) else {
                    continue;
                };
                for code in body.split(';').filter(|code| !code.is_empty()) {
                    let code: u16 = code.parse().expect("a number");
                    assert!(matches!(code, 0..=9 | 21..=29), "{sequence:?}");
                }
            }
        }
    });
}

#[test]
fn no_row_in_the_scrollback_ends_in_blanks() {
    run(500, (4..40usize, 2..10usize, ops(4..30)), |(columns, rows, ops)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut parser = vt100::Parser::new(side(rows), side(columns), 100_000);
        parser.process(b"\x1b[?7l");
        for op in ops.iter().filter(|op| !matches!(op, Op::LeaveAndReturn)) {
            session.apply(op);
            frames(&mut session.screen).iter().for_each(|bytes| parser.process(bytes));
        }
        let history = parser.screen().scrollback_len();
        for offset in (1..=history).rev() {
            parser.screen_mut().set_scrollback(offset);
            let last = (0..columns).rev().find_map(|column| {
                let cell = parser.screen().cell(0, u16::try_from(column).expect("small")).expect("inside");
                // A wide cluster at the edge occupies two cells.
                let is_there = cell.has_contents() && !cell.is_wide_continuation();
                // A visible blank is not empty.
                let is_seen = cell.bgcolor() != vt100::Color::Default || cell.inverse() || cell.underline();
                is_there.then(|| (column, cell.contents() == " " && !is_seen))
            });
            // At the edge, it may be a blank within a line that the terminal wraps, before the cell that a wide
            // cluster leaves free.
            let ends_in_blank = last.is_some_and(|(column, is_blank)| is_blank && column + 2 < columns);
            let row: Vec<&str> = (0..side(columns).get())
                .map(|column| parser.screen().cell(0, column).map_or("", vt100::Cell::contents))
                .collect();
            assert!(!ends_in_blank, "row {offset} above the screen: {row:?}");
        }
    });
}

fn side(value: usize) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(u16::try_from(value).expect("small")).expect("not zero")
}

#[test]
fn a_link_shows_its_target_unless_its_text_is_the_target() {
    for (markdown, expect) in [
        ("[https://bank.example](https://evil.example)", "https://bank.example (https://evil.example)"),
        ("[bank.example](https://evil.example/x)", "bank.example (https://evil.example/x)"),
        ("[the docs](https://example.org/docs)", "the docs (https://example.org/docs)"),
        ("[https://example.org](https://example.org)", "https://example.org"),
        ("<https://example.org/a>", "https://example.org/a"),
    ] {
        let mut screen = screen(80, 6, ScreenOptions { links: true, ..ScreenOptions::default() });
        screen.push(MarkdownBlock::new(markdown));
        let bytes = String::from_utf8(frames(&mut screen).concat()).expect("frames are text");
        let shown = screen.shown_rows().next().expect("a row").text().to_owned();
        assert_eq!(shown, expect, "{markdown}");
        for link in bytes.split("\x1b]8;id=").skip(1) {
            let target = link.split("\x1b\\").next().and_then(|link| link.split_once(';')).expect("a name").1;
            assert!(shown.contains(target), "{target} is linked to and not shown");
        }
    }
}

#[test]
fn only_addresses_that_are_safe_to_open_become_links() {
    for (target, is_link) in [
        ("https://example.org/a?b=c#d", true),
        ("HTTP://example.org", true),
        ("mailto:me@example.org", true),
        ("file:///home/me/a.rs", true),
        ("file://localhost/home/me/a.rs", true),
        ("file://evil.example/share", false),
        ("file:////evil.example/share", false),
        ("file://localhost//evil.example/share", false),
        ("file:///\\evil.example/share", false),
        ("file:a.rs", false),
        ("javascript:alert(1)", false),
        ("vscode://command/workbench.action.terminal.new", false),
        ("ssh://-oProxyCommand=x", false),
        ("data:text/html,x", false),
        ("a.rs", false),
        ("https://", false),
        ("https://example.org/\u{202e}gpj.exe", false),
        ("https://example.org/\u{E0041}", false),
    ] {
        let mut screen = screen(120, 6, ScreenOptions { links: true, ..ScreenOptions::default() });
        screen.push(MarkdownBlock::new(&format!("[text](<{target}>)")));
        let bytes = String::from_utf8(frames(&mut screen).concat()).expect("frames are text");
        assert_eq!(bytes.contains("\x1b]8;id="), is_link, "{target}");
        assert_eq!(sinew_tui::is_safe_link(target), is_link, "{target}");
    }
}
