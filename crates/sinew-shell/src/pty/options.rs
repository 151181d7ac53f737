//! The options and results of a pseudo-terminal session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sinew_sandbox::Sandbox;

use crate::environment::{is_private, is_valid_name, value};
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
    /// The variables that the login files of the shell cannot replace: a name in `env` keeps its value, another one stays
    /// unset. Only for shells with the syntax of `sh`, and fish. Default: `PATH`.
    pub kept: Vec<String>,
    /// Columns of the terminal, clamped to 1–65,535. Default 120.
    pub cols: u32,
    /// Rows of the terminal, clamped to 1–65,535. Default 40.
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
            kept: vec!["PATH".to_string()],
            cols: 120,
            rows: 40,
            supervisor: None,
            sandbox: None,
        }
    }

    /// Returns the name of the program; empty if there is none.
    pub(super) fn program(&self) -> &str {
        match &self.argv {
            Some(argv) => argv.first().map_or("", String::as_str),
            None => &self.shell,
        }
    }

    /// Returns the program and its arguments, and variables to add to its environment.
    pub(super) fn command_line(&self) -> (Vec<String>, crate::Environment) {
        if let Some(argv) = &self.argv {
            return (argv.clone(), Vec::new());
        }
        if !self.login {
            return (vec![self.shell.clone(), "-c".to_string(), self.command.clone()], Vec::new());
        }
        let (prefix, env) = self.after_login();
        (vec![self.shell.clone(), "-lc".to_string(), prefix + &self.command], env)
    }

    /// Returns the beginning of a command that restores the kept variables, and the variables in which it finds the
    /// values: other users can read a command line, but not an environment.
    fn after_login(&self) -> (String, crate::Environment) {
        let name = Path::new(&self.shell).file_name().unwrap_or_default().to_string_lossy();
        let is_fish = name == "fish";
        let (mut prefix, mut env) = (String::new(), Vec::new());
        if cfg!(windows) || !(is_fish || SHELLS.contains(&&*name)) {
            return (prefix, env);
        }
        let is_settable = |name: &&String| is_valid_name(name) && !is_private(name.as_ref());
        for name in self.kept.iter().filter(is_settable).collect::<BTreeSet<_>>() {
            let (clear, keep) = match is_fish {
                true => {
                    (format!("set -e {name}; "), format!("set -gx {name} $__sinew_{name}; set -e __sinew_{name}; "))
                }
                false => {
                    // A login file may have made it read-only, which would end the shell: then its value remains.
                    (
                        format!("(unset {name}) 2>/dev/null && unset {name}; "),
                        format!("({name}=) 2>/dev/null && export {name}=\"$__sinew_{name}\"; unset __sinew_{name}; "),
                    )
                }
            };
            match value(&self.env, name) {
                Some(value) => {
                    prefix += &keep;
                    env.push((format!("__sinew_{name}").into(), value.to_os_string()));
                }
                None => prefix += &clear,
            }
        }
        (prefix, env)
    }
}

/// The shells that read the syntax of `sh`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox"];

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

/// Clamps a size to 1–65,535 columns and rows, the sizes that a terminal can have.
#[must_use]
pub fn clamped(cols: u32, rows: u32) -> (u16, u16) {
    let fit = |value: u32| u16::try_from(value).unwrap_or(u16::MAX).max(1);
    (fit(cols), fit(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_sizes() {
        for (asked, given) in
            [((80, 24), (80, 24)), ((0, 0), (1, 1)), ((1, 65_535), (1, 65_535)), ((u32::MAX, 65_536), (65_535, 65_535))]
        {
            assert_eq!(clamped(asked.0, asked.1), given);
        }
    }
}
