//! Finds the best alignment of a needle with a text: which letter matches which position.
//!
//! Uses dynamic programming with a cost for each gap. Rows are letters of the needle, columns positions of the text. In
//! each row only the columns between the first and the last possible position of the letter are computed.

use crate::symbols::bonus;

const LETTER: i32 = 16;
const RUN: i32 = 8;
const GAP: i32 = 3;
const LONGER_GAP: i32 = 1;
/// The cost of a run that begins inside a word, in addition to its gap.
const SCATTERED: i32 = 8;
/// The bonus of a letter in the file name, compared with one in a directory.
pub(crate) const IN_NAME: i32 = 4;
/// The bonus of a capital of the query at the start of a word, if case is ignored.
const CAPITAL: i32 = 4;
const NONE: i32 = i32::MIN / 2;

/// Returns the maximum score of a needle of `length` letters.
pub(crate) fn most(length: usize, capitals: bool) -> i32 {
    let length = i32::try_from(length).unwrap_or(i32::MAX >> 8);
    length * (LETTER + IN_NAME + if capitals { CAPITAL } else { 0 } + i32::from(bonus::SEGMENT))
        + i32::from(bonus::SEGMENT)
}

/// A text with the bonuses of its positions.
pub(crate) struct Text<'a, T> {
    pub(crate) letters: &'a [T],
    pub(crate) worth: &'a [u8],
    pub(crate) name: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    score: i32,
    /// The bonus at the start of the run, which the following letters inherit.
    run: i32,
}

/// Memory that is reused between texts.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    first: Vec<u32>,
    last: Vec<u32>,
    above: Vec<Cell>,
    row: Vec<Cell>,
    /// For each cell the position of the previous letter; computed only on request.
    came: Vec<u32>,
}

/// The possible starts of a run: anywhere, or only the start of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    Anywhere,
    AtWords,
}

impl Layout {
    /// Returns the best score and, with `places`, stores the matched positions. `None` if the needle does not occur.
    /// `capitals` marks the letters of the needle that were written as capitals (it may be empty).
    pub(crate) fn best<T: Copy + Eq>(
        &mut self,
        needle: &[T],
        capitals: &[bool],
        text: &Text<'_, T>,
        runs: Runs,
        places: Option<&mut Vec<usize>>,
    ) -> Option<i32> {
        if !self.bounds(needle, text.letters) {
            return None;
        }
        let width = text.letters.len();
        let none = Cell { score: NONE, run: 0 };
        for row in [&mut self.above, &mut self.row] {
            row.clear();
            row.resize(width, none);
        }
        let trace = places.is_some();
        if trace {
            self.came.clear();
            self.came.resize(width * needle.len(), u32::MAX);
        }
        for (index, letter) in needle.iter().enumerate() {
            let (from, to) = (self.first[index] as usize, self.last[index] as usize);
            let mut gap = NONE;
            let mut gap_from = usize::MAX;
            let mut reached = false;
            // A gap may have begun before the first column of this row.
            let start = if index == 0 { from } else { self.first[index - 1] as usize + 1 };
            for at in start..=to {
                if index > 0 && at >= 2 {
                    gap -= LONGER_GAP;
                    let open = self.above[at - 2].score - GAP;
                    if open > gap {
                        gap = open;
                        gap_from = at - 2;
                    }
                }
                if at < from || text.letters[at] != *letter {
                    continue;
                }
                let worth = i32::from(text.worth[at]);
                let at_word = text.worth[at] >= bonus::HUMP;
                let capital = at_word && capitals.get(index) == Some(&true);
                let base = LETTER + if at >= text.name { IN_NAME } else { 0 } + if capital { CAPITAL } else { 0 };
                let mut cell = none;
                let mut came = usize::MAX;
                let may_begin = runs == Runs::Anywhere || at_word;
                if index == 0 {
                    if may_begin {
                        cell = Cell { score: base + 2 * worth, run: worth };
                    }
                } else {
                    if gap > NONE / 2 && may_begin {
                        let price = if worth == 0 { SCATTERED } else { 0 };
                        cell = Cell { score: gap + base + worth - price, run: worth };
                        came = gap_from;
                    }
                    let before = self.above[at - 1];
                    if before.score > NONE / 2 {
                        let score = before.score + base + worth.max(before.run).max(RUN);
                        if score >= cell.score {
                            cell = Cell { score, run: worth.max(before.run) };
                            came = at - 1;
                        }
                    }
                }
                reached |= cell.score > NONE / 2;
                self.row[at] = cell;
                if trace {
                    self.came[index * width + at] = u32::try_from(came).unwrap_or(u32::MAX);
                }
            }
            if !reached {
                return None;
            }
            std::mem::swap(&mut self.above, &mut self.row);
            // The row of the letter before the previous one is reused for the next.
            let stale = if index == 0 {
                from..to + 1
            } else {
                self.first[index - 1] as usize..self.last[index - 1] as usize + 1
            };
            self.row[stale].fill(none);
        }
        let final_row = needle.len() - 1;
        let (from, to) = (self.first[final_row] as usize, self.last[final_row] as usize);
        let (end, best) = (from..=to)
            .map(|at| (at, self.above[at].score))
            .max_by_key(|(at, score)| (*score, std::cmp::Reverse(*at)))?;
        if best <= NONE / 2 {
            return None;
        }
        if let Some(places) = places {
            let mut at = end;
            for index in (0..needle.len()).rev() {
                places.push(at);
                at = self.came[index * width + at] as usize;
            }
        }
        Some(best)
    }

    /// Computes the first and the last possible position of each letter.
    fn bounds<T: Copy + Eq>(&mut self, needle: &[T], text: &[T]) -> bool {
        self.first.clear();
        let mut at = 0;
        for letter in needle {
            let Some(found) = text[at..].iter().position(|other| other == letter) else { return false };
            self.first.push(u32::try_from(at + found).unwrap_or(u32::MAX));
            at += found + 1;
        }
        self.last.clear();
        self.last.resize(needle.len(), 0);
        let mut end = text.len();
        for (index, letter) in needle.iter().enumerate().rev() {
            let Some(found) = text[..end].iter().rposition(|other| other == letter) else { return false };
            self.last[index] = u32::try_from(found).unwrap_or(u32::MAX);
            end = found;
        }
        !needle.is_empty()
    }
}
