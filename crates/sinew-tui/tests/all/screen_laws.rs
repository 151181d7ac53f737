//! Property tests of the screen at a fixed size, on three emulators and the strict screen.

use crate::support;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sinew_tui::theme::Theme;
use sinew_tui::{Depth, Screen, ScreenOptions, Size, Style};
use support::emulators::{Alacritty, Avt, Vt100};
use support::model::{Op, Session, op, picture_op};
use support::strict::Strict;
use support::{Terminal, View, seen, text_of, view_row};

const SHELL: &str = "$ sinew\r\n";

fn screen(columns: usize, rows: usize, options: ScreenOptions) -> Screen {
    Screen::new(Size::new(columns, rows), options, Arc::new(Theme::default()))
}

/// Applies operations to a session and to terminals. Checks after each frame that all terminals show the rows of the
/// ledger and, above them, every row that has scrolled out, once and in order.
#[track_caller]
fn play(columns: usize, rows: usize, options: ScreenOptions, ops: &[Op], others: &mut [Box<dyn Terminal>]) {
    let mut session = Session::new(screen(columns, rows, options));
    let mut strict = Strict::new(columns, rows);
    strict.feed(SHELL.as_bytes());
    strict.feed(b"\x1b[?7l");
    let mut base = strict.tape_row();
    for terminal in others.iter_mut() {
        terminal.feed(SHELL.as_bytes());
        terminal.feed(b"\x1b[?7l");
    }
    let mut before = 0;
    for op in ops {
        session.apply(op);
        let mut stay = false;
        match op {
            Op::LeaveAndReturn => {
                let bytes = session.screen.leave();
                strict.begin_frame();
                strict.feed(&bytes);
                others.iter_mut().for_each(|terminal| terminal.feed(&bytes));
                // Another program writes in the meantime.
                strict.feed(b"$\r\n");
                others.iter_mut().for_each(|terminal| terminal.feed(b"$\r\n"));
                let gone = session.settled_rows(columns).len();
                let above: Vec<String> = strict.tape[..strict.tape_row()].iter().map(|row| text_of(row)).collect();
                let expected = session.settled_rows(columns);
                check_rows(&expected[before..gone], &above[above.len() - 1 - (gone - before)..above.len() - 1]);
                before = gone;
                base = strict.tape_row();
                session.screen.begin_epoch(Size::new(columns, rows));
            }
            Op::Reset => {
                strict.begin_frame();
                let frame = session.screen.reset();
                strict.feed(&frame.bytes);
                others.iter_mut().for_each(|terminal| terminal.feed(&frame.bytes));
                stay = true;
            }
            _ => {}
        }
        loop {
            let frame = session.screen.paint();
            if !stay {
                strict.begin_frame();
            }
            strict.feed(&frame.bytes);
            if !stay {
                strict.end_frame();
            }
            others.iter_mut().for_each(|terminal| terminal.feed(&frame.bytes));
            if !frame.more {
                break;
            }
        }
        assert!(session.screen.paint().bytes.is_empty(), "a frame that changes nothing is empty");
        check(&session, &mut strict, base, before, columns, options);
        for terminal in others.iter_mut() {
            compare(terminal.as_mut(), &strict, columns);
        }
    }
}

/// Checks that the strict screen contains `base` rows of other programs, then the rows that have scrolled out since
/// `before`, then the window.
#[track_caller]
fn check(session: &Session, strict: &mut Strict, base: usize, before: usize, columns: usize, options: ScreenOptions) {
    let (caret_row, caret_column) = session.screen.shown_caret();
    let top = strict.tape_row() - caret_row;
    assert_eq!(strict.cursor().1, caret_column, "the cursor is at the caret");
    let window: Vec<_> = session.screen.shown_rows().collect();
    for (index, row) in window.iter().enumerate() {
        assert!(row.width() <= columns || row.line == 0, "no row of the document is wider than the screen");
        let mut expected = view_row(row, columns);
        expected.iter_mut().for_each(|view| view.style = seen(view.style.reduced(options.depth), &view.text));
        assert_eq!(strict.tape[top + index], expected, "row {index} of the window");
    }
    for row in &strict.tape[top + window.len()..] {
        assert_eq!(text_of(row), "", "nothing stands below the window");
    }
    let settled = session.settled_rows(columns);
    let gone = top - base;
    let shown = session.screen.shown_settled();
    let above: Vec<String> = strict.tape[base..top + shown].iter().map(|row| text_of(row)).collect();
    check_rows(&settled[before..(before + gone + shown).min(settled.len())], &above);
}

