//! Delivers merged output chunks to a callback until it returns `Break`.

use std::collections::VecDeque;
use std::time::Instant;

use crate::OnStreamChunk;
use crate::output::{Chunk, Encoding, Source, StreamMerger};

pub(crate) struct Delivery<'a> {
    merger: StreamMerger,
    on_chunk: OnStreamChunk<'a>,
    broken: bool,
}

impl<'a> Delivery<'a> {
    pub(crate) fn new(encoding: Encoding, on_chunk: OnStreamChunk<'a>) -> Delivery<'a> {
        Delivery { merger: StreamMerger::new(encoding), on_chunk, broken: false }
    }

    /// Returns true if the callback returned `Break`.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns when the next chunk is due; `None` if there is none.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        self.merger.due(now)
    }

    pub(crate) fn push(&mut self, source: Source, bytes: &[u8]) {
        if !self.broken && !bytes.is_empty() {
            self.merger.push(source, bytes);
            self.hand_over(Instant::now());
        }
    }

    /// Delivers the chunk that is due.
    pub(crate) fn hand_over(&mut self, now: Instant) {
        if !self.broken {
            let due = self.merger.take(now);
            self.deliver(due);
        }
    }

    /// Delivers the last chunk.
    pub(crate) fn finish(mut self) {
        let rest = self.merger.finish();
        self.deliver(rest);
    }

    fn deliver(&mut self, chunks: VecDeque<Chunk>) {
        for chunk in chunks {
            if self.broken {
                return;
            }
            self.broken = (self.on_chunk)(chunk).is_break();
        }
    }
}
