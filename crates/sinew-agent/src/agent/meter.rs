//! The use of requests, and its limits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sinew::base::Result;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::Usage;
use sinew_llm::provider::{Provider, Request};
use tokio::sync::SetOnce;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::models::{ModelResolver, ResolvedModel, WorkPermit, wait_without_permit};
use crate::compaction::text_tokens;

/// The time between two requests that waited for the same provider.
const STAGGER: Duration = Duration::from_millis(20);

/// Adds up the usage of all requests through a [`MeteredProvider`]: answers (including failed ones), summaries and
/// titles.
#[derive(Debug, Default)]
pub struct Meter {
    sums: Mutex<Sums>,
    answered: SetOnce<()>,
    /// The providers that asked to wait, with the end of the wait and the number of requests that wait for it.
    pauses: Mutex<HashMap<String, (Instant, u32)>>,
    /// The permit of the agent whose requests are added; `None` if it needs none, or if there are several agents.
    permit: Option<Arc<dyn WorkPermit>>,
}

#[derive(Debug, Default)]
struct Sums {
    usage: Usage,
    /// The estimated input of the requests that are not answered yet.
    pending: InputEstimate,
}

/// The estimated input of a request.
#[derive(Debug, Clone, Copy, Default)]
struct InputEstimate {
    tokens: u64,
    cost: f64,
}

impl Meter {
    /// Creates the meter of an agent with a permit to work.
    #[must_use]
    pub fn with_permit(permit: Arc<dyn WorkPermit>) -> Meter {
        Meter { permit: Some(permit), ..Meter::default() }
    }

    /// Returns the tokens and cost so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.sums.lock().usage
    }

    /// Waits until an answer has begun to arrive.
    pub async fn answered(&self) {
        self.answered.wait().await;
    }

    /// Ends the wait of [`Meter::answered`].
    pub fn set_answered(&self) {
        // Each event of an answer calls this, and setting takes a lock.
        if !self.answered.initialized() {
            // Another request may have been answered just now.
            let _ = self.answered.set(());
        }
    }

    /// Makes all requests to a provider wait.
    fn pause(&self, provider: &str, wait: Duration) {
        let until = Instant::now() + wait;
        let mut pauses = self.pauses.lock();
        let (end, _) = pauses.entry(provider.to_string()).or_insert((until, 0));
        *end = until.max(*end);
    }

    /// Returns when the next request to a provider may be sent; `None` if it need not wait. Requests that wait are sent
    /// one after the other.
    fn resume_time(&self, provider: &str) -> Option<Instant> {
        let mut pauses = self.pauses.lock();
        let (end, waiting) = pauses.get_mut(provider)?;
        if *end <= Instant::now() {
            pauses.remove(provider);
            return None;
        }
        *waiting += 1;
        Some(*end + STAGGER * *waiting)
    }

    fn add(&self, more: &Usage) {
        let usage = &mut self.sums.lock().usage;
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

/// The estimate of a request, reserved until it is answered.
struct Reservation {
    meter: Arc<Meter>,
    pending: InputEstimate,
}

impl Reservation {
    fn new(meter: &Arc<Meter>, request: &Request) -> Reservation {
        let tokens = text_tokens(request.text_bytes());
        let pending = InputEstimate { tokens, cost: tokens as f64 * request.model.cost.input / 1e6 };
        {
            let all = &mut meter.sums.lock().pending;
            all.tokens = all.tokens.saturating_add(pending.tokens);
            all.cost += pending.cost;
        }
        Reservation { meter: Arc::clone(meter), pending }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let all = &mut self.meter.sums.lock().pending;
        all.tokens = all.tokens.saturating_sub(self.pending.tokens);
        all.cost = (all.cost - self.pending.cost).max(0.0);
    }
}

/// An amount that must not be exceeded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// US dollars.
    Cost(f64),
    /// Tokens of input and output, without those read from a cache.
    Tokens(u64),
}

/// A limit on the use of requests.
#[derive(Debug, Clone)]
pub struct Budget {
    /// The flag or setting that sets it.
    pub name: &'static str,
    /// The limit.
    pub limit: Amount,
    /// The use so far.
    pub meter: Arc<Meter>,
}

