//! Merges many small reads into few large chunks.

use std::time::{Duration, Instant};

use super::Decoder;

/// The minimum time between two chunks, unless the first one is full.
pub const MERGE_INTERVAL: Duration = Duration::from_millis(8);

/// The size at which a chunk is full, in bytes.
pub const MERGE_BYTES: usize = 64 * 1024;

/// Collects decoded output and reports when a chunk is due: at once after a pause of [`MERGE_INTERVAL`], otherwise when
/// that time has passed or [`MERGE_BYTES`] are collected. It has no clock and does not wait; the owner does.
#[derive(Debug, Default)]
pub struct Merger {
    decoder: Decoder,
    text: String,
    last: Option<Instant>,
}

impl Merger {
    /// Adds bytes that were read. Call [`Merger::take`] after every push, so that it never contains more than one chunk
    /// and one read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes, &mut self.text);
    }

    /// Returns when [`Merger::take`] will return a chunk: `None` if there is none, a time in the past if it is due.
    #[must_use]
    pub fn due(&self, now: Instant) -> Option<Instant> {
        match self.last {
            _ if self.text.is_empty() => None,
            Some(last) if self.text.len() < MERGE_BYTES => Some(last + MERGE_INTERVAL),
            _ => Some(now),
        }
    }

    /// Returns the chunk that is due at `now`; `None` if none is.
    pub fn take(&mut self, now: Instant) -> Option<String> {
        let due = self.due(now)?;
        if due > now {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.text))
    }

    /// Ends the stream and returns everything that is left; `None` if nothing is.
    pub fn finish(&mut self) -> Option<String> {
        self.decoder.finish(&mut self.text);
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivers_the_first_chunk_at_once_and_the_next_after_the_interval() {
        let (mut merger, start) = (Merger::default(), Instant::now());
        assert_eq!(merger.due(start), None);
        merger.push(b"a");
        assert_eq!(merger.take(start).as_deref(), Some("a"));
        merger.push(b"b");
        let soon = start + MERGE_INTERVAL / 2;
        assert_eq!((merger.take(soon), merger.due(soon)), (None, Some(start + MERGE_INTERVAL)));
        merger.push(b"c");
        assert_eq!(merger.take(start + MERGE_INTERVAL).as_deref(), Some("bc"));
        assert_eq!(merger.take(start + MERGE_INTERVAL * 2), None);
    }

    #[test]
    fn delivers_a_full_chunk_at_once() {
        let (mut merger, start) = (Merger::default(), Instant::now());
        merger.push(b"a");
        merger.take(start);
        merger.push(&vec![b'x'; MERGE_BYTES]);
        assert_eq!(merger.take(start).map(|text| text.len()), Some(MERGE_BYTES));
    }

    #[test]
    fn the_end_returns_the_rest_and_replaces_an_incomplete_character() {
        let (mut merger, start) = (Merger::default(), Instant::now());
        merger.push(b"a");
        merger.take(start);
        merger.push(b"b\xe6\xbc");
        assert_eq!(merger.finish().as_deref(), Some("b\u{FFFD}"));
        assert_eq!(merger.finish(), None);
    }
}
