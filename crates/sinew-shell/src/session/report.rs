//! The report of the shell at the end of a command, and the state that the host keeps of it for the next one.

use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use sinew_base::{Error, ErrorCode, Result};

use super::traps;
use crate::environment::{function_name, value};
use crate::{Environment, RunOptions, RunResult};

/// The state of the shell that the next command has to find, as far as the shell does not keep it itself.
#[derive(Debug, Default)]
pub(super) struct ShellState {
    /// `$?`
    pub(super) status: i32,
    /// `$-`, with `A` for `expand_aliases`, `D` for `extdebug` if an abort has changed it, and `L` if `LINENO` is
    /// read-only.
    pub(super) options: String,
    /// `$_`
    pub(super) last_argument: Vec<u8>,
    pub(super) pipe_status: Vec<u8>,
    /// The definition of a function `builtin`.
    pub(super) builtin: Vec<u8>,
    /// The builtins that the script has disabled.
    pub(super) disabled: Vec<String>,
    /// A script that undoes the directory and variables of the last run.
    pub(super) undo: Vec<u8>,
    pub(super) handlers: traps::Handlers,
    /// True if the next command, or a function that it may call, can list all traps.
    pub(super) lists_traps: bool,
    /// True if the next command, or a function that it may call, can disable builtins.
    pub(super) may_disable: bool,
    /// True before the first command.
    pub(super) is_new: bool,
    /// True before the first command if a script that ran before it may have set traps.
    pub(super) may_have_traps: bool,
    /// The beginning of the names of the session, which no script can guess.
    pub(super) prefix: String,
}

impl ShellState {
    /// Returns the state of a shell that has not run a command. `snapshot` is true if it runs a snapshot.
    pub(super) fn new(env: &Environment, snapshot: bool) -> ShellState {
        let set = value(env, "SHELLOPTS").map(|set| set.to_string_lossy().into_owned()).unwrap_or_default();
        let letters = [("xtrace", 'x'), ("verbose", 'v')].into_iter();
        let random = RandomState::new().hash_one(0u8);
        ShellState {
            options: letters
                .filter(|(name, _)| set.split(':').any(|set| set == *name))
                .map(|(_, letter)| letter)
                .collect(),
            is_new: true,
            may_have_traps: snapshot || value(env, "BASH_ENV").is_some(),
            prefix: format!("__sinew_{random:016x}_"),
            ..ShellState::default()
        }
    }

    /// Returns true if a failed command before the next one would run an ERR trap, or end the shell.
    pub(super) fn fails_again(&self) -> bool {
        self.has('e') || self.handlers.error.is_some()
    }

    pub(super) fn has(&self, option: char) -> bool {
        self.options.contains(option)
    }

    /// Takes over what a report says. A shell that was stopped has an internal trap set.
    pub(super) fn update(&mut self, report: &Report, run: &RunOptions, was_stopped: bool) {
        let (disabled, handlers) = report.listing();
        self.options = report.options();
        self.status = report.status().unwrap_or(0);
        self.last_argument = report.field(LAST_ARGUMENT).to_vec();
        let codes = report.field(PIPE_STATUS).split(|byte| !byte.is_ascii_digit());
        self.pipe_status = codes.filter_map(|code| std::str::from_utf8(code).ok()?.parse().ok()).collect();
        self.builtin = report.field(BUILTIN).trim_ascii().to_vec();
        self.disabled = disabled;
        self.undo = report.undo(run);
        (self.is_new, self.may_have_traps) = (false, false);
        if !was_stopped {
            self.handlers = handlers;
        }
    }
}

/// The report of the shell. Each field ends with NUL: if the run has a directory or variables of its own, how to restore
/// the directory, and the variables; the disabled builtins and traps, status or error, options, options at an abort, last
/// argument, states of the pipeline, the function `builtin`, directory.
#[derive(Debug, Default)]
pub(super) struct Report {
    bytes: Vec<u8>,
    /// The number of fields that are complete.
    complete: usize,
    /// The number of fields before the others.
    saved: usize,
}

const LISTING: usize = 0;
const STATUS: usize = 1;
const OPTIONS: usize = 2;
const STOPPED: usize = 3;
const LAST_ARGUMENT: usize = 4;
const PIPE_STATUS: usize = 5;
const BUILTIN: usize = 6;
const DIRECTORY: usize = 7;
const FIELDS: usize = 8;

impl Report {
    /// Creates an empty report of a run; `saves` is true if the shell reports first what the run changes.
    pub(super) fn new(saves: bool) -> Report {
        Report { saved: if saves { 2 } else { 0 }, ..Report::default() }
    }

