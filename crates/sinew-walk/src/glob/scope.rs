//! The directories that can contain a match of a list of globs.

use std::collections::BTreeSet;

use super::GlobSet;
use crate::FileType;
use crate::pattern::{Form, Piece, Segment};

/// More names than this are found by a listing.
const MOST_NAMES: usize = 64;

/// The paths that can match a list of globs, level by level: which directories to read, and which names in them.
#[derive(Debug, Clone)]
pub struct Scope {
    alternatives: Vec<Vec<Piece>>,
    dot: bool,
}

impl GlobSet {
    /// Returns the scope of the globs; `None` if a match can be anywhere. `name` is a path that counts as a match, too.
    #[must_use]
    pub fn scope(&self, name: Option<&str>) -> Option<Scope> {
        if self.keeps_by_default {
            return None;
        }
        let kept = self.rules.iter().filter(|rule| !rule.negated);
        let alternatives: Vec<_> = kept.flat_map(|rule| rule.alternatives.iter().cloned()).collect();
        let is_anywhere = |pieces: &Vec<Piece>| self.dot && matches!(pieces.first(), Some(Piece::Deep));
        if alternatives.iter().any(is_anywhere) {
            return None;
        }
        let mut scope = Scope { alternatives, dot: self.dot };
        scope.alternatives.extend(name.map(Scope::levels));
        Some(scope)
    }
}

impl Scope {
    /// Creates the scope of one path.
    #[must_use]
    pub fn of_path(path: &str) -> Scope {
        Scope { alternatives: vec![Scope::levels(path)], dot: true }
    }

    fn levels(path: &str) -> Vec<Piece> {
        path.split('/').map(|name| Piece::Segment(Segment::literal(name.as_bytes()))).collect()
    }

    /// Returns true if only the last level has wildcards: the scope then has few directories.
    pub(crate) fn is_narrow(&self) -> bool {
        self.alternatives.iter().all(|pieces| {
            let above = pieces.split_last().map_or(&[][..], |(_, above)| above);
            above.iter().all(|piece| name_of(piece).is_some())
        })
    }

    /// Returns the scope within the directory at `path`, relative to the root.
    pub(crate) fn within(&self, path: &[u8]) -> Level<'_> {
        let mut level = Level { scope: self, states: Vec::new() };
        for index in 0..self.alternatives.len() {
            level.add(index, 0);
        }
        if !path.is_empty() {
            for name in path.split(|byte| *byte == b'/') {
                let mut next = Level { scope: self, states: Vec::new() };
                level.step(name, |index, piece| {
                    next.add(index, piece);
                    false
                });
                level = next;
            }
        }
        level
    }
}

/// The scope within one directory: how many levels of each alternative the path of the directory has matched.
#[derive(Debug)]
pub(crate) struct Level<'a> {
    scope: &'a Scope,
    /// The index of an alternative, and that of its next piece.
    states: Vec<(usize, usize)>,
}

impl Level<'_> {
    /// Adds a state. `**` may also match no level.
    fn add(&mut self, index: usize, piece: usize) {
        let pieces = &self.scope.alternatives[index];
        // The states of one alternative are adjacent.
        let is_known =
            self.states.iter().rev().take_while(|(other, _)| *other == index).any(|(_, known)| *known == piece);
        if piece < pieces.len() && !is_known {
            self.states.push((index, piece));
            if matches!(pieces[piece], Piece::Deep) {
                self.add(index, piece + 1);
            }
        }
    }

    /// Calls `each` for the states after `name` until it returns true; returns true if it did.
    fn step(&self, name: &[u8], mut each: impl FnMut(usize, usize) -> bool) -> bool {
        self.states.iter().any(|(index, piece)| match &self.scope.alternatives[*index][*piece] {
            Piece::Deep => (self.scope.dot || name.first() != Some(&b'.')) && each(*index, *piece),
            Piece::Segment(segment) => segment.matches(name, self.scope.dot) && each(*index, piece + 1),
        })
    }

    /// Returns true if the name, or something below it, can match.
    pub(crate) fn admits(&self, name: &[u8], file_type: FileType) -> bool {
        let may_enter = file_type != FileType::File;
        self.step(name, |index, piece| may_enter || piece == self.scope.alternatives[index].len())
    }

    /// Returns true if something below the name can match.
    pub(crate) fn enters(&self, name: &[u8]) -> bool {
        self.step(name, |index, piece| piece < self.scope.alternatives[index].len())
    }

    /// Returns the only names that can match here; `None` if there is a wildcard or there are many names.
    #[cfg_attr(not(unix), allow(dead_code, reason = "other systems list every directory"))]
    pub(crate) fn names(&self) -> Option<BTreeSet<&[u8]>> {
        if self.states.len() > MOST_NAMES {
            return None;
        }
        self.states.iter().map(|(index, piece)| name_of(&self.scope.alternatives[*index][*piece])).collect()
    }
}

/// Returns the only name that a piece matches; `None` if it has wildcards.
fn name_of(piece: &Piece) -> Option<&[u8]> {
    match piece {
        Piece::Segment(segment) => match &segment.form {
            Form::Literal(name) => Some(name),
            _ => None,
        },
        Piece::Deep => None,
    }
}
