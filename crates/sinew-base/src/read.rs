//! Reading with a limit.

use std::io::{self, Read};

/// The initial capacity in bytes, enough for most files that are read whole.
const PAGE: usize = 4096;

/// Reads `input` to its end. Returns `None` if it is longer than `limit` bytes. Reads at most one byte beyond the
/// limit.
///
/// # Errors
/// Returns an error if reading `input` fails.
pub fn read_limited(input: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // One page, so that a short file needs two reads instead of one per doubling.
    let mut bytes = Vec::with_capacity(PAGE.min(usize::try_from(limit).unwrap_or(PAGE)));
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_up_to_the_limit() {
        for (input, limit, expect) in [
            ("", 0, Some("")),
            ("a", 0, None),
            ("abc", 3, Some("abc")),
            ("abcd", 3, None),
            ("abc", u64::MAX, Some("abc")),
        ] {
            let read = read_limited(input.as_bytes(), limit).expect("memory can be read");
            assert_eq!(read.as_deref(), expect.map(str::as_bytes), "{input} {limit}");
        }
        let mut endless = io::repeat(7);
        assert_eq!(read_limited(&mut endless, 1 << 16).expect("it can be read"), None);
    }
}