    /// Reads the available data. Returns true if the report is complete.
    pub(super) fn read(&mut self, from: &OwnedFd) -> std::io::Result<bool> {
        let mut buffer = [0; 4096];
        match rustix::io::read(from, &mut buffer) {
            Ok(count) => {
                let new = &buffer[..count];
                self.complete += new.iter().filter(|byte| **byte == 0).count();
                self.bytes.extend_from_slice(new);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
        Ok(self.complete >= FIELDS + self.saved)
    }

    fn field(&self, index: usize) -> &[u8] {
        self.bytes.split(|byte| *byte == 0).nth(index + self.saved).unwrap_or_default()
    }

    fn status(&self) -> Option<i32> {
        std::str::from_utf8(self.field(STATUS)).ok()?.parse().ok()
    }

    pub(super) fn result(&self, run: &RunOptions) -> Result<RunResult> {
        if let Some(status) = self.status() {
            return Ok(RunResult { exit_code: Some(status), ..RunResult::default() });
        }
        Err(match (self.field(STATUS), &run.cwd) {
            (b"cd", Some(cwd)) => Error::new(ErrorCode::NotFound, format!("Failed to set cwd: {}", cwd.display())),
            (other, _) => Error::invalid(format!(
                "shell: the shell refuses the variable {:?} of env: it is read-only there, or no valid function",
                String::from_utf8_lossy(other).trim_start_matches("env ")
            )),
        })
    }

    pub(super) fn directory(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let path = self.field(DIRECTORY);
        (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    }

    /// Returns the options that the script has set. An abort changes some, and reports those before it.
    fn options(&self) -> String {
        let text = |index| String::from_utf8_lossy(self.field(index)).into_owned();
        let (mut options, before) = (text(OPTIONS), text(STOPPED));
        if !before.is_empty() {
            options.retain(|option| option != 'T' || before.contains('T'));
            options.extend(before.chars().filter(|option| "eAD".contains(*option)));
        }
        options
    }

    /// Returns the disabled builtins and the traps.
    fn listing(&self) -> (Vec<String>, traps::Handlers) {
        let listing = String::from_utf8_lossy(self.field(LISTING));
        let mut rest = &*listing;
        let mut disabled = Vec::new();
        while let Some((name, after)) = rest.strip_prefix("enable -n ").and_then(|rest| rest.split_once('\n')) {
            disabled.push(name.to_string());
            rest = after;
        }
        (disabled, traps::Handlers::parse(rest))
    }

    /// Returns a script that restores the directory and the variables that the run has replaced.
    fn undo(&self, run: &RunOptions) -> Vec<u8> {
        if self.saved == 0 {
            return Vec::new();
        }
        let mut fields = self.bytes.split(|byte| *byte == 0);
        let mut script = fields.next().unwrap_or_default().to_vec();
        let entries = declarations(fields.next().unwrap_or_default());
        for (name, _) in run.env.iter().filter(|(name, _)| function_name(name).is_none()) {
            let declared = entries.iter().find_map(|entry| declared(entry, name.as_bytes()));
            let before = match declared {
                // Nothing could replace it.
                Some((attributes, _)) if attributes.contains(&b'r') => continue,
                Some((b"--", _)) => format!("builtin export -n {name}\n"),
                Some((b"-x", _)) => String::new(),
                _ => format!("builtin unset -v {name}\n"),
            };
            script.extend_from_slice(before.as_bytes());
            let Some((attributes, value)) = declared else { continue };
            script.extend([b"builtin declare ", attributes, b" ", name.as_bytes()].concat());
            // `builtin declare` takes no list.
            if value.starts_with(b"=(") {
                script.extend([b"\n", name.as_bytes()].concat());
            }
            script.extend_from_slice(value);
        }
        script
    }
}

/// Splits what `declare -p` prints. The values are quoted and may contain line breaks.
fn declarations(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut quote = None;
    while let Some(byte) = text.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if *byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'\n') => {
                found.push(&text[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Splits a line `declare -x NAME="value"` of this name into the attributes and what follows the name.
fn declared<'a>(entry: &'a [u8], name: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let entry = entry.strip_prefix(b"declare ")?;
    let attributes = &entry[..entry.iter().position(|byte| *byte == b' ')?];
    let value = entry[attributes.len() + 1..].strip_prefix(name)?;
    matches!(value.first(), Some(b'=' | b'\n')).then_some((attributes, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_declarations_as_bash_prints_them() {
        let script = "A=$'a\\nb\\'c'; B='\"x\n$y\\'; declare -x C=''; declare -a D=('1 2' $'\\n\"' 3); declare -i E; \
            declare -A F=(['k\n']='v\"'); declare -p A B C D E F";
        let output = std::process::Command::new("bash").args(["-c", script]).output().unwrap().stdout;
        let entries = declarations(&output);
        assert_eq!(entries.len(), 6, "{}", String::from_utf8_lossy(&output));
        for (entry, name) in entries.iter().zip(["A", "B", "C", "D", "E", "F"]) {
            assert!(declared(entry, name.as_bytes()).is_some(), "{}", String::from_utf8_lossy(entry));
        }
        assert_eq!(entries.concat(), output);
    }
}
