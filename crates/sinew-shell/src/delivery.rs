//! Merged pieces on their way to a callback, until that breaks off.

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

    /// Tells whether the callback broke off.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// The moment at which a piece is to be handed over, if one is held.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        self.merger.due(now)
    }

    pub(crate) fn push(&mut self, source: Source, bytes: &[u8]) {
        if !self.broken && !bytes.is_empty() {
            self.merger.push(source, bytes);
            self.hand_over(Instant::now());
        }
    }

    /// Hands over what is due.
    pub(crate) fn hand_over(&mut self, now: Instant) {
        if !self.broken {
            let due = self.merger.take(now);
            self.deliver(due);
        }
    }

    /// Hands over the last piece.
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
