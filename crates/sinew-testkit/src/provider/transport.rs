//! How the bytes of a stream are sent.

use super::{Framing, Reply, Step};

/// How a recorded stream is sent. All variants except [`Transport::Cut`] must produce the same result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// In one piece.
    Whole,
    /// One byte per write.
    Bytes,
    /// Cut at random positions that depend on the seed, also inside characters.
    Random(u64),
    /// With CRLF line ends.
    Crlf,
    /// With a comment between events.
    Comments,
    /// The connection ends after this percentage of the stream.
    Cut(usize),
}

impl Transport {
    /// Returns the reply that sends `body` this way.
    #[must_use]
    pub fn reply(self, body: &str) -> Reply {
        let mut reply = Reply::stream("");
        reply.steps = match self {
            Transport::Whole => vec![send(body.as_bytes())],
            Transport::Bytes => {
                // A chunk per byte would send six bytes for each one.
                reply.framing = Framing::Length;
                body.as_bytes().chunks(1).map(send).collect()
            }
            Transport::Random(seed) => pieces(body.as_bytes(), seed),
            Transport::Crlf => vec![send(body.replace('\n', "\r\n").as_bytes())],
            Transport::Comments => vec![send(body.replace("\n\n", "\n\n: keep alive\n\n").as_bytes())],
            Transport::Cut(percent) => vec![send(&body.as_bytes()[..body.len() * percent / 100]), Step::Cut],
        };
        reply
    }
}

fn send(bytes: &[u8]) -> Step {
    Step::Send(bytes.to_vec())
}

fn pieces(mut bytes: &[u8], seed: u64) -> Vec<Step> {
    let mut state = seed | 1;
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        // A linear congruential generator: the positions only need to be the same in every run.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = 1 + (state >> 33) as usize % 97;
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        steps.push(send(piece));
        bytes = rest;
    }
    steps
}
