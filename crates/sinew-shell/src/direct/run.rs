//! Runs one process from its start to its end, and reads its output.
//!
//! Separate threads read, write and wait, and send events to the caller's thread; this needs no system calls of a
//! particular system. Everything that was written before the process ended is read: the waiting thread then writes a
//! marker of random bytes to the same pipe, and everything before the marker was written earlier.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use sinew_base::{Aborted, CancelToken};

use super::input::InputPipe;
use super::tree::Tree;
use crate::delivery::Delivery;
use crate::output::{Encoding, MERGE_BYTES, Source};
use crate::{GRACE, OnStreamChunk};

/// The maximum time for killed processes to disappear after the grace period.
pub(super) const GONE: Duration = Duration::from_millis(500);

/// A process to start.
pub(super) struct Launch {
    /// The program, arguments, environment and directory.
    pub(super) command: Command,
    pub(super) input: Input,
    pub(super) separate: bool,
    pub(super) encoding: Encoding,
    /// The output of leftover processes is read after the end of the process until it was silent for this time,
    pub(super) idle: Duration,
    /// or for at most this time.
    pub(super) most: Duration,
}

pub(super) enum Input {
    Nothing,
    Bytes(Vec<u8>),
    Pipe(Arc<InputPipe>),
}

/// The two reasons to stop a run.
pub(super) struct Watch<'a> {
    pub(super) cancel: &'a CancelToken,
    pub(super) abort: &'a CancelToken,
}

impl Watch<'_> {
    pub(super) fn why(&self) -> Option<Aborted> {
        match self.abort.is_cancelled() {
            true => Some(Aborted::Signal),
            false => self.cancel.check().err(),
        }
    }
}

/// How a process ended, if it was not stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<&'static str>,
}

impl Exit {
    /// Converts the exit code of Git for Windows' bash, which encodes a signal above the eight bits that a script can
    /// set.
    pub(super) fn of_bash(self) -> Exit {
        let signal =
            self.code.filter(|code| cfg!(windows) && code & 0xff == 0).and_then(|code| cygwin_signal(code >> 8));
        signal.map_or(self, |signal| Exit { code: None, signal: Some(signal) })
    }
}

/// Returns the name of a Cygwin signal number, which Git's bash uses; `None` if it is unknown.
fn cygwin_signal(number: i32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGEMT",
        "SIGFPE",
        "SIGKILL",
        "SIGBUS",
        "SIGSEGV",
        "SIGSYS",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGURG",
        "SIGSTOP",
        "SIGTSTP",
        "SIGCONT",
        "SIGCHLD",
        "SIGTTIN",
        "SIGTTOU",
        "SIGIO",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGPWR",
        "SIGUSR1",
        "SIGUSR2",
    ];
    NAMES.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

#[derive(Debug)]
pub(super) enum End {
    Exited(Exit),
    Stopped(Aborted),
}

enum RunEvent {
    Read(Source, Vec<u8>),
    // Everything that was written before the end of the process has been read.
    Caught,
    Closed,
    Exited(Exit),
    // The run has to stop.
    Stop,
    // All processes of a stopped run have ended.
    Ended,
}

#[derive(Clone, Copy)]
enum Phase {
    Running,
    Draining { exit: Exit, since: Instant, heard: Instant },
    Stopping { why: Aborted, until: Instant },
}

