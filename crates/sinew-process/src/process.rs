//! A handle that always refers to the same process.

use std::time::{Duration, Instant};

use sinew_base::{Aborted, CancelToken};

use crate::sys::{self, Entry, Handle};
use crate::tree;

/// The state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is running, sleeping or stopped.
    Running,
    /// It has ended.
    Exited,
}

/// Options of [`Process::terminate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminate {
    /// The time between `SIGTERM` and `SIGKILL`. Zero kills at once. Default 2 s.
    pub graceful: Duration,
    /// The maximum total wait. Default 5 s.
    pub timeout: Duration,
    /// Also terminate the other members of its process group. Default false.
    pub group: bool,
}

impl Default for Terminate {
    fn default() -> Terminate {
        Terminate { graceful: Duration::from_secs(2), timeout: Duration::from_secs(5), group: false }
    }
}

/// The result of [`Process::terminate`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Termination {
    /// The number of processes that received a signal.
    pub signalled: usize,
    /// The number of these processes that have ended.
    pub exited: usize,
    /// The ids of those that are still running.
    pub survivors: Vec<u32>,
}

/// A process, identified by its id and its start time, so that a reused id is never mistaken for it. Uses no system
/// resources between calls.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    entry: Entry,
}

impl Process {
    /// Returns the process that currently has this id; `None` if there is none.
    #[must_use]
    pub fn from_pid(pid: u32) -> Option<Process> {
        sys::entry(pid).filter(|entry| entry.alive).map(|entry| Process { entry })
    }

    /// Returns the process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.entry.pid
    }

    /// Returns the current parent's process id; `None` if the process has ended.
    #[must_use]
    pub fn ppid(&self) -> Option<u32> {
        sys::current(&self.entry).map(|now| now.ppid)
    }

    /// Returns the running children, ordered by process id; empty if the process has ended.
    #[must_use]
    pub fn children(&self) -> Vec<Process> {
        if self.status() == Status::Exited {
            return Vec::new();
        }
        let table = sys::table();
        // Its id may have been reused.
        if self.status() == Status::Exited {
            return Vec::new();
        }
        let own = &self.entry;
        let of_ours = |entry: &Entry| entry.ppid == own.pid && entry.alive && entry.start >= own.start;
        let mut children: Vec<Process> = table.into_iter().filter(of_ours).map(|entry| Process { entry }).collect();
        children.sort_by_key(Process::pid);
        children
    }

    /// Returns the command line, beginning with the program's name; invalid UTF-8 is replaced. `None` if the process
    /// has ended, belongs to another user or to the system, and on systems other than Linux.
    #[must_use]
    pub fn args(&self) -> Option<Vec<String>> {
        let args = sys::args(&self.entry)?;
        // The id may have been reused during the read.
        (self.status() == Status::Running && !args.is_empty()).then_some(args)
    }

    /// Returns the program file. `None` if the process has ended, or if the system does not permit it, as for processes
    /// of other users.
    #[must_use]
    pub fn program(&self) -> Option<std::path::PathBuf> {
        let program = sys::program(&self.entry)?;
        // The id may have been reused during the read.
        (self.status() == Status::Running).then_some(program)
    }

    /// Returns whether it is running.
    #[must_use]
    pub fn status(&self) -> Status {
        if sys::current(&self.entry).is_some() { Status::Running } else { Status::Exited }
    }

    /// Sends `signal`; 0 only checks the process. Returns false if it has ended, may not be signalled, or if the signal
    /// is unknown.
    pub fn signal(&self, signal: i32) -> bool {
        sys::signal(&self.entry, signal)
    }

    /// Terminates it and all its descendants: `SIGTERM`, and after `graceful` `SIGKILL` for the remaining processes and
    /// those started in the meantime. Blocks until all have ended or `timeout` has passed, without busy waiting. If
    /// `timeout` is not longer than `graceful`, nothing is killed.
    ///
    /// The calling process is never included. Returns zeros for a process that has already ended.
    pub fn terminate(&self, options: &Terminate) -> Termination {
        let started = Instant::now();
        // A time beyond the range of the clock means no limit.
        let end = started.checked_add(options.timeout);
        let mut targets = Targets::default();
        targets.add(tree::tree(&self.entry));
        if options.group && !targets.all.is_empty() {
            targets.add(group_of(&self.entry));
        }
        if !options.graceful.is_zero() {
            targets.signal(sys::SIGTERM);
            let grace = started.checked_add(options.graceful);
            targets.wait([grace, end].into_iter().flatten().min());
        }
        if options.graceful < options.timeout {
            // Stopped first, so that no process is created between the check and the kill.
            let left: Vec<Entry> = targets.running().map(|target| *target.handle.entry()).collect();
            for entry in &left {
                targets.add(tree::frozen(entry));
            }
            targets.signal(sys::SIGKILL);
            targets.wait(end);
        }
        targets.report()
    }

    /// Waits until it has ended, without busy waiting.
    ///
    /// # Errors
    /// Returns [`Aborted`] if `cancel` is set first.
    pub fn wait_for_exit(&self, cancel: &CancelToken) -> Result<(), Aborted> {
        match Handle::open(&self.entry) {
            Some(handle) => sys::wait_until(&handle, cancel),
            None => Ok(()),
        }
    }
}

