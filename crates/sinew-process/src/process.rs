//! A handle that stays with its process.

use std::time::{Duration, Instant};

use sinew_base::{Aborted, CancelToken};

use crate::sys::{self, Entry, Handle};
use crate::tree;

/// The state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It runs, sleeps or is stopped.
    Running,
    /// It is over.
    Exited,
}

/// Options of [`Process::terminate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminate {
    /// The time that processes have to end after `SIGTERM`, before `SIGKILL`. Zero kills at once. Default 2 s.
    pub graceful: Duration,
    /// The longest wait in all. Default 5 s.
    pub timeout: Duration,
    /// Ends the other members of its process group too. Default false.
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
    /// Number of processes that got a signal.
    pub signalled: usize,
    /// Number of them that are over.
    pub exited: usize,
    /// The pids of those that still run.
    pub survivors: Vec<u32>,
}

/// One process, and never another one that gets its number later: it is known by its number and the time of its start.
/// It holds nothing of the system between calls.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    entry: Entry,
}

impl Process {
    /// The process that has this number now, if one runs.
    #[must_use]
    pub fn from_pid(pid: u32) -> Option<Process> {
        sys::entry(pid).filter(|entry| entry.alive).map(|entry| Process { entry })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.entry.pid
    }

    /// The number of its parent now; `None` once it is over.
    #[must_use]
    pub fn ppid(&self) -> Option<u32> {
        sys::current(&self.entry).map(|now| now.ppid)
    }

    /// Its living children, in the order of their numbers; none once it is over.
    #[must_use]
    pub fn children(&self) -> Vec<Process> {
        if self.status() == Status::Exited {
            return Vec::new();
        }
        let table = sys::table();
        // Its number may belong to another one by now.
        if self.status() == Status::Exited {
            return Vec::new();
        }
        let own = &self.entry;
        let of_ours = |entry: &Entry| entry.ppid == own.pid && entry.alive && entry.start >= own.start;
        let mut children: Vec<Process> = table.into_iter().filter(of_ours).map(|entry| Process { entry }).collect();
        children.sort_by_key(Process::pid);
        children
    }

    /// Its command line, the program's name first; lossy where it is not UTF-8. `None` once it is over, where it belongs to
    /// another user or to the system, and off Linux.
    #[must_use]
    pub fn args(&self) -> Option<Vec<String>> {
        let args = sys::args(&self.entry)?;
        // Read of whoever had the number then.
        (self.status() == Status::Running && !args.is_empty()).then_some(args)
    }

    /// The file of the program that it runs. `None` once it is over, and where the system does not tell: processes of
    /// other users.
    #[must_use]
    pub fn program(&self) -> Option<std::path::PathBuf> {
        let program = sys::program(&self.entry)?;
        // Read of whoever had the number then.
        (self.status() == Status::Running).then_some(program)
    }

    /// Tells whether it runs.
    #[must_use]
    pub fn status(&self) -> Status {
        if sys::current(&self.entry).is_some() { Status::Running } else { Status::Exited }
    }

    /// Sends it `signal`; 0 only asks. False when it is over, may not be signalled or the signal is unknown.
    pub fn signal(&self, signal: i32) -> bool {
        sys::signal(&self.entry, signal)
    }

    /// Ends it and all that descends from it: `SIGTERM`, after `graceful` `SIGKILL` for those that are left and
    /// what they started meanwhile. Blocks until all are over or `timeout` has passed; sleeps while it waits.
    /// With a `timeout` that is not longer than `graceful` nothing is killed.
    ///
    /// The calling process is never part of it. A process that is over gives zeros.
    pub fn terminate(&self, options: &Terminate) -> Termination {
        let started = Instant::now();
        // A time beyond what the clock can hold is no limit.
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
            // Stopped first, so that nothing is born between the look and the kill.
            let left: Vec<Entry> = targets.running().map(|target| *target.handle.entry()).collect();
            for entry in &left {
                targets.add(tree::frozen(entry));
            }
            targets.signal(sys::SIGKILL);
            targets.wait(end);
        }
        targets.report()
    }

    /// Waits until it is over. Sleeps meanwhile.
    ///
    /// # Errors
    /// [`Aborted`] when `cancel` ends the wait first.
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

/// The living processes of the session `session`, those of `known` that still live, those of sessions that one of
/// `known` began, and all that descends from any of them. A session is named by the number of the process that began it, which may be over.
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

    /// Children come after their parents in the list, so they get it first.
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
