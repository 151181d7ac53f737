//! Writes files that the user requested and that only the user can read.

use std::path::PathBuf;

use sinew_control::actions::{Control, ControlError};
use sinew_session::files::write_private;

/// Writes a text to a directory of the agent, as `NAME-TIME.END`, and returns the path.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(super) fn write(
    control: &Control,
    folder: &str,
    (name, end): (&str, &str),
    text: &str,
) -> Result<PathBuf, ControlError> {
    let folder = control.app.startup.paths.agent.join(folder);
    let file = folder.join(format!("{name}-{}.{end}", control.app.clock.now()));
    write_private(&file, text).map_err(|error| format!("failed to write {}: {error}", file.display()))?;
    Ok(file)
}
