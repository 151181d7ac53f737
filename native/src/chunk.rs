//! Pieces of output as they cross.

use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use sinew::shell::output::{Chunk, ChunkData, Source};

/// Text, or bytes where they were asked for.
pub(crate) type Data = Either<String, Uint8Array>;

/// A piece of the output of a command.
#[napi(object, object_from_js = false)]
pub(crate) struct OutputChunk {
    /// From standard error, where that is apart.
    pub stderr: bool,
    pub data: Either<String, Uint8Array>,
}

impl From<Chunk> for OutputChunk {
    fn from(chunk: Chunk) -> OutputChunk {
        OutputChunk { stderr: chunk.source == Source::Stderr, data: data(chunk) }
    }
}

/// The contents of a piece.
pub(crate) fn data(chunk: Chunk) -> Data {
    match chunk.data {
        ChunkData::Text(text) => Either::A(text),
        ChunkData::Bytes(bytes) => Either::B(bytes.into()),
    }
}
