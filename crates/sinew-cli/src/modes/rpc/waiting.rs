//! Calls to the client that it has not answered yet, such as tool calls and questions to the user.

use parking_lot::Mutex;
use serde_json::Value;
use sinew_jsonrpc::CallTable;

use super::frames::FrameSender;

/// The pending calls of one kind. An id consists of the kind and a number: `host_1`.
pub(super) struct WaitingCalls<W> {
    out: FrameSender,
    kind: &'static str,
    /// Builds the frame that cancels a call, from its own id and the id of the call.
    cancel_frame: fn(&str, &str) -> Value,
    state: Mutex<State<W>>,
}

struct State<W> {
    calls: CallTable<W>,
    /// True if the client has disconnected.
    closed: bool,
}

impl<W> WaitingCalls<W> {
    pub(super) fn new(out: FrameSender, kind: &'static str, cancel_frame: fn(&str, &str) -> Value) -> WaitingCalls<W> {
        // Each belongs to a tool call, and the number of those is limited.
        let state = State { calls: CallTable::new(usize::MAX), closed: false };
        WaitingCalls { out, kind, cancel_frame, state: Mutex::new(state) }
    }

    /// Sends a frame to the client.
    pub(super) async fn send(&self, frame: &Value) {
        self.out.send(frame).await;
    }

    /// Returns an id that no other frame of this kind has.
    pub(super) fn fresh_id(&self) -> String {
        self.name(self.state.lock().calls.fresh_id())
    }

    /// Registers a call; returns `None` if the client has disconnected.
    pub(super) fn register(&self, waiter: W) -> Option<WaitingCall<'_, W>> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        let number = state.calls.register(waiter).ok()?;
        Some(WaitingCall { calls: self, number, id: self.name(number) })
    }

    /// Passes the waiter of a call to `look`; unknown ids are ignored.
    pub(super) fn look(&self, id: &str, look: impl FnOnce(&W)) {
        let Some(number) = self.number(id) else { return };
        if let Some(waiter) = self.state.lock().calls.get(number) {
            look(waiter);
        }
    }

    /// Removes the call that was answered, and returns its waiter; `None` if the id is unknown.
    pub(super) fn take(&self, id: &str) -> Option<W> {
        let number = self.number(id)?;
        self.state.lock().calls.take(number)
    }

    /// Removes all calls, and refuses new ones, because no more answers will arrive.
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
        // Rejects other forms of the number, such as `host_01`.
        Some(number).filter(|number| self.name(*number) == id)
    }
}

/// A registered call. Dropping it before the answer arrived cancels it at the client.
pub(super) struct WaitingCall<'a, W> {
    calls: &'a WaitingCalls<W>,
    number: i64,
    /// The id of the call for the client.
    pub(super) id: String,
}

impl<W> Drop for WaitingCall<'_, W> {
    fn drop(&mut self) {
        let WaitingCalls { out, cancel_frame, state, .. } = self.calls;
        if state.lock().calls.take(self.number).is_none() {
            return;
        }
        let (out, frame) = (out.clone(), cancel_frame(&self.calls.fresh_id(), &self.id));
        // Without a runtime the writer does not exist any more.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { out.send(&frame).await });
        }
    }
}
