//! The binding of `diff` and `unifiedDiff`.

use napi::Env;
use napi::bindgen_prelude::{Object, Uint32Array, Utf16String};
use napi_derive::napi;
use sinew::base::utf16_text;
use sinew::diff::{self, Change, ChangeKind, DiffOptions, UnifiedOptions, Unit};

use crate::abort::{self, Abort};
use crate::task;

/// The options of `diff`.
#[napi(object)]
pub(crate) struct DiffRequest {
    /// `"line"` or `"word"`.
    pub unit: Option<String>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u32>,
}

/// The options of `unifiedDiff`.
#[napi(object)]
pub(crate) struct UnifiedRequest {
    /// The name of the old file.
    pub old_name: Option<String>,
    /// The name of the new file.
    pub new_name: Option<String>,
    /// The number of unchanged lines around each change.
    pub context: Option<u32>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u32>,
}

/// Encodes a change as two numbers: its kind, and its length in UTF-16 units.
fn column(change: &Change<'_>) -> [u32; 2] {
    let kind = match change.kind {
        ChangeKind::Equal => 0,
        ChangeKind::Removed => 1,
        ChangeKind::Added => 2,
    };
    [kind, change.utf16_len() as u32]
}

/// Compares two texts. The texts are passed as UTF-16 and converted to UTF-8 on the pool.
#[napi(
    ts_args_type = "before: string, after: string, options: DiffRequest, abort?: Abort",
    ts_return_type = "Promise<Uint32Array>"
)]
pub(crate) fn diff<'env>(
    env: &'env Env,
    before: Utf16String,
    after: Utf16String,
    options: DiffRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let DiffRequest { unit, timeout_ms } = options;
    let cancel = abort::cancel(abort, timeout_ms);
    let default = DiffOptions::default();
    let unit = unit.and_then(|name| Unit::from_name(&name)).unwrap_or(default.unit);
    let options = DiffOptions { unit, effort: default.effort };
    let work = move || {
        let (before, after) = (utf16_text(&before), utf16_text(&after));
        let changes = diff::diff(&before, &after, &options, &cancel)?;
        Ok(changes.iter().flat_map(column).collect::<Vec<u32>>())
    };
    task::blocking(env, "diff", work, Uint32Array::from)
}

/// Writes the difference of two texts as a unified diff.
#[napi(
    ts_args_type = "before: string, after: string, options: UnifiedRequest, abort?: Abort",
    ts_return_type = "Promise<string>"
)]
pub(crate) fn unified_diff<'env>(
    env: &'env Env,
    before: Utf16String,
    after: Utf16String,
    options: UnifiedRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let UnifiedRequest { old_name, new_name, context, timeout_ms } = options;
    let cancel = abort::cancel(abort, timeout_ms);
    let default = UnifiedOptions::default();
    let options = UnifiedOptions {
        old_name: old_name.unwrap_or(default.old_name),
        new_name: new_name.unwrap_or(default.new_name),
        context: context.map_or(default.context, |lines| lines as usize),
        effort: default.effort,
    };
    let work = move || diff::unified_diff(&utf16_text(&before), &utf16_text(&after), &options, &cancel);
    task::blocking(env, "unifiedDiff", work, |patch| patch)
}
