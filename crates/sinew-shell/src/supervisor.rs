//! The host's side of a supervisor: starting it, sending requests, and waiting for its end.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use sinew_base::{Error, ErrorCode, Result};
use sinew_sandbox::Handoff;

use crate::fair_deadline::FairDeadline;
use crate::known_bashes::KnownBashes;
use crate::output_relay::timespec;
use crate::wire::{MOST, SupervisorReply, SupervisorRequest};
use crate::{environment, wire};

/// The beginning of the error message if a shell cannot be started.
pub(crate) const NOT_STARTED: &str = "Failed to initialize shell";

/// The maximum time for a supervisor to exit after all its processes were killed.
const GONE: Duration = Duration::from_secs(2);

/// The supervisor program, and a cache of the known bashes of this machine. Clones share it.
#[derive(Debug, Clone)]
pub struct Supervisor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    // The bashes that support sessions.
    bashes: KnownBashes,
    // The bashes of shells without a supervisor, which support older versions too.
    older_bashes: KnownBashes,
}

impl Supervisor {
    /// Creates a handle for the supervisor at `path`: `sinew-shell-host`, or a program that calls [`crate::host::main`]
    /// with its arguments if the first one is `supervise`, `pty`, `sandbox` or `brush`. Starts nothing yet.
    pub fn new(path: impl Into<PathBuf>) -> Supervisor {
        let (bashes, older_bashes) = Default::default();
        Supervisor { inner: Arc::new(Inner { path: path.into(), bashes, older_bashes }) }
    }

    /// Returns the path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    pub(crate) fn known_bashes(&self) -> &KnownBashes {
        &self.inner.older_bashes
    }

    /// Returns the bash at `path`, looked up on the `PATH` of `env`; `None` unless it is version 4.4 or later. Runs the
    /// bash once and caches the answer until the file changes.
    pub(crate) fn bash(&self, env: &crate::Environment, path: &Path) -> Option<OsString> {
        let file = environment::find_program(environment::value(env, "PATH"), path)?;
        self.inner.bashes.has(Path::new(&file), |file| self.fits(file.as_os_str())).then_some(file)
    }

    /// Returns true if a program identifies itself as a bash with the features that a session needs.
    fn fits(&self, bash: &OsStr) -> bool {
        const QUESTION: &str = r#"[[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 44 || ${BASH_VERSINFO[0]} -ge 10 ]]"#;
        let args = ["bash", "--noprofile", "--norc", "-c", QUESTION].map(OsString::from);
        let Ok(null) = null() else { return false };
        let start = Start {
            purpose: NOT_STARTED,
            program: bash,
            args: &args,
            env: &[],
            cwd: None,
            input: null.as_fd(),
            output: null.as_fd(),
            errors: null.as_fd(),
            script: None,
            sandbox: None,
        };
        let Ok(link) = self.start(&start) else { return false };
        let answer = link.receive_until(&mut link.deadline(Duration::from_secs(2)));
        matches!(answer, Ok(Some(SupervisorReply::Exited { status: 0 })))
    }

    /// Starts a supervisor that runs one shell.
    ///
    /// # Errors
    /// Returns an error if the system cannot start it.
    pub(crate) fn start(&self, start: &Start<'_>) -> Result<Link> {
        let failed = |cause: io::Error| match cause.raw_os_error() {
            // The supervisor receives the arguments and the environment of the program.
            Some(libc::E2BIG) => Error::io(start.purpose, &cause),
            _ => Error::io(format!("Failed to initialize shell: cannot start {:?}", self.inner.path), &cause),
        };
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|cause| failed(cause.into()))?;
        let pid = spawn(&self.inner.path, c"supervise", start, theirs.as_fd()).map_err(failed)?;
        Ok(Link { socket: ours, pid: Some(pid) })
    }
}

/// The shell that a supervisor starts.
pub(crate) struct Start<'a> {
    /// The beginning of the error message if the program cannot be started: `run: failed to start "ls"`.
    pub(crate) purpose: &'a str,
    pub(crate) program: &'a OsStr,
    /// The first argument is the name that the program sees.
    pub(crate) args: &'a [OsString],
    pub(crate) env: &'a [(&'a OsStr, &'a OsStr)],
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) input: BorrowedFd<'a>,
    pub(crate) output: BorrowedFd<'a>,
    pub(crate) errors: BorrowedFd<'a>,
    /// Passed as [`wire::SCRIPT`].
    pub(crate) script: Option<BorrowedFd<'a>>,
    /// The sandbox of the program; `None` without one.
    pub(crate) sandbox: Option<Handoff<'a>>,
}

