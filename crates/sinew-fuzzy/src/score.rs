//! The score of a path for a query.

use crate::layout::{Layout, Runs, Text};
use crate::position_sets::{self, PositionSets};
use crate::query::{Needle, Query, Word};
use crate::symbols::{Bytes, Symbols, name_start};

/// The quality of a match; more is better. Only scores of one query compare.
pub type Score = i32;

/// The query is the path.
const WHOLE_PATH: i32 = 120;
/// The query is the end of the path, from the start of a name on.
const PATH_END: i32 = 40;
/// The query is the name.
const WHOLE_NAME: i32 = 60;
/// The query is the name without its extension.
const WHOLE_STEM: i32 = 40;
/// The name begins with the query.
const NAME_START: i32 = 12;
/// All letters lie in the name.
const ALL_IN_NAME: i32 = 10;
/// Separators of the query that the path does not have.
const JOINED: i32 = 12;
/// Two letters swapped, or one too many.
const TYPO_COST: i32 = 30;

/// Scores paths against one query. Holds memory; use one per thread.
#[derive(Debug)]
pub struct Matcher<'q> {
    query: &'q Query,
    typos: bool,
    sets: PositionSets,
    bytes: Bytes,
    symbols: Symbols,
    layout: Layout,
}

impl<'q> Matcher<'q> {
    /// A matcher that takes the letters of the query as they are.
    #[must_use]
    pub fn new(query: &'q Query) -> Matcher<'q> {
        Matcher {
            query,
            typos: false,
            sets: PositionSets::default(),
            bytes: Bytes::default(),
            symbols: Symbols::default(),
            layout: Layout::default(),
        }
    }

    /// The same, which also takes one word with two neighbouring letters swapped or one letter too many, where the
    /// rest of it lies at the starts of words.
    #[must_use]
    pub fn with_typos(mut self) -> Matcher<'q> {
        self.typos = true;
        self
    }

    /// The score of a path with `/` between names; none when it does not answer the query.
    ///
    /// Takes time of path length times query length, and for most paths that do not answer far less.
    pub fn score(&mut self, path: &str) -> Option<Score> {
        self.run(path.as_bytes(), Score::MIN, None)
    }

    /// The same for who keeps only the best: where the score is below `floor`, any number below `floor`, which for
    /// most paths takes no more than finding out that they match. Bytes that are no UTF-8 are taken as U+FFFD.
    pub fn score_over(&mut self, path: &[u8], floor: Score) -> Option<Score> {
        self.run(path, floor, None)
    }

    /// The score, with the places of the letters in `positions`: UTF-16 units of the path, ascending.
    pub fn score_with_positions(&mut self, path: &str, positions: &mut Vec<u32>) -> Option<Score> {
        positions.clear();
        let score = self.run(path.as_bytes(), Score::MIN, Some(positions));
        positions.sort_unstable();
        positions.dedup();
        score
    }

    /// Returns whether every letter of the query lies at the start of a word or right behind the letter before it.
    pub fn is_clean(&mut self, path: &str) -> bool {
        self.symbols.read(path, self.query.keep_case);
        let text = Text { letters: &self.symbols.letters[..], worth: &self.symbols.worth, name: self.symbols.name };
        self.query.words.iter().all(|word| {
            let joined = word.joined.as_ref();
            [Some(&word.full), joined]
                .into_iter()
                .flatten()
                .any(|needle| self.layout.best(&needle.letters, &needle.capitals, &text, Runs::AtWords, None).is_some())
        })
    }

