//! Connections that wait for their next request.
//!
//! A connection returns here when its answer was read to the end. A stream of events is usually left a little
//! before that, behind its last event: its rest is then read in the background, and a request to the same place
//! waits for that instead of opening a second connection beside it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use super::Connection;

/// How long a connection waits at most. Servers and the boxes between forget idle connections without a word, the
/// quickest after some two minutes.
const IDLE_LIMIT: Duration = Duration::from_secs(90);

/// Connections that wait for one place at most.
const PER_PLACE: usize = 8;

/// Where a connection leads: connections to the same place are the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// `https://host:port`.
    origin: String,
    /// The proxy's address, with its user.
    proxy: Option<String>,
}

impl Place {
    pub(super) fn new(url: &Url, proxy: Option<&Url>) -> Place {
        let port = url.port_or_known_default().unwrap_or_default();
        let origin = format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default());
        Place { origin, proxy: proxy.map(|proxy| proxy.as_str().to_string()) }
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
    idle: HashMap<Place, Vec<(Connection, Instant)>>,
    /// Connections whose rest is being read.
    returning: HashMap<Place, usize>,
    /// Places whose streams did not end behind their last event: nobody waits for them again.
    endless: HashSet<Place>,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to `place` that was used before; None where there is none to wait for.
    pub(super) async fn take(&self, place: &Place) -> Option<Connection> {
        loop {
            let changed = self.0.changed.notified();
            {
                let mut state = self.state();
                if let Some(connection) = state.take(place) {
                    return Some(connection);
                }
                if !state.returning.contains_key(place) {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Keeps a connection whose answer was read to the end.
    pub(super) fn put(&self, place: Place, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut state = self.state();
        let idle = state.idle.entry(place).or_default();
        if idle.len() >= PER_PLACE {
            idle.remove(0);
        }
        idle.push((connection, Instant::now()));
    }

    /// Says that a connection to `place` is about to return. None: such connections do not.
    pub(super) fn announce(&self, place: &Place) -> Option<Returning> {
        let mut state = self.state();
        if state.endless.contains(place) {
            return None;
        }
        *state.returning.entry(place.clone()).or_default() += 1;
        Some(Returning { pool: self.clone(), place: place.clone() })
    }

    /// Nobody waits for connections to `place` again.
    pub(super) fn give_up(&self, place: &Place) {
        self.state().endless.insert(place.clone());
    }
}

impl State {
    /// The connection that was used last, which is the most likely to live.
    fn take(&mut self, place: &Place) -> Option<Connection> {
        let idle = self.idle.get_mut(place)?;
        idle.retain(|(connection, since)| since.elapsed() < IDLE_LIMIT && !connection.sender.is_closed());
        idle.pop().map(|(connection, _)| connection)
    }
}

/// The promise that a connection returns; dropping it ends the wait of those who rely on it.
pub(super) struct Returning {
    pool: Pool,
    place: Place,
}

impl Drop for Returning {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        if let Some(count) = state.returning.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                state.returning.remove(&self.place);
            }
        }
        drop(state);
        self.pool.0.changed.notify_waiters();
    }
}
