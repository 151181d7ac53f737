//! The end offsets of concatenated texts, four bytes each.

/// End offsets in ascending order, each up to 2⁶⁴ bytes.
#[derive(Debug, Default)]
pub(crate) struct EndOffsets {
    /// The low 32 bits of each offset.
    low: Vec<u32>,
    /// For each 4 GiB of text the index of the first end after it; empty except for very large texts.
    carries: Vec<u32>,
}

impl EndOffsets {
    pub(crate) fn with_capacity(count: usize) -> EndOffsets {
        EndOffsets { low: Vec::with_capacity(count), carries: Vec::new() }
    }

    /// Adds an end that is not less than the last one. The index must be less than 2³², as every row of a scan is.
    pub(crate) fn push(&mut self, end: usize) {
        while self.carries.len() < end >> 32 {
            self.carries.push(self.low.len() as u32);
        }
        self.low.push(end as u32);
    }

    /// Returns the byte range of the text at an index.
    ///
    /// # Panics
    /// Panics if `index` is out of bounds.
    pub(crate) fn range(&self, index: usize) -> std::ops::Range<usize> {
        index.checked_sub(1).map_or(0, |before| self.end(before))..self.end(index)
    }

    #[cfg(unix)]
    pub(crate) fn shrink_to_fit(&mut self) {
        self.low.shrink_to_fit();
    }

    fn end(&self, index: usize) -> usize {
        let low = self.low[index] as usize;
        if self.carries.is_empty() {
            return low;
        }
        self.carries.partition_point(|carry| *carry as usize <= index) << 32 | low
    }
}

impl FromIterator<usize> for EndOffsets {
    fn from_iter<I: IntoIterator<Item = usize>>(given: I) -> EndOffsets {
        let mut ends = EndOffsets::default();
        given.into_iter().for_each(|end| ends.push(end));
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_ends_beyond_4_gib() {
        let four = 1_usize << 32;
        let given = [0, 7, 7, four - 1, four, four + 5, 4 * four + 1, 4 * four + 1, 5 * four];
        let ends = EndOffsets::from_iter(given);
        let ranges: Vec<_> = (0..given.len()).map(|index| ends.range(index)).collect();
        let starts = std::iter::once(0).chain(given);
        assert_eq!(ranges, starts.zip(given).map(|(start, end)| start..end).collect::<Vec<_>>());
    }
}
