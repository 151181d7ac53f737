//! Property tests of Markdown that grows while the terminal is resized.

use crate::support;

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sinew_tui::theme::Theme;
use sinew_tui::{Caret, Chrome, Line, MarkdownBlock, Screen, ScreenOptions, Size};
use support::Terminal;
use support::emulators::{Alacritty, Avt};

/// A part of an answer; its rows, items, lines or words are numbered through the whole answer.
#[derive(Clone, Copy, Debug)]
enum Part {
    Table(usize),
    Code(usize),
    List(usize),
    Paragraph(usize),
}

#[derive(Clone, Debug)]
enum Step {
    /// So many more bytes of the answer arrive.
    Grow(usize),
    Resize(usize, usize),
}

/// A session with these kinds of parts.
fn session(code: bool) -> impl Strategy<Value = (Vec<Part>, (usize, usize), Vec<Step>)> {
    let part = prop_oneof![
        (1..24usize).prop_map(Part::Table),
        (1..24usize).prop_map(move |lines| if code { Part::Code(lines) } else { Part::List(lines) }),
        (1..24usize).prop_map(Part::List),
        (1..60usize).prop_map(Part::Paragraph),
    ];
    // Wide enough that no number is split between the rows of a cell.
    let (widths, heights) = (24..110usize, 8..31usize);
    let step = prop_oneof![
        3 => (1..400usize).prop_map(Step::Grow),
        1 => (widths.clone(), heights.clone()).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
    ];
    (prop::collection::vec(part, 1..5), (widths, heights), prop::collection::vec(step, 4..24))
}

/// Returns the answer, and how many numbers it contains.
fn answer(parts: &[Part]) -> (String, usize) {
    let (mut text, mut next) = (String::new(), 0);
    let words = ["alpha", "be", "supercalifragilistic", "**bold**", "of", "`code`"];
    let mut number = || {
        next += 1;
        (format!("§{next}."), words[next % words.len()], "some words that wrap ".repeat(next % 5))
    };
    for part in parts {
        match part {
            Part::Table(rows) => {
                text += "| n | value | c |\n|---|---|---|\n";
                for _ in 0..*rows {
                    let (mark, word, more) = number();
                    writeln!(text, "| {mark} | {word} {more}| {word} |").expect("a string");
                }
            }
            Part::Code(lines) => {
                text += "```rust\n";
                for _ in 0..*lines {
                    let (mark, _, more) = number();
                    writeln!(text, "let a = \"{mark} {more}\";").expect("a string");
                }
                text += "```\n";
            }
            Part::List(items) => {
                for _ in 0..*items {
                    let (mark, word, more) = number();
                    writeln!(text, "- {mark} item with {word} {more}").expect("a string");
                }
            }
            Part::Paragraph(count) => {
                for _ in 0..*count {
                    let (mark, word, _) = number();
                    write!(text, "{mark} {word} ").expect("a string");
                }
                text += "\n";
            }
        }
        text += "\n";
    }
    (text, next)
}

fn chrome(columns: usize) -> Chrome {
    Chrome {
        status: vec![Line::plain(&format!("{:<columns$}", "streaming")).into_row(columns)],
        editor: vec![Line::plain("› ").into_row(columns)],
        caret: Caret { column: 2, ..Caret::default() },
        ..Chrome::default()
    }
}

/// Returns the numbers that the terminal contains after the whole answer has arrived, in their order.
fn numbers_after(terminal: &mut dyn Terminal, size: (usize, usize), text: &str, steps: &[Step]) -> Vec<usize> {
    let mut screen = Screen::new(Size::new(size.0, size.1), ScreenOptions::default(), Arc::new(Theme::default()));
    let id = screen.push(MarkdownBlock::streaming());
    terminal.feed(b"\x1b[?7l");
    let (mut width, mut rest) = (size.0, text);
    for step in steps.iter().cloned().chain([Step::Grow(usize::MAX)]) {
        match step {
            Step::Grow(bytes) => {
                let (more, after) = rest.split_at(rest.floor_char_boundary(bytes.min(rest.len())));
                rest = after;
                let block = screen.block::<MarkdownBlock>(id).expect("it is open");
                block.push(more);
                if bytes == usize::MAX {
                    block.finish();
                }
                // The frame may be withheld although the block was laid out.
                screen.stirs();
            }
            Step::Resize(columns, rows) => {
                terminal.resize(columns, rows);
                screen.resize(Size::new(columns, rows));
                width = columns;
                screen.set_chrome(chrome(width));
                screen.ask_place();
                let (row, column) = terminal.cursor();
                terminal.feed(&screen.place(row + 1, column + 1).bytes);
            }
        }
        screen.set_chrome(chrome(width));
        while {
            let frame = screen.paint();
            terminal.feed(&frame.bytes);
            frame.more
        } {}
    }
    terminal.feed(&screen.leave());
    let rows = terminal.lines();
    let text: String = rows.iter().flatten().map(|view| view.text.as_str()).collect();
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    text.split('§').skip(1).map(|part| part.split('.').next().unwrap_or("").parse().unwrap_or(0)).collect()
}

/// Checks that every number is in the terminal once and in order, with at most `tolerated` of 1,000 exceptions.
#[track_caller]
fn check(code: bool, tolerated: usize, terminal: impl Fn(usize, usize) -> Box<dyn Terminal>) {
    let (runs, mut wrong) = (1_000, Vec::new());
    let mut runner = TestRunner::new(Config::default());
    let found = |(parts, size, steps): &(Vec<Part>, (usize, usize), Vec<Step>)| {
        let (text, count) = answer(parts);
        let found = numbers_after(terminal(size.0, size.1).as_mut(), *size, &text, steps);
        (found.iter().copied().ne(1..=count)).then_some(found)
    };
    for _ in 0..runs {
        let tree = session(code).new_tree(&mut runner).expect("a session");
        if found(&tree.current()).is_some() {
            wrong.push(tree);
        }
    }
    let count = wrong.len();
    if count > tolerated {
        let mut tree = wrong.swap_remove(0);
        let mut smallest = tree.current();
        while if found(&tree.current()).is_some() {
            smallest = tree.current();
            tree.simplify()
        } else {
            tree.complicate()
        } {}
        panic!("{count} of {runs} sessions, such as {smallest:?}: {:?}", found(&smallest));
    }
}

#[test]
fn a_growing_answer_appears_once_in_alacritty() {
    // The unfinished row of a table appears again if the terminal pushes it out.
    check(true, 20, |columns, rows| Box::new(Alacritty::new(columns, rows)));
}

#[test]
fn a_growing_answer_appears_once_in_avt() {
    // avt leaves an empty row after a wrapped line that is exactly as wide as the new width, as lines of code often are.
    check(false, 10, |columns, rows| Box::new(Avt::new(columns, rows)));
}
