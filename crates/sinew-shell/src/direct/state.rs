//! The state that one run of a session passes to the next.
//!
//! The bash of a run reads a generated file (`run`), evaluates the command and writes its state to files again
//! (`session.bash`, `save.bash`). There are two sets of files, and a new set becomes valid once its report is complete:
//! a run that is killed at any moment leaves the previous state.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sinew_base::{Error, ErrorCode, Result};
use tempfile::TempDir;

use super::find_bash;
use super::one_shot;
use crate::known_bashes::KnownBashes;
use crate::request::{self, quote};
use crate::{Environment, RunOptions, RunResult, ShellOptions, environment};

const SESSION: &str = include_str!("session.bash");
const SAVE: &str = include_str!("save.bash");

/// Git's bash returns Windows paths, Cygwin has a program for it.
const PWD: &str = match cfg!(windows) {
    true => "builtin pwd -W || cygpath -m . || builtin pwd",
    false => "builtin pwd",
};

/// The files of one set.
const FILES: [&str; 5] = ["state", "traps", "debug", "options", "report"];

#[derive(Debug)]
pub(super) struct State {
    folder: TempDir,
    bash: PathBuf,
    script: String,
    // The valid set, once there is one, and its report.
    set: Option<usize>,
    report: Report,
}

impl State {
    /// Returns the state before the first run.
    pub(super) fn new(known: &KnownBashes, shell: &ShellOptions) -> Result<State> {
        let failed = |cause: io::Error| Error::io("Failed to initialize shell: cannot keep its state", &cause);
        let bash = find_bash::find(known, shell)?;
        request::check_cwd(shell.cwd.as_deref())?;
        let folder = self::folder(&shell.env).map_err(failed)?;
        for name in ["0", "1", "nowhere"] {
            std::fs::create_dir(folder.path().join(name)).map_err(failed)?;
        }
        let file = |name: &str| path(&folder.path().join(name));
        let script = SESSION.replace("@RUN@", &file("run")?).replace("@SAVE@", &file("save")?);
        let save = SAVE.replace("@PWD@", PWD).replace("@NOWHERE@", &file("nowhere")?);
        std::fs::write(folder.path().join("save"), save).map_err(failed)?;
        Ok(State { folder, bash, script, set: None, report: Report::default() })
    }

    /// Returns the directory of the shell; `None` before the first report.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        self.report.directory()
    }

    /// Returns the bash of the next run.
    pub(super) fn prepare(&self, shell: &ShellOptions, run: &RunOptions) -> Result<Command> {
        let failed = |cause: io::Error| Error::io("shell: failed to prepare the command", &cause);
        let env = environment::inherited(&shell.env);
        // They are created before the run, so that a umask of the script has no effect.
        for name in FILES {
            std::fs::write(self.file(self.next(), name), "").map_err(failed)?;
        }
        let mut text = String::new();
        match self.set {
            Some(set) => {
                // Variables that the script removed stay removed.
                let names = env.iter().filter_map(|(name, _)| name.to_str()).filter(|name| is_name(name));
                let names: Vec<String> = match cfg!(windows) {
                    true => names.flat_map(|name| [name.to_string(), name.to_ascii_uppercase()]).collect(),
                    false => names.map(str::to_string).collect(),
                };
                line(&mut text, format_args!("builtin unset -v {}", names.join(" ")));
                line(&mut text, format_args!("builtin . {}", path(&self.file(set, "state"))?));
            }
            None => line(&mut text, format_args!("{}", request::snapshot(shell)?.unwrap_or_default())),
        }
        line(&mut text, format_args!("__sinew_g={}", path(&self.folder.path().join(self.next().to_string()))?));
        line(&mut text, format_args!("__sinew_c={}", quote(&self.command(run).map_err(failed)?)));
        line(&mut text, format_args!("BASH_EXECUTION_STRING={}", quote(&run.command)));
        for_this_run(&mut text, run)?;
        if let Some(set) = self.set {
            line(&mut text, format_args!("builtin . {}", path(&self.file(set, "traps"))?));
            line(&mut text, format_args!("builtin . {}", path(&self.file(set, "options"))?));
            // Restored inside the command, so that no generated line is traced.
            line(&mut text, format_args!("builtin set +xv"));
            line(&mut text, format_args!("builtin return {}", self.report.status().unwrap_or(0)));
        }
        std::fs::write(self.folder.path().join("run"), text).map_err(failed)?;
        let mut command = one_shot::bash(&self.bash, &self.script);
        command.env_clear().envs(env);
        if let (None, Some(cwd)) = (self.set, &shell.cwd) {
            command.current_dir(cwd);
        }
        Ok(command)
    }

    /// Adopts the state after a run and returns its result; `None` if it left no report because it ended the shell.
    pub(super) fn take_over(&mut self, run: &RunOptions) -> Result<Option<Result<RunResult>>> {
        let failed = |cause: io::Error| Error::io("shell: failed to read what the command left", &cause);
        let read = |name: &str| match std::fs::read(self.file(self.next(), name)) {
            // The command deleted the session's directory.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other.map_err(failed),
        };
        let Some(fields) = fields(&read("report")?) else { return Ok(None) };
        let report = Report { fields, has_error_trap: has_error_trap(&String::from_utf8_lossy(&read("traps")?)) };
        self.report = report;
        self.set = Some(self.next());
        Ok(Some(self.report.result(run)))
    }

    /// Returns the command as it is evaluated, with the traps and options of the script that must not affect generated
    /// lines.
    fn command(&self, run: &RunOptions) -> io::Result<String> {
        let mut script = String::new();
        let debug = match self.set {
            Some(set) => String::from_utf8_lossy(&std::fs::read(self.file(set, "debug"))?).trim_end().to_string(),
            None => String::new(),
        };
        let shown: String = self.report.options().chars().filter(|letter| matches!(letter, 'x' | 'v')).collect();
        if !debug.is_empty() {
            script.push_str(&debug);
            script.push(';');
        }
        if !shown.is_empty() {
            let _ = write!(script, "{{ builtin set -{shown}; }} 2>/dev/null;");
        }
        let status = self.report.status().unwrap_or(0);
        if !script.is_empty() && status != 0 {
            // A plain subshell runs no trap for every command, and its actions are not visible.
            let _ = write!(script, "(exit {status}) >/dev/null 2>&1 && [[ 1 ]];");
        }
        script.push_str(&run.command);
        // The ERR trap would run a second time for the `eval` of a command that fails. Not added if the text could
        // continue on the next line.
        let traps_errors = self.report.has_error_trap || run.command.contains("ERR");
        let goes_on = run.command.ends_with('\\') || run.command.contains("<<");
        if traps_errors && debug.is_empty() && !goes_on {
            script.push_str("\n__sinew_t=$?");
        }
        Ok(script)
    }

    fn next(&self) -> usize {
        self.set.map_or(0, |set| 1 - set)
    }

    fn file(&self, set: usize, name: &str) -> PathBuf {
        self.folder.path().join(set.to_string()).join(name)
    }
}

