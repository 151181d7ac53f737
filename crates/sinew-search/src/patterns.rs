//! A cache of compiled patterns: compiling one takes longer than searching a small text with it.

use std::sync::Arc;

use parking_lot::Mutex;
use sinew_base::Result;

use crate::content::{SearchOptions, SearchResult, has_match_with, has_text, in_has_match, in_search, search_with};
use crate::matcher::Size;
use crate::pattern::{Pattern, Syntax};

/// The maximum number of cached patterns.
const KEPT: usize = 32;
/// The maximum length of a cached pattern, in bytes.
const MAX_KEPT_PATTERN: usize = 1 << 10;

/// The compiled patterns of recent calls: at most 32, each of at most some megabytes. Threads can share it.
#[derive(Default)]
pub struct Patterns {
    /// The most recent first.
    kept: Mutex<Vec<(Key, Arc<Pattern>)>>,
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
        if pattern.len() > MAX_KEPT_PATTERN {
            return Ok(Arc::new(compile(Size::WHOLE)?));
        }
        let mut kept = self.kept.lock();
        let same = |(key, _): &(Key, _)| key.whole == whole && key.syntax == syntax && key.pattern == pattern;
        if let Some(at) = kept.iter().position(same) {
            kept[..=at].rotate_right(1);
            return Ok(Arc::clone(&kept[0].1));
        }
        drop(kept);
        // If it exceeds the limits of cached patterns, the second attempt may succeed or reports the error.
        let Ok(compiled) = compile(Size::KEPT) else { return Ok(Arc::new(compile(Size::WHOLE)?)) };
        let compiled = Arc::new(compiled);
        let key = Key { pattern: pattern.to_string(), syntax, whole };
        let mut kept = self.kept.lock();
        kept.truncate(KEPT - 1);
        kept.insert(0, (key, Arc::clone(&compiled)));
        Ok(compiled)
    }
}

impl std::fmt::Debug for Patterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = self.kept.lock().len();
        f.debug_struct("Patterns").field("kept", &kept).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(patterns: &Patterns) -> Vec<String> {
        patterns.kept.lock().iter().map(|(key, _)| key.pattern.clone()).collect()
    }

    #[test]
    fn the_latest_patterns_are_kept() {
        let patterns = Patterns::default();
        for n in 0..KEPT + 5 {
            assert_eq!(patterns.has_match(b"x7", &format!("x{n}$"), false, false), Ok(n == 7));
        }
        assert_eq!(kept(&patterns).len(), KEPT);
        assert_eq!(patterns.has_match(b"x5", "x5$", false, false), Ok(true));
        assert_eq!(patterns.has_match(b"x6", "x6$", false, false), Ok(true));
        assert_eq!(patterns.has_match(b"x5", "x5$", false, false), Ok(true));
        assert_eq!(kept(&patterns)[..2], ["x5$", "x6$"]);
    }

    #[test]
    fn what_makes_a_difference_is_told_apart() {
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
        assert_eq!(kept(&patterns).len(), 5);
    }

    #[test]
    fn large_and_broken_patterns_are_not_kept() {
        let patterns = Patterns::default();
        assert_eq!(patterns.has_match(b"x", r"\w{200}", false, false), Ok(false));
        assert!(patterns.has_match(b"x", "(", false, false).is_err());
        assert_eq!(patterns.has_match(b"x", &"(x)".repeat(MAX_KEPT_PATTERN), false, false), Ok(false));
        assert_eq!(kept(&patterns).len(), 0);
    }
}
