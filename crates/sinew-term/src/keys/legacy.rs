//! Single bytes, ESC and a key, SS3.

use super::id::{Key, Modifiers};
use super::table::{CONTROLS, KEYPAD_LETTERS, LETTERS, SMALL_LETTERS, find};
use super::{Press, csi};

/// One byte.
pub(super) fn byte(byte: u8, kitty: bool) -> Option<Press> {
    let key = match byte {
        b'\t' => Key::TAB,
        b'\r' => Key::ENTER,
        // With Kitty's protocol enter is CR or `CSI 13 u`: a line feed is what users map shift+enter to.
        b'\n' if kitty => Key::ENTER.held(Modifiers::SHIFT),
        b'\n' => Key::ENTER,
        0x08 => Key::BACKSPACE.held(Modifiers::CTRL),
        0x7F => Key::BACKSPACE,
        0x1B => return escaped(&[], kitty),
        0x01..=0x1A => Key::with(char::from(byte + 0x60), Modifiers::CTRL)?,
        0x20..=0x7E => Key::of_char(char::from(byte))?,
        _ => {
            let (_, name, others) = CONTROLS.iter().find(|(control, ..)| *control == byte)?;
            let key = |name: u8| Key::with(char::from(name), Modifiers::CTRL);
            return Some(others.iter().filter_map(|name| key(*name)).fold(Press::of(key(*name)?), Press::with));
        }
    };
    Some(Press::of(key))
}

/// What follows ESC.
pub(super) fn escaped(rest: &[u8], kitty: bool) -> Option<Press> {
    match rest {
        [] => {
            let escape = Press::of(Key::ESCAPE);
            Some(if kitty { escape } else { escape.with(Key::with('[', Modifiers::CTRL)?) })
        }
        [b'[', body @ ..] if !body.is_empty() => csi::press(body),
        [b'O', body @ ..] if !body.is_empty() => ss3(body),
        [0x1B, b'[' | b'O', _, ..] => Some(escaped(&rest[1..], kitty)?.plus(Modifiers::ALT)),
        [0x1B] if !kitty => {
            let both = Modifiers::CTRL | Modifiers::ALT;
            Some(Press::of(Key::with('[', both)?).with(Key::ESCAPE.held(Modifiers::ALT)).with(Key::ESCAPE.held(both)))
        }
        [0x1B, ..] => None,
        [0x08 | 0x7F] => Some(Press::of(Key::BACKSPACE.held(Modifiers::ALT))),
        [b'\r' | b'\n'] => Some(Press::of(Key::ENTER.held(Modifiers::ALT))),
        _ => alt(rest, kitty),
    }
}

/// ESC and a character: the character with alt.
fn alt(rest: &[u8], kitty: bool) -> Option<Press> {
    let text = std::str::from_utf8(rest).ok()?;
    let mut chars = text.chars();
    let c = chars.next().filter(|_| chars.next().is_none())?;
    let plain = match u8::try_from(c) {
        Ok(code @ 0..=0x7F) => byte(code, false)?,
        _ => Press::of(Key::of_char(c)?),
    };
    let mut press = plain.plus(Modifiers::ALT);
    // Terminals of macOS send these for option and an arrow.
    let arrow = match c {
        'B' => Some(Key::LEFT),
        'F' => Some(Key::RIGHT),
        _ => None,
    };
    if let (Some(arrow), false) = (arrow, kitty) {
        press = Press::of(arrow.held(Modifiers::ALT)).with(press.key);
    }
    press.loose = kitty;
    Some(press)
}

/// What follows `ESC O`: a letter, with older xterms after a modifier.
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