#[track_caller]
fn check_rows(expected: &[sinew_tui::Row], above: &[String]) {
    let expected: Vec<&str> = expected.iter().map(|row| row.text().trim_end()).collect();
    assert_eq!(above, expected, "final rows stand above the window once, in order");
}

/// Checks that an emulator shows the same as the strict screen.
#[track_caller]
fn compare(terminal: &mut dyn Terminal, strict: &Strict, columns: usize) {
    assert_eq!(terminal.cursor(), strict.cursor(), "the cursor of {}", terminal.name());
    let mut lines = terminal.lines();
    // Rows that were never written.
    let blank = vec![View::blank(Style::PLAIN); columns];
    lines.resize(lines.len().max(strict.tape.len()), blank);
    for (index, (line, expected)) in lines.iter().zip(&strict.tape).enumerate() {
        if terminal.knows_styles() {
            assert_eq!(line, expected, "row {index} of {}", terminal.name());
        } else {
            assert_eq!(text_of(line), text_of(expected), "row {index} of {}", terminal.name());
        }
    }
}

fn emulators(columns: usize, rows: usize) -> Vec<Box<dyn Terminal>> {
    vec![
        Box::new(Alacritty::new(columns, rows)),
        Box::new(Avt::new(columns, rows)),
        Box::new(Vt100::new(columns, rows)),
    ]
}

fn run(cases: u32, test: impl Fn(usize, usize, ScreenOptions, Vec<Op>)) {
    run_with(cases, op().boxed(), test);
}

fn run_with(cases: u32, op: BoxedStrategy<Op>, test: impl Fn(usize, usize, ScreenOptions, Vec<Op>)) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let depth = prop::sample::select(vec![Depth::True, Depth::Indexed, Depth::Named, Depth::None]);
    let options = (depth, any::<bool>(), any::<bool>()).prop_map(|(depth, synchronized, links)| ScreenOptions {
        depth,
        synchronized,
        links,
        ..ScreenOptions::default()
    });
    let ops = prop::collection::vec(op, 1..24);
    let result = runner.run(&(2..40usize, 2..14usize, options, ops), |(columns, rows, options, ops)| {
        test(columns, rows, options, ops);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn random_sessions_show_every_row_once_on_the_strict_screen() {
    run(10_000, |columns, rows, options, ops| play(columns, rows, options, &ops, &mut []));
}

#[test]
fn emulators_agree_with_the_strict_screen() {
    run(300, |columns, rows, options, ops| play(columns, rows, options, &ops, &mut emulators(columns, rows)));
}

#[test]
fn random_sessions_with_images_show_every_row_once() {
    run_with(3_000, picture_op().boxed(), |columns, rows, options, ops| {
        play(columns, rows, options, &ops, &mut []);
    });
}

/// Regression tests: each case broke an emulator or the painter.
#[test]
fn wrapped_lines_join_across_colours_and_wide_clusters() {
    let text = |text: &str| Op::Line(0, text.into(), sinew_tui::WrapMode::Soft);
    let cases = [
        // A wide cluster leaves a cell free, which must not show the cluster's colour.
        (2, 2, vec![Op::Push, text("be0gamma-delta100日本語0"), Op::Settle(0, 1)]),
        // A wrap in the middle of the window, with the cursor below it.
        (8, 12, vec![Op::Push, text("alpha0 gamma-delta0"), text("x"), Op::Settle(0, 1)]),
        // A wrap in a colour that scrolls in a new row.
        (8, 3, vec![Op::Push, Op::Finish(0), Op::Push, text("gamma-delta0gamma-delta0gamma-delta0"), Op::Finish(0)]),
    ];
    for (columns, rows, ops) in cases {
        play(columns, rows, ScreenOptions::default(), &ops, &mut emulators(columns, rows));
    }
}
