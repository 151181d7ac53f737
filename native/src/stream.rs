//! Callbacks from other threads: in order, bounded, all delivered before the promise settles.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use napi::bindgen_prelude::{Function, JsValuesTupleIntoVec};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, Unknown};

/// How many values may wait for the JavaScript thread before the producer does.
const QUEUE: usize = 64;

type Queue<T, J> = ThreadsafeFunction<Item<T>, Unknown<'static>, J, Status, false, false, QUEUE>;

/// A JavaScript callback that takes one `J`, called from any thread with a `T`.
pub(crate) struct Stream<T: 'static, J: 'static + JsValuesTupleIntoVec> {
    queue: Option<Queue<T, J>>,
    flow: Arc<Flow>,
}

/// Counts what is on its way; an item counts itself out when it is dropped, delivered or not.
#[derive(Default)]
struct Flow {
    waiting: Mutex<usize>,
    empty: Condvar,
}

struct Item<T> {
    value: Option<T>,
    flow: Arc<Flow>,
}

impl<T> Drop for Item<T> {
    fn drop(&mut self) {
        let mut waiting = self.flow.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting -= 1;
        if *waiting == 0 {
            self.flow.empty.notify_all();
        }
    }
}

impl<T: Send + 'static, J: 'static + JsValuesTupleIntoVec> Stream<T, J> {
    /// `translate` runs on the JavaScript thread. The callback itself must not throw: the TypeScript side wraps
    /// the user's in one that keeps the error and aborts the call.
    pub(crate) fn new(callback: &Function<'_, J, Unknown<'static>>, translate: fn(T) -> J) -> napi::Result<Self> {
        let queue = callback
            .build_threadsafe_function::<Item<T>>()
            .callee_handled::<false>()
            .max_queue_size::<QUEUE>()
            .build_callback(move |mut context| match context.value.value.take() {
                Some(value) => Ok(translate(value)),
                None => Err(napi::Error::from_reason("a value is delivered once")),
            })?;
        Ok(Stream { queue: Some(queue), flow: Arc::default() })
    }

    /// Hands a value over; blocks while the queue is full. False when JavaScript is gone.
    pub(crate) fn send(&self, value: T) -> bool {
        let Some(queue) = &self.queue else { return false };
        *self.flow.waiting.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let item = Item { value: Some(value), flow: Arc::clone(&self.flow) };
        queue.call(item, ThreadsafeFunctionCallMode::Blocking) == Status::Ok
    }

    /// Waits until every value sent was handed to the callback, then lets go of it, so that it no longer keeps
    /// the event loop alive. Dropping does the same.
    pub(crate) fn finish(&mut self) {
        let mut waiting = self.flow.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while *waiting > 0 {
            waiting = self.flow.empty.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        drop(waiting);
        self.queue = None;
    }
}

impl<T: 'static, J: 'static + JsValuesTupleIntoVec> Drop for Stream<T, J> {
    fn drop(&mut self) {
        let mut waiting = self.flow.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while *waiting > 0 {
            waiting = self.flow.empty.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
