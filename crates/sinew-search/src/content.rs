//! Search of text in memory.

use grep_matcher::Matcher;
use grep_searcher::BinaryDetection;
use sinew_base::{CancelToken, Error, Result};

use crate::collector::{CollectOptions, Collector, Mode};
use crate::matcher::Size;
use crate::pattern::{Pattern, Syntax};
use crate::rows::Rows;

/// Options of [`search_content`].
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// A regular expression in the syntax of Rust's `regex` crate, or literal text with `literal`. Look-around and
    /// backreferences are searched with a slower engine, with a warning. An empty pattern matches every line.
    pub pattern: String,
    /// Search for the pattern as literal text. Default: `false`.
    pub literal: bool,
    /// Ignore case. Default: `false`.
    pub ignore_case: bool,
    /// Allow matches to span several lines. Default: `false`.
    pub multiline: bool,
    /// The maximum number of rows. Default: unlimited.
    pub max_count: Option<u32>,
    /// The maximum number of matching lines, counted before `offset`. Default: unlimited.
    pub max_count_per_file: Option<u32>,
    /// The number of rows to skip. Default: 0.
    pub offset: u32,
    /// The number of lines to show before and after each match. Default: 0.
    pub context: Option<u32>,
    /// The number of lines to show before each match; overrides `context`.
    pub context_before: Option<u32>,
    /// The number of lines to show after each match; overrides `context`.
    pub context_after: Option<u32>,
    /// The maximum line width in characters: longer lines are cut to a window around the match. Default (and 0): 16 Mi.
    pub max_columns: Option<u32>,
    /// The kind of rows to collect. Default: [`Mode::Content`].
    pub mode: Mode,
}

/// The result of [`search_content`].
#[derive(Debug, Clone, Default)]
pub struct SearchResult {
    /// The matching lines, with empty paths. Empty in the modes that only count.
    pub matches: Rows,
    /// The number of rows; with [`Mode::Count`] the number of matching lines; with [`Mode::FilesWithMatches`] 1 if a
    /// line matches.
    pub match_count: u32,
    /// True if there are more than `max_count` rows, or more matching lines than `max_count_per_file`.
    pub limit_reached: bool,
    /// Every difference between the request and the result, for example a repaired pattern.
    pub warnings: Vec<String>,
}

/// Searches `content`. Text in UTF-16 or with a byte order mark is transcoded, NUL bytes are ordinary characters, and
/// invalid UTF-8 is searched as bytes and shown with U+FFFD. Runs in linear time, except with look-around or
/// backreferences.
///
/// # Errors
/// Returns `InvalidArgument` or `LimitExceeded` if the pattern is invalid or too large.
pub fn search_content(content: &[u8], options: &SearchOptions) -> Result<SearchResult> {
    let pattern = Pattern::lines(&options.pattern, options.syntax(), Size::WHOLE);
    search_with(&pattern.map_err(in_search)?, content, options)
}

/// Returns true if `pattern` matches anywhere in `content`. `^` and `$` match at the ends of the content, with
/// `multiline` at the ends of its lines. Malformed braces are treated as literals. Runs in linear time.
///
/// # Errors
/// Returns `InvalidArgument` or `LimitExceeded` if the pattern is invalid or too large.
pub fn has_match(content: &[u8], pattern: &str, ignore_case: bool, multiline: bool) -> Result<bool> {
    if let Some(found) = has_text(content, pattern, ignore_case) {
        return Ok(found);
    }
    let pattern = Pattern::text(pattern, ignore_case, multiline, Size::WHOLE);
    Ok(has_match_with(&pattern.map_err(in_has_match)?, content))
}

impl SearchOptions {
    pub(crate) fn syntax(&self) -> Syntax {
        Syntax { literal: self.literal, ignore_case: self.ignore_case, multiline: self.multiline, skips_binary: false }
    }
}

pub(crate) fn in_search(error: Error) -> Error {
    error.within("search")
}

pub(crate) fn in_has_match(error: Error) -> Error {
    error.within("hasMatch")
}

/// Returns the answer without a regex if the pattern is literal text; `None` if it is not.
pub(crate) fn has_text(content: &[u8], pattern: &str, ignore_case: bool) -> Option<bool> {
    let plain = !ignore_case && !pattern.contains(regex_syntax::is_meta_character);
    plain.then(|| memchr::memmem::find(content, pattern.as_bytes()).is_some())
}

pub(crate) fn has_match_with(pattern: &Pattern, content: &[u8]) -> bool {
    pattern.matcher.is_match(content).expect("a pattern for a whole text has no error while it searches")
}

pub(crate) fn search_with(pattern: &Pattern, content: &[u8], options: &SearchOptions) -> Result<SearchResult> {
    let context = [options.context, options.context_before, options.context_after];
    let mut collect = CollectOptions::new(options.mode, options.multiline, context, options.max_columns);
    collect.per_file = options.max_count_per_file.map_or(usize::MAX, |count| count as usize);
    let skip = options.offset as usize;
    let most = options.max_count.map_or(usize::MAX, |count| count as usize);
    // One more than requested, to detect whether there are more.
    let limit = skip.saturating_add(most).saturating_add(1);
    let (mut rows, never) = (Rows::default(), CancelToken::never());
    let matcher = pattern.matcher.for_text();
    let mut collector = Collector::new(&matcher, collect, limit, "", &mut rows, &never);
    collector.begins_with(content);
    if collector.wants_any() {
        // Neither reading a slice nor this collector can fail.
        let searched =
            collect.searcher(pattern, BinaryDetection::none()).search_slice(&*matcher, content, &mut collector);
        searched.map_err(|error| Error::io("search: failed to search the content", &error))?;
    }
    let (found, more) = (collector.found, collector.more);
    collector.close();
    let warnings = pattern.warning.iter().cloned().chain(matcher.take_omission("the text")).collect();
    if options.mode != Mode::Content {
        let match_count = crate::rows::clamp(found);
        return Ok(SearchResult { match_count, limit_reached: more, warnings, ..SearchResult::default() });
    }
    let ended = rows.len() > skip.saturating_add(most);
    if skip > 0 || ended {
        rows = rows.cut(skip, most);
    }
    let match_count = crate::rows::clamp(rows.len());
    Ok(SearchResult { matches: rows, match_count, limit_reached: ended || more, warnings })
}
