//! Decodes UTF-8 from a byte stream that is split anywhere.

/// A streaming UTF-8 decoder: a character that is split between two chunks is decoded correctly, and invalid bytes
/// become U+FFFD exactly as in [`String::from_utf8_lossy`] of the whole stream.
#[derive(Debug, Default, Clone)]
pub struct Decoder {
    // The incomplete character at the end of the last chunk: at most three bytes, plus one during a check.
    begun: [u8; 4],
    len: usize,
}

impl Decoder {
    /// Appends the text of `bytes` to `out`. Runs in linear time; keeps at most three bytes.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut String) {
        while self.len > 0 {
            let Some((&first, rest)) = bytes.split_first() else { return };
            self.begun[self.len] = first;
            match std::str::from_utf8(&self.begun[..=self.len]) {
                Ok(character) => {
                    out.push_str(character);
                    self.len = 0;
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.len += 1;
                    bytes = rest;
                }
                // The byte does not continue the character, so it is decoded again separately.
                Err(_) => {
                    out.push(char::REPLACEMENT_CHARACTER);
                    self.len = 0;
                }
            }
        }
        for chunk in bytes.utf8_chunks() {
            out.push_str(chunk.valid());
            let invalid = chunk.invalid();
            // Only the last chunk can end with a character that continues in the next one.
            let at_end = invalid.as_ptr_range().end == bytes.as_ptr_range().end;
            if at_end && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) {
                self.begun[..invalid.len()].copy_from_slice(invalid);
                self.len = invalid.len();
            } else if !invalid.is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Ends the stream: an incomplete character becomes U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        if std::mem::take(&mut self.len) > 0 {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(pieces: &[&[u8]]) {
        let mut decoder = Decoder::default();
        let mut text = String::new();
        for piece in pieces {
            decoder.push(piece, &mut text);
        }
        decoder.finish(&mut text);
        assert_eq!(text, String::from_utf8_lossy(&pieces.concat()));
    }

    #[test]
    fn decodes_a_character_that_is_split_anywhere() {
        let bytes = "aé漢👩‍🚀z".as_bytes();
        for at in 0..=bytes.len() {
            check(&[&bytes[..at], &bytes[at..]]);
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        check(&single);
    }

    #[test]
    fn an_incomplete_character_is_one_replacement() {
        check(&[b"\xe6\xbc", b"x"]);
        check(&[b"\xf0\x9f", b"\xf0\x9f\x91\xa9"]);
        check(&[b"\xe0", b"\x80\x80"]);
        check(&[b"\xf0\x9f\x91", b""]);
        check(&[b"\xff\xfe", b"\xc3"]);
    }

    proptest! {
        #[test]
        fn decoding_does_not_depend_on_chunk_boundaries(
            pieces in prop::collection::vec(
                prop::collection::vec(prop_oneof![any::<u8>(), 0x80u8..0xc0, Just(0xe6), Just(0xf0)], 0..9), 0..9)
        ) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            check(&pieces);
        }
    }
}
