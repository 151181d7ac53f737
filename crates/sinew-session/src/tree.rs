//! The tree of a session: parents, children, the leaf. Does not access files.
//!
//! A node needs about a hundred bytes independently of its entry, so that a session of a gigabyte fits in memory.

use std::collections::{HashMap, hash_map};
use std::fmt;

use super::entry::{Entry, Kind};

/// The location of an entry's text.
#[derive(Debug, Clone)]
pub(super) enum EntryLocation {
    /// In the file: offset and length of the line, without its line feed.
    Disk { offset: u64, length: u32 },
    /// In memory: the session has no file, or could not write it.
    Memory(Box<Entry>),
}

/// The id of an entry. Ids of eight characters, which all known writers use, need no allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Id {
    Short([u8; 8]),
    Long(Box<str>),
}

impl From<&str> for Id {
    fn from(text: &str) -> Id {
        match text.as_bytes().try_into() {
            Ok(short) => Id::Short(short),
            Err(_) => Id::Long(text.into()),
        }
    }
}

impl std::ops::Deref for Id {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            // Created from complete text only.
            Id::Short(bytes) => str::from_utf8(bytes).unwrap_or_default(),
            Id::Long(text) => text,
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

/// Represents no node.
const NONE: u32 = u32::MAX;

/// An entry in the tree.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: Id,
    /// The time in milliseconds since the epoch; 0 if the entry has none.
    pub(super) time: i64,
    pub(super) place: EntryLocation,
    parent: u32,
    /// The youngest child; the others are linked by `older`.
    child: u32,
    older: u32,
    pub(super) kind: Kind,
}

impl Node {
    pub(super) fn parent(&self) -> Option<usize> {
        (self.parent != NONE).then_some(self.parent as usize)
    }
}

/// All entries in file order.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    by_id: HashMap<Id, u32>,
    /// The youngest root; the others are linked by `older`.
    root: u32,
    leaf: Option<usize>,
    /// Entries whose parents have not been read yet.
    waiting: Vec<(u32, Id)>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { nodes: Vec::new(), by_id: HashMap::new(), root: NONE, leaf: None, waiting: Vec::new() }
    }
}

impl Tree {
    /// Reserves memory for more entries.
    pub(super) fn reserve(&mut self, more: usize) {
        self.nodes.reserve(more);
        self.by_id.reserve(more);
    }

    /// Adds an entry; returns false if its id is already used. An entry with an unknown parent is a root until
    /// [`Tree::settle`].
    pub(super) fn push(&mut self, id: Id, parent: Option<Id>, time: i64, kind: Kind, place: EntryLocation) -> bool {
        let Ok(index) = u32::try_from(self.nodes.len()) else { return false };
        if index == NONE {
            return false;
        }
        let above = match parent {
            None => NONE,
            // Nearly always the previous entry, which needs no table lookup.
            Some(parent) if self.nodes.last().is_some_and(|last| last.id == parent) => index - 1,
            Some(parent) => self.by_id.get(&parent).copied().unwrap_or_else(|| {
                self.waiting.push((index, parent));
                NONE
            }),
        };
        match self.by_id.entry(id.clone()) {
            hash_map::Entry::Vacant(free) => free.insert(index),
            hash_map::Entry::Occupied(_) => {
                self.waiting.pop_if(|(at, _)| *at == index);
                return false;
            }
        };
        self.nodes.push(Node { id, time, place, parent: NONE, child: NONE, older: NONE, kind });
        self.hang(index, above);
        if kind != Kind::Aside {
            self.leaf = Some(index as usize);
        }
        true
    }

    fn hang(&mut self, index: u32, parent: u32) {
        let first = if parent == NONE { &mut self.root } else { &mut self.nodes[parent as usize].child };
        let older = std::mem::replace(first, index);
        self.nodes[index as usize].older = older;
        self.nodes[index as usize].parent = parent;
    }

