//! Property tests of single frames, as third-party terminal emulators show them.

use crate::support;

use std::sync::Arc;

use proptest::prelude::*;
use sinew_tui::theme::Theme;
use sinew_tui::{Mark, Screen, ScreenOptions, Size, Style, TextBlock, WrapMode};
use support::emulators::{Alacritty, Vt100};
use support::model::{Op, Session, op};
use support::{Terminal, View, run, text_of};

fn screen(columns: usize, rows: usize, options: ScreenOptions) -> Screen {
    Screen::new(Size::new(columns, rows), options, Arc::new(Theme::default()))
}

/// Generates operations that neither leave the terminal nor repaint it completely.
fn ops(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Op>> {
    let stays = op().prop_filter("it stays", |op| !matches!(op, Op::Reset | Op::LeaveAndReturn));
    prop::collection::vec(stays, count)
}

/// Returns the rows that have scrolled off the screen of a terminal.
fn scrollback(terminal: &mut dyn Terminal) -> Vec<String> {
    let mut lines = terminal.lines();
    lines.truncate(lines.len() - terminal.height());
    lines.iter().map(|row| text_of(row)).collect()
}

#[test]
fn only_final_rows_scroll_off_the_screen() {
    run(1_500, (3..40usize, 3..14usize, ops(8..48)), |(columns, rows, ops)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut terminal = Alacritty::new(columns, rows);
        terminal.feed(b"\x1b[?7l");
        for op in &ops {
            session.apply(op);
            let settled: Vec<String> =
                session.settled_rows(columns).iter().map(|row| row.text().trim_end().to_owned()).collect();
            loop {
                let frame = session.screen.paint();
                terminal.feed(&frame.bytes);
                let gone = scrollback(&mut terminal);
                assert!(settled.starts_with(&gone), "{gone:#?} of {settled:#?} after {op:?}");
                if !frame.more {
                    break;
                }
            }
        }
    });
}

/// Generates operations whose text has one byte and one cell per character.
fn plain_ops() -> impl Strategy<Value = Vec<Op>> {
    let text = "[a-f ]{0,30}";
    let op = prop_oneof![
        1 => Just(Op::Push),
        4 => (0..3usize, text).prop_map(|(block, text)| Op::Line(block, text, WrapMode::Words)),
        3 => (0..3usize, "[a-f]{1,6}").prop_map(|(block, text)| Op::Delta(block, text)),
        2 => (0..3usize, 1..4usize).prop_map(|(block, count)| Op::Settle(block, count)),
        1 => (0..3usize).prop_map(Op::Finish),
        1 => (0..5usize).prop_map(Op::Cover),
        2 => (prop::collection::vec("[a-f ]{0,12}", 1..4), 0..4usize, 0..20usize)
            .prop_map(|(rows, row, column)| Op::Editor(rows, row, column)),
        2 => text.prop_map(Op::Status),
    ];
    prop::collection::vec(op, 4..20)
}

#[test]
fn each_cell_shows_its_old_or_new_content_at_every_byte() {
    run(150, (4..24usize, 3..9usize, plain_ops()), |(columns, rows, ops)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut terminal = Alacritty::new(columns, rows);
        terminal.feed(b"\x1b[?7l");
        let mut scrolled = 0;
        for op in &ops {
            session.apply(op);
            let before = terminal.lines();
            let frame = session.screen.paint();
            let mut shown: Vec<Vec<Vec<View>>> = Vec::new();
            for byte in &frame.bytes {
                terminal.feed(&[*byte]);
                shown.push(terminal.lines());
            }
            let after = terminal.lines();
            // Rows are counted from the first one in the scrollback, so that a line feed does not change their numbers.
            scrolled += after.len() - before.len();
            for (at, lines) in shown.iter().enumerate() {
                for (row, cells) in lines.iter().enumerate() {
                    for (column, cell) in cells.iter().enumerate() {
                        let blank = View::blank(Style::PLAIN);
                        let old = before.get(row).map_or(&blank, |cells| &cells[column]);
                        let new = &after[row][column];
                        assert!(
                            cell == old || cell == new,
                            "byte {at} of {:?}: row {row} column {column} showed {cell:?} between {old:?} and {new:?}",
                            String::from_utf8_lossy(&frame.bytes)
                        );
                    }
                }
            }
        }
        assert!(scrolled < 10_000);
    });
}

