//! The work profile: the recent calls of the host and their durations.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use sinew_profile::Recorder;
//!
//! # fn main() -> sinew_base::Result<()> {
//! let recorder = Recorder::new();
//! recorder.record("search;grep", Instant::now(), Duration::from_micros(1500));
//! let profile = recorder.work_profile(60.0)?;
//! assert_eq!((profile.sample_count, profile.folded.as_str()), (1, "search;grep 1500\n"));
//! # Ok(())
//! # }
//! ```
//!
//! A [`Recorder`] keeps the last [`CAPACITY`] calls in a ring; [`Recorder::work_profile`] sums them up as input for
//! flame-graph tools, as a table and as an image. Older calls are removed; a call counts as at most 71 minutes.

mod flame;
mod report;

use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sinew_base::{Error, Result};

pub use report::WorkProfile;

/// The maximum number of recorded calls.
pub const CAPACITY: usize = 10_000;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The call and its surrounding calls, outermost first, joined by `;`.
    path: &'static str,
    start: Instant,
    micros: u32,
}

#[derive(Debug, Default)]
struct Ring {
    // Grows to the capacity once.
    samples: Vec<Sample>,
    // The oldest sample if the ring is full.
    next: usize,
}

/// Records calls in a ring. Can be shared between threads.
#[derive(Debug, Default)]
pub struct Recorder {
    ring: Mutex<Ring>,
}

impl Recorder {
    /// Creates an empty ring.
    #[must_use]
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// Records one call, and removes the oldest if there are [`CAPACITY`]. `path` names the call and its surrounding
    /// calls, outermost first, joined by `;` (`search;grep`). Needs well under 200 ns; durations beyond an hour count
    /// as 71 minutes.
    pub fn record(&self, path: &'static str, start: Instant, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        let sample = Sample { path, start, micros };
        let mut ring = self.lock();
        if ring.samples.len() < CAPACITY {
            ring.samples.push(sample);
        } else {
            let next = ring.next;
            ring.samples[next] = sample;
            ring.next = (next + 1) % CAPACITY;
        }
    }

    /// Sums up the calls that ended within the last `last_seconds`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` ([`sinew_base::ErrorCode`]) if `last_seconds` is negative or not a number.
    pub fn work_profile(&self, last_seconds: f64) -> Result<WorkProfile> {
        if last_seconds.is_nan() || last_seconds < 0.0 {
            return Err(Error::invalid(format!(
                "work profile: lastSeconds is {last_seconds}; give a number of seconds, 0 or more"
            )));
        }
        let now = Instant::now();
        // A time before the start of the clock includes all calls.
        let since = Duration::try_from_secs_f64(last_seconds).ok().and_then(|back| now.checked_sub(back));
        let samples: Vec<Sample> = {
            let ring = self.lock();
            let recent = |sample: &&Sample| {
                let end = sample.start + Duration::from_micros(sample.micros.into());
                since.is_none_or(|since| end >= since)
            };
            ring.samples.iter().filter(recent).copied().collect()
        };
        Ok(report::sum_up(&samples))
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_calls_are_dropped() {
        let recorder = Recorder::new();
        let start = Instant::now();
        for i in 0..CAPACITY + 5 {
            let path = if i < 10 { "old" } else { "new" };
            recorder.record(path, start, Duration::from_micros(2));
        }
        let profile = recorder.work_profile(3600.0).unwrap();
        assert_eq!(profile.folded, "new 19990\nold 10\n");
        assert_eq!((profile.sample_count, profile.total_ms), (CAPACITY, 20.0));
    }

    #[test]
    fn only_recent_calls_count() {
        let recorder = Recorder::new();
        let hour = Duration::from_secs(3600);
        let long_ago = Instant::now().checked_sub(hour).unwrap();
        recorder.record("old", long_ago, Duration::from_millis(1));
        recorder.record("long", long_ago, hour);
        assert_eq!(recorder.work_profile(1800.0).unwrap().folded, "long 3600000000\n");
        assert_eq!(recorder.work_profile(f64::INFINITY).unwrap().sample_count, 2);
    }

    #[test]
    fn invalid_seconds_are_refused() {
        for seconds in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(Recorder::new().work_profile(seconds).unwrap_err().message().contains("lastSeconds"));
        }
    }

    #[test]
    fn many_threads_record_at_once() {
        let recorder = Recorder::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        recorder.record("a;b", Instant::now(), Duration::from_micros(1));
                    }
                });
            }
        });
        assert_eq!(recorder.work_profile(1e9).unwrap().folded, "a;b 4000\n");
    }
}
