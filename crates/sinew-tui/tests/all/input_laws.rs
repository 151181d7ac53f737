//! Property tests of input: replies never become keys, chunk boundaries change nothing, and pastes are inert.

use proptest::prelude::*;
use sinew_tui::{Event, InputParser, Reply};

/// Returns all events of these chunks, and checks that nothing is pending at the end.
fn events(parser: &mut InputParser, pieces: &[&[u8]]) -> Vec<Event> {
    let mut out: Vec<Event> = pieces.iter().flat_map(|piece| parser.feed(piece)).collect();
    while parser.patience().is_some() {
        out.extend(parser.expire());
    }
    out
}

fn keys(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Key(press) => Some(press.key.to_string()),
            _ => None,
        })
        .collect()
}

#[track_caller]
fn check(bytes: &str, expect: &[&str]) {
    assert_eq!(keys(&events(&mut InputParser::new(false), &[bytes.as_bytes()])), expect, "{bytes:?}");
}

const REPLIES: [&str; 12] = [
    "\x1b[?5u",
    "\x1bP>|ghostty 1.2.3\x1b\\",
    "\x1b]11;rgb:1e1e/1e1e/2e2e\x07",
    "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    "\x1b[?2026;2$y",
    "\x1b[?2027;0$y",
    "\x1b[6;20;9t",
    "\x1b[?62;4;22c",
    "\x1b[>1;4000;0c",
    "\x1b[0n",
    "\x1b[?997;1n",
    "\x1b[24;80R",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_split_reply_produces_no_keys(
        reply in prop::sample::select(&REPLIES[..]), cut in 0..40usize, before in "[a-z]{0,3}", after in "[a-z]{0,3}",
        escape in any::<bool>(), focus in any::<bool>(),
    ) {
        let before = if escape { format!("{before}\x1b") } else { before };
        let reply = if focus { "\x1b[I" } else { reply };
        let mut parser = InputParser::new(false);
        parser.await_cursor();
        let bytes = format!("{before}{reply}{after}");
        let cut = cut.min(bytes.len());
        let (first, second) = bytes.as_bytes().split_at(cut);
        let mut found = parser.feed(first);
        found.extend(events(&mut parser, &[second]));
        let name = |c: char| if c == '\x1b' { "escape".to_string() } else { c.to_string() };
        let typed: Vec<String> = format!("{before}{after}").chars().map(name).collect();
        prop_assert_eq!(keys(&found), typed);
        let replies = found.iter().filter(|event| matches!(event, Event::Reply(_) | Event::Focus(_))).count();
        prop_assert_eq!(replies, 1);
    }

    #[test]
    fn chunk_boundaries_do_not_change_events(
        parts in prop::collection::vec(prop_oneof![
            "[a-zа-яé日😀]{1,4}".prop_map(String::from),
            prop::sample::select(vec!["\x1b[A", "\x1b[1;5C", "\x1bOP", "\x1b[97;5u", "\x1bx", "\r", "\x7f", "\x1b[I"]).prop_map(String::from),
            prop::sample::select(&REPLIES[..]).prop_map(String::from),
            "[a-z\n]{0,20}".prop_map(|text| format!("\x1b[200~{text}\x1b[201~")),
        ], 1..8),
        cuts in prop::collection::vec(1..9usize, 1..40),
    ) {
        // Once the terminal has sent paste markers, line ends are keys regardless of how they arrive.
        let start = b"\x1b[200~\x1b[201~";
        let bytes = parts.concat().into_bytes();
        let mut whole = InputParser::new(false);
        let expected = events(&mut whole, &[start, &bytes]);
        let mut pieces: Vec<&[u8]> = vec![start];
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, tail) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        prop_assert_eq!(events(&mut InputParser::new(false), &pieces), expected);
    }

    #[test]
    fn accepts_arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        events(&mut InputParser::new(false), &[&bytes]);
    }

    #[test]
    fn pastes_contain_no_keys(text in "[\\x00-\\x7fé日]{0,200}") {
        prop_assume!(!text.contains("\x1b[201~"));
        let bytes = format!("\x1b[200~{text}\x1b[201~");
        let found = events(&mut InputParser::new(false), &[bytes.as_bytes()]);
        prop_assert_eq!(found, vec![Event::Paste(text)]);
    }
}

