//! The time limits of a call: silence, which progress restarts, and total time. Both are paused while the user is
//! asked.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// The time limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTimes {
    /// The time without an answer or progress. The default is 60 s.
    pub silence: Duration,
    /// The total time. The default is 30 min.
    pub total: Duration,
}

impl Default for CallTimes {
    fn default() -> CallTimes {
        CallTimes { silence: Duration::from_secs(60), total: Duration::from_secs(30 * 60) }
    }
}

/// The limit that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpiredLimit {
    Silence,
    Total,
}

/// Waits for `answer`. `progress` restarts the limit of silence; while the value of `asking` is not 0, both limits are
/// paused. Only one timer is armed at a time, so a waiting call causes no wake-ups.
pub(crate) async fn wait<T>(
    times: CallTimes,
    progress: &Notify,
    mut asking: watch::Receiver<usize>,
    answer: impl Future<Output = T>,
) -> Result<T, ExpiredLimit> {
    let mut answer = pin!(answer);
    let begun = Instant::now();
    let (mut silence, mut total) = (later(begun, times.silence), later(begun, times.total));
    loop {
        if *asking.borrow_and_update() > 0 {
            let paused = Instant::now();
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer),
                // An error means that the sender and thus the connection is gone: the answer ends as well.
                _ = asking.wait_for(|count| *count == 0) => {}
            }
            silence += paused.elapsed();
            total += paused.elapsed();
            continue;
        }
        tokio::select! {
            biased;
            answer = &mut answer => return Ok(answer),
            () = progress.notified() => silence = later(Instant::now(), times.silence),
            changed = asking.changed() => if changed.is_err() {
                return Ok(answer.await);
            },
            () = tokio::time::sleep_until(silence.min(total)) => {
                return Err(if total <= silence { ExpiredLimit::Total } else { ExpiredLimit::Silence });
            }
        }
    }
}

/// Returns `from` plus a time, or the latest possible time on overflow.
fn later(from: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    from + time.min(YEAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const TIMES: CallTimes = CallTimes { silence: Duration::from_secs(60), total: Duration::from_secs(1800) };

    /// Runs `wait` with a paused clock. The answer arrives after `answer` seconds, progress arrives at the given
    /// seconds, and the user is asked during the given intervals. Returns the outcome and the second at which it was
    /// known.
    async fn run(answer: u64, progress: &[u64], asked: &[(u64, u64)]) -> (Result<(), ExpiredLimit>, u64) {
        let begun = Instant::now();
        let at = move |second: u64| tokio::time::sleep_until(begun + Duration::from_secs(second));
        let touched = Arc::new(Notify::new());
        let (asking, listener) = watch::channel(0);
        let toucher = Arc::clone(&touched);
        let progress = progress.to_vec();
        let toucher = tokio::spawn(async move {
            for second in progress {
                at(second).await;
                toucher.notify_one();
            }
        });
        let asked = asked.to_vec();
        let asker = tokio::spawn(async move {
            for (from, to) in asked {
                at(from).await;
                asking.send_replace(1);
                at(to).await;
                asking.send_replace(0);
            }
            std::future::pending::<()>().await;
        });
        let outcome = wait(TIMES, &touched, listener, at(answer)).await;
        toucher.abort();
        asker.abort();
        (outcome, begun.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_answer_times_out() {
        assert_eq!(run(59, &[], &[]).await, (Ok(()), 59));
        assert_eq!(run(61, &[], &[]).await, (Err(ExpiredLimit::Silence), 60));
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_a_call_up_to_the_total_limit() {
        let every_20: Vec<u64> = (1..200).map(|round| round * 20).collect();
        assert_eq!(run(300, &every_20, &[]).await, (Ok(()), 300));
        assert_eq!(run(4000, &every_20, &[]).await, (Err(ExpiredLimit::Total), 1800));
        assert_eq!(run(300, &[30, 60], &[]).await, (Err(ExpiredLimit::Silence), 120));
    }

    #[tokio::test(start_paused = true)]
    async fn time_limits_are_paused_while_the_user_is_asked() {
        assert_eq!(run(5000, &[], &[(10, 4000)]).await, (Err(ExpiredLimit::Silence), 4050));
        assert_eq!(run(4020, &[], &[(10, 4000)]).await, (Ok(()), 4020));
        assert_eq!(run(500, &[], &[(10, 400), (420, 480)]).await, (Ok(()), 500));
        assert_eq!(run(600, &[], &[(10, 400), (420, 480)]).await, (Err(ExpiredLimit::Silence), 510));
    }
}
