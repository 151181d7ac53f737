//! How a call is ended from JavaScript: by a signal, by a time limit.

use std::time::Duration;

use napi_derive::napi;
use sinew::base::{Cancel, Canceller};

/// The native end of an `AbortSignal`: the TypeScript side calls `abort()` when the signal fires.
#[napi]
pub struct Abort {
    canceller: Canceller,
    cancel: Cancel,
}

impl Drop for Abort {
    fn drop(&mut self) {
        // JavaScript holds the one of every call that runs, so this is the end of its thread: nobody waits any more.
        self.canceller.cancel();
    }
}

#[napi]
impl Abort {
    /// One that is not aborted yet.
    #[napi(constructor)]
    pub fn new() -> Abort {
        let (canceller, cancel) = Canceller::new();
        Abort { canceller, cancel }
    }

    /// Ends the call that was given this object.
    #[napi]
    pub fn abort(&self) {
        self.canceller.cancel();
    }
}

/// What may stop a call: an [`Abort`], a time limit in milliseconds, both, neither.
pub(crate) fn cancel(abort: Option<&Abort>, timeout_ms: Option<u32>) -> Cancel {
    let cancel = abort.map_or_else(Cancel::never, |abort| abort.cancel.clone());
    match timeout_ms {
        Some(ms) => cancel.with_timeout(Duration::from_millis(ms.into())),
        None => cancel,
    }
}
