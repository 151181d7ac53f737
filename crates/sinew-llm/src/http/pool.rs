//! Idle connections.
//!
//! A connection returns to the pool when its answer was read to the end. A stream of events is usually abandoned
//! shortly before its end, after its last event: its rest is then read in the background, and a request to the same
//! endpoint waits for that instead of opening a second connection.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use super::connection::Connection;

/// The maximum idle time of a connection. Servers and network devices drop idle connections silently, the fastest after
/// about two minutes.
const IDLE_LIMIT: Duration = Duration::from_secs(90);

/// The maximum number of idle connections per endpoint.
const PER_PLACE: usize = 8;

/// The other end of a connection: connections with equal endpoints are interchangeable.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Endpoint {
    /// `https://host:port`.
    origin: String,
    /// The URL of the proxy including the user; `None` without a proxy.
    proxy: Option<String>,
}

impl Endpoint {
    pub(super) fn new(url: &Url, proxy: Option<&Url>) -> Endpoint {
        let port = url.port_or_known_default().unwrap_or_default();
        let origin = format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default());
        Endpoint { origin, proxy: proxy.map(|proxy| proxy.as_str().to_string()) }
    }
}

/// The idle connections of a client and its clones.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Shared>);

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Proxy URLs may contain passwords.
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when a connection has returned, or will not return.
    changed: Notify,
}

#[derive(Default)]
struct State {
    idle: HashMap<Endpoint, Vec<(Connection, Instant)>>,
    /// The number of connections whose rest is being read.
    returning: HashMap<Endpoint, usize>,
    /// Endpoints whose streams did not end after their last event, so that no request waits for them again.
    endless: HashSet<Endpoint>,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Returns an idle connection to `endpoint`, waiting for one that is about to return; `None` if there is none.
    pub(super) async fn take(&self, endpoint: &Endpoint) -> Option<Connection> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut state = self.state();
                if let Some(connection) = state.take(endpoint) {
                    return Some(connection);
                }
                if !state.returning.contains_key(endpoint) {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Stores a connection whose answer was read to the end.
    pub(super) fn put(&self, endpoint: Endpoint, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut state = self.state();
        let idle = state.idle.entry(endpoint).or_default();
        if idle.len() >= PER_PLACE {
            idle.remove(0);
        }
        idle.push((connection, Instant::now()));
    }

    /// Announces that a connection to `endpoint` is about to return. `None` if such connections do not return.
    pub(super) fn announce(&self, endpoint: &Endpoint) -> Option<ReturningConnection> {
        let mut state = self.state();
        if state.endless.contains(endpoint) {
            return None;
        }
        *state.returning.entry(endpoint.clone()).or_default() += 1;
        Some(ReturningConnection { pool: self.clone(), endpoint: endpoint.clone() })
    }

    /// Records that connections to `endpoint` do not return.
    pub(super) fn give_up(&self, endpoint: &Endpoint) {
        self.state().endless.insert(endpoint.clone());
    }
}

impl State {
    /// Returns the most recently used connection, which is most likely to be alive.
    fn take(&mut self, endpoint: &Endpoint) -> Option<Connection> {
        let idle = self.idle.get_mut(endpoint)?;
        idle.retain(|(connection, since)| since.elapsed() < IDLE_LIMIT && !connection.sender.is_closed());
        idle.pop().map(|(connection, _)| connection)
    }
}

/// The announcement of a returning connection; dropping it wakes the waiting requests.
pub(super) struct ReturningConnection {
    pool: Pool,
    endpoint: Endpoint,
}

impl Drop for ReturningConnection {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        if let Some(count) = state.returning.get_mut(&self.endpoint) {
            *count -= 1;
            if *count == 0 {
                state.returning.remove(&self.endpoint);
            }
        }
        drop(state);
        self.pool.0.changed.notify_waiters();
    }
}
