//! Checks of the options of a run.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinew_base::{Error, ErrorCode, Result};

use crate::{RunOptions, ShellOptions, environment};

/// Refuses what no shell can take.
///
/// # Errors
/// A NUL in the command, a bad variable, a directory that cannot be used.
pub(crate) fn check(run: &RunOptions) -> Result<()> {
    if run.command.contains('\0') {
        return Err(Error::invalid("shell: the command holds a NUL character: no shell can take it"));
    }
    environment::check_run(&run.env)
}

/// Refuses a sandbox where no supervisor applies it.
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
/// `Failed to set cwd: …` when nobody can go there.
pub(crate) fn check_cwd(cwd: Option<&Path>) -> Result<()> {
    let Some(cwd) = cwd else { return Ok(()) };
    let failed = |cause: std::io::Error| Error::io(format!("Failed to set cwd: {}", cwd.display()), &cause);
    if !std::fs::metadata(cwd).map_err(failed)?.is_dir() {
        // ERROR_DIRECTORY of Windows.
        #[cfg(windows)]
        return Err(failed(std::io::Error::from_raw_os_error(267)));
        #[cfg(unix)]
        return Err(failed(rustix::io::Errno::NOTDIR.into()));
    }
    #[cfg(unix)]
    rustix::fs::access(cwd, rustix::fs::Access::EXEC_OK).map_err(|cause| failed(cause.into()))?;
    Ok(())
}

/// The file of the program that `argv` names.
///
/// # Errors
/// An empty list; an argument with a NUL; a name that is not on `PATH`.
pub(crate) fn program(argv: &[String], env: &[(&OsStr, &OsStr)]) -> Result<OsString> {
    let Some(name) = argv.first().filter(|name| !name.is_empty()) else {
        return Err(Error::invalid("run: the list of arguments is empty; its first item is the program"));
    };
    if let Some(bad) = argv.iter().find(|arg| arg.contains('\0')) {
        return Err(Error::invalid(format!("run: the argument {bad:?} holds a NUL character: no program can take it")));
    }
    // A path is looked at by the system when it starts: from the working directory of the run.
    if name.contains('/') || cfg!(windows) && name.contains('\\') {
        return Ok(name.into());
    }
    let path = env.iter().find(|(name, _)| environment::is_same(name, "PATH")).map(|(_, value)| *value);
    environment::find_program(path, Path::new(name))
        .ok_or_else(|| Error::new(ErrorCode::NotFound, format!("run: no program {name:?} on PATH")))
}

/// A line of script that reads the snapshot, if there is one.
///
/// # Errors
/// A snapshot that cannot be read.
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

/// One word of a script, whatever it holds.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
