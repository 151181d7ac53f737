//! Hooks of extensions, run so that none of them can end, hold or crash a run.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use sinew_tools::tool::panic_text;
use tokio_util::sync::CancellationToken;

/// A hook that takes longer is cut off.
const LIMIT: Duration = Duration::from_secs(30);
/// The time that a hook has once the run is to end. Several events follow an abort; together they stay below 1 s.
const GRACE: Duration = Duration::from_millis(100);

/// The result of a hook, or why it gave none. `hook` is the call itself, inside a future: one that panics before it
/// returns its future fails like any other.
pub(crate) async fn ask<T>(cancel: &CancellationToken, hook: impl Future<Output = T>) -> Result<T, String> {
    let limited = tokio::time::timeout(LIMIT, ask_person(cancel, hook)).await;
    limited.unwrap_or_else(|_| Err(format!("no answer within {} s", LIMIT.as_secs())))
}

/// The same for a hook that waits for a person, who may take any time.
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
