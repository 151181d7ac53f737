//! The supervisor: starts one shell, tracks every process that it creates, and terminates them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew_sandbox::handoff::{ReceivedSandbox, receive as receive_sandbox};

use super::tree;
use crate::wire::{LEAVE, MOST, SANDBOX, SCRIPT, SOCKET, SupervisorReply, SupervisorRequest};

/// The interval between two checks while processes are being terminated.
const TICK: Duration = Duration::from_millis(4);

/// The interval at which the shell is asked to abort its command.
const NUDGE: Duration = Duration::from_millis(20);

/// How a shell is started.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// Descriptor 0 becomes the controlling terminal of the shell, which leads a new session.
    pub(super) terminal: bool,
    /// The shell runs in the sandbox at descriptor [`SANDBOX`].
    pub(super) in_sandbox: bool,
}

/// Starts the shell and serves the host until it disconnects. Returns the exit code of the supervisor.
///
/// An empty `cwd` means the directory of the host.
pub(super) fn run(cwd: &CStr, program: &CStr, argv: &[CString], start: Start) -> i32 {
    let terminal = start.terminal;
    // The shell reads it in the memory of this process until it executes its program, which no lifetime expresses, so it
    // is kept to the end.
    let Ok(sandbox) = start.in_sandbox.then(PassedSandbox::read).transpose().map(|read| read.map(Arc::new)) else {
        return 3;
    };
    // All signals that can be blocked are blocked, so that a script that signals its whole session does not affect the
    // supervisor. Descriptors that the host inherited by accident are closed.
    let lowest = SCRIPT + i32::from(!terminal);
    let first = sandbox.as_ref().map_or(lowest, |sandbox| sandbox.above);
    // SAFETY: apart from the sandbox nothing has been opened yet.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    let Ok(channel) = sandbox.as_deref().map(PassedSandbox::channel).transpose().map(Option::flatten) else { return 3 };
    let signals = match block_signals() {
        Ok(signals) => signals,
        Err(_) => return 3,
    };
    // SAFETY: only integers are passed.
    unsafe {
        libc::fcntl(SOCKET, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
    if !cwd.is_empty() {
        // SAFETY: the string is zero-terminated.
        if unsafe { libc::chdir(cwd.as_ptr()) } != 0 {
            tell(&SupervisorReply::Failed { errno: last_errno() });
            return 3;
        }
    }
    let mut pointers: Vec<*const libc::c_char> = argv.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let script = argv_of_script(program, argv);
    let mut script_pointers: Vec<*const libc::c_char> = script.iter().map(|arg| arg.as_ptr()).collect();
    script_pointers.push(std::ptr::null());
    let own = own_pid();
    let (ours, theirs) = channel.unzip();
    let inner = sandbox.as_ref().map(|sandbox| ShellSandbox {
        received: &sandbox.received,
        lowest,
        channel: theirs.as_ref().map(AsRawFd::as_raw_fd),
    });
    let shell =
        Shell { supervisor: own, program, argv: &pointers, script_argv: &script_pointers, terminal, sandbox: inner };
    let mut stacks = [vec![0u128; STACK / size_of::<u128>()], vec![0u128; STACK / size_of::<u128>()]];
    let [first, second] = stacks.each_mut().map(|stack| stack.as_mut_ptr_range().end);
    let start = MiddleStart { shell: &shell, stack: second };
    // The middle process shares the memory, which is cheaper than a copy. It does not allocate, because both processes
    // run at the same time, and none of its calls fails while the supervisor makes calls, because errno is shared.
    let begin = |sharing: libc::c_int| {
        let start = (&raw const start).cast_mut().cast();
        // SAFETY: the process has one thread. The stacks are large enough, and everything here outlives the process.
        unsafe { libc::clone(middle, first.cast(), sharing | libc::SIGCHLD, start) }
    };
    let middle = match begin(libc::CLONE_VM) {
        // User-mode emulators (qemu) do not support shared memory. A copy works too.
        -1 if last_errno() == libc::EINVAL => begin(0),
        pid => pid,
    };
    if middle == -1 {
        tell(&SupervisorReply::Failed { errno: last_errno() });
        return 3;
    }
    close_standard();
    drop(theirs);
    if let (Some(sandbox), Some(channel)) = (&sandbox, ours)
        && !Arc::clone(sandbox).answer_calls(channel)
    {
        tell(&SupervisorReply::Failed { errno: libc::EAGAIN });
        return 3;
    }
    Supervisor { signals, own, middle, terminal, stop: None, adopted: Vec::new() }.serve();
    0
}

/// The program that becomes the shell.
struct Shell<'a> {
    supervisor: i32,
    program: &'a CStr,
    argv: &'a [*const libc::c_char],
    /// The arguments of [`SCRIPT_SHELL`] if the program is a script without `#!`.
    script_argv: &'a [*const libc::c_char],
    terminal: bool,
    sandbox: Option<ShellSandbox<'a>>,
}

/// The sandbox of a shell.
struct ShellSandbox<'a> {
    received: &'a ReceivedSandbox,
    /// Descriptors from here on are closed in the shell.
    lowest: i32,
    /// The end of a socket that receives the notification listener.
    channel: Option<i32>,
}

