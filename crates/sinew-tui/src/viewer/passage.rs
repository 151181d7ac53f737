//! The passages of a view: what it shows, read where it is shown or searched.

use std::ops::Range;

use crate::text::row::Line;

/// A part of a view that is read at once.
#[derive(Debug, Clone, Default)]
pub struct Passage {
    /// The lines; none where there is nothing to show.
    pub lines: Vec<Line>,
    /// The lines that begin something: a prompt, an answer, a call. Lines in front of the first belong to what began in
    /// an earlier passage.
    pub begins: Vec<usize>,
    /// A prompt begins it.
    pub is_prompt: bool,
}

/// The thing that a search looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A line with this text, which is in lower case, in any case of letters.
    Text(String),
    /// The beginning of a prompt.
    Prompt,
}

/// All passages of a view, in order.
pub trait Passages: Send + Sync {
    /// Returns their number, which stays the same.
    fn count(&self) -> usize;

    /// Reads one of them. Called from the thread that answers keys: it costs no more than the passage is long.
    fn read(&self, at: usize) -> Passage;

    /// Returns the first passage of a range that may have what is wanted, or the last one where the search goes back.
    /// One that is passed over begins with no prompt, and hardly has such a text: a text that is found nowhere is looked
    /// for in each passage.
    fn candidate(&self, range: Range<usize>, wanted: &Wanted, forward: bool) -> Option<usize>;
}

/// Passages that are there already.
#[derive(Debug, Default)]
pub struct ReadPassages {
    passages: Vec<Passage>,
}

impl ReadPassages {
    /// These passages.
    #[must_use]
    pub fn new(passages: Vec<Passage>) -> ReadPassages {
        ReadPassages { passages }
    }

    /// Lines that begin nothing, in passages of a few hundred.
    #[must_use]
    pub fn of_lines(lines: &[Line]) -> ReadPassages {
        let passage = |lines: &[Line]| Passage { lines: lines.to_vec(), ..Passage::default() };
        ReadPassages { passages: lines.chunks(256).map(passage).collect() }
    }
}

impl Passages for ReadPassages {
    fn count(&self) -> usize {
        self.passages.len()
    }

    fn read(&self, at: usize) -> Passage {
        self.passages.get(at).cloned().unwrap_or_default()
    }

    fn candidate(&self, range: Range<usize>, wanted: &Wanted, forward: bool) -> Option<usize> {
        let fits = |at: &usize| *wanted != Wanted::Prompt || self.passages[*at].is_prompt;
        if forward { range.clone().find(fits) } else { range.clone().rev().find(fits) }
    }
}