    fn run(&mut self, path: &[u8], floor: Score, mut positions: Option<&mut Vec<u32>>) -> Option<Score> {
        let ascii = path.is_ascii();
        let short = ascii && path.len() <= position_sets::LONGEST;
        if short {
            self.sets.read(path, self.query.keep_case);
        }
        if ascii && !self.may_match(path, short) {
            return None;
        }
        if ascii
            && !self.typos
            && let [word] = self.query.words.as_slice()
        {
            let most = self.most(word, path);
            if most < floor {
                return Some(most);
            }
        }
        if ascii {
            self.bytes.read(path, self.query.keep_case);
        } else {
            self.symbols.read(&String::from_utf8_lossy(path), self.query.keep_case);
        }
        let mut total = 0;
        let mut has_typo = false;
        for word in &self.query.words {
            let found = if ascii {
                let text = Text { letters: &self.bytes.letters[..], worth: &self.bytes.worth, name: self.bytes.name };
                let typos = match self.typos && !has_typo {
                    true if short => {
                        let typos = self.sets.typos_at_words(word, &self.bytes.worth);
                        if typos == 0 && !self.sets.in_order(word.plain().bytes.as_deref().unwrap_or_default()) {
                            return None;
                        }
                        typos
                    }
                    typos => {
                        if typos {
                            u64::MAX
                        } else {
                            0
                        }
                    }
                };
                let search = Search { layout: &mut self.layout, text, origin: None };
                search.word(word, typos, positions.as_deref_mut())
            } else {
                let Symbols { letters, worth, origin, name } = &self.symbols;
                let text = Text { letters: &letters[..], worth, name: *name };
                let search = Search { layout: &mut self.layout, text, origin: Some(origin) };
                let typos = if self.typos && !has_typo { u64::MAX } else { 0 };
                search.word(word, typos, positions.as_deref_mut())
            };
            let (score, typo) = found?;
            has_typo |= typo;
            total += score;
        }
        Some(total)
    }

    /// More than this the word cannot score in a path where it matches.
    fn most(&self, word: &Word, path: &[u8]) -> Score {
        let keep = self.query.keep_case;
        let name = &path[name_start(path)..];
        let needle = word.full.bytes.as_deref().unwrap_or_default();
        let plain = word.plain().bytes.as_deref().unwrap_or_default();
        let end = if needle.contains(&b'/') || name.len() == path.len() { WHOLE_PATH } else { 0 };
        let letters = crate::layout::most(needle.len(), !word.full.capitals.is_empty());
        if !occurs(plain, name, keep) {
            return letters - crate::layout::IN_NAME + end;
        }
        let starts = name.len() >= needle.len()
            && if keep { name.starts_with(needle) } else { name[..needle.len()].eq_ignore_ascii_case(needle) };
        letters + ALL_IN_NAME + end + if starts { WHOLE_NAME } else { 0 }
    }

    /// Returns whether the letters of each word occur in their order. `short`: the path has been read as sets of positions.
    fn may_match(&self, path: &[u8], short: bool) -> bool {
        let keep = self.query.keep_case;
        let found = |needle: &Needle| {
            let bytes = needle.bytes.as_deref();
            bytes.is_some_and(|needle| if short { self.sets.in_order(needle) } else { occurs(needle, path, keep) })
        };
        self.query.words.iter().all(|word| {
            found(word.plain())
                || (self.typos
                    && if short { self.sets.typo_in_order(word) } else { word.typos.iter().any(|typo| found(&typo.1)) })
        })
    }
}

/// Returns whether the letters occur one behind the other: one SIMD search per letter.
fn occurs(needle: &[u8], mut path: &[u8], keep_case: bool) -> bool {
    needle.iter().all(|byte| {
        let upper = if keep_case { *byte } else { byte.to_ascii_uppercase() };
        let found = memchr::memchr2(*byte, upper, path);
        path = found.map_or(path, |at| &path[at + 1..]);
        found.is_some()
    })
}

/// A unit of text: a byte for ASCII, else a character.
trait Letter: Copy + Eq + From<u8> {
    fn of(needle: &Needle) -> Option<&[Self]>;
}

impl Letter for u8 {
    fn of(needle: &Needle) -> Option<&[u8]> {
        needle.bytes.as_deref()
    }
}

impl Letter for char {
    fn of(needle: &Needle) -> Option<&[char]> {
        Some(&needle.letters)
    }
}

/// One word in one text.
struct Search<'a, T> {
    layout: &'a mut Layout,
    text: Text<'a, T>,
    origin: Option<&'a Vec<u32>>,
}