/// Starts a process and waits for its end. The returned tree contains leftover processes; it is already terminated if
/// the run was stopped.
///
/// # Errors
/// Returns an error if the process, a pipe or a thread cannot be created.
pub(super) fn run(launch: Launch, watch: &Watch<'_>, on_chunk: OnStreamChunk<'_>) -> io::Result<(End, Arc<Tree>)> {
    let Launch { mut command, input, separate, encoding, idle, most } = launch;
    let (output, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?);
    let mut pipes = vec![(Source::Stdout, output, writer)];
    if separate {
        let (errors, writer) = io::pipe()?;
        command.stderr(writer.try_clone()?);
        pipes.push((Source::Stderr, errors, writer));
    } else {
        command.stderr(pipes[0].2.try_clone()?);
    }
    let meanwhile = match &input {
        Input::Pipe(pipe) => Some(Arc::clone(pipe)),
        _ => None,
    };
    command.stdin(if matches!(input, Input::Nothing) { Stdio::null() } else { Stdio::piped() });
    let (tree, stdin) = Tree::spawn(command)?;
    let tree = Arc::new(tree);
    // A bounded queue, so that a slow callback blocks the readers, and they block the process.
    let (news, heard) = mpsc::sync_channel(4);
    let mark = Arc::new(Mark { bytes: random(), written: AtomicBool::new(false) });
    let (mut open, mut behind, mut gone) = (pipes.len(), pipes.len(), false);
    let mut writers = Vec::new();
    for (source, reader, writer) in pipes {
        let (news, mark) = (news.clone(), Arc::clone(&mark));
        thread("sinew-shell-read", move || read(reader, source, &mark, &news))?;
        writers.push(writer);
    }
    if let Some(stdin) = stdin {
        thread("sinew-shell-write", move || feed(stdin, input))?;
    }
    let wait = tree.waiter()?;
    let waited = news.clone();
    thread("sinew-shell-wait", move || {
        // After a stop that was too slow there is no receiver.
        let _ = waited.send(RunEvent::Exited(wait()));
        mark.write(writers);
    })?;
    let hooks = [watch.cancel, watch.abort].map(|token| {
        let news = news.clone();
        // If the queue is full, the receiver is awake and checks by itself.
        token.on_cancel(move || drop(news.try_send(RunEvent::Stop)))
    });
    let mut delivery = Delivery::new(encoding, on_chunk);
    let mut phase = Phase::Running;
    loop {
        let now = Instant::now();
        delivery.hand_over(now);
        let why = watch.why().or(delivery.is_broken().then_some(Aborted::Signal));
        if let (Phase::Running, Some(why)) = (phase, why) {
            let (tree, news) = (Arc::clone(&tree), news.clone());
            phase = Phase::Stopping { why, until: now + GRACE + GONE + GONE };
            thread("sinew-shell-stop", move || {
                tree.end(GRACE);
                let _ = news.send(RunEvent::Ended);
            })?;
        }
        let limit = match phase {
            Phase::Running => watch.cancel.deadline(),
            Phase::Draining { .. } if open == 0 || (behind == 0 && why.is_some()) => break,
            Phase::Draining { .. } if behind > 0 => None,
            Phase::Draining { since, heard, .. } => Some((heard + idle).min(since + most)),
            Phase::Stopping { .. } if gone && (open == 0 || behind == 0) => break,
            Phase::Stopping { until, .. } => Some(until),
        };
        if !matches!(phase, Phase::Running) && limit.is_some_and(|limit| now >= limit) {
            break;
        }
        let until = [limit, delivery.due(now)].into_iter().flatten().min();
        let told = match until {
            Some(until) => heard.recv_timeout(until.saturating_duration_since(now)),
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match told {
            Ok(RunEvent::Read(source, bytes)) => {
                delivery.push(source, &bytes);
                if let Phase::Draining { heard, .. } = &mut phase {
                    *heard = Instant::now();
                }
            }
            Ok(RunEvent::Caught) => behind -= 1,
            Ok(RunEvent::Closed) => open -= 1,
            Ok(RunEvent::Exited(exit)) if matches!(phase, Phase::Running) => {
                let now = Instant::now();
                phase = Phase::Draining { exit, since: now, heard: now };
            }
            Ok(RunEvent::Ended) => gone = true,
            Ok(RunEvent::Stop | RunEvent::Exited(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    drop(hooks);
    delivery.finish();
    if let Some(pipe) = meanwhile {
        pipe.abandon();
    }
    let end = match phase {
        Phase::Draining { exit, .. } => End::Exited(exit),
        Phase::Stopping { why, .. } => End::Stopped(why),
        // The channel ends only after the thread that reports the exit.
        Phase::Running => End::Exited(Exit::default()),
    };
    Ok((end, tree))
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_string()).spawn(work).map(drop)
}

/// Reads a pipe to its end. Without a receiver the data is discarded, so that a leftover process never blocks.
fn read(mut reader: PipeReader, source: Source, mark: &Mark, news: &SyncSender<RunEvent>) {
    let mut buffer = vec![0; MERGE_BYTES];
    let (mut held, mut caught, mut heard) = (Vec::new(), false, true);
    let mut tell = |told: RunEvent| heard = heard && news.send(told).is_ok();
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            // Nothing more can be read.
            Err(_) => break,
        };
        held.extend_from_slice(&buffer[..count]);
        let mut rest = Vec::new();
        if !caught && mark.written.load(Ordering::Acquire) {
            if let Some(at) = held.windows(MARK).position(|part| part == mark.bytes) {
                let after = held.split_off(at).split_off(MARK);
                tell(RunEvent::Read(source, std::mem::replace(&mut held, after)));
                tell(RunEvent::Caught);
                caught = true;
            } else {
                let begun = (1..MARK).rev().find(|len| held.ends_with(&mark.bytes[..*len])).unwrap_or(0);
                rest = held.split_off(held.len() - begun);
            }
        }
        tell(RunEvent::Read(source, std::mem::replace(&mut held, rest)));
    }
    tell(RunEvent::Read(source, held));
    if !caught {
        tell(RunEvent::Caught);
    }
    tell(RunEvent::Closed);
}

const MARK: usize = 16;

/// Marks the end of the data that was written before the end of the process.
struct Mark {
    bytes: [u8; MARK],
    // Earlier data cannot match the marker.
    written: AtomicBool,
}

impl Mark {
    fn write(&self, writers: Vec<PipeWriter>) {
        self.written.store(true, Ordering::Release);
        for mut writer in writers {
            // This only fails if the reader has ended and reported it.
            let _ = writer.write_all(&self.bytes);
        }
    }
}

fn random() -> [u8; MARK] {
    let numbers = [0u64, 1].map(|number| RandomState::new().hash_one(number).to_ne_bytes());
    let mut bytes = [0; MARK];
    bytes[..MARK / 2].copy_from_slice(&numbers[0]);
    bytes[MARK / 2..].copy_from_slice(&numbers[1]);
    bytes
}

/// Writes the input. The command may not read all of it.
fn feed(mut stdin: ChildStdin, input: Input) {
    #[cfg(unix)]
    super::tree::block_sigpipe();
    match input {
        Input::Bytes(bytes) => drop(stdin.write_all(&bytes)),
        Input::Pipe(pipe) => {
            while let Some(bytes) = pipe.take() {
                if stdin.write_all(&bytes).is_err() {
                    pipe.abandon();
                }
            }
        }
        Input::Nothing => {}
    }
}
