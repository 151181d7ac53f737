//! Lists of documents, as gaps or one bit each, whichever is shorter, and the sets that combine them.

use crate::rice;

/// A set of numbers below a limit, one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdSet {
    words: Box<[u64]>,
    limit: u32,
}

impl IdSet {
    /// Creates an empty set.
    pub fn empty(limit: u32) -> IdSet {
        IdSet { words: vec![0; (limit as usize).div_ceil(64)].into_boxed_slice(), limit }
    }

    /// Creates the set of every number less than `limit`.
    pub fn full(limit: u32) -> IdSet {
        let mut set = IdSet { words: vec![u64::MAX; (limit as usize).div_ceil(64)].into_boxed_slice(), limit };
        if let (Some(last), used @ 1..) = (set.words.last_mut(), limit % 64) {
            *last = (1 << used) - 1;
        }
        set
    }

    /// Creates a set from its words as little-endian bytes; ignores bits at or above the limit.
    pub(crate) fn from_bytes(bytes: &[u8], limit: u32) -> IdSet {
        let mut set = IdSet::empty(limit);
        for (word, bytes) in set.words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        set.intersect(&IdSet::full(limit));
        set
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the exclusive upper bound of the members.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Adds a number; one at or above the limit changes nothing.
    pub fn insert(&mut self, id: u32) {
        if id < self.limit {
            self.words[id as usize / 64] |= 1 << (id % 64);
        }
    }

    /// Removes a number.
    pub fn remove(&mut self, id: u32) {
        if id < self.limit {
            self.words[id as usize / 64] &= !(1 << (id % 64));
        }
    }

    /// Returns true if a number is in the set.
    pub fn contains(&self, id: u32) -> bool {
        id < self.limit && self.words[id as usize / 64] >> (id % 64) & 1 == 1
    }

    /// Returns the number of members. Runs in time linear in the limit.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Keeps the numbers that are also in the other set; both must have the same limit.
    pub fn intersect(&mut self, other: &IdSet) {
        debug_assert_eq!(self.limit, other.limit);
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Adds the numbers of the other set; both must have the same limit.
    pub fn unite(&mut self, other: &IdSet) {
        debug_assert_eq!(self.limit, other.limit);
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Returns the numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter_words(|word| word)
    }

    /// Returns the numbers below the limit that are not in the set, in ascending order.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "indexes are built on Linux only"))]
    pub(crate) fn absent(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter_words(|word| !word).take_while(|number| *number < self.limit)
    }

    fn iter_words(&self, change: impl Fn(u64) -> u64 + 'static) -> impl Iterator<Item = u32> + '_ {
        let mut words = self.words.iter().zip((0..).step_by(64));
        let (mut first, mut left) = (0, 0);
        std::iter::from_fn(move || {
            while left == 0 {
                let (word, start) = words.next()?;
                (first, left) = (start, change(*word));
            }
            let bit = left.trailing_zeros();
            left &= left - 1;
            Some(first + bit)
        })
    }
}

/// An ascending traversal of a set that counts the members it has passed. Passing a member needs at most one step; 64
/// irrelevant members together need one.
pub(crate) struct Cursor<'a> {
    set: &'a IdSet,
    word: usize,
    /// The members in this word that it has not passed.
    rest: u64,
    passed: u32,
    last: Option<u32>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(set: &'a IdSet) -> Cursor<'a> {
        Cursor { set, word: 0, rest: set.words.first().copied().unwrap_or(0), passed: 0, last: None }
    }

    /// Passes all members up to `id`, which must not be less than in an earlier call; returns how many it has passed in
    /// total.
    pub(crate) fn pass_to(&mut self, id: u32) -> u32 {
        while self.word < id as usize / 64 && self.pass_word() {}
        if self.word == id as usize / 64 {
            let behind = self.rest & (u64::MAX - 1) << (id % 64);
            self.passed += (self.rest ^ behind).count_ones();
            self.rest = behind;
        }
        self.passed
    }

    /// Passes members until `count` are passed, which must not be less than in an earlier call; returns the last of
    /// them, or `None` if there are fewer.
    pub(crate) fn pass(&mut self, count: u32) -> Option<u32> {
        while self.passed + self.rest.count_ones() < count {
            if !self.pass_word() {
                return None;
            }
        }
        while self.passed < count {
            self.last = Some((self.word * 64) as u32 + self.rest.trailing_zeros());
            self.rest &= self.rest - 1;
            self.passed += 1;
        }
        self.last
    }

    /// Passes the rest of a word; returns false if it was the last.
    fn pass_word(&mut self) -> bool {
        self.passed += self.rest.count_ones();
        self.word += 1;
        let next = self.set.words.get(self.word).copied();
        self.rest = next.unwrap_or(0);
        next.is_some()
    }
}

/// The documents that contain one gram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum List {
    /// So many documents contain it that a list would rule out too few.
    All,
    /// Ascending numbers as gaps in Rice code.
    Gaps { count: u32, width: u8, code: Box<[u8]> },
    /// One bit for each document.
    Bits(IdSet),
}

impl List {
    /// Creates the list of ascending numbers less than `limit`.
    pub(crate) fn of(numbers: &[u32], limit: u32) -> List {
        // Beyond three in five, the list rules out too few documents for its size.
        if numbers.len() as u64 * 5 > u64::from(limit) * 3 && limit >= 64 {
            return List::All;
        }
        let width = rice::width_for(numbers.len(), limit);
        let code = rice::encode(numbers, width);
        if code.len() <= (limit as usize).div_ceil(8) {
            return List::Gaps { count: numbers.len() as u32, width, code };
        }
        let mut bits = IdSet::empty(limit);
        numbers.iter().for_each(|&number| bits.insert(number));
        List::Bits(bits)
    }

    /// Returns an upper limit of the number of its documents.
    pub(crate) fn len(&self, limit: u32) -> usize {
        match self {
            List::All => limit as usize,
            List::Gaps { count, .. } => *count as usize,
            List::Bits(bits) => bits.len(),
        }
    }

    /// Returns the size of the list in bytes without its fields.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            List::All => 0,
            List::Gaps { code, .. } => code.len(),
            List::Bits(bits) => bits.words.len() * 8,
        }
    }

