//! Work that goes on beside other verbs.

use std::task::Poll;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// Tasks that may be at work side by side.
pub(crate) const MOST: usize = 100;

/// The tasks that are at work.
#[derive(Default)]
pub(crate) struct Tasks {
    running: Mutex<JoinSet<()>>,
}

impl Tasks {
    /// Returns true if as many tasks are at work as may be.
    pub(crate) async fn is_full(&self) -> bool {
        let mut running = self.running.lock().await;
        while running.try_join_next().is_some() {}
        running.len() >= MOST
    }

    /// Begins `work` before it returns, so that it has its place before whatever is begun next, and lets it go on
    /// beside the caller.
    pub(crate) async fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work = Box::pin(work);
        let begun = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if begun.is_pending() {
            self.running.lock().await.spawn(work);
        }
    }

    /// Calls `stop` now and at each `interval` until every task has ended.
    pub(super) async fn join(&self, stop: impl Fn(), interval: Duration) {
        let mut running = self.running.lock().await;
        loop {
            stop();
            if let Ok(None) = tokio::time::timeout(interval, running.join_next()).await {
                return;
            }
        }
    }
}
