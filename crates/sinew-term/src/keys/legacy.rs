//! Single bytes, ESC and a key, SS3.

use super::csi;
use super::id::{Key, Modifiers};
use super::press::Press;
use super::table::{CONTROLS, KEYPAD_LETTERS, LETTERS, SMALL_LETTERS, find};

/// Parses one byte.
pub(super) fn byte(byte: u8, kitty: bool) -> Option<Press> {
    // With Kitty's protocol enter is CR or `CSI 13 u`: users map shift+enter to a line feed.
    if kitty && byte == b'\n' {
        return Some(Press::of(Key::ENTER.held(Modifiers::SHIFT)));
    }
    let Some((_, key, others)) = CONTROLS.iter().find(|(control, ..)| *control == byte) else {
        return Some(Press::of(match byte {
            0x01..=0x1A => Key::with(char::from(byte + 0x60), Modifiers::CTRL)?,
            _ => Key::of_char(char::from(byte))?,
        }));
    };
    // With Kitty's protocol ctrl with a letter has its own sequence, so tab, enter, escape and backspace are
    // unambiguous.
    if kitty && !key.modifiers.contains(Modifiers::CTRL) {
        return Some(Press::of(*key));
    }
    let others = others.iter().filter_map(|name| Key::with(char::from(*name), Modifiers::CTRL));
    Some(others.fold(Press::of(*key), Press::with))
}

/// Parses the bytes after ESC.
pub(super) fn escaped(rest: &[u8], kitty: bool) -> Option<Press> {
    match rest {
        [] => byte(0x1B, kitty),
        [b'[', body @ ..] if !body.is_empty() => csi::press(body),
        [b'O', body @ ..] if !body.is_empty() => ss3(body),
        [0x1B, b'[' | b'O', _, ..] => Some(escaped(&rest[1..], kitty)?.plus(Modifiers::ALT)),
        // Both modes send backspace and enter in this form.
        [control @ (0x08 | 0x7F | b'\r' | b'\n')] => {
            let plain = if matches!(control, 0x08 | 0x7F) { Key::BACKSPACE } else { Key::ENTER };
            let press = Press::of(plain.held(Modifiers::ALT));
            Some(if kitty { press } else { press.and(byte(*control, false)?.plus(Modifiers::ALT)) })
        }
        // With Kitty's protocol alt is sent as `CSI u`.
        _ if kitty => None,
        [0x1B] => {
            let both = Modifiers::CTRL | Modifiers::ALT;
            Some(Press::of(Key::with('[', both)?).with(Key::ESCAPE.held(Modifiers::ALT)).with(Key::ESCAPE.held(both)))
        }
        [0x1B, ..] => None,
        _ => alt(rest),
    }
}

/// Parses ESC and a character: the character with alt.
fn alt(rest: &[u8]) -> Option<Press> {
    let text = std::str::from_utf8(rest).ok()?;
    let mut chars = text.chars();
    let c = chars.next().filter(|_| chars.next().is_none())?;
    let plain = match u8::try_from(c) {
        Ok(code @ 0..=0x7F) => byte(code, false)?,
        _ => Press::of(Key::of_char(c)?),
    };
    let press = plain.plus(Modifiers::ALT);
    // macOS terminals send these for option with an arrow key.
    match c {
        'B' => Some(Press::of(Key::LEFT.held(Modifiers::ALT)).and(press)),
        'F' => Some(Press::of(Key::RIGHT.held(Modifiers::ALT)).and(press)),
        _ => Some(press),
    }
}

/// Parses the bytes after `ESC O`: a letter, in older xterms after a modifier.
fn ss3(body: &[u8]) -> Option<Press> {
    let (letter, parameters) = body.split_last()?;
    if let Some(key) = find(LETTERS, *letter) {
        return csi::with_modifiers(key, parameters);
    }
    let key = match *letter {
        b'M' => Key::ENTER,
        b'I' => Key::TAB,
        b' ' => Key::SPACE,
        _ => match find(SMALL_LETTERS, *letter) {
            Some(key) => key.held(Modifiers::CTRL),
            None => Key::of_char(char::from(find(KEYPAD_LETTERS, *letter)?))?,
        },
    };
    csi::with_modifiers(key, parameters)
}
