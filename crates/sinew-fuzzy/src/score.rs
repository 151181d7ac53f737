//! The score of a path for a query.

use crate::layout::{Layout, Runs, Text};
use crate::position_sets::{self, PositionSets};
use crate::query::{Needle, Query, Word};
use crate::symbols::{Bytes, Symbols, name_start};

/// The quality of a match; higher is better. Only scores of one query can be compared.
pub type Score = i32;

/// The query equals the path.
const WHOLE_PATH: i32 = 120;
/// The query equals the end of the path, from the start of a component.
const PATH_END: i32 = 40;
/// The query equals the file name.
const WHOLE_NAME: i32 = 60;
/// The query equals the file name without its extension.
const WHOLE_STEM: i32 = 40;
/// The file name begins with the query.
const NAME_START: i32 = 12;
/// All letters match in the file name.
const ALL_IN_NAME: i32 = 10;
/// The query has separators that the path does not have.
const JOINED: i32 = 12;
/// Two letters are swapped, or one is extra.
const TYPO_COST: i32 = 30;

/// Scores paths for one query. It owns its buffers; use one per thread.
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
    /// Creates a matcher without tolerance for typos.
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

    /// Also matches one word with two neighbouring letters swapped or one extra letter, if the rest of the word matches
    /// at the starts of words.
    #[must_use]
    pub fn with_typos(mut self) -> Matcher<'q> {
        self.typos = true;
        self
    }

    /// Returns the score of a path with `/` separators; `None` if it does not match the query.
    ///
    /// Takes time proportional to path length times query length, and much less for most paths that do not match.
    pub fn score(&mut self, path: &str) -> Option<Score> {
        self.run(path.as_bytes(), Score::MIN, None)
    }

    /// Returns the score, or any number below `floor` if the score is below it. For callers that keep only the best:
    /// for most paths it costs no more than checking whether they match. Invalid UTF-8 is read as U+FFFD.
    pub fn score_over(&mut self, path: &[u8], floor: Score) -> Option<Score> {
        self.run(path, floor, None)
    }

    /// Returns the score and stores the positions of the letters in `positions`: UTF-16 units of the path, ascending.
    pub fn score_with_positions(&mut self, path: &str, positions: &mut Vec<u32>) -> Option<Score> {
        positions.clear();
        let score = self.run(path.as_bytes(), Score::MIN, Some(positions));
        positions.sort_unstable();
        positions.dedup();
        score
    }

    /// Returns true if every letter of the query matches at the start of a word or directly after the previous letter.
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
        let phrase = self.query.phrase.as_ref().and_then(|phrase| {
            if ascii {
                exactness(phrase, &self.bytes.letters, self.bytes.name)
            } else {
                exactness(phrase, &self.symbols.letters, self.symbols.name)
            }
        });
        Some(total + phrase.map_or(0, |exact| self.phrase_bonus(exact)))
    }

    /// Returns the bonus of a path that the text of several words names. For the name and the path it is more than the
    /// words can score in any other path.
    fn phrase_bonus(&self, exact: Exactness) -> Score {
        let words = self.query.words.iter();
        let most = |word: &Word| {
            let letters = crate::layout::most(word.full.letters.len(), !word.full.capitals.is_empty());
            letters + ALL_IN_NAME + WHOLE_NAME + WHOLE_PATH
        };
        match exact {
            Exactness::Path => words.map(most).sum::<Score>() + WHOLE_PATH,
            Exactness::Name => words.map(most).sum(),
            Exactness::Stem => words.map(|_| WHOLE_STEM).sum(),
        }
    }

    /// Returns an upper limit of the score of the word in a path that contains it, in either form: with its separators,
    /// or without them.
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
        let starts = |needle: &[u8]| {
            name.get(..needle.len())
                .is_some_and(|start| if keep { start == needle } else { start.eq_ignore_ascii_case(needle) })
        };
        letters + ALL_IN_NAME + end + if starts(needle) || starts(plain) { WHOLE_NAME } else { 0 }
    }

    /// Returns true if the letters of each word occur in order. `short` means that the path was read as sets of
    /// positions.
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

/// Returns true if the letters occur in order: one SIMD search per letter.
fn occurs(needle: &[u8], mut path: &[u8], keep_case: bool) -> bool {
    needle.iter().all(|byte| {
        let upper = if keep_case { *byte } else { byte.to_ascii_uppercase() };
        let found = memchr::memchr2(*byte, upper, path);
        path = found.map_or(path, |at| &path[at + 1..]);
        found.is_some()
    })
}

/// A unit of text: a byte of ASCII text, otherwise a character.
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
    /// Returns the best score of all forms of the word, and whether it is a typo. `typos` has a bit for each typo that
    /// may occur.
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

    /// Returns the better of two alignments: with the whole path, and with the name only.
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

/// The part of a path that equals a text.
#[derive(Debug, Clone, Copy)]
enum Exactness {
    Path,
    Name,
    Stem,
}

/// Returns what of the path equals the whole text; `None` if nothing does.
fn exactness<T: Letter>(phrase: &Needle, path: &[T], name: usize) -> Option<Exactness> {
    let phrase = T::of(phrase)?;
    let name = &path[name..];
    match () {
        () if path == phrase => Some(Exactness::Path),
        () if name == phrase => Some(Exactness::Name),
        () if &name[..stem_length(name)] == phrase => Some(Exactness::Stem),
        () => None,
    }
}

/// Returns the length of a name without its extension. A leading dot does not begin an extension.
fn stem_length<T: Letter>(name: &[T]) -> usize {
    let dot = T::from(b'.');
    name.iter().skip(1).rposition(|letter| *letter == dot).map_or(name.len(), |at| at + 1)
}

/// Returns the bonus of a name that nearly equals the query.
fn name_bonus<T: Letter>(needle: &[T], name: &[T]) -> i32 {
    let stem = stem_length(name);
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
    // Only if the query contains a directory; a name alone has its own bonus.
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
