//! Tests how terminal input is split, as a whole and byte by byte.

use proptest::prelude::*;
use sinew_term::{Input, StdinBuffer};

fn sequences(parts: &[&str]) -> Vec<Input> {
    parts.iter().map(|part| Input::Sequence(part.to_string())).collect()
}

#[track_caller]
fn check(input: &str, parts: &[&str]) {
    let mut buffer = StdinBuffer::new();
    let mut found = buffer.feed(input.as_bytes());
    found.extend(buffer.flush());
    assert_eq!(found, sequences(parts), "{input:?}");
    let mut buffer = StdinBuffer::new();
    let mut found: Vec<Input> = input.bytes().flat_map(|byte| buffer.feed(&[byte])).collect();
    found.extend(buffer.flush());
    assert_eq!(found, sequences(parts), "{input:?}, byte by byte");
}

#[test]
fn splits_sequences_and_characters() {
    check("aé界👩", &["a", "é", "界", "👩"]);
    check("\x1b[A\x1bOPx", &["\x1b[A", "\x1bOP", "x"]);
    check("\x1b[<35;20;5mq", &["\x1b[<35;20;5m", "q"]);
    check("\x1b[M abc", &["\x1b[M ab", "c"]);
    check("\x1b[[Ax", &["\x1b[[A", "x"]);
    check("\x1b[[5~\x1b[[6~x\x1b[[5x", &["\x1b[[5~", "\x1b[[6~", "x", "\x1b[[5", "x"]);
    check("\x1b[2$x", &["\x1b[2$", "x"]);
    check("\x1b[?2026;2$y", &["\x1b[?2026;2$y"]);
    check("\x1ba\x1bé", &["\x1ba", "\x1bé"]);
    check("\x1b]11;rgb:1/2/3\x07a", &["\x1b]11;rgb:1/2/3\x07", "a"]);
    check("\x1bP1$r0m\x1b\\a", &["\x1bP1$r0m\x1b\\", "a"]);
    check("\x1b_Gi=1;OK\x1b\\", &["\x1b_Gi=1;OK\x1b\\"]);
    check("\x1b_Gi=1;OK\x07a", &["\x1b_Gi=1;OK\x07", "a"]);
    check("\x1bPtmux;\x07\x1b\\a", &["\x1bPtmux;\x07\x1b\\", "a"]);
}

#[test]
fn abandons_broken_sequences() {
    check("\x1b[12\x1b[B", &["\x1b[12", "\x1b[B"]);
    check("\x1b]0;x\x1b[B", &["\x1b]0;x", "\x1b[B"]);
    check("\x1b[3", &["\x1b[3"]);
    let long = format!("\x1b[{}", "1".repeat(254));
    check(&format!("{long}xy"), &[&long, "x", "y"]);
}

#[test]
fn a_single_escape_waits_for_more_input() {
    let mut buffer = StdinBuffer::new();
    assert_eq!(buffer.feed(b"\x1b"), []);
    assert!(buffer.is_waiting());
    assert_eq!(buffer.pending(), "\x1b");
    assert_eq!(buffer.feed(b"\x1b[A"), sequences(&["\x1b", "\x1b[A"]));
    assert!(!buffer.is_waiting());
    assert_eq!(buffer.feed(b"\x1b\x1b[A"), sequences(&["\x1b\x1b[A"]));
}

#[test]
fn pastes_are_one_unit() {
    let mut buffer = StdinBuffer::new();
    let text = "a\x1b[200~[A\u{fffd}\nb".repeat(50);
    let input = format!("x\x1b[200~{text}\x1b[201~y");
    let expect = [&sequences(&["x"])[..], &[Input::Paste(text.clone())], &sequences(&["y"])].concat();
    assert_eq!(buffer.feed(input.as_bytes()), expect);
    let pieces: Vec<Input> = input.bytes().flat_map(|byte| buffer.feed(&[byte])).collect();
    assert_eq!(pieces, expect);
    assert_eq!(buffer.feed(b"\x1b[200~half"), []);
    assert_eq!(buffer.flush(), []);
    assert!(!buffer.is_waiting());
    buffer.clear();
    assert_eq!(buffer.feed(b"a"), sequences(&["a"]));
}

#[test]
fn recognises_cursor_reports_only_after_a_request() {
    let mut buffer = StdinBuffer::new();
    assert_eq!(buffer.feed(b"\x1b[1;1R"), sequences(&["\x1b[1;1R"]));
    buffer.await_cursor_report();
    let expect =
        [&sequences(&["\x1b[A"])[..], &[Input::CursorReport { row: 1, column: 2 }], &sequences(&["\x1b[1;2R"])];
    assert_eq!(buffer.feed(b"\x1b[A\x1b[1;2R\x1b[1;2R"), expect.concat());
    buffer.await_cursor_report();
    assert_eq!(buffer.feed(b"\x1b[24;"), []);
    assert_eq!(buffer.feed(b"80R"), [Input::CursorReport { row: 24, column: 80 }]);
    buffer.await_cursor_report();
    buffer.clear();
    assert_eq!(buffer.feed(b"\x1b[1;+1R\x1b[1;1R"), sequences(&["\x1b[1;+1R", "\x1b[1;1R"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn pieces_lose_nothing(text in "(\x1b|\\[|O|[0-9;]|[a-z]|~|\\]|\\\\|\x07|é|界|M){0,40}", cuts in prop::collection::vec(0usize..200, 0..6)) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut buffer = StdinBuffer::new();
        let mut found = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            found.extend(buffer.feed(&bytes[from..cut]));
            from = cut;
        }
        found.extend(buffer.flush());
        let joined: String = found.into_iter().map(|input| match input {
            Input::Sequence(text) | Input::Paste(text) => text,
            Input::CursorReport { .. } => unreachable!("no report was requested"),
        }).collect();
        prop_assert_eq!(joined.replace("\x1b[200~", ""), text.replace("\x1b[200~", ""));
    }
}
