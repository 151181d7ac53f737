//! Tests which keys the sequences of real terminals mean.

use proptest::prelude::*;
use sinew_term::*;

#[track_caller]
fn check(cases: &[(&str, &str)], kitty: bool) {
    for (data, id) in cases {
        let found = parse_key(data, kitty).map(|key| key.to_string());
        assert_eq!(found.as_deref().unwrap_or(""), *id, "{data:?}");
        if !id.is_empty() {
            assert!(matches_key(data, id, kitty), "{data:?} matches {id}");
        }
    }
}

#[test]
fn parses_single_bytes() {
    check(
        &[
            ("a", "a"),
            ("A", "shift+a"),
            ("!", "!"),
            (" ", "space"),
            ("\t", "tab"),
            ("\r", "enter"),
            ("\n", "enter"),
            ("\x1b", "escape"),
            ("\x7f", "backspace"),
            ("\x08", "ctrl+backspace"),
            ("\0", "ctrl+space"),
            ("\x01", "ctrl+a"),
            ("\x1a", "ctrl+z"),
            ("\x1c", "ctrl+\\"),
            ("\x1d", "ctrl+]"),
            ("\x1e", "ctrl+6"),
            ("\x1f", "ctrl+-"),
            ("é", "é"),
            ("С", "shift+с"),
            ("界", "界"),
            ("", ""),
            ("ab", ""),
        ],
        false,
    );
    assert_eq!(parse_key("\n", true).map(|key| key.to_string()).as_deref(), Some("shift+enter"));
}

#[test]
fn a_byte_matches_every_key_that_sends_it() {
    for id in ["ctrl+-", "ctrl+_", "ctrl+/", "ctrl+7"] {
        assert!(matches_key("\x1f", id, false), "{id}");
    }
    for (data, id) in [("\x1b", "ctrl+["), ("\r", "ctrl+m"), ("\t", "ctrl+i"), ("\n", "ctrl+j"), ("\x08", "ctrl+h")] {
        assert!(matches_key(data, id, false), "{id}");
    }
    // With Kitty's protocol each of them has its own sequence.
    for (data, id) in [("\x1b", "ctrl+["), ("\r", "ctrl+m"), ("\t", "ctrl+i"), ("\n", "ctrl+j")] {
        assert!(!matches_key(data, id, true), "{id}");
    }
}

#[test]
fn an_escape_before_a_key_means_alt() {
    check(
        &[
            ("\x1ba", "alt+a"),
            ("\x1bH", "shift+alt+h"),
            ("\x1b1", "alt+1"),
            ("\x1b[", "alt+["),
            ("\x1b ", "alt+space"),
            ("\x1b\x7f", "alt+backspace"),
            ("\x1b\r", "alt+enter"),
            ("\x1b\x03", "ctrl+alt+c"),
            ("\x1b\x1b", "ctrl+alt+["),
            ("\x1b\x1b[B", "alt+down"),
            ("\x1b\x1bOA", "alt+up"),
            ("\x1bB", "alt+left"),
            ("\x1bé", "alt+é"),
        ],
        false,
    );
    // With Kitty's protocol, alt is sent as `CSI u`.
    check(&[("\x1ba", ""), ("\x1b\x03", ""), ("\x1b\x7f", "alt+backspace"), ("\x1b\x1b[B", "alt+down")], true);
    assert!(!matches_key("\x1ba", "alt+a", true));
    assert!(!matches_key("\x1bB", "alt+left", true));
}

