//! The status of a sandbox: its promises, the mechanisms that enforce them, and the gaps.

/// How strongly a promise is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enforcement {
    /// The kernel enforces nothing.
    Advisory,
    /// The kernel enforces a part; [`PromiseStatus::missing`] lists the rest.
    Partial,
    /// The kernel enforces all of it.
    Enforced,
}

impl Enforcement {
    /// Returns `advisory`, `partial` or `enforced`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Enforcement::Advisory => "advisory",
            Enforcement::Partial => "partial",
            Enforcement::Enforced => "enforced",
        }
    }
}

/// A promise of a sandbox, by the name that [`crate::Policy::required`] uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Promise {
    /// Nothing outside the writable paths changes.
    Write,
    /// Denied files cannot be read.
    Read,
    /// Nothing outside the allowed network is reached.
    Network,
    /// Only allowed Unix sockets are reached.
    Sockets,
    /// Other processes are neither signalled nor inspected.
    Signals,
    /// Protected paths do not change.
    Protect,
}

impl Promise {
    /// All promises.
    pub const ALL: [Promise; 6] =
        [Promise::Write, Promise::Read, Promise::Network, Promise::Sockets, Promise::Signals, Promise::Protect];

    /// Returns the promise's name: `write`, `read`, `network`, `sockets`, `signals`, `protect`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Promise::Write => "write",
            Promise::Read => "read",
            Promise::Network => "network",
            Promise::Sockets => "sockets",
            Promise::Signals => "signals",
            Promise::Protect => "protect",
        }
    }

    /// Returns the promise with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Promise> {
        Promise::ALL.into_iter().find(|promise| promise.as_str() == name)
    }
}

/// The enforcement of one promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromiseStatus {
    /// How strongly it is enforced.
    pub held: Enforcement,
    /// False if the policy leaves it open, so that nothing needs to be enforced.
    pub is_promised: bool,
    /// The mechanisms of the kernel that enforce it: `namespaces`, `landlock`, `seccomp`, `notification`,
    /// `capabilities`.
    pub by: Vec<&'static str>,
    /// The gaps, one phrase each. Empty if `held` is [`Enforcement::Enforced`].
    pub missing: Vec<&'static str>,
}

impl PromiseStatus {
    /// Creates the status of a promise that the mechanisms `by` enforce, except for the gaps in `missing`.
    #[must_use]
    pub fn new(by: Vec<&'static str>, missing: Vec<&'static str>) -> PromiseStatus {
        let held = match (by.is_empty(), missing.is_empty()) {
            (true, _) => Enforcement::Advisory,
            (false, true) => Enforcement::Enforced,
            (false, false) => Enforcement::Partial,
        };
        PromiseStatus { held, is_promised: true, by, missing }
    }

    /// Creates the status of a promise that the policy does not make, for this reason.
    #[must_use]
    pub fn open(reason: &'static str) -> PromiseStatus {
        PromiseStatus { is_promised: false, ..PromiseStatus::new(Vec::new(), vec![reason]) }
    }
}

/// The enforcement of every promise of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// See [`Promise::Write`].
    pub write: PromiseStatus,
    /// See [`Promise::Read`].
    pub read: PromiseStatus,
    /// See [`Promise::Network`].
    pub network: PromiseStatus,
    /// See [`Promise::Sockets`].
    pub sockets: PromiseStatus,
    /// See [`Promise::Signals`].
    pub signals: PromiseStatus,
    /// See [`Promise::Protect`].
    pub protect: PromiseStatus,
}

impl Status {
    /// Returns the promises that the policy makes and nothing enforces, with the reasons. A caller should warn of them,
    /// because programs are not limited as the policy says.
    #[must_use]
    pub fn unenforced(&self) -> Vec<(Promise, String)> {
        let is_unenforced = |status: &PromiseStatus| status.is_promised && status.held == Enforcement::Advisory;
        let of = |promise| (promise, self.of(promise));
        let statuses = Promise::ALL.into_iter().map(of).filter(|(_, status)| is_unenforced(status));
        statuses.map(|(promise, status)| (promise, status.missing.join("; "))).collect()
    }

    /// Returns the enforcement of a promise.
    #[must_use]
    pub fn of(&self, promise: Promise) -> &PromiseStatus {
        match promise {
            Promise::Write => &self.write,
            Promise::Read => &self.read,
            Promise::Network => &self.network,
            Promise::Sockets => &self.sockets,
            Promise::Signals => &self.signals,
            Promise::Protect => &self.protect,
        }
    }
}
