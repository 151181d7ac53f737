//! A search through the passages of a view, which may take long and does not need the view.

use std::ops::Range;
use std::sync::Arc;

use super::passage::{Passages, SearchTarget};
use crate::text::row::Line;

/// The number of passages to search between two checks for cancellation.
const AT_ONCE: usize = 256;

/// A line of a view: its passage, and its index in the passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ViewPosition {
    pub(super) passage: usize,
    pub(super) line: usize,
}

/// A search for the caller to run.
pub struct Search {
    pub(super) passages: Arc<dyn Passages>,
    pub(super) wanted: SearchTarget,
    pub(super) from: ViewPosition,
    pub(super) forward: bool,
}

impl Search {
    /// Finds the next matching line. A text search wraps around at the end. Returns `None` if there is no match, or if
    /// `goes_on` returned false. Reads the likely passages, and all of them if none matches.
    #[must_use]
    pub fn run(&self, goes_on: &dyn Fn() -> bool) -> Option<ViewPosition> {
        let is_text = self.wanted != SearchTarget::Prompt;
        self.pass(goes_on, false).or_else(|| if is_text { self.pass(goes_on, true) } else { None })
    }

    /// Searches once through the passages; if `all`, reads every passage.
    fn pass(&self, goes_on: &dyn Fn() -> bool, all: bool) -> Option<ViewPosition> {
        let (count, from) = (self.passages.count(), self.from);
        let is_ahead = |spot: &ViewPosition| if self.forward { *spot > from } else { *spot < from };
        let (ahead, behind) = match self.forward {
            true => (from.passage..count, 0..(from.passage + 1).min(count)),
            false => (0..(from.passage + 1).min(count), from.passage..count),
        };
        let found = self.first(ahead, &is_ahead, goes_on, all);
        if found.is_some() || self.wanted == SearchTarget::Prompt {
            return found;
        }
        self.first(behind, &|spot| !is_ahead(spot), goes_on, all)
    }

    fn first(
        &self,
        mut range: Range<usize>,
        fits: &dyn Fn(&ViewPosition) -> bool,
        goes_on: &dyn Fn() -> bool,
        all: bool,
    ) -> Option<ViewPosition> {
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

    fn in_passage(&self, at: usize, fits: &dyn Fn(&ViewPosition) -> bool) -> Option<ViewPosition> {
        let passage = self.passages.read(at);
        let spots: Vec<ViewPosition> = match &self.wanted {
            SearchTarget::Prompt => {
                let begin = passage.begins.first().filter(|_| passage.is_prompt);
                begin.map(|&line| ViewPosition { passage: at, line }).into_iter().collect()
            }
            SearchTarget::Text(text) => {
                let has = |(_, line): &(usize, &Line)| line.text().to_lowercase().contains(text);
                passage
                    .lines
                    .iter()
                    .enumerate()
                    .filter(has)
                    .map(|(line, _)| ViewPosition { passage: at, line })
                    .collect()
            }
        };
        let mut spots = spots.into_iter().filter(fits);
        if self.forward { spots.next() } else { spots.next_back() }
    }
}
