//! Property tests of resizing, on two emulators that reflow rows and one that truncates them.

use crate::support;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sinew_tui::theme::Theme;
use sinew_tui::{Caret, CaretPlace, Chrome, Line, Reflow, Screen, ScreenOptions, Size, Style, TextBlock, WrapMode};
use support::Terminal;
use support::emulators::{Alacritty, Avt, Vt100};
use support::model::{Lines, Op, Session, op};

#[derive(Clone, Debug)]
enum Step {
    Op(Op),
    /// A new size, and whether the terminal reports the position of the cursor.
    Resize(usize, usize, bool),
}

/// The number of runs with duplicate rows ("ghosts"), which the test tolerates if they are rare.
#[derive(Default, Debug)]
struct Ghosts {
    resizes: usize,
    runs: usize,
    with_ghosts: usize,
}

fn steps(
    widths: std::ops::Range<usize>,
    heights: std::ops::Range<usize>,
    silent: bool,
) -> impl Strategy<Value = Vec<Step>> {
    let resize = (widths, heights, any::<bool>())
        .prop_map(move |(columns, rows, answers)| Step::Resize(columns, rows, answers || !silent));
    prop::collection::vec(prop_oneof![4 => op().prop_map(Step::Op), 1 => resize], 4..30)
}

/// Runs the steps, finishes all blocks, and checks that the terminal contains every line once and in order. Returns
/// true if there is other content between the lines.
#[track_caller]
fn play(
    terminal: &mut dyn Terminal,
    size: (usize, usize),
    steps: &[Step],
    short: bool,
    reflow: Option<Reflow>,
) -> bool {
    play_as(terminal, size, steps, short, ScreenOptions { reflow, ..ScreenOptions::default() }, false)
}

/// Does the same; if `final_only`, every line is final as soon as it is added.
#[track_caller]
fn play_as(
    terminal: &mut dyn Terminal,
    size: (usize, usize),
    steps: &[Step],
    short: bool,
    options: ScreenOptions,
    final_only: bool,
) -> bool {
    let mut session = Session::new(Screen::new(Size::new(size.0, size.1), options, Arc::new(Theme::default())));
    terminal.feed(b"shell\r\n\x1b[?7l");
    let mut line = 0;
    let paint = |session: &mut Session, terminal: &mut dyn Terminal| {
        while {
            let frame = session.screen.paint();
            terminal.feed(&frame.bytes);
            frame.more
        } {}
    };
    for step in steps {
        match step {
            // Terminals keep the rows below the cursor's line, and scroll off rows above it, regardless of content.
            Step::Op(Op::Editor(..) | Op::Cover(_) | Op::Above(_) | Op::Status(_)) if final_only => {}
            Step::Op(op) => {
                let op = match op {
                    Op::Line(block, text, mode) => {
                        line += 1;
                        let text = if short { String::new() } else { text.clone() };
                        Op::Line(*block, format!("<{line}:{text}>"), *mode)
                    }
                    Op::Delta(..) | Op::LeaveAndReturn | Op::Reset => continue,
                    op => op.clone(),
                };
                if final_only && matches!(op, Op::Push) {
                    session.apply(&Op::Finish(0));
                }
                session.apply(&op);
                if final_only {
                    session.apply(&Op::Settle(0, 9));
                }
                paint(&mut session, terminal);
            }
            Step::Resize(columns, rows, answers) => {
                terminal.resize(*columns, *rows);
                session.screen.resize(Size::new(*columns, *rows));
                session.screen.ask_place();
                let (row, column) = terminal.cursor();
                let frame =
                    if *answers { session.screen.place(row + 1, column + 1) } else { session.screen.give_up_place() };
                let from_first_cell = frame.bytes.windows(4).any(|bytes| bytes == b"\r\x1b[J");
                assert!(!from_first_cell, "tmux keeps a screen erased from its first cell");
                terminal.feed(&frame.bytes);
                if !answers {
                    // A late reply changes nothing.
                    assert!(session.screen.place(row + 1, column + 1).bytes.is_empty());
                }
                paint(&mut session, terminal);
            }
        }
    }
    for block in 0..session.ids.len() {
        let _ = block;
        session.apply(&Op::Finish(0));
    }
    session.chrome.cover.clear();
    session.chrome.above.clear();
    session.chrome.caret = Caret::default();
    session.screen.set_chrome(session.chrome.clone());
    paint(&mut session, terminal);
    let bytes = session.screen.leave();
    terminal.feed(&bytes);

    let text: String = terminal.lines().iter().flatten().map(|view| view.text.as_str()).collect();
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    let expected = session.settled_text();
    let mut ghosts = 0;
    let mut at = "shell".len();
    assert!(text.starts_with("shell"), "what stood there before is still there:\n{}", dump(terminal));
    for c in expected.chars() {
        let place = text[at..].find(c).unwrap_or_else(|| {
            panic!("a line is lost, or not in order, in\n{text}\nof\n{expected}\n{}", dump(terminal))
        });
        ghosts += place;
        at += place + c.len_utf8();
    }
    ghosts += text.len() - at;
    ghosts > 0
}

