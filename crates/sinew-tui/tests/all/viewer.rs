//! Tests the viewer: what it shows, finds and folds, and that it reads only the passages it needs.

use crate::support;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use sinew_tui::theme::Theme;
use sinew_tui::{
    Line, Passage, Passages, QueryPress, Reaction, ReadPassages, Screen, ScreenOptions, SearchTarget, Size, ViewAction,
    Viewer,
};
use support::strict::Strict;
use support::{Terminal, run, text_of};

/// Returns the action of a key in the tests; `None` if it has none.
fn action(key: &str) -> Option<ViewAction> {
    Some(match key {
        "q" | "escape" => ViewAction::Close,
        "up" => ViewAction::Up,
        "down" => ViewAction::Down,
        "pageUp" => ViewAction::PageUp,
        "pageDown" => ViewAction::PageDown,
        "home" | "g" => ViewAction::Start,
        "end" | "G" => ViewAction::End,
        "/" => ViewAction::Search,
        "n" => ViewAction::Next,
        "N" => ViewAction::Previous,
        "[" => ViewAction::PromptBefore,
        "]" => ViewAction::PromptAfter,
        "e" => ViewAction::Fold,
        "E" => ViewAction::FoldAll,
        _ => return None,
    })
}

/// Passes a key to the view, or to the search text.
fn take(viewer: &mut Viewer, key: &str, text: &str) -> Reaction {
    if viewer.is_typing() {
        return viewer.type_query(match key {
            "enter" => QueryPress::Confirm,
            "escape" => QueryPress::Cancel,
            "backspace" => QueryPress::Backspace,
            _ => QueryPress::Text(text),
        });
    }
    match action(key) {
        Some(action) => viewer.act(action),
        None => {
            viewer.rest();
            Reaction::Stays
        }
    }
}

/// Passes a key, and runs the search that it requests. Returns false if the view must be closed.
fn press(viewer: &mut Viewer, key: &str, text: &str) -> bool {
    match take(viewer, key, text) {
        Reaction::Stays => true,
        Reaction::Closes => false,
        Reaction::Searches(search) => {
            let found = search.run(&|| true);
            viewer.found(&search, found);
            true
        }
    }
}

fn rows(viewer: &mut Viewer) -> Vec<String> {
    let mut rows: Vec<String> = viewer.chrome().editor.iter().map(|row| row.text().trim_end().to_owned()).collect();
    rows.pop();
    rows
}

fn first(viewer: &mut Viewer) -> String {
    rows(viewer)[0].clone()
}

/// Creates passages of ten lines, each of which begins with a prompt.
fn prompts(count: usize) -> Arc<dyn Passages> {
    let line = |at: usize| Line::plain(&format!("line {at}"));
    let passage = |at: usize| {
        let lines = (at * 10..at * 10 + 10).map(line).collect();
        Passage { lines, begins: vec![0], is_prompt: at.is_multiple_of(4) }
    };
    Arc::new(ReadPassages::new((0..count).map(passage).collect()))
}

#[test]
fn a_viewer_scrolls_and_searches_without_scrolling_the_terminal() {
    let mut viewer = Viewer::new("all", prompts(10), Size::new(30, 10), 5);
    assert_eq!(first(&mut viewer), "line 50");
    for (key, text, expect) in [
        ("up", "", "line 49"),
        ("[", "[", "line 40"),
        ("]", "]", "line 80"),
        ("]", "]", "line 80"),
        ("home", "", "line 0"),
        ("pageDown", "", "line 8"),
        ("end", "", "line 91"),
        ("/", "/", "line 91"),
        ("e", "e 7", "line 91"),
        ("enter", "", "line 7"),
        ("n", "n", "line 70"),
        ("N", "N", "line 7"),
        ("N", "N", "line 79"),
        ("/", "/", "line 79"),
        ("9", "97", "line 79"),
        // The last line is already on the screen.
        ("enter", "", "line 91"),
        ("n", "n", "line 91"),
        ("home", "", "line 0"),
    ] {
        assert!(press(&mut viewer, key, text));
        assert_eq!(first(&mut viewer), expect, "{key}");
    }
    viewer.resize(Size::new(4, 5));
    assert!(viewer.chrome().editor.iter().all(|row| row.width() <= 4));
    assert_eq!(first(&mut viewer), "line");
    viewer.resize(Size::new(30, 10));
    // The viewer is painted on a separate screen from the first row on, and scrolls nothing.
    let mut own = Screen::new(Size::new(30, 10), ScreenOptions::default(), Arc::new(Theme::default()));
    let mut strict = Strict::new(30, 10);
    strict.feed(b"\x1b[?7l");
    for key in ["home", "down", "pageDown", "end", "up"] {
        press(&mut viewer, key, "");
        own.set_chrome(viewer.chrome());
        while {
            let frame = own.paint();
            strict.feed(&frame.bytes);
            frame.more
        } {}
        assert_eq!(strict.tape.len(), 10, "no row has scrolled out");
        assert_eq!(text_of(&strict.tape[0]), first(&mut viewer));
    }
    assert!(!press(&mut viewer, "q", "q"));
}

