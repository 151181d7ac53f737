//! The open connections: their limits, and which one is closed if a new one needs its slot.
//!
//! Connections cost a client nothing, so if there were only a limit, one program could block all others. A connection
//! without an active request is therefore closed if another client needs its slot, the longest idle one first. A
//! connection with an active request is never closed for another one.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The maximum number of connections. Each handles one request at a time.
pub(super) const CONNECTIONS: usize = 64;

/// The maximum number of connections of one IP address; an IPv6 network of 64 bits is treated as one address.
pub(super) const PER_ADDRESS: usize = 48;

/// All open connections.
#[derive(Default)]
pub(super) struct Connections {
    table: Mutex<Table>,
    left: Notify,
}

#[derive(Default)]
struct Table {
    /// Sorted by idle time, the longest first.
    open: Vec<Connection>,
    next: u64,
}

struct Connection {
    id: u64,
    network: IpAddr,
    busy: bool,
    close: Arc<Notify>,
}

/// The slot of one connection; dropping it frees the slot.
pub(super) struct Slot {
    connections: Arc<Connections>,
    id: u64,
    close: Arc<Notify>,
}

/// An active request. Until it is dropped, its connection is not closed for another one.
pub(super) struct Busy(Arc<Slot>);

impl Connections {
    /// Reserves a slot for a connection from `peer`. Waits while every other connection has an active request; returns
    /// `None` if the address itself has too many of those.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Slot> {
        let network = network(peer);
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            // Registered before the check, so that a slot that becomes free between check and wait is not missed.
            left.as_mut().enable();
            {
                let mut table = self.table.lock();
                let of_peer = table.open.iter().filter(|other| other.network == network).count();
                if of_peer >= PER_ADDRESS && !table.close_idle(|other| other.network == network) {
                    return None;
                }
                if table.open.len() < CONNECTIONS || table.close_idle(|_| true) {
                    return Some(table.open(Arc::clone(self), network));
                }
            }
            left.await;
        }
    }
}

impl Table {
    fn open(&mut self, connections: Arc<Connections>, network: IpAddr) -> Slot {
        let (id, close) = (self.next, Arc::new(Notify::new()));
        self.next += 1;
        self.open.push(Connection { id, network, busy: false, close: Arc::clone(&close) });
        Slot { connections, id, close }
    }

    /// Closes the longest idle connection among those that match `fits`; returns false if all have active requests.
    fn close_idle(&mut self, fits: impl Fn(&Connection) -> bool) -> bool {
        let Some(at) = self.open.iter().position(|other| !other.busy && fits(other)) else { return false };
        self.open.remove(at).close.notify_one();
        true
    }
}

impl Slot {
    /// Resolves when another connection needs the slot.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    fn set_busy(&self, busy: bool) {
        let mut table = self.connections.table.lock();
        // A connection that was closed for another one has already left the table.
        if let Some(at) = table.open.iter().position(|other| other.id == self.id) {
            let connection = Connection { busy, ..table.open.remove(at) };
            table.open.push(connection);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.table.lock().open.retain(|other| other.id != self.id);
        self.connections.left.notify_one();
    }
}

impl Busy {
    pub(super) fn new(slot: Arc<Slot>) -> Busy {
        slot.set_busy(true);
        Busy(slot)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_busy(false);
        self.0.connections.left.notify_one();
    }
}

/// Returns the key by which connections of one client are counted.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Returns the slot if one is free immediately; `None` if the caller is rejected or has to wait.
    fn now(connections: &Arc<Connections>, peer: &str) -> Option<Arc<Slot>> {
        match pin!(connections.admit(peer.parse().unwrap())).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(slot) => slot.map(Arc::new),
            Poll::Pending => None,
        }
    }

    fn busy(slot: &Arc<Slot>) -> Busy {
        Busy::new(Arc::clone(slot))
    }

    fn is_closed(slot: &Slot) -> bool {
        pin!(slot.closed()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn closes_the_longest_idle_connection() {
        let connections = Arc::new(Connections::default());
        let open: Vec<Arc<Slot>> =
            (0..CONNECTIONS).map(|at| now(&connections, &format!("10.0.0.{}", at % 4)).unwrap()).collect();
        // The first connection handles a request and becomes idle again: it is now the last one in the order.
        drop(busy(&open[0]));
        let new = now(&connections, "10.0.0.9").unwrap();
        let closed: Vec<usize> = (0..open.len()).filter(|&at| is_closed(&open[at])).collect();
        assert_eq!(closed, [1]);
        assert!(!is_closed(&new));
    }

    #[test]
    fn keeps_connections_with_active_requests() {
        let connections = Arc::new(Connections::default());
        let open: Vec<Arc<Slot>> =
            (0..CONNECTIONS).map(|at| now(&connections, &format!("10.0.0.{}", at % 4)).unwrap()).collect();
        let mut running: Vec<Busy> = open.iter().map(busy).collect();
        assert!(now(&connections, "10.0.0.9").is_none());
        running.pop();
        assert!(now(&connections, "10.0.0.9").is_some());
        assert_eq!(open.iter().filter(|slot| is_closed(slot)).count(), 1);
    }

    #[test]
    fn one_address_cannot_use_all_slots() {
        for (peers, other) in
            [(["10.0.0.1", "::ffff:10.0.0.1"], "10.0.0.2"), (["2001:db8::1", "2001:db8::ffff:1"], "2001:db8:0:1::1")]
        {
            let connections = Arc::new(Connections::default());
            let open: Vec<Arc<Slot>> = (0..PER_ADDRESS).map(|at| now(&connections, peers[at % 2]).unwrap()).collect();
            let _busy: Vec<Busy> = open.iter().map(busy).collect();
            assert!(now(&connections, peers[0]).is_none(), "{peers:?}");
            assert!(now(&connections, other).is_some(), "{other}");
        }
        // Idle connections are closed for connections of the same address.
        let connections = Arc::new(Connections::default());
        let open: Vec<Arc<Slot>> = (0..PER_ADDRESS).map(|_| now(&connections, "10.0.0.1").unwrap()).collect();
        assert!(now(&connections, "10.0.0.1").is_some());
        assert!(is_closed(&open[0]));
    }
}