/// A sandbox that the host has passed.
struct PassedSandbox {
    received: ReceivedSandbox,
    /// The number after its last descriptor.
    above: i32,
}

impl PassedSandbox {
    /// # Errors
    /// Returns an error if the data is missing or from another build.
    fn read() -> io::Result<PassedSandbox> {
        // SAFETY: the host passes this descriptor, and no other code owns it.
        let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(SANDBOX) });
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut file)?;
        io::Read::read_to_end(&mut file, &mut bytes)?;
        let received = receive_sandbox(&bytes, SANDBOX + 1).ok_or(io::ErrorKind::InvalidData)?;
        let above = SANDBOX + 1 + received.descriptors().len() as i32;
        Ok(PassedSandbox { received, above })
    }

    /// Creates the socket over which the shell sends its listener: the supervisor's end, and the shell's end. `None` if
    /// no calls are supervised.
    ///
    /// # Errors
    /// Returns an error if the system cannot create the socket.
    fn channel(&self) -> io::Result<Option<(OwnedFd, OwnedFd)>> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        if !self.received.has_supervisor() {
            return Ok(None);
        }
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Uses numbers above those of the shell, which the supervisor closes.
        let lift = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(&fd, self.above);
        Ok(Some((lift(ours)?, lift(theirs)?)))
    }

    /// Starts the thread that answers the calls of programs. Returns true if it could be started.
    fn answer_calls(self: Arc<Self>, channel: OwnedFd) -> bool {
        let work = move || {
            // A shell that ended before it entered its sandbox makes no calls.
            let _ = self.received.serve(channel.as_fd(), &mut |refusal| tell(&SupervisorReply::Refused(refusal)));
        };
        std::thread::Builder::new().name("sinew-sandbox".to_string()).spawn(work).is_ok()
    }
}

/// The argument of [`middle`].
struct MiddleStart<'a> {
    shell: &'a Shell<'a>,
    // The end of the stack of [`become_shell`].
    stack: *mut u128,
}

/// The argument of [`become_shell`].
struct ShellStart<'a> {
    shell: &'a Shell<'a>,
    parent: i32,
}

/// The stack size of [`middle`] and of [`become_shell`]. A stack has to begin at a multiple of 16.
const STACK: usize = 64 * 1024;

/// The parent of the shell, in the memory of the supervisor. It waits for the shell and reports how it ended.
extern "C" fn middle(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `run` passes this value and keeps it alive. The calls only receive integers, or memory that is ours and
    // outlives the call.
    unsafe {
        let start = &*start.cast_const().cast::<MiddleStart<'_>>();
        die_with_parent(start.shell.supervisor);
        let child = ShellStart { shell: start.shell, parent: own_pid() };
        // Like `vfork`, but with a separate stack: the child executes another program at once.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        match libc::clone(become_shell, start.stack.cast(), flags, (&raw const child).cast_mut().cast()) {
            -1 => send(&SupervisorReply::failed(last_errno())),
            shell => {
                if start.shell.terminal {
                    send(&SupervisorReply::started(shell));
                }
                // Closing this end tells the supervisor whether the shell has sent its listener.
                if let Some(channel) = start.shell.sandbox.as_ref().and_then(|sandbox| sandbox.channel) {
                    libc::close(channel);
                }
                // Closes the copies of the descriptors; those of the supervisor are separate.
                for fd in 0..3 {
                    libc::close(fd);
                }
                let mut status = 0;
                while libc::waitpid(shell, &mut status, 0) == -1 && last_errno() == libc::EINTR {}
                send(&SupervisorReply::exited(status));
            }
        }
        libc::_exit(0)
    }
}

