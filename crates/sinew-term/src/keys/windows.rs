//! Windows' input mode: `CSI virtual key ; scan code ; character ; down ; control state ; repeat _`.

use super::csi::Parameters;
use super::id::{Key, Modifiers};
use super::press::Press;
use super::table::{VIRTUAL, find};

const RIGHT_ALT: u32 = 0x01;
const LEFT_ALT: u32 = 0x02;
const RIGHT_CTRL: u32 = 0x04;
const LEFT_CTRL: u32 = 0x08;
const SHIFT: u32 = 0x10;

pub(super) fn press(parameters: &Parameters) -> Option<Press> {
    let number = |group| parameters.get(group, 0).unwrap_or(0);
    let (virtual_key, character, state) = (number(0), number(2), number(4));
    let text = char::from_u32(character).filter(|c| !c.is_control());
    let mut modifiers = Modifiers::NONE;
    if state & SHIFT != 0 {
        modifiers |= Modifiers::SHIFT;
    }
    // AltGr is right alt with left ctrl: if it produced a character, that character is the key.
    let alt_gr = state & RIGHT_ALT != 0 && state & LEFT_CTRL != 0 && text.is_some();
    if !alt_gr {
        if state & (LEFT_CTRL | RIGHT_CTRL) != 0 {
            modifiers |= Modifiers::CTRL;
        }
        if state & (LEFT_ALT | RIGHT_ALT) != 0 {
            modifiers |= Modifiers::ALT;
        }
    }
    let mut press = key(virtual_key, text, modifiers)?;
    press.released = number(3) == 0;
    Some(press)
}

fn key(virtual_key: u32, text: Option<char>, modifiers: Modifiers) -> Option<Press> {
    if let Some(key) = find(VIRTUAL, virtual_key) {
        return Some(Press::of(key.held(modifiers)));
    }
    if let Some(key) = virtual_key.checked_sub(0x6F).filter(|number| *number <= 24).and_then(Key::function) {
        return Some(Press::of(key.held(modifiers)));
    }
    // Letters and digits have the code of their capital; with ctrl there is no character to use instead.
    let place = match virtual_key {
        0x30..=0x39 | 0x41..=0x5A => char::from_u32(virtual_key).map(|c| c.to_ascii_lowercase()),
        _ => None,
    };
    // Caps lock produces a capital too, so shift is read from the state.
    let written = text.and_then(|c| {
        let mut lower = c.to_lowercase();
        Key::with(lower.next().filter(|_| lower.next().is_none()).unwrap_or(c), modifiers)
    });
    let placed = place.and_then(|c| Key::with(c, modifiers));
    match (written, placed) {
        (Some(written), Some(placed)) if text.is_some_and(|c| !c.is_ascii()) => {
            let shortcut = modifiers.0 & !Modifiers::SHIFT.0 != 0;
            Some(if shortcut { Press::of(placed).with(written) } else { Press::of(written).with(placed) })
        }
        (Some(key), _) | (None, Some(key)) => Some(Press::of(key)),
        (None, None) => None,
    }
}
