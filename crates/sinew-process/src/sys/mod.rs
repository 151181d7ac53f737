//! The parts that differ between systems: the table, a signal, a handle.
//!
//! Linux is tested, the file for Windows under wine; the one for macOS is compiled and was never run.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    CLOSED_ON_EXEC, Handle, QUIET, args, entry, freeze, program, resident, signal, table, wait, wait_until,
};
#[cfg(target_os = "macos")]
pub(crate) use macos::{
    CLOSED_ON_EXEC, Handle, QUIET, entry, freeze, program, resident, signal, table, wait, wait_until,
};
#[cfg(unix)]
pub(crate) use unix::{SIGKILL, SIGTERM, session};
#[cfg(windows)]
pub(crate) use windows::{Handle, SIGKILL, SIGTERM, entry, freeze, program, signal, table, wait, wait_until};

/// One line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    /// The process group; on Windows the pid.
    pub(crate) group: u32,
    /// The time of its start, in a unit of the system: only compared with others.
    pub(crate) start: u64,
    /// False for a process that is over and waits to be collected by its parent.
    pub(crate) alive: bool,
}

/// The command line of a process: not read on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn args(_: &Entry) -> Option<Vec<String>> {
    None
}

/// The bytes of memory of a process: not read on this system.
#[cfg(windows)]
pub(crate) fn resident(_: u32) -> Option<u64> {
    None
}

/// The line of `expected` as it is now; `None` once the process is over.
pub(crate) fn current(expected: &Entry) -> Option<Entry> {
    entry(expected.pid).filter(|now| now.same(expected) && now.alive)
}

impl Entry {
    /// Tells whether both are the same process, not only the same number.
    pub(crate) fn same(&self, other: &Entry) -> bool {
        self.pid == other.pid && self.start == other.start
    }
}
