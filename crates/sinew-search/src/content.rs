//! Search of text that is already in memory.

use grep_matcher::Matcher;
use grep_searcher::BinaryDetection;
use sinew_base::{CancelToken, Error, Result};

use crate::collector::{CollectOptions, Collector, Mode};
use crate::pattern::{Pattern, Size, Syntax};
use crate::rows::Rows;

/// Options of [`search_content`].
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// A regular expression in the syntax of Rust's `regex` crate, or text with `literal`. An empty one matches
    /// every line.
    pub pattern: String,
    /// Search for the pattern as it stands. Default: `false`.
    pub literal: bool,
    /// Upper and lower case are the same. Default: `false`.
    pub ignore_case: bool,
    /// A match may run over several lines. Default: `false`.
    pub multiline: bool,
    /// At most this many rows. Default: all.
    pub max_count: Option<u32>,
    /// At most this many matching lines, counted before `offset`. Default: all.
    pub max_count_per_file: Option<u32>,
    /// Leave out the first rows. Default: 0.
    pub offset: u32,
    /// Lines to show before and after each match. Default: 0.
    pub context: Option<u32>,
    /// Lines to show before; beats `context`.
    pub context_before: Option<u32>,
    /// Lines to show after; beats `context`.
    pub context_after: Option<u32>,
    /// The widest line, in characters: a longer one is cut to a window that holds the match. Default (and 0):
    /// 16 Mi.
    pub max_columns: Option<u32>,
    /// The rows to collect. Default: [`Mode::Content`].
    pub mode: Mode,
}

/// The result of [`search_content`].
#[derive(Debug, Clone, Default)]
pub struct SearchResult {
    /// The matching lines; their path is empty. No rows in the modes that only count.
    pub matches: Rows,
    /// The number of rows; with [`Mode::Count`] that of matching lines, with [`Mode::FilesWithMatches`] 1 where a line
    /// matches.
    pub match_count: u32,
    /// There is more than `max_count`.
    pub limit_reached: bool,
    /// Everything that makes the answer different from the request: a pattern that was repaired.
    pub warnings: Vec<String>,
}

/// Searches `content`. Text in UTF-16 or with a byte order mark is transcoded, NUL bytes are characters like
/// others, invalid UTF-8 is searched as bytes and shown with U+FFFD. Time is linear in the content.
///
/// # Errors
/// `InvalidArgument` or `LimitExceeded` for a pattern that cannot be used.
pub fn search_content(content: &[u8], options: &SearchOptions) -> Result<SearchResult> {
    let pattern = Pattern::lines(&options.pattern, options.syntax(), Size::WHOLE);
    search_with(&pattern.map_err(in_search)?, content, options)
}

/// Returns true where `pattern` matches anywhere in `content`. `^` and `$` are the ends of the content, with
/// `multiline` those of its lines. Malformed braces are taken literally. Time is linear in the content.
///
/// # Errors
/// `InvalidArgument` or `LimitExceeded` for a pattern that cannot be used.
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

/// The answer where the pattern is text without a character of meaning, which needs no regex.
pub(crate) fn has_text(content: &[u8], pattern: &str, ignore_case: bool) -> Option<bool> {
    let plain = !ignore_case && !pattern.contains(regex_syntax::is_meta_character);
    plain.then(|| memchr::memmem::find(content, pattern.as_bytes()).is_some())
}

pub(crate) fn has_match_with(pattern: &Pattern, content: &[u8]) -> bool {
    pattern.matcher.is_match(content).expect("this engine has no error while it searches")
}

pub(crate) fn search_with(pattern: &Pattern, content: &[u8], options: &SearchOptions) -> Result<SearchResult> {
    let context = [options.context, options.context_before, options.context_after];
    let mut collect = CollectOptions::new(options.mode, options.multiline, context, options.max_columns);
    collect.per_file = options.max_count_per_file.map_or(usize::MAX, |count| count as usize);
    let skip = options.offset as usize;
    let most = options.max_count.map_or(usize::MAX, |count| count as usize);
    // One more than asked for tells whether there is more.
    let limit = skip.saturating_add(most).saturating_add(1);
    let (mut rows, never) = (Rows::default(), CancelToken::never());
    let mut collector = Collector::new(&pattern.matcher, collect, limit, "", &mut rows, &never);
    if collector.wants_any() {
        // Neither a slice nor this collector can fail.
        let searched =
            collect.searcher(pattern, BinaryDetection::none()).search_slice(&pattern.matcher, content, &mut collector);
        searched.map_err(|error| Error::io("search: failed to search the content", &error))?;
    }
    let found = collector.found;
    collector.close();
    let warnings = pattern.warning.iter().cloned().collect();
    if options.mode != Mode::Content {
        let match_count = crate::rows::clamp(found);
        return Ok(SearchResult { match_count, warnings, ..SearchResult::default() });
    }
    let limit_reached = rows.len() > skip.saturating_add(most);
    if skip > 0 || limit_reached {
        rows = rows.cut(skip, most);
    }
    let match_count = crate::rows::clamp(rows.len());
    Ok(SearchResult { matches: rows, match_count, limit_reached, warnings })
}
