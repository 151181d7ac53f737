//! The blocks of an answer, indexed so that accessing one block never scans all of them.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::Kind;
use crate::message::{Block, TextBlock, ThinkingBlock, ToolCall};
use crate::partial_json;

/// A block being assembled.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) kind: Kind,
    /// Text, thinking, or the JSON of the arguments.
    pub(super) text: String,
    /// The first half of a character at the end of the last delta; `None` otherwise.
    pub(super) half: Option<u16>,
    pub(super) signature: Option<String>,
    pub(super) redacted: bool,
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments of a call that has ended, or why they are invalid; `None` before.
    pub(super) arguments: Option<Result<Value, String>>,
    pub(super) ended: bool,
}

/// All blocks, in order.
#[derive(Debug, Default)]
pub(super) struct Slots {
    list: Vec<Slot>,
    /// The ids of the calls.
    ids: HashSet<String>,
    calls: usize,
    /// Text and thinking blocks that have not ended.
    open: BTreeSet<usize>,
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Slot> {
        #[cfg(test)]
        super::tests::LOOKS.with(|looks| looks.set(looks.get() + 1));
        self.list.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Slot> {
        #[cfg(test)]
        super::tests::LOOKS.with(|looks| looks.set(looks.get() + 1));
        self.list.get_mut(index)
    }

    pub(super) fn last(&self) -> Option<&Slot> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Returns the tool calls in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Slot> {
        self.list.iter().filter(|slot| slot.kind == Kind::ToolCall)
    }

    /// Begins a block and returns its index.
    pub(super) fn push(&mut self, kind: Kind) -> usize {
        let index = self.list.len();
        if kind != Kind::ToolCall {
            self.open.insert(index);
        }
        self.list.push(Slot {
            kind,
            text: String::new(),
            half: None,
            signature: None,
            redacted: false,
            id: String::new(),
            name: String::new(),
            arguments: None,
            ended: false,
        });
        index
    }

    /// Begins a call and returns its index and id: a missing id is generated from `timestamp`, and a duplicate id is
    /// changed.
    pub(super) fn push_call(&mut self, id: &str, name: &str, timestamp: i64) -> (usize, String) {
        let index = self.push(Kind::ToolCall);
        self.calls += 1;
        let mut unique = id.to_string();
        if unique.is_empty() {
            unique = format!("call_{}_{}", self.calls, base36(timestamp.unsigned_abs()));
        }
        // The number grows with each call, so the second attempt succeeds unless a server guesses the id.
        while !self.ids.insert(unique.clone()) {
            unique = format!("{unique}_{}", self.calls);
        }
        if let Some(slot) = self.get_mut(index) {
            slot.id.clone_from(&unique);
            slot.name = name.to_string();
        }
        (index, unique)
    }

    /// Returns the text and thinking blocks that have not ended, in order.
    pub(super) fn open_runs(&self) -> Vec<usize> {
        self.open.iter().copied().collect()
    }

    /// Marks a block as ended and returns it; `None` if it had already ended.
    pub(super) fn end(&mut self, index: usize) -> Option<&mut Slot> {
        self.open.remove(&index);
        let slot = self.get_mut(index).filter(|slot| !slot.ended)?;
        slot.ended = true;
        Some(slot)
    }

    /// Returns the blocks of the final message. `whole` is true for a complete answer.
    pub(super) fn into_blocks(self, whole: bool) -> Vec<Block> {
        self.list.into_iter().filter_map(|slot| slot.into_block(whole)).collect()
    }
}

impl Slot {
    /// Returns true if the arguments of a call are complete. Empty arguments are complete once the server has ended the
    /// call.
    pub(super) fn is_whole(&self) -> bool {
        match &self.arguments {
            Some(arguments) => arguments.is_ok(),
            None => !self.text.trim().is_empty() && partial_json::parse_strict(&self.text).is_ok(),
        }
    }

    pub(super) fn call(&self) -> ToolCall {
        let (arguments, invalid) = match &self.arguments {
            Some(Ok(value)) => (value.clone(), None),
            Some(Err(reason)) => (partial_json::parse(&self.text), Some(reason.clone())),
            None => (partial_json::parse(&self.text), None),
        };
        ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments,
            thought_signature: self.signature.clone(),
            partial_json: None,
            invalid_arguments: invalid,
        }
    }

    /// Returns the block of the final message; `None` for an empty block, and for an incomplete call of an incomplete
    /// answer.
    fn into_block(self, whole: bool) -> Option<Block> {
        match self.kind {
            Kind::ToolCall if !whole && !matches!(self.arguments, Some(Ok(_))) => None,
            Kind::ToolCall => Some(Block::ToolCall(self.call())),
            _ if self.text.is_empty() && self.signature.is_none() => None,
            Kind::Text => Some(Block::Text(TextBlock { text: self.text, signature: self.signature })),
            Kind::Thinking => Some(Block::Thinking(ThinkingBlock {
                thinking: self.text,
                thinking_signature: self.signature,
                redacted: self.redacted,
            })),
        }
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
