//! The passages of a view, which are read when they are shown or searched.

use std::ops::Range;

use crate::text::row::Line;

/// A part of a view that is read at once.
#[derive(Debug, Clone, Default)]
pub struct Passage {
    /// The lines; empty if there is nothing to show.
    pub lines: Vec<Line>,
    /// The lines that begin a part: a prompt, an answer, a call. Lines before the first one belong to a part of an
    /// earlier passage.
    pub begins: Vec<usize>,
    /// True if a prompt begins the passage.
    pub is_prompt: bool,
}

/// The target of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchTarget {
    /// A line with this lower-case text, ignoring case.
    Text(String),
    /// The beginning of a prompt.
    Prompt,
}

/// All passages of a view, in order.
pub trait Passages: Send + Sync {
    /// Returns their number, which never changes.
    fn count(&self) -> usize;

    /// Reads a passage. Called from the thread that handles keys, so it must run in time linear in the passage.
    fn read(&self, at: usize) -> Passage;

    /// Returns the first passage of a range that may contain the target, or the last one for a backward search. Skipped
    /// passages never begin with a prompt, and are unlikely to contain the text: if a text is not found, every passage
    /// is searched.
    fn candidate(&self, range: Range<usize>, wanted: &SearchTarget, forward: bool) -> Option<usize>;
}

/// Passages in memory.
#[derive(Debug, Default)]
pub struct ReadPassages {
    passages: Vec<Passage>,
}

impl ReadPassages {
    /// Creates a view of these passages.
    #[must_use]
    pub fn new(passages: Vec<Passage>) -> ReadPassages {
        ReadPassages { passages }
    }

    /// Splits lines without beginnings into passages of a few hundred lines.
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

    fn candidate(&self, range: Range<usize>, wanted: &SearchTarget, forward: bool) -> Option<usize> {
        let fits = |at: &usize| *wanted != SearchTarget::Prompt || self.passages[*at].is_prompt;
        if forward { range.clone().find(fits) } else { range.clone().rev().find(fits) }
    }
}
