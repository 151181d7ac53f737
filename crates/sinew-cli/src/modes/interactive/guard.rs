//! The process that gives the terminal back where this one was killed: nothing else is left that could.
//!
//! It is a fork that runs no other program, since that would cost a start and its memory. It sleeps at a socket, knows what
//! is to be taken back, and ends with the agent. Its session is its own: what stops or ends the group of the agent does not
//! reach it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::termios::{OptionalActions, Termios, tcsetattr};

/// Bytes that take everything back, at most: the modes, and all pictures ([`super::pictures::PICTURES`]).
const UNDO: usize = 8_192;
/// The message that there is nothing to take back.
const NOTHING: &[u8] = &[0];

/// The process, as the agent has it. Dropping it ends it.
pub(super) struct Guard {
    socket: Option<OwnedFd>,
    process: Pid,
}

impl Guard {
    /// Starts the process for a terminal that was found so.
    ///
    /// # Errors
    /// The system starts none.
    pub(super) fn start(terminal: &File, found: &Termios) -> io::Result<Guard> {
        // Of one message or none: a part of one would be worse than the one before.
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // SAFETY: the child calls what may be called beside locks that threads held which it does not have: it allocates
        // nothing and never returns.
        let process = unsafe {
            match libc::fork() {
                0 => watch(theirs.as_raw_fd(), terminal.as_raw_fd(), found),
                process => process,
            }
        };
        let process = Pid::from_raw(process).filter(|_| process > 0).ok_or_else(io::Error::last_os_error)?;
        Ok(Guard { socket: Some(ours), process })
    }

    /// Tells which bytes take the modes of the terminal back; none: the terminal is as it was found.
    pub(super) fn tell(&self, undo: &[u8]) {
        if let Some(socket) = &self.socket {
            let message = if undo.is_empty() { NOTHING } else { undo };
            // A guard that was killed, or stopped for long, guards nothing.
            let _ = send(socket, message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The end of its socket ends it.
        self.socket = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// Waits for the end of the agent and gives the terminal back where it is to be.
///
/// # Safety
/// To be called in a child that was just forked, with open descriptors.
unsafe fn watch(socket: RawFd, terminal: RawFd, found: &Termios) -> ! {
    let (mut undo, mut message) = ([0; UNDO], [0; UNDO]);
    let mut length = 0;
    // SAFETY: these calls take numbers and buffers of this function, and are allowed in such a child.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"sinew-guard".as_ptr());
        // What ends the agent in an orderly way says so itself.
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGWINCH] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Nothing else of the agent is kept open: locks, pipes, connections.
        libc::dup2(socket, 0);
        libc::dup2(terminal, 1);
        // Older libraries have no function for it, older systems no call.
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
            // A terminal that is gone needs nothing back.
            let _ = tcsetattr(rustix::stdio::stdout(), OptionalActions::Now, found);
            let mut at = 0;
            while at < length {
                let count = libc::write(1, undo[at..].as_ptr().cast(), length - at);
                let mut ready = libc::pollfd { fd: 1, events: libc::POLLOUT, revents: 0 };
                match usize::try_from(count) {
                    Ok(count) => at += count,
                    // A terminal that is stopped is given a second.
                    Err(_) if libc::poll(&mut ready, 1, 1_000) > 0 && ready.revents == libc::POLLOUT => {}
                    Err(_) => break,
                }
            }
        }
        libc::_exit(0)
    }
}