/// The child of [`middle`], in its memory, until it becomes the shell.
extern "C" fn become_shell(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `middle` passes this value and waits. The strings and the list are zero-terminated.
    unsafe {
        let ShellStart { shell, parent } = &*start.cast_const().cast::<ShellStart<'_>>();
        die_with_parent(*parent);
        if shell.terminal {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
        } else {
            libc::setpgid(0, 0);
        }
        prefer_as_victim();
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        if let Some(sandbox) = &shell.sandbox {
            if let Err(error) = sandbox.received.apply_in_child(sandbox.lowest, sandbox.channel) {
                send(&SupervisorReply::failed(error.raw_os_error().unwrap_or(libc::EPERM)));
                libc::_exit(127);
            }
            // A change of capabilities resets the death signal.
            die_with_parent(*parent);
        }
        libc::execv(shell.program.as_ptr(), shell.argv.as_ptr());
        let errno = last_errno();
        if errno == libc::ENOEXEC && is_script(shell.program) {
            libc::execv(SCRIPT_SHELL.as_ptr(), shell.script_argv.as_ptr());
        }
        send(&SupervisorReply::failed(errno));
        libc::_exit(127);
    }
}

/// The shell of scripts without `#!`, as in `execvp` and every shell.
const SCRIPT_SHELL: &CStr = c"/bin/sh";

/// Returns the arguments by which [`SCRIPT_SHELL`] runs a script without `#!`.
fn argv_of_script(program: &CStr, argv: &[CString]) -> Vec<CString> {
    // A name with a hyphen would be an option.
    let name = match program.to_bytes() {
        [b'-', ..] => CString::new([b"./", program.to_bytes()].concat()).unwrap_or_default(),
        _ => program.to_owned(),
    };
    [SCRIPT_SHELL.to_owned(), name].into_iter().chain(argv.iter().skip(1).cloned()).collect()
}

/// Returns true if bash would run a file as a script: no NUL in its first line, or in its beginning after `#!`. Does not
/// allocate.
fn is_script(program: &CStr) -> bool {
    let mut start = [0u8; 80];
    // SAFETY: the string is zero-terminated, the buffer has the given length, and the descriptor is closed once.
    let len = unsafe {
        let fd = libc::open(program.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK);
        if fd < 0 {
            return false;
        }
        let len = libc::read(fd, start.as_mut_ptr().cast(), start.len());
        libc::close(fd);
        len
    };
    let Some(start) = usize::try_from(len).ok().and_then(|len| start.get(..len)) else { return false };
    let end = start.iter().position(|byte| *byte == b'\n').filter(|_| !start.starts_with(b"#!"));
    !start.starts_with(b"\x7fELF") && !start[..end.unwrap_or(start.len())].contains(&0)
}

/// A termination in progress.
struct Stop {
    since: u64,
    // The time from which TERM is sent. Before it, the processes on a terminal receive HUP, as if it had been closed.
    terminates: Instant,
    // The time from which KILL is sent.
    until: Instant,
    // True if the shell is terminated too, after which the supervisor exits.
    all: bool,
    settled: bool,
    nudged: Option<Instant>,
    // The processes that received a signal, by id, start time and program. A bash that forked to start a program may
    // drop the signal, so the program receives it again.
    told: Vec<(i32, u64, u64, i32)>,
}

struct Supervisor {
    signals: OwnedFd,
    own: i32,
    middle: i32,
    // True if the shell leads the session of a terminal.
    terminal: bool,
    stop: Option<Stop>,
    adopted: Vec<OwnedFd>,
}

