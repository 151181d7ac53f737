//! Keys: parses the sequences that terminals send for key presses.
//!
//! Every function expects one complete sequence (see [`crate::StdinBuffer`] for splitting input). Tables map sequences
//! to keys; nothing allocates.

mod csi;
mod id;
mod kitty;
mod legacy;
mod press;
mod table;
mod windows;

pub use id::{Key, Modifiers, key_names};
pub use kitty::{KittyEvent, KittySequence};
pub(crate) use press::Press;

use id::parse_id;

/// Returns the key of `data`. `kitty` is true if the terminal has enabled Kitty's protocol.
///
/// `None` for a release, a lock or modifier key alone, mouse, focus, replies, text of several characters, and unknown
/// sequences.
pub fn parse_key(data: &str, kitty: bool) -> Option<Key> {
    resolve_key(data, kitty).0
}

/// Does the same as [`parse_key`], and returns whether `data` matches other ids too: a byte that several keys send, a
/// key of another script.
pub fn resolve_key(data: &str, kitty: bool) -> (Option<Key>, bool) {
    let Some(press) = press(data, kitty).filter(|press| !press.released) else { return (None, false) };
    (Some(press.key), press.others[0].is_some())
}

/// Returns true if `data` is a press of the key `id` (`ctrl+c`, `Shift+Alt+pageUp`, `esc`, `return`; modifiers in any
/// order and case). A sequence that several keys send matches each of them: without a protocol a tab is also `ctrl+i`,
/// a line feed `ctrl+j`, a carriage return `ctrl+m`, and 0x08 `ctrl+h`. A key of another script also matches by its
/// position on the keyboard. Returns false if `id` is not the name of a key, and if [`parse_key`] would return `None`.
pub fn matches_key(data: &str, id: &str, kitty: bool) -> bool {
    let (Some(wanted), Some(press)) = (parse_id(id), press(data, kitty)) else { return false };
    !press.released && (press.key == wanted || press.others.contains(&Some(wanted)))
}

/// Parses a sequence of Kitty's protocol: `CSI … u`, `CSI … ~`, `CSI 1;m<letter>`. `None` for other sequences.
pub fn parse_kitty_sequence(data: &str) -> Option<KittySequence> {
    kitty::sequence(data.strip_prefix("\x1b[")?.as_bytes())
}

/// Returns true if `data` is a press of `codepoint` with `modifier` (Kitty's bits, lock keys ignored). The base layout
/// is used if the pressed key is not an ASCII letter or symbol.
pub fn matches_kitty_sequence(data: &str, codepoint: i32, modifier: u32) -> bool {
    let Some(sequence) = parse_kitty_sequence(data) else { return false };
    let ascii = (0x20..0x7F).contains(&sequence.codepoint);
    let based = !ascii && sequence.base_layout_key.is_some_and(|base| i64::from(base) == i64::from(codepoint));
    sequence.event != Some(KittyEvent::Release)
        && (sequence.codepoint == codepoint || based)
        && sequence.modifier & !kitty::LOCKS == modifier & !kitty::LOCKS
}

/// Returns true if `data` is the key `name` in a form without a protocol: single bytes, ESC and a key, the CSI and SS3
/// tables of xterm, rxvt and the Linux console.
pub fn matches_legacy_sequence(data: &str, name: &str) -> bool {
    let protocol =
        data.strip_prefix("\x1b[").is_some_and(|body| body.ends_with(['u', '_']) || body.contains([';', ':']));
    !protocol && matches_key(data, name, false)
}

pub(crate) fn press(data: &str, kitty: bool) -> Option<Press> {
    match data.as_bytes() {
        [] => None,
        [0x1B, rest @ ..] => legacy::escaped(rest, kitty),
        [0xC2, 0x9B, rest @ ..] if !rest.is_empty() => csi::press(rest),
        [byte] => legacy::byte(*byte, kitty),
        _ => {
            let mut chars = data.chars();
            let c = chars.next().filter(|_| chars.next().is_none())?;
            Some(Press::of(Key::of_char(c)?))
        }
    }
}
