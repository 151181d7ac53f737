//! Tests of the transcript's blocks: text, Markdown, diffs and output.

use crate::support;

use std::sync::Arc;

use proptest::prelude::*;
use sinew_tui::theme::Theme;
use sinew_tui::{
    Block, Chord, Chrome, DiffBlock, DiffOptions, Layout, Line, MarkdownBlock, OutputBlock, RenderedRows, Row, Screen,
    ScreenOptions, Size, Style, TextBlock, ThoughtBlock,
};
use support::Terminal;
use support::emulators::Alacritty;

fn rows(block: &mut impl Block, width: usize) -> Vec<String> {
    let mut out = RenderedRows::default();
    block.render(&Layout { width, theme: &Theme::dark() }, true, &mut out);
    assert!(out.finished && out.settled == out.rows.len());
    assert!(out.rows.iter().all(|row| row.width() <= width), "no row is wider than the screen");
    out.rows.iter().map(|row| row.text().to_owned()).collect()
}

#[track_caller]
fn check(markdown: &str, width: usize, expect: &[&str]) {
    assert_eq!(rows(&mut MarkdownBlock::new(markdown), width), expect, "{markdown}");
}

#[test]
fn markdown_renders_to_the_expected_rows() {
    check("# Head\ntext *and* **more** of `it`\n", 80, &["Head", "", "text and more of it"]);
    check("one two three four\n\nfive", 9, &["one two", "three", "four", "", "five"]);
    check("- a\n- b\n  1. c\n  2. d\n", 80, &["- a", "- b", "  1. c", "  2. d"]);
    check("- [x] done\n- [ ] open\n", 80, &["- [x] done", "- [ ] open"]);
    check("> quoted text here\n", 10, &["▌ quoted", "▌ text", "▌ here"]);
    check("a\n\n---\n\nb", 5, &["a", "", "─────", "", "b"]);
    check("[here](https://e.org) and <https://e.org>", 80, &["here (https://e.org) and https://e.org"]);
    check("|a|b|\n|-|-|\n|1|two|\n", 80, &["a │ b", "──┼────", "1 │ two"]);
    check("|name|b|\n|-|-|\n|1|two|\n", 5, &["name:", "1", "b:", "two", ""]);
    check("```rust\nlet x = 1;\n\nfn f() {}\n```\nafter", 80, &["rust", "let x = 1;", "", "fn f() {}", "", "after"]);
    check("<b>\nhtml</b>\n", 80, &["<b>", "html</b>"]);
    check("- item\n  ```sh\n  ls\n  ```\n", 80, &["- item", "  ls"]);
}

/// Feeds a text in pieces, and checks that the settled rows after each are a prefix of the final rows.
fn check_causal(text: &str, pieces: &[usize], width: usize) {
    let whole = rows(&mut MarkdownBlock::new(text), width);
    let theme = Theme::dark();
    let layout = Layout { width, theme: &theme };
    let mut block = MarkdownBlock::streaming();
    let mut out = RenderedRows::default();
    let mut rest = text;
    let mut restart = true;
    for size in pieces.iter().cycle() {
        let mut cut = (*size).min(rest.len());
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        block.push(&rest[..cut]);
        rest = &rest[cut..];
        block.render(&layout, std::mem::take(&mut restart), &mut out);
        let settled: Vec<&str> = out.rows[..out.settled].iter().map(|row| row.text()).collect();
        assert!(
            whole.len() >= settled.len() && whole[..settled.len()] == settled[..],
            "{text:?} at {:?}:\n{settled:#?}\nof\n{whole:#?}",
            rest
        );
        if rest.is_empty() {
            break;
        }
    }
    block.finish();
    block.render(&layout, false, &mut out);
    let all: Vec<&str> = out.rows.iter().map(|row| row.text()).collect();
    assert_eq!(all, whole, "{text:?}");
}

#[test]
fn a_streamed_long_paragraph_settles_like_the_whole_text() {
    let words = "words and *more* of them ".repeat(2_000);
    let lines = "lines of a paragraph\n".repeat(2_000);
    let endless = "x".repeat(40_000);
    for text in [
        format!("{words}\n\nafter"),
        format!("before\n\n{words}"),
        format!("{lines}\nafter\n\n{lines}"),
        format!("{endless} {endless}\n\n- a\n- b\n"),
        format!("```\ncode\n```\n\n{lines}\n\n{words}"),
        format!("{}\n\nafter\n", "y".repeat(16 << 10)),
    ] {
        for pieces in [&[4_000][..], &[17_000, 3], &[100_000]] {
            check_causal(&text, pieces, 60);
        }
        let whole = rows(&mut MarkdownBlock::new(&text), 60);
        let blank = whole.iter().filter(|row| row.is_empty()).count();
        assert_eq!(blank, text.matches("\n\n").count(), "a blank row between paragraphs, none within one");
    }
}