impl Budget {
    /// Returns the use so far, with the estimates of the requests that are not answered yet.
    #[must_use]
    pub fn spent(&self) -> Amount {
        let Sums { usage, pending } = &*self.meter.sums.lock();
        match self.limit {
            Amount::Cost(_) => Amount::Cost(usage.cost.total + pending.cost),
            Amount::Tokens(_) => {
                Amount::Tokens(usage.input.saturating_add(usage.output).saturating_add(pending.tokens))
            }
        }
    }

    /// Returns whether the limit is reached, so that no further request may be sent.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.spent().partial_cmp(&self.limit).is_some_and(std::cmp::Ordering::is_ge)
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Amount) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Amount::Cost(own), Amount::Cost(other)) => own.partial_cmp(other),
            (Amount::Tokens(own), Amount::Tokens(other)) => own.partial_cmp(other),
            _ => None,
        }
    }
}

/// `$0.0123` or `4000 tokens`.
impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Amount::Cost(dollars) => write!(f, "${dollars:.4}"),
            Amount::Tokens(count) => write!(f, "{count} tokens"),
        }
    }
}

/// A provider that adds the usage of its requests to a [`Meter`]. If a server asks to wait, all requests to it that share
/// the meter wait.
pub struct MeteredProvider {
    inner: Arc<dyn Provider>,
    meter: Arc<Meter>,
}

impl MeteredProvider {
    /// Wraps `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, meter: Arc<Meter>) -> MeteredProvider {
        MeteredProvider { inner, meter }
    }
}

impl Provider for MeteredProvider {
    fn api(&self) -> &str {
        self.inner.api()
    }

    fn caches_prefixes(&self) -> bool {
        self.inner.caches_prefixes()
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream {
        let meter = Arc::clone(&self.meter);
        let reservation = Reservation::new(&meter, &request);
        let provider = request.model.provider.clone();
        let (inner, later) = (Arc::clone(&self.inner), meter.resume_time(&provider));
        let (header, begun) = match later {
            None => {
                let begun = inner.stream(request, cancel);
                (begun.partial().message().clone(), Ok(begun))
            }
            Some(until) => (request.empty_answer(), Err((until, request, cancel))),
        };
        EventStream::run(header, move |out| async move {
            let mut reservation = Some(reservation);
            let mut inner = match begun {
                Ok(begun) => begun,
                Err((until, request, cancel)) => {
                    // The provider reports an abort.
                    wait_without_permit(meter.permit.as_deref(), until, &cancel).await;
                    inner.stream(request, cancel)
                }
            };
            while let Some(event) = inner.next().await {
                meter.set_answered();
                if let StreamEvent::Done { message, .. } | StreamEvent::Error { message, .. } = &event {
                    meter.add(&message.usage);
                    let error = message.error.as_ref().filter(|error| error.kind != ErrorKind::UsageLimit);
                    if let Some(wait) = error.and_then(|error| error.retry_after_ms) {
                        meter.pause(&provider, Duration::from_millis(wait));
                    }
                    reservation.take();
                }
                if !out.send(event).await {
                    return;
                }
            }
        })
    }
}

/// Models whose requests are all added to each of some [`Meter`]s.
pub struct MeteredModels {
    inner: Arc<dyn ModelResolver>,
    meters: Vec<Arc<Meter>>,
}

impl MeteredModels {
    /// Wraps `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ModelResolver>, meters: Vec<Arc<Meter>>) -> MeteredModels {
        MeteredModels { inner, meters }
    }

    /// Returns a model whose requests are added to the meters.
    #[must_use]
    pub fn metered(&self, model: ResolvedModel) -> ResolvedModel {
        let metered =
            |provider, meter: &Arc<Meter>| Arc::new(MeteredProvider::new(provider, Arc::clone(meter))) as Arc<_>;
        ResolvedModel { provider: self.meters.iter().fold(model.provider, metered), ..model }
    }
}

impl ModelResolver for MeteredModels {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        self.inner.resolve(pattern).map(|model| self.metered(model))
    }

    fn other_credential(&self, failed: &ResolvedModel, error: &ErrorInfo) -> Option<ResolvedModel> {
        self.inner.other_credential(failed, error).map(|model| self.metered(model))
    }

    fn permit(&self) -> Option<Arc<dyn WorkPermit>> {
        self.meters.iter().find_map(|meter| meter.permit.clone())
    }

    fn larger(&self, current: &ResolvedModel) -> Option<ResolvedModel> {
        self.inner.larger(current).map(|model| self.metered(model))
    }
}
