//! Deadlines that are longer on a busy machine.

use std::time::{Duration, Instant};

/// How many times its limit a deadline may be extended to, so that a wait ends on any machine.
const LONGEST: u32 = 20;

/// A deadline for a supervisor and its shell.
///
/// It does not count the time for which they were ready to run and had no processor (`/proc/PID/schedstat`). That time
/// is zero on an idle machine, and on a kernel that does not count it.
pub(crate) struct FairDeadline {
    start: Instant,
    limit: Duration,
    until: Instant,
    /// Process ids, each with its waiting time at the start.
    processes: Vec<(i32, Duration)>,
}

impl FairDeadline {
    /// Begins a wait of `limit` for the process `supervisor`, its first child and the first child of that.
    pub(crate) fn new(supervisor: i32, limit: Duration) -> FairDeadline {
        let start = Instant::now();
        let processes = std::iter::successors(Some(supervisor), |pid| first_child(*pid)).take(3);
        let processes = processes.map(|pid| (pid, waited(pid).unwrap_or_default())).collect();
        FairDeadline { start, limit, until: start + limit, processes }
    }

    /// When to call [`FairDeadline::has_passed`] next.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Returns whether the time is over. Reads up to three files, and only once `until` has come.
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

/// The time that a process has spent ready to run without a processor.
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

    /// A deadline of 100 ms for two processes that have waited 7 ms before: has it passed after `age` ms, when they have waited
    /// `waits` ms? And how long is it then?
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
    fn only_time_without_a_processor_extends_it() {
        check(99, [Some(7), Some(7)], false, 100);
        check(100, [Some(7), Some(7)], true, 100);
        check(100, [Some(8), Some(7)], false, 101);
        check(130, [Some(27), Some(17)], true, 130);
        check(129, [Some(27), Some(17)], false, 130);
        // A process that is gone, or whose number is another's by now.
        check(100, [None, None], true, 100);
        check(100, [Some(3), None], true, 100);
        // It ends on any machine.
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