struct Target {
    handle: Handle,
    signalled: bool,
}

/// Returns the running processes of the session `session`, those in `known` and in sessions that one of `known`
/// started, and the descendants of all of these. A session is identified by the id of the process that started it,
/// which may have ended.
///
/// Reads the whole process table once.
#[cfg(unix)]
#[must_use]
pub fn session_members(session: u32, known: &[Process]) -> Vec<Process> {
    let mut left: Vec<Entry> = sys::table().into_iter().filter(|entry| entry.alive).collect();
    let mut found: Vec<Entry> = Vec::new();
    loop {
        let is_ours = |entry: &mut Entry| {
            found.iter().any(|parent| parent.pid == entry.ppid && entry.start >= parent.start)
                || known.iter().any(|process| process.entry.same(entry))
                || sys::session(entry.pid).is_some_and(|own| {
                    let begun = |process: &Process| own == process.pid() && entry.start >= process.entry.start;
                    own == session || known.iter().any(begun)
                })
        };
        let more: Vec<Entry> = left.extract_if(.., is_ours).collect();
        if more.is_empty() {
            return found.into_iter().map(|entry| Process { entry }).collect();
        }
        found.extend(more);
    }
}

fn group_of(member: &Entry) -> Vec<Entry> {
    sys::table().into_iter().filter(|entry| entry.group == member.group && entry.alive).collect()
}

#[derive(Default)]
struct Targets {
    all: Vec<Target>,
}

impl Targets {
    fn add(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            let known = self.all.iter().any(|target| target.handle.entry().same(&entry));
            if !known && entry.pid != std::process::id() {
                self.all.extend(Handle::open(&entry).map(|handle| Target { handle, signalled: false }));
            }
        }
    }

    /// Children follow their parents in the list, and are signalled first.
    fn signal(&mut self, signal: i32) {
        for target in self.all.iter_mut().rev() {
            target.signalled |= target.handle.signal(signal);
        }
    }

    fn wait(&self, until: Option<Instant>) {
        loop {
            let running: Vec<&Handle> = self.running().map(|target| &target.handle).collect();
            if running.is_empty() || until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            sys::wait(&running, until);
        }
    }

    fn running(&self) -> impl Iterator<Item = &Target> {
        self.all.iter().filter(|target| !target.handle.is_over())
    }

    fn report(&self) -> Termination {
        Termination {
            signalled: self.all.iter().filter(|target| target.signalled).count(),
            exited: self.all.iter().filter(|target| target.handle.is_over()).count(),
            survivors: self.running().map(|target| target.handle.entry().pid).collect(),
        }
    }
}
