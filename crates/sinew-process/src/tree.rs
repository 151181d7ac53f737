//! Finds and signals all descendants of a process.

use std::collections::HashMap;

use crate::sys::{self, Entry};

// A tree that grows faster than it can be stopped is abandoned after this number of rounds.
const FREEZE_ROUNDS: usize = 64;

/// Returns the ids of all descendants of `pid`, parents before their children. Empty if the process does not exist;
/// zombies are excluded.
///
/// Reads the whole process table: about 10 µs per process on the machine.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    below(&sys::table(), pid).iter().map(|entry| entry.pid).collect()
}

/// Returns the memory of a process tree in bytes, including `pid`; shared memory is counted once per process. `None` if
/// the process does not exist, and on Windows.
#[must_use]
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let own = sys::resident(pid)?;
    Some(own + descendants(pid).into_iter().filter_map(sys::resident).sum::<u64>())
}

/// Sends `signal` to every descendant of `pid`, children before their parents, and to `pid` last. Returns the number of
/// signalled processes: 0 if the process does not exist.
///
/// The ids 0 and 1, and signals that the system does not know, signal nothing. Signal 0 only counts. With `SIGKILL` the
/// tree is stopped before it is killed, so that no newly created process escapes. The calling process, if it is part of
/// the tree, is signalled last. Windows has no signals: every process is terminated.
pub fn kill_tree(pid: u32, signal: i32) -> usize {
    let Some(root) = sys::entry(pid).filter(|_| pid > 1) else { return 0 };
    let targets = if signal == sys::SIGKILL { frozen(&root) } else { tree(&root) };
    targets.iter().rev().filter(|target| sys::signal(target, signal)).count()
}

/// Returns the running processes of the tree: the calling process first, then the root, parents before their children.
pub(crate) fn tree(root: &Entry) -> Vec<Entry> {
    let table = sys::table();
    let mut tree: Vec<Entry> = table.iter().filter(|entry| entry.same(root) && entry.alive).copied().collect();
    if !tree.is_empty() {
        tree.extend(below(&table, root.pid));
        ourselves_first(&mut tree);
    }
    tree
}

/// Does the same and stops them, so that none of them can start another one; all but the calling process.
pub(crate) fn frozen(root: &Entry) -> Vec<Entry> {
    let mut known: Vec<Entry> = Vec::new();
    for _ in 0..FREEZE_ROUNDS {
        let mut new = tree(root);
        new.retain(|entry| !known.iter().any(|old| old.same(entry)));
        if new.is_empty() {
            break;
        }
        for entry in new.iter().filter(|entry| entry.pid != std::process::id()) {
            sys::freeze(entry);
        }
        known.append(&mut new);
    }
    ourselves_first(&mut known);
    known
}

fn ourselves_first(tree: &mut [Entry]) {
    tree.sort_by_key(|entry| entry.pid != std::process::id());
}

fn below(table: &[Entry], pid: u32) -> Vec<Entry> {
    let mut children: HashMap<u32, Vec<&Entry>> = HashMap::new();
    for entry in table {
        children.entry(entry.ppid).or_default().push(entry);
    }
    let mut found: Vec<Entry> = Vec::new();
    let started = table.iter().find(|entry| entry.pid == pid).map_or(0, |entry| entry.start);
    let mut parents = vec![(pid, started)];
    let mut next = 0;
    while let Some(&(parent, started)) = parents.get(next) {
        next += 1;
        // Removed, so that the loop ends even if the table, which is not a consistent snapshot, contains a cycle.
        for child in children.remove(&parent).unwrap_or_default() {
            // A child is never older than its parent: otherwise the parent's id was reused.
            if child.pid != pid && child.start >= started {
                parents.push((child.pid, child.start));
                if child.alive {
                    found.push(*child);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: u32, ppid: u32, start: u64) -> Entry {
        Entry { pid, ppid, group: pid, start, alive: true }
    }

    #[track_caller]
    fn check(table: &[Entry], pid: u32, expect: &[u32]) {
        assert_eq!(below(table, pid).iter().map(|entry| entry.pid).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn parents_come_before_their_children() {
        let table = [entry(9, 5, 3), entry(5, 1, 1), entry(7, 5, 2), entry(8, 9, 4), entry(2, 1, 0)];
        check(&table, 5, &[9, 7, 8]);
        check(&table, 2, &[]);
        check(&table, 77, &[]);
    }

    #[test]
    fn a_process_older_than_its_parent_is_not_its_child() {
        check(&[entry(5, 1, 100), entry(6, 5, 50), entry(7, 5, 100), entry(8, 7, 101)], 5, &[7, 8]);
    }

    #[test]
    fn terminates_on_a_cycle() {
        check(&[entry(5, 6, 1), entry(6, 5, 1), entry(7, 7, 1)], 5, &[6]);
    }

    #[test]
    fn finds_the_running_child_of_a_dead_child() {
        let dead = Entry { alive: false, ..entry(6, 5, 2) };
        check(&[entry(5, 1, 1), dead, entry(7, 6, 3)], 5, &[7]);
    }

    #[test]
    #[cfg(not(windows))]
    fn counts_written_memory() {
        let before = resident_bytes(std::process::id()).unwrap();
        let block = vec![1u8; 64 << 20];
        let after = resident_bytes(std::process::id()).unwrap();
        assert!(after > before + (32 << 20), "{before} {after} {}", block.len());
        assert_eq!(resident_bytes(u32::MAX), None);
    }

    #[test]
    fn invalid_ids_and_signals_signal_nothing() {
        for (pid, signal) in [(0, 9), (1, 0), (u32::MAX, 9), (std::process::id(), -1), (std::process::id(), 1_000)] {
            assert_eq!(kill_tree(pid, signal), 0, "{pid} {signal}");
        }
        assert!(kill_tree(std::process::id(), 0) >= 1);
    }
}
