//! The source of times and ids, provided by the host so that a run can be replayed byte for byte.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Time and randomness.
pub trait Clock: Send + Sync {
    /// Returns the time in milliseconds since the epoch.
    fn now(&self) -> i64;

    /// Returns a random number, for ids and jitter.
    fn random(&self) -> u64;
}

/// The system's clock and a generator seeded with it.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn random(&self) -> u64 {
        fastrand::u64(..)
    }
}

/// A clock that only changes when it is set, with numbers that count up, for tests and replays.
#[derive(Debug, Default)]
pub struct FixedClock {
    now: AtomicU64,
    next: AtomicU64,
}

impl FixedClock {
    /// Creates a clock with the time `now`.
    #[must_use]
    pub fn at(now: u64) -> FixedClock {
        FixedClock { now: AtomicU64::new(now), next: AtomicU64::new(1) }
    }

    /// Sets the time.
    pub fn set(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> i64 {
        i64::try_from(self.now.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
    }

    fn random(&self) -> u64 {
        // Distributed over all bits, so that consecutive short ids differ.
        self.next.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Formats milliseconds since the epoch as `2026-01-31T09:30:00.000Z`; a time out of range becomes the epoch.
#[must_use]
pub fn iso(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// Parses a time to milliseconds since the epoch; `None` if it is invalid.
#[must_use]
pub fn from_iso(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_round_trip_with_milliseconds() {
        assert_eq!(iso(1_769_851_800_000), "2026-01-31T09:30:00.000Z");
        assert_eq!(from_iso("2026-01-31T09:30:00.000Z"), Some(1_769_851_800_000));
        assert_eq!(from_iso("2025-01-01T00:00:00Z"), Some(1_735_689_600_000));
        assert_eq!(from_iso("yesterday"), None);
    }
}
