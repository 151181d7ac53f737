//! The output of a program as chunks that name their stream.

use std::collections::VecDeque;
use std::time::Instant;

use super::{Decoder, MERGE_BYTES, MERGE_INTERVAL};

/// A stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// Standard output, and every stream that shares its descriptor.
    #[default]
    Stdout,
    /// Standard error, if it has a separate descriptor.
    Stderr,
}

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Text: UTF-8 is decoded across chunk boundaries, invalid bytes become U+FFFD.
    #[default]
    Text,
    /// The raw bytes.
    Bytes,
}

/// A chunk of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The stream that it was read from.
    pub source: Source,
    /// The content.
    pub data: ChunkData,
}

/// The contents of a [`Chunk`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkData {
    /// Text, with [`Encoding::Text`].
    Text(String),
    /// Raw bytes, with [`Encoding::Bytes`].
    Bytes(Vec<u8>),
}

impl Chunk {
    /// Creates a chunk of text from standard output.
    #[must_use]
    pub fn text(text: String) -> Chunk {
        Chunk { source: Source::Stdout, data: ChunkData::Text(text) }
    }

    /// Returns the chunk as text in either format.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.data {
            ChunkData::Text(text) => text,
            ChunkData::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    fn len(&self) -> usize {
        match &self.data {
            ChunkData::Text(text) => text.len(),
            ChunkData::Bytes(bytes) => bytes.len(),
        }
    }
}

/// Merges small reads of two streams into few chunks, in the order in which they were read, with the timing of a
/// [`super::Merger`].
#[derive(Debug, Default)]
pub struct StreamMerger {
    encoding: Encoding,
    decoders: [Decoder; 2],
    queue: VecDeque<Chunk>,
    len: usize,
    last: Option<Instant>,
}

impl StreamMerger {
    /// Creates a merger with this format.
    #[must_use]
    pub fn new(encoding: Encoding) -> StreamMerger {
        StreamMerger { encoding, ..StreamMerger::default() }
    }

    /// Adds bytes that were read. Call [`StreamMerger::take`] after every push.
    pub fn push(&mut self, source: Source, bytes: &[u8]) {
        if self.queue.back().is_none_or(|last| last.source != source) {
            let data = match self.encoding {
                Encoding::Text => ChunkData::Text(String::new()),
                Encoding::Bytes => ChunkData::Bytes(Vec::new()),
            };
            self.queue.push_back(Chunk { source, data });
        }
        let Some(last) = self.queue.back_mut() else { return };
        let before = last.len();
        match &mut last.data {
            ChunkData::Text(text) => self.decoders[source as usize].push(bytes, text),
            ChunkData::Bytes(all) => all.extend_from_slice(bytes),
        }
        self.len += last.len() - before;
    }

    /// Returns when [`StreamMerger::take`] will return something: `None` if there is nothing.
    #[must_use]
    pub fn due(&self, now: Instant) -> Option<Instant> {
        match self.last {
            _ if self.len == 0 => None,
            Some(last) if self.len < MERGE_BYTES => Some(last + MERGE_INTERVAL),
            _ => Some(now),
        }
    }

    /// Returns the chunks that are due at `now`.
    pub fn take(&mut self, now: Instant) -> VecDeque<Chunk> {
        if self.due(now).is_none_or(|due| due > now) {
            return VecDeque::new();
        }
        self.last = Some(now);
        self.all()
    }

    /// Ends the streams and returns everything that is left.
    pub fn finish(&mut self) -> VecDeque<Chunk> {
        if self.encoding == Encoding::Text {
            for source in [Source::Stdout, Source::Stderr] {
                let mut rest = String::new();
                self.decoders[source as usize].finish(&mut rest);
                if !rest.is_empty() {
                    // After the data read from its stream, which has ended.
                    self.push(source, rest.as_bytes());
                }
            }
        }
        self.all()
    }

    fn all(&mut self) -> VecDeque<Chunk> {
        self.len = 0;
        let mut all = std::mem::take(&mut self.queue);
        // A read that only contains the start of a character yields an empty chunk.
        all.retain(|chunk| chunk.len() > 0);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(chunks: VecDeque<Chunk>) -> Vec<(Source, String)> {
        chunks.into_iter().map(|chunk| (chunk.source, chunk.into_text())).collect()
    }

    #[test]
    fn keeps_the_order_of_reads_and_decodes_each_stream_separately() {
        let mut merger = StreamMerger::default();
        let parts: [(Source, &[u8]); 6] = [
            (Source::Stdout, b"a\xc3"),
            (Source::Stderr, b"!\xe6\xbc"),
            (Source::Stdout, b"\xa9b"),
            (Source::Stdout, b"c"),
            (Source::Stderr, b"\xa2"),
            (Source::Stderr, b"\xe6"),
        ];
        for (source, bytes) in parts {
            merger.push(source, bytes);
        }
        let expect = [
            (Source::Stdout, "a"),
            (Source::Stderr, "!"),
            (Source::Stdout, "\u{e9}bc"),
            (Source::Stderr, "\u{6f22}\u{fffd}"),
        ];
        assert_eq!(texts(merger.finish()), expect.map(|(source, text)| (source, text.to_string())));
        assert!(merger.finish().is_empty());
    }

    #[test]
    fn keeps_bytes_unchanged() {
        let mut merger = StreamMerger::new(Encoding::Bytes);
        merger.push(Source::Stdout, b"\xff\0");
        merger.push(Source::Stdout, b"\xc3");
        let data = ChunkData::Bytes(b"\xff\0\xc3".to_vec());
        assert_eq!(merger.finish(), [Chunk { source: Source::Stdout, data }]);
    }

    #[test]
    fn delivers_at_once_after_a_pause_or_when_full() {
        let (mut merger, start) = (StreamMerger::default(), Instant::now());
        assert_eq!(merger.due(start), None);
        merger.push(Source::Stdout, b"a");
        assert_eq!(merger.take(start), [Chunk::text("a".into())]);
        merger.push(Source::Stderr, b"b");
        assert_eq!(merger.due(start), Some(start + MERGE_INTERVAL));
        assert!(merger.take(start).is_empty());
        merger.push(Source::Stdout, &vec![b'x'; MERGE_BYTES]);
        assert_eq!(merger.take(start).len(), 2);
    }
}
