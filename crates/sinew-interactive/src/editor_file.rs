//! A draft in a file, for the user's external editor.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A file that only the user can read; dropping it deletes the file.
pub(super) struct DraftFile {
    path: PathBuf,
}

impl DraftFile {
    /// Writes a draft. `number` makes the name unique.
    ///
    /// # Errors
    /// Returns an error if a temporary file cannot be written.
    pub(super) fn write(text: &str, number: u64) -> io::Result<DraftFile> {
        let file = DraftFile { path: std::env::temp_dir().join(format!("sinew-draft-{number:016x}.md")) };
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
        out.write_all(text.as_bytes())?;
        Ok(file)
    }

    /// Returns the command that opens the file in an editor. The shell parses `program`, which may include arguments.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("exec {program} \"$1\"")).arg("sh").arg(&self.path);
        command
    }

    /// Reads the current text.
    ///
    /// # Errors
    /// Returns an error if the file was deleted, or if it is not text.
    pub(super) fn read(&self) -> io::Result<String> {
        fs::read_to_string(&self.path)
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // The editor may have deleted the file.
        let _ = fs::remove_file(&self.path);
    }
}
