//! The matcher of a pattern: ripgrep's engine, or a backtracking one for what only that accepts, such as look-around.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use fancy_regex::{Regex, RegexBuilder};
use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::RegexMatcher;
use sinew_base::CancelToken;

/// The size limits of a compiled pattern, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// The size limit of the program.
    pub(crate) program: usize,
    /// The size limit of the lazily built automaton states of a thread; beyond it the oldest are discarded.
    pub(crate) states: usize,
}

impl Size {
    /// The limits of any pattern.
    pub(crate) const WHOLE: Size = Size { program: 64 << 20, states: 32 << 20 };
    /// The limits of a cached pattern.
    pub(crate) const KEPT: Size = Size { program: 1 << 20, states: 1 << 20 };
}

/// The maximum length of a line that is searched with backtracking, in bytes. The engine cannot be stopped within a
/// line, and its time can grow with the square of the length.
pub(crate) const LONGEST_LINE: usize = 32 << 10;
/// The same for a text whose matches can span lines.
pub(crate) const LONGEST_TEXT: usize = 128 << 10;
/// The number of times that the engine may go back in one line or text.
const STEPS: usize = 1_000_000;

/// Finds the matches of a pattern.
#[derive(Debug, Clone)]
pub(crate) enum PatternMatcher {
    /// ripgrep's engine, in linear time.
    Linear(RegexMatcher),
    Backtracking(Backtracking),
}

/// A pattern that only the backtracking engine accepts.
///
/// Invalid UTF-8 is matched as U+FFFD. A line that is too long, or on which the pattern takes too many steps, has no
/// match and is counted.
#[derive(Debug)]
pub(crate) struct Backtracking {
    regex: Regex,
    /// Matches can span lines.
    multiline: bool,
    end: Option<End>,
    given_up: AtomicU32,
}

/// The end of a search.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) cancel: CancelToken,
    /// True once enough rows were found.
    pub(crate) stop: Arc<AtomicBool>,
}

impl End {
    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }
}

/// The search has ended.
#[derive(Debug)]
pub(crate) struct SearchEnded;

impl fmt::Display for SearchEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the search is over")
    }
}

impl std::error::Error for SearchEnded {}

impl Clone for Backtracking {
    /// Returns the same matcher with its own count.
    fn clone(&self) -> Backtracking {
        let Backtracking { regex, multiline, end, given_up: _ } = self;
        Backtracking { regex: regex.clone(), multiline: *multiline, end: end.clone(), given_up: AtomicU32::new(0) }
    }
}

impl Backtracking {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Returns the reason if the pattern is invalid.
    pub(crate) fn new(pattern: &str, ignore_case: bool, multiline: bool, size: Size) -> Result<Backtracking, String> {
        let mut builder = RegexBuilder::new(pattern);
        builder
            .multi_line(true)
            .case_insensitive(ignore_case)
            .backtrack_limit(STEPS)
            .delegate_size_limit(size.program)
            .delegate_dfa_size_limit(size.states);
        let regex = builder.build().map_err(|error| error.to_string())?;
        Ok(Backtracking { regex, multiline, end: None, given_up: AtomicU32::new(0) })
    }

    fn find(&self, haystack: &[u8], at: usize) -> Option<Match> {
        let (haystack, longest) = match self.multiline {
            true => (haystack, LONGEST_TEXT),
            // The searcher leaves the `\n` of a line that does not end in `\r\n`.
            false => (haystack.strip_suffix(b"\n").unwrap_or(haystack), LONGEST_LINE),
        };
        if at > haystack.len() {
            return None;
        }
        if haystack.len() > longest {
            self.give_up();
            return None;
        }
        let text = Utf8Text::new(haystack);
        match self.regex.find_from_pos(&text.text, text.readable(at)) {
            Ok(found) => found.map(|found| Match::new(text.original(found.start()), text.original(found.end()))),
            Err(_) => {
                self.give_up();
                None
            }
        }
    }

    fn give_up(&self) {
        self.given_up.fetch_add(1, Ordering::Relaxed);
    }
}

