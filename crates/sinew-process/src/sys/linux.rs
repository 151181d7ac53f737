//! `/proc` for the process table, pidfds for operations that must affect exactly one process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{PidfdFlags, kill_process, pidfd_open, pidfd_send_signal, test_kill_process};
use sinew_base::{Aborted, CancelToken};

use super::unix::{known, pid};
use super::{Entry, current};

/// Flags of a send that must not kill the process if there is no reader.
pub(crate) const QUIET: SendFlags = SendFlags::NOSIGNAL;
/// Flags of a receive whose descriptors other programs must not inherit.
pub(crate) const CLOSED_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// Returns every visible process of the machine.
pub(crate) fn table() -> Vec<Entry> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    folder.filter_map(|item| item.ok()?.file_name().to_str()?.parse().ok()).filter_map(entry).collect()
}

/// Returns the table entry of one process; `None` if it does not exist.
pub(crate) fn entry(pid: u32) -> Option<Entry> {
    let file = rustix::fs::open(format!("/proc/{pid}/stat"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut buffer = [0u8; 1024];
    let count = rustix::io::read(&file, &mut buffer).ok()?;
    parse(pid, &buffer[..count])
}

/// Returns the command line of a process; empty for a zombie, `None` if the process does not exist.
pub(crate) fn args(entry: &Entry) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{}/cmdline", entry.pid)).ok()?;
    let Some(whole) = bytes.strip_suffix(b"\0") else {
        // A process may overwrite its own command line.
        return Some(if bytes.is_empty() { Vec::new() } else { vec![String::from_utf8_lossy(&bytes).into_owned()] });
    };
    Some(whole.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect())
}

/// Returns the program file of a process.
pub(crate) fn program(entry: &Entry) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{}/exe", entry.pid)).ok()
}

/// Returns the resident memory of a process in bytes, including shared memory.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Parses `/proc/PID/stat`: `PID (NAME) STATE PPID PGRP …`, where NAME may contain any character, including `)` and
/// spaces.
fn parse(pid: u32, stat: &[u8]) -> Option<Entry> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(stat.get(name_end + 2..)?).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // The first thread of a program may have ended while others continue: it is then a zombie with threads.
    let over = matches!(*fields.first()?, "Z" | "X" | "x") && number(17)? <= 1;
    Some(Entry {
        pid,
        ppid: u32::try_from(number(1)?).ok()?,
        group: u32::try_from(fields.get(2)?.parse::<i64>().ok()?).unwrap_or(0),
        start: number(19)?,
        alive: !over,
    })
}

/// Sends `signal` to exactly this process. Returns false if it has ended or may not be signalled. Signal 0 only checks
/// it.
pub(crate) fn signal(entry: &Entry, signal: i32) -> bool {
    if signal == 0 {
        return pid(entry.pid).is_some_and(|pid| test_kill_process(pid).is_ok()) && is_current(entry);
    }
    let (Some(number), Some(signal)) = (pid(entry.pid), known(signal)) else { return false };
    match pidfd_open(number, PidfdFlags::empty()) {
        // The pidfd is opened before the start time is checked, so both refer to one process.
        Ok(handle) => is_current(entry) && pidfd_send_signal(&handle, signal).is_ok(),
        Err(Errno::SRCH) => false,
        // A kernel before 5.3, or no free descriptors.
        Err(_) => is_current(entry) && kill_process(number, signal).is_ok(),
    }
}

/// Stops the process, so that it cannot start others.
pub(crate) fn freeze(entry: &Entry) {
    signal(entry, libc::SIGSTOP);
}

fn is_current(expected: &Entry) -> bool {
    current(expected).is_some()
}

/// The interval at which a process without a descriptor is checked.
const LOOK: Duration = Duration::from_millis(10);

/// A handle that always refers to the same process, even if its id is reused.
#[derive(Debug)]
pub(crate) struct Handle {
    entry: Entry,
    /// `None` on kernels before 5.3, and if there are no free descriptors: the table entry is then checked.
    pidfd: Option<OwnedFd>,
}

