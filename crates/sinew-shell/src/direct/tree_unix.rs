//! A process and all that came of it: its session, and what descends from that.
//!
//! The process is collected last, so that its number names this session and no other one as long as the tree is known.

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
    /// Starts a process in a session of its own, without a terminal and with the usual signals, and the pipe to its input
    /// if it was asked for one.
    pub(super) fn spawn(mut command: Command) -> io::Result<(Tree, Option<ChildStdin>)> {
        // SAFETY: the calls may be made between fork and exec, and allocate nothing.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                for signal in 1..32 {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        // The writing ends of its pipes go with the command: the end of the output is seen.
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        Ok((Tree { child }, stdin))
    }

    /// Waits for the end of the process, and leaves it to be collected.
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
                    // Collected by the drop, after a stop that took too long.
                    Err(_) => return Exit::default(),
                }
            }
        })
    }

    /// The processes that live.
    pub(super) fn jobs(&self) -> Vec<Job> {
        session_members(self.child.id(), &[]).iter().filter_map(job).collect()
    }

    /// Ends all of it: TERM, and KILL after `grace` until nothing is left. Gives up 500 ms after the first KILL, and not before
    /// it came to a third: on a machine that is busy the time may pass between two looks.
    pub(super) fn end(&self, grace: Duration) {
        let started = Instant::now();
        // Also those that are gone: what they started in a session of their own is still found by it.
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
        // One that cannot be ended even so, in the midst of a read from a disk, is not waited for.
        let _ = self.child.try_wait();
    }
}

fn job(process: &Process) -> Option<Job> {
    let program = || process.program().map(|program| program.to_string_lossy().into_owned());
    let command = process.args().map(|args| args.join(" ")).or_else(program)?;
    Some(Job { pid: process.pid().cast_signed(), command })
}

/// Lets writes to a pipe that nobody reads fail, instead of ending the host where that has not said so.
pub(super) fn block_sigpipe() {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut signals = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
    }
}