impl PatternMatcher {
    /// Returns the matcher for one thread: it has its own caches, and fails if `end` is over.
    pub(crate) fn for_thread(&self, end: End) -> PatternMatcher {
        let mut own = self.clone();
        if let PatternMatcher::Backtracking(matcher) = &mut own {
            matcher.end = Some(end);
        }
        own
    }

    /// Returns the matcher for one text: its own one if it counts.
    pub(crate) fn for_text(&self) -> Cow<'_, PatternMatcher> {
        match self {
            PatternMatcher::Linear(_) => Cow::Borrowed(self),
            PatternMatcher::Backtracking(_) => Cow::Owned(self.clone()),
        }
    }

    /// Describes the lines of the text `name` that were not searched since the last call; `None` if all were.
    pub(crate) fn take_omission(&self, name: &str) -> Option<String> {
        let PatternMatcher::Backtracking(matcher) = self else { return None };
        let given_up = matcher.given_up.swap(0, Ordering::Relaxed);
        let (what, longest) = match (given_up, matcher.multiline) {
            (0, _) => return None,
            (_, false) => (format!("some lines of {name} were not searched ({given_up})"), LONGEST_LINE),
            (_, true) => (format!("{name} was not searched completely"), LONGEST_TEXT),
        };
        let longest = longest >> 10;
        let why = "look-around and backreferences are only tried on up to";
        Some(format!("{what}: {why} {longest} KiB, and with a limited number of steps"))
    }
}

impl Matcher for PatternMatcher {
    type Captures = NoCaptures;
    type Error = SearchEnded;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, SearchEnded> {
        match self {
            PatternMatcher::Linear(matcher) => Ok(never_fails(matcher.find_at(haystack, at))),
            PatternMatcher::Backtracking(matcher) => match matcher.end.as_ref().is_some_and(End::is_over) {
                true => Err(SearchEnded),
                false => Ok(matcher.find(haystack, at)),
            },
        }
    }

    fn new_captures(&self) -> Result<NoCaptures, SearchEnded> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, SearchEnded> {
        match self {
            PatternMatcher::Linear(matcher) => Ok(never_fails(matcher.shortest_match_at(haystack, at))),
            PatternMatcher::Backtracking(_) => Ok(self.find_at(haystack, at)?.map(|found| found.end())),
        }
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        match self {
            PatternMatcher::Linear(matcher) => matcher.non_matching_bytes(),
            PatternMatcher::Backtracking(_) => None,
        }
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        match self {
            PatternMatcher::Linear(matcher) => matcher.line_terminator(),
            PatternMatcher::Backtracking(_) => None,
        }
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, SearchEnded> {
        match self {
            PatternMatcher::Linear(matcher) => Ok(never_fails(matcher.find_candidate_line(haystack))),
            PatternMatcher::Backtracking(_) => {
                Ok(self.find_at(haystack, 0)?.map(|found| LineMatchKind::Confirmed(found.start())))
            }
        }
    }
}

fn never_fails<T>(result: Result<T, NoError>) -> T {
    result.expect("this engine has no error while it searches")
}

/// A text as UTF-8, and its offsets in the original.
struct Utf8Text<'a> {
    text: Cow<'a, str>,
    /// The starts of the valid and the invalid parts, in the text and in the original; empty if all of it is valid.
    parts: Vec<(usize, usize)>,
}

impl<'a> Utf8Text<'a> {
    fn new(original: &'a [u8]) -> Utf8Text<'a> {
        if let Ok(text) = std::str::from_utf8(original) {
            return Utf8Text { text: Cow::Borrowed(text), parts: Vec::new() };
        }
        let (mut text, mut parts, mut at) = (String::new(), Vec::new(), 0);
        for chunk in original.utf8_chunks() {
            parts.push((text.len(), at));
            text.push_str(chunk.valid());
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                parts.push((text.len(), at));
                text.push(char::REPLACEMENT_CHARACTER);
                at += chunk.invalid().len();
            }
        }
        parts.push((text.len(), at));
        Utf8Text { text: Cow::Owned(text), parts }
    }