#[test]
fn parses_sequences_of_xterm_rxvt_and_the_console() {
    check(
        &[
            ("\x1b[A", "up"),
            ("\x1bOA", "up"),
            ("\x1b[1;5A", "ctrl+up"),
            ("\x1b[1;16A", "ctrl+shift+alt+super+up"),
            ("\x1b[2D", "shift+left"),
            ("\x1b[H", "home"),
            ("\x1b[1~", "home"),
            ("\x1b[7~", "home"),
            ("\x1b[8~", "end"),
            ("\x1b[3;5~", "ctrl+delete"),
            ("\x1b[Z", "shift+tab"),
            ("\x1b[1;5Z", "ctrl+shift+tab"),
            ("\x1b[a", "shift+up"),
            ("\x1bOd", "ctrl+left"),
            ("\x1b[5^", "ctrl+pageUp"),
            ("\x1b[2$", "shift+insert"),
            ("\x1b[3@", "ctrl+shift+delete"),
            ("\x1b[[A", "f1"),
            ("\x1b[[E", "f5"),
            ("\x1b[[5~", "pageUp"),
            ("\x1b[[6~", "pageDown"),
            ("\x1b[[5", ""),
            ("\x1b[[7~", ""),
            ("\x1b[11~", "f1"),
            ("\x1bOP", "f1"),
            ("\x1bO5P", "ctrl+f1"),
            ("\x1b[1;2S", "shift+f4"),
            ("\x1b[34~", "f20"),
            ("\x1bOM", "enter"),
            ("\x1bOp", "0"),
            ("\x1bOk", "+"),
            ("\u{9b}A", "up"),
        ],
        false,
    );
}

#[test]
fn parses_kitty_sequences() {
    check(
        &[
            ("\x1b[97u", "a"),
            ("\x1b[97;5u", "ctrl+a"),
            ("\x1b[97:65;2u", "shift+a"),
            ("\x1b[97;1:2u", "a"),
            ("\x1b[97;1:3u", ""),
            ("\x1b[97;65u", "a"),
            ("\x1b[97;133u", "ctrl+a"),
            ("\x1b[97;17u", ""),
            ("\x1b[97;9u", "super+a"),
            ("\x1b[1089::99;5u", "ctrl+c"),
            ("\x1b[1089::99u", "с"),
            ("\x1b[107::118;5u", "ctrl+k"),
            ("\x1b[13u", "enter"),
            ("\x1b[57414u", "enter"),
            ("\x1b[57376u", "f13"),
            ("\x1b[57387;2u", "shift+f24"),
            ("\x1b[57404u", "5"),
            ("\x1b[57400;129u", "1"),
            ("\x1b[57400;133u", "ctrl+end"),
            ("\x1b[57413;5u", "ctrl++"),
            ("\x1b[57419u", "up"),
            ("\x1b[57441u", ""),
            ("\x1b[57358u", ""),
            ("\x1b[1;5:2C", "ctrl+right"),
            ("\x1b[1;1:3C", ""),
            ("\x1b[5;1:3~", ""),
        ],
        true,
    );
    assert!(matches_key("\x1b[1089::99;5u", "ctrl+с", true));
    assert!(matches_key("\x1b[1089::99;5u", "ctrl+c", true));
    assert!(!matches_key("\x1b[107::118;5u", "ctrl+v", true));
    assert!(matches_key("\x1b[49:33;2u", "!", true));
}

#[test]
fn all_forms_of_a_key_have_the_same_id() {
    for forms in [
        ["\x03", "\x1b[27;5;99~", "\x1b[99;5u", "\x1b[67;46;3;1;8;1_"],
        ["\x1ba", "\x1b[27;3;97~", "\x1b[97;3u", "\x1b[65;30;97;1;2;1_"],
        ["A", "\x1b[27;2;65~", "\x1b[97:65;2u", "\x1b[65;30;65;1;16;1_"],
        ["\x1b[1;5C", "\x1b[57351;5u", "\x1b[57418;5u", "\x1b[39;77;0;1;8;1_"],
        ["\x7f", "\x1b[27;1;127~", "\x1b[127u", "\x1b[8;14;8;1;0;1_"],
    ] {
        let ids = forms.map(|data| parse_key(data, false).map(|key| key.to_string()));
        assert!(ids.iter().all(|id| id.is_some() && *id == ids[0]), "{forms:?}: {ids:?}");
    }
}

#[test]
fn parses_windows_input() {
    check(
        &[
            ("\x1b[81;16;64;1;9;1_", "@"),
            ("\x1b[65;30;97;0;0;1_", ""),
            ("\x1b[17;29;0;1;8;1_", ""),
            ("\x1b[135;0;0;1;0;1_", "f24"),
            ("\x1b[67;46;1089;1;8;1_", "ctrl+c"),
            ("\x1b[65;30;65;1;128;1_", "a"),
            ("\x1b[13;28;13;1;16;1_", "shift+enter"),
        ],
        false,
    );
}

