//! Rice codes: ascending numbers as gaps, each gap as a unary quotient and a remainder of fixed width.
//!
//! With the width chosen for the mean gap, the code is within a few hundredths of the entropy of independent numbers.

/// The maximum quotient of a code; 32-bit numbers with the width of [`width_for`] stay far below it.
const QUOTIENT: u32 = u32::MAX >> 1;

/// Returns the width of the remainder, in bits, for `count` numbers less than `limit`.
pub(crate) fn width_for(count: usize, limit: u32) -> u8 {
    let mean = u64::from(limit) / (count.max(1) as u64);
    // The mean times ln 2, rounded down to a power of two.
    (mean * 693 / 1000).checked_ilog2().unwrap_or(0) as u8
}

/// Encodes ascending numbers. Runs in time linear in the count and the length of the code.
pub(crate) fn encode(numbers: &[u32], width: u8) -> Box<[u8]> {
    let mut bits = BitWriter::default();
    let mut next = 0;
    for &number in numbers {
        let gap = number - next;
        bits.push_ones(gap >> width);
        bits.push(0, 1);
        bits.push(gap & mask(width), width);
        next = number + 1;
    }
    bits.finish()
}

/// Decodes `count` numbers; ends early if the code ends, or if damaged bytes yield a number that does not fit in 32
/// bits.
pub(crate) fn decode(code: &[u8], width: u8, count: usize) -> Numbers<'_> {
    Numbers { code, at: 0, width: width.min(31), left: count, next: 0 }
}

/// The iterator of [`decode`].
pub(crate) struct Numbers<'a> {
    code: &'a [u8],
    at: usize,
    width: u8,
    left: usize,
    next: u32,
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let quotient = self.quotient()?;
        let remainder = self.take(self.width)?;
        let gap = quotient.checked_mul(1 << self.width)?.checked_add(remainder)?;
        let number = self.next.checked_add(gap)?;
        self.next = number.checked_add(1)?;
        Some(number)
    }
}

impl Numbers<'_> {
    /// Reads ones up to a zero, one byte at a time.
    fn quotient(&mut self) -> Option<u32> {
        let mut ones = 0;
        loop {
            let byte = *self.code.get(self.at / 8)?;
            let used = (self.at % 8) as u32;
            let run = (!(byte << used)).leading_zeros().min(8 - used);
            ones += run;
            if ones > QUOTIENT {
                return None;
            }
            self.at += run as usize;
            if run < 8 - used {
                self.at += 1;
                return Some(ones);
            }
        }
    }

    fn take(&mut self, width: u8) -> Option<u32> {
        let end = self.at + usize::from(width);
        if end > self.code.len() * 8 {
            return None;
        }
        let mut value = 0;
        while self.at < end {
            let (byte, used) = (self.code[self.at / 8], self.at % 8);
            let run = (8 - used).min(end - self.at);
            let bits = (byte << used) >> (8 - run);
            value = value << run | u32::from(bits);
            self.at += run;
        }
        Some(value)
    }
}

fn mask(width: u8) -> u32 {
    (1 << width) - 1
}

/// A bit buffer; the first bit is the most significant of the first byte.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that do not fill a byte yet; the last one is the least significant.
    held: u64,
    count: u8,
}

impl BitWriter {
    fn push(&mut self, value: u32, width: u8) {
        self.held = self.held << width | u64::from(value);
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
        }
    }

    fn push_ones(&mut self, mut count: u32) {
        while count > 0 {
            let some = count.min(31) as u8;
            self.push(mask(some), some);
            count -= u32::from(some);
        }
    }

    fn finish(mut self) -> Box<[u8]> {
        if self.count > 0 {
            self.push(0, 8 - self.count);
        }
        self.bytes.into_boxed_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths_and_codes_have_the_expected_values() {
        assert_eq!(width_for(1, 0), 0);
        assert_eq!(width_for(10, 1000), 6);
        assert_eq!(encode(&[], 3), Box::default());
        // Gap 5: quotient 1 (10), remainder 1 in two bits (01); then gap 0: quotient 0, remainder 00.
        assert_eq!(encode(&[5, 6], 2)[..], [0b1001_0000]);
    }

    proptest! {
        #[test]
        fn encoded_numbers_round_trip(numbers in prop::collection::btree_set(0u32..100_000, 0..500), width in 0u8..20) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            let width = if numbers.len() < 2 { width.max(8) } else { width.max(4) };
            let code = encode(&numbers, width);
            prop_assert_eq!(decode(&code, width, numbers.len()).collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn any_bytes_decode_to_ascending_numbers(code in prop::collection::vec(any::<u8>(), 0..64), width in any::<u8>(), count in any::<usize>()) {
            let numbers: Vec<u32> = decode(&code, width, count).collect();
            prop_assert!(numbers.is_sorted_by(|left, right| left < right));
        }
    }
}
