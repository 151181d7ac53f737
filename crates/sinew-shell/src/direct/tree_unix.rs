//! A process and everything it started: its session, and all descendants.
//!
//! The process itself is reaped last, so that its id identifies this session as long as the tree exists.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use sinew_process::{Process, session_members};

use super::run::{Exit, GONE};
use crate::{Job, signals};

#[derive(Debug)]
pub(super) struct Tree {
    child: Child,
}

impl Tree {
    /// Starts a process in a new session, without a terminal and with default signal handling, and returns the pipe to
    /// its input if one was requested.
    pub(super) fn spawn(mut command: Command) -> io::Result<(Tree, Option<ChildStdin>)> {
        // SAFETY: the calls are allowed between fork and exec, and do not allocate.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                for signal in 1..32 {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        // Dropping the command closes the write ends of its pipes, so that the end of the output is detected.
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        Ok((Tree { child }, stdin))
    }

    /// Returns a function that waits for the end of the process without reaping it.
    pub(super) fn waiter(&self) -> io::Result<impl FnOnce() -> Exit + Send + 'static> {
        let pid = Pid::from_raw(self.child.id().cast_signed()).ok_or(io::ErrorKind::NotFound)?;
        Ok(move || {
            loop {
                match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                    Ok(Some(status)) => {
                        let signal = status.terminating_signal().map(signals::name);
                        return Exit { code: status.exit_status(), signal };
                    }
                    Ok(None) | Err(rustix::io::Errno::INTR) => {}
                    // Reaped on drop, after a stop that was too slow.
                    Err(_) => return Exit::default(),
                }
            }
        })
    }

    /// Returns the running processes.
    pub(super) fn jobs(&self) -> Vec<Job> {
        session_members(self.child.id(), &[]).iter().filter_map(job).collect()
    }

    /// Terminates everything: TERM, and KILL after `grace` until nothing is left. Stops waiting 500 ms after the first
    /// KILL, but not before the third KILL, because on a busy machine that time may pass between two checks.
    pub(super) fn end(&self, grace: Duration) {
        let started = Instant::now();
        // Includes ended processes, because they identify the sessions that they started.
        let (mut known, mut asked, mut pause) = (Vec::new(), HashSet::new(), Duration::from_millis(1));
        let (mut kills, mut first_kill) = (0, None);
        loop {
            let living = session_members(self.child.id(), &known);
            let is_late = kills >= 3 && first_kill.is_some_and(|at: Instant| at.elapsed() > GONE);
            if living.is_empty() || is_late {
                return;
            }
            let kill = started.elapsed() >= grace;
            if kill {
                kills += 1;
                first_kill.get_or_insert_with(Instant::now);
            }
            for process in living {
                let is_new = asked.insert(process.pid());
                if is_new {
                    known.push(process);
                }
                if kill {
                    process.signal(libc::SIGKILL);
                } else if is_new {
                    process.signal(libc::SIGTERM);
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
        // A process that cannot be killed, for example during a disk read, is not waited for.
        let _ = self.child.try_wait();
    }
}

fn job(process: &Process) -> Option<Job> {
    let program = || process.program().map(|program| program.to_string_lossy().into_owned());
    let command = process.args().map(|args| args.join(" ")).or_else(program)?;
    Some(Job { pid: process.pid().cast_signed(), command })
}

/// Makes writes to a pipe without a reader fail instead of killing a host that does not ignore SIGPIPE.
pub(super) fn block_sigpipe() {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut signals = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
    }
}
