//! Splits work among a few threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

/// More threads than this would wait for memory.
const THREADS: usize = 4;

/// Calls `work` for each of `parts`, and returns the results in order. Each thread has its own state, for example a
/// buffer, for all its parts. A single part needs no thread; if the system cannot start threads, the caller does all
/// the work.
///
/// # Panics
/// Resumes a panic of `work`.
pub(super) fn parallel_map<S: Default, T: Send>(parts: usize, work: impl Fn(&mut S, usize) -> T + Sync) -> Vec<T> {
    let threads = if parts > 1 { available_parallelism().map_or(1, |n| n.get()).min(THREADS).min(parts) } else { 1 };
    let next = AtomicUsize::new(0);
    let share = || {
        let mut state = S::default();
        let mut done = Vec::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                return done;
            }
            done.push((part, work(&mut state, part)));
        }
    };
    let mut all = scope(|scope| {
        let helpers: Vec<_> = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, share).ok()).collect();
        let mut all = share();
        for helper in helpers {
            all.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(part, _)| *part);
    all.into_iter().map(|(_, done)| done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_results_keep_the_order_of_the_input() {
        for parts in [0, 1, 2, 1_000] {
            let done = parallel_map(parts, |count: &mut usize, part| {
                *count += 1;
                (part, *count)
            });
            assert!(done.iter().map(|(part, _)| *part).eq(0..parts));
            // Each thread reused its state.
            assert!(done.iter().all(|(_, count)| *count >= 1));
        }
    }

    #[test]
    #[should_panic(expected = "part 7")]
    fn a_panic_propagates_to_the_caller() {
        parallel_map(100, |(): &mut (), part| assert_ne!(part, 7, "part 7"));
    }
}
