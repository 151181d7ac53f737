//! Shows extensions the requests to a provider and the status and headers of its answers.

use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use sinew_llm::provider::WireObserver;

use crate::event::Event;
use crate::extension::{Context, Extension, Point};
use crate::hook_points::asked;

const BEFORE: &str = "before_provider_request";
const AFTER: &str = "after_provider_response";

/// Asks the extensions of a run. Secret values are redacted before it sees a request.
pub(super) struct ExtensionObserver {
    extensions: Vec<Arc<dyn Extension>>,
    context: Context,
    faults: Mutex<Vec<Event>>,
    skipped: Mutex<SkippedEvents>,
}

/// The number of events of an answer that were skipped, and the first of them.
#[derive(Default)]
struct SkippedEvents {
    count: usize,
    first: String,
}

/// The number of characters shown of a skipped event.
const SHOWN: usize = 200;

impl ExtensionObserver {
    /// Creates an observer for the extensions at one of the two points. If there are none, requests are not serialized
    /// a second time for them.
    pub(super) fn new(extensions: &[Arc<dyn Extension>], context: Context) -> Arc<ExtensionObserver> {
        let looks = |extension: &&Arc<dyn Extension>| extension.is_at(BEFORE) || extension.is_at(AFTER);
        let extensions = extensions.iter().filter(looks).cloned().collect();
        Arc::new(ExtensionObserver { extensions, context, faults: Mutex::default(), skipped: Mutex::default() })
    }

    /// Returns the failures since the last call, and a warning if events were skipped.
    pub(super) fn faults(&self) -> Vec<Event> {
        let mut faults = std::mem::take(&mut *self.faults.lock());
        let SkippedEvents { count, first } = std::mem::take(&mut *self.skipped.lock());
        if count > 0 {
            let message =
                format!("{count} of the answer's events were skipped because they are not JSON, the first: {first}");
            faults.push(Event::Warning { message });
        }
        faults
    }

    fn failed(&self, faults: Vec<Event>) {
        self.faults.lock().extend(faults);
    }
}

impl fmt::Debug for ExtensionObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tapped").finish_non_exhaustive()
    }
}

impl WireObserver for ExtensionObserver {
    fn wants_bodies(&self) -> bool {
        !self.extensions.is_empty()
    }

    fn skipped(&self, data: &str) {
        let mut skipped = self.skipped.lock();
        if skipped.count == 0 {
            skipped.first = data.chars().take(SHOWN).collect();
        }
        skipped.count += 1;
    }

    fn request(&self, payload: Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send + '_>> {
        Box::pin(async move {
            let mut changed = None;
            let point = Point::new(BEFORE, json!({"payload": payload}));
            let faults = asked(&self.extensions, point, &self.context, |point, mut answer| {
                if let Some(payload) = answer.remove("payload").filter(Value::is_object) {
                    point.fields.insert("payload".into(), payload.clone());
                    changed = Some(payload);
                }
                ControlFlow::Continue(())
            });
            self.failed(faults.await);
            changed
        })
    }

    fn response(&self, status: u16, headers: Vec<(String, String)>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let headers: serde_json::Map<String, Value> =
                headers.into_iter().map(|(name, value)| (name, value.into())).collect();
            let point = Point::new(AFTER, json!({"status": status, "headers": headers}));
            let faults = asked(&self.extensions, point, &self.context, |_, _| ControlFlow::Continue(()));
            self.failed(faults.await);
        })
    }
}
