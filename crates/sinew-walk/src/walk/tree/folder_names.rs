//! The names in a directory as a tree stores them: without buffers and without the data that only sorting needs.

use crate::FileType;
use crate::entry::{IGNORED, KEPT, TYPE, bits_of};
use crate::walk::worker_output::{WorkerOutput, name_of};

/// Set for a directory that is entered.
const ENTERED: u8 = 0b1_0000;
/// The number of flag bits of a name.
const BITS: u32 = 5;

/// The names in a directory, in order.
#[derive(Default, PartialEq, Eq)]
pub(super) struct FolderNames {
    /// For each name its end offset in the text, above its flag bits, in two bytes if all fit and in four otherwise.
    /// The concatenated names follow.
    packed: Box<[u8]>,
    count: u32,
    /// The offset where the text begins.
    head: u32,
    /// Path order: the index of a name or, with the lowest bit set, everything below it. Empty if there is nothing
    /// below.
    steps: Box<[u32]>,
    /// True if a directory named `node_modules` was excluded.
    pub(super) skipped_modules: bool,
}

/// A name and its flags.
#[derive(Clone, Copy)]
pub(super) struct FolderName<'a> {
    pub(super) text: &'a [u8],
    bits: u8,
}

/// A step in path order.
pub(super) enum Step<'a> {
    Name(FolderName<'a>),
    /// Everything below a directory.
    Below(FolderName<'a>),
}

impl FolderNames {
    /// Copies the names of the only directory read into `output`. `None` if they need 128 MiB.
    pub(super) fn new(output: &WorkerOutput) -> Option<FolderNames> {
        let items = &output.items;
        let length: usize = items.iter().map(|item| item.length as usize).sum();
        if length.max(items.len()) >> (u32::BITS - BITS) > 0 {
            return None;
        }
        let is_short = length >> (u16::BITS - BITS) == 0;
        let head = items.len() * if is_short { 2 } else { 4 };
        let mut packed = Vec::with_capacity(head + length);
        let mut end = 0;
        for item in items {
            let entered = if item.child > 0 { ENTERED } else { 0 };
            end += item.length;
            let word = end << BITS | u32::from(item.bits | entered);
            if is_short { packed.extend((word as u16).to_ne_bytes()) } else { packed.extend(word.to_ne_bytes()) }
        }
        items.iter().for_each(|item| packed.extend_from_slice(name_of(&output.names, item)));
        let is_flat = items.iter().all(|item| item.child == 0);
        let names = FolderNames {
            packed: packed.into(),
            count: items.len() as u32,
            head: head as u32,
            steps: if is_flat { Box::default() } else { output.steps().iter().map(|step| *step as u32).collect() },
            skipped_modules: output.skipped_modules,
        };
        debug_assert!(names.iter().map(|name| name.text).is_sorted_by(|left, right| left < right));
        Some(names)
    }

    /// Returns the names in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = FolderName<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Returns the step at an index in path order.
    pub(super) fn step(&self, at: usize) -> Option<Step<'_>> {
        if self.steps.is_empty() {
            return (at < self.len()).then(|| Step::Name(self.get(at)));
        }
        let step = *self.steps.get(at)?;
        let name = self.get(step as usize >> 1);
        Some(if step & 1 == 1 { Step::Below(name) } else { Step::Name(name) })
    }

    /// Returns true if the names include an entered directory of this name.
    pub(super) fn has_entered(&self, name: &[u8]) -> bool {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).text < name { low = middle + 1 } else { high = middle }
        }
        low < self.len() && self.get(low).text == name && self.get(low).is_entered()
    }

    fn len(&self) -> usize {
        self.count as usize
    }

    fn get(&self, at: usize) -> FolderName<'_> {
        let start = at.checked_sub(1).map_or(0, |before| self.word(before) >> BITS);
        let word = self.word(at);
        let text = &self.packed[self.head as usize..];
        let bits = (word & ((1 << BITS) - 1)) as u8;
        FolderName { text: &text[start as usize..(word >> BITS) as usize], bits }
    }

    /// Returns the end offset of a name, above its flag bits.
    fn word(&self, at: usize) -> u32 {
        let words = &self.packed[..self.head as usize];
        if words.len() == 2 * self.len() {
            u16::from_ne_bytes(words.as_chunks().0[at]).into()
        } else {
            u32::from_ne_bytes(words.as_chunks().0[at])
        }
    }
}

impl FolderName<'_> {
    /// Returns the bits of its entry in a scan.
    pub(super) fn entry_bits(self) -> u8 {
        self.bits & (TYPE | IGNORED)
    }

    pub(super) fn is_file(self) -> bool {
        self.bits & TYPE == bits_of(FileType::File)
    }

    pub(super) fn is_ignored(self) -> bool {
        self.bits & IGNORED != 0
    }

    pub(super) fn is_entered(self) -> bool {
        self.bits & ENTERED != 0
    }

    /// Returns true if the name is excluded when hidden names are.
    pub(super) fn is_hidden(self) -> bool {
        self.text.first() == Some(&b'.') && self.bits & KEPT == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_names_of_any_total_length() {
        for longest in [1, 2_039, 2_040, 2_041, 70_000] {
            let given = [b"a".to_vec(), b"bcd".to_vec(), b"e".repeat(longest), b"last".to_vec()];
            let mut output = WorkerOutput::default();
            given.iter().for_each(|name| output.push(name, FileType::File));
            let kept = FolderNames::new(&output).unwrap();
            assert!(kept.iter().map(|name| name.text).eq(&given), "{longest}");
            assert!(kept.iter().all(FolderName::is_file), "{longest}");
        }
    }
}
