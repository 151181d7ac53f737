//! Few large chunks out of many small reads.

use std::time::{Duration, Instant};

use super::Decoder;

/// The least time between two chunks, unless the first of these is full.
pub const MERGE_INTERVAL: Duration = Duration::from_millis(8);

/// Number of bytes of text that make a chunk full.
pub const MERGE_BYTES: usize = 64 * 1024;

/// Collects decoded output and tells when a chunk is due: at once after a pause of [`MERGE_INTERVAL`], else when
/// that time is over or [`MERGE_BYTES`] are there. It holds no clock and does not wait; who owns it does.
#[derive(Debug, Default)]
pub struct Merger {
    decoder: Decoder,
    text: String,
    last: Option<Instant>,
}

impl Merger {
    /// Takes in what was read. Call [`Merger::take`] after every push, so that it never holds more than one
    /// chunk and one read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes, &mut self.text);
    }

    /// Returns the time at which [`Merger::take`] will give a chunk: `None` while there is none, a time in the past
    /// when it is due.
    #[must_use]
    pub fn due(&self, now: Instant) -> Option<Instant> {
        match self.last {
            _ if self.text.is_empty() => None,
            Some(last) if self.text.len() < MERGE_BYTES => Some(last + MERGE_INTERVAL),
            _ => Some(now),
        }
    }

    /// The chunk that is due at `now`, if any.
    pub fn take(&mut self, now: Instant) -> Option<String> {
        let due = self.due(now)?;
        if due > now {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.text))
    }

    /// Everything that is left, due or not: the stream is over.
    pub fn finish(&mut self) -> Option<String> {
        self.decoder.finish(&mut self.text);
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_chunk_comes_at_once_and_the_next_after_the_interval() {
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
    fn a_full_chunk_does_not_wait() {
        let (mut merger, start) = (Merger::default(), Instant::now());
        merger.push(b"a");
        merger.take(start);
        merger.push(&vec![b'x'; MERGE_BYTES]);
        assert_eq!(merger.take(start).map(|text| text.len()), Some(MERGE_BYTES));
    }

    #[test]
    fn the_end_gives_what_is_left_with_a_replacement_for_half_a_character() {
        let (mut merger, start) = (Merger::default(), Instant::now());
        merger.push(b"a");
        merger.take(start);
        merger.push(b"b\xe6\xbc");
        assert_eq!(merger.finish().as_deref(), Some("b\u{FFFD}"));
        assert_eq!(merger.finish(), None);
    }
}
