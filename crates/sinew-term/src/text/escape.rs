//! Escape sequences: where they end and what they do.
//!
//! Every sequence ends: a broken one before the character that interrupts it; a control string at its terminator, at a
//! control that aborts it, and at the end of its line at the latest. So each unit is read once.

use super::unit::Unit;
use super::width::visible_width;

/// The effect of a sequence on the following text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `CSI … m`, with the range of its parameters.
    Sgr(usize, usize),
    /// OSC 8 with an address.
    LinkOpen,
    /// OSC 8 without an address.
    LinkClose,
    /// OSC 66 with a text, and its width by kitty's text sizing protocol.
    Sized(usize),
    /// Any other complete sequence.
    Plain,
    /// An incomplete sequence: text appended to it may become part of it.
    Broken,
}

/// Returns the end and the kind of the sequence at `at`, which starts with ESC or a C1 introducer.
pub(crate) fn scan<U: Unit>(text: &[U], at: usize) -> (usize, Kind) {
    if let Some((code, length)) = U::c1(text, at) {
        return match code {
            0x9B => csi(text, at + length),
            0x9D => control_string(text, at + length, Control::Osc),
            0x9F => control_string(text, at + length, Control::Apc),
            _ => control_string(text, at + length, Control::Other),
        };
    }
    match text.get(at + 1).map(|unit| unit.code()) {
        Some(0x5B) => csi(text, at + 2),
        Some(0x5D) => control_string(text, at + 2, Control::Osc),
        Some(0x5F) => control_string(text, at + 2, Control::Apc),
        // P, X and ^: DCS, SOS and PM.
        Some(0x50 | 0x58 | 0x5E) => control_string(text, at + 2, Control::Other),
        Some(0x20..=0x2F) => intermediates(text, at + 2),
        Some(0x30..=0x7E) => (at + 2, Kind::Plain),
        _ => (at + 1, Kind::Broken),
    }
}

fn csi<U: Unit>(text: &[U], from: usize) -> (usize, Kind) {
    let mut at = from;
    let mut sgr = true;
    while let Some(unit) = text.get(at) {
        match unit.code() {
            0x30..=0x3B => {}
            0x20..=0x3F => sgr = false,
            0x6D if sgr => return (at + 1, Kind::Sgr(from, at)),
            0x40..=0x7E => return (at + 1, Kind::Plain),
            _ => break,
        }
        at += 1;
    }
    (at, Kind::Broken)
}

fn intermediates<U: Unit>(text: &[U], from: usize) -> (usize, Kind) {
    let length = text[from..].iter().take_while(|unit| matches!(unit.code(), 0x20..=0x2F)).count();
    let at = from + length;
    let last = text.get(at).is_some_and(|unit| matches!(unit.code(), 0x30..=0x7E));
    if last { (at + 1, Kind::Plain) } else { (at, Kind::Broken) }
}

/// The kind of a control string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    /// May end with a bell, and may contain a link.
    Osc,
    /// May end with a bell.
    Apc,
    /// Only ends at its terminator, because its content may contain a bell.
    Other,
}

fn control_string<U: Unit>(text: &[U], from: usize, control: Control) -> (usize, Kind) {
    let mut at = from;
    while let Some(unit) = text.get(at) {
        match unit.code() {
            0x1B => {
                let whole = text.get(at + 1).is_some_and(|next| next.code() == 0x5C);
                return if whole { (at + 2, string_kind(text, from, at, control)) } else { (at, Kind::Broken) };
            }
            0x07 if control != Control::Other => return (at + 1, string_kind(text, from, at, control)),
            0x18 | 0x1A => return (at + 1, Kind::Plain),
            // A later terminator would not help, because extracted text must not contain the line end.
            0x0A => return (at, Kind::Broken),
            0x00..=0x7F => {}
            _ => match U::c1(text, at) {
                Some((0x9C, length)) => return (at + length, string_kind(text, from, at, control)),
                Some(_) => return (at, Kind::Broken),
                None => {}
            },
        }
        at += 1;
    }
    (at, Kind::Broken)
}

fn string_kind<U: Unit>(text: &[U], from: usize, to: usize, control: Control) -> Kind {
    let payload = &text[from..to];
    if control != Control::Osc {
        Kind::Plain
    } else if let Some(rest) = behind(payload, b"8;") {
        match rest.iter().position(is_semicolon) {
            Some(split) if rest.len() > split + 1 => Kind::LinkOpen,
            Some(_) => Kind::LinkClose,
            None => Kind::Plain,
        }
    } else {
        behind(payload, b"66;").and_then(sized_cells).map_or(Kind::Plain, Kind::Sized)
    }
}

/// Returns the rest of a payload after `start`; `None` if it does not begin with it.
fn behind<'a, U: Unit>(payload: &'a [U], start: &[u8]) -> Option<&'a [U]> {
    let is_there =
        payload.len() >= start.len() && payload.iter().zip(start).all(|(unit, byte)| unit.code() == u32::from(*byte));
    is_there.then(|| &payload[start.len()..])
}

fn is_semicolon<U: Unit>(unit: &U) -> bool {
    unit.code() == 0x3B
}

/// Returns the width of `key=value:…;text`: the scale (`s`, 1 to 7) times the width (`w`, up to 7) or, if that is 0 or
/// missing, the width of the text. Numbers out of range are clamped; invalid numbers and other keys are ignored. `None`
/// if the width is 0.
fn sized_cells<U: Unit>(rest: &[U]) -> Option<usize> {
    let split = rest.iter().position(is_semicolon)?;
    let (mut scale, mut width) = (1, 0);
    for pair in rest[..split].split(|unit| unit.code() == 0x3A) {
        let digit = |value: usize, unit: &U| {
            char::from_u32(unit.code())?.to_digit(10).map(|digit| (value * 10 + digit as usize).min(99))
        };
        let number = |value: &[U]| value.iter().try_fold(0, digit);
        if let Some(value) = behind(pair, b"s=").and_then(number) {
            scale = value.clamp(1, 7);
        } else if let Some(value) = behind(pair, b"w=").and_then(number) {
            width = value.min(7);
        }
    }
    let inner = &rest[split + 1..];
    // A control string contains no other sequence, so the recursion ends here. A tab is not text.
    let cells = if width == 0 || inner.is_empty() { visible_width(inner, 0) } else { width };
    (cells > 0).then_some(scale * cells)
}
