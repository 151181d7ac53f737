//! A standard input that can be written while the command runs.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use sinew_base::{CancelToken, Error, Result};

use crate::output::Waker;
use crate::supervisor::pipe;

/// The capacity of the pipe in bytes: a writer that is faster than the command waits once it is full.
const ROOM: usize = 64 * 1024;

/// A pipe to the standard input of a command, written by one caller and closed by any.
#[derive(Debug)]
pub struct InputPipe {
    // Kept open, so that a command that stops reading never raises SIGPIPE in the host.
    reader: OwnedFd,
    writer: Mutex<Option<Arc<OwnedFd>>>,
    closed: Arc<Waker>,
}

impl InputPipe {
    /// Creates a pipe without a reader; pass it to [`crate::StreamOptions::input`].
    ///
    /// # Errors
    /// Returns an error if the process has no free descriptors.
    pub fn new() -> Result<InputPipe> {
        let failed = |cause: std::io::Error| Error::io("shell: failed to open a pipe for the input", &cause);
        let (reader, writer) = pipe(ROOM).map_err(failed)?;
        rustix::io::ioctl_fionbio(&writer, true).map_err(|cause| failed(cause.into()))?;
        let closed = Arc::new(Waker::new().map_err(failed)?);
        Ok(InputPipe { reader, writer: Mutex::new(Some(Arc::new(writer))), closed })
    }

    /// Writes all of `bytes`, and blocks while the pipe is full. Returns false if the pipe was closed or `cancel` was
    /// cancelled: the rest is then dropped.
    ///
    /// # Errors
    /// Returns an error if the system cannot write the bytes.
    pub fn write(&self, mut bytes: &[u8], cancel: &CancelToken) -> Result<bool> {
        let waker = Arc::clone(&self.closed);
        let _hook = cancel.on_cancel(move || waker.wake());
        let Some(writer) = self.writer.lock().clone() else { return Ok(false) };
        while !bytes.is_empty() {
            if self.writer.lock().is_none() || cancel.check().is_err() {
                return Ok(false);
            }
            match rustix::io::write(&writer, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let mut fds = [PollFd::new(&*writer, PollFlags::OUT), PollFd::new(&*self.closed, PollFlags::IN)];
                    match poll(&mut fds, None) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(cause) => return Err(Error::io("shell: failed to wait for the input", &cause.into())),
                    }
                }
                Err(cause) => return Err(Error::io("shell: failed to write to the input", &cause.into())),
            }
        }
        Ok(true)
    }

    /// Closes the input: the command reads the end of the file. A blocked write returns false.
    pub fn close(&self) {
        self.writer.lock().take();
        self.closed.wake();
    }
}

impl AsFd for InputPipe {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
