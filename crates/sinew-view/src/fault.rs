//! Points at which a test kills the process, to prove that the next start completes or drops a hand-back.

/// Marks a point between two changes on disk.
#[cfg(not(test))]
pub(crate) fn point() {}

#[cfg(test)]
pub(crate) use counter::point;

#[cfg(test)]
mod counter {
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts a point between two changes on disk, and kills the process at the point that the environment variable
    /// selects.
    pub(crate) fn point() {
        static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);
        if LEFT.load(Ordering::Relaxed) == u64::MAX {
            let chosen = std::env::var("SINEW_TEST_FAULT").ok().and_then(|text| text.parse().ok());
            LEFT.store(chosen.unwrap_or(u64::MAX - 1), Ordering::Relaxed);
        }
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
    }
}