#[test]
fn a_frame_is_one_synchronized_update_or_writes_one_row() {
    const BEGIN: &str = "\x1b[?2026h";
    const END: &str = "\x1b[?2026l";
    run(500, (4..40usize, 3..14usize, ops(4..32)), |(columns, rows, ops)| {
        let options = ScreenOptions { synchronized: true, ..ScreenOptions::default() };
        let mut session = Session::new(screen(columns, rows, options));
        for op in &ops {
            session.apply(op);
            let frame = session.screen.paint();
            let text = String::from_utf8(frame.bytes).expect("frames are text");
            let count = (text.matches(BEGIN).count(), text.matches(END).count());
            match count {
                (0, 0) => {
                    // All its output is in one row: the cursor leaves this row only at the end.
                    let mut parts = text.split('\x1b');
                    let first = parts.next().unwrap_or_default().to_owned();
                    let (mut has_moved, mut has_written) = (false, !first.is_empty());
                    for part in parts {
                        let end = part[1..].find(|c| ('\x40'..='\x7e').contains(&c)).map_or(part.len(), |end| end + 2);
                        let (sequence, shown) = part.split_at(end);
                        has_moved |= sequence.ends_with(['A', 'B']);
                        let writes = sequence.ends_with(['J', 'K']) || shown.chars().any(|c| !c.is_control());
                        assert!(!(writes && has_moved), "{text:?}");
                        has_written |= writes;
                    }
                    assert!(!text.contains('\n') || !has_written, "{text:?}");
                }
                (1, 1) => assert!(text.starts_with(BEGIN) && text.ends_with(END), "{text:?}"),
                other => panic!("{other:?} in {text:?}"),
            }
        }
    });
}

/// Returns the first piece of some output that the contract does not allow in a frame.
fn not_allowed(bytes: &[u8]) -> Option<String> {
    let mut rest = std::str::from_utf8(bytes).expect("frames are text");
    while let Some(at) = rest.find(|c: char| c.is_control()) {
        rest = &rest[at..];
        let (piece, fits) = match rest.as_bytes() {
            [b'\r' | b'\n', ..] => (1, true),
            [0x1b, b'[', ..] => {
                let end = rest[2..].find(|c| ('\x40'..='\x7e').contains(&c)).map_or(rest.len(), |end| end + 3);
                let (body, last) = (&rest[2..end - 1], rest[..end].chars().last().unwrap_or_default());
                let is_number = body.chars().all(|c| c.is_ascii_digit());
                let fits = match last {
                    'A' | 'B' | 'C' | 'G' => is_number,
                    'K' | 'J' | 'H' => body.is_empty(),
                    'm' => body.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':'),
                    'h' | 'l' => matches!(body, "?7" | "?25" | "?2026"),
                    'n' => body == "6",
                    _ => false,
                };
                (end, fits)
            }
            [0x1b, b']', ..] => {
                let end = rest.find("\x1b\\").map_or(rest.len(), |end| end + 2);
                (
                    end,
                    rest.ends_with("\x1b\\") | (end < rest.len())
                        && matches!(&rest[2..end.min(6)], text if text.starts_with("8;") || text.starts_with("133;")),
                )
            }
            _ => (rest.chars().next().map_or(1, char::len_utf8), false),
        };
        if !fits {
            return Some(rest[..piece].to_owned());
        }
        rest = &rest[piece..];
    }
    None
}

