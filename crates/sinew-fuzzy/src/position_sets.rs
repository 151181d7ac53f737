//! The letters of an ASCII path as sets of positions: one bit per position.
//!
//! With such sets, finding out whether a word or one of its typos occurs needs one step per letter, while an alignment
//! processes every position of every typo.

use crate::query::{Typo, Word};
use crate::symbols::bonus;

/// The maximum length of a path with a set.
pub(crate) const LONGEST: usize = 128;

/// The maximum length of a word, in letters, that is matched with typos.
const LETTERS: usize = 32;

type Set = u128;

/// A folded path. Reused between paths for its memory.
#[derive(Debug)]
pub(crate) struct PositionSets {
    /// The first bytes contain the path; the rest is left over from earlier paths.
    text: [u8; LONGEST],
    all: Set,
}

impl Default for PositionSets {
    fn default() -> PositionSets {
        PositionSets { text: [0; LONGEST], all: 0 }
    }
}

impl PositionSets {
    /// Reads a path of at most [`LONGEST`] bytes, all ASCII.
    pub(crate) fn read(&mut self, path: &[u8], keep_case: bool) {
        self.text[..path.len()].copy_from_slice(path);
        let half = if path.len() <= LONGEST / 2 { LONGEST / 2 } else { LONGEST };
        if !keep_case {
            self.text[..half].make_ascii_lowercase();
        }
        self.all = if path.len() == LONGEST { Set::MAX } else { (1 << path.len()) - 1 };
    }

    /// Returns true if the letters occur in this order.
    pub(crate) fn in_order(&self, needle: &[u8]) -> bool {
        let mut free = self.all;
        needle.iter().all(|letter| {
            let found = self.of(*letter) & free;
            free = positions_after(found);
            found != 0
        })
    }

    /// Returns true if the letters of a typo of the word occur in order.
    pub(crate) fn typo_in_order(&self, word: &Word) -> bool {
        let Some(letters) = typo_letters(word) else { return false };
        let count = letters.len();
        let mut places = [0; LETTERS];
        // The positions after the first letters, with each letter matched as early as possible.
        let mut free = [0; LETTERS + 1];
        free[0] = self.all;
        let mut begun = 0;
        while begun < count {
            places[begun] = self.of(letters[begun]);
            let found = places[begun] & free[begun];
            if found == 0 {
                break;
            }
            begun += 1;
            free[begun] = positions_after(found);
        }
        if begun == count {
            return true;
        }
        // The start of the last letters, with each letter matched as late as possible.
        let mut start = [0; LETTERS];
        let mut room = self.all;
        let mut ended = count;
        while ended > 0 {
            let at = ended - 1;
            if at > begun {
                places[at] = self.of(letters[at]);
            }
            let found = places[at] & room;
            if found == 0 {
                break;
            }
            ended = at;
            start[at] = highest(found);
            room = positions_before(found);
        }
        // All letters but the two of the typo match either from the front or from the end.
        let meet = |free: Set, at: usize| at == count || free & start[at] != 0;
        (ended.saturating_sub(2)..=begun).any(|at| {
            let dropped = at + 1 >= ended && meet(free[at], at + 1);
            dropped || {
                let swapped = at + 1 < count && at + 2 >= ended;
                let second = if swapped { places[at] & positions_after(places[at + 1] & free[at]) } else { 0 };
                second != 0 && meet(positions_after(second), at + 2)
            }
        })
    }

    /// Returns the typos of the word that occur such that each run begins at the start of a word: one bit per typo, in
    /// order. `worth` contains the bonuses of the path's positions.
    pub(crate) fn typos_at_words(&self, word: &Word, worth: &[u8]) -> u64 {
        let Some(letters) = typo_letters(word) else { return 0 };
        let count = letters.len();
        let starts =
            worth.iter().enumerate().fold(0, |set, (at, worth)| set | (Set::from(*worth >= bonus::HUMP) << at));
        // The possible positions of the letter after those at `found`: directly after, or at a later start of a word.
        let after = |found: Set| (found << 1) | (starts & positions_after(found));
        let mut places = [0; LETTERS];
        // The possible positions of each letter after the letters before it, and before the letters after it.
        let mut reach = [0; LETTERS];
        let mut before = [0; LETTERS];
        for at in 0..count {
            places[at] = self.of(letters[at]);
            reach[at] = if at == 0 { starts } else { after(places[at - 1] & reach[at - 1]) };
        }
        before[count - 1] = places[count - 1];
        for at in (0..count - 1).rev() {
            let next = before[at + 1];
            before[at] = places[at] & ((next >> 1) | positions_before(next & starts));
        }
        let occurs = |typo: Typo| match typo {
            Typo::Swapped(at) => {
                let second = places[at] & after(places[at + 1] & reach[at]);
                if at + 2 == count { second != 0 } else { after(second) & before[at + 2] != 0 }
            }
            Typo::Dropped(at) if at + 1 == count => places[at - 1] & reach[at - 1] != 0,
            Typo::Dropped(at) => reach[at] & before[at + 1] != 0,
        };
        word.typos.iter().enumerate().fold(0, |set, (index, (typo, _))| set | (u64::from(occurs(*typo)) << index))
    }

    /// Returns the positions of a letter.
    #[inline]
    fn of(&self, letter: u8) -> Set {
        let half = |from: usize| {
            let text = &self.text[from..from + LONGEST / 2];
            text.as_chunks::<16>()
                .0
                .iter()
                .enumerate()
                .fold(0, |set, (at, part)| set | (equal(part, letter) << (16 * at)))
        };
        let low = half(0);
        // Most paths end in the first half.
        let high = if self.all >> (LONGEST / 2) == 0 { 0 } else { half(LONGEST / 2) };
        (Set::from(high) << (LONGEST / 2) | Set::from(low)) & self.all
    }
}

/// Returns the letters of a word that is matched with typos; `None` if the word is not.
fn typo_letters(word: &Word) -> Option<&[u8]> {
    word.full.bytes.as_deref().filter(|letters| !word.typos.is_empty() && letters.len() <= LETTERS)
}

/// Returns the bytes that equal `letter`: one bit for each.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal(part: &[u8; 16], letter: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: SSE2 is part of the architecture, and the address points to 16 bytes.
    let mask = unsafe {
        let part = _mm_loadu_si128(part.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(letter.cast_signed())))
    };
    u64::from(mask.cast_unsigned())
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal(part: &[u8; 16], letter: u8) -> u64 {
    part.iter().enumerate().fold(0, |set, (at, byte)| set | (u64::from(*byte == letter) << at))
}

/// Returns all positions after the lowest of a set; empty for an empty set.
fn positions_after(set: Set) -> Set {
    !(set ^ set.wrapping_sub(1))
}

/// Returns all positions before the highest of a set; empty for an empty set.
fn positions_before(set: Set) -> Set {
    highest(set).saturating_sub(1)
}

fn highest(set: Set) -> Set {
    if set == 0 { 0 } else { 1 << set.ilog2() }
}
