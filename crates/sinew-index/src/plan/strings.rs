//! Sets of short byte strings, as parts of a pattern can be, begin or end with.

use crate::plan::Plan;

/// The number of strings that a set keeps before it becomes a plan.
pub(super) const STRINGS: usize = 16;
/// The longest string of a set before it becomes a plan, in bytes.
const LENGTH: usize = 32;
/// The part of a string that the next join can use: with one byte of its neighbour it makes a gram.
const EDGE: usize = 2;

/// A set of byte strings, sorted. The set with the empty string alone says nothing; the set without a string says that there is
/// no match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strings(Vec<Vec<u8>>);

impl Strings {
    pub(super) fn of(strings: impl IntoIterator<Item = Vec<u8>>) -> Strings {
        let mut strings: Vec<Vec<u8>> = strings.into_iter().collect();
        strings.sort_unstable();
        strings.dedup();
        Strings(strings)
    }

    /// The set with the empty string alone.
    pub(super) fn empty_string() -> Strings {
        Strings(vec![Vec::new()])
    }

    /// Tells whether the set is so large, or a string so long, that it should become a plan.
    pub(super) fn exceeds_limits(&self) -> bool {
        self.0.len() > STRINGS || self.0.iter().any(|string| string.len() > LENGTH)
    }

    /// Returns every string of this set with every string of the other behind it; none where that would be too many to look at.
    pub(super) fn cross(&self, other: &Strings) -> Option<Strings> {
        if self.0.len() * other.0.len() > STRINGS * STRINGS {
            return None;
        }
        Some(Strings::of(self.0.iter().flat_map(|left| other.0.iter().map(|right| [&left[..], right].concat()))))
    }

    pub(super) fn union(self, other: Strings) -> Strings {
        Strings::of(self.0.into_iter().chain(other.0))
    }

    /// Returns the plan that one of the strings is in the text.
    pub(super) fn plan(&self) -> Plan {
        Plan::any_of(self.0.iter().map(|string| Plan::of_string(string)))
    }

    /// Returns the first two bytes of each string.
    pub(super) fn beginnings(&self) -> Strings {
        Strings::of(self.0.iter().map(|string| string[..string.len().min(EDGE)].to_vec()))
            .limited(|string| &string[..string.len() - 1])
    }

    /// Returns the last two bytes of each string.
    pub(super) fn ends(&self) -> Strings {
        Strings::of(self.0.iter().map(|string| string[string.len().saturating_sub(EDGE)..].to_vec()))
            .limited(|string| &string[1..])
    }

    /// Shortens the strings until the set is small enough; the empty string alone always is.
    fn limited(mut self, shorten: impl Fn(&[u8]) -> &[u8]) -> Strings {
        while self.0.len() > STRINGS {
            let longest = self.0.iter().map(Vec::len).max().unwrap_or(0);
            self = Strings::of(
                self.0
                    .iter()
                    .map(|string| if string.len() == longest { shorten(string).to_vec() } else { string.clone() }),
            );
        }
        self
    }
}