const PIECES: [&str; 20] = [
    "# head\n",
    "text of a paragraph\n",
    "\n",
    "- item\n",
    "- \n",
    "1. one\n",
    "> quote\n",
    "```rust\n",
    "```\n",
    "let x = 1;\n",
    "    indented\n",
    "---\n",
    "===\n",
    "|a|b|\n|-|-|\n",
    "|c|d|\n",
    "  more\n",
    "<div>\n",
    "[x]: /url\n",
    "*em* **st** `co\n",
    "~~~\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn settled_rows_are_a_prefix_of_the_final_rows(
        parts in prop::collection::vec(prop::sample::select(&PIECES[..]), 1..12),
        cuts in prop::collection::vec(1..12usize, 1..8),
        width in 4..60usize,
    ) {
        check_causal(&parts.concat(), &cuts, width);
    }

    #[test]
    fn text_never_breaks_rows_or_sends_escapes(
        text in "[ -~\\x00-\\x1f\u{80}-\u{9f}é日\u{202e}\u{200d}👨‍👩‍👧\u{301}]{0,60}", width in 1..300usize,
    ) {
        let mut blocks: Vec<Box<dyn Block>> = vec![
            Box::new(TextBlock::new(&text, Style::PLAIN)),
            Box::new(MarkdownBlock::new(&text)),
            Box::new(DiffBlock::new(Line::plain(&text), "a", &text, "rust", DiffOptions::default())),
        ];
        let mut output = OutputBlock::new(vec![Line::plain(&text)]);
        output.push(&text);
        output.finish(Vec::new());
        blocks.push(Box::new(output));
        for block in &mut blocks {
            let mut out = RenderedRows::default();
            block.render(&Layout { width, theme: &Theme::dark() }, true, &mut out);
            for row in &out.rows {
                prop_assert!(row.width() <= width.max(2), "{:?} in {}", row.text(), width);
                let harmful = row.text().chars().any(|c| c.is_control() || (0x202A..=0x202E).contains(&u32::from(c)));
                prop_assert!(!harmful);
            }
        }
    }
}

/// Shows a block on a terminal and leaves.
fn show(terminal: &mut dyn Terminal, size: (usize, usize), block: impl Block + 'static) -> Vec<String> {
    let options = ScreenOptions::default();
    let mut screen = Screen::new(Size::new(size.0, size.1), options, Arc::new(Theme::dark()));
    terminal.feed(b"\x1b[?7l");
    screen.push(block);
    screen.set_chrome(Chrome { editor: vec![Row::default()], ..Chrome::default() });
    while {
        let frame = screen.paint();
        terminal.feed(&frame.bytes);
        frame.more
    } {}
    terminal.feed(&screen.leave());
    terminal.text()
}

#[test]
fn copied_code_equals_its_source() {
    let source: String = (0..60)
        .map(|n| format!("    let value_{n} = \"{}\"; // Straße Ελλάδα 日本語 {n}\n", "x y ".repeat(n % 17)))
        .collect();
    for (columns, rows) in [(20, 8), (80, 24), (37, 11)] {
        let mut terminal = Alacritty::new(columns, rows);
        let block = MarkdownBlock::new(&format!("```rust\n{source}```\n"));
        let text = show(&mut terminal, (columns, rows), block);
        let code: String = text[1..61].iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(code, source, "at {columns}×{rows}");
    }
}

#[test]
fn paints_a_burst_of_10_000_rows_completely_in_slices() {
    let text: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let mut screen = Screen::new(Size::new(80, 24), ScreenOptions::default(), Arc::new(Theme::dark()));
    let mut terminal = Alacritty::new(80, 24);
    terminal.feed(b"\x1b[?7l");
    screen.push(TextBlock::new(&text, Style::PLAIN));
    screen.set_chrome(Chrome { editor: vec![Row::default()], ..Chrome::default() });
    let mut slices = 0;
    loop {
        let frame = screen.paint();
        assert!(frame.bytes.len() <= 64 << 10, "a slice has at most 64 KB");
        terminal.feed(&frame.bytes);
        slices += 1;
        if !frame.more {
            break;
        }
    }
    assert!(slices > 2);
    terminal.feed(&screen.leave());
    let shown = terminal.text();
    assert!(shown.iter().take(10_000).map(|line| format!("{line}\n")).collect::<String>() == text);
}

