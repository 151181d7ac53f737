//! The binding of `globSync` and `grepSync`, which run on the calling thread and the pool while JavaScript waits.

use napi::Env;
use napi_derive::napi;
use sinew::search;

use crate::glob::{GlobAnswer, GlobRequest};
use crate::grep::GrepAnswer;
use crate::grep_request::GrepRequest;
use crate::{abort, handle, task};

/// Finds the entries below a directory that match a pattern, synchronously.
#[napi]
pub(crate) fn glob_sync(env: &Env, options: GlobRequest) -> napi::Result<GlobAnswer> {
    let cancel = abort::cancel(None, options.timeout_ms);
    let options = options.into_core();
    task::now(env, "globSync", || {
        let result = search::glob(&options, &handle().cache, &handle().pool, &cancel)?;
        Ok((result.columns(), result).into())
    })
}

/// Searches files synchronously.
#[napi]
pub(crate) fn grep_sync(env: &Env, options: GrepRequest) -> napi::Result<GrepAnswer> {
    let cancel = abort::cancel(None, options.timeout_ms);
    let options = options.into_core();
    task::now(env, "grepSync", || {
        search::grep(&options, &handle().cache, &handle().pool, &cancel, None).map(GrepAnswer::from)
    })
}
