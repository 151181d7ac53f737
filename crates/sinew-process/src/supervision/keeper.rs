//! The keeper: starts one program, tracks every process that it creates, and terminates them.

use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage};

use super::{CLOSE_GRACE, EXITED, KILL, NOT_STARTED, ProgramSpec, STARTED, TERM_GRACE, request};
use crate::sys::{self, CLOSED_ON_EXEC, Entry};
use crate::tree;

/// The maximum time between two checks of killed processes.
const KILL_ROUND: Duration = Duration::from_millis(2);

/// Runs the role of a keeper, whose socket is standard input, and returns the exit code. Must be called before the
/// process starts a thread or opens a file.
#[must_use]
pub fn keeper() -> i32 {
    prepare();
    // SAFETY: descriptor 0 is the socket that the keeper was started with, and no other code uses it.
    let mut link = UnixStream::from(unsafe { OwnedFd::from_raw_fd(0) });
    let Ok((program, pipes)) = receive(&mut link) else { return 1 };
    let child = match spawn(&program, pipes) {
        Ok(pid) => pid,
        Err(cause) => {
            tell(&mut link, NOT_STARTED, cause.raw_os_error().unwrap_or(libc::EIO));
            return 1;
        }
    };
    let Ok(reaper) = start_reaper(child) else { return 1 };
    tell(&mut link, STARTED, child);
    Keeper { link, reaper, program_over: false }.run();
    0
}

/// Detaches from the terminal and the signals of the starting process, and becomes the parent of all orphans.
fn prepare() {
    // SAFETY: only integers are passed, and a set that is initialised before it is read; nothing has been opened yet.
    unsafe {
        libc::setsid();
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
        #[cfg(target_os = "linux")]
        {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        }
    }
}

fn receive(link: &mut UnixStream) -> io::Result<(ProgramSpec, [OwnedFd; 3])> {
    let mut first = vec![0; 4096];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut first)];
    let received = rustix::net::recvmsg(&*link, &mut parts, &mut control, CLOSED_ON_EXEC)?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            fds.extend(passed);
        }
    }
    #[cfg(target_os = "macos")]
    for fd in &fds {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
    }
    let fds: [OwnedFd; 3] = fds.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    first.truncate(received.bytes);
    Ok((request::read(first, link)?, fds))
}

fn spawn(program: &ProgramSpec, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<i32> {
    let mut command = Command::new(&program.program);
    command.args(&program.args).env_clear().envs(program.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr)).process_group(0);
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    #[cfg(target_os = "linux")]
    let keeper = std::process::id().cast_signed();
    // SAFETY: only system calls are made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            // If the keeper is killed, the kernel also kills its program.
            #[cfg(target_os = "linux")]
            {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != keeper {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
            Ok(())
        });
    }
    command.spawn().map(|child| child.id().cast_signed())
}

fn tell(link: &mut UnixStream, kind: u8, number: i32) {
    let [a, b, c, d] = number.to_ne_bytes();
    // If the host is gone, reading its requests reports it.
    let _ = link.write_all(&[kind, a, b, c, d]);
}

/// Reaps dead processes on a separate thread, which blocks in the system call. A record reports the end of the program,
/// and the end of the pipe reports that no process is left.
fn start_reaper(program: i32) -> io::Result<io::PipeReader> {
    let (reader, mut writer) = io::pipe()?;
    std::thread::Builder::new().name("reaper".to_string()).stack_size(64 * 1024).spawn(move || {
        loop {
            let mut status = 0;
            // SAFETY: the status is ours.
            match unsafe { libc::waitpid(-1, &mut status, 0) } {
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return,
                pid if pid == program => {
                    let code =
                        if libc::WIFSIGNALED(status) { -libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
                    let _ = writer.write_all(&code.to_ne_bytes());
                }
                _ => {}
            }
        }
    })?;
    Ok(reader)
}

struct Keeper {
    link: UnixStream,
    reaper: io::PipeReader,
    program_over: bool,
}

/// The reason for the end of a wait.
#[derive(PartialEq, Eq)]
enum WaitEnd {
    /// The program has ended; other processes may still be running.
    ProgramOver,
    NoneLeft,
    /// The host closed its end or is gone.
    Closed,
    KillAsked,
    TimeOver,
}

impl Keeper {
    fn run(mut self) {
        let mut kill = false;
        loop {
            match self.wait(None, true) {
                WaitEnd::NoneLeft => return,
                WaitEnd::KillAsked => kill = true,
                WaitEnd::Closed if !self.program_over => {
                    if self.wait(Some(CLOSE_GRACE), false) == WaitEnd::NoneLeft {
                        return;
                    }
                }
                WaitEnd::Closed | WaitEnd::ProgramOver => {}
                WaitEnd::TimeOver => continue,
            }
            break;
        }
        if !kill {
            self.terminate();
            let until = Instant::now() + TERM_GRACE;
            loop {
                match self.wait(Some(until.saturating_duration_since(Instant::now())), false) {
                    WaitEnd::NoneLeft => return,
                    WaitEnd::TimeOver => break,
                    _ => {}
                }
            }
        }
        self.destroy();
    }

    /// Sleeps until an event. With `listen`, events of the host also end the sleep. After the host has closed its end,
    /// they would wake the keeper permanently.
    fn wait(&mut self, limit: Option<Duration>, listen: bool) -> WaitEnd {
        let until = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut fds = vec![PollFd::new(&self.reaper, PollFlags::IN)];
            if listen {
                fds.push(PollFd::from_borrowed_fd(self.link.as_fd(), PollFlags::IN));
            }
            let ready = poll(&mut fds, timeout.as_ref());
            if matches!(ready, Ok(0)) && until.is_some() {
                return WaitEnd::TimeOver;
            }
            let [of_reaper, of_host] = [0, 1].map(|index| fds.get(index).is_some_and(|fd| !fd.revents().is_empty()));
            if of_reaper {
                let mut status = [0; 4];
                if self.reaper.read_exact(&mut status).is_err() {
                    return WaitEnd::NoneLeft;
                }
                self.program_over = true;
                tell(&mut self.link, EXITED, i32::from_ne_bytes(status));
                return WaitEnd::ProgramOver;
            }
            if of_host {
                let mut byte = [0];
                match self.link.read(&mut byte) {
                    Ok(1) if byte[0] == KILL => return WaitEnd::KillAsked,
                    Ok(1) => {}
                    Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                    Ok(_) | Err(_) => return WaitEnd::Closed,
                }
            }
        }
    }

    /// Asks every descendant to exit, children before their parents.
    fn terminate(&self) {
        let Some(own) = sys::entry(std::process::id()) else { return };
        for entry in tree::tree(&own).iter().rev().filter(|entry| !entry.same(&own)) {
            sys::signal(entry, sys::SIGTERM);
        }
    }

    /// Terminates every descendant, including those that fork quickly: first all are stopped, then killed.
    fn destroy(&mut self) {
        let Some(own) = sys::entry(std::process::id()) else { return };
        loop {
            let below: Vec<Entry> = tree::frozen(&own).into_iter().filter(|entry| !entry.same(&own)).collect();
            for entry in &below {
                sys::signal(entry, sys::SIGKILL);
            }
            if self.wait(Some(KILL_ROUND), false) == WaitEnd::NoneLeft {
                return;
            }
        }
    }
}