/// Writes the lines that set the variables and the directory of one run, and those that restore them.
fn for_this_run(text: &mut String, run: &RunOptions) -> Result<()> {
    if !run.env.is_empty() {
        let names: Vec<&str> = run.env.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(" ");
        line(text, format_args!("__sinew_n={} __sinew_u=$(builtin declare -p {names})", quote(&names)));
        line(text, format_args!("builtin unset -v {names}"));
    }
    for (name, value) in &run.env {
        line(text, format_args!("builtin export {name}={} || __sinew_f='env {name}' __sinew_c=", quote(value)));
    }
    if let Some(cwd) = &run.cwd {
        line(text, format_args!("__sinew_d=$PWD; [[ -z ${{OLDPWD+x}} ]] || __sinew_w=$OLDPWD"));
        line(text, format_args!("builtin cd -- {} || {{ __sinew_f=cd __sinew_c=; }}", path(cwd)?));
    }
    Ok(())
}

/// The report of a run: its status or error, its options, its directory with a line end.
#[derive(Debug, Default)]
struct Report {
    fields: [Vec<u8>; 3],
    has_error_trap: bool,
}

impl Report {
    fn status(&self) -> Option<i32> {
        std::str::from_utf8(&self.fields[0]).ok()?.parse().ok()
    }

    fn options(&self) -> String {
        String::from_utf8_lossy(&self.fields[1]).into_owned()
    }

    fn directory(&self) -> Option<PathBuf> {
        let bytes = self.fields[2].strip_suffix(b"\n").unwrap_or_default();
        #[cfg(unix)]
        let path = Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)).to_path_buf();
        #[cfg(windows)]
        let path = PathBuf::from(String::from_utf8_lossy(bytes).trim_end_matches('\r').replace('/', "\\"));
        (!path.as_os_str().is_empty()).then_some(path)
    }

    fn result(&self, run: &RunOptions) -> Result<RunResult> {
        if let Some(status) = self.status() {
            let working_dir = self.directory();
            return Ok(RunResult { exit_code: Some(status), working_dir, ..RunResult::default() });
        }
        Err(match (self.fields[0].as_slice(), &run.cwd) {
            (b"cd", Some(cwd)) => Error::new(ErrorCode::NotFound, format!("Failed to set cwd: {}", cwd.display())),
            (other, _) => Error::invalid(format!(
                "shell: the shell refuses the variable {:?} of env: it is read-only there",
                String::from_utf8_lossy(other).trim_start_matches("env ")
            )),
        })
    }
}

/// Splits a complete report into its fields; each ends with NUL. `None` if it is incomplete.
fn fields(report: &[u8]) -> Option<[Vec<u8>; 3]> {
    let mut parts = report.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let fields = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().map(|_| fields)
}

fn has_error_trap(listing: &str) -> bool {
    listing.lines().any(|line| line.ends_with(" ERR"))
}

/// Returns true if a name is valid for a shell variable.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = writeln!(text, "{line}");
}

/// Quotes a path as one word of a script.
///
/// # Errors
/// Returns an error if the path is not valid text.
pub(super) fn path(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        Error::invalid(format!("shell: the path {} is not UTF-8: no script can name it", path.display()))
    })?;
    Ok(if cfg!(windows) { quote(&text.replace('\\', "/")) } else { quote(text) })
}

/// Creates a private directory in the temporary directory that `env` names.
pub(super) fn folder(env: &Environment) -> io::Result<TempDir> {
    let names: &[&str] = if cfg!(windows) { &["TEMP", "TMP"] } else { &["TMPDIR"] };
    let named = names.iter().filter_map(|name| environment::value(env, name)).map(PathBuf::from);
    let place = named.into_iter().find(|place| place.is_absolute() && place.is_dir());
    let usual = || if cfg!(windows) { std::env::temp_dir() } else { "/tmp".into() };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix("sinew-shell-").tempdir_in(place.unwrap_or_else(usual))
}
