//! A search through the passages of a view, which may take long and does not need the view.

use std::ops::Range;
use std::sync::Arc;

use super::passage::{Passages, Wanted};
use crate::text::row::Line;

/// The number of passages to search between two checks for cancellation.
const AT_ONCE: usize = 256;

/// A line of a view: its passage, and its index in the passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Spot {
    pub(super) passage: usize,
    pub(super) line: usize,
}

/// A search for the caller to run.
pub struct Search {
    pub(super) passages: Arc<dyn Passages>,
    pub(super) wanted: Wanted,
    pub(super) from: Spot,
    pub(super) forward: bool,
}

impl Search {
    /// Finds the next matching line. A text search wraps around at the end. Returns `None` if there is no match, or if
    /// `goes_on` returned false. Reads the likely passages, and all of them if none matches.
    #[must_use]
    pub fn run(&self, goes_on: &dyn Fn() -> bool) -> Option<Spot> {
        let is_text = self.wanted != Wanted::Prompt;
        self.pass(goes_on, false).or_else(|| if is_text { self.pass(goes_on, true) } else { None })
    }

    /// Searches once through the passages; if `all`, reads every passage.
    fn pass(&self, goes_on: &dyn Fn() -> bool, all: bool) -> Option<Spot> {
        let (count, from) = (self.passages.count(), self.from);
        let is_ahead = |spot: &Spot| if self.forward { *spot > from } else { *spot < from };
        let (ahead, behind) = match self.forward {
            true => (from.passage..count, 0..(from.passage + 1).min(count)),
            false => (0..(from.passage + 1).min(count), from.passage..count),
        };
        let found = self.first(ahead, &is_ahead, goes_on, all);
        if found.is_some() || self.wanted == Wanted::Prompt {
            return found;
        }
        self.first(behind, &|spot| !is_ahead(spot), goes_on, all)
    }

    fn first(
        &self,
        mut range: Range<usize>,
        fits: &dyn Fn(&Spot) -> bool,
        goes_on: &dyn Fn() -> bool,
        all: bool,
    ) -> Option<Spot> {
        while !range.is_empty() && goes_on() {
            let some = match self.forward {
                true => range.start..range.end.min(range.start + AT_ONCE),
                false => range.end.saturating_sub(AT_ONCE).max(range.start)..range.end,
            };
            let next = if self.forward { some.start } else { some.end - 1 };
            let at = if all { Some(next) } else { self.passages.candidate(some.clone(), &self.wanted, self.forward) };
            if let Some(spot) = at.and_then(|at| self.in_passage(at, fits)) {
                return Some(spot);
            }
            match (at, self.forward) {
                (Some(at), true) => range.start = at + 1,
                (Some(at), false) => range.end = at,
                (None, true) => range.start = some.end,
                (None, false) => range.end = some.start,
            }
        }
        None
    }

    fn in_passage(&self, at: usize, fits: &dyn Fn(&Spot) -> bool) -> Option<Spot> {
        let passage = self.passages.read(at);
        let spots: Vec<Spot> = match &self.wanted {
            Wanted::Prompt => {
                let begin = passage.begins.first().filter(|_| passage.is_prompt);
                begin.map(|&line| Spot { passage: at, line }).into_iter().collect()
            }
            Wanted::Text(text) => {
                let has = |(_, line): &(usize, &Line)| line.text().to_lowercase().contains(text);
                passage.lines.iter().enumerate().filter(has).map(|(line, _)| Spot { passage: at, line }).collect()
            }
        };
        let mut spots = spots.into_iter().filter(fits);
        if self.forward { spots.next() } else { spots.next_back() }
    }
}
