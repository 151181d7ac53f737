//! Calls shared by Linux and macOS.

use rustix::process::{Pid, Signal};

pub(crate) const SIGKILL: i32 = libc::SIGKILL;
pub(crate) const SIGTERM: i32 = libc::SIGTERM;

/// Converts a number to a process id; `None` for 0 (the caller's own group) and for numbers out of range.
pub(super) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Converts a number to a signal, including real-time signals; `None` for 0 and for unknown signals.
pub(super) fn known(signal: i32) -> Option<Signal> {
    // SAFETY: the numbers up to 31 are signals on every Unix and those up to 64 on Linux; any other number is only
    // passed to the kernel, which returns EINVAL for it.
    (1..=64).contains(&signal).then(|| unsafe { Signal::from_raw_unchecked(signal) })
}

/// Returns the session of a process; `None` if the system does not report it.
pub(crate) fn session(number: u32) -> Option<u32> {
    // rustix cannot represent a session outside a container, which is 0.
    // SAFETY: no pointer is passed.
    let session = unsafe { libc::getsid(pid(number)?.as_raw_nonzero().get()) };
    u32::try_from(session).ok().filter(|session| *session != 0)
}