    /// Returns the offset in the original of an offset in the text, which is the start of a character or the end.
    fn original(&self, at: usize) -> usize {
        match self.parts.partition_point(|(start, _)| *start <= at).checked_sub(1) {
            Some(part) => self.parts[part].1 + (at - self.parts[part].0),
            None => at,
        }
    }

    /// Returns the first start of a character in the text that is not before an offset in the original.
    fn readable(&self, at: usize) -> usize {
        let at = match self.parts.partition_point(|(_, start)| *start <= at).checked_sub(1) {
            Some(part) => self.parts[part].0 + (at - self.parts[part].1),
            None => at,
        };
        self.text.ceil_char_boundary(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(pattern: &str, multiline: bool) -> PatternMatcher {
        PatternMatcher::Backtracking(Backtracking::new(pattern, false, multiline, Size::WHOLE).unwrap())
    }

    #[track_caller]
    fn finds(pattern: &str, text: &[u8], expect: &[(usize, usize)]) {
        let (matcher, mut found) = (matcher(pattern, true), Vec::new());
        let each = |at: Match| {
            found.push((at.start(), at.end()));
            true
        };
        matcher.find_iter(text, each).unwrap();
        assert_eq!(found, expect, "{pattern}");
        assert_eq!(matcher.take_omission("x"), None);
    }

    #[test]
    fn offsets_are_those_of_the_original() {
        finds("(?<=a)b", b"ab xb ab", &[(1, 2), (7, 8)]);
        finds(r"(\w)\1", "éé aa".as_bytes(), &[(0, 4), (5, 7)]);
        finds("(?<=a)b", b"\xFFab\xF0\x9Fab", &[(2, 3), (6, 7)]);
        finds("(?<=\u{FFFD})b", b"\xFFb \xF0\x9Fb", &[(1, 2), (5, 6)]);
        finds("(?=b)", b"\xFFb\xFE", &[(1, 1)]);
        finds("(?!x)$", b"\xFF", &[(1, 1)]);
        finds("(?!x)", "é".as_bytes(), &[(0, 0), (2, 2)]);
    }

    #[test]
    fn long_and_hostile_lines_are_counted() {
        let matcher_of_lines = matcher(r"(a+)+\1$(?<!b)", false);
        let line = "a".repeat(LONGEST_LINE + 1);
        assert_eq!(matcher_of_lines.find(line.as_bytes()).unwrap(), None);
        assert!(matcher_of_lines.find(b"aa").unwrap().is_some());
        let hostile = format!("{}b", "a".repeat(5_000));
        assert_eq!(matcher_of_lines.find(hostile.as_bytes()).unwrap(), None);
        let omission = matcher_of_lines.take_omission("x").unwrap();
        assert!(omission.starts_with("some lines of x were not searched (2): "), "{omission}");
        assert_eq!(matcher_of_lines.take_omission("x"), None);
        let whole = matcher("(?<=a)b", true);
        assert_eq!(whole.find(&b"ab\n".repeat(LONGEST_TEXT)).unwrap(), None);
        let omission = whole.take_omission("x").unwrap();
        assert!(omission.starts_with("x was not searched completely: "), "{omission}");
    }

    #[test]
    fn a_search_that_is_over_fails() {
        let end = End { cancel: CancelToken::never(), stop: Arc::default() };
        let matcher = matcher("(?<=a)b", false).for_thread(end.clone());
        assert!(matcher.find(b"ab").unwrap().is_some());
        end.stop.store(true, Ordering::Relaxed);
        assert!(matcher.find(b"ab").is_err());
    }

    #[test]
    fn hostile_patterns_are_refused() {
        for pattern in
            ["(".repeat(100_000) + "(?=a)", "(?=a)(".to_string(), r"(?=a)\2".into(), r"(?=(?:\w{1000}){1000})".into()]
        {
            assert!(
                Backtracking::new(&pattern, false, false, Size::WHOLE).is_err(),
                "{}",
                &pattern[..pattern.len().min(20)]
            );
        }
    }
}
