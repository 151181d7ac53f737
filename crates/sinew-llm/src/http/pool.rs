//! Connections that wait for their next request.
//!
//! A connection returns here when its answer was read to the end. A stream of events is usually left a little
//! before that, behind its last event: its rest is then read in the background, and a request to the same endpoint
//! waits for that instead of opening a second connection beside it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use super::connection::Connection;

/// The longest wait of a connection. Servers and the boxes between forget idle connections without a word, the
/// quickest after some two minutes.
const IDLE_LIMIT: Duration = Duration::from_secs(90);

/// Connections that wait for one endpoint at most.
const PER_PLACE: usize = 8;

/// The other end of a connection: connections with equal ends are interchangeable.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Endpoint {
    /// `https://host:port`.
    origin: String,
    /// The proxy's address, with its user.
    proxy: Option<String>,
}

impl Endpoint {
    pub(super) fn new(url: &Url, proxy: Option<&Url>) -> Endpoint {
        let port = url.port_or_known_default().unwrap_or_default();
        let origin = format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default());
        Endpoint { origin, proxy: proxy.map(|proxy| proxy.as_str().to_string()) }
    }
}

/// The waiting connections of a client and its clones.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Shared>);

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Addresses of proxies may hold passwords.
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A connection returned, or will not return.
    changed: Notify,
}

#[derive(Default)]
struct State {
    idle: HashMap<Endpoint, Vec<(Connection, Instant)>>,
    /// Connections whose rest is being read.
    returning: HashMap<Endpoint, usize>,
    /// Places whose streams did not end behind their last event: nobody waits for them again.
    endless: HashSet<Endpoint>,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// A connection to `endpoint` that was used before; None where there is none to wait for.
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

    /// Keeps a connection whose answer was read to the end.
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

    /// Says that a connection to `endpoint` is about to return. None: such connections do not.
    pub(super) fn announce(&self, endpoint: &Endpoint) -> Option<Returning> {
        let mut state = self.state();
        if state.endless.contains(endpoint) {
            return None;
        }
        *state.returning.entry(endpoint.clone()).or_default() += 1;
        Some(Returning { pool: self.clone(), endpoint: endpoint.clone() })
    }

    /// Nobody waits for connections to `endpoint` again.
    pub(super) fn give_up(&self, endpoint: &Endpoint) {
        self.state().endless.insert(endpoint.clone());
    }
}

impl State {
    /// The connection that was used last, which is the most likely to live.
    fn take(&mut self, endpoint: &Endpoint) -> Option<Connection> {
        let idle = self.idle.get_mut(endpoint)?;
        idle.retain(|(connection, since)| since.elapsed() < IDLE_LIMIT && !connection.sender.is_closed());
        idle.pop().map(|(connection, _)| connection)
    }
}

/// The promise that a connection returns; dropping it ends the wait of those who rely on it.
pub(super) struct Returning {
    pool: Pool,
    endpoint: Endpoint,
}

impl Drop for Returning {
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
