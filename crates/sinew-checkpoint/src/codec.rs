//! Encoding of numbers and bytes in the files of the store.

use sinew_base::{Error, ErrorCode, Result};

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Appends a signed number.
    pub(crate) fn signed(&mut self, value: i64) {
        self.number((value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned());
    }

    pub(crate) fn block(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn array(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the checksum and returns the bytes.
    pub(crate) fn sealed(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.bytes);
        self.bytes.extend_from_slice(&sum.to_le_bytes());
        self.bytes
    }
}

/// Decodes the output of a [`Writer`].
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// Returns the error for invalid bytes.
pub(crate) fn damaged() -> Error {
    Error::new(ErrorCode::InvalidData, "the file is damaged")
}

impl<'a> Reader<'a> {
    /// Verifies the checksum at the end and returns a reader of the bytes before it.
    ///
    /// # Errors
    /// Returns `InvalidData` if the checksum is wrong.
    pub(crate) fn sealed(bytes: &'a [u8]) -> Result<Reader<'a>> {
        let (rest, sum) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        if crc32fast::hash(rest) != u32::from_le_bytes(*sum) {
            return Err(damaged());
        }
        Ok(Reader { rest })
    }

    pub(crate) fn plain(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or_else(damaged)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged())
    }

    pub(crate) fn small(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| damaged())
    }

    pub(crate) fn signed(&mut self) -> Result<i64> {
        let value = self.number()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub(crate) fn block(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| damaged())?;
        let (block, rest) = self.rest.split_at_checked(length).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(block)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or_else(damaged)?;
        self.rest = rest;
        Ok(*array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_blocks_round_trip() {
        let mut writer = Writer::default();
        let numbers = [0, 1, 127, 128, 300, u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX];
        numbers.iter().for_each(|number| writer.number(*number));
        signed.iter().for_each(|number| writer.signed(*number));
        writer.block(b"name");
        let bytes = writer.sealed();
        let mut reader = Reader::sealed(&bytes).unwrap();
        assert_eq!(numbers.map(|_| reader.number().unwrap()), numbers);
        assert_eq!(signed.map(|_| reader.signed().unwrap()), signed);
        assert_eq!(reader.block().unwrap(), b"name");
        assert!(reader.is_empty() && reader.number().is_err());
    }

    #[test]
    fn detects_a_flipped_bit() {
        let mut writer = Writer::default();
        writer.block(b"some bytes");
        let bytes = writer.sealed();
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 1;
            assert!(Reader::sealed(&broken).is_err(), "byte {at}");
        }
    }
}
