//! Ends calls from JavaScript: by a signal, by a time limit, by the end of the calling thread.

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

/// The handles that end the calls of one JavaScript thread. It is dropped with the thread, whatever the host does with the objects that
/// are left there: nobody waits any more.
struct Calls {
    next: u64,
    open: HashMap<u64, (CancelHandle, Arc<Flow>)>,
    /// For calls that have no [`Abort`].
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
            // Closing waits for what does not obey; this thread has no time for that. Without a thread to spare the shell
            // ends with the process.
            let _ = std::thread::Builder::new().name("sinew-call".to_string()).spawn(move || shell.close());
        }
    }
}

/// Lets `shell` end with this thread at the latest.
pub(crate) fn close_at_end(shell: &Arc<Shell>) {
    CALLS.with(|calls| {
        let shells = &mut calls.borrow_mut().shells;
        shells.retain(|shell| shell.strong_count() > 0);
        shells.push(Arc::downgrade(shell));
    });
}

/// The native end of an `AbortSignal` and of a callback: the TypeScript side calls `abort()` when the signal fires.
#[napi]
pub struct Abort {
    number: u64,
    cancel_handle: CancelHandle,
    cancel: CancelToken,
    flow: Arc<Flow>,
}

impl Drop for Abort {
    fn drop(&mut self) {
        // JavaScript holds the one of every call that runs, so nobody waits any more.
        self.cancel_handle.cancel();
        // At the end of the thread the list may be gone; it has ended the calls then.
        let _ = CALLS.try_with(|calls| calls.borrow_mut().open.remove(&self.number));
    }
}

#[napi]
impl Abort {
    /// One that is not aborted yet.
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

    /// Ends the call that was given this object.
    #[napi]
    pub fn abort(&self) {
        self.cancel_handle.cancel();
        self.flow.wake();
    }

    /// Holds back what goes to the callback of the call: it has returned a promise.
    #[napi]
    pub fn hold(&self) {
        self.flow.hold(true);
    }

    /// Lets it go on: the promise is settled.
    #[napi]
    pub fn release(&self) {
        self.flow.hold(false);
    }

    pub(crate) fn flow(&self) -> Arc<Flow> {
        Arc::clone(&self.flow)
    }
}

/// Returns the token of a call: an [`Abort`], a time limit in milliseconds, both, and the end of this thread cancel it.
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
