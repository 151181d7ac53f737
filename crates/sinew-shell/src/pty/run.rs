//! The thread of a running session, which waits in one `poll` for the terminal, the program and the caller.

use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use sinew_base::{Aborted, CancelToken, Error, ErrorCode, Result};

use super::live::{LivePty, Terminal};
use super::program::{GRACE_MS, Program, ProgramEnd, ProgramEvent, end_of};
use super::{PtyEnd, PtyOptions, terminal};
use crate::output::{Chunk, DRAIN_IDLE, DRAIN_MOST, Source, StreamMerger, timespec};

// A supervisor kills after the grace period. If it does not, somebody has stopped the supervisor.
const DESTROY: Duration = Duration::from_millis(GRACE_MS as u64 + 700);

// The maximum time for the supervisor to report the end of the session's leader. If it does not, it was killed.
const LATE: Duration = Duration::from_secs(1);

// The number of full reads before the loop checks everything else again.
const READS: usize = 16;
const SMALL: usize = 2048;

/// Runs one program from its start to its end.
pub(super) fn run(
    live: &Arc<LivePty>,
    options: &PtyOptions,
    cancel: &CancelToken,
    on_chunk: impl FnMut(Chunk) -> ControlFlow<()>,
) -> Result<PtyEnd> {
    if let Err(aborted) = cancel.check() {
        return Ok(stopped(aborted));
    }
    let failed = |error: std::io::Error| Error::io("start: failed to open a terminal", &error);
    let (master, slave) = terminal::open().map_err(failed)?;
    terminal::resize(&master, live.size()).map_err(failed)?;
    let program = Program::start(options, &slave)?;
    let resizer = master.try_clone().map_err(failed)?;
    live.attach(
        program.killer(),
        Box::new(move |size| {
            // The terminal is open; a size within the limits is always accepted.
            let _ = terminal::resize(&resizer, size);
        }),
    );
    let waker = Arc::clone(live);
    let hook = cancel.on_cancel(move || waker.kill());
    let mut session = Session {
        live,
        cancel,
        on_chunk,
        master,
        slave: Some(slave),
        merger: StreamMerger::new(options.encoding),
        buffer: vec![0; 64 * 1024],
        stop: None,
        destroy_at: None,
        started: false,
        drain: None,
        paused: false,
        sweep_at: None,
        closed: false,
        broken: false,
    };
    if let Some(pid) = program.pid() {
        session.set_started(pid);
    }
    let ended = session.serve(&program);
    drop(hook);
    live.detach();
    // No process of the session may outlive it, however it ended.
    if ended.is_err() {
        program.destroy();
    }
    program.finish();
    session.finish(ended?, options)
}

struct Session<'a, F> {
    live: &'a LivePty,
    cancel: &'a CancelToken,
    on_chunk: F,
    master: OwnedFd,
    // Kept open while the program runs: otherwise the terminal would report its end repeatedly.
    slave: Option<OwnedFd>,
    merger: StreamMerger,
    buffer: Vec<u8>,
    // Why the program is being terminated.
    stop: Option<Aborted>,
    destroy_at: Option<Instant>,
    // True once the program runs. Nothing is read before, because the consumer of the chunks may be waiting for its
    // process id.
    started: bool,
    // True while the output is paused.
    paused: bool,
    // When the program ended, and when the last output arrived.
    drain: Option<(Instant, Instant)>,
    // When the supervisor is late.
    sweep_at: Option<Instant>,
    // True once the terminal has reported its end.
    closed: bool,
    // True if the callback returned `Break`.
    broken: bool,
}

