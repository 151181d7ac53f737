//! Pieces of output for JavaScript.

use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use sinew::shell::output::{Chunk, ChunkData, Source};

/// Text, or bytes if they were requested.
pub(crate) type Data = Either<String, Uint8Array>;

/// A piece of the output of a command.
#[napi(object, object_from_js = false)]
pub(crate) struct OutputChunk {
    /// True for standard error, if it is separate.
    pub stderr: bool,
    pub data: Either<String, Uint8Array>,
}

impl From<Chunk> for OutputChunk {
    fn from(chunk: Chunk) -> OutputChunk {
        OutputChunk { stderr: chunk.source == Source::Stderr, data: data(chunk) }
    }
}

/// Returns the contents of a piece.
pub(crate) fn data(chunk: Chunk) -> Data {
    match chunk.data {
        ChunkData::Text(text) => Either::A(text),
        ChunkData::Bytes(bytes) => Either::B(bytes.into()),
    }
}
