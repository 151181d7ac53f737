//! Deadlines that are extended on a busy machine.

use std::time::{Duration, Instant};

/// The maximum factor by which a deadline is extended, so that every wait ends.
const LONGEST: u32 = 20;

/// A deadline for a supervisor and its shell.
///
/// The time during which they were ready to run without a processor (`/proc/PID/schedstat`) does not count. That time
/// is zero on an idle machine, and on a kernel that does not record it.
pub(crate) struct FairDeadline {
    start: Instant,
    limit: Duration,
    until: Instant,
    /// Process ids with their waiting time at the start.
    processes: Vec<(i32, Duration)>,
}

impl FairDeadline {
    /// Starts a wait of `limit` for the process `supervisor`, its first child and the first child of that.
    pub(crate) fn new(supervisor: i32, limit: Duration) -> FairDeadline {
        let start = Instant::now();
        let processes = std::iter::successors(Some(supervisor), |pid| first_child(*pid)).take(3);
        let processes = processes.map(|pid| (pid, waited(pid).unwrap_or_default())).collect();
        FairDeadline { start, limit, until: start + limit, processes }
    }

    /// Returns when to call [`FairDeadline::has_passed`] next.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Returns true if the deadline has passed. Reads up to three files, and only after `until`.
    pub(crate) fn has_passed(&mut self) -> bool {
        self.has_passed_at(Instant::now(), waited)
    }

    fn has_passed_at(&mut self, now: Instant, waited: impl Fn(i32) -> Option<Duration>) -> bool {
        if now < self.until {
            return false;
        }
        let waits = self.processes.iter().filter_map(|(pid, before)| waited(*pid)?.checked_sub(*before));
        let extended = self.limit + waits.sum::<Duration>();
        self.until = self.start + extended.min(self.limit * LONGEST);
        now >= self.until
    }
}

/// Returns the time that a process was ready to run without a processor; `None` if it is unknown.
fn waited(pid: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos)
}

fn first_child(pid: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// Checks a deadline of 100 ms for two processes with an initial waiting time of 7 ms: whether it has passed after
    /// `age` ms, if they have waited `waits` ms, and how long it is then.
    #[track_caller]
    fn check(age: u64, waits: [Option<u64>; 2], passed: bool, length: u64) {
        let ms = Duration::from_millis;
        let start = Instant::now();
        let processes = vec![(1, ms(7)), (2, ms(7))];
        let mut deadline = FairDeadline { start, limit: ms(100), until: start + ms(100), processes };
        let waited = |pid: i32| waits[pid as usize - 1].map(ms);
        assert_eq!(deadline.has_passed_at(start + ms(age), waited), passed);
        assert_eq!(deadline.until() - start, ms(length));
    }

    #[test]
    fn only_time_without_a_processor_extends_a_deadline() {
        check(99, [Some(7), Some(7)], false, 100);
        check(100, [Some(7), Some(7)], true, 100);
        check(100, [Some(8), Some(7)], false, 101);
        check(130, [Some(27), Some(17)], true, 130);
        check(129, [Some(27), Some(17)], false, 130);
        // A process that is gone, or whose id was reused.
        check(100, [None, None], true, 100);
        check(100, [Some(3), None], true, 100);
        // The factor is limited, so every wait ends.
        check(1999, [Some(9_000), Some(9_000)], false, 2000);
        check(2000, [Some(9_000), Some(9_000)], true, 2000);
    }

    #[test]
    fn follows_the_first_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'echo up; read x; :'; :"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let root = child.id().cast_signed();
        let inner = first_child(root);
        assert!(inner.is_some_and(|pid| pid != root && waited(pid).is_some()));
        drop(child.stdin.take());
        child.wait().expect("sh ends");
    }
}