impl<F: FnMut(Chunk) -> ControlFlow<()>> Session<'_, F> {
    fn serve(&mut self, program: &Program) -> Result<ProgramEnd> {
        let mut ended: Option<ProgramEnd> = None;
        let mut news = true;
        loop {
            self.look_at_wishes(program);
            self.look_at_pause();
            self.deliver();
            let now = Instant::now();
            if let Some((since, heard)) = self.drain
                && !self.paused
                && (self.closed || now >= since + DRAIN_MOST || now >= heard + DRAIN_IDLE)
            {
                return Ok(ended.unwrap_or(ProgramEnd::Lost));
            }
            if ended.is_none() && news {
                match program.next() {
                    Some(ProgramEvent::Started(pid)) => self.set_started(pid),
                    Some(ProgramEvent::Ended(end)) => ended = Some(end),
                    None => {}
                }
                if ended.is_some() {
                    // A program that could not be started has no output, so reading may begin.
                    self.started = true;
                    program.sweep();
                    self.slave = None;
                    self.drain = Some((now, now));
                    (self.destroy_at, self.sweep_at) = (None, None);
                }
            }
            news = self.sleep(program)?;
            self.read()?;
            self.type_queue();
        }
    }

    fn set_started(&mut self, pid: u32) {
        self.started = true;
        // An open terminal has a name.
        let name = terminal::name(&self.master).unwrap_or_default();
        self.live.set_started(Terminal { pid, fd: self.master.as_raw_fd(), name });
    }

    /// Delivers the chunk that is due.
    fn deliver(&mut self) {
        if self.paused {
            return;
        }
        for chunk in self.merger.take(Instant::now()) {
            self.hand_over(chunk);
        }
    }

    fn hand_over(&mut self, chunk: Chunk) {
        if !self.broken && (self.on_chunk)(chunk).is_break() {
            self.broken = true;
            self.live.kill();
        }
    }

    fn look_at_pause(&mut self) {
        let before = std::mem::replace(&mut self.paused, self.live.is_paused());
        if before && !self.paused && self.drain.is_some() {
            // The remaining output was waiting for the resume.
            let now = Instant::now();
            self.drain = Some((now, now));
        }
    }

    /// Returns true if the terminal is being read.
    fn is_reading(&self) -> bool {
        self.started && !self.paused && !self.closed
    }

    /// Terminates the program if the caller requested it or the time limit was reached.
    fn look_at_wishes(&mut self, program: &Program) {
        let now = Instant::now();
        if self.stop.is_none() {
            self.stop = match self.cancel.check() {
                Err(aborted) => Some(aborted),
                Ok(()) => self.live.is_killed().then_some(Aborted::Signal),
            };
            if self.stop.is_some() {
                self.live.pause(false);
            }
            if self.stop.is_some() && self.drain.is_none() {
                self.live.kill();
                self.destroy_at = Some(now + DESTROY);
            }
        }
        if self.destroy_at.is_some_and(|at| now >= at) {
            program.destroy();
            self.destroy_at = None;
        }
        if self.sweep_at.is_some_and(|at| now >= at) {
            program.sweep();
            self.sweep_at = None;
        }
    }

    /// Waits for the first event. Returns true if the program may have ended.
    fn sleep(&mut self, program: &Program) -> Result<bool> {
        let now = Instant::now();
        let deadline = self.cancel.deadline().filter(|_| self.stop.is_none());
        let going = !self.paused;
        let drain = self.drain.filter(|_| going).map(|(since, heard)| (since + DRAIN_MOST).min(heard + DRAIN_IDLE));
        let due = self.merger.due(now).filter(|_| going);
        let until = [due, deadline, self.destroy_at, self.sweep_at, drain].into_iter().flatten().min();
        let timeout = until.map(|until| timespec(until.saturating_duration_since(now)));
        let news = program.news();
        let mut fds = vec![PollFd::new(&self.live.wake, PollFlags::IN)];
        // Even without requested events, it reports a hang-up of the terminal.
        fds.extend(self.slave.iter().map(|slave| PollFd::new(slave, PollFlags::empty())));
        let typing = self.live.pending() > 0 && self.drain.is_none();
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, self.is_reading());
        interest.set(PollFlags::OUT, typing && self.started && !self.closed);
        if !interest.is_empty() {
            fds.push(PollFd::new(&self.master, interest));
        }
        if self.drain.is_none() {
            fds.push(PollFd::new(&news, PollFlags::IN));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::io("PTY session: failed to wait", &error.into())),
        }
        if !fds[0].revents().is_empty() {
            self.live.wake.clear();
        }
        let told = self.drain.is_none() && fds.last().is_some_and(|news| !news.revents().is_empty());
        if self.slave.is_some() && !fds[1].revents().is_empty() {
            self.slave = None;
            self.sweep_at = Some(now + LATE);
        }
        Ok(told)
    }

    fn read(&mut self) -> Result<()> {
        for _ in 0..READS {
            if !self.is_reading() {
                break;
            }
            match rustix::io::read(&self.master, &mut self.buffer) {
                Ok(0) | Err(Errno::IO) => {
                    self.closed = true;
                    break;
                }
                Ok(count) => {
                    self.merger.push(Source::Stdout, &self.buffer[..count]);
                    if let Some((_, heard)) = &mut self.drain {
                        *heard = Instant::now();
                    }
                    self.deliver();
                    // A short read means that nothing is left: another read would cost as much as this one.
                    if count < SMALL {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(Error::io("PTY session: failed to read", &error.into())),
            }
        }
        Ok(())
    }

    fn type_queue(&self) {
        // A terminal that accepts nothing now reports it; a closed one is detected by reading.
        let _ = self.live.type_with(|bytes| rustix::io::write(&self.master, bytes));
    }

    fn finish(mut self, ended: ProgramEnd, options: &PtyOptions) -> Result<PtyEnd> {
        for chunk in self.merger.finish() {
            if !self.broken && (self.on_chunk)(chunk).is_break() {
                self.broken = true;
                let why = self.cancel.check().err().unwrap_or(Aborted::Signal);
                self.stop.get_or_insert(why);
            }
        }
        if let Some(aborted) = self.stop {
            return Ok(stopped(aborted));
        }
        match ended {
            ProgramEnd::Status(status) => Ok(end_of(status)),
            ProgramEnd::Failed(error) => {
                Err(Error::io(format!("start: failed to run {:?}", options.program()), &error))
            }
            ProgramEnd::Lost => Err(Error::new(
                ErrorCode::Io,
                "PTY session: its supervisor process was killed, and the program with it; start it again",
            )),
        }
    }
}

fn stopped(aborted: Aborted) -> PtyEnd {
    PtyEnd {
        exit_code: None,
        signal: None,
        cancelled: aborted == Aborted::Signal,
        timed_out: aborted == Aborted::Timeout,
    }
}

/// Waits until `fd` is readable, at most until `end`.
#[cfg(target_os = "linux")]
pub(super) fn readable(fd: impl std::os::fd::AsFd, end: Instant) -> bool {
    loop {
        let left = timespec(end.saturating_duration_since(Instant::now()));
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&left)) {
            Ok(count) => return count > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
