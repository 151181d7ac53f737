//! The names in a folder as a tree keeps them: without buffers, and without what is only needed while they are sorted.

use crate::FileType;
use crate::entry::{IGNORED, KEPT, TYPE, bits_of};
use crate::walk::worker_output::{WorkerOutput, name_of};

/// A folder that is entered.
const ENTERED: u8 = 0b1_0000;
/// The number of bits of a name.
const BITS: u32 = 5;

/// The names in a folder, in their order.
#[derive(Default, PartialEq, Eq)]
pub(super) struct KeptNames {
    /// One behind the other.
    text: Box<[u8]>,
    /// The end of each name in the text, above the bits of the name.
    ends: Box<[u32]>,
    /// Path order: the index of a name, or (with the lowest bit set) all that lies below it. Empty where nothing lies below.
    steps: Box<[u32]>,
    /// A folder called `node_modules` was left out.
    pub(super) skipped_modules: bool,
}

/// A name, and what is known of what it names.
#[derive(Clone, Copy)]
pub(super) struct KeptName<'a> {
    pub(super) text: &'a [u8],
    bits: u8,
}

/// A step in path order.
pub(super) enum Step<'a> {
    Name(KeptName<'a>),
    /// All that lies below a folder.
    Below(KeptName<'a>),
}

impl KeptNames {
    /// Takes the names of a folder that was read into `output` alone. None where they have 128 MiB.
    pub(super) fn new(output: &WorkerOutput) -> Option<KeptNames> {
        let items = &output.items;
        let length: usize = items.iter().map(|item| item.length as usize).sum();
        if length.max(items.len()) >> (u32::BITS - BITS) > 0 {
            return None;
        }
        let mut text = Vec::with_capacity(length);
        let mut ends = Vec::with_capacity(items.len());
        for item in items {
            let entered = if item.child > 0 { ENTERED } else { 0 };
            text.extend_from_slice(name_of(&output.names, item));
            ends.push((text.len() as u32) << BITS | u32::from(item.bits | entered));
        }
        let is_flat = items.iter().all(|item| item.child == 0);
        let names = KeptNames {
            text: text.into(),
            ends: ends.into(),
            steps: if is_flat { Box::default() } else { output.steps().iter().map(|step| *step as u32).collect() },
            skipped_modules: output.skipped_modules,
        };
        debug_assert!(names.iter().map(|name| name.text).is_sorted_by(|left, right| left < right));
        Some(names)
    }

    /// Returns the names in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeptName<'_>> {
        (0..self.ends.len()).map(|at| self.get(at))
    }

    /// Returns the step at an index in path order.
    pub(super) fn step(&self, at: usize) -> Option<Step<'_>> {
        if self.steps.is_empty() {
            return (at < self.ends.len()).then(|| Step::Name(self.get(at)));
        }
        let step = *self.steps.get(at)?;
        let name = self.get(step as usize >> 1);
        Some(if step & 1 == 1 { Step::Below(name) } else { Step::Name(name) })
    }

    /// Tells whether a folder of this name is among them and entered.
    pub(super) fn has_entered(&self, name: &[u8]) -> bool {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).text < name { low = middle + 1 } else { high = middle }
        }
        low < self.ends.len() && self.get(low).text == name && self.get(low).is_entered()
    }

    fn get(&self, at: usize) -> KeptName<'_> {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] >> BITS);
        let end = self.ends[at];
        let bits = (end & ((1 << BITS) - 1)) as u8;
        KeptName { text: &self.text[start as usize..(end >> BITS) as usize], bits }
    }
}

impl KeptName<'_> {
    /// The bits of its entry in a scan.
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

    /// Tells whether it is left out where hidden names are.
    pub(super) fn is_hidden(self) -> bool {
        self.text.first() == Some(&b'.') && self.bits & KEPT == 0
    }
}