/// A running supervisor. Dropping it terminates all its processes and waits for their end.
#[derive(Debug)]
pub(crate) struct Link {
    socket: OwnedFd,
    pid: Option<libc::pid_t>,
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link {
    /// Sends a request. If the supervisor is gone, reading the answer reports it.
    pub(crate) fn ask(&self, ask: SupervisorRequest) {
        let _ = rustix::net::send(&self.socket, &ask.encode(), SendFlags::NOSIGNAL);
    }

    /// Hands a pipe that background jobs still write to over to the supervisor, which reads it from now on.
    pub(crate) fn adopt(&self, pipe: BorrowedFd<'_>) {
        let fds = [pipe];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&fds));
        let record = SupervisorRequest::Adopt.encode();
        let _ = rustix::net::sendmsg(&self.socket, &[IoSlice::new(&record)], &mut control, SendFlags::NOSIGNAL);
    }

    /// Waits for an answer. `None` if the supervisor is gone.
    ///
    /// # Errors
    /// Returns an error for an answer of another version.
    pub(crate) fn receive(&self) -> Result<Option<SupervisorReply>> {
        let mut record = vec![0; MOST];
        loop {
            let received = rustix::net::recvmsg(
                &self.socket,
                &mut [IoSliceMut::new(&mut record)],
                &mut Default::default(),
                RecvFlags::empty(),
            );
            return match received {
                Ok(message) if message.bytes > 0 => match SupervisorReply::decode(&record[..message.bytes]) {
                    Some(tell) => Ok(Some(tell)),
                    None => Err(Error::new(
                        ErrorCode::Internal,
                        "shell: the supervisor is of another version: install both together",
                    )),
                },
                Err(rustix::io::Errno::INTR) => continue,
                _ => Ok(None),
            };
        }
    }

    /// Returns a deadline of `limit` for the supervisor and its shell, extended if other processes keep the machine
    /// busy.
    pub(crate) fn deadline(&self, limit: Duration) -> FairDeadline {
        FairDeadline::new(self.pid.unwrap_or(0), limit)
    }

    /// Waits for an answer; `Ok(None)` if `deadline` has passed or the supervisor is gone.
    pub(crate) fn receive_until(&self, deadline: &mut FairDeadline) -> Result<Option<SupervisorReply>> {
        while !self.readable_until(deadline.until()) {
            if deadline.has_passed() {
                return Ok(None);
            }
        }
        self.receive()
    }

    /// Returns an available answer: `Some(None)` if the supervisor is gone, `None` if there is no answer yet.
    pub(crate) fn pending(&self) -> Option<Option<SupervisorReply>> {
        self.readable_until(Instant::now()).then(|| self.receive().ok().flatten())
    }

    fn readable_until(&self, until: Instant) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            let left = timespec(until.saturating_duration_since(Instant::now()));
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                other => return other.is_ok_and(|count| count > 0),
            }
        }
    }

    /// Terminates everything: TERM, and KILL after `grace`. Returns when the supervisor is gone.
    pub(crate) fn close(mut self, grace: Duration) {
        self.ask(SupervisorRequest::Close { grace_ms: u32::try_from(grace.as_millis()).unwrap_or(u32::MAX) });
        let mut deadline = self.deadline(grace + GONE);
        while matches!(self.receive_until(&mut deadline), Ok(Some(_))) {}
        self.end();
    }

    fn end(&mut self) {
        let Some(pid) = self.pid.take() else { return };
        // Shuts the socket down in both directions: the supervisor detects it and terminates everything.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        wait(pid);
    }
}

