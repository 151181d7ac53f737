//! Variable-length numbers: seven bits per byte, the low ones first.

use std::io;

use crate::page::damaged;

pub(crate) fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads untrusted bytes from front to back; every read checks the length.
pub(crate) struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { left: bytes }
    }

    pub(crate) fn take(&mut self, length: usize) -> io::Result<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(length).ok_or_else(|| damaged("a length"))?;
        self.left = left;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (taken, left) = self.left.split_first_chunk().ok_or_else(|| damaged("a length"))?;
        self.left = left;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> io::Result<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number"))
    }

    /// Reads a number that must not exceed `limit`.
    pub(crate) fn at_most(&mut self, limit: u64) -> io::Result<u64> {
        self.varint().and_then(|number| if number <= limit { Ok(number) } else { Err(damaged("a number")) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for number in [0, 1, 0x7F, 0x80, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            push(&mut bytes, number);
            let mut read = Bytes::new(&bytes);
            assert_eq!(read.varint().unwrap(), number);
            assert!(read.is_empty());
            assert!(Bytes::new(&bytes[..bytes.len() - 1]).varint().is_err(), "{number}");
        }
    }

    #[test]
    fn oversized_varints_are_errors() {
        assert!(Bytes::new(&[0xFF; 20]).varint().is_err());
        assert!(Bytes::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]).varint().is_err());
        assert!(Bytes::new(&[5]).at_most(4).is_err());
    }
}
