//! Calls that a sandbox refused.

/// The promise that a refused call would have violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// A connection to an address.
    Network,
    /// Reading a file. Not reported yet: the mounts of the kernel refuse it without a report.
    Read,
    /// Writing a file, or creating a protected one.
    Write,
    /// A connection to a Unix socket.
    Socket,
    /// A signal to another process. Not reported yet, for the same reason.
    Signal,
}

impl RefusalKind {
    /// All kinds, in the order of their numbers in records.
    pub const ALL: [RefusalKind; 5] =
        [RefusalKind::Network, RefusalKind::Read, RefusalKind::Write, RefusalKind::Socket, RefusalKind::Signal];

    /// Returns the kind's name in results: `network`, `read`, `write`, `socket`, `signal`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RefusalKind::Network => "network",
            RefusalKind::Read => "read",
            RefusalKind::Write => "write",
            RefusalKind::Socket => "socket",
            RefusalKind::Signal => "signal",
        }
    }
}

/// A call that a sandbox refused, or a protected path that a command created and the sandbox moved away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The promise that the call would have violated.
    pub kind: RefusalKind,
    /// The address, path or process, if it is known.
    pub target: Option<String>,
}
