//! Writes to a terminal on a separate thread, so that a slow, stopped or closed terminal never blocks the program.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// A writer that sends output to a terminal in order.
///
/// The descriptor is duplicated, so the caller may close its own. When the writer is dropped, it writes the pending
/// bytes and its thread ends.
pub struct TtyWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes that are not being written yet.
    queue: Vec<u8>,
    /// Bytes that the thread is writing.
    taken: usize,
    dead: bool,
    stopped: bool,
}

impl State {
    fn pending(&self) -> usize {
        self.queue.len() + self.taken
    }
}

impl TtyWriter {
    /// Starts a writer for an open descriptor.
    ///
    /// # Errors
    /// Returns an error if the descriptor is invalid, or if there are no free descriptors or threads.
    pub fn new(fd: BorrowedFd<'_>) -> io::Result<TtyWriter> {
        let fd = rustix::io::fcntl_dupfd_cloexec(fd, 3)?;
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("sinew-tty".to_owned()).spawn(move || own.write(&fd))?;
        Ok(TtyWriter { shared, thread: Some(thread) })
    }

    /// Queues bytes and returns the number of queued bytes. Never blocks; bytes for a dead or stopped writer are
    /// dropped.
    pub fn write(&self, bytes: &[u8]) -> usize {
        let mut state = self.shared.state.lock();
        if !state.dead && !state.stopped {
            state.queue.extend_from_slice(bytes);
            self.shared.changed.notify_all();
        }
        state.pending()
    }

    /// Returns the number of bytes that the terminal has not accepted yet.
    pub fn pending(&self) -> usize {
        self.shared.state.lock().pending()
    }

    /// Returns true if a write failed, for example because the terminal is closed. The queued bytes were dropped.
    pub fn is_dead(&self) -> bool {
        self.shared.state.lock().dead
    }

    /// Blocks until everything is written, the writer is dead, or `limit` has passed. Returns true if everything is
    /// written.
    pub fn flush(&self, limit: Duration) -> bool {
        let until = Instant::now().checked_add(limit);
        let mut state = self.shared.state.lock();
        while state.pending() > 0 && !state.dead {
            let late = match until {
                Some(until) => self.shared.changed.wait_until(&mut state, until).timed_out(),
                None => {
                    self.shared.changed.wait(&mut state);
                    false
                }
            };
            if late {
                break;
            }
        }
        state.pending() == 0 && !state.dead
    }

    /// Flushes for at most `limit` and ends the thread. If a write is still blocked, the queued bytes are dropped and
    /// the thread ends once that write returns. Later calls do nothing.
    pub fn stop(&mut self, limit: Duration) {
        let Some(thread) = self.thread.take() else { return };
        self.flush(limit);
        let mut state = self.shared.state.lock();
        state.stopped = true;
        state.queue.clear();
        let writes = state.taken > 0;
        self.shared.changed.notify_all();
        drop(state);
        if !writes {
            // No write is in progress, so the thread ends at once; it cannot panic.
            let _ = thread.join();
        }
    }
}

impl Drop for TtyWriter {
    fn drop(&mut self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn write(&self, fd: &OwnedFd) {
        let mut bytes = Vec::new();
        loop {
            let mut state = self.state.lock();
            while state.queue.is_empty() {
                if state.stopped {
                    return;
                }
                self.changed.wait(&mut state);
            }
            bytes.clear();
            std::mem::swap(&mut bytes, &mut state.queue);
            state.taken = bytes.len();
            drop(state);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let written = write_some(fd, rest);
                let mut state = self.state.lock();
                match written {
                    Ok(length) => {
                        rest = &rest[length..];
                        state.taken = rest.len();
                    }
                    Err(_) => {
                        state.dead = true;
                        state.taken = 0;
                        state.queue = Vec::new();
                    }
                }
                let dead = state.dead;
                self.changed.notify_all();
                drop(state);
                if dead {
                    return;
                }
            }
        }
    }
}

/// Writes what the terminal accepts; waits if the descriptor is non-blocking.
fn write_some(fd: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    loop {
        match rustix::io::write(fd, bytes) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(fd, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            },
            Ok(0) => return Err(Errno::IO),
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, pipe};
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use super::TtyWriter;

    /// More than the capacity of a pipe.
    const MUCH: usize = 1 << 20;
    const MINUTES: Duration = Duration::from_secs(600);

    #[test]
    fn bytes_arrive_in_order_and_writes_never_block() {
        let (mut reader, end) = pipe().expect("a pipe");
        let mut writer = TtyWriter::new(end.as_fd()).expect("a writer");
        drop(end);
        let sent: Vec<u8> = (0..MUCH).map(|n| (n % 251) as u8).collect();
        for part in sent.chunks(1000) {
            assert!(writer.write(part) >= 1);
        }
        assert!(!writer.flush(Duration::ZERO), "a pipe does not hold that much");
        let mut got = vec![0; MUCH];
        reader.read_exact(&mut got).expect("all of it");
        assert!(got == sent);
        assert!(writer.flush(MINUTES));
        assert_eq!(writer.pending(), 0);
        writer.stop(MINUTES);
        assert_eq!(writer.write(b"late"), 0);
        assert_eq!(reader.read(&mut got).expect("the end"), 0, "the descriptor is closed with the thread");
    }

    #[test]
    fn a_closed_reader_ends_the_writer() {
        let (reader, end) = pipe().expect("a pipe");
        let mut writer = TtyWriter::new(end.as_fd()).expect("a writer");
        drop(reader);
        // A program that another test starts has a copy of the read end until its exec, so the pipe stays open for a
        // moment and accepts a byte or two.
        while writer.write(b"x") > 0 && writer.flush(MINUTES) {}
        assert!(writer.is_dead());
        assert_eq!((writer.write(b"y"), writer.pending()), (0, 0));
        writer.stop(MINUTES);
    }

    #[test]
    fn stopping_a_blocked_writer_does_not_wait() {
        let (mut reader, end) = pipe().expect("a pipe");
        let mut writer = TtyWriter::new(end.as_fd()).expect("a writer");
        drop(end);
        writer.write(&vec![b'x'; MUCH]);
        writer.stop(Duration::ZERO);
        let mut got = Vec::new();
        reader.read_to_end(&mut got).expect("what was taken, and then the end");
        assert!(got.len() <= MUCH);
    }

    #[test]
    fn pending_bytes_are_written_after_a_drop() {
        let (mut reader, end) = pipe().expect("a pipe");
        let writer = TtyWriter::new(end.as_fd()).expect("a writer");
        drop(end);
        writer.write(&vec![b'x'; MUCH]);
        drop(writer);
        let mut got = Vec::new();
        reader.read_to_end(&mut got).expect("all of it");
        assert_eq!(got.len(), MUCH);
    }
}
