//! Scans the rest of a large file block by block: if no line can match, the file needs no full search. A block fits the
//! cache of a core; its lines are neither counted nor moved.

use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;

use grep_matcher::Matcher;

use crate::matcher::PatternMatcher;

/// The size of a memory page. Blocks are page-aligned, as in [`sinew_base::PageBuffer`].
const PAGE: usize = 4096;
/// The size of a block in bytes.
const BLOCK: usize = 128 << 10;
/// The maximum length of an incomplete line carried over to the next block; a multiple of a page.
const START: usize = 64 << 10;

/// The memory of a block, preceded by the start of its first line.
pub(crate) struct Blocks {
    bytes: Vec<u8>,
    /// The offset of the block.
    block: usize,
}

impl Blocks {
    /// Allocates nothing yet, because most searches find no large file.
    pub(crate) fn new() -> Blocks {
        Blocks { bytes: Vec::new(), block: 0 }
    }

    /// Returns true if no line can match in a text that starts with `beginning` and continues in `rest`, and none
    /// contains a NUL byte. Returns false if that is unknown. `matcher` must never match a line terminator; `go_on` is
    /// called before each block.
    ///
    /// # Errors
    /// Returns an error if reading `rest` or `go_on` fails.
    pub(crate) fn rule_out(
        &mut self,
        matcher: &PatternMatcher,
        beginning: &[u8],
        rest: &mut impl Read,
        mut go_on: impl FnMut() -> io::Result<()>,
    ) -> io::Result<bool> {
        if self.bytes.is_empty() {
            self.bytes = vec![0; PAGE + START + BLOCK];
            self.block = self.bytes.as_ptr().align_offset(PAGE).min(PAGE) + START;
        }
        let ControlFlow::Continue(lines) = without_match(matcher, beginning) else { return Ok(false) };
        let mut start = beginning.len() - lines;
        if start > START {
            return Ok(false);
        }
        self.bytes[self.block - start..self.block].copy_from_slice(&beginning[lines..]);
        loop {
            go_on()?;
            let read = match rest.read(&mut self.bytes[self.block..self.block + BLOCK]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = self.block + read;
            if memchr::memchr(0, &self.bytes[self.block..end]).is_some() {
                return Ok(false);
            }
            let text = self.block - start..end;
            let ControlFlow::Continue(lines) = without_match(matcher, &self.bytes[text.clone()]) else {
                return Ok(false);
            };
            start = text.len() - lines;
            if start > START {
                return Ok(false);
            }
            self.bytes.copy_within(end - start..end, self.block - start);
        }
        // The last line has no terminator.
        Ok(!may_match(matcher, &self.bytes[self.block - start..self.block]))
    }
}

/// Returns the length of the complete lines at the start of a text; breaks if one of them may match.
fn without_match(matcher: &PatternMatcher, text: &[u8]) -> ControlFlow<(), usize> {
    let lines = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
    if may_match(matcher, &text[..lines]) { ControlFlow::Break(()) } else { ControlFlow::Continue(lines) }
}

/// Returns true if a line of a text may match, by the check that ripgrep's searcher uses on the data it has read.
fn may_match(matcher: &PatternMatcher, lines: &[u8]) -> bool {
    !lines.is_empty() && matcher.find_candidate_line(lines).is_ok_and(|found| found.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::Size;
    use crate::pattern::{Pattern, Syntax};

    /// Returns a fixed number of bytes per read.
    struct Steps<'a>(&'a [u8], usize);

    impl Read for Steps<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    #[track_caller]
    fn check(blocks: &mut Blocks, pattern: &str, text: &[u8], cut: usize, expect: bool) {
        let pattern = Pattern::lines(pattern, Syntax { skips_binary: true, ..Syntax::default() }, Size::WHOLE).unwrap();
        assert!(pattern.is_searched_in_blocks());
        for step in [usize::MAX, 1_000, 4_097] {
            let (beginning, rest) = text.split_at(cut);
            let ruled_out = blocks.rule_out(&pattern.matcher, beginning, &mut Steps(rest, step), || Ok(()));
            assert_eq!(ruled_out.unwrap(), expect, "{step}");
        }
    }

    #[test]
    fn rules_out_a_text_without_a_matching_line() {
        let mut blocks = Blocks::new();
        let lines = |count: usize| b"some line of text\n".repeat(count);
        let (long, short) = (lines(40_000), lines(3));
        for (text, expect) in [
            (long.clone(), true),
            ([&long[..], b"no end"].concat(), true),
            ([&long[..], b"needle"].concat(), false),
            ([&long[..], b"needle\n", &long].concat(), false),
            ([b"needle\n", &long[..]].concat(), false),
            ([&long[..], b"nee\ndle\n", &long].concat(), true),
            ([&long[..], b"\0", &long].concat(), false),
            ([&short[..], &vec![b'a'; START + BLOCK + 7], b"\n"].concat(), false),
            ([&short[..], &vec![b'a'; START / 2], b"\n", &short].concat(), true),
            ([&short[..], &vec![b'a'; START / 2], b"\nneedle"].concat(), false),
        ] {
            for cut in [0, 1, 17, 18, 54, 60] {
                check(&mut blocks, "needle", &text, cut, expect);
                check(&mut blocks, "^n.*[d]le$", &text, cut, expect);
            }
        }
    }

    #[test]
    fn finds_a_match_at_every_block_boundary() {
        let mut blocks = Blocks::new();
        let line = b"0123456789abcde\n".repeat(2 * BLOCK / 16);
        for at in (BLOCK - 40..BLOCK + 40).chain(2 * BLOCK - 40..2 * BLOCK - 6) {
            let mut text = line.clone();
            text[at..at + 6].copy_from_slice(b"needle");
            check(&mut blocks, "needle", &text, 0, false);
            check(&mut blocks, r"n\w+le\b", &text, 16, false);
        }
    }

    #[test]
    fn stops_when_the_search_ends() {
        let mut calls = 0;
        let pattern = Pattern::lines("needle", Syntax::default(), Size::WHOLE).unwrap();
        let ended = Blocks::new().rule_out(&pattern.matcher, b"", &mut io::repeat(b'\n'), || {
            calls += 1;
            if calls < 9 { Ok(()) } else { Err(io::Error::other("over")) }
        });
        assert!(ended.is_err() && calls == 9);
    }
}
