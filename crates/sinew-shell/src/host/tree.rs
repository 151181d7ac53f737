//! The descendants of a process, read from `/proc`.

use std::fs;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// The start time in clock ticks after boot.
    pub(super) start: u64,
    /// The address of its first stack frame, which a fork keeps and the start of another program changes. 0 if the
    /// system does not disclose it.
    pub(super) image: u64,
    /// True if it is dead but not yet reaped by its parent.
    pub(super) zombie: bool,
}

/// Returns every descendant of `root`, parents before children.
pub(super) fn below(root: i32) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let Some(children) = children(parent) else { return below_by_listing(root) };
        for pid in children {
            // A child that has a different parent by now is found under that parent.
            if let Some(process) = look(pid).filter(|process| process.parent == parent)
                && found.iter().all(|known| known.pid != pid)
            {
                found.push(process);
                parents.push(pid);
            }
        }
    }
    found
}

/// Returns one process; `None` if it does not exist.
pub(super) fn look(pid: i32) -> Option<Process> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Sends `signal` to this process, and to no other process that has reused its id.
pub(super) fn signal(process: Process, signal: i32) {
    // SAFETY: only integers are passed; the result is a new descriptor or -1.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, process.pid, 0) };
    let same = look(process.pid).is_some_and(|now| now.start == process.start);
    if handle < 0 {
        // An old kernel has no process handles; the check just before is the best alternative.
        if same && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
            // SAFETY: only integers are passed.
            unsafe { libc::kill(process.pid, signal) };
        }
        return;
    }
    // SAFETY: the descriptor is ours, and the only pointer is null.
    unsafe {
        if same {
            libc::syscall(libc::SYS_pidfd_send_signal, handle, signal, std::ptr::null::<u8>(), 0);
        }
        libc::close(handle as i32);
    }
}

/// Returns the command line with spaces between the arguments, or the name of the program.
pub(super) fn command(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    match line.is_empty() {
        false => line,
        true => fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_string(),
    }
}

/// Returns the children of all threads of a process; `None` if the kernel does not provide these lists.
fn children(parent: i32) -> Option<Vec<i32>> {
    let mut pids = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Some(pids) };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => pids.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread may be gone; its own files exist as long as it does.
            Err(_) if thread.path().join("stat").exists() => return None,
            Err(_) => {}
        }
    }
    Some(pids)
}

fn below_by_listing(root: i32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<Process> =
        entries.flatten().filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?)).collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            found.push(*process);
            parents.push(process.pid);
        }
    }
    found
}

/// Parses the fields of a `stat` file. The program name is in parentheses and may contain any character.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    let image = fields.nth(5)?.parse().ok()?;
    Some(Process { pid, parent, start, image, zombie: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = b"7 (a) S (b) S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1 2 3 4 77 6 7";
        assert_eq!(parse(7, stat), Some(Process { pid: 7, parent: 3, start: 4242, image: 77, zombie: false }));
        assert_eq!(parse(7, b"7 (x"), None);
    }

    #[test]
    fn both_methods_find_the_same_processes() {
        // The child reports and stops itself, so that it is not inspected while it starts, when a process has no
        // command line for a moment.
        let script = "sh -c 'echo up; kill -STOP $$' & wait";
        let mut child = Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 3];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        let root = child.id() as i32;
        let sort = |mut list: Vec<Process>| {
            list.sort_by_key(|process| process.pid);
            list
        };
        let (one, other) = (sort(below(root)), sort(below_by_listing(root)));
        assert_eq!((one.len(), &one), (1, &other));
        for process in one {
            assert_eq!(command(process.pid), "sh -c echo up; kill -STOP $$");
            signal(Process { start: process.start + 1, ..process }, libc::SIGKILL);
            assert!(look(process.pid).is_some_and(|now| !now.zombie), "a process of another start was hit");
            signal(process, libc::SIGKILL);
        }
        child.wait().unwrap();
    }
}
