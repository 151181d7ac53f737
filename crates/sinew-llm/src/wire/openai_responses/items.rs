//! The items of a response, found by their number or id: not every server sends both, numbers them, or keeps the ids.

use std::collections::HashMap;

use crate::assembly::{Assembly, Kind};
use crate::partial_json;

/// The maximum number of calls whose arguments wait for their item.
const MOST_WAITING: usize = 128;

/// The number and ids by which an event names its item. A missing id is empty.
#[derive(Clone, Copy)]
pub(super) struct ItemRef<'a> {
    pub(super) number: Option<u64>,
    pub(super) id: &'a str,
    /// The id of the call, if the event contains the item.
    pub(super) call: &'a str,
}

/// An item that has a block.
pub(super) struct Item {
    pub(super) index: usize,
    pub(super) kind: Kind,
    id: String,
    pub(super) call: String,
    pub(super) ended: bool,
    /// The part of the thinking that was written last: parts are separated by a blank line.
    pub(super) part: Option<(String, u64)>,
    /// The parts of the text that have arrived.
    pub(super) heard: Vec<u64>,
    /// The arguments that the first event of a call contained; empty otherwise.
    pub(super) whole: String,
}

struct Early {
    number: Option<u64>,
    id: String,
    arguments: String,
}

#[derive(Default)]
pub(super) struct Items {
    pub(super) list: Vec<Item>,
    ids: HashMap<String, usize>,
    /// The last item of each number and kind, and of each kind.
    numbers: HashMap<(Option<u64>, Kind), usize>,
    /// The arguments of calls that have not begun.
    early: Vec<Early>,
}

impl Item {
    /// Returns true if `item_ref` means this item, which has the same number or id. `last` is true for the event that
    /// ends an item.
    fn is_same(&self, item_ref: ItemRef<'_>, last: bool) -> bool {
        let is_given = |own: &str, other: &str| !own.is_empty() && !other.is_empty();
        if is_given(&self.call, item_ref.call) && self.call != item_ref.call {
            return false;
        }
        match is_given(&self.id, item_ref.id) {
            true if self.id == item_ref.id => true,
            // The ids of some servers change from event to event.
            true => !self.ended && (last || is_given(&self.call, item_ref.call)),
            false => !self.ended || last && item_ref.number.is_some(),
        }
    }

    /// Returns true if a delta that was sent after the end of this item belongs to another one.
    fn is_over(&self, item_ref: ItemRef<'_>) -> bool {
        match self.id.is_empty() || item_ref.id.is_empty() {
            true => item_ref.number.is_none(),
            false => self.id != item_ref.id,
        }
    }
}

impl Items {
    fn find(&self, item_ref: ItemRef<'_>, kind: Kind) -> Option<usize> {
        let named = self.ids.get(item_ref.id).copied().filter(|at| self.list[*at].kind == kind);
        named.or_else(|| self.numbers.get(&(item_ref.number, kind)).copied())
    }

    /// Returns the item that an event contains, if it has begun.
    pub(super) fn known(&mut self, item_ref: ItemRef<'_>, kind: Kind, last: bool) -> Option<usize> {
        let named = self.ids.get(item_ref.call).filter(|_| item_ref.number.is_none() && item_ref.id.is_empty());
        let at = named.copied().filter(|at| self.list[*at].kind == kind).or_else(|| self.find(item_ref, kind))?;
        if !self.list[at].is_same(item_ref, last) {
            return None;
        }
        if self.list[at].id.is_empty() {
            self.name(at, item_ref);
        }
        Some(at)
    }

    /// Returns the item that a delta extends: `None` if it has not begun, `Some(None)` if it has ended.
    pub(super) fn extended(&self, item_ref: ItemRef<'_>, kind: Kind) -> Option<Option<usize>> {
        let at = self.find(item_ref, kind)?;
        match &self.list[at] {
            item if !item.ended => Some(Some(at)),
            item if item.is_over(item_ref) => None,
            _ => Some(None),
        }
    }

    pub(super) fn insert(&mut self, item_ref: ItemRef<'_>, kind: Kind, index: usize) -> usize {
        let at = self.list.len();
        self.list.push(Item {
            index,
            kind,
            id: String::new(),
            call: item_ref.call.to_string(),
            ended: false,
            part: None,
            heard: Vec::new(),
            whole: String::new(),
        });
        self.numbers.insert((item_ref.number, kind), at);
        self.numbers.insert((None, kind), at);
        self.name(at, item_ref);
        at
    }

    fn name(&mut self, at: usize, item_ref: ItemRef<'_>) {
        self.list[at].id = item_ref.id.to_string();
        for id in [item_ref.id, item_ref.call] {
            if !id.is_empty() {
                self.ids.insert(id.to_string(), at);
            }
        }
    }

    /// Returns the last call with this id.
    pub(super) fn call(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied().filter(|at| self.list[*at].call == id)
    }

    /// Keeps arguments until their call begins. `last` is true for arguments that are complete.
    pub(super) fn keep(&mut self, item_ref: ItemRef<'_>, arguments: &str, last: bool, assembly: &mut Assembly) {
        assembly.hold(arguments);
        let known = self.early.iter().rposition(|early| early.number == item_ref.number && early.id == item_ref.id);
        // Beyond the limit the arguments are mixed, and reported as invalid.
        let known = known.or_else(|| self.early.len().checked_sub(1).filter(|_| self.early.len() >= MOST_WAITING));
        let at = known.unwrap_or_else(|| {
            self.early.push(Early { number: item_ref.number, id: item_ref.id.to_string(), arguments: String::new() });
            self.early.len() - 1
        });
        let kept = &mut self.early[at].arguments;
        match last {
            false => kept.push_str(arguments),
            true if partial_json::is_filled(arguments) || kept.is_empty() => *kept = arguments.to_string(),
            true => {}
        }
    }

    /// Removes and returns the arguments that were kept for a call.
    pub(super) fn take_early(&mut self, item_ref: ItemRef<'_>) -> String {
        let named = !item_ref.id.is_empty() && self.early.iter().any(|early| early.id == item_ref.id);
        let is_own = |early: &Early| match named {
            true => early.id == item_ref.id,
            false => {
                let may_be = early.number.is_some() || early.id.is_empty() || item_ref.id.is_empty();
                early.number == item_ref.number && may_be
            }
        };
        let (own, rest) = std::mem::take(&mut self.early).into_iter().partition::<Vec<_>, _>(is_own);
        self.early = rest;
        own.into_iter().map(|early| early.arguments).collect()
    }
}
