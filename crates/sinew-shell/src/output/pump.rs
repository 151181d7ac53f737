//! Reads from a descriptor to a callback, until the end of the stream or a request to stop.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{Merger, Waker};

// Twice the capacity of a pipe: everything written before `stop` is read, but an endless writer does not delay the end.
const STOP_BYTES: usize = 2 * 1024 * 1024;

/// Why [`pump`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PumpEnd {
    /// The other end was closed.
    Eof,
    /// [`PumpControl::drain`] was called and the stream was silent, or the drain time had passed.
    Drained,
    /// [`PumpControl::stop`] was called.
    Stopped,
    /// The callback returned `Break`.
    Broken,
}

#[derive(Debug, Clone, Copy)]
enum PumpMode {
    Read,
    Drain { idle: Duration, until: Instant },
    Stop,
}

/// A handle that ends a [`pump`] from any thread. Clones share it.
#[derive(Debug, Clone)]
pub struct PumpControl {
    shared: Arc<(Mutex<PumpMode>, Waker)>,
}

impl PumpControl {
    /// Creates a handle; the pump reads until the end of the stream.
    ///
    /// # Errors
    /// Returns an error if the process has no free descriptors.
    pub fn new() -> io::Result<PumpControl> {
        Ok(PumpControl { shared: Arc::new((Mutex::new(PumpMode::Read), Waker::new()?)) })
    }

    /// Starts to drain after the end of the command: reads until the stream is silent for `idle` or `most` has passed,
    /// see [`super::DRAIN_IDLE`] and [`super::DRAIN_MOST`].
    pub fn drain(&self, idle: Duration, most: Duration) {
        let mut wish = self.wish();
        if matches!(*wish, PumpMode::Read) {
            *wish = PumpMode::Drain { idle, until: Instant::now() + most };
            self.shared.1.wake();
        }
    }

    /// Reads the available data and returns.
    pub fn stop(&self) {
        *self.wish() = PumpMode::Stop;
        self.shared.1.wake();
    }

    fn wish(&self) -> MutexGuard<'_, PumpMode> {
        self.shared.0.lock()
    }
}

/// Reads `source` and passes its text to `on_chunk`, at most one chunk per [`super::MERGE_INTERVAL`] or
/// [`super::MERGE_BYTES`], the last one before it returns.
///
/// Blocks, and sleeps while there is no data. Nothing is read while `on_chunk` runs, so a slow callback slows the
/// writer down instead of filling memory: at most two chunks are in memory.
///
/// # Errors
/// Returns an error if the system cannot read. Everything read before has been delivered.
pub fn pump(
    source: impl AsFd,
    ending: &PumpControl,
    mut on_chunk: impl FnMut(String) -> ControlFlow<()>,
) -> io::Result<PumpEnd> {
    let mut merger = Merger::default();
    let end = carry(&source, ending, &mut merger, &mut on_chunk);
    let last = merger.finish();
    if !matches!(end, Ok(PumpEnd::Broken))
        && let Some(text) = last
        && on_chunk(text).is_break()
    {
        return Ok(PumpEnd::Broken);
    }
    end
}

