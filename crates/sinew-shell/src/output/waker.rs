//! A descriptor that becomes readable when another thread calls `wake`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Wakes a thread that waits in `poll`. A wake-up before the wait is not lost.
#[derive(Debug)]
pub(crate) struct Waker {
    #[cfg(target_os = "linux")]
    event: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    ends: (OwnedFd, OwnedFd),
}

impl Waker {
    /// # Errors
    /// Returns an error if the process has no free descriptors.
    pub(crate) fn new() -> io::Result<Waker> {
        #[cfg(target_os = "linux")]
        {
            use rustix::event::{EventfdFlags, eventfd};
            Ok(Waker { event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let ends = rustix::pipe::pipe()?;
            for end in [&ends.0, &ends.1] {
                rustix::io::ioctl_fionbio(end, true)?;
                rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
            }
            Ok(Waker { ends })
        }
    }

    /// Makes the descriptor readable.
    pub(crate) fn wake(&self) {
        #[cfg(target_os = "linux")]
        let end = &self.event;
        #[cfg(not(target_os = "linux"))]
        let end = &self.ends.1;
        // It can only fail if the descriptor is already readable.
        let _ = rustix::io::write(end, &1u64.to_ne_bytes());
    }

    /// Clears the wake-ups so far.
    pub(crate) fn clear(&self) {
        let mut bytes = [0u8; 64];
        while rustix::io::read(self.as_fd(), &mut bytes).is_ok_and(|n| n == bytes.len()) {}
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        #[cfg(target_os = "linux")]
        let end = &self.event;
        #[cfg(not(target_os = "linux"))]
        let end = &self.ends.0;
        end.as_fd()
    }
}