impl<T: Letter> Search<'_, T> {
    /// The best of all forms of the word, and whether it is a typo. `typos` has a bit for each typo that may occur.
    fn word(mut self, word: &Word, typos: u64, positions: Option<&mut Vec<u32>>) -> Option<(Score, bool)> {
        let forms = [(Some(&word.full), 0), (word.joined.as_ref(), JOINED)];
        let mut best: Option<(Score, bool, &Needle, Runs)> = None;
        for (needle, price) in forms {
            if let Some(needle) = needle
                && let Some(score) = self.needle(needle, Runs::Anywhere)
            {
                best = Some((score - price, false, needle, Runs::Anywhere));
                break;
            }
        }
        for (index, (_, needle)) in word.typos.iter().enumerate() {
            if typos >> index & 1 == 1
                && let Some(score) = self.needle(needle, Runs::AtWords)
                && best.is_none_or(|(other, ..)| score - TYPO_COST > other)
            {
                best = Some((score - TYPO_COST, true, needle, Runs::AtWords));
            }
        }
        let (score, typo, needle, runs) = best?;
        if let Some(positions) = positions {
            let mut places = Vec::new();
            self.best(needle, runs, Some(&mut places));
            let origin = self.origin;
            positions.extend(places.into_iter().map(|place| match origin {
                Some(origin) => origin[place],
                None => u32::try_from(place).unwrap_or(u32::MAX),
            }));
        }
        Some((score, typo))
    }

    fn needle(&mut self, needle: &Needle, runs: Runs) -> Option<Score> {
        self.best(needle, runs, None)
    }

    /// The better of two layouts: over the whole path, and over the name alone.
    fn best(&mut self, needle: &Needle, runs: Runs, places: Option<&mut Vec<usize>>) -> Option<Score> {
        let letters = T::of(needle)?;
        let whole = self.layout.best(letters, &needle.capitals, &self.text, runs, None)?;
        let start = self.text.name;
        let name = Text { letters: &self.text.letters[start..], worth: &self.text.worth[start..], name: 0 };
        let in_name = self
            .layout
            .best(letters, &needle.capitals, &name, runs, None)
            .map(|score| score + ALL_IN_NAME + name_bonus(letters, name.letters));
        let in_name_wins = in_name.is_some_and(|score| score >= whole);
        if let Some(places) = places {
            if in_name_wins {
                self.layout.best(letters, &needle.capitals, &name, runs, Some(places));
                places.iter_mut().for_each(|place| *place += start);
            } else {
                self.layout.best(letters, &needle.capitals, &self.text, runs, Some(places));
            }
        }
        Some(in_name.unwrap_or(whole).max(whole) + path_bonus(letters, self.text.letters))
    }
}

/// The bonus of a name that is the query, nearly.
fn name_bonus<T: Letter>(needle: &[T], name: &[T]) -> i32 {
    let dot = T::from(b'.');
    let stem = name.iter().skip(1).rposition(|letter| *letter == dot).map_or(name.len(), |at| at + 1);
    let rest = i32::try_from(stem.saturating_sub(needle.len())).unwrap_or(i32::MAX).min(8) / 4;
    if name == needle {
        WHOLE_NAME
    } else if &name[..stem] == needle {
        WHOLE_STEM
    } else if name.starts_with(needle) {
        NAME_START - rest
    } else {
        -rest
    }
}

fn path_bonus<T: Letter>(needle: &[T], path: &[T]) -> i32 {
    let slash = T::from(b'/');
    let needle = if needle.first() == Some(&slash) { &needle[1..] } else { needle };
    if path == needle {
        return WHOLE_PATH;
    }
    // Only where the query names a folder; a name alone has its own bonus.
    if !needle.contains(&slash) {
        return 0;
    }
    let dot = T::from(b'.');
    let stem = path.iter().rposition(|letter| *letter == dot || *letter == slash).filter(|at| path[*at] == dot);
    let ends = |path: &[T]| {
        path.ends_with(needle) && (path.len() == needle.len() || path[path.len() - needle.len() - 1] == slash)
    };
    if ends(path) || stem.is_some_and(|at| ends(&path[..at])) { PATH_END } else { 0 }
}
