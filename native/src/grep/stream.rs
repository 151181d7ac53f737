//! Searches whose rows are passed to a callback while they run.

use std::ops::ControlFlow;

use napi::bindgen_prelude::{Function, Object};
use napi::{Env, Unknown};
use sinew::base::{CancelToken, Result};
use sinew::search::{GrepOptions, GrepResult, OnMatch, Rows};

use super::{Columns, GrepAnswer};
use crate::abort::{self, Abort};
use crate::grep_request::GrepRequest;
use crate::stream::Stream;
use crate::task;

/// Schedules a search and passes its pieces to `on_match`.
pub(crate) fn streamed_grep<'env>(
    env: &'env Env,
    options: GrepRequest,
    on_match: Option<Function<'env, Columns, Unknown<'static>>>,
    abort: Option<&Abort>,
    search: impl FnOnce(&GrepOptions, &CancelToken, Option<OnMatch<'_>>) -> Result<GrepResult> + Send + 'static,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, options.timeout_ms);
    let mut stream =
        on_match.map(|callback| Stream::<Rows, Columns>::new(&callback, abort, &cancel, Columns::from)).transpose()?;
    let options = options.into_core();
    let work = move || {
        let mut refused = false;
        let mut send = |rows: &Rows| match &stream {
            Some(stream) if !stream.send(rows.clone()) => {
                refused = true;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        let on_match: Option<OnMatch<'_>> = if stream.is_some() { Some(&mut send) } else { None };
        let result = search(&options, &cancel, on_match);
        if let Some(stream) = &mut stream {
            stream.finish();
        }
        if refused {
            // The call was cancelled while a promise of the callback was awaited.
            cancel.check()?;
        }
        result
    };
    task::blocking(env, "grep", work, GrepAnswer::from)
}