#[test]
fn returns_none_for_other_sequences() {
    for data in [
        "\x1b[<0;3;4M",
        "\x1b[M !!",
        "\x1b[I",
        "\x1b[O",
        "\x1b[24;80R",
        "\x1b[?1;2c",
        "\x1b[?1u",
        "\x1b[>1;10;0c",
        "\x1b[0n",
        "\x1b]11;rgb:0/0/0\x07",
        "\x1bP>|x\x1b\\",
        "\x1b_Gi=1;OK\x1b\\",
        "\x1b[200~",
        "\x1b[201~",
        "\x1b[9999999999u",
        "\x1b[97;0;0;0u",
        "\x1b[;;;;;;;;u",
        "\x1b[u",
        "\x1b[1;999A",
        "\x1b[55296u",
        "\x1b[1114112u",
        "\u{7f}\u{7f}",
    ] {
        assert_eq!(parse_key(data, false), None, "{data:?}");
        assert_eq!(parse_key(data, true), None, "{data:?}");
    }
    // Without a request for the cursor position, this is shift+F3 and not a report.
    assert_eq!(parse_key("\x1b[1;2R", false).map(|key| key.to_string()).as_deref(), Some("shift+f3"));
}

#[test]
fn accepts_every_spelling_of_an_id() {
    for id in ["ctrl+shift+pageUp", "Shift+Ctrl+PAGEUP", "shift+ctrl+pgup"] {
        assert!(matches_key("\x1b[5;6~", id, false), "{id}");
    }
    assert!(matches_key("\x1b", "esc", false) && matches_key("\r", "Return", false));
    assert!(matches_key("\x03", "CTRL+C", false) && !matches_key("\x03", "ctrl+shift+c", false));
    assert!(matches_key("A", "A", false) && !matches_key("a", "A", false));
    assert!(matches_key("+", "+", false) && matches_key("\x1b[43;5u", "ctrl++", true));
    for id in ["", "+", "ctrl+", "nokey", "hyper+a", "ctrl+nokey", "++"] {
        assert!(!matches_key("a", id, false), "{id}");
    }
}

#[test]
fn returns_the_fields_of_kitty_sequences() {
    let all = parse_kitty_sequence("\x1b[1089:1057:99;6:2u").expect("a sequence");
    assert_eq!((all.codepoint, all.shifted_key, all.base_layout_key), (1089, Some(1057), Some(99)));
    assert_eq!((all.modifier, all.event), (5, Some(KittyEvent::Repeat)));
    assert_eq!(parse_kitty_sequence("\x1b[1;5A").map(|found| (found.codepoint, found.modifier)), Some((-1, 4)));
    assert_eq!(parse_kitty_sequence("\x1b[3~").map(|found| (found.codepoint, found.event)), Some((-10, None)));
    for data in ["a", "\x1b", "\x1b[A", "\x1b[;5u", "\x1b[97;5", "\x1b[97;1:9u", "\x1b[4294967295u"] {
        assert_eq!(parse_kitty_sequence(data), None, "{data:?}");
    }
    assert!(matches_kitty_sequence("\x1b[1089::99;133u", 99, 4));
    assert!(!matches_kitty_sequence("\x1b[107::118;5u", 118, 4));
    assert!(!matches_kitty_sequence("\x1b[97;1:3u", 97, 0));
}

#[test]
fn matches_legacy_sequences_by_name() {
    for (data, name) in
        [("\x1b[A", "up"), ("\x1bOP", "f1"), ("\x1b[[C", "f3"), ("\x1b[2^", "ctrl+insert"), ("\x7f", "backspace")]
    {
        assert!(matches_legacy_sequence(data, name), "{data:?} is {name}");
    }
    assert!(!matches_legacy_sequence("\x1b[97;5u", "ctrl+a"));
    assert!(!matches_legacy_sequence("\x1b[1;5A", "ctrl+up"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_id_that_is_parsed_matches(data in "(\x1b(\\[|O)?)?[\\PC]{0,3}[0-9;:]{0,8}[a-zA-Z~^$@_]?", kitty: bool) {
        if let Some(key) = parse_key(&data, kitty) {
            prop_assert!(matches_key(&data, &key.to_string(), kitty), "{data:?} is {key}");
            let name = key.name().map(str::to_string).or_else(|| key.character().map(String::from));
            prop_assert!(name.is_some_and(|name| key.to_string().ends_with(&name)));
        }
    }
}