    /// Returns its documents; nothing for [`List::All`].
    pub(crate) fn numbers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            List::All => Box::new(std::iter::empty()),
            List::Gaps { count, width, code } => Box::new(rice::decode(code, *width, *count as usize)),
            List::Bits(bits) => Box::new(bits.iter()),
        }
    }

    /// Adds its documents to a set.
    pub(crate) fn unite_into(&self, set: &mut IdSet) {
        match self {
            List::All => *set = IdSet::full(set.limit),
            List::Gaps { count, width, code } => {
                rice::decode(code, *width, *count as usize).for_each(|number| set.insert(number));
            }
            List::Bits(bits) => set.unite(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_contains_its_documents_or_all(limit in 1u32..3_000, seeds in prop::collection::vec(any::<u32>(), 0..3_000)) {
            let mut expect = IdSet::empty(limit);
            seeds.iter().for_each(|seed| expect.insert(seed % limit));
            let numbers: Vec<u32> = expect.iter().collect();
            prop_assert_eq!(numbers.len(), expect.len());
            let list = List::of(&numbers, limit);
            let mut found = IdSet::empty(limit);
            list.unite_into(&mut found);
            match list {
                List::All => prop_assert!(found == IdSet::full(limit) && numbers.len() * 5 > limit as usize * 3),
                _ => prop_assert_eq!(found, expect),
            }
            prop_assert!(list.bytes() <= (limit as usize).div_ceil(64) * 8);
        }
    }

    proptest! {
        #[test]
        fn a_cursor_counts_and_finds_members(
            limit in 0_u32..400,
            members in prop::collection::vec(any::<u32>(), 0..200),
            mut asked in prop::collection::vec(0_u32..500, 0..40),
        ) {
            let mut set = IdSet::empty(limit);
            members.iter().for_each(|member| set.insert(*member % 400));
            asked.sort_unstable();
            let members: Vec<u32> = set.iter().collect();
            let (mut by_id, mut by_count) = (Cursor::new(&set), Cursor::new(&set));
            for asked in asked {
                prop_assert_eq!(by_id.pass_to(asked) as usize, members.iter().filter(|member| **member <= asked).count());
                let nth = (asked as usize).checked_sub(1).and_then(|at| members.get(at).copied());
                prop_assert_eq!(by_count.pass(asked), nth);
            }
        }
    }

    #[test]
    fn a_full_set_ends_at_its_limit() {
        for limit in [0, 1, 63, 64, 65, 200] {
            let set = IdSet::full(limit);
            assert_eq!(set.iter().collect::<Vec<_>>(), (0..limit).collect::<Vec<_>>());
            assert_eq!(set.len(), limit as usize);
            assert!(!set.contains(limit));
        }
    }
}
