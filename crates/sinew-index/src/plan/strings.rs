//! Sets of short byte strings: the possible strings, prefixes or suffixes of a part of a pattern.

use crate::plan::Plan;

/// The maximum number of strings in a set before it is converted to a plan.
pub(super) const STRINGS: usize = 16;
/// The maximum length of a string before the set is converted to a plan, in bytes.
const LENGTH: usize = 32;
/// The length of the prefix or suffix that the next concatenation can use: with one byte of its neighbour it forms a
/// gram.
const EDGE: usize = 2;

/// A sorted set of byte strings. A set with only the empty string contains no information; an empty set means that
/// there is no match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strings(Vec<Vec<u8>>);

impl Strings {
    pub(super) fn of(strings: impl IntoIterator<Item = Vec<u8>>) -> Strings {
        let mut strings: Vec<Vec<u8>> = strings.into_iter().collect();
        strings.sort_unstable();
        strings.dedup();
        Strings(strings)
    }

    /// Returns the set with only the empty string.
    pub(super) fn empty_string() -> Strings {
        Strings(vec![Vec::new()])
    }

    /// Returns true if the set or one of its strings is so large that it should be converted to a plan.
    pub(super) fn exceeds_limits(&self) -> bool {
        self.0.len() > STRINGS || self.0.iter().any(|string| string.len() > LENGTH)
    }

    /// Returns every string of this set concatenated with every string of the other; `None` if there would be too many.
    pub(super) fn cross(&self, other: &Strings) -> Option<Strings> {
        if self.0.len() * other.0.len() > STRINGS * STRINGS {
            return None;
        }
        Some(Strings::of(self.0.iter().flat_map(|left| other.0.iter().map(|right| [&left[..], right].concat()))))
    }

    pub(super) fn union(self, other: Strings) -> Strings {
        Strings::of(self.0.into_iter().chain(other.0))
    }

    /// Returns the plan for a text that contains one of the strings.
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

    /// Shortens the strings until the set is small enough; a set with only the empty string always is.
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
