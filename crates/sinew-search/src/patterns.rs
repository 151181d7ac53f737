//! A cache of compiled patterns: compiling one takes longer than searching a small text with it.

use std::sync::Arc;

use parking_lot::Mutex;
use sinew_base::Result;

use crate::content::{SearchOptions, SearchResult, has_match_with, has_text, in_has_match, in_search, search_with};
use crate::matcher::Size;
use crate::pattern::{Pattern, Syntax};

/// The maximum number of cached patterns.
const MAX_PATTERNS: usize = 32;
/// The maximum length of a cached pattern, in bytes.
const MAX_PATTERN_LENGTH: usize = 1 << 10;

/// The compiled patterns of recent calls: at most 32, each of at most some megabytes. Threads can share it.
#[derive(Default)]
pub struct Patterns {
    /// The most recent first.
    cached: Mutex<Vec<(Key, Arc<Pattern>)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    pattern: String,
    syntax: Syntax,
    /// The pattern matches a whole text instead of lines.
    whole: bool,
}

impl Patterns {
    /// Searches as [`crate::search_content`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::search_content`].
    pub fn search_content(&self, content: &[u8], options: &SearchOptions) -> Result<SearchResult> {
        let syntax = options.syntax();
        let pattern = self.get(&options.pattern, syntax, false, |size| Pattern::lines(&options.pattern, syntax, size));
        search_with(&*pattern.map_err(in_search)?, content, options)
    }

    /// Matches as [`crate::has_match`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::has_match`].
    pub fn has_match(&self, content: &[u8], pattern: &str, ignore_case: bool, multiline: bool) -> Result<bool> {
        if let Some(found) = has_text(content, pattern, ignore_case) {
            return Ok(found);
        }
        let syntax = Syntax { ignore_case, multiline, ..Syntax::default() };
        let compiled = self.get(pattern, syntax, true, |size| Pattern::text(pattern, ignore_case, multiline, size));
        Ok(has_match_with(&*compiled.map_err(in_has_match)?, content))
    }

    fn get(
        &self,
        pattern: &str,
        syntax: Syntax,
        whole: bool,
        compile: impl Fn(Size) -> Result<Pattern>,
    ) -> Result<Arc<Pattern>> {
        if pattern.len() > MAX_PATTERN_LENGTH {
            return Ok(Arc::new(compile(Size::WHOLE)?));
        }
        let mut cached = self.cached.lock();
        let same = |(key, _): &(Key, _)| key.whole == whole && key.syntax == syntax && key.pattern == pattern;
        if let Some(at) = cached.iter().position(same) {
            cached[..=at].rotate_right(1);
            return Ok(Arc::clone(&cached[0].1));
        }
        drop(cached);
        // If it exceeds the limits of cached patterns, the second attempt may succeed or reports the error.
        let Ok(compiled) = compile(Size::KEPT) else { return Ok(Arc::new(compile(Size::WHOLE)?)) };
        let compiled = Arc::new(compiled);
        let key = Key { pattern: pattern.to_string(), syntax, whole };
        let mut cached = self.cached.lock();
        cached.truncate(MAX_PATTERNS - 1);
        cached.insert(0, (key, Arc::clone(&compiled)));
        Ok(compiled)
    }
}

impl std::fmt::Debug for Patterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cached = self.cached.lock().len();
        f.debug_struct("Patterns").field("cached", &cached).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(patterns: &Patterns) -> Vec<String> {
        patterns.cached.lock().iter().map(|(key, _)| key.pattern.clone()).collect()
    }

    #[test]
    fn caches_the_most_recent_patterns() {
        let patterns = Patterns::default();
        for n in 0..MAX_PATTERNS + 5 {
            assert_eq!(patterns.has_match(b"x7", &format!("x{n}$"), false, false), Ok(n == 7));
        }
        assert_eq!(cached(&patterns).len(), MAX_PATTERNS);
        assert_eq!(patterns.has_match(b"x5", "x5$", false, false), Ok(true));
        assert_eq!(patterns.has_match(b"x6", "x6$", false, false), Ok(true));
        assert_eq!(patterns.has_match(b"x5", "x5$", false, false), Ok(true));
        assert_eq!(cached(&patterns)[..2], ["x5$", "x6$"]);
    }

    #[test]
    fn patterns_with_other_options_are_separate_entries() {
        let patterns = Patterns::default();
        let text = b"a\nB";
        assert_eq!(patterns.has_match(text, "^b", false, false), Ok(false));
        assert_eq!(patterns.has_match(text, "^b", true, false), Ok(false));
        assert_eq!(patterns.has_match(text, "^b", true, true), Ok(true));
        let options = SearchOptions { pattern: "^b".into(), ..SearchOptions::default() };
        assert_eq!(patterns.search_content(text, &options).unwrap().match_count, 0);
        let options = SearchOptions { ignore_case: true, ..options };
        assert_eq!(patterns.search_content(text, &options).unwrap().match_count, 1);
        assert_eq!(patterns.search_content(text, &options).unwrap().match_count, 1);
        assert_eq!(cached(&patterns).len(), 5);
    }

    #[test]
    fn does_not_cache_large_and_invalid_patterns() {
        let patterns = Patterns::default();
        assert_eq!(patterns.has_match(b"x", r"\w{200}", false, false), Ok(false));
        assert!(patterns.has_match(b"x", "(", false, false).is_err());
        assert_eq!(patterns.has_match(b"x", &"(x)".repeat(MAX_PATTERN_LENGTH), false, false), Ok(false));
        assert_eq!(cached(&patterns).len(), 0);
    }
}