#[test]
fn folding_hides_a_whole_part_and_search_finds_folded_text() {
    let passage = |lines: &[&str], begins: &[usize]| {
        let lines = lines.iter().map(|line| Line::plain(line)).collect();
        Passage { lines, begins: begins.to_vec(), is_prompt: false }
    };
    // A call, and its output in a separate passage.
    let all = vec![
        passage(&["› go"], &[0]),
        passage(&["", "an answer", "of two lines", "", "● call"], &[1, 4]),
        passage(&["  output", "  needle"], &[]),
        passage(&["", "the end"], &[1]),
    ];
    let mut viewer = Viewer::new("all", Arc::new(ReadPassages::new(all)), Size::new(40, 12), 1);
    let shown = |viewer: &mut Viewer| {
        let mut rows = rows(viewer);
        rows.truncate(rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1));
        rows.join("|")
    };
    let whole = "› go||an answer|of two lines||● call|  output|  needle||the end";
    assert_eq!(shown(&mut viewer), whole);
    press(&mut viewer, "E", "E");
    assert_eq!(shown(&mut viewer), "› go  ⋯|an answer  ⋯|● call  ⋯|the end  ⋯");
    press(&mut viewer, "/", "/");
    press(&mut viewer, "n", "NEEDLE");
    press(&mut viewer, "enter", "");
    assert_eq!(shown(&mut viewer), "› go  ⋯|an answer  ⋯|● call|  output|  needle||the end  ⋯");
    assert_eq!(viewer.part().as_deref(), Some("● call\n  output\n  needle"));
    press(&mut viewer, "e", "e");
    assert_eq!(shown(&mut viewer), "› go  ⋯|an answer  ⋯|● call  ⋯|the end  ⋯");
    press(&mut viewer, "E", "E");
    assert_eq!(shown(&mut viewer), whole);
}

/// Passages that are created when they are read, and count the reads.
struct Counted {
    count: usize,
    reads: AtomicUsize,
}

impl Passages for Counted {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, at: usize) -> Passage {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let lines = vec![Line::plain(&format!("entry {at}")), Line::plain("its text"), Line::new()];
        Passage { lines, begins: vec![0], is_prompt: at.is_multiple_of(1_000) }
    }

    fn candidate(&self, range: Range<usize>, wanted: &SearchTarget, forward: bool) -> Option<usize> {
        let fits = |at: &usize| match wanted {
            SearchTarget::Prompt => at.is_multiple_of(1_000),
            SearchTarget::Text(text) => format!("entry {at}").contains(text),
        };
        if forward { range.clone().find(fits) } else { range.clone().rev().find(fits) }
    }
}

#[test]
fn a_key_reads_the_same_number_of_passages_at_any_length() {
    let counts = [100, 100_000].map(|count| {
        let passages = Arc::new(Counted { count, reads: AtomicUsize::new(0) });
        let mut viewer = Viewer::new("all", Arc::clone(&passages) as Arc<dyn Passages>, Size::new(40, 24), count - 30);
        let mut counts = Vec::new();
        for key in ["up", "pageUp", "pageUp", "down", "end", "home", "pageDown", "e", "E", "end", "pageUp", "E", "home"]
        {
            let before = passages.reads.load(Ordering::Relaxed);
            press(&mut viewer, key, "");
            viewer.resize(Size::new(41, 20));
            rows(&mut viewer);
            viewer.resize(Size::new(40, 24));
            rows(&mut viewer);
            counts.push(passages.reads.load(Ordering::Relaxed) - before);
        }
        assert!(counts.iter().all(|reads| *reads < 400), "{counts:?}");
        counts
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_search_reads_candidates_first_and_then_all_passages() {
    let passages = Arc::new(Counted { count: 5_000, reads: AtomicUsize::new(0) });
    let mut viewer = Viewer::new("all", Arc::clone(&passages) as Arc<dyn Passages>, Size::new(40, 10), 0);
    press(&mut viewer, "/", "/");
    press(&mut viewer, "e", "entry 4321");
    let before = passages.reads.load(Ordering::Relaxed);
    press(&mut viewer, "enter", "");
    assert_eq!(first(&mut viewer), "entry 4321");
    assert!(passages.reads.load(Ordering::Relaxed) - before < 50);
    // Every passage contains the text, but none is reported as a candidate.
    press(&mut viewer, "/", "/");
    press(&mut viewer, "i", "its text");
    press(&mut viewer, "enter", "");
    assert_eq!(first(&mut viewer), "its text");
    press(&mut viewer, "[", "[");
    assert_eq!(first(&mut viewer), "entry 4000");
    // A cancelled search ends.
    press(&mut viewer, "/", "/");
    press(&mut viewer, "x", "nowhere");
    let Reaction::Searches(search) = take(&mut viewer, "enter", "") else { panic!("a search") };
    let before = passages.reads.load(Ordering::Relaxed);
    let looks = AtomicUsize::new(0);
    assert_eq!(search.run(&|| looks.fetch_add(1, Ordering::Relaxed) < 3), None);
    assert!(passages.reads.load(Ordering::Relaxed) - before <= 3);
}

#[test]
fn random_navigation_shows_consecutive_rows_and_fills_the_screen() {
    let input = (
        prop::collection::vec((0..6usize, prop::bool::ANY), 0..30),
        prop::collection::vec(
            prop::sample::select(vec!["up", "down", "pageUp", "pageDown", "home", "end", "[", "]"]),
            0..40,
        ),
        1..12usize,
    );
    run(300, input, |(passages, keys, height)| {
        let mut number = 0;
        let mut made = Vec::new();
        for (count, is_prompt) in passages {
            let lines = (number..number + count).map(|at| Line::plain(&at.to_string())).collect();
            number += count;
            let begins = if count > 0 { vec![0] } else { vec![] };
            made.push(Passage { lines, begins, is_prompt: is_prompt && count > 0 });
        }
        let mut viewer = Viewer::new("all", Arc::new(ReadPassages::new(made)), Size::new(10, height + 1), 3);
        for key in keys {
            press(&mut viewer, key, "");
            let shown: Vec<usize> = rows(&mut viewer).iter().filter_map(|row| row.parse().ok()).collect();
            assert_eq!(shown.len(), height.min(number), "{key}");
            assert!(shown.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{key}: {shown:?}");
        }
    });
}
