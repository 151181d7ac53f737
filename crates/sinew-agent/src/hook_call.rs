//! Calls hooks of extensions with a time limit, so that a hook cannot block, abort or crash a run.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use sinew_tools::tool::panic_text;
use tokio_util::sync::CancellationToken;

/// The time limit of a hook.
const LIMIT: Duration = Duration::from_secs(30);
/// The time that a hook has left after the run is cancelled. Several events follow an abort; together they stay below 1
/// s.
const GRACE: Duration = Duration::from_millis(100);

/// Returns the result of a hook, or why it failed. `hook` is a future that contains the call itself, so that a panic
/// before the hook returns its own future is caught too.
pub(crate) async fn ask<T>(cancel: &CancellationToken, hook: impl Future<Output = T>) -> Result<T, String> {
    let limited = tokio::time::timeout(LIMIT, ask_person(cancel, hook)).await;
    limited.unwrap_or_else(|_| Err(format!("no answer within {} s", LIMIT.as_secs())))
}

/// Does the same without a time limit, for a hook that waits for the user.
pub(crate) async fn ask_person<T>(cancel: &CancellationToken, hook: impl Future<Output = T>) -> Result<T, String> {
    let answer = AssertUnwindSafe(hook).catch_unwind();
    let ended = async {
        cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        answer = answer => answer.map_err(|panic| panic_text(panic.as_ref())),
        () = ended => Err("the run ended before it answered".into()),
    }
}
