//! Decompresses bodies: the content of each chunk is returned with that chunk, so that no event of a stream waits for
//! the next one.

use std::collections::VecDeque;
use std::io::Write;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use super::error::{HttpError, HttpErrorKind};

/// The number of compressed bytes processed at once. They expand at most about a thousandfold, so one step needs at
/// most about 16 MB.
const STEP: usize = 16 * 1024;

/// A compressed body.
pub(super) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// Bytes that were received and not yet decompressed.
    waiting: VecDeque<Bytes>,
    /// True at the end of the body.
    ended: bool,
    /// True if a byte was received: a body without bytes is empty, regardless of its header.
    begun: bool,
}

impl Gunzip {
    /// Returns the decoder for the headers; `None` for a body without compression.
    ///
    /// # Errors
    /// Returns an error if the server used an encoding that was not requested.
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
                format!("the server sent data in the encoding \"{name}\", which was not requested"),
            )),
        }
    }

    /// Adds a chunk of the body.
    pub(super) fn feed(&mut self, bytes: Bytes) {
        self.begun |= !bytes.is_empty();
        self.waiting.push_back(bytes);
    }

    /// Returns the next decompressed bytes; `None` if more input is needed.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        while let Some(mut piece) = self.waiting.pop_front() {
            let step = piece.split_to(piece.len().min(STEP));
            if !piece.is_empty() {
                self.waiting.push_front(piece);
            }
            let read = self.decoder.write_all(&step).and_then(|()| self.decoder.flush());
            read.map_err(|error| {
                HttpError::new(HttpErrorKind::Protocol, format!("the compressed answer is invalid: {error}"))
            })?;
            let plain = std::mem::take(self.decoder.get_mut());
            if !plain.is_empty() {
                return Ok(Some(Bytes::from(plain)));
            }
        }
        Ok(None)
    }

    /// Ends the input and returns the last bytes.
    ///
    /// # Errors
    /// Returns an error if the data is truncated.
    pub(super) fn finish(&mut self) -> Result<Option<Bytes>, HttpError> {
        if !self.begun || std::mem::replace(&mut self.ended, true) {
            return Ok(None);
        }
        self.decoder.try_finish().map_err(|error| {
            HttpError::new(HttpErrorKind::Network, format!("the compressed answer is incomplete: {error}"))
        })?;
        let plain = std::mem::take(self.decoder.get_mut());
        Ok((!plain.is_empty()).then(|| Bytes::from(plain)))
    }
}
