//! Files that the user asked for and nobody else may read.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use sinew_session::files::{private, private_folder};

use crate::control::{Control, ControlError};

/// Writes a text into a folder of the agent's, as `NAME-TIME.END`, and gives the file.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(
    control: &Control,
    folder: &str,
    (name, end): (&str, &str),
    text: &str,
) -> Result<PathBuf, ControlError> {
    let folder = control.app.startup.paths.agent.join(folder);
    let file = folder.join(format!("{name}-{}.{end}", control.app.clock.now()));
    let failed = |error: io::Error| format!("failed to write {}: {error}", file.display());
    private_folder(&folder).map_err(failed)?;
    let mut options = OpenOptions::new();
    let mut out = private(options.write(true).create(true).truncate(true), &file).map_err(failed)?;
    out.write_all(text.as_bytes()).map_err(failed)?;
    Ok(file)
}
