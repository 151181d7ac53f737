//! The row about requests that are repeated: it counts down the seconds until the next attempt.

use std::time::{Duration, Instant};

use sinew_tui::{Block, Layout, Line, RenderedRows};

use super::blocks::NOTICE;
use super::keys::RowKeys;

/// The attempts to get an answer after failures, in one row.
pub(super) struct RetryBlock {
    error: String,
    attempt: u32,
    of: u32,
    /// When the next attempt begins.
    due: Instant,
    /// The remaining seconds that are shown; 0 once the attempt has begun.
    seconds: u64,
    is_finished: bool,
    keys: RowKeys,
    version: u64,
}

/// A failed attempt.
pub(super) struct FailedAttempt<'a> {
    pub(super) error: &'a str,
    /// The number of the next attempt.
    pub(super) attempt: u32,
    pub(super) of: u32,
    pub(super) delay: Duration,
}

impl RetryBlock {
    pub(super) fn new(failed: &FailedAttempt<'_>, keys: RowKeys, now: Instant) -> RetryBlock {
        let mut block = RetryBlock {
            error: String::new(),
            attempt: 0,
            of: 0,
            due: now,
            seconds: 0,
            is_finished: false,
            keys,
            version: 0,
        };
        block.fail(failed, now);
        block
    }

    /// Shows a further failure.
    pub(super) fn fail(&mut self, failed: &FailedAttempt<'_>, now: Instant) {
        self.error = failed.error.lines().next().unwrap_or_default().to_string();
        (self.attempt, self.of, self.due) = (failed.attempt, failed.of, now + failed.delay);
        self.show_time(now, 1);
        self.version += 1;
    }

    /// Updates the remaining time, in steps of `step` seconds.
    pub(super) fn show_time(&mut self, now: Instant, step: u64) {
        let rest = self.due.saturating_duration_since(now);
        let seconds = rest.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX);
        let seconds = u64::next_multiple_of(seconds, step.max(1));
        if seconds != self.seconds && !self.is_finished {
            self.seconds = seconds;
            self.version += 1;
        }
    }

    /// Completes the block: an attempt was answered, or no further one follows.
    pub(super) fn finish(&mut self) {
        (self.is_finished, self.seconds) = (true, 0);
        self.version += 1;
    }

    fn text(&self) -> String {
        let RetryBlock { error, attempt, of, seconds, .. } = self;
        match seconds {
            0 => format!("⋯ attempt {attempt} of {of} · {error}"),
            _ => {
                let note = RowKeys::note(self.keys.interrupt, "cancels");
                format!("⋯ attempt {attempt} of {of} in {seconds} s{note} · {error}")
            }
        }
    }
}

impl Block for RetryBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _restart: bool, out: &mut RenderedRows) {
        out.reopen();
        out.extend(vec![Line::styled(&self.text(), NOTICE).into_row(layout.width)]);
        if self.is_finished {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_counts_down_over_all_attempts() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        let failed =
            |attempt, delay| FailedAttempt { error: "503 overloaded\nbusy", attempt, of: 3, delay: seconds(delay) };
        let mut block = RetryBlock::new(&failed(1, 2), RowKeys::default(), now);
        let mut expect = |after: f64, step: u64, text: &str| {
            block.show_time(now + Duration::from_secs_f64(after), step);
            assert_eq!(block.text(), text, "{after}");
        };
        expect(0.0, 1, "⋯ attempt 1 of 3 in 2 s · 503 overloaded");
        expect(0.9, 1, "⋯ attempt 1 of 3 in 2 s · 503 overloaded");
        expect(1.0, 1, "⋯ attempt 1 of 3 in 1 s · 503 overloaded");
        expect(1.0, 10, "⋯ attempt 1 of 3 in 10 s · 503 overloaded");
        expect(2.0, 1, "⋯ attempt 1 of 3 · 503 overloaded");
        block.fail(&failed(2, 4), now + seconds(3));
        assert_eq!(block.text(), "⋯ attempt 2 of 3 in 4 s · 503 overloaded");
        block.finish();
        block.show_time(now + seconds(4), 1);
        assert_eq!(block.text(), "⋯ attempt 2 of 3 · 503 overloaded");
    }
}
