//! The cost of requests, and its limit.

use std::sync::Arc;

use parking_lot::Mutex;
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::Usage;
use sinew_llm::provider::{Provider, Request};
use tokio_util::sync::CancellationToken;

/// Adds up the usage of all requests through a [`Metered`] provider: answers (including failed ones), summaries and
/// titles.
#[derive(Debug, Default)]
pub struct Meter {
    usage: Mutex<Usage>,
}

impl Meter {
    /// Returns the tokens and cost so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.usage.lock()
    }

    fn add(&self, more: &Usage) {
        let usage = &mut *self.usage.lock();
        for (sum, part) in [
            (&mut usage.input, more.input),
            (&mut usage.output, more.output),
            (&mut usage.cache_read, more.cache_read),
            (&mut usage.cache_write, more.cache_write),
            (&mut usage.total_tokens, more.total_tokens),
        ] {
            *sum = sum.saturating_add(part);
        }
        let cost = &mut usage.cost;
        cost.input += more.cost.input;
        cost.output += more.cost.output;
        cost.cache_read += more.cost.cache_read;
        cost.cache_write += more.cost.cache_write;
        cost.total += more.cost.total;
    }
}

/// A limit on the cost.
#[derive(Debug, Clone)]
pub struct Budget {
    /// The limit, in US dollars.
    pub limit: f64,
    /// The cost so far.
    pub meter: Arc<Meter>,
}

impl Budget {
    /// Returns whether the limit is reached, so that no further request may be sent.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.meter.usage().cost.total >= self.limit
    }
}

/// A provider that adds the usage of its requests to a [`Meter`].
pub struct Metered {
    inner: Arc<dyn Provider>,
    meter: Arc<Meter>,
}

impl Metered {
    /// Wraps `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, meter: Arc<Meter>) -> Metered {
        Metered { inner, meter }
    }
}

impl Provider for Metered {
    fn api(&self) -> &str {
        self.inner.api()
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream {
        let meter = Arc::clone(&self.meter);
        let mut inner = self.inner.stream(request, cancel);
        let header = inner.partial().message().clone();
        EventStream::run(header, move |out| async move {
            while let Some(event) = inner.next().await {
                if let StreamEvent::Done { message, .. } | StreamEvent::Error { message, .. } = &event {
                    meter.add(&message.usage);
                }
                if !out.send(event).await {
                    return;
                }
            }
        })
    }
}