impl Supervisor {
    fn serve(mut self) {
        let mut record = vec![0; 64];
        loop {
            let mut fds: Vec<libc::pollfd> = [SOCKET, self.signals.as_raw_fd()]
                .into_iter()
                .chain(self.adopted.iter().map(AsRawFd::as_raw_fd))
                .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
                .collect();
            let wait = if self.stop.is_some() { TICK.as_millis() as i32 } else { -1 };
            // SAFETY: the list is ours and has the given length.
            unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, wait) };
            if fds[1].revents != 0 {
                drain_signals(&self.signals);
                // A middle process that was killed has reported nothing; the host detects it from the closed socket.
                let reaped = reap(self.middle);
                if reaped.killed {
                    return destroy(self.own, &self.signals);
                }
                // Nothing is left, and nothing can be created any more.
                if !reaped.left {
                    return;
                }
            }
            let mut index = 2;
            self.adopted.retain(|fd| {
                index += 1;
                fds[index - 1].revents == 0 || swallow(fd)
            });
            if fds[0].revents != 0 {
                match receive(&mut record) {
                    Some((len, fd)) => self.obey(SupervisorRequest::decode(&record[..len]), fd),
                    None => return destroy(self.own, &self.signals),
                }
            }
            if self.tick() {
                return destroy(self.own, &self.signals);
            }
        }
    }

    fn obey(&mut self, ask: Option<SupervisorRequest>, fd: Option<OwnedFd>) {
        match ask {
            Some(SupervisorRequest::Stop { since, grace_ms }) => self.stop = Some(Stop::new(since, grace_ms, false)),
            Some(SupervisorRequest::Close { grace_ms }) => {
                let mut stop = Stop::new(0, grace_ms, true);
                if self.terminal {
                    stop.terminates += Duration::from_millis(u64::from(grace_ms) / 2);
                }
                self.stop = Some(stop);
            }
            Some(SupervisorRequest::Settled) => {
                if let Some(stop) = &mut self.stop {
                    stop.settled = true;
                }
            }
            Some(SupervisorRequest::Jobs) => {
                let shell = self.shell();
                let jobs = tree::below(self.own)
                    .into_iter()
                    .filter(|process| !process.zombie && process.pid != self.middle && process.pid != shell)
                    .filter(|process| process.parent == shell || process.parent == self.own)
                    .map(|process| (process.pid, tree::command(process.pid)));
                tell(&SupervisorReply::Jobs(jobs.collect()));
            }
            Some(SupervisorRequest::Adopt) => self.adopted.extend(fd),
            // A record of another version: no other reaction would be safe.
            None => self.stop = Some(Stop::new(0, 0, true)),
        }
    }

    /// Continues a termination, if one is in progress. Returns true if only killing is left to do.
    fn tick(&mut self) -> bool {
        let Some(mut stop) = self.stop.take() else { return false };
        let now = Instant::now();
        let late = now >= stop.until;
        if stop.all && late {
            return true;
        }
        let targets = self.targets(&stop);
        if stop.all && targets.is_empty() {
            return true;
        }
        // The shell first: if a child dies before the shell knows that it has to abort, the shell runs the next
        // command.
        if !stop.all && !stop.settled && stop.nudged.is_none_or(|last| now >= last + NUDGE) {
            stop.nudged = Some(now);
            if let Some(shell) = tree::look(self.shell()) {
                tree::signal(shell, LEAVE);
            }
        }
        for process in &targets {
            if late {
                tree::signal(*process, libc::SIGSTOP);
                continue;
            }
            let signal = if now >= stop.terminates { libc::SIGTERM } else { libc::SIGHUP };
            let name = (process.pid, process.start, process.image, signal);
            if !stop.told.contains(&name) {
                stop.told.push(name);
                // A stopped process only handles a signal after it continues.
                tree::signal(*process, signal);
                tree::signal(*process, libc::SIGCONT);
            }
        }
        if late {
            for process in &targets {
                tree::signal(*process, libc::SIGKILL);
            }
        }
        if stop.settled && targets.is_empty() {
            tell(&SupervisorReply::Clean);
        } else {
            self.stop = Some(stop);
        }
        false
    }

    /// Returns the processes to terminate: all, or those that are neither the shell nor part of an earlier job.
    fn targets(&self, stop: &Stop) -> Vec<tree::Process> {
        let mut spared = Vec::new();
        let mut targets = Vec::new();
        for process in tree::below(self.own) {
            if process.pid == self.middle || (!stop.all && process.parent == self.middle) {
                continue;
            }
            if !stop.all && (process.start < stop.since || spared.contains(&process.parent)) {
                spared.push(process.pid);
            } else if !process.zombie {
                targets.push(process);
            }
        }
        targets
    }

    /// Returns the process id of the shell, or 0 if it is gone.
    fn shell(&self) -> i32 {
        let below = tree::below(self.middle);
        below.iter().find(|process| process.parent == self.middle).map_or(0, |process| process.pid)
    }
}

impl Stop {
    fn new(since: u64, grace_ms: u32, all: bool) -> Stop {
        let now = Instant::now();
        let until = now + Duration::from_millis(grace_ms.into());
        Stop { since, terminates: now, until, all, settled: false, nudged: None, told: Vec::new() }
    }
}