fn carry(
    source: &impl AsFd,
    ending: &PumpControl,
    merger: &mut Merger,
    on_chunk: &mut impl FnMut(String) -> ControlFlow<()>,
) -> io::Result<PumpEnd> {
    let mut buffer = vec![0u8; super::MERGE_BYTES];
    let mut heard = Instant::now();
    let mut stop_left = STOP_BYTES;
    loop {
        let now = Instant::now();
        if let Some(text) = merger.take(now)
            && on_chunk(text).is_break()
        {
            return Ok(PumpEnd::Broken);
        }
        let wish = *ending.wish();
        let limit = match wish {
            PumpMode::Read => None,
            PumpMode::Stop => Some(now),
            PumpMode::Drain { idle, until } => Some((heard + idle).min(until)),
        };
        let wait = [limit, merger.due(now)].into_iter().flatten().min();
        let readable = ready(source, &ending.shared.1, wait)?;
        if readable {
            match rustix::io::read(source, &mut buffer) {
                // A terminal reports EIO when its other end is closed.
                Ok(0) | Err(Errno::IO) => return Ok(PumpEnd::Eof),
                Ok(count) => {
                    merger.push(&buffer[..count]);
                    heard = Instant::now();
                    if matches!(wish, PumpMode::Stop) {
                        stop_left = stop_left.saturating_sub(count);
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match wish {
            PumpMode::Stop if !readable || stop_left == 0 => return Ok(PumpEnd::Stopped),
            PumpMode::Drain { idle, until } => {
                let now = Instant::now();
                if now >= until || (!readable && now >= heard + idle) {
                    return Ok(PumpEnd::Drained);
                }
            }
            PumpMode::Read | PumpMode::Stop => {}
        }
    }
}

/// Waits until `source` is readable, until a wake-up, or until `until`. Returns true if `source` is readable.
fn ready(source: &impl AsFd, wake: &Waker, until: Option<Instant>) -> io::Result<bool> {
    let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    let mut fds = [PollFd::new(source, PollFlags::IN), PollFd::new(wake, PollFlags::IN)];
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    if !fds[1].revents().is_empty() {
        wake.clear();
    }
    Ok(!fds[0].revents().is_empty())
}

pub(crate) fn timespec(wait: Duration) -> Timespec {
    // A wait of many days is practically unlimited, and always fits.
    Timespec::try_from(wait.min(Duration::from_secs(1_000_000))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{MERGE_BYTES, MERGE_INTERVAL};
    use std::io::Write;
    use std::sync::mpsc;

    fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().unwrap()
    }

    #[test]
    fn delivers_all_bytes_in_few_chunks_before_it_returns() {
        let (reader, mut writer) = pipe();
        let writing = std::thread::spawn(move || {
            for _ in 0..2_000 {
                writer.write_all(&[b'x'; 1000]).unwrap();
            }
        });
        let (mut chunks, mut bytes) = (0, 0);
        let started = Instant::now();
        let end = pump(&reader, &PumpControl::new().unwrap(), |text| {
            chunks += 1;
            bytes += text.len();
            ControlFlow::Continue(())
        });
        writing.join().unwrap();
        assert_eq!((end.unwrap(), bytes), (PumpEnd::Eof, 2_000_000));
        let by_time = started.elapsed().as_millis() / MERGE_INTERVAL.as_millis();
        assert!(chunks <= 2 + 2_000_000 / MERGE_BYTES as u128 + by_time, "{chunks} chunks");
    }

    #[test]
    fn a_slow_callback_slows_the_writer_down() {
        let (reader, mut writer) = pipe();
        let (blocked, is_blocked) = mpsc::channel();
        let (full, is_full) = mpsc::channel();
        let writing = std::thread::spawn(move || {
            writer.write_all(b"x").unwrap();
            is_blocked.recv().unwrap();
            rustix::io::ioctl_fionbio(&writer, true).unwrap();
            let mut count = 1;
            let error = loop {
                match writer.write(&[b'x'; 4096]) {
                    Ok(n) => count += n,
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            full.send(()).unwrap();
            count
        });
        let mut bytes = 0;
        let end = pump(&reader, &PumpControl::new().unwrap(), |text| {
            if bytes == 0 {
                blocked.send(()).unwrap();
                is_full.recv().unwrap();
            }
            bytes += text.len();
            ControlFlow::Continue(())
        });
        assert_eq!((end.unwrap(), bytes), (PumpEnd::Eof, writing.join().unwrap()));
    }

    #[test]
    fn a_drain_ends_while_another_process_has_the_pipe_open() {
        let (reader, mut writer) = pipe();
        let ending = PumpControl::new().unwrap();
        writer.write_all(b"last words").unwrap();
        ending.drain(Duration::from_millis(20), Duration::from_secs(60));
        let mut text = String::new();
        let end = pump(&reader, &ending, |chunk| {
            text += &chunk;
            ControlFlow::Continue(())
        });
        assert_eq!((end.unwrap(), text.as_str()), (PumpEnd::Drained, "last words"));
        drop(writer);
    }

    #[test]
    fn a_drain_ends_while_another_process_keeps_writing() {
        let (reader, mut writer) = pipe();
        let ending = PumpControl::new().unwrap();
        let writing = std::thread::spawn(move || while writer.write_all(b"more\n").is_ok() {});
        let ender = ending.clone();
        let mut first = true;
        let end = pump(&reader, &ending, |_| {
            if std::mem::take(&mut first) {
                ender.drain(Duration::from_secs(60), Duration::from_millis(20));
            }
            ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap(), PumpEnd::Drained);
        drop(reader);
        writing.join().unwrap();
    }

    #[test]
    fn a_stop_reads_everything_written_before_it() {
        let (reader, mut writer) = pipe();
        let ending = PumpControl::new().unwrap();
        writer.write_all(&[b'x'; 60_000]).unwrap();
        ending.stop();
        let mut bytes = 0;
        let end = pump(&reader, &ending, |text| {
            bytes += text.len();
            ControlFlow::Continue(())
        });
        assert_eq!((end.unwrap(), bytes), (PumpEnd::Stopped, 60_000));
    }

    #[test]
    fn a_callback_that_returns_break_is_not_called_again() {
        let (reader, mut writer) = pipe();
        writer.write_all(b"a").unwrap();
        let mut calls = 0;
        let end = pump(&reader, &PumpControl::new().unwrap(), |_| {
            calls += 1;
            writer.write_all(b"b").unwrap();
            ControlFlow::Break(())
        });
        assert_eq!((end.unwrap(), calls), (PumpEnd::Broken, 1));
    }
}
