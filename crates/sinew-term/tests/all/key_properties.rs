//! Tests that `parse_key` and `matches_key` agree.

use proptest::prelude::*;
use sinew_term::{key_names, matches_key, parse_key};

fn id(data: &str, kitty: bool) -> Option<String> {
    parse_key(data, kitty).map(|key| key.to_string())
}

/// Checks that a parsed key matches its id, and that a sequence that is not a key matches no id, not even the one that
/// it has in the other mode.
#[track_caller]
fn agrees(data: &str) {
    let ids = [id(data, false), id(data, true)];
    for (kitty, own) in [(false, &ids[0]), (true, &ids[1])] {
        for id in ids.iter().flatten() {
            let matches = matches_key(data, id, kitty);
            assert!(!matches || own.is_some(), "{data:?} is not a key, but matches {id} (kitty: {kitty})");
            assert!(matches || own.as_ref() != Some(id), "{data:?} is {id}, but does not match it (kitty: {kitty})");
        }
    }
}

/// Calls `agrees` with sequences of `start`, up to `most` of the middle bytes, and any ASCII byte at the end.
#[track_caller]
fn each(start: &str, middle: &[u8], most: usize) {
    let mut heads = vec![start.to_string()];
    for length in 0..=most {
        for head in &heads {
            (0..0x80u8).for_each(|last| agrees(&format!("{head}{}", char::from(last))));
        }
        if length < most {
            heads = heads
                .iter()
                .flat_map(|head| middle.iter().map(move |byte| format!("{head}{}", char::from(*byte))))
                .collect();
        }
    }
}

#[test]
fn both_agree_on_every_character_alone_and_after_an_escape() {
    for c in ('\0'..=char::MAX).filter(|c| (*c as u32) < 0x3100 || (*c as u32).is_multiple_of(61)) {
        agrees(&c.to_string());
        agrees(&format!("\x1b{c}"));
        agrees(&format!("\x1b\x1b{c}"));
    }
}

#[test]
fn both_agree_on_every_sequence_of_six_bytes() {
    const NUMBERS: &[u8] = b"0123456789;:[";
    // Six bytes in total: the start of a sequence, numbers, and the last byte.
    each("\x1b[", NUMBERS, 3);
    each("\u{9b}", NUMBERS, 3);
    each("\x1bO", &NUMBERS[..11], 3);
    each("\x1b\x1b[", NUMBERS, 2);
    each("\x1b\x1bO", NUMBERS, 2);
    each("\x1b\x1b\x1b[", NUMBERS, 1);
}

/// Returns every id in its canonical spelling: names and ASCII characters with all modifiers. The id of a symbol that
/// needs shift does not contain `shift`.
fn every_id() -> Vec<String> {
    const WITH_SHIFT: &str = "!@#$%^&*()_+{}|:\"<>?~";
    let symbols = (b'!'..=b'~').filter(|byte| !byte.is_ascii_uppercase()).map(|byte| char::from(byte).to_string());
    let names: Vec<String> = key_names().iter().map(|name| name.to_string()).chain(symbols).collect();
    let modifiers = |bits: u32| {
        let named = ["ctrl+", "shift+", "alt+", "super+"].into_iter().enumerate();
        named.filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, name)| name).collect::<String>()
    };
    let own = |bits: u32, name: &str| bits & 2 == 0 || !WITH_SHIFT.contains(name);
    (0..16)
        .flat_map(|bits| names.iter().filter(move |name| own(bits, name)).map(move |name| modifiers(bits) + name))
        .collect()
}

/// The id of a byte without a protocol, and the other ids that it matches.
const SHARED: &[(&str, &str, &[&str])] = &[
    ("\0", "ctrl+space", &["ctrl+@", "ctrl+2"]),
    ("\x08", "ctrl+backspace", &["ctrl+h"]),
    ("\t", "tab", &["ctrl+i"]),
    ("\n", "enter", &["ctrl+j"]),
    ("\r", "enter", &["ctrl+m"]),
    ("\x1b", "escape", &["ctrl+[", "ctrl+3"]),
    ("\x1c", "ctrl+\\", &["ctrl+4"]),
    ("\x1d", "ctrl+]", &["ctrl+5"]),
    ("\x1e", "ctrl+6", &["ctrl+^"]),
    ("\x1f", "ctrl+-", &["ctrl+_", "ctrl+/", "ctrl+7"]),
    ("\x7f", "backspace", &["ctrl+?", "ctrl+8"]),
    ("\x1b\0", "ctrl+alt+space", &["ctrl+alt+@", "ctrl+alt+2"]),
    ("\x1b\x08", "alt+backspace", &["ctrl+alt+backspace", "ctrl+alt+h"]),
    ("\x1b\t", "alt+tab", &["ctrl+alt+i"]),
    ("\x1b\n", "alt+enter", &["ctrl+alt+j"]),
    ("\x1b\r", "alt+enter", &["ctrl+alt+m"]),
    ("\x1b\x1b", "ctrl+alt+[", &["alt+escape", "ctrl+alt+escape"]),
    ("\x1b\x1c", "ctrl+alt+\\", &["ctrl+alt+4"]),
    ("\x1b\x1d", "ctrl+alt+]", &["ctrl+alt+5"]),
    ("\x1b\x1e", "ctrl+alt+6", &["ctrl+alt+^"]),
    ("\x1b\x1f", "ctrl+alt+-", &["ctrl+alt+_", "ctrl+alt+/", "ctrl+alt+7"]),
    ("\x1b\x7f", "alt+backspace", &["ctrl+alt+?", "ctrl+alt+8"]),
    ("\x1bB", "alt+left", &["shift+alt+b"]),
    ("\x1bF", "alt+right", &["shift+alt+f"]),
];

