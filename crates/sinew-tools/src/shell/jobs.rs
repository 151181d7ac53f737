//! The background jobs of a session.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::command::Command;
use crate::tool::ToolError;
use crate::truncate;

/// The maximum number of running jobs, and of finished jobs that are kept.
const MOST: usize = 16;
/// The number of lines and bytes of output in the notification of a finished job.
const TAIL: (usize, usize) = (40, 4 * 1024);

/// The jobs of a session.
#[derive(Default)]
pub(crate) struct Jobs {
    list: Mutex<List>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    count: u64,
    closed: bool,
}

/// A job.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) command: Arc<Command>,
    /// The state that listeners were notified of; `None` before the first.
    told: Option<&'static str>,
    /// True if the model has seen how it ended.
    read: bool,
    /// The number of calls that will show how it ended.
    watched: usize,
}

/// A call that shows how jobs end: while it exists, no other notification of their end is sent.
pub(crate) struct Watch<'a> {
    jobs: &'a Jobs,
    ids: Vec<String>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.jobs.each(&self.ids, |entry| entry.watched -= 1);
        self.jobs.changed.notify_one();
    }
}

impl Entry {
    /// `running`, `done`, `failed` or `cancelled`.
    pub(crate) fn state(&self) -> &'static str {
        match self.command.end().map(|end| &end.result) {
            None => "running",
            Some(Ok(result)) if result.cancelled => "cancelled",
            Some(_) if self.command.ending().is_none() => "done",
            Some(_) => "failed",
        }
    }

    /// Returns a summary such as `Job 1 is running for 3 s: make`, or how it ended.
    pub(crate) fn summary(&self) -> String {
        let seconds = self.command.took().as_secs();
        let command = self.command.command.lines().next().unwrap_or_default();
        let command = truncate_line(command);
        let id = &self.id;
        match self.state() {
            "running" => format!("Job {id} has been running for {seconds} s: {command}"),
            "done" => format!("Job {id} is done after {seconds} s: {command}"),
            "cancelled" => format!("Job {id} was cancelled after {seconds} s: {command}"),
            _ => {
                let why = self.command.ending().unwrap_or_default();
                format!("Job {id} failed after {seconds} s ({why}): {command}")
            }
        }
    }

    /// Returns the text for the model if the job ended unobserved.
    fn follow_up(&self) -> String {
        let output = self.command.glance();
        let tail = truncate::tail(&output, TAIL.0, TAIL.1);
        let mut text = self.summary();
        if !tail.text.is_empty() {
            text.push_str(if tail.by.is_some() { "\nThe end of its output:\n" } else { "\n" });
            text.push_str(tail.text);
        }
        text
    }
}

/// Shortens a command to one line.
fn truncate_line(line: &str) -> String {
    const COLUMNS: usize = 80;
    let mut short: String = line.chars().take(COLUMNS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// A notification about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobNotice {
    pub(crate) id: String,
    pub(crate) state: &'static str,
    pub(crate) follow_up: Option<String>,
}

impl Jobs {
    /// Checks that one more job may run.
    pub(crate) fn admits(&self) -> Result<(), ToolError> {
        self.list().admits()
    }

    /// Adds a command as a job and returns its id. If there are too many, the command is terminated.
    pub(crate) fn add(&self, command: &Arc<Command>) -> Result<String, ToolError> {
        let mut list = self.list();
        list.admits()?;
        command.detach(Arc::clone(&self.changed));
        list.count += 1;
        let id = list.count.to_string();
        list.entries.push(Entry { id: id.clone(), command: Arc::clone(command), told: None, read: false, watched: 0 });
        drop(list);
        self.changed.notify_one();
        Ok(id)
    }

    /// Returns all known jobs, ordered by start.
    pub(crate) fn all(&self) -> Vec<Entry> {
        self.list().entries.clone()
    }

    /// Watches jobs for the duration of a call.
    pub(crate) fn watch(&self, ids: Vec<String>) -> Watch<'_> {
        self.each(&ids, |entry| entry.watched += 1);
        Watch { jobs: self, ids }
    }

    /// Records that the model has seen how a job ended, so that it is not notified again.
    pub(crate) fn mark_read(&self, id: &str) {
        self.each(&[id.to_string()], |entry| entry.read = true);
    }

    fn each(&self, ids: &[String], change: impl FnMut(&mut Entry)) {
        self.list().entries.iter_mut().filter(|entry| ids.contains(&entry.id)).for_each(change);
    }

    /// Returns true if a running job may change files.
    pub(crate) fn are_running(&self) -> bool {
        self.list().entries.iter().any(|entry| entry.command.end().is_none())
    }

    /// Waits for the next change of state.
    pub(crate) async fn next(&self) -> JobNotice {
        loop {
            let changed = self.changed.notified();
            if let Some(told) = self.untold() {
                return told;
            }
            changed.await;
        }
    }

    /// Returns a pending notification. The start of a job is reported before its end.
    fn untold(&self) -> Option<JobNotice> {
        let mut list = self.list();
        let entry = list.entries.iter_mut().find(|entry| match entry.told {
            None => true,
            Some(told) => told != entry.state() && entry.watched == 0,
        })?;
        let state = if entry.told.is_none() { "running" } else { entry.state() };
        entry.told = Some(state);
        let follow_up = (state != "running" && !entry.read).then(|| entry.follow_up());
        Some(JobNotice { id: entry.id.clone(), state, follow_up })
    }

    /// Terminates all jobs and waits until they have ended. Later jobs are errors. Blocks.
    pub(crate) fn close(&self) {
        let entries = {
            let mut list = self.list();
            list.closed = true;
            list.entries.clone()
        };
        entries.iter().for_each(|entry| entry.command.cancel());
        entries.iter().for_each(|entry| entry.command.join());
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock()
    }
}

impl List {
    /// Removes surplus finished jobs.
    fn admits(&mut self) -> Result<(), ToolError> {
        if self.closed {
            return Err(ToolError::Failed("Cannot start a job: the session has ended.".into()));
        }
        let running = self.entries.iter().filter(|entry| entry.command.end().is_none()).count();
        if running >= MOST {
            let text =
                format!("Cannot start a job: {MOST} are running. Wait for one, or cancel one with the job tool.");
            return Err(ToolError::Failed(text));
        }
        while self.entries.len() - running >= MOST {
            let oldest = self.entries.iter().position(|entry| entry.command.end().is_some());
            oldest.map(|at| self.entries.remove(at));
        }
        Ok(())
    }
}
