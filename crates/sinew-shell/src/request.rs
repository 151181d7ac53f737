//! Validates the options of a run.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinew_base::{Error, ErrorCode, Result};

use crate::{RunOptions, ShellOptions, environment};

/// Why the state of a shell is lost whose command ended it.
pub(crate) const ENDED: &str = "the command ended the shell (exit, exec or set -e) or restricted it (set -r)";

/// Validates a run.
///
/// # Errors
/// Returns an error if the command contains a NUL character, a variable is invalid, or the directory cannot be used.
pub(crate) fn check(run: &RunOptions) -> Result<()> {
    if run.command.contains('\0') {
        return Err(Error::invalid("shell: the command contains a NUL character, which no shell supports"));
    }
    environment::check_run(&run.env)
}

/// Rejects a sandbox, because no supervisor would apply it.
///
/// # Errors
/// Returns an error if the options have a sandbox.
pub(crate) fn refuse_sandbox(shell: &ShellOptions) -> Result<()> {
    match shell.sandbox {
        Some(_) => Err(Error::new(ErrorCode::Unsupported, "shell: sandboxes are supported on Linux only")),
        None => Ok(()),
    }
}

/// # Errors
/// Returns `Failed to set cwd: …` if the directory cannot be entered.
pub(crate) fn check_cwd(cwd: Option<&Path>) -> Result<()> {
    let Some(cwd) = cwd else { return Ok(()) };
    let failed = |cause: std::io::Error| Error::io(format!("Failed to set cwd: {}", cwd.display()), &cause);
    if !std::fs::metadata(cwd).map_err(failed)?.is_dir() {
        // ERROR_DIRECTORY on Windows.
        #[cfg(windows)]
        return Err(failed(std::io::Error::from_raw_os_error(267)));
        #[cfg(unix)]
        return Err(failed(rustix::io::Errno::NOTDIR.into()));
    }
    #[cfg(unix)]
    rustix::fs::access(cwd, rustix::fs::Access::EXEC_OK).map_err(|cause| failed(cause.into()))?;
    Ok(())
}

/// Returns the file of the program that `argv` names.
///
/// # Errors
/// Returns an error if the list is empty, an argument contains a NUL character, or the name is not on `PATH`.
pub(crate) fn program(argv: &[String], env: &[(&OsStr, &OsStr)]) -> Result<OsString> {
    let Some(name) = argv.first().filter(|name| !name.is_empty()) else {
        return Err(Error::invalid("run: the list of arguments is empty; its first item is the program"));
    };
    if let Some(bad) = argv.iter().find(|arg| arg.contains('\0')) {
        return Err(Error::invalid(format!(
            "run: the argument {bad:?} contains a NUL character, which no program can receive"
        )));
    }
    // The system resolves a path when the program starts, relative to the working directory of the run.
    if name.contains('/') || cfg!(windows) && name.contains('\\') {
        return Ok(name.into());
    }
    let path = env.iter().find(|(name, _)| environment::is_same(name, "PATH")).map(|(_, value)| *value);
    environment::find_program(path, Path::new(name))
        .ok_or_else(|| Error::new(ErrorCode::NotFound, format!("run: no program {name:?} on PATH")))
}

/// Returns a line of script that reads the snapshot; `None` without a snapshot.
///
/// # Errors
/// Returns an error if the snapshot cannot be read.
pub(crate) fn snapshot(shell: &ShellOptions) -> Result<Option<String>> {
    let Some(path) = &shell.snapshot else { return Ok(None) };
    let failed = |cause: std::io::Error| {
        Error::io(format!("Failed to initialize shell: cannot read snapshot {}", path.display()), &cause)
    };
    let path = std::path::absolute(path).map_err(failed)?;
    std::fs::File::open(&path).and_then(|file| file.metadata()).map_err(failed)?;
    let text = path.to_str().ok_or_else(|| failed(std::io::Error::other("its name is not UTF-8")))?;
    Ok(Some(format!(". {} >/dev/null 2>&1", quote(text))))
}

/// Quotes any text as one word of a script.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