#[test]
fn code_taller_than_the_screen_streams_as_code() {
    let mut screen = Screen::new(Size::new(40, 8), ScreenOptions::default(), Arc::new(Theme::dark()));
    let mut terminal = Alacritty::new(40, 8);
    terminal.feed(b"\x1b[?7l");
    let id = screen.push(MarkdownBlock::streaming());
    screen.set_chrome(Chrome { editor: vec![Row::default()], ..Chrome::default() });
    screen.block::<MarkdownBlock>(id).expect("open").push("before\n\n```sh\n");
    for n in 0..40 {
        screen.block::<MarkdownBlock>(id).expect("open").push(&format!("# not a heading {n}\n"));
        terminal.feed(&screen.paint().bytes);
        let text = terminal.text();
        let code: Vec<&String> = text.iter().filter(|line| line.starts_with('#')).collect();
        let expected: Vec<String> = (0..=n).map(|n| format!("# not a heading {n}")).collect();
        assert_eq!(code, expected.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_diff_is_readable_without_colour() {
    let old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    let new = "one\ntwo\nthree\nfour\nfive\nsix hundred\nseven\neight\n";
    let mut block = DiffBlock::new(Line::plain("edit a.txt +2 −1"), old, new, "", DiffOptions::default());
    let expected =
        ["edit a.txt +2 −1", "⋯ 3 unchanged", "  four", "  five", "- six", "+ six hundred", "  seven", "+ eight"];
    assert_eq!(rows(&mut block, 40), expected);
}

#[test]
fn output_shows_its_last_rows() {
    let mut block = OutputBlock::new(vec![Line::plain("$ seq 100")]);
    for n in 1..=100 {
        block.push(&format!("{n}\n"));
    }
    assert_eq!(block.line_count(), 100);
    let mut out = RenderedRows::default();
    block.render(&Layout { width: 40, theme: &Theme::dark() }, true, &mut out);
    assert_eq!((out.settled, out.rows.len()), (0, 10), "nothing settles while it runs");
    assert_eq!(out.rows[9].text(), "100");
    block.finish(vec![Line::plain("exit 0")]);
    let shown = rows(&mut block, 40);
    assert_eq!((shown.len(), shown[22].as_str(), shown[1].as_str()), (23, "exit 0", "⋯ 79 earlier lines"));
}

/// A block whose rendering fails.
struct Broken;

impl Block for Broken {
    fn version(&self) -> u64 {
        0
    }

    fn render(&mut self, _: &Layout<'_>, _: bool, _: &mut RenderedRows) {
        panic!("planted by a test");
    }

    fn plain(&self) -> String {
        "what it held".into()
    }
}

#[test]
fn a_block_that_panics_does_not_affect_the_others() {
    let mut screen = Screen::new(Size::new(40, 8), ScreenOptions::default(), Arc::new(Theme::dark()));
    screen.push(Broken);
    screen.push(TextBlock::new("after", Style::PLAIN));
    screen.paint();
    let shown: Vec<&str> = screen.shown_rows().map(Row::text).collect();
    assert_eq!(shown, ["what it held", "", "after"]);
}

#[test]
fn folded_thinking_is_one_row_and_settles_at_the_end() {
    for (text, expect) in [
        ("**A plan**\n\nRead it.\n", "A plan ⋯ ctrl+o"),
        ("First.\n\n## The second\n", "The second ⋯ ctrl+o"),
        ("Only **one** line", "Only one line"),
        ("a thought that is longer than a row", "a thought that is l… ⋯ ctrl+o"),
        ("", ""),
    ] {
        let mut block = ThoughtBlock::streaming(true).with_keys(Chord::parse("ctrl+t"), Chord::parse("ctrl+o"));
        block.push(text);
        block.finish();
        assert_eq!(rows(&mut block, 29).concat(), expect, "{text:?}");
    }
    // Folding and unfolding while the text grows yields the same rows as rendering it at once.
    let text = "**A plan**\n\nRead `a` and\n`b`.\n\n- one\n- two\n\n```rust\nfn a() {}\n```\n\nThe end.";
    let mut screen = Screen::new(Size::new(30, 30), ScreenOptions::default(), Arc::new(Theme::dark()));
    let grows = screen.push(ThoughtBlock::streaming(false));
    for (at, letter) in text.char_indices() {
        let block = screen.block::<ThoughtBlock>(grows).expect("it is live");
        block.push(&letter.to_string());
        block.fold(at % 5 < 3);
        screen.paint();
        assert_eq!(screen.shown_settled(), 0);
    }
    let block = screen.block::<ThoughtBlock>(grows).expect("it is live");
    block.fold(false);
    block.finish();
    screen.paint();
    let mut whole = ThoughtBlock::streaming(false);
    whole.push(text);
    whole.finish();
    let shown: Vec<String> = screen.shown_rows().map(|row| row.text().to_owned()).collect();
    assert_eq!(shown, rows(&mut whole, 30));
    assert!(!shown.concat().contains(['*', '`']), "{shown:?}");
}
