//! Relays the output of a command to a callback while the caller waits for something else.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sinew_base::{Aborted, CancelToken, HookGuard};

use crate::OnStreamChunk;
use crate::delivery::Delivery;
use crate::output::{Encoding, MERGE_BYTES, Source, Waker};

pub(crate) struct OutputRelay<'a> {
    // `None` after the end of the stream. The second is that of standard error if it is separate.
    readers: [Option<OwnedFd>; 2],
    delivery: Delivery<'a>,
    buffer: Vec<u8>,
}

const SOURCES: [Source; 2] = [Source::Stdout, Source::Stderr];

impl<'a> OutputRelay<'a> {
    pub(crate) fn new(
        output: OwnedFd,
        errors: Option<OwnedFd>,
        encoding: Encoding,
        on_chunk: OnStreamChunk<'a>,
    ) -> OutputRelay<'a> {
        let delivery = Delivery::new(encoding, on_chunk);
        OutputRelay { readers: [Some(output), errors], delivery, buffer: Vec::new() }
    }

    /// Returns true if the callback returned `Break`.
    pub(crate) fn is_broken(&self) -> bool {
        self.delivery.is_broken()
    }

    /// Waits until one of `sources` is readable, until `until`, or until some output was relayed. Returns which of the
    /// sources are readable.
    pub(crate) fn step<const N: usize>(
        &mut self,
        sources: [BorrowedFd<'_>; N],
        until: Option<Instant>,
    ) -> io::Result<[bool; N]> {
        let now = Instant::now();
        self.delivery.hand_over(now);
        let wait = [until, self.delivery.due(now)].into_iter().flatten().min();
        let wait = wait.map(|until| timespec(until.saturating_duration_since(now)));
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(N + 2);
        fds.extend(sources.iter().map(|source| PollFd::new(source, PollFlags::IN)));
        fds.extend(self.readers.iter().flatten().map(|reader| PollFd::new(reader, PollFlags::IN)));
        match poll(&mut fds, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let told = std::array::from_fn(|_| ready.next().unwrap_or(false));
        let readable = self.readers.each_ref().map(|reader| reader.is_some() && ready.next().unwrap_or(false));
        drop(ready);
        drop(fds);
        for (index, readable) in readable.into_iter().enumerate() {
            if readable {
                self.read(index)?;
            }
        }
        Ok(told)
    }

    /// Relays the rest after the writers, or most of them, have ended: until the end of the streams, until they are
    /// silent for `idle`, until `most` has passed, or until `wake`. Returns true if the streams ended.
    pub(crate) fn drain(&mut self, idle: Duration, most: Duration, watch: &Watch) -> io::Result<bool> {
        let start = Instant::now();
        let mut heard = start;
        while self.is_open() {
            let now = Instant::now();
            let limit = (heard + idle).min(start + most);
            if now >= limit || watch.why().is_some() {
                for index in 0..self.readers.len() {
                    self.read_pending(index)?;
                }
                break;
            }
            let before = self.reader_pending();
            self.step([watch.fd()], Some(limit))?;
            if before || self.reader_pending() {
                heard = Instant::now();
            }
        }
        Ok(!self.is_open())
    }

    /// Delivers the last chunk. Returns the pipe if it still has a writer.
    pub(crate) fn finish(self) -> Option<OwnedFd> {
        self.delivery.finish();
        let [output, _] = self.readers;
        output
    }

    fn is_open(&self) -> bool {
        self.readers.iter().any(Option::is_some)
    }

    fn reader_pending(&self) -> bool {
        self.readers.iter().flatten().any(|reader| rustix::io::ioctl_fionread(reader).unwrap_or(0) > 0)
    }

    /// Reads what is available: it was written in time.
    fn read_pending(&mut self, index: usize) -> io::Result<()> {
        let Some(reader) = &self.readers[index] else { return Ok(()) };
        let pending = rustix::io::ioctl_fionread(reader).unwrap_or(0);
        let mut left = pending.min(2 * 1024 * 1024);
        while left > 0 && self.readers[index].is_some() {
            left = left.saturating_sub(self.read(index)? as u64);
        }
        Ok(())
    }

    fn read(&mut self, index: usize) -> io::Result<usize> {
        let Some(reader) = &self.readers[index] else { return Ok(0) };
        self.buffer.resize(MERGE_BYTES, 0);
        match rustix::io::read(reader, &mut self.buffer[..]) {
            Ok(0) => self.readers[index] = None,
            Ok(count) => {
                self.delivery.push(SOURCES[index], &self.buffer[..count]);
                return Ok(count);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(cause) => return Err(cause.into()),
        }
        Ok(0)
    }
}

/// A wait of many days is practically unlimited, and always fits.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec::try_from(wait.min(Duration::from_secs(1_000_000))).unwrap_or_default()
}

/// Watches for the reasons to stop a run: the caller's cancellation and an abort.
pub(crate) struct Watch {
    cancel: CancelToken,
    abort: CancelToken,
    wake: Arc<Waker>,
    _hooks: [HookGuard; 2],
}

impl Watch {
    /// # Errors
    /// Returns an error if the process has no free descriptors.
    pub(crate) fn new(cancel: &CancelToken, abort: &CancelToken) -> io::Result<Watch> {
        let wake = Arc::new(Waker::new()?);
        let hooks = [cancel, abort].map(|token| {
            let wake = Arc::clone(&wake);
            token.on_cancel(move || wake.wake())
        });
        Ok(Watch { cancel: cancel.clone(), abort: abort.clone(), wake, _hooks: hooks })
    }

    pub(crate) fn why(&self) -> Option<Aborted> {
        match self.abort.is_cancelled() {
            true => Some(Aborted::Signal),
            false => self.cancel.check().err(),
        }
    }

    /// Returns the deadline; `None` if there is none.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.cancel.deadline()
    }

    /// Returns a descriptor that becomes readable once the run has to stop, except for its deadline.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.wake.as_fd()
    }
}