/// The same with Kitty's protocol, where keys with ctrl have their own sequences.
const SHARED_UNDER_KITTY: &[(&str, &str, &[&str])] = &[
    ("\0", "ctrl+space", &["ctrl+@", "ctrl+2"]),
    ("\x08", "ctrl+backspace", &["ctrl+h"]),
    ("\x1c", "ctrl+\\", &["ctrl+4"]),
    ("\x1d", "ctrl+]", &["ctrl+5"]),
    ("\x1e", "ctrl+6", &["ctrl+^"]),
    ("\x1f", "ctrl+-", &["ctrl+_", "ctrl+/", "ctrl+7"]),
];

#[test]
fn a_byte_matches_only_the_ids_of_keys_that_send_it() {
    let ids = every_id();
    for (kitty, table) in [(false, SHARED), (true, SHARED_UNDER_KITTY)] {
        for data in (0..0x80u8).map(char::from).flat_map(|c| [c.to_string(), format!("\x1b{c}")]) {
            let found: Vec<&String> = ids.iter().filter(|id| matches_key(&data, id, kitty)).collect();
            let parsed = id(&data, kitty);
            let mut expect: Vec<&str> = parsed.iter().map(String::as_str).collect();
            if let Some((_, own, others)) = table.iter().find(|(shared, ..)| *shared == data) {
                assert_eq!(parsed.as_deref(), Some(*own), "{data:?} (kitty: {kitty})");
                expect.extend(*others);
            }
            expect.sort_by_key(|id| ids.iter().position(|known| known == id));
            assert_eq!(found, expect, "{data:?} (kitty: {kitty})");
        }
    }
}

#[test]
fn an_escape_before_a_character_is_not_a_key_in_kitty_mode() {
    let ids = every_id();
    for c in (' '..='~').filter(|c| !matches!(c, '[' | 'O')).chain(['é', '界', '\t', '\x03', '\x1b']) {
        let data = format!("\x1b{c}");
        assert_eq!(id(&data, true), None, "{data:?}");
        assert!(!ids.iter().any(|id| matches_key(&data, id, true)), "{data:?}");
    }
}

/// Checks the forms in which terminals send a key: as bytes, with modifyOtherKeys, and with Kitty's protocol.
#[test]
fn one_key_matches_one_id_in_every_form() {
    let keys = (b'!'..=b'~').filter(|byte| !byte.is_ascii_uppercase()).map(char::from);
    for (key, alt) in keys.flat_map(|key| [(key, false), (key, true)]) {
        for ctrl in [false, true] {
            if ctrl && !key.is_ascii_lowercase() {
                continue;
            }
            let byte = if ctrl { char::from(key as u8 & 0x1F) } else { key };
            let bytes = if alt { format!("\x1b{byte}") } else { byte.to_string() };
            let modifiers = 1 + 2 * u32::from(alt) + 4 * u32::from(ctrl);
            let name = format!("{}{}{key}", if ctrl { "ctrl+" } else { "" }, if alt { "alt+" } else { "" });
            let code = key as u32;
            for (data, kitty) in [
                (bytes, false),
                (format!("\x1b[27;{modifiers};{code}~"), false),
                (format!("\x1b[{code};{modifiers}u"), true),
            ] {
                assert!(matches_key(&data, &name, kitty), "{data:?} is {name}");
                let parsed = id(&data, kitty);
                let shared = SHARED.iter().any(|(bytes, ..)| !kitty && *bytes == data);
                assert!(shared || parsed.as_deref() == Some(name.as_str()), "{data:?} is {name}, not {parsed:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn both_agree_on_any_six_bytes(bytes in prop::collection::vec(any::<u8>(), 0..7)) {
        agrees(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn both_agree_on_longer_sequences(data in "(\x1b\\[|\x1bO|\x1b\x1b\\[|\u{9b})[0-9]{0,5}(:[0-9]{0,4}){0,2}(;[0-9]{0,3}(:[0-4])?){0,5}[a-zA-Z~^$@_]") {
        agrees(&data);
    }
}
