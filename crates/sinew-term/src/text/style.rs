//! The graphic state at a position in the text: SGR attributes as they were written, and the open link.

use super::{escape::Kind, unit::Unit};

const SLOTS: usize = 17;
const BOLD: usize = 0;
const DIM: usize = 1;
const ITALIC: usize = 2;
const UNDERLINE: usize = 3;
const BLINK: usize = 4;
const INVERSE: usize = 5;
const HIDDEN: usize = 6;
const STRIKE: usize = 7;
const FONT: usize = 8;
const PROPORTIONAL: usize = 9;
const FOREGROUND: usize = 10;
const BACKGROUND: usize = 11;
const FRAME: usize = 12;
const OVERLINE: usize = 13;
const UNDERLINE_COLOR: usize = 14;
const IDEOGRAM: usize = 15;
const SCRIPT: usize = 16;

/// The first and last code of a range, and the slot it sets. 38, 48 and 58 have parameters of their own.
const SETS: &[(u32, u32, usize)] = &[
    (1, 1, BOLD),
    (2, 2, DIM),
    (3, 3, ITALIC),
    (4, 4, UNDERLINE),
    (5, 6, BLINK),
    (7, 7, INVERSE),
    (8, 8, HIDDEN),
    (9, 9, STRIKE),
    (11, 19, FONT),
    (20, 20, ITALIC),
    (21, 21, UNDERLINE),
    (26, 26, PROPORTIONAL),
    (30, 38, FOREGROUND),
    (40, 48, BACKGROUND),
    (51, 52, FRAME),
    (53, 53, OVERLINE),
    (58, 58, UNDERLINE_COLOR),
    (60, 64, IDEOGRAM),
    (73, 74, SCRIPT),
    (90, 97, FOREGROUND),
    (100, 107, BACKGROUND),
];

/// A code, and the slots it clears.
const CLEARS: &[(u32, u32)] = &[
    (0, u32::MAX),
    (10, 1 << FONT),
    (22, 1 << BOLD | 1 << DIM),
    (23, 1 << ITALIC),
    (24, 1 << UNDERLINE),
    (25, 1 << BLINK),
    (27, 1 << INVERSE),
    (28, 1 << HIDDEN),
    (29, 1 << STRIKE),
    (39, 1 << FOREGROUND),
    (49, 1 << BACKGROUND),
    (50, 1 << PROPORTIONAL),
    (54, 1 << FRAME),
    (55, 1 << OVERLINE),
    (59, 1 << UNDERLINE_COLOR),
    (65, 1 << IDEOGRAM),
    (75, 1 << SCRIPT),
];

/// The maximum length of a stored parameter, in units; a valid colour needs 22.
const PARAMETER_LIMIT: usize = 64;
/// The maximum length of a link that is reopened, in units; terminals ignore addresses beyond 2,083 bytes.
const LINK_LIMIT: usize = 4096;

/// Attributes as ranges of the text they were written in.
#[derive(Clone)]
pub(crate) struct Style {
    slots: [(u32, u32); SLOTS],
    set: u32,
    link: Option<(u32, u32)>,
    /// Incremented with each change, so that only changes are copied.
    pub(crate) version: u32,
}

impl Style {
    pub(crate) const PLAIN: Style = Style { slots: [(0, 0); SLOTS], set: 0, link: None, version: 0 };

    /// Applies the sequence `text[start..end]`.
    pub(crate) fn apply<U: Unit>(&mut self, text: &[U], start: usize, end: usize, kind: Kind) {
        match kind {
            Kind::Sgr(from, to) => self.sgr(text, from, to),
            // Ranges are 32 bits wide, so links beyond 4 G units are not stored.
            Kind::LinkOpen if end - start <= LINK_LIMIT => {
                self.link = u32::try_from(end).ok().map(|end_short| (start as u32, end_short));
            }
            Kind::LinkOpen | Kind::LinkClose => self.link = None,
            Kind::Plain | Kind::Sized(_) | Kind::Broken => return,
        }
        self.version = self.version.wrapping_add(1);
    }

