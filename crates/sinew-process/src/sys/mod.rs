//! The system-specific parts: process table, signals, handles.
//!
//! Linux is tested, and Windows under wine; the macOS file is compiled but was never run.

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

/// An entry of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    /// The process group; on Windows the process id.
    pub(crate) group: u32,
    /// The start time in a system-specific unit, only used for comparisons.
    pub(crate) start: u64,
    /// False for a zombie, which has ended but was not reaped by its parent.
    pub(crate) alive: bool,
}

/// Returns `None`: command lines cannot be read on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn args(_: &Entry) -> Option<Vec<String>> {
    None
}

/// Returns `None`: memory sizes cannot be read on this system.
#[cfg(windows)]
pub(crate) fn resident(_: u32) -> Option<u64> {
    None
}

/// Returns the current entry of `expected`; `None` if the process has ended.
pub(crate) fn current(expected: &Entry) -> Option<Entry> {
    entry(expected.pid).filter(|now| now.same(expected) && now.alive)
}

impl Entry {
    /// Returns true if both are the same process, not only the same id.
    pub(crate) fn same(&self, other: &Entry) -> bool {
        self.pid == other.pid && self.start == other.start
    }
}
