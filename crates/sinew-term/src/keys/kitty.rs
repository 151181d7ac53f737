//! Kitty's keyboard protocol.

use super::csi::Parameters;
use super::id::{Key, Modifiers};
use super::press::Press;
use super::table::{CODES, F1_CODE, KEYPAD, KEYPAD_FIRST, find};

/// Caps lock and num lock.
pub(super) const LOCKS: u32 = 64 | 128;
/// Hyper and meta, which have no key id.
const NAMELESS: u32 = 16 | 32;

/// The event type of a key; the numbers are those of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KittyEvent {
    /// The key was pressed.
    Press = 1,
    /// The key is held down.
    Repeat = 2,
    /// The key was released.
    Release = 3,
}

/// The fields of a sequence, unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KittySequence {
    /// The key's code point. Keys that are sent as a letter or number have codes of their own: up -1, down -2, right
    /// -3, left -4, delete -10, insert -11, pageUp -12, pageDown -13, home -14, end -15; others those of `CSI u`.
    pub codepoint: i32,
    /// The key with shift; `None` if the sequence does not contain it.
    pub shifted_key: Option<u32>,
    /// The key at this position of a US keyboard; `None` if the sequence does not contain it.
    pub base_layout_key: Option<u32>,
    /// Bit flags: shift 1, alt 2, ctrl 4, super 8, hyper 16, meta 32, caps lock 64, num lock 128.
    pub modifier: u32,
    /// The event type; `None` if the sequence does not contain it.
    pub event: Option<KittyEvent>,
}

/// The codes of the keys that are sent as letters.
const LETTER_CODES: &[(u8, i32)] = &[
    (b'A', -1),
    (b'B', -2),
    (b'C', -3),
    (b'D', -4),
    (b'E', 57427),
    (b'F', -15),
    (b'H', -14),
    (b'P', 57364),
    (b'Q', 57365),
    (b'S', 57367),
];

/// The codes of the keys that are sent as numbers.
const NUMBER_CODES: &[(u32, i32)] = &[
    (1, -14),
    (2, -11),
    (3, -10),
    (4, -15),
    (5, -12),
    (6, -13),
    (7, -14),
    (8, -15),
    (11, 57364),
    (12, 57365),
    (13, 57366),
    (14, 57367),
    (15, 57368),
    (17, 57369),
    (18, 57370),
    (19, 57371),
    (20, 57372),
    (21, 57373),
    (23, 57374),
    (24, 57375),
];

/// Parses the bytes after `ESC [`; `None` for other sequences.
pub(super) fn sequence(body: &[u8]) -> Option<KittySequence> {
    let (last, head) = body.split_last()?;
    let parameters = Parameters::parse(head)?;
    let first = parameters.get(0, 0);
    let mut sequence = KittySequence {
        codepoint: 0,
        shifted_key: None,
        base_layout_key: None,
        modifier: bits(&parameters, 1)?,
        event: None,
    };
    match last {
        b'u' if parameters.count <= 3 => {
            sequence.codepoint = i32::try_from(first?).ok()?;
            sequence.shifted_key = parameters.get(0, 1);
            sequence.base_layout_key = parameters.get(0, 2);
        }
        b'~' if parameters.count <= 2 => sequence.codepoint = find(NUMBER_CODES, first?)?,
        _ if parameters.count == 2 && first.unwrap_or(1) == 1 => sequence.codepoint = find(LETTER_CODES, *last)?,
        _ => return None,
    }
    sequence.event = match parameters.get(1, 1) {
        None => None,
        Some(1) => Some(KittyEvent::Press),
        Some(2) => Some(KittyEvent::Repeat),
        Some(3) => Some(KittyEvent::Release),
        Some(_) => return None,
    };
    Some(sequence)
}

/// Parses `CSI code:shifted:base ; modifiers:event ; text u`.
pub(super) fn press(parameters: &Parameters) -> Option<Press> {
    if parameters.count > 3 {
        return None;
    }
    let code = parameters.get(0, 0)?;
    let modifiers = modifiers(parameters, 1)?;
    let mut press = Press::of(coded(code, modifiers)?);
    let other = |code: Option<u32>, modifiers| code.and_then(|code| coded(code, modifiers));
    if let Some(base) = other(parameters.get(0, 2).filter(|base| *base < 0x80 && code >= 0x80), modifiers) {
        // A shortcut is identified by its position on the keyboard; without modifiers the letter counts.
        let shortcut = modifiers.0 & !Modifiers::SHIFT.0 != 0;
        press = if shortcut { Press::of(base).with(press.key) } else { press.with(base) };
    }
    if let Some(shifted) = other(parameters.get(0, 1), modifiers).filter(|key| *key != press.key) {
        press = press.with(shifted);
    }
    press.released = released(parameters, 1)?;
    Some(press)
}

/// Returns the key with this code point; `None` if no key has it.
pub(super) fn coded(code: u32, modifiers: Modifiers) -> Option<Key> {
    // Most keys are ASCII characters, which are not in the tables.
    if (0x20..0x7F).contains(&code) {
        return Key::with(char::from_u32(code)?, modifiers);
    }
    if let Some(key) = find(CODES, code) {
        return Some(key.held(modifiers));
    }
    if let Some(key) = code.checked_sub(F1_CODE).and_then(|number| Key::function(number + 1)) {
        return Some(key.held(modifiers));
    }
    if let Some((writes, key)) = code.checked_sub(KEYPAD_FIRST).and_then(|place| KEYPAD.get(place as usize)) {
        // A keypad digit is text; with a modifier it is the function printed below it.
        return match key {
            Some(key) if modifiers != Modifiers::NONE => Some(key.held(modifiers)),
            _ => Key::with(char::from(*writes), modifiers),
        };
    }
    // The rest of the private use area: media keys, and single modifier keys.
    if (57344..=63743).contains(&code) {
        return None;
    }
    Key::with(char::from_u32(code)?, modifiers)
}

/// Returns `press` with the modifiers and event of `group`.
pub(super) fn held(press: Press, parameters: &Parameters, group: usize) -> Option<Press> {
    let mut press = press.plus(modifiers(parameters, group)?);
    press.released = released(parameters, group)?;
    Some(press)
}

/// Returns the modifiers of `group` without lock keys.
pub(super) fn modifiers(parameters: &Parameters, group: usize) -> Option<Modifiers> {
    let bits = bits(parameters, group)?;
    (bits & NAMELESS == 0).then_some(Modifiers((bits & 0xF) as u8))
}

/// Returns the modifier bits of `group`, which encodes them plus one; 1 if the group is missing.
fn bits(parameters: &Parameters, group: usize) -> Option<u32> {
    let value = parameters.get(group, 0).unwrap_or(1).max(1);
    (value <= 256).then_some(value - 1)
}

fn released(parameters: &Parameters, group: usize) -> Option<bool> {
    match parameters.get(group, 1) {
        None | Some(1 | 2) => Some(false),
        Some(3) => Some(true),
        Some(_) => None,
    }
}
