//! Events to every listener. A channel holds [`CAPACITY`] events; a listener that reads slowly slows the agent, one
//! that is gone is forgotten.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::core::Sink;
use crate::event::Event;
use crate::tool::Boxed;

/// Events that may wait for a listener.
pub const CAPACITY: usize = 256;

/// The reading end of a subscription. Dropping it ends the subscription.
pub type Listener = mpsc::Receiver<Arc<Event>>;

/// Copies each event to all listeners, in order.
#[derive(Debug, Default)]
pub struct Fanout {
    listeners: Mutex<Vec<mpsc::Sender<Arc<Event>>>>,
}

impl Fanout {
    /// Listens from now on.
    #[must_use]
    pub fn subscribe(&self) -> Listener {
        let (sender, listener) = mpsc::channel(CAPACITY);
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        listener
    }
}

impl Sink for Fanout {
    fn emit(&self, event: Event) -> Boxed<'_, ()> {
        Box::pin(async move {
            let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if listeners.is_empty() {
                return;
            }
            let event = Arc::new(event);
            let mut gone = false;
            for listener in &listeners {
                gone |= listener.send(Arc::clone(&event)).await.is_err();
            }
            if gone {
                self.listeners.lock().unwrap_or_else(PoisonError::into_inner).retain(|listener| !listener.is_closed());
            }
        })
    }
}