#[test]
fn all_output_consists_of_allowed_sequences() {
    for (bytes, expect) in [
        ("text\r\n\x1b[2A\x1b[C\x1b[12G\x1b[K\x1b[J\x1b[1;38:2m\x1b[?2026h\x1b]8;;\x1b\\x", None),
        ("\x1b[2J", Some("\x1b[2J")),
        ("a\x1b[S", Some("\x1b[S")),
        ("\x1b[1;5r", Some("\x1b[1;5r")),
        ("\x1bM", Some("\x1b")),
        ("\x1b]52;c;eA==\x1b\\x", Some("\x1b]52;c;eA==\x1b\\")),
        ("\x07", Some("\x07")),
        ("\t", Some("\t")),
        ("\u{9b}2J", Some("\u{9b}")),
        ("\x1b[?1000h", Some("\x1b[?1000h")),
    ] {
        assert_eq!(not_allowed(bytes.as_bytes()).as_deref(), expect, "{bytes:?}");
    }
    let input = (1..60usize, 1..14usize, prop::collection::vec(op(), 1..24), "\\PC{0,40}", any::<[bool; 3]>());
    run(1_500, input, |(columns, rows, ops, text, [synchronized, links, marks])| {
        let options = ScreenOptions { synchronized, links, marks, ..ScreenOptions::default() };
        let mut session = Session::new(screen(columns, rows, options));
        let mut sent = Vec::new();
        session.screen.push(TextBlock::new(&text, Style::PLAIN).marked(Mark::Prompt));
        for op in &ops {
            session.apply(op);
            match op {
                Op::Reset => sent.push(session.screen.reset().bytes),
                Op::LeaveAndReturn => {
                    sent.push(session.screen.leave());
                    session.screen.begin_epoch(Size::new(columns, rows));
                }
                _ => {}
            }
            sent.push(session.screen.paint().bytes);
        }
        session.screen.resize(Size::new(columns / 2 + 1, rows + 1));
        sent.push(session.screen.ask_place().to_vec());
        sent.push(session.screen.place(1, 1).bytes);
        sent.push(session.screen.paint().bytes);
        sent.push(session.screen.leave());
        for bytes in sent {
            assert_eq!(not_allowed(&bytes), None, "{:?}", String::from_utf8_lossy(&bytes));
        }
    });
}

#[test]
fn a_frame_is_empty_exactly_when_nothing_visible_changes() {
    run(1_000, (4..40usize, 3..14usize, ops(4..32)), |(columns, rows, ops)| {
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut terminal = Alacritty::new(columns, rows);
        terminal.feed(b"\x1b[?7l");
        for op in &ops {
            session.apply(op);
            loop {
                let before = (terminal.lines(), terminal.text(), terminal.cursor());
                // Whether two rows are one line matters only to users who copy them.
                let frame = session.screen.paint();
                terminal.feed(&frame.bytes);
                let changed = before != (terminal.lines(), terminal.text(), terminal.cursor());
                assert_eq!(changed, !frame.bytes.is_empty(), "{:?}", String::from_utf8_lossy(&frame.bytes));
                if !frame.more {
                    break;
                }
            }
            assert!(session.screen.paint().bytes.is_empty(), "nothing has changed since");
        }
    });
}

#[test]
fn blocks_scroll_off_in_document_order() {
    let input = (2..5usize, 1..9usize, 4..12usize).prop_flat_map(|(blocks, lines, rows)| {
        (Just((blocks, lines, rows)), Just((0..blocks).collect::<Vec<_>>()).prop_shuffle())
    });
    run(400, input, |((blocks, lines, rows), order)| {
        let columns = 30;
        let mut session = Session::new(screen(columns, rows, ScreenOptions::default()));
        let mut terminal = Vt100::new(columns, rows);
        terminal.feed(b"\x1b[?7l");
        let mut paint = |session: &mut Session| {
            loop {
                let frame = session.screen.paint();
                terminal.feed(&frame.bytes);
                if !frame.more {
                    break;
                }
            }
            scrollback(&mut terminal)
        };
        (0..blocks).for_each(|_| session.apply(&Op::Push));
        let name = |block: usize, line: usize| format!("block {block} line {line}");
        for line in 0..lines {
            for block in 0..blocks {
                session.apply(&Op::Line(block, name(block, line), WrapMode::Words));
                paint(&mut session);
            }
        }
        let mut expected = Vec::new();
        for block in 0..blocks {
            expected.extend((block > 0).then(String::new));
            expected.extend((0..lines).map(|line| name(block, line)));
        }
        let mut open: Vec<usize> = (0..blocks).collect();
        for block in order {
            let at = open.iter().position(|other| *other == block).expect("it is open");
            open.remove(at);
            session.apply(&Op::Finish(at));
            let gone = paint(&mut session);
            assert!(expected.starts_with(&gone), "{gone:#?}");
            // No rows after an open block have scrolled off.
            let first_open = open.first().map_or(expected.len(), |first| first * (lines + 1));
            assert!(gone.len() <= first_open, "{gone:#?} although block {open:?} is open");
        }
        // One line more than the screen has rows scrolls everything off.
        session.apply(&Op::Push);
        for line in 0..rows {
            session.apply(&Op::Line(0, format!("end {line}"), WrapMode::Words));
        }
        session.apply(&Op::Finish(0));
        let gone = paint(&mut session);
        assert!(gone.starts_with(&expected), "{gone:#?}");
    });
}
