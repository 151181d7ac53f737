//! Shares a session: passes its HTML page to a program that publishes it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Stdio;

use sinew_tools::tool::cancelled;
use tokio::process::Command;

use super::{Control, ControlError};

/// The default command that publishes a page.
const GIST: &str = "gh gist create --public=false";

/// A directory for the page that only the user can read. Dropping it deletes it.
struct PrivateFolder(PathBuf);

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // If this fails, the system cleans its directory of temporary files eventually.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Control {
    /// Returns the command that publishes a page.
    pub fn share_command(&self) -> &str {
        self.app.startup.settings.share.command.as_deref().filter(|command| !command.is_empty()).unwrap_or(GIST)
    }

    /// Publishes the session, and returns the last link in the output of the command. [`Control::abort_bash`] cancels
    /// it.
    ///
    /// # Errors
    /// Returns an error if the command fails, prints no link or was cancelled.
    pub async fn share(&self) -> Result<String, ControlError> {
        let (running, cancel) = self.bash.begin();
        let name = format!("sinew-share-{:016x}", self.app.clock.random());
        let folder = PrivateFolder(std::env::temp_dir().join(name));
        DirBuilder::new().mode(0o700).create(&folder.0).map_err(|error| format!("{}: {error}", folder.0.display()))?;
        let page = self.export(Some(folder.0.join("session.html")), false).await?;
        let command = self.share_command();
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("{command} \"$1\"")).arg("sh").arg(&page);
        shell.current_dir(&self.app.startup.paths.cwd).stdin(Stdio::null()).kill_on_drop(true).process_group(0);
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        let ended = tokio::select! {
            ended = child.wait_with_output() => ended,
            () = cancelled(&cancel) => {
                // Also stops the programs that the shell started.
                let _ = group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
                return Err("sharing was cancelled".into());
            }
        };
        drop(running);
        let output = ended.map_err(|error| format!("`{command}`: {error}"))?;
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_string()
        };
        match (output.status.success(), last(&output.stdout)) {
            (true, link) if !link.is_empty() => Ok(link),
            (true, _) => Err(format!("`{command}` printed no link").into()),
            (false, _) if output.status.code() == Some(127) => {
                Err(format!("`{command}` was not found: set share.command, or use /export").into())
            }
            (false, _) => Err(format!("`{command}` failed ({}): {}", output.status, last(&output.stderr)).into()),
        }
    }
}
