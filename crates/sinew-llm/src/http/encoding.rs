//! Bodies that came compressed: what a piece holds comes out with that piece, so that no event of a stream
//! waits for the next.

use std::collections::VecDeque;
use std::io::Write;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use super::error::{HttpError, HttpErrorKind};

/// Compressed bytes that are read at once. They grow at most about a thousandfold, so that one step takes
/// at most some 16 MB.
const STEP: usize = 16 * 1024;

/// A compressed body on its way.
pub(super) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// Bytes that have come and are not read yet.
    waiting: VecDeque<Bytes>,
    /// Nothing more comes.
    ended: bool,
    /// Something has come: a body without any byte is an empty one, whatever its header says.
    begun: bool,
}

impl Gunzip {
    /// The decoder that the head asks for; None for a body that is sent as it is.
    ///
    /// # Errors
    /// The server used an encoding that was not asked for.
    pub(super) fn for_head(headers: &HeaderMap) -> Result<Option<Gunzip>, HttpError> {
        let Some(value) = headers.get(CONTENT_ENCODING) else { return Ok(None) };
        let name = String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase();
        match name.as_str() {
            "" | "identity" => Ok(None),
            "gzip" | "x-gzip" => Ok(Some(Gunzip {
                decoder: MultiGzDecoder::new(Vec::new()),
                waiting: VecDeque::new(),
                ended: false,
                begun: false,
            })),
            _ => Err(HttpError::new(
                HttpErrorKind::Protocol,
                format!("the server sent \"{name}\" data that was not asked for"),
            )),
        }
    }

    /// Takes in the next piece of the body.
    pub(super) fn feed(&mut self, bytes: Bytes) {
        self.begun |= !bytes.is_empty();
        self.waiting.push_back(bytes);
    }

    /// The next bytes of what has come so far; None where more must come first.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        while let Some(mut piece) = self.waiting.pop_front() {
            let step = piece.split_to(piece.len().min(STEP));
            if !piece.is_empty() {
                self.waiting.push_front(piece);
            }
            let read = self.decoder.write_all(&step).and_then(|()| self.decoder.flush());
            read.map_err(|error| {
                HttpError::new(HttpErrorKind::Protocol, format!("the compressed answer is broken: {error}"))
            })?;
            let plain = std::mem::take(self.decoder.get_mut());
            if !plain.is_empty() {
                return Ok(Some(Bytes::from(plain)));
            }
        }
        Ok(None)
    }

    /// Nothing more comes: the last bytes.
    ///
    /// # Errors
    /// The data ends before its end.
    pub(super) fn finish(&mut self) -> Result<Option<Bytes>, HttpError> {
        if !self.begun || std::mem::replace(&mut self.ended, true) {
            return Ok(None);
        }
        self.decoder.try_finish().map_err(|error| {
            HttpError::new(HttpErrorKind::Network, format!("the compressed answer was cut: {error}"))
        })?;
        let plain = std::mem::take(self.decoder.get_mut());
        Ok((!plain.is_empty()).then(|| Bytes::from(plain)))
    }
}
