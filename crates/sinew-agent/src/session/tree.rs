//! The tree of a session: parents, children, the leaf. Knows no file.

use std::collections::HashMap;

use super::entry::{Entry, Kind};

/// Where an entry's text is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// In the file: offset and length of the line, without its line feed.
    Disk { offset: u64, length: u32 },
    /// In memory: the session has no file, or could not write it.
    Memory(Box<Entry>),
}

/// One entry as the tree knows it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: Box<str>,
    pub(super) parent: Option<usize>,
    /// Milliseconds since the epoch; 0 where the entry tells no time.
    pub(super) time: i64,
    pub(super) kind: Kind,
    pub(super) place: Place,
}

/// All entries in file order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    by_id: HashMap<Box<str>, usize>,
    leaf: Option<usize>,
}

impl Tree {
    /// Adds an entry; false when its id is taken.
    pub(super) fn push(&mut self, id: &str, parent: Option<&str>, time: i64, kind: Kind, place: Place) -> bool {
        if self.by_id.contains_key(id) {
            return false;
        }
        // A parent stands before its children in every file that was only appended to; one that does not is
        // no parent, so no cycle can arise.
        let parent = parent.and_then(|id| self.by_id.get(id).copied());
        let index = self.nodes.len();
        self.by_id.insert(id.into(), index);
        self.nodes.push(Node { id: id.into(), parent, time, kind, place });
        if kind != Kind::Aside {
            self.leaf = Some(index);
        }
        true
    }

    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn leaf(&self) -> Option<usize> {
        self.leaf
    }

    /// Moves the leaf: the next entry is a child of it, or a root.
    pub(super) fn set_leaf(&mut self, leaf: Option<usize>) {
        self.leaf = leaf;
    }

    /// From the root to `leaf`, both included.
    pub(super) fn path(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(leaf, |&at| self.nodes[at].parent).collect();
        path.reverse();
        path
    }

    /// The children of an entry, or the roots: by time, then in file order.
    pub(super) fn children(&self, of: Option<usize>) -> Vec<usize> {
        let mut children: Vec<usize> = (0..self.nodes.len()).filter(|&at| self.nodes[at].parent == of).collect();
        children.sort_by_key(|&at| self.nodes[at].time);
        children
    }

    /// The last entry that two paths share.
    pub(super) fn common(&self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let (a, b) = (self.path(a), self.path(b));
        a.iter().zip(&b).take_while(|(a, b)| a == b).last().map(|(at, _)| *at)
    }
}
