//! Runs work in the background.

use std::task::Poll;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// The maximum number of concurrent tasks.
pub const MOST: usize = 100;

/// The running tasks.
#[derive(Default)]
pub struct Tasks {
    running: Mutex<JoinSet<()>>,
}

impl Tasks {
    /// Returns true if the maximum number of tasks is running.
    pub async fn is_full(&self) -> bool {
        let mut running = self.running.lock().await;
        while running.try_join_next().is_some() {}
        running.len() >= MOST
    }

    /// Polls `work` once before it returns, so that it starts before anything that is started later, and then continues
    /// it in the background.
    pub async fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work = Box::pin(work);
        let begun = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if begun.is_pending() {
            self.running.lock().await.spawn(work);
        }
    }

    /// Calls `stop` immediately and after each `interval` until all tasks have ended.
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