impl Handle {
    /// Opens the process of `entry`; `None` if it has ended.
    pub(crate) fn open(entry: &Entry) -> Option<Handle> {
        let pidfd = match pidfd_open(pid(entry.pid)?, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return None,
            opened => opened.ok(),
        };
        is_current(entry).then_some(Handle { entry: *entry, pidfd })
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn is_over(&self) -> bool {
        let Some(pidfd) = &self.pidfd else { return !is_current(&self.entry) };
        let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    pub(crate) fn signal(&self, signal: i32) -> bool {
        let Some(pidfd) = &self.pidfd else { return self::signal(&self.entry, signal) };
        match known(signal) {
            Some(signal) => !self.is_over() && pidfd_send_signal(pidfd, signal).is_ok(),
            None => signal == 0 && !self.is_over(),
        }
    }
}

/// Sleeps until one of `handles` has ended or until `until`.
pub(crate) fn wait(handles: &[&Handle], until: Option<Instant>) {
    let look = handles.iter().any(|handle| handle.pidfd.is_none()).then(|| Instant::now() + LOOK);
    let until = [look, until].into_iter().flatten().min();
    sleep(&mut handles.iter().filter_map(|handle| Some(handle.pidfd.as_ref()?.as_fd())), until);
}

/// Sleeps until `handle` has ended.
pub(crate) fn wait_until(handle: &Handle, cancel: &CancelToken) -> Result<(), Aborted> {
    // Without a descriptor for the wake-up, the wait checks periodically.
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok().map(Arc::new);
    let hook = wake.clone().map(|wake| {
        cancel.on_cancel(move || {
            // This only fails if it is already readable.
            let _ = rustix::io::write(&wake, &1u64.to_ne_bytes());
        })
    });
    let result = loop {
        if handle.is_over() {
            break Ok(());
        }
        if let Err(aborted) = cancel.check() {
            break Err(aborted);
        }
        let look = (wake.is_none() || handle.pidfd.is_none()).then(|| Instant::now() + LOOK);
        let until = [look, cancel.deadline()].into_iter().flatten().min();
        let pidfd = handle.pidfd.iter().map(AsFd::as_fd);
        sleep(&mut pidfd.chain(wake.iter().map(|wake| wake.as_fd())), until);
    };
    drop(hook);
    result
}

fn sleep<'a>(fds: &mut dyn Iterator<Item = BorrowedFd<'a>>, until: Option<Instant>) {
    let timeout = until.and_then(|until| Timespec::try_from(until.saturating_duration_since(Instant::now())).ok());
    let mut fds: Vec<PollFd<'a>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    // The caller checks what has happened; after an interruption that check is only redundant.
    let _ = poll(&mut fds, timeout.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_field_separators() {
        let line = b"42 (a) Z 1 (b)) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1000 10";
        let expect = Entry { pid: 42, ppid: 7, group: 42, start: 12345, alive: true };
        assert_eq!(parse(42, line), Some(expect));
    }

    #[test]
    fn rejects_truncated_lines() {
        for line in [&b""[..], b"42", b"42 (a)", b"42 (a) ", b"42 (a) S 1", b"42 (a) S x y z"] {
            assert_eq!(parse(42, line), None);
        }
    }

    #[test]
    fn the_table_contains_this_process_and_its_parent() {
        let own = std::process::id();
        let entry = table().into_iter().find(|entry| entry.pid == own).unwrap();
        assert_eq!(entry.ppid, std::os::unix::process::parent_id());
        assert!(entry.alive && entry.start > 0);
    }

    #[test]
    fn does_not_signal_a_process_with_a_reused_id() {
        let own = entry(std::process::id()).unwrap();
        let earlier = Entry { start: own.start - 1, ..own };
        assert!(!signal(&earlier, libc::SIGKILL));
        assert!(!signal(&earlier, 0));
        assert!(Handle::open(&earlier).is_none());
        assert!(signal(&own, 0));
    }
}