/// Terminates all descendants, including those that fork quickly: first everything is frozen, then killed.
fn destroy(own: i32, signals: &OwnedFd) {
    while reap(0).left {
        let mut frozen: Vec<(i32, u64)> = Vec::new();
        let all = loop {
            let all = tree::below(own);
            let before = frozen.len();
            for process in all.iter().filter(|process| !process.zombie) {
                if !frozen.contains(&(process.pid, process.start)) {
                    tree::signal(*process, libc::SIGSTOP);
                    frozen.push((process.pid, process.start));
                }
            }
            if frozen.len() == before {
                break all;
            }
        };
        for process in all {
            tree::signal(process, libc::SIGKILL);
        }
        // The first death wakes the supervisor, so it needs no further wait for the last process.
        let mut dead = libc::pollfd { fd: signals.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the list is ours and has the given length.
        unsafe { libc::poll(&mut dead, 1, 1) };
        drain_signals(signals);
    }
}

struct ReapResult {
    /// True if there are still children.
    left: bool,
    /// True if the watched process was reaped and had been killed by a signal.
    killed: bool,
}

/// Reaps dead children.
fn reap(watched: i32) -> ReapResult {
    let mut killed = false;
    loop {
        let mut status = 0;
        // SAFETY: the status is ours.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return ReapResult { left: true, killed },
            -1 if last_errno() == libc::EINTR => {}
            -1 => return ReapResult { left: false, killed },
            pid => killed |= pid == watched && libc::WIFSIGNALED(status),
        }
    }
}

fn block_signals() -> io::Result<OwnedFd> {
    // SAFETY: the sets are ours and initialised by the calls before they are read; the descriptor is new.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        let mut child: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut child);
        libc::sigaddset(&mut child, libc::SIGCHLD);
        let fd = libc::signalfd(-1, &child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        // Above the numbers of the shell.
        let high = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10);
        libc::close(fd);
        match high {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

fn drain_signals(signals: &OwnedFd) {
    let mut records = [0u8; 1024];
    // SAFETY: the buffer is ours and has the given length.
    while unsafe { libc::read(signals.as_raw_fd(), records.as_mut_ptr().cast(), records.len()) } > 0 {}
}

/// Reads and discards the available data. Returns true if more can follow.
fn swallow(fd: &OwnedFd) -> bool {
    let mut bytes = [0u8; 16 * 1024];
    // SAFETY: the buffer is ours and has the given length.
    let len = unsafe { libc::read(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
    len > 0 || (len == -1 && matches!(last_errno(), libc::EINTR | libc::EAGAIN))
}

/// Receives one record and its descriptor; `None` if the host is gone.
fn receive(record: &mut [u8]) -> Option<(usize, Option<OwnedFd>)> {
    let mut space = [0u64; 4];
    // SAFETY: all pointers are to our own buffers, have the given length, and outlive the call. The kernel's data is
    // read with its own macros, and a passed descriptor is new and ours.
    unsafe {
        let mut part = libc::iovec { iov_base: record.as_mut_ptr().cast(), iov_len: record.len() };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&space) as _;
        let len = loop {
            match libc::recvmsg(SOCKET, &mut message, libc::MSG_CMSG_CLOEXEC) {
                -1 if last_errno() == libc::EINTR => {}
                len => break len,
            }
        };
        if len <= 0 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        let passed =
            !header.is_null() && (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS;
        let fd = passed.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned()));
        Some((len as usize, fd))
    }
}

fn tell(tell: &SupervisorReply) {
    let record = tell.encode();
    debug_assert!(record.len() <= MOST);
    send(&record);
}

/// Sends a record. Does not allocate.
fn send(record: &[u8]) {
    // SAFETY: the buffer has the given length. If the host is gone, reading records reports it.
    unsafe { libc::send(SOCKET, record.as_ptr().cast(), record.len(), libc::MSG_NOSIGNAL) };
}

/// Closes the standard descriptors, because the output pipe has to end when the script closes it.
fn close_standard() {
    for fd in [0, 1, 2, SCRIPT] {
        // There may be no script. The `close` of libc would then set `errno` while the middle process, which shares it,
        // reads why the shell could not be started.
        // SAFETY: no other code uses these descriptors.
        unsafe { rustix::io::close(fd) };
    }
}

fn die_with_parent(parent: i32) {
    // SAFETY: only integers are passed.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
    }
}

/// Makes the kernel kill the script instead of the host when memory runs out.
fn prefer_as_victim() {
    // SAFETY: the strings are zero-terminated and have the given length. If the system refuses the change, nothing else
    // depends on it.
    unsafe {
        let fd = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, b"500".as_ptr().cast(), 3);
            libc::close(fd);
        }
    }
}

fn own_pid() -> i32 {
    // SAFETY: nothing is passed.
    unsafe { libc::getpid() }
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
