//! The binding of `fuzzyFind`.

use napi::Env;
use napi::bindgen_prelude::{Int32Array, Object};
use napi_derive::napi;
use sinew::search::{self, FindColumns, FindOptions, FindResult};

use crate::abort::{self, Abort};
use crate::handle;
use crate::task;

/// The options of `fuzzyFind`, checked by the TypeScript side.
#[napi(object)]
pub(crate) struct FindRequest {
    pub query: String,
    pub path: String,
    pub hidden: Option<bool>,
    pub gitignore: Option<bool>,
    pub cache: Option<bool>,
    pub max_results: Option<u32>,
    pub timeout_ms: Option<u32>,
}

/// The matches as columns; `sinew_search::FindColumns` describes them.
#[napi(object)]
pub(crate) struct FindAnswer {
    pub text: String,
    pub numbers: Int32Array,
    pub total_matches: u32,
    pub warnings: Vec<String>,
}

/// Finds the entries below a directory whose paths match a query best.
#[napi(ts_return_type = "Promise<FindAnswer>")]
pub(crate) fn fuzzy_find<'env>(
    env: &'env Env,
    options: FindRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, options.timeout_ms);
    let options = options.into_core();
    let work = move || {
        let result = search::fuzzy_find(&options, &handle().cache, &handle().pool, &cancel)?;
        Ok((result.columns(), result))
    };
    task::blocking(env, "fuzzyFind", work, FindAnswer::from)
}

impl FindRequest {
    pub(crate) fn into_core(self) -> FindOptions {
        let FindRequest { query, path, hidden, gitignore, cache, max_results, timeout_ms: _ } = self;
        let default = FindOptions::new(path, query);
        FindOptions {
            query: default.query,
            path: default.path,
            hidden: hidden.unwrap_or(default.hidden),
            gitignore: gitignore.unwrap_or(default.gitignore),
            cache: cache.unwrap_or(default.cache),
            max_results: max_results.map_or(default.max_results, |most| most as usize),
            global_excludes: handle().global_excludes.clone(),
        }
    }
}

impl From<(FindColumns, FindResult)> for FindAnswer {
    fn from((columns, result): (FindColumns, FindResult)) -> FindAnswer {
        let FindColumns { text, numbers } = columns;
        FindAnswer {
            text,
            numbers: numbers.into(),
            total_matches: u32::try_from(result.total_matches).unwrap_or(u32::MAX),
            warnings: result.warnings,
        }
    }
}
