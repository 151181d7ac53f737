//! Calls that Linux and macOS share.

use rustix::process::{Pid, Signal};

pub(crate) const SIGKILL: i32 = libc::SIGKILL;
pub(crate) const SIGTERM: i32 = libc::SIGTERM;

/// The number as a pid of the system: 0 (the caller's own group) and what does not fit are none.
pub(super) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// A signal of the system, real-time ones included; `None` for 0 and what the system does not know.
pub(super) fn known(signal: i32) -> Option<Signal> {
    // SAFETY: the numbers up to 31 are signals of every Unix and those up to 64 of Linux; whatever the number, it
    // is only passed to the kernel, which answers EINVAL to one that it does not know.
    (1..=64).contains(&signal).then(|| unsafe { Signal::from_raw_unchecked(signal) })
}

/// The session of a process, if the system tells it.
pub(crate) fn session(number: u32) -> Option<u32> {
    // The call of rustix has no answer for a session outside of a container, which is 0.
    // SAFETY: takes no pointer.
    let session = unsafe { libc::getsid(pid(number)?.as_raw_nonzero().get()) };
    u32::try_from(session).ok().filter(|session| *session != 0)
}
