//! Callbacks from other threads: in order, bounded, all delivered before the promise settles.

use std::sync::Arc;

use napi::bindgen_prelude::{Function, JsValuesTupleIntoVec};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, Unknown};
use sinew::base::CancelToken;

use crate::abort::Abort;

mod flow;

pub(crate) use flow::Flow;

/// The maximum number of values that wait for the JavaScript thread before the producer has to wait.
const QUEUE: usize = 64;

type Queue<T, J> = ThreadsafeFunction<Item<T>, Unknown<'static>, J, Status, false>;

/// A JavaScript callback that receives one `J`, called from any thread with a `T`.
pub(crate) struct Stream<T: 'static, J: 'static + JsValuesTupleIntoVec> {
    queue: Option<Queue<T, J>>,
    flow: Arc<Flow>,
    cancel: CancelToken,
}

/// A value decrements the counter when it is dropped, delivered or not.
struct Item<T> {
    value: Option<T>,
    flow: Arc<Flow>,
}

impl<T> Drop for Item<T> {
    fn drop(&mut self) {
        self.flow.change(|state| state.waiting -= 1);
    }
}

/// Dropped with the callback: when the JavaScript thread ends, waiting values are not dropped, but this is.
struct Closer(Arc<Flow>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<T: Send + 'static, J: 'static + JsValuesTupleIntoVec> Stream<T, J> {
    /// Creates the stream. `translate` runs on the JavaScript thread. The callback itself must not throw: the
    /// TypeScript side wraps the user's callback to store the error, notify `abort` of returned promises, and end the
    /// call. `cancel` ends the call.
    pub(crate) fn new(
        callback: &Function<'_, J, Unknown<'static>>,
        abort: Option<&Abort>,
        cancel: &CancelToken,
        translate: fn(T) -> J,
    ) -> napi::Result<Self> {
        let flow = abort.map_or_else(Arc::default, Abort::flow);
        let closer = Closer(Arc::clone(&flow));
        let queue = callback.build_threadsafe_function::<Item<T>>().callee_handled::<false>().build_callback(
            move |mut context| {
                let _ = &closer;
                match context.value.value.take() {
                    Some(value) => Ok(translate(value)),
                    None => Err(napi::Error::from_reason("the value was already delivered")),
                }
            },
        )?;
        Ok(Stream { queue: Some(queue), flow, cancel: cancel.clone() })
    }

    /// Sends a value; blocks while too many are waiting, and while a promise of the callback is awaited. Returns false
    /// if JavaScript is gone, or the call was cancelled meanwhile.
    pub(crate) fn send(&self, value: T) -> bool {
        let Some(queue) = &self.queue else { return false };
        let mut state = self.flow.wait(&self.cancel, |state| !state.held && state.waiting < QUEUE);
        if state.closed || state.held {
            return false;
        }
        state.waiting += 1;
        drop(state);
        let item = Item { value: Some(value), flow: Arc::clone(&self.flow) };
        queue.call(item, ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok
    }

    /// Waits until every sent value was passed to the callback, then releases the callback, so that it no longer keeps
    /// the event loop alive. Dropping does the same. The TypeScript side waits for the promise of the last one.
    pub(crate) fn finish(&mut self) {
        self.settle();
        self.queue = None;
    }
}

impl<T: 'static, J: 'static + JsValuesTupleIntoVec> Stream<T, J> {
    fn settle(&self) {
        // Values are delivered to JavaScript even while a promise is awaited there.
        drop(self.flow.wait(&CancelToken::never(), |state| state.waiting == 0));
    }
}

impl<T: 'static, J: 'static + JsValuesTupleIntoVec> Drop for Stream<T, J> {
    fn drop(&mut self) {
        self.settle();
    }
}
