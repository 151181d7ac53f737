//! Calls to the client that it has not answered yet: of tools that it runs, of questions to the person behind it.

use parking_lot::Mutex;
use serde_json::Value;
use sinew_jsonrpc::CallTable;

use super::frames::Out;

/// The waiting calls of one kind. An id is the name of the kind and a number: `host_1`.
pub(super) struct WaitingCalls<W> {
    out: Out,
    kind: &'static str,
    /// Makes the frame that takes a call back, of its own id and the id of the call.
    cancel_frame: fn(&str, &str) -> Value,
    state: Mutex<State<W>>,
}

struct State<W> {
    calls: CallTable<W>,
    /// The client is gone: nobody will answer.
    closed: bool,
}

impl<W> WaitingCalls<W> {
    pub(super) fn new(out: Out, kind: &'static str, cancel_frame: fn(&str, &str) -> Value) -> WaitingCalls<W> {
        // Each waits for a call of a tool, and those have a limit of their own.
        let state = State { calls: CallTable::new(usize::MAX), closed: false };
        WaitingCalls { out, kind, cancel_frame, state: Mutex::new(state) }
    }

    /// Writes a frame to the client.
    pub(super) async fn send(&self, frame: &Value) {
        self.out.send(frame).await;
    }

    /// Returns an id that no other frame of the kind has.
    pub(super) fn fresh_id(&self) -> String {
        self.name(self.state.lock().calls.fresh_id())
    }

    /// Takes a call into the table; none where nobody will answer.
    pub(super) fn register(&self, waiter: W) -> Option<WaitingCall<'_, W>> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        let number = state.calls.register(waiter).ok()?;
        Some(WaitingCall { calls: self, number, id: self.name(number) })
    }

    /// Shows what waits for an answer to `look`; an id that nobody waits for is left aside.
    pub(super) fn look(&self, id: &str, look: impl FnOnce(&W)) {
        let Some(number) = self.number(id) else { return };
        if let Some(waiter) = self.state.lock().calls.get(number) {
            look(waiter);
        }
    }

    /// Ends the call that is answered; none where nobody waits for it.
    pub(super) fn take(&self, id: &str) -> Option<W> {
        let number = self.number(id)?;
        self.state.lock().calls.take(number)
    }

    /// Ends all calls, and refuses new ones: nobody will answer any more.
    pub(super) fn close(&self) -> impl Iterator<Item = W> + use<W> {
        let mut state = self.state.lock();
        state.closed = true;
        state.calls.close().into_iter().map(|(_, waiter)| waiter)
    }

    fn name(&self, number: i64) -> String {
        format!("{}_{number}", self.kind)
    }

    fn number(&self, id: &str) -> Option<i64> {
        let number = id.strip_prefix(self.kind)?.strip_prefix('_')?.parse().ok()?;
        // `host_01` is not `host_1`.
        Some(number).filter(|number| self.name(*number) == id)
    }
}

/// A call that the client is told to end where nobody waits for its answer any more.
pub(super) struct WaitingCall<'a, W> {
    calls: &'a WaitingCalls<W>,
    number: i64,
    /// Names the call to the client.
    pub(super) id: String,
}

impl<W> Drop for WaitingCall<'_, W> {
    fn drop(&mut self) {
        let WaitingCalls { out, cancel_frame, state, .. } = self.calls;
        if state.lock().calls.take(self.number).is_none() {
            return;
        }
        let (out, frame) = (out.clone(), cancel_frame(&self.calls.fresh_id(), &self.id));
        // Without a runtime there is no writer either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { out.send(&frame).await });
        }
    }
}
