//! The binding of `grep`, `search` and `hasMatch`.

mod stream;

use napi::bindgen_prelude::{Either, Function, Object, Uint8Array, Uint32Array};
use napi::{Env, Unknown};
use napi_derive::napi;
use sinew::base::{Error, Result};
use sinew::search::{self, GrepResult, Rows, SearchResult, SkippedFiles};

use crate::abort::Abort;
use crate::column_text::{ColumnText, column_text};
use crate::grep_request::GrepRequest;
use crate::handle;
use crate::task;
pub(crate) use stream::streamed_grep;

/// Rows as columns; `sinew_search::Rows` describes the numbers.
#[napi(object, object_from_js = false)]
pub(crate) struct Columns {
    #[napi(ts_type = "string")]
    pub text: ColumnText,
    pub numbers: Uint32Array,
}

#[napi(object, object_from_js = false)]
pub(crate) struct GrepAnswer {
    pub matches: Vec<Columns>,
    pub total_matches: u32,
    pub files_with_matches: u32,
    pub files_searched: u32,
    pub limit_reached: bool,
    pub binary: u32,
    pub too_large: u32,
    pub unreadable: u32,
    pub warnings: Vec<String>,
}

#[napi(object, object_from_js = false)]
pub(crate) struct SearchAnswer {
    pub matches: Columns,
    pub match_count: u32,
    pub limit_reached: bool,
    pub warnings: Vec<String>,
    pub error: Option<String>,
}

/// Searches files; `onMatch` receives pieces of the result while the search runs.
#[napi(ts_return_type = "Promise<GrepAnswer>")]
pub(crate) fn grep<'env>(
    env: &'env Env,
    options: GrepRequest,
    on_match: Option<Function<'env, Columns, Unknown<'static>>>,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    streamed_grep(env, options, on_match, abort, |options, cancel, on_match| {
        search::grep(options, &handle().cache, &handle().pool, cancel, on_match)
    })
}

/// Searches text in memory.
#[napi]
pub(crate) fn search(
    env: &Env,
    content: Either<String, Uint8Array>,
    options: GrepRequest,
) -> napi::Result<SearchAnswer> {
    let options = options.into_core().into();
    task::now(env, "search", || Ok(handle().patterns.search_content(bytes(&content), &options).into()))
}

/// Returns whether a pattern matches anywhere in a text.
#[napi]
pub(crate) fn has_match(
    env: &Env,
    content: Either<String, Uint8Array>,
    pattern: Either<String, Uint8Array>,
    ignore_case: bool,
    multiline: bool,
) -> napi::Result<bool> {
    task::now(env, "hasMatch", || {
        let pattern = std::str::from_utf8(bytes(&pattern))
            .map_err(|cause| Error::invalid(format!("hasMatch: the pattern is not UTF-8: {cause}")))?;
        handle().patterns.has_match(bytes(&content), pattern, ignore_case, multiline)
    })
}

fn bytes(value: &Either<String, Uint8Array>) -> &[u8] {
    match value {
        Either::A(text) => text.as_bytes(),
        Either::B(bytes) => bytes,
    }
}

impl From<Rows> for Columns {
    fn from(rows: Rows) -> Columns {
        let (text, numbers) = rows.into_columns();
        Columns { text: column_text(text), numbers: numbers.into() }
    }
}

impl From<GrepResult> for GrepAnswer {
    fn from(result: GrepResult) -> GrepAnswer {
        let GrepResult { matches, total_matches, files_with_matches, files_searched, limit_reached, skipped, warnings } =
            result;
        let SkippedFiles { binary, too_large, unreadable } = skipped;
        let matches = matches.into_iter().map(Columns::from).collect();
        GrepAnswer {
            matches,
            total_matches,
            files_with_matches,
            files_searched,
            limit_reached,
            binary,
            too_large,
            unreadable,
            warnings,
        }
    }
}

impl From<Result<SearchResult>> for SearchAnswer {
    fn from(result: Result<SearchResult>) -> SearchAnswer {
        let error = result.as_ref().err().map(ToString::to_string);
        let SearchResult { matches, match_count, limit_reached, warnings } = result.unwrap_or_default();
        SearchAnswer { matches: matches.into(), match_count, limit_reached, warnings, error }
    }
}
