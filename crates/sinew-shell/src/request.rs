//! Checks of the options of a run.

use std::path::Path;

use rustix::fs::{Access, access};
use sinew_base::{Error, Result};

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

/// # Errors
/// `Failed to set cwd: …` when nobody can go there.
pub(crate) fn check_cwd(cwd: Option<&Path>) -> Result<()> {
    let Some(cwd) = cwd else { return Ok(()) };
    let failed = |cause: std::io::Error| Error::io(format!("Failed to set cwd: {}", cwd.display()), &cause);
    if !std::fs::metadata(cwd).map_err(failed)?.is_dir() {
        return Err(failed(rustix::io::Errno::NOTDIR.into()));
    }
    access(cwd, Access::EXEC_OK).map_err(|cause| failed(cause.into()))
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
    let text = path.to_str().ok_or_else(|| failed(rustix::io::Errno::ILSEQ.into()))?;
    Ok(Some(format!(". '{}' >/dev/null 2>&1", text.replace('\'', r"'\''"))))
}
