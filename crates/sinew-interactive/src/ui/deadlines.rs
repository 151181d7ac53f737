//! The times at which the screen must do something without input or messages.

use std::time::{Duration, Instant};

/// The deadlines; `None` for those that are not active.
#[derive(Default)]
pub(super) struct Deadlines {
    /// An incomplete escape sequence is interpreted as separate keys.
    pub(super) input: Option<Instant>,
    /// The size has settled; the terminal did not report the cursor position; it did not report its size.
    pub(super) sizes: [Option<Instant>; 3],
    /// The notice disappears.
    pub(super) notice: Option<Instant>,
    /// The second key of a chord is too late.
    pub(super) chord: Option<Instant>,
    /// A panel receives the focus after a pause in typing.
    pub(super) panel: Option<Instant>,
    /// The status command is started again.
    pub(super) status: Option<Instant>,
    /// The panel or the view that shows running work is refreshed.
    pub(super) work: Option<Instant>,
    /// The interval in seconds at which elapsed time is updated.
    pub(super) step: u64,
    /// The start of the work whose elapsed time is shown.
    pub(super) working_since: Option<Instant>,
}

impl Deadlines {
    /// Returns the time until the next deadline; `None` if the thread can sleep until it is woken.
    pub(super) fn limit(&self, now: Instant) -> Option<Duration> {
        let second = self.working_since.map(|since| {
            let passed = now.saturating_duration_since(since);
            let step = self.step.max(1);
            since + Duration::from_secs((passed.as_secs() / step + 1) * step)
        });
        let due = [self.input, self.notice, self.chord, self.panel, self.status, self.work, second];
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
        // During a run the screen wakes up once a second, at full seconds.
        for (passed, expect) in [(0, 1000), (1, 999), (999, 1), (1000, 1000), (61_250, 750)] {
            let deadlines = Deadlines { working_since: Some(now), ..Deadlines::default() };
            assert_eq!(deadlines.limit(now + ms(passed)), Some(ms(expect)), "{passed}");
        }
        // Every ten seconds with reduced motion.
        let deadlines = Deadlines { working_since: Some(now), step: 10, ..Deadlines::default() };
        assert_eq!(deadlines.limit(now + ms(12_500)), Some(ms(7_500)));
        let deadlines = Deadlines { notice: Some(now + ms(300)), input: Some(now + ms(25)), ..Deadlines::default() };
        assert_eq!(deadlines.limit(now), Some(ms(25)));
        assert_eq!(deadlines.limit(now + ms(400)), Some(ms(0)), "an expired deadline has no wait");
    }
}
