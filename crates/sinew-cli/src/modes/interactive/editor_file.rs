//! A draft in a file, for an editor that the user brings.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A file that only the user can read; dropping it removes it.
pub(super) struct DraftFile {
    path: PathBuf,
}

impl DraftFile {
    /// Writes a draft. `number` makes the name.
    ///
    /// # Errors
    /// There is no place for temporary files.
    pub(super) fn write(text: &str, number: u64) -> io::Result<DraftFile> {
        let file = DraftFile { path: std::env::temp_dir().join(format!("sinew-draft-{number:016x}.md")) };
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
        out.write_all(text.as_bytes())?;
        Ok(file)
    }

    /// The editor on the file. `program` may have arguments, as the shell reads them.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("exec {program} \"$1\"")).arg("sh").arg(&self.path);
        command
    }

    /// The text that it holds now.
    ///
    /// # Errors
    /// It is gone, or no text.
    pub(super) fn read(&self) -> io::Result<String> {
        fs::read_to_string(&self.path)
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // An editor may have removed it.
        let _ = fs::remove_file(&self.path);
    }
}
