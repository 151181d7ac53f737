//! A process that restores the terminal if the agent was killed and cannot do it.
//!
//! It is a fork that executes no other program, which would cost startup time and memory. It sleeps on a socket, knows
//! which bytes restore the terminal, and exits with the agent. It has its own session, so that signals to the agent's
//! process group do not reach it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::termios::{OptionalActions, Termios, tcsetattr};

/// The maximum number of bytes that restore everything: the modes, and all pictures ([`super::pictures::PICTURES`]).
const UNDO: usize = 8_192;
/// The message that nothing needs to be restored.
const NOTHING: &[u8] = &[0];

/// A handle to the process. Dropping it ends the process.
pub(super) struct Guard {
    socket: Option<OwnedFd>,
    process: Pid,
}

impl Guard {
    /// Starts the process. `found` are the original modes of the terminal.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a process.
    pub(super) fn start(terminal: &File, found: &Termios) -> io::Result<Guard> {
        // Messages are delivered completely or not at all. A partial message would be worse than keeping the previous
        // one.
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // SAFETY: the child only calls functions that are allowed after a fork, when locks of other threads may be
        // held: it does not allocate, and never returns.
        let process = unsafe {
            match libc::fork() {
                0 => watch(theirs.as_raw_fd(), terminal.as_raw_fd(), found),
                process => process,
            }
        };
        let process = Pid::from_raw(process).filter(|_| process > 0).ok_or_else(io::Error::last_os_error)?;
        Ok(Guard { socket: Some(ours), process })
    }

    /// Sends the bytes that restore the modes of the terminal; empty if the terminal is in its original state.
    pub(super) fn tell(&self, undo: &[u8]) {
        if let Some(socket) = &self.socket {
            let message = if undo.is_empty() { NOTHING } else { undo };
            // An error means that the process was killed or stopped, so it cannot restore anything.
            let _ = send(socket, message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The process exits when its socket is closed.
        self.socket = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// Waits for the end of the agent, and restores the terminal if that is necessary.
///
/// # Safety
/// Must be called in a child process directly after the fork, with open descriptors.
unsafe fn watch(socket: RawFd, terminal: RawFd, found: &Termios) -> ! {
    let (mut undo, mut message) = ([0; UNDO], [0; UNDO]);
    let mut length = 0;
    // SAFETY: these calls receive numbers and buffers of this function, and are allowed in such a child.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"sinew-guard".as_ptr());
        // If the agent ends regularly, it sends a message.
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGWINCH] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Closes all other descriptors of the agent: locks, pipes, connections.
        libc::dup2(socket, 0);
        libc::dup2(terminal, 1);
        // The C library may lack the function, and an older kernel the system call.
        if libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0) != 0 {
            for descriptor in 2..1_024 {
                libc::close(descriptor);
            }
        }
        loop {
            let count = libc::read(0, message.as_mut_ptr().cast(), message.len());
            match usize::try_from(count) {
                Ok(0) => break,
                Ok(count) => (undo, length) = (message, count),
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if undo[..length] != *NOTHING && length > 0 {
            // An error is ignored, because the terminal may be closed.
            let _ = tcsetattr(rustix::stdio::stdout(), OptionalActions::Now, found);
            let mut at = 0;
            while at < length {
                let count = libc::write(1, undo[at..].as_ptr().cast(), length - at);
                let mut ready = libc::pollfd { fd: 1, events: libc::POLLOUT, revents: 0 };
                match usize::try_from(count) {
                    Ok(count) => at += count,
                    // Waits up to a second if the terminal is stopped.
                    Err(_) if libc::poll(&mut ready, 1, 1_000) > 0 && ready.revents == libc::POLLOUT => {}
                    Err(_) => break,
                }
            }
        }
        libc::_exit(0)
    }
}
