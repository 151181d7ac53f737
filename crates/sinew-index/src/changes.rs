//! A log of changes, for callers that ask what changed since an earlier call.

use std::collections::HashMap;

use crate::changed_paths::ChangedPaths;

/// The maximum number of recorded paths; beyond it, everything counts as changed.
const MAX_PATHS: usize = 64 << 10;

/// The answer to [`Index::changes`](crate::Index::changes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Identifies this moment in a later call.
    pub token: String,
    /// True if more may have changed than `paths` lists.
    pub all: bool,
    /// Sorted paths, relative to the root, of files and directories that may have been added, changed or removed. A
    /// directory includes everything below it.
    pub paths: Vec<Vec<u8>>,
}

/// The paths that changed since the first call, each with the turn in which the change was reported.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    /// Part of every token, to detect tokens of another log.
    id: u64,
    turn: u64,
    /// The last turn with a change whose path is unknown.
    unknown: u64,
    turns: HashMap<Vec<u8>, u64>,
}

impl ChangeLog {
    /// Creates an empty log.
    pub(crate) fn new() -> ChangeLog {
        use std::hash::{BuildHasher, RandomState};
        ChangeLog { id: RandomState::new().hash_one(()), turn: 1, unknown: 1, turns: HashMap::new() }
    }

    /// Records the events of one barrier.
    pub(crate) fn note(&mut self, touched: &ChangedPaths) {
        if touched.all {
            self.note_unknown();
        }
        if touched.files.is_empty() && touched.folders.is_empty() {
            return;
        }
        self.turn += 1;
        for path in touched.files.iter().map(Vec::as_slice).chain(touched.folders.iter().map(|path| &**path)) {
            self.turns.insert(path.to_vec(), self.turn);
        }
        if self.turns.len() > MAX_PATHS {
            self.note_unknown();
        }
    }

    /// Records that anything may have changed.
    pub(crate) fn note_unknown(&mut self) {
        self.turn += 1;
        self.unknown = self.turn;
        self.turns = HashMap::new();
    }

    /// Returns the changes since the moment of a token.
    pub(crate) fn since(&self, token: Option<&str>) -> Changes {
        let turn = token.and_then(|token| token.split_once('-')).and_then(|(id, turn)| {
            let is_ours = u64::from_str_radix(id, 16) == Ok(self.id);
            turn.parse().ok().filter(|turn| is_ours && *turn <= self.turn)
        });
        let now = format!("{:x}-{}", self.id, self.turn);
        let Some(turn) = turn.filter(|turn| self.unknown <= *turn) else {
            return Changes { token: now, all: true, paths: Vec::new() };
        };
        let newer = self.turns.iter().filter(|(_, at)| **at > turn);
        let mut paths: Vec<Vec<u8>> = newer.map(|(path, _)| path.clone()).collect();
        paths.sort_unstable();
        // The root itself includes everything.
        let all = paths.first().is_some_and(Vec::is_empty);
        Changes { token: now, all, paths: if all { Vec::new() } else { paths } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(files: &[&str]) -> ChangedPaths {
        let mut touched = ChangedPaths::default();
        files.iter().for_each(|path| touched.add_file(path.as_bytes().to_vec()));
        touched
    }

    #[test]
    fn a_token_identifies_its_moment_in_every_use() {
        let mut log = ChangeLog::new();
        let first = log.since(None);
        assert!(first.all && first.paths.is_empty());
        log.note(&touched(&["b", "a"]));
        let second = log.since(Some(&first.token));
        assert_eq!((second.all, &second.paths), (false, &vec![b"a".to_vec(), b"b".to_vec()]));
        log.note(&touched(&["c"]));
        assert_eq!(log.since(Some(&first.token)).paths.len(), 3);
        assert_eq!(log.since(Some(&second.token)).paths, [b"c"]);
        let third = log.since(Some(&second.token)).token;
        assert_eq!(log.since(Some(&third)), Changes { token: third.clone(), ..Changes::default() });
    }

    #[test]
    fn reports_everything_for_unknown_tokens_and_paths() {
        let mut log = ChangeLog::new();
        let token = log.since(None).token;
        let other = ChangeLog::new().since(None).token;
        let later = format!("{}0", token);
        for bad in ["", "-", "x-1", "1", other.as_str(), later.as_str(), "ffffffffffffffffffffffff-1"] {
            assert!(log.since(Some(bad)).all, "{bad:?}");
        }
        log.note(&ChangedPaths::everything());
        assert!(log.since(Some(&token)).all, "lost events");
        let token = log.since(Some(&token)).token;
        log.note(&touched(&[""]));
        assert!(log.since(Some(&token)).all, "the root itself");
        let token = log.since(Some(&token)).token;
        (0..=MAX_PATHS).for_each(|file| log.note(&touched(&[&file.to_string()])));
        assert!(log.since(Some(&token)).all, "too many");
        assert!(log.turns.len() < 4, "the memory is released");
    }
}
