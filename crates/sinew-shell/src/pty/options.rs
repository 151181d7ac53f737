//! The options and results of a pseudo-terminal session.

use std::path::PathBuf;

use sinew_sandbox::Sandbox;

use crate::output::Encoding;

/// The program of a session, and its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtyOptions {
    /// The command line that the shell runs.
    pub command: String,
    /// The shell, run as `SHELL -lc COMMAND`. Default `sh`.
    pub shell: String,
    /// Run a login shell (`-lc` instead of `-c`). Default true.
    pub login: bool,
    /// A program and its arguments, started without a shell, instead of `command`. Default: `None`.
    pub argv: Option<Vec<String>>,
    /// The format of the output. Default: text.
    pub encoding: Encoding,
    /// The working directory. Default: that of the process.
    pub cwd: Option<PathBuf>,
    /// The complete environment of the program. Default: empty.
    pub env: crate::Environment,
    /// Columns of the terminal, clamped to 20–400. Default 120.
    pub cols: u32,
    /// Rows of the terminal, clamped to 5–200. Default 40.
    pub rows: u32,
    /// The supervisor program of the session, that of [`crate::Supervisor`]; only used on Linux. Default: `None`, the
    /// session runs without a supervisor.
    pub supervisor: Option<PathBuf>,
    /// The sandbox of the program, which requires a supervisor. Default: `None`.
    pub sandbox: Option<Sandbox>,
}

impl PtyOptions {
    /// Creates the default options for `command`.
    #[must_use]
    pub fn new(command: impl Into<String>) -> PtyOptions {
        PtyOptions {
            command: command.into(),
            shell: "sh".to_string(),
            login: true,
            argv: None,
            encoding: Encoding::Text,
            cwd: None,
            env: Vec::new(),
            cols: 120,
            rows: 40,
            supervisor: None,
            sandbox: None,
        }
    }

    /// Returns the program and its arguments.
    pub(super) fn command_line(&self) -> Vec<String> {
        match &self.argv {
            Some(argv) => argv.clone(),
            None => {
                let flag = if self.login { "-lc" } else { "-c" };
                vec![self.shell.clone(), flag.to_string(), self.command.clone()]
            }
        }
    }
}

/// The end of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PtyEnd {
    /// The program's exit code, or 128 plus the signal number if a signal ended it; `None` if the session killed it.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the program; `None` if no signal did.
    pub signal: Option<i32>,
    /// True if it was terminated by [`super::PtySession::kill`], a cancellation, or a callback that returned `Break`.
    pub cancelled: bool,
    /// True if the time limit was reached.
    pub timed_out: bool,
}

/// Clamps a size to 20–400 columns and 5–200 rows.
#[must_use]
pub fn clamped(cols: u32, rows: u32) -> (u16, u16) {
    let fit = |value: u32, least: u16, most: u16| u16::try_from(value).unwrap_or(most).clamp(least, most);
    (fit(cols, 20, 400), fit(rows, 5, 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_sizes() {
        for (asked, given) in [
            ((80, 24), (80, 24)),
            ((0, 0), (20, 5)),
            ((u32::MAX, u32::MAX), (400, 200)),
            ((19, 201), (20, 200)),
            ((401, 4), (400, 5)),
        ] {
            assert_eq!(clamped(asked.0, asked.1), given);
        }
    }
}
