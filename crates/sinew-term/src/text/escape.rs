//! Escape sequences: their ends and their effects.
//!
//! Every sequence ends: a broken one before the character that breaks it, a control string at its terminator, at
//! a control that aborts it, and with its line at the latest. So each unit is read once, whatever the text is.

use super::unit::Unit;

/// The effect of a sequence on the text that follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `CSI … m`, with the range of its parameters.
    Sgr(usize, usize),
    /// OSC 8 with an address.
    LinkOpen,
    /// OSC 8 without an address.
    LinkClose,
    /// Anything else that is whole.
    Plain,
    /// Without its end: what is put behind it may become part of it.
    Broken,
}

/// The end and kind of the sequence that ESC or a C1 introducer starts at `at`.
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
    /// May end at a bell, and may hold a link.
    Osc,
    /// May end at a bell.
    Apc,
    /// Ends at its terminator alone: what is passed on in it may hold a bell.
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
            // Also a terminator further on would not help: what is cut out of the text may not contain it.
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
    if control != Control::Osc || payload.len() < 3 || payload[0].code() != 0x38 || payload[1].code() != 0x3B {
        return Kind::Plain;
    }
    match payload[2..].iter().position(|unit| unit.code() == 0x3B) {
        Some(split) if payload.len() > split + 3 => Kind::LinkOpen,
        Some(_) => Kind::LinkClose,
        None => Kind::Plain,
    }
}