/// Waits for a supervisor started with [`spawn`]. Must be called only once, because the process id may then be reused.
pub(crate) fn wait(pid: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the id is that of our child, and no other code waits for it.
    while unsafe { libc::waitpid(pid, &mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

/// Opens `/dev/null` for reading and writing.
pub(crate) fn null() -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    Ok(open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// Creates a pipe that children do not inherit, with a capacity of `size` bytes if the system allows it.
pub(crate) fn pipe(size: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, size);
    Ok((reader, writer))
}

/// Creates an anonymous file in memory with the content `bytes`.
pub(crate) fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("sinew", rustix::fs::MemfdFlags::CLOEXEC)?;
    write_at_start(&file, bytes)?;
    Ok(file)
}

/// Replaces the content of a file, and seeks to its start.
pub(crate) fn write_at_start(file: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    rustix::fs::ftruncate(file, 0)?;
    let mut at = 0;
    while !bytes.is_empty() {
        let count = rustix::io::pwrite(file, bytes, at)?;
        at += count as u64;
        bytes = &bytes[count..];
    }
    Ok(())
}

/// Returns copies of the supervisor's descriptors, with the number that each will have.
fn descriptors(start: &Start<'_>, socket: BorrowedFd<'_>) -> io::Result<Vec<(OwnedFd, i32)>> {
    // Copies above the numbers that are assigned below, so that none of them is overwritten before it is used.
    let sandboxed = start.sandbox.as_ref().map_or(0, |sandbox| 1 + sandbox.descriptors.len());
    let above = wire::SANDBOX + sandboxed as i32;
    let lift = |fd: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, above);
    let mut moves = vec![
        (lift(start.input)?, 0),
        (lift(start.output)?, 1),
        (lift(start.errors)?, 2),
        (lift(socket)?, wire::SOCKET),
    ];
    if let Some(script) = start.script {
        moves.push((lift(script)?, wire::SCRIPT));
    }
    if let Some(sandbox) = &start.sandbox {
        moves.push((lift(memory_file(&sandbox.bytes)?.as_fd())?, wire::SANDBOX));
        for (descriptor, number) in sandbox.descriptors.iter().zip(wire::SANDBOX + 1..) {
            moves.push((lift(*descriptor)?, number));
        }
    }
    Ok(moves)
}

/// Starts the supervisor in a role without copying the host: fork is expensive for a process with gigabytes of memory.
pub(crate) fn spawn(path: &Path, role: &CStr, start: &Start<'_>, socket: BorrowedFd<'_>) -> io::Result<libc::pid_t> {
    let text = |value: &OsStr| CString::new(value.as_bytes()).map_err(io::Error::from);
    let path = text(path.as_os_str())?;
    // The supervisor changes its directory itself, because doing it at start requires glibc 2.29.
    let cwd = text(start.cwd.map_or(OsStr::new(""), |cwd| cwd.as_os_str()))?;
    let mut args = vec![path.clone()];
    if start.sandbox.is_some() {
        args.push(c"sandbox".to_owned());
    }
    args.extend([role.to_owned(), cwd, text(start.program)?]);
    for arg in start.args {
        args.push(text(arg)?);
    }
    let mut env = Vec::with_capacity(start.env.len());
    for (name, value) in start.env {
        let mut entry = name.to_os_string();
        entry.push("=");
        entry.push(value);
        env.push(text(&entry)?);
    }
    let moves = descriptors(start, socket)?;
    let pointers = |list: &[CString]| -> Vec<*mut libc::c_char> {
        list.iter().map(|item| item.as_ptr().cast_mut()).chain([std::ptr::null_mut()]).collect()
    };
    let check = |code: libc::c_int| if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) };
    // SAFETY: the two objects are initialised by their first call and destroyed once; all strings and lists are
    // zero-terminated and live until the end of the block; the descriptors are open.
    unsafe {
        let mut actions = MaybeUninit::<libc::posix_spawn_file_actions_t>::uninit();
        check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
        let mut attributes = MaybeUninit::<libc::posix_spawnattr_t>::uninit();
        let mut pid = 0;
        let result = check(libc::posix_spawnattr_init(attributes.as_mut_ptr())).and_then(|()| {
            let mut signals = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&mut signals);
            let done = check(libc::posix_spawnattr_setsigmask(attributes.as_mut_ptr(), &signals))
                .and_then(|()| {
                    libc::sigfillset(&mut signals);
                    check(libc::posix_spawnattr_setsigdefault(attributes.as_mut_ptr(), &signals))
                })
                .and_then(|()| {
                    let flags = libc::POSIX_SPAWN_SETSIGMASK as libc::c_int
                        | libc::POSIX_SPAWN_SETSIGDEF as libc::c_int
                        | libc::POSIX_SPAWN_SETSID as libc::c_int;
                    check(libc::posix_spawnattr_setflags(attributes.as_mut_ptr(), flags as libc::c_short))
                })
                .and_then(|()| {
                    moves.iter().try_for_each(|(from, to)| {
                        check(libc::posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), from.as_raw_fd(), *to))
                    })
                })
                .and_then(|()| {
                    check(libc::posix_spawn(
                        &mut pid,
                        path.as_ptr(),
                        actions.as_ptr(),
                        attributes.as_ptr(),
                        pointers(&args).as_ptr(),
                        pointers(&env).as_ptr(),
                    ))
                });
            libc::posix_spawnattr_destroy(attributes.as_mut_ptr());
            done
        });
        libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
        result.map(|()| pid)
    }
}
