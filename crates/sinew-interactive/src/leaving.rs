//! How the user left the interactive mode: to exit, or to continue in another directory.

use std::path::PathBuf;

/// How the user left.
#[derive(Debug)]
pub struct ExitOutcome {
    /// The exit code.
    pub code: u8,
    /// The session that continues in another directory, if the user moved it.
    pub moved: Option<SessionMove>,
    /// If the run continues without the terminal, the bytes that notify the terminal of its end.
    pub(super) behind: Option<Vec<u8>>,
}

/// A session that continues in another directory.
#[derive(Debug)]
pub struct SessionMove {
    /// The directory.
    pub folder: PathBuf,
    /// The session file.
    pub session: PathBuf,
}

/// The requested exit, while the interactive mode is still running.
#[derive(Debug, Default)]
pub(super) struct ExitRequest {
    /// The exit code; `None` if no exit was requested.
    pub(super) code: Option<u8>,
    /// True if the run continues without the terminal after the exit.
    pub(super) goes_behind: bool,
    /// The session that continues in another directory after the exit.
    pub(super) moved: Option<SessionMove>,
}

impl ExitOutcome {
    /// Creates an exit with this code.
    pub(super) fn with(code: u8) -> ExitOutcome {
        ExitOutcome { code, moved: None, behind: None }
    }
}
