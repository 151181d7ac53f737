//! The query: the typed text as words, and the typos that are tolerated in each.

use crate::fold::fold;

/// A query: words that may come in any order.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) words: Vec<Word>,
    /// The whole text including its blanks, if it has several words: the name of a file may contain blanks.
    pub(crate) phrase: Option<Needle>,
    pub(crate) keep_case: bool,
}

/// One word, in every form that is matched.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) full: Needle,
    /// The word without separators; `None` if it has none.
    pub(crate) joined: Option<Needle>,
    /// The word with two neighbours swapped or one letter removed.
    pub(crate) typos: Vec<(Typo, Needle)>,
}

/// A typing mistake in a word.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Typo {
    /// This letter and the next one are swapped.
    Swapped(usize),
    /// This letter is extra.
    Dropped(usize),
}

/// The letters of a word as both kinds of symbols.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    pub(crate) letters: Vec<char>,
    /// True for each letter that was a capital although case is ignored; empty if there were no capitals.
    pub(crate) capitals: Vec<bool>,
    /// `None` if a letter is not ASCII: then no ASCII path can match.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// The maximum length of a query; longer ones are truncated, because no path on disk is longer.
const LONGEST: usize = 1_024;
/// The lengths of words that are matched with typos: shorter words are ambiguous, and longer ones do not need it.
const TYPO_LENGTHS: std::ops::RangeInclusive<usize> = 4..=32;

impl Query {
    /// Parses a query: words separated by blanks; case is significant if it contains an upper-case letter.
    #[must_use]
    pub fn new(text: &str) -> Query {
        Query::with_case(text, text.chars().any(char::is_uppercase))
    }

    /// Parses a query with explicit case sensitivity.
    #[must_use]
    pub fn with_case(text: &str, keep_case: bool) -> Query {
        let words: Vec<Word> = text
            .split_whitespace()
            .filter_map(|word| {
                let mut letters = Vec::new();
                let mut capitals = Vec::new();
                for c in word.chars().take(LONGEST) {
                    if let Some(letter) = fold(if c == '\\' { '/' } else { c }, keep_case) {
                        letters.push(letter);
                        capitals.push(c.is_uppercase());
                    }
                }
                let mut word = (!letters.is_empty()).then(|| Word::new(letters))?;
                if !keep_case && capitals.contains(&true) {
                    word.full.capitals = capitals;
                }
                Some(word)
            })
            .collect();
        let phrase = (words.len() > 1).then(|| {
            let text = text.trim().chars().take(LONGEST);
            Needle::new(text.filter_map(|c| fold(if c == '\\' { '/' } else { c }, keep_case)).collect())
        });
        Query { words, phrase, keep_case }
    }

    /// Returns true if the query has no words: it then matches everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns true if case is significant.
    #[must_use]
    pub fn keeps_case(&self) -> bool {
        self.keep_case
    }
}

impl Word {
    /// Returns the form without separators: it occurs wherever another form does.
    pub(crate) fn plain(&self) -> &Needle {
        self.joined.as_ref().unwrap_or(&self.full)
    }

    fn new(letters: Vec<char>) -> Word {
        let plain: Vec<char> = letters.iter().copied().filter(|c| !is_separator(*c)).collect();
        let joined = (!plain.is_empty() && plain.len() < letters.len()).then(|| Needle::new(plain));
        let mut typos = Vec::new();
        if TYPO_LENGTHS.contains(&letters.len()) {
            for at in 0..letters.len() {
                if at + 1 < letters.len() && letters[at] != letters[at + 1] {
                    let mut swapped = letters.clone();
                    swapped.swap(at, at + 1);
                    typos.push((Typo::Swapped(at), Needle::new(swapped)));
                }
            }
            for at in 0..letters.len() {
                // Dropping either of two equal neighbours has the same result.
                if letters.get(at + 1) != Some(&letters[at]) {
                    let mut dropped = letters.clone();
                    dropped.remove(at);
                    typos.push((Typo::Dropped(at), Needle::new(dropped)));
                }
            }
        }
        Word { full: Needle::new(letters), joined, typos }
    }
}

impl Needle {
    fn new(letters: Vec<char>) -> Needle {
        let bytes = letters.iter().map(|c| c.is_ascii().then_some(*c as u8)).collect();
        Needle { letters, capitals: Vec::new(), bytes }
    }
}

pub(crate) const fn is_separator(c: char) -> bool {
    matches!(c, '/' | '-' | '_' | '.' | ' ' | ':')
}
