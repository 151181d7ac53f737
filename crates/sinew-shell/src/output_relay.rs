//! Moves what a command prints to a callback while its owner waits for something else.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sinew_base::{Aborted, CancelToken, HookGuard};

use crate::output::{MERGE_BYTES, Merger, Waker};

/// The callback that takes the output: pieces of text in order. While it runs nothing is read, so a slow one slows the command
/// down. After `Break` it is not called again and the run is aborted.
pub type OnChunk<'a> = &'a mut dyn FnMut(String) -> ControlFlow<()>;

pub(crate) struct OutputRelay<'a> {
    // None after the end of the stream.
    reader: Option<OwnedFd>,
    merger: Merger,
    buffer: Vec<u8>,
    on_chunk: OnChunk<'a>,
    broken: bool,
}

impl<'a> OutputRelay<'a> {
    pub(crate) fn new(reader: OwnedFd, on_chunk: OnChunk<'a>) -> OutputRelay<'a> {
        OutputRelay { reader: Some(reader), merger: Merger::default(), buffer: Vec::new(), on_chunk, broken: false }
    }

    /// Tells whether the callback broke off.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Waits until one of `sources` can be read, `until` has come, or some output was moved. Tells which of the
    /// sources can be read.
    pub(crate) fn step<const N: usize>(
        &mut self,
        sources: [BorrowedFd<'_>; N],
        until: Option<Instant>,
    ) -> io::Result<[bool; N]> {
        let now = Instant::now();
        self.hand_over(now);
        let wait = [until, self.merger.due(now)].into_iter().flatten().min();
        let wait = wait.map(|until| timespec(until.saturating_duration_since(now)));
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(N + 1);
        fds.extend(sources.iter().map(|source| PollFd::new(source, PollFlags::IN)));
        fds.extend(self.reader.iter().map(|reader| PollFd::new(reader, PollFlags::IN)));
        match poll(&mut fds, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
        let ready = std::array::from_fn(|index| !fds[index].revents().is_empty());
        let readable = fds.get(N).is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if readable {
            self.read()?;
        }
        Ok(ready)
    }

    /// The writers are done, or most of them: moves what is left until the end of the stream, until it was silent
    /// for `idle`, until `most` is over, or until `wake`. Tells whether the stream is at its end.
    pub(crate) fn drain(&mut self, idle: Duration, most: Duration, watch: &Watch) -> io::Result<bool> {
        let start = Instant::now();
        let mut heard = start;
        while let Some(reader) = &self.reader {
            let now = Instant::now();
            let limit = (heard + idle).min(start + most);
            if now >= limit || watch.why().is_some() {
                // What is there already was written in time.
                let pending = rustix::io::ioctl_fionread(reader).unwrap_or(0);
                let mut left = pending.min(2 * 1024 * 1024);
                while left > 0 && self.reader.is_some() {
                    left = left.saturating_sub(self.read()? as u64);
                }
                break;
            }
            let before = self.reader_pending();
            self.step([watch.fd()], Some(limit))?;
            if before || self.reader_pending() {
                heard = Instant::now();
            }
        }
        Ok(self.reader.is_none())
    }

    /// Hands over the last piece. Gives the pipe back if somebody still writes to it.
    pub(crate) fn finish(mut self) -> Option<OwnedFd> {
        if let Some(text) = self.merger.finish()
            && !self.broken
        {
            let _ = (self.on_chunk)(text);
        }
        self.reader
    }

    fn reader_pending(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| rustix::io::ioctl_fionread(reader).unwrap_or(0) > 0)
    }

    fn read(&mut self) -> io::Result<usize> {
        let Some(reader) = &self.reader else { return Ok(0) };
        self.buffer.resize(MERGE_BYTES, 0);
        match rustix::io::read(reader, &mut self.buffer[..]) {
            Ok(0) => self.reader = None,
            Ok(count) => {
                if !self.broken {
                    self.merger.push(&self.buffer[..count]);
                    self.hand_over(Instant::now());
                }
                return Ok(count);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(cause) => return Err(cause.into()),
        }
        Ok(0)
    }

    fn hand_over(&mut self, now: Instant) {
        if !self.broken
            && let Some(text) = self.merger.take(now)
        {
            self.broken = (self.on_chunk)(text).is_break();
        }
    }
}

/// Days are as good as for ever, and always fit.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec::try_from(wait.min(Duration::from_secs(1_000_000))).unwrap_or_default()
}

/// Watches for the reasons to stop a run: the caller's cancellation and an abort.
pub(crate) struct Watch {
    cancel: CancelToken,
    abort: Arc<Abort>,
    _hook: HookGuard,
}

/// The part of a [`Watch`] that others hold.
#[derive(Debug)]
pub(crate) struct Abort {
    set: AtomicBool,
    wake: Waker,
}

impl Abort {
    /// # Errors
    /// When the process has no descriptor left.
    pub(crate) fn new() -> io::Result<Abort> {
        Ok(Abort { set: AtomicBool::new(false), wake: Waker::new()? })
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::Release);
        self.wake.wake();
    }
}

impl Watch {
    pub(crate) fn new(cancel: &CancelToken, abort: Arc<Abort>) -> Watch {
        let hooked = Arc::clone(&abort);
        let hook = cancel.on_cancel(move || hooked.wake.wake());
        Watch { cancel: cancel.clone(), abort, _hook: hook }
    }

    pub(crate) fn why(&self) -> Option<Aborted> {
        match self.abort.is_set() {
            true => Some(Aborted::Signal),
            false => self.cancel.check().err(),
        }
    }

    /// Returns the deadline.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.cancel.deadline()
    }

    /// Readable once the run has to stop, except for its deadline.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.abort.wake.as_fd()
    }
}
