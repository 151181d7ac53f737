//! Runs one command in a sandbox.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use sinew_base::{Error, Result};

use super::handoff::Handoff;
use super::notify::{receive_listener, serve};
use super::sandbox::PreparedSandbox;
use crate::Refusal;

/// One command in a sandbox, from its start to its end. Dropping it has the effect of [`Entry::finish`].
#[derive(Debug)]
pub struct Entry {
    prepared: Arc<PreparedSandbox>,
    refusals: Arc<Mutex<Vec<Refusal>>>,
    /// True while the command is counted as running.
    is_running: Mutex<bool>,
}

impl Entry {
    pub(super) fn new(prepared: Arc<PreparedSandbox>) -> Entry {
        Entry { prepared, refusals: Arc::default(), is_running: Mutex::new(true) }
    }

    /// Makes a command run in the sandbox. Its descriptors other than the three standard ones are closed when it
    /// starts.
    ///
    /// A thread supervises Unix sockets, and ends with the last process of the command. Drop the [`Command`] after it
    /// was started, so that the thread notices a command that did not start.
    ///
    /// # Errors
    /// Returns an error if the system refuses a socket or a thread.
    pub fn attach(&self, command: &mut Command) -> Result<()> {
        let failed = |cause: io::Error| Error::io("Sandbox: failed to supervise a command", &cause);
        let mut channel = None;
        if self.prepared.application.connections.is_some() {
            let (ours, theirs) =
                rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                    .map_err(|errno| failed(errno.into()))?;
            let (prepared, refusals) = (Arc::clone(&self.prepared), Arc::clone(&self.refusals));
            let work = move || {
                let listener = receive_listener(ours.as_fd());
                drop(ours);
                if let (Ok(Some(listener)), Some(rules)) = (listener, &prepared.application.connections) {
                    serve(listener, rules, &mut |refusal| refusals.lock().push(refusal));
                }
            };
            std::thread::Builder::new().name("sinew-sandbox".to_string()).spawn(work).map_err(failed)?;
            channel = Some(theirs);
        }
        let prepared = Arc::clone(&self.prepared);
        let apply = move || {
            let channel = channel.as_ref().map(AsFd::as_fd);
            prepared.application.apply(3, channel).map_err(io::Error::from)
        };
        // SAFETY: applying a sandbox only makes system calls, and does not allocate.
        unsafe { command.pre_exec(apply) };
        Ok(())
    }

    /// Applies the sandbox to the calling process, which was forked and has a single thread; exec must follow. Exec
    /// closes the descriptors from `lowest` on. Does not allocate. Fails if Unix sockets are supervised: use
    /// [`Entry::attach`] then.
    ///
    /// # Errors
    /// Returns an error if the system refuses a part. The process must not run the program then.
    pub fn apply_in_child(&self, lowest: i32) -> io::Result<()> {
        Ok(self.prepared.application.apply(lowest, None)?)
    }

    /// Returns the sandbox in a form that can be sent to the process that starts the program.
    #[must_use]
    pub fn handoff(&self) -> Handoff<'_> {
        self.prepared.application.handoff()
    }

    /// Records a call that another process has refused.
    pub fn note(&self, refusal: Refusal) {
        self.refusals.lock().push(refusal);
    }

    /// Ends the command, and moves away protected paths that it created. Returns the refusals, without duplicates.
    ///
    /// Call it when the command has no process left that may write.
    #[must_use]
    pub fn finish(self) -> Vec<Refusal> {
        self.end();
        self.take_refusals()
    }

    /// Begins the next command of a shell that continues to run: covers paths that changed. If programs continued after
    /// [`Entry::pause`], moves away protected paths that they created since.
    ///
    /// # Errors
    /// Returns an error if the system refuses a mount.
    pub fn resume(&self) -> Result<()> {
        let mut is_running = self.is_running.lock();
        if *is_running {
            let mut taken = self.prepared.take_back();
            self.refusals.lock().append(&mut taken);
            return self.prepared.refresh();
        }
        self.prepared.arrive()?;
        *is_running = true;
        Ok(())
    }

    /// Ends a command of a shell that continues to run, and moves away protected paths that the command created.
    /// `has_programs` says that some of its programs continue. Returns the refusals since the last call, without
    /// duplicates.
    #[must_use]
    pub fn pause(&self, has_programs: bool) -> Vec<Refusal> {
        let mut is_running = self.is_running.lock();
        let mut taken = if *is_running && !has_programs { self.prepared.leave() } else { self.prepared.take_back() };
        *is_running &= has_programs;
        self.refusals.lock().append(&mut taken);
        self.take_refusals()
    }

    fn take_refusals(&self) -> Vec<Refusal> {
        let mut refusals = std::mem::take(&mut *self.refusals.lock());
        let mut seen = std::collections::HashSet::new();
        refusals.retain(|refusal| seen.insert(refusal.clone()));
        refusals
    }

    fn end(&self) {
        if std::mem::replace(&mut *self.is_running.lock(), false) {
            let mut taken = self.prepared.leave();
            self.refusals.lock().append(&mut taken);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.end();
    }
}