#[test]
fn shortcuts_match_by_the_base_layout() {
    // ctrl+с of a Russian layout, which has the position of ctrl+c; likewise for a Greek layout.
    check("\x1b[1089::99;5u", &["ctrl+c"]);
    check("\x1b[968::99;5u", &["ctrl+c"]);
    // AZERTY: the typed letter counts, not the position on a US keyboard.
    check("\x1b[97::113;5u", &["ctrl+a"]);
    // Dvorak: ctrl+c has the position of ctrl+i on a US keyboard.
    check("\x1b[99::105;5u", &["ctrl+c"]);
}

#[test]
fn an_escape_before_a_paste_is_a_separate_key() {
    let found = events(&mut InputParser::new(false), &[b"\x1b\x1b[200~rm\rls\r\x1b[201~"]);
    assert_eq!((keys(&found), found.last()), (vec!["escape".into()], Some(&Event::Paste("rm\rls\r".into()))));
}

#[test]
fn a_paste_of_a_megabyte_is_one_event() {
    let text = "line of text\n".repeat(1 << 16);
    let bytes = format!("\x1b[200~{text}\x1b[201~");
    let mut parser = InputParser::new(false);
    let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(4096).collect();
    assert_eq!(events(&mut parser, &pieces), [Event::Paste(text)]);
}

#[test]
fn several_lines_in_one_read_do_not_submit() {
    let found = events(&mut InputParser::new(false), &[b"one\rtwo\rthree"]);
    assert!(!keys(&found).contains(&"enter".to_owned()), "{found:?}");
    assert_eq!(found.iter().filter(|event| **event == Event::Paste("\n".into())).count(), 2);
}

#[test]
fn text_and_a_single_enter_submit_once() {
    for start in [&b""[..], b"\x1b[200~x\x1b[201~"] {
        let found = events(&mut InputParser::new(false), &[start, b"text", b"\r"]);
        assert_eq!(keys(&found).iter().filter(|key| *key == "enter").count(), 1, "{found:?}");
        let found = events(&mut InputParser::new(false), &[start, b"text\r"]);
        assert_eq!(keys(&found).iter().filter(|key| *key == "enter").count(), 1, "{found:?}");
    }
}

#[test]
fn escape_ends_a_paste_that_never_ends() {
    let mut parser = InputParser::new(false);
    assert_eq!(parser.feed(b"\x1b[200~never ends"), []);
    assert!(parser.is_pasting());
    assert_eq!(parser.patience(), None, "a slow paste is no end");
    assert_eq!(parser.feed(b"\x1b"), []);
    assert!(parser.patience().is_some());
    assert_eq!(parser.expire(), [Event::Paste("never ends".into())]);
    assert!(!parser.is_pasting());
    assert_eq!(keys(&parser.feed(b"a")), ["a"]);
}

#[test]
fn distinguishes_escape_alt_and_double_escape() {
    check("\x1b", &["escape"]);
    check("\x1bx", &["alt+x"]);
    check("\x1b\x1b", &["escape", "escape"]);
    check("\x1b\x1b[A", &["alt+up"]);
    let mut parser = InputParser::new(false);
    parser.set_kitty(true);
    assert_eq!(
        keys(&events(&mut parser, &[b"\x1b[27u", b"\x1b[120;3u", b"\x1b[27u\x1b[27u"])),
        ["escape", "alt+x", "escape", "escape"]
    );
}

#[test]
fn replies_are_parsed() {
    let mut parser = InputParser::new(false);
    parser.await_cursor();
    let found = events(&mut parser, &[REPLIES.concat().as_bytes()]);
    let replies = [
        Reply::KittyFlags(5),
        Reply::Name("ghostty 1.2.3".into()),
        Reply::Background([0x1E, 0x1E, 0x2E]),
        Reply::Foreground([0xFF; 3]),
        Reply::Mode(2026, 2),
        Reply::Mode(2027, 0),
        Reply::CellSize(20, 9),
        Reply::DeviceAttributes,
        Reply::DeviceAttributes,
        Reply::Status,
        Reply::DarkScheme(true),
        Reply::Cursor(24, 80),
    ];
    assert_eq!(found, replies.map(Event::Reply));
}
