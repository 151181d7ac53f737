//! The end of a session and of the program: how long each step of it may take.

use std::sync::Arc;
use std::time::Duration;

use sinew_tools::Host;

/// The maximum time that a run and its remaining output may take after a signal.
pub const END: Duration = Duration::from_millis(2_000);
/// The maximum time in which the last lines of output must be read after a signal.
pub const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// The maximum time that the shells of a session may take to end after a signal.
const CLOSE: Duration = Duration::from_millis(150);

/// Terminates the shells and jobs of a session. `code` is the exit code that follows.
pub async fn close(host: Arc<Host>, code: u8) {
    let closed = tokio::task::spawn_blocking(move || host.close());
    // After a signal, does not wait for a command that ignores signals: its keeper terminates it.
    let limit = if code >= 128 { CLOSE } else { Duration::MAX };
    let _ = tokio::time::timeout(limit, closed).await;
}

/// Returns the message that a prompt reached the maximum number of requests.
#[must_use]
pub fn turn_limit(turns: u32) -> String {
    format!(
        "Stopped after {turns} turns. Send \"continue\" to continue; change the limit with --max-turns N or the setting maxTurns."
    )
}