    /// Attaches entries that precede their parent in the file; others stay roots. Returns the number of entries that
    /// stay roots because they would form a cycle. Runs in nearly linear time.
    pub(super) fn settle(&mut self) -> usize {
        let waiting = std::mem::take(&mut self.waiting);
        let mut found: Vec<(u32, u32)> =
            waiting.into_iter().filter_map(|(index, parent)| Some((index, *self.by_id.get(&parent)?))).collect();
        if found.is_empty() {
            return 0;
        }
        // The top of each entry's branch; each lookup shortens the path for the next one.
        let mut above: Vec<u32> =
            (0u32..).zip(&self.nodes).map(|(at, node)| if node.parent == NONE { at } else { node.parent }).collect();
        let top = |above: &mut Vec<u32>, mut at: u32| {
            while above[at as usize] != at {
                above[at as usize] = above[above[at as usize] as usize];
                at = above[at as usize];
            }
            at
        };
        let mut circles = 0;
        found.retain(|(index, parent)| {
            let free = top(&mut above, *parent) != *index;
            if free {
                above[*index as usize] = *parent;
            } else {
                circles += 1;
            }
            free
        });
        for (index, parent) in found {
            self.nodes[index as usize].parent = parent;
        }
        self.link();
        circles
    }

    /// Links the children again, in file order.
    fn link(&mut self) {
        self.root = NONE;
        for node in &mut self.nodes {
            node.child = NONE;
        }
        for index in 0..self.nodes.len() {
            let parent = self.nodes[index].parent;
            // The length fits, because `push` checked it.
            self.hang(index as u32, parent);
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(&Id::from(id)).map(|at| *at as usize)
    }

    pub(super) fn leaf(&self) -> Option<usize> {
        self.leaf
    }

    /// Moves the leaf: the next entry becomes its child, or a root.
    pub(super) fn set_leaf(&mut self, leaf: Option<usize>) {
        self.leaf = leaf;
    }

    /// Returns the path from the root to `leaf`, including both.
    pub(super) fn path(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(leaf, |&at| self.nodes[at].parent()).collect();
        path.reverse();
        path
    }

    /// Returns the children of an entry, or the roots: by time, then in file order. Runs in time linear in the result.
    pub(super) fn children(&self, of: Option<usize>) -> Vec<usize> {
        let mut next = of.map_or(self.root, |at| self.nodes[at].child);
        let mut children = Vec::new();
        while next != NONE {
            children.push(next as usize);
            next = self.nodes[next as usize].older;
        }
        children.reverse();
        children.sort_by_key(|&at| self.nodes[at].time);
        children
    }

    /// Returns the last entry that two paths share; `None` if they share none.
    pub(super) fn common(&self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let (a, b) = (self.path(a), self.path(b));
        a.iter().zip(&b).take_while(|(a, b)| a == b).last().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, Option<&str>)]) -> (Tree, usize) {
        let mut tree = Tree::default();
        for (id, parent) in entries {
            assert!(tree.push(
                (*id).into(),
                parent.map(Id::from),
                0,
                Kind::Message,
                EntryLocation::Disk { offset: 0, length: 0 }
            ));
        }
        let circles = tree.settle();
        (tree, circles)
    }

    fn names(tree: &Tree, path: Vec<usize>) -> Vec<&str> {
        path.into_iter().map(|at| &*tree.nodes[at].id).collect()
    }

    #[test]
    fn children_can_precede_their_parent() {
        let (tree, circles) =
            tree(&[("c", Some("b")), ("b", Some("a")), ("d", Some("b")), ("a", None), ("x", Some("gone"))]);
        assert_eq!(circles, 0);
        assert_eq!(names(&tree, tree.path(tree.find("c"))), ["a", "b", "c"]);
        assert_eq!(names(&tree, tree.children(tree.find("b"))), ["c", "d"]);
        assert_eq!(names(&tree, tree.children(None)), ["a", "x"]);
    }

    #[test]
    fn a_cycle_is_broken_once() {
        let (tree, circles) = tree(&[("a", Some("c")), ("b", Some("a")), ("c", Some("b")), ("s", Some("s"))]);
        assert_eq!(circles, 2);
        assert_eq!(names(&tree, tree.path(tree.find("c"))), ["a", "b", "c"]);
        assert_eq!(names(&tree, tree.children(None)), ["a", "s"]);
    }

    #[test]
    fn a_long_file_in_reverse_order_is_linked_in_linear_time() {
        let ids: Vec<String> = (0..200_000).map(|at| format!("{at:08x}")).collect();
        let entries: Vec<(&str, Option<&str>)> =
            (0..ids.len()).map(|at| (ids[at].as_str(), ids.get(at + 1).map(String::as_str))).collect();
        let (tree, circles) = tree(&entries);
        assert_eq!((circles, tree.path(tree.find(&ids[0])).len()), (0, ids.len()));
    }

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<Node>() <= 64, "{}", size_of::<Node>());
    }
}
