//! The decision whether and when to retry, based on the fields of an error and never on its text.

use sinew_llm::error::{ErrorInfo, ErrorKind};

/// Settings of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// Whether failed requests are retried. Default: true.
    pub enabled: bool,
    /// The maximum number of retries. Default: 3.
    pub max_retries: u32,
    /// The first delay, in milliseconds; it doubles with each retry. Default: 2,000.
    pub base_delay_ms: u64,
    /// If a server requests a longer delay, the retries end. In milliseconds; default: 60,000.
    pub max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> RetrySettings {
        RetrySettings { enabled: true, max_retries: 3, base_delay_ms: 2_000, max_delay_ms: 60_000 }
    }
}

/// The decision after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryDecision {
    /// Retry after a delay.
    After {
        /// The delay, in milliseconds.
        delay_ms: u64,
    },
    /// Retry at once with another credential; if there is none, do not retry.
    OtherCredential,
    /// Do not retry: the retries are used up, or the server requests too long a delay.
    GiveUp(String),
    /// Do not retry: the request would fail again.
    No,
}

/// Decides after consecutive failure number `attempt` (from 1), without those after which the credential was changed.
/// `random` is the source of the ±10 % jitter; a delay that the server requests is never shortened.
#[must_use]
pub fn decide(settings: &RetrySettings, error: &ErrorInfo, attempt: u32, random: u64) -> RetryDecision {
    if !settings.enabled {
        return RetryDecision::No;
    }
    let credential = matches!(error.kind, ErrorKind::UsageLimit | ErrorKind::Auth);
    if !credential && !error.retryable {
        return RetryDecision::No;
    }
    // Not counted: the number of credentials is limited, and each is tried once.
    if credential {
        return RetryDecision::OtherCredential;
    }
    if attempt > settings.max_retries {
        return RetryDecision::GiveUp(error.message.clone());
    }
    if let Some(asked) = error.retry_after_ms {
        if asked > settings.max_delay_ms {
            let seconds = asked.div_ceil(1_000);
            return RetryDecision::GiveUp(format!(
                "{}. The server asks to wait {seconds} s, longer than retry.maxDelayMs allows.",
                error.message.trim_end_matches('.')
            ));
        }
        // Not earlier than the server asks, and not all sessions at once.
        return RetryDecision::After { delay_ms: asked + random % (asked / 10 + 1) };
    }
    let doubled = settings.base_delay_ms.saturating_mul(1_u64.checked_shl(attempt - 1).unwrap_or(u64::MAX));
    let delay = doubled.min(settings.max_delay_ms);
    let tenth = delay / 10;
    let delay_ms = if tenth == 0 { delay } else { delay - tenth + random % (2 * tenth + 1) };
    RetryDecision::After { delay_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind, retry_after_ms: Option<u64>) -> ErrorInfo {
        ErrorInfo { retry_after_ms, ..ErrorInfo::new(kind, "no") }
    }

    #[track_caller]
    fn pause(attempt: u32, retry_after_ms: Option<u64>) -> (u64, u64) {
        let settings = RetrySettings::default();
        let at = |random| match decide(&settings, &error(ErrorKind::Overloaded, retry_after_ms), attempt, random) {
            RetryDecision::After { delay_ms } => delay_ms,
            other => panic!("{other:?}"),
        };
        (at(0), at(2 * (at(0) / 9)))
    }

    #[test]
    fn the_delay_doubles_with_a_jitter_of_ten_percent() {
        assert_eq!(pause(1, None), (1_800, 2_200));
        assert_eq!(pause(2, None), (3_600, 4_400));
        assert_eq!(pause(3, None), (7_200, 8_800));
        assert_eq!(pause(1, Some(7_000)), (7_000, 7_152));
    }

    #[test]
    fn permanent_failures_are_not_retried() {
        let settings = RetrySettings::default();
        let decided = |kind, after, attempt| decide(&settings, &error(kind, after), attempt, 0);
        assert_eq!(decided(ErrorKind::InvalidRequest, None, 1), RetryDecision::No);
        assert_eq!(decided(ErrorKind::ContextOverflow, None, 1), RetryDecision::No);
        assert_eq!(decided(ErrorKind::Auth, None, 1), RetryDecision::OtherCredential);
        assert_eq!(decided(ErrorKind::UsageLimit, Some(61_000), 9), RetryDecision::OtherCredential);
        assert_eq!(decided(ErrorKind::Server, None, 4), RetryDecision::GiveUp("no".into()));
        let RetryDecision::GiveUp(text) = decided(ErrorKind::RateLimit, Some(61_000), 1) else { panic!("it waits") };
        assert!(text.contains("61 s"), "{text}");
        assert_eq!(
            decide(&RetrySettings { enabled: false, ..settings }, &error(ErrorKind::Server, None), 1, 0),
            RetryDecision::No
        );
    }
}