    fn sgr<U: Unit>(&mut self, text: &[U], from: usize, to: usize) {
        let mut at = from;
        loop {
            let end = part_end(text, at, to);
            let (code, colon) = number(text, at, end);
            let mut last = end;
            let mut whole = true;
            if matches!(code, 38 | 48 | 58) && colon.is_none() {
                (last, whole) = color_end(text, end, to);
            }
            if let Some((_, slots)) = CLEARS.iter().find(|(clear, _)| *clear == code) {
                self.set &= !slots;
            } else if let Some((_, _, slot)) = SETS.iter().find(|(first, end, _)| (*first..=*end).contains(&code)) {
                let off = *slot == UNDERLINE && colon.is_some_and(|sub| number(text, sub + 1, end).0 == 0);
                if off {
                    self.set &= !(1 << UNDERLINE);
                } else if whole
                    && last - at <= PARAMETER_LIMIT
                    && let Ok(short) = u32::try_from(last)
                {
                    self.slots[*slot] = (at as u32, short);
                    self.set |= 1 << slot;
                }
            }
            if last >= to {
                return;
            }
            at = last + 1;
        }
    }

    /// Returns a lower limit of the number of units that [`Style::open`] would write.
    pub(crate) fn weight(&self) -> usize {
        let link = self.link.map_or(0, |(start, end)| (end - start) as usize);
        link + self.set.count_ones() as usize * 4
    }

    /// Writes the sequences that set this state in a terminal without attributes.
    pub(crate) fn open<U: Unit>(&self, text: &[U], out: &mut Vec<U>) {
        if self.set != 0 {
            let mut lead: &[u8] = b"\x1b[";
            for (slot, (start, end)) in self.slots.iter().enumerate() {
                if self.set & 1 << slot != 0 {
                    push(out, lead);
                    out.extend_from_slice(&text[*start as usize..*end as usize]);
                    lead = b";";
                }
            }
            push(out, b"m");
        }
        if let Some((start, end)) = self.link {
            out.extend_from_slice(&text[start as usize..end as usize]);
        }
    }

    /// Writes the sequences that reset every attribute.
    pub(crate) fn close<U: Unit>(&self, text: &[U], out: &mut Vec<U>) {
        if self.set != 0 {
            push(out, b"\x1b[0m");
        }
        self.close_link(text, out);
    }

    /// Writes the sequences that reset what must not continue to the edge of the screen: underline, strikethrough,
    /// overline and the link.
    pub(crate) fn close_line<U: Unit>(&self, text: &[U], out: &mut Vec<U>) {
        let lines: [(usize, &[u8]); 3] = [(UNDERLINE, b"\x1b[24m"), (STRIKE, b"\x1b[29m"), (OVERLINE, b"\x1b[55m")];
        for (_, end) in lines.iter().filter(|(slot, _)| self.set & 1 << slot != 0) {
            push(out, end);
        }
        self.close_link(text, out);
    }

    /// Closes the link with the terminator it was opened with.
    fn close_link<U: Unit>(&self, text: &[U], out: &mut Vec<U>) {
        if let Some((_, end)) = self.link {
            let bell = text[end as usize - 1].code() == 0x07;
            push(out, if bell { b"\x1b]8;;\x07" } else { b"\x1b]8;;\x1b\\" });
        }
    }
}

/// Appends ASCII bytes.
pub(crate) fn push<U: Unit>(out: &mut Vec<U>, bytes: &[u8]) {
    out.extend(bytes.iter().map(|byte| U::ascii(*byte)));
}

fn part_end<U: Unit>(text: &[U], at: usize, to: usize) -> usize {
    text[at..to].iter().position(|unit| unit.code() == 0x3B).map_or(to, |length| at + length)
}

/// Returns the number at the start of a parameter (0 if it is empty), and the position of its first colon.
fn number<U: Unit>(text: &[U], at: usize, end: usize) -> (u32, Option<usize>) {
    let mut value = 0u32;
    for (offset, unit) in text[at..end].iter().enumerate() {
        match unit.code() {
            0x3A => return (value, Some(at + offset)),
            code => value = value.saturating_mul(10).saturating_add(code.saturating_sub(0x30)),
        }
    }
    (value, None)
}

/// Returns the end of the colour whose introducer (38, 48, 58) ends at `end`, and whether all its parameters are
/// present.
fn color_end<U: Unit>(text: &[U], end: usize, to: usize) -> (usize, bool) {
    if end >= to {
        return (to, false);
    }
    let mut last = part_end(text, end + 1, to);
    let wanted = match number(text, end + 1, last).0 {
        5 => 1,
        2 => 3,
        _ => return (last, false),
    };
    for _ in 0..wanted {
        if last >= to {
            return (to, false);
        }
        last = part_end(text, last + 1, to);
    }
    (last, true)
}