fn dump(terminal: &mut dyn Terminal) -> String {
    let rows: Vec<String> = terminal.lines().iter().map(|row| support::text_of(row)).collect();
    rows.join("\n")
}

fn run(
    cases: u32,
    widths: std::ops::Range<usize>,
    heights: std::ops::Range<usize>,
    silent: bool,
    test: impl Fn(usize, usize, &[Step]) -> bool,
) -> Ghosts {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let ghosts = std::cell::RefCell::new(Ghosts::default());
    let input = (widths.clone(), heights.clone(), steps(widths, heights, silent));
    let result = runner.run(&input, |(columns, rows, steps)| {
        let found = test(columns, rows, &steps);
        let mut ghosts = ghosts.borrow_mut();
        ghosts.runs += 1;
        ghosts.resizes += steps.iter().filter(|step| matches!(step, Step::Resize(..))).count();
        ghosts.with_ghosts += usize::from(found);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    ghosts.into_inner()
}

#[test]
fn resizing_loses_nothing_in_alacritty() {
    let ghosts = run(400, 3..40, 3..14, false, |columns, rows, steps| {
        play(&mut Alacritty::new(columns, rows), (columns, rows), steps, false, None)
    });
    eprintln!("alacritty: {ghosts:?}");
}

#[test]
fn resizing_loses_nothing_in_avt() {
    let ghosts = run(400, 3..40, 3..14, false, |columns, rows, steps| {
        play(&mut Avt::new(columns, rows), (columns, rows), steps, false, None)
    });
    eprintln!("avt: {ghosts:?}");
}

#[test]
fn resizing_loses_nothing_when_the_terminal_truncates_rows() {
    let ghosts = run(400, 12..40, 3..14, false, |columns, rows, steps| {
        play(&mut Vt100::new(columns, rows), (columns, rows), steps, true, Some(Reflow::Cut))
    });
    eprintln!("vt100: {ghosts:?}");
}

#[test]
fn resizing_loses_nothing_when_final_rows_are_kept() {
    let options = ScreenOptions { keeps_settled: true, ..ScreenOptions::default() };
    for silent in [false, true] {
        run(200, 3..40, 3..14, silent, |columns, rows, steps| {
            play_as(&mut Alacritty::new(columns, rows), (columns, rows), steps, false, options, false)
        });
    }
    // Only rows that can still change are written again.
    let mut screen = Screen::new(Size::new(30, 10), options, Arc::new(Theme::default()));
    screen.push(TextBlock::new("final", Style::PLAIN));
    let live = screen.push(TextBlock::streaming(Style::PLAIN));
    screen.block::<TextBlock>(live).expect("it is live").push("live");
    let editor = vec![Line::plain("› a").into_row(30)];
    screen.set_chrome(Chrome { editor, caret: Caret { column: 3, ..Caret::default() }, ..Chrome::default() });
    screen.paint();
    screen.resize(Size::new(20, 10));
    screen.ask_place();
    let bytes = String::from_utf8(screen.place(4, 4).bytes).expect("a frame is text");
    assert!(bytes.contains("live") && !bytes.contains("final"), "{bytes:?}");
}

#[test]
fn resizing_loses_nothing_without_a_cursor_report() {
    run(400, 3..40, 3..14, true, |columns, rows, steps| {
        play(&mut Alacritty::new(columns, rows), (columns, rows), steps, false, None)
    });
}

/// Checks that duplicate rows are rare. If an emulator lays out rows differently from what it reports, a row appears
/// twice. This happens for wide clusters that no longer wrap, and in avt for a line that is exactly as wide as the new
/// width, after which avt leaves an empty row. It affects one session in a thousand (7 of 8,000 in avt, none in
/// alacritty). The test allows one in a hundred, and runs enough sessions that chance does not exceed this limit.
#[track_caller]
fn check_ghosts(terminal: impl Fn(usize, usize) -> Box<dyn Terminal>) {
    let ghosts = run(2_000, 8..40, 10..11, false, |columns, rows, steps| {
        play_as(terminal(columns, rows).as_mut(), (columns, rows), steps, false, ScreenOptions::default(), true)
    });
    assert!(ghosts.with_ghosts * 100 < ghosts.runs, "{ghosts:?}");
}

#[test]
fn final_rows_appear_once_in_alacritty_at_the_same_height() {
    check_ghosts(|columns, rows| Box::new(Alacritty::new(columns, rows)));
}

#[test]
fn final_rows_appear_once_in_avt_at_the_same_height() {
    check_ghosts(|columns, rows| Box::new(Avt::new(columns, rows)));
}

/// A regression test: one row of a wrapped line was overwritten completely, and avt still treated the next row as its
/// continuation.
#[test]
fn a_wrapped_line_that_was_overwritten_does_not_join_again() {
    use sinew_tui::WrapMode::{Soft, Words};
    let line = |mode| Step::Op(Op::Line(0, String::new(), mode));
    let ops = [Op::Settle(0, 1), Op::Cover(2)].map(Step::Op);
    let steps = [vec![line(Words), Step::Op(Op::Push), line(Soft)], ops.to_vec(), vec![Step::Resize(6, 3, true)]];
    play(&mut Avt::new(3, 3), (3, 3), &steps.concat(), false, None);
}

/// A step of a session whose rows are final as soon as they are added, with panels and popups.
#[derive(Clone, Debug)]
enum Covered {
    /// Adds a block of lines.
    Text(Vec<(&'static str, WrapMode)>),
    /// Shows a cover of this many rows; 0 closes it.
    Cover(CoverKind, usize),
    /// Sets these sizes before the program can react to the first.
    Resize(Vec<(usize, usize)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoverKind {
    /// A panel that pushes the conversation up.
    Panel,
    Popup,
    /// A popup that contains the cursor.
    Overlay,
}

const TABLE: (&str, WrapMode) = ("│ name │ value of many │ explains what it does │", WrapMode::Words);
const CODE: (&str, WrapMode) = ("let value = compute(\"an argument that is long\");", WrapMode::Words);
const EMPTY: (&str, WrapMode) = ("", WrapMode::Words);
/// Lines that the terminal wraps, and wide clusters.
const WRAPPED: [(&str, WrapMode); 3] = [
    ("words of a paragraph that the terminal wraps by itself between them", WrapMode::Soft),
    ("let value = compute(\"an argument that is long enough to wrap\");", WrapMode::Cells),
    ("日本語の文は長くて、🎉 行の終わりで折り返される。", WrapMode::Soft),
];

fn covered(lines: Vec<(&'static str, WrapMode)>) -> impl Strategy<Value = (usize, usize, Vec<Covered>)> {
    // Enough rows that a cover stays on the screen when each of its rows needs two.
    let (widths, heights) = (36..70usize, 16..26usize);
    let line = prop::sample::select(lines);
    let kind = prop::sample::select(vec![CoverKind::Panel, CoverKind::Popup, CoverKind::Overlay]);
    let sizes = prop::collection::vec((widths.clone(), heights.clone()), 1..5);
    let step = prop_oneof![
        3 => prop::collection::vec(line, 1..12).prop_map(Covered::Text),
        2 => (kind, 0..7usize).prop_map(|(kind, rows)| Covered::Cover(kind, rows)),
        2 => sizes.prop_map(Covered::Resize),
    ];
    (widths, heights, prop::collection::vec(step, 3..16))
}

/// Returns the chrome as the program lays it out: the status is as wide as the terminal.
fn chrome_with((kind, count): (CoverKind, usize), columns: usize) -> Chrome {
    let row = |text: &str| Line::plain(text).into_row(columns);
    let caret = match kind {
        CoverKind::Overlay if count > 0 => Caret { place: CaretPlace::Cover, row: count / 2, column: 3 },
        _ => Caret { column: 2, ..Caret::default() },
    };
    Chrome {
        cover: (0..count).map(|n| row(&format!("{n} yes, and always: {}", "an option ".repeat(n)))).collect(),
        pushes: kind == CoverKind::Panel,
        status: vec![row(&format!("{:<columns$}", "ready"))],
        editor: vec![row("› ")],
        caret,
        ..Chrome::default()
    }
}

/// Plays the steps below a full screen and closes the cover. Returns true if the terminal does not contain exactly
/// every line once and in order.
fn is_wrong_beside_covers(terminal: &mut dyn Terminal, (columns, rows): (usize, usize), steps: &[Covered]) -> bool {
    let mut screen = Screen::new(Size::new(columns, rows), ScreenOptions::default(), Arc::new(Theme::default()));
    terminal.feed(b"\x1b[?7l");
    let (mut width, mut cover, mut expected, mut line) = (columns, (CoverKind::Popup, 0), String::new(), 0);
    let (start, end) = (Covered::Text(vec![("start", WrapMode::Words); 40]), Covered::Cover(CoverKind::Popup, 0));
    for step in [&start].into_iter().chain(steps).chain([&end]) {
        match step {
            Covered::Text(lines) => {
                let number = |(text, mode): &(&str, WrapMode)| {
                    line += 1;
                    (format!("<{line}:{text}>"), *mode)
                };
                let lines: Vec<_> = lines.iter().map(number).collect();
                expected.extend(lines.iter().flat_map(|(text, _)| text.chars()).filter(|c| *c != ' '));
                let settled = lines.len();
                screen.push(Lines { lines, settled, finished: true, version: 0 });
            }
            Covered::Cover(kind, rows) => cover = (*kind, *rows),
            Covered::Resize(sizes) => {
                for (columns, rows) in sizes {
                    terminal.resize(*columns, *rows);
                    screen.resize(Size::new(*columns, *rows));
                    width = *columns;
                }
                screen.set_chrome(chrome_with(cover, width));
                screen.ask_place();
                let (row, column) = terminal.cursor();
                terminal.feed(&screen.place(row + 1, column + 1).bytes);
            }
        }
        screen.set_chrome(chrome_with(cover, width));
        while {
            let frame = screen.paint();
            terminal.feed(&frame.bytes);
            frame.more
        } {}
    }
    terminal.feed(&screen.leave());
    let text: String = terminal.lines().iter().flatten().map(|view| view.text.as_str()).collect();
    text.chars().filter(|c| *c != ' ').collect::<String>() != expected
}

/// Checks that resizes beside panels and popups keep every line once, and leave no row of a cover. See `check_ghosts`
/// about the tolerance.
#[track_caller]
fn check_covered(lines: &[(&'static str, WrapMode)], terminal: impl Fn(usize, usize) -> Box<dyn Terminal>) {
    let (runs, mut wrong) = (1_000, Vec::new());
    let mut runner = TestRunner::new(Config::default());
    let is_wrong = |(columns, rows, steps): &(usize, usize, Vec<Covered>)| {
        is_wrong_beside_covers(terminal(*columns, *rows).as_mut(), (*columns, *rows), steps)
    };
    for _ in 0..runs {
        let tree = covered(lines.to_vec()).new_tree(&mut runner).expect("a session");
        if is_wrong(&tree.current()) {
            wrong.push(tree);
        }
    }
    let count = wrong.len();
    if count * 100 >= runs {
        let mut tree = wrong.swap_remove(0);
        let mut smallest = tree.current();
        while if is_wrong(&tree.current()) {
            smallest = tree.current();
            tree.simplify()
        } else {
            tree.complicate()
        } {}
        panic!("{count} of {runs} sessions, such as {smallest:?}");
    }
}

/// Checks that nothing of the old rows of a panel stays on a screen that becomes smaller, when they wrap and the terminal
/// pushes some of them out.
#[test]
fn a_panel_that_is_pushed_out_leaves_no_part_on_the_screen() {
    let sizes = prop::collection::vec((20..100usize, 6..30usize), 1..5);
    support::run(500, (1..24usize, sizes), |(count, sizes)| {
        let (mut columns, mut rows) = (100, 30);
        let mut terminal = Alacritty::new(columns, rows);
        terminal.feed(b"\x1b[?7l");
        let mut screen = Screen::new(Size::new(columns, rows), ScreenOptions::default(), Arc::new(Theme::default()));
        screen.push(TextBlock::new(&"start\n".repeat(40), Style::PLAIN));
        let sizes = [(columns, rows)].into_iter().chain(sizes);
        for (index, (to_columns, to_rows)) in sizes.enumerate() {
            (columns, rows) = (columns.min(to_columns), rows.min(to_rows));
            let cover = |n: usize| Line::plain(&format!("{n} {}", "option that is long ".repeat(5))).into_row(columns);
            let panel = Chrome {
                cover: (0..count.min(rows - 2)).map(cover).collect(),
                ..chrome_with((CoverKind::Panel, 0), columns)
            };
            if index > 0 {
                terminal.resize(columns, rows);
                screen.resize(Size::new(columns, rows));
                screen.set_chrome(panel);
                screen.ask_place();
                let (row, column) = terminal.cursor();
                terminal.feed(&screen.place(row + 1, column + 1).bytes);
            } else {
                screen.set_chrome(panel);
                terminal.feed(&screen.paint().bytes);
            }
            let seen = terminal.lines().iter().rev().take(rows).map(|row| support::text_of(row)).collect::<Vec<_>>();
            let other = |text: &&str| !text.is_empty() && *text != "start";
            let seen: Vec<&str> = seen.iter().rev().map(String::as_str).filter(other).collect();
            let shown: Vec<&str> = screen.shown_rows().map(|row| row.text().trim_end()).filter(other).collect();
            assert_eq!(seen, shown, "at {columns}×{rows}");
        }
    });
}

#[test]
fn final_rows_appear_once_beside_covers_in_alacritty() {
    let lines = [&[TABLE, CODE, EMPTY], &WRAPPED[..]].concat();
    check_covered(&lines, |columns, rows| Box::new(Alacritty::new(columns, rows)));
}

#[test]
fn final_rows_appear_once_beside_covers_in_avt() {
    // avt leaves an empty row after a wrapped line that is exactly as wide as the new width.
    check_covered(&[TABLE, CODE, EMPTY], |columns, rows| Box::new(Avt::new(columns, rows)));
}
