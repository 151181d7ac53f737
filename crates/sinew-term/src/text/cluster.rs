//! Grapheme clusters and their cells, one character at a time.
//!
//! The rules are those of UAX #29 (extended clusters). The width of a cluster is the sum of the widths of its
//! characters, limited to two if a terminal shows one glyph: emoji sequences, conjuncts, vowel signs.

use super::class::*;

/// The state of the current cluster.
#[derive(Clone, Copy)]
pub(crate) struct Cluster {
    last: u8,
    /// The width of the cluster, without that of a prepended mark.
    cells: u8,
    /// 1: a pictograph and marks; 2: followed by a joiner, so that a pictograph may follow.
    pict: u8,
    /// 1: an Indic consonant; 2: followed by a linker, so that a consonant may follow.
    conjunct: u8,
    /// True if the cluster contains a pictograph.
    emoji: bool,
    /// True after a regional indicator without its second half.
    half_flag: bool,
    /// True if U+FE0F turns the last character into an emoji.
    widens: bool,
    /// True after a digit, `#` or `*`, optionally with U+FE0F.
    keycap: bool,
}

impl Cluster {
    /// The state before any character or after a control: the next character starts a cluster.
    pub(crate) const NONE: Cluster = Cluster::of(CONTROL, 0);

    /// Returns the state after a printable ASCII character.
    #[inline(always)]
    pub(crate) fn after_ascii(code: u32) -> Cluster {
        let mut cluster = Cluster::of(OTHER, 1);
        cluster.keycap = matches!(code, 0x30..=0x39 | 0x23 | 0x2A);
        cluster
    }

    const fn of(last: u8, cells: u8) -> Cluster {
        Cluster { last, cells, pict: 0, conjunct: 0, emoji: false, half_flag: false, widens: false, keycap: false }
    }

    /// Processes the next character. Returns whether it belongs to the current cluster, and the width it adds.
    #[inline(always)]
    pub(crate) fn step(&mut self, props: u8) -> (bool, usize) {
        if props >> 2 == OTHER && self.last != PREPEND {
            *self = Cluster::of(OTHER, props & 3);
            return (false, usize::from(props & 3));
        }
        self.step_special(props)
    }

    fn step_special(&mut self, props: u8) -> (bool, usize) {
        let (class, own) = (props >> 2, props & 3);
        let joins = self.joins(class);
        let marks = is_mark(class);
        if !joins || (self.last == PREPEND && !marks) {
            *self = Cluster::of(class, own);
            self.pict = u8::from(matches!(class, PICT | PICT_VS));
            self.emoji = self.pict == 1;
            self.conjunct = u8::from(class == CONSONANT);
            self.half_flag = class == REGIONAL;
            self.widens = class == PICT_VS;
            self.keycap = class == KEYCAP_BASE;
            return (joins, usize::from(own));
        }
        let cells = match class {
            VS16 if self.widens => 2,
            KEYCAP if self.keycap => 2,
            MODIFIER if !self.emoji => self.cells + own,
            HANGUL_L..=HANGUL_LVT => self.cells.saturating_add(own),
            _ => (self.cells + own).min(2),
        }
        .max(self.cells);
        let added = cells - self.cells;
        self.cells = cells.min(0x7F);
        self.pict = match class {
            PICT | PICT_VS => 1,
            ZWJ => u8::from(self.pict == 1) * 2,
            _ => u8::from(marks && class != SPACING && self.pict == 1),
        };
        self.conjunct = match class {
            CONSONANT => 1,
            LINKER => u8::from(self.conjunct > 0) * 2,
            SPACING | EXTEND_APART => 0,
            _ if marks => self.conjunct,
            _ => 0,
        };
        self.half_flag = false;
        self.widens = class == PICT_VS;
        self.keycap &= class == VS16;
        self.last = class;
        (true, usize::from(added))
    }

    fn joins(&self, class: u8) -> bool {
        match (self.last, class) {
            (CONTROL, _) | (_, CONTROL) => false,
            (_, class) if is_mark(class) => true,
            (PREPEND, _) => true,
            (HANGUL_L, HANGUL_L | HANGUL_V | HANGUL_LV | HANGUL_LVT)
            | (HANGUL_LV | HANGUL_V, HANGUL_V | HANGUL_T)
            | (HANGUL_LVT | HANGUL_T, HANGUL_T) => true,
            (ZWJ, PICT | PICT_VS) => self.pict == 2,
            (REGIONAL, REGIONAL) => self.half_flag,
            (_, CONSONANT) => self.conjunct == 2,
            _ => false,
        }
    }
}

/// Returns true for characters that belong to the previous one.
fn is_mark(class: u8) -> bool {
    matches!(class, EXTEND | EXTEND_APART | ZWJ | LINKER | SPACING | MODIFIER | VS16 | KEYCAP)
}
