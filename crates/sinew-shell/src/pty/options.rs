//! Options and results of a session on a pseudo-terminal.

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
    /// The shell reads its login files first (`-lc`, not `-c`). Default true.
    pub login: bool,
    /// A program and its arguments, started without any shell, instead of `command`. Default: none.
    pub argv: Option<Vec<String>>,
    /// The form of the output. Default: text.
    pub encoding: Encoding,
    /// The working directory. Default: the process's own.
    pub cwd: Option<PathBuf>,
    /// The whole environment of the program. Default: empty.
    pub env: crate::Environment,
    /// Columns of the terminal, clamped to 20–400. Default 120.
    pub cols: u32,
    /// Rows of the terminal, clamped to 5–200. Default 40.
    pub rows: u32,
    /// The program that supervises the session: the one of [`crate::Supervisor`]. Used on Linux. Default: none, the
    /// session is on its own.
    pub supervisor: Option<PathBuf>,
    /// The sandbox of the program. It needs a supervisor. Default: none.
    pub sandbox: Option<Sandbox>,
}

impl PtyOptions {
    /// The defaults for `command`.
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

    /// The program and its arguments.
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
    /// The program's exit code, 128 and the signal's number when a signal ended it; `None` when it was killed
    /// by the session.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the program, where one did.
    pub signal: Option<i32>,
    /// True when it was killed, by [`super::PtySession::kill`], a signal of the caller's or a broken callback.
    pub cancelled: bool,
    /// True when the time was up.
    pub timed_out: bool,
}

/// A size that programs can live with: 20–400 columns, 5–200 rows.
#[must_use]
pub fn clamped(cols: u32, rows: u32) -> (u16, u16) {
    let fit = |value: u32, least: u16, most: u16| u16::try_from(value).unwrap_or(most).clamp(least, most);
    (fit(cols, 20, 400), fit(rows, 5, 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_clamped() {
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
