//! Times at which the screen has something to do although nobody has pressed a key and nothing was said.

use std::time::{Duration, Instant};

/// The times at which something is due; none where nothing goes on.
#[derive(Default)]
pub(super) struct Deadlines {
    /// Bytes that may go on as a sequence are taken for what they are.
    pub(super) input: Option<Instant>,
    /// The size has settled; the terminal has not said where the cursor is, or which size it has.
    pub(super) sizes: [Option<Instant>; 3],
    /// The notice goes.
    pub(super) notice: Option<Instant>,
    /// The second key of a chord has not come.
    pub(super) chord: Option<Instant>,
    /// A panel gets the keys, because nobody has typed for a while.
    pub(super) panel: Option<Instant>,
    /// The command of the status is started again.
    pub(super) status: Option<Instant>,
    /// The panel of jobs is shown again as it is then.
    pub(super) jobs: Option<Instant>,
    /// The seconds in which elapsed time moves on.
    pub(super) step: u64,
    /// Something goes on since then, and its seconds are shown.
    pub(super) working_since: Option<Instant>,
}

impl Deadlines {
    /// The time until something is due; none: the thread sleeps until somebody wakes it.
    pub(super) fn limit(&self, now: Instant) -> Option<Duration> {
        let second = self.working_since.map(|since| {
            let passed = now.saturating_duration_since(since);
            let step = self.step.max(1);
            since + Duration::from_secs((passed.as_secs() / step + 1) * step)
        });
        let due = [self.input, self.notice, self.chord, self.panel, self.status, self.jobs, second];
        due.into_iter().chain(self.sizes).flatten().min().map(|due| due.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_screen_has_no_deadline() {
        let now = Instant::now();
        assert_eq!(Deadlines::default().limit(now), None);
        let ms = Duration::from_millis;
        // A run wakes the screen once a second, at full seconds.
        for (passed, expect) in [(0, 1000), (1, 999), (999, 1), (1000, 1000), (61_250, 750)] {
            let deadlines = Deadlines { working_since: Some(now), ..Deadlines::default() };
            assert_eq!(deadlines.limit(now + ms(passed)), Some(ms(expect)), "{passed}");
        }
        // Each ten seconds where less motion is wanted.
        let deadlines = Deadlines { working_since: Some(now), step: 10, ..Deadlines::default() };
        assert_eq!(deadlines.limit(now + ms(12_500)), Some(ms(7_500)));
        let deadlines = Deadlines { notice: Some(now + ms(300)), input: Some(now + ms(25)), ..Deadlines::default() };
        assert_eq!(deadlines.limit(now), Some(ms(25)));
        assert_eq!(deadlines.limit(now + ms(400)), Some(ms(0)), "what is due already waits for nothing");
    }
}
