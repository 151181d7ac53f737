//! Cancels calls from JavaScript: by a signal, by a time limit, and at the end of the calling thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use napi_derive::napi;
use sinew::base::{CancelHandle, CancelToken};
use sinew::shell::Shell;

use crate::stream::Flow;

thread_local! {
    static CALLS: RefCell<Calls> = RefCell::new(Calls::new());
}

/// The handles that cancel the calls of one JavaScript thread. Dropped with the thread, even if the host keeps its
/// objects, because nothing waits for the calls any more.
struct Calls {
    next: u64,
    open: HashMap<u64, (CancelHandle, Arc<Flow>)>,
    /// For calls without an [`Abort`].
    plain: (CancelHandle, CancelToken),
    shells: Vec<Weak<Shell>>,
}

impl Calls {
    fn new() -> Calls {
        Calls { next: 0, open: HashMap::new(), plain: CancelHandle::new(), shells: Vec::new() }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.plain.0.cancel();
        for (cancel_handle, flow) in self.open.values() {
            cancel_handle.cancel();
            flow.close();
        }
        for shell in self.shells.iter().filter_map(Weak::upgrade) {
            // Closing waits for processes that ignore the request, which must not block this thread. If no thread can
            // be started, the shell ends with the process.
            let _ = std::thread::Builder::new().name("sinew-call".to_string()).spawn(move || shell.close());
        }
    }
}

/// Closes `shell` at the latest when this thread ends.
pub(crate) fn close_at_end(shell: &Arc<Shell>) {
    CALLS.with(|calls| {
        let shells = &mut calls.borrow_mut().shells;
        shells.retain(|shell| shell.strong_count() > 0);
        shells.push(Arc::downgrade(shell));
    });
}

/// Cancels a call and controls its callback: the TypeScript side calls `abort()` when an `AbortSignal` fires.
#[napi]
pub struct Abort {
    number: u64,
    cancel_handle: CancelHandle,
    cancel: CancelToken,
    flow: Arc<Flow>,
}

impl Drop for Abort {
    fn drop(&mut self) {
        // JavaScript keeps the object of every running call, so at this point nothing waits for the call.
        self.cancel_handle.cancel();
        // When the thread ends, the list may have been dropped already, which cancelled the calls.
        let _ = CALLS.try_with(|calls| calls.borrow_mut().open.remove(&self.number));
    }
}

#[napi]
impl Abort {
    /// Creates an object that is not aborted.
    #[napi(constructor)]
    pub fn new() -> Abort {
        let (cancel_handle, cancel) = CancelHandle::new();
        let flow = Arc::<Flow>::default();
        let number = CALLS.with(|calls| {
            let mut calls = calls.borrow_mut();
            calls.next += 1;
            let number = calls.next;
            calls.open.insert(number, (cancel_handle.clone(), Arc::clone(&flow)));
            number
        });
        Abort { number, cancel_handle, cancel, flow }
    }

    /// Cancels the call that received this object.
    #[napi]
    pub fn abort(&self) {
        self.cancel_handle.cancel();
        self.flow.wake();
    }

    /// Pauses the callback of the call, which has returned a promise.
    #[napi]
    pub fn hold(&self) {
        self.flow.hold(true);
    }

    /// Resumes the callback after the promise has settled.
    #[napi]
    pub fn release(&self) {
        self.flow.hold(false);
    }

    pub(crate) fn flow(&self) -> Arc<Flow> {
        Arc::clone(&self.flow)
    }
}

/// Returns the token of a call, which is cancelled by an [`Abort`], a time limit in milliseconds, and the end of this
/// thread.
pub(crate) fn cancel(abort: Option<&Abort>, timeout_ms: Option<u32>) -> CancelToken {
    let cancel = match abort {
        Some(abort) => abort.cancel.clone(),
        None => CALLS.try_with(|calls| calls.borrow().plain.1.clone()).unwrap_or_default(),
    };
    match timeout_ms {
        Some(ms) => cancel.with_timeout(Duration::from_millis(ms.into())),
        None => cancel,
    }
}
