//! `tui.statusCommand`: a program of the user that writes the right part of the status row.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use sinew_tui::{AnsiReader, Line};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy, sink};
use tokio::process::Command;
use tokio::time::{Instant as Moment, timeout_at};

use super::blocks::DIM;

/// The minimum interval between two starts.
const PAUSE: Duration = Duration::from_millis(300);
/// The time limit of the command.
const LIMIT: Duration = Duration::from_secs(2);
/// The maximum number of bytes of its first line.
const LONGEST: u64 = 16 << 10;

/// The command, its last input, and its output.
#[derive(Default)]
pub(super) struct StatusCommand {
    command: Option<String>,
    given: String,
    pub(super) shown: Option<Line>,
    is_running: bool,
    /// The command is not started again before this time.
    rests_until: Option<Instant>,
    /// True if the newest input was not passed to the command yet.
    waits: bool,
    told: String,
}

impl StatusCommand {
    pub(super) fn new(command: Option<&str>) -> StatusCommand {
        let command = command.filter(|command| !command.trim().is_empty()).map(str::to_string);
        StatusCommand { command, ..StatusCommand::default() }
    }

    pub(super) fn is_set(&self) -> bool {
        self.command.is_some()
    }

    /// Returns the command if it should be started with this input; `None` if the input is unchanged, the command is
    /// running, or it was started recently.
    pub(super) fn begin(&mut self, input: &str, now: Instant) -> Option<String> {
        self.waits = input != self.given;
        if !self.waits || self.is_running || self.rests_until.is_some_and(|until| now < until) {
            return None;
        }
        (self.is_running, self.waits) = (true, false);
        self.rests_until = Some(now + PAUSE);
        input.clone_into(&mut self.given);
        self.command.clone()
    }

    /// Returns the time at which it should be started again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.rests_until.filter(|_| self.waits && !self.is_running)
    }

    /// Records its output; returns an error that was not reported before.
    pub(super) fn end(&mut self, wrote: Result<String, String>) -> Option<String> {
        self.is_running = false;
        let fault = match wrote {
            Ok(line) => {
                self.shown = Some(AnsiReader::new().line(&line, DIM));
                String::new()
            }
            Err(fault) => {
                self.shown = None;
                fault
            }
        };
        let is_new = !fault.is_empty() && fault != self.told;
        self.told.clone_from(&fault);
        is_new.then(|| format!("tui.statusCommand: {fault}"))
    }
}

/// Runs the command with an input, and returns the first line of its output. Kills the command and its children after
/// two seconds.
///
/// # Errors
/// Returns an error if the command times out, fails or cannot be started.
pub(super) async fn run(command: &str, input: &str, cwd: &Path) -> Result<String, String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).current_dir(cwd).kill_on_drop(true).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = shell.spawn().map_err(|error| error.to_string())?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let end = Moment::now() + LIMIT;
    let mut line = Vec::new();
    let ended = timeout_at(end, async {
        if let Some(mut stdin) = stdin {
            // The command may ignore its input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        if let Some(stdout) = stdout {
            let mut stdout = BufReader::new(stdout);
            (&mut stdout).take(LONGEST).read_until(b'\n', &mut line).await?;
            copy(&mut stdout, &mut sink()).await?;
        }
        child.wait().await
    });
    let ended = ended.await;
    if ended.is_err() {
        // Also kills the programs that the shell started.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    }
    let text = String::from_utf8_lossy(&line).trim_end().to_string();
    match ended {
        _ if !text.is_empty() => Ok(text),
        Err(_) => Err(format!("it printed nothing within {} s", LIMIT.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(status)) if !status.success() => Err(format!("it failed ({status})")),
        // There was no output.
        Ok(Ok(_)) => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_runs_on_changes_and_not_too_often() {
        let (now, ms) = (Instant::now(), Duration::from_millis);
        let mut command = StatusCommand::new(Some("x"));
        assert_eq!(command.begin("a", now), Some("x".into()));
        assert_eq!((command.begin("b", now + ms(400)), command.due()), (None, None), "it runs");
        assert_eq!(command.end(Ok("\u{1b}[31mred\u{1b}[2J\u{7}".into())), None);
        assert_eq!(command.shown.as_ref().map(Line::text), Some("red"));
        assert_eq!(command.begin("b", now + ms(200)), None, "it rests");
        assert_eq!(command.due(), Some(now + ms(300)));
        assert_eq!(command.begin("b", now + ms(300)), Some("x".into()));
        assert_eq!(command.end(Err("no".into())), Some("tui.statusCommand: no".into()));
        assert!(command.shown.is_none());
        assert_eq!((command.begin("b", now + ms(900)), command.due()), (None, None), "nothing has changed");
        command.begin("c", now + ms(900));
        assert_eq!(command.end(Err("no".into())), None, "told once");
        assert_eq!(StatusCommand::new(Some(" ")).begin("a", now), None);
    }

    #[tokio::test]
    async fn the_first_line_of_its_output_is_used() {
        let run = |command: &'static str| run(command, "{\"a\": 1}", Path::new("/"));
        for (command, expect) in [
            ("cat; echo; echo more", Ok("{\"a\": 1}")),
            // The command ignores its input, and writes more than fits into a pipe.
            ("echo one; seq 100000", Ok("one")),
            ("true", Ok("")),
            ("exit 3", Err("it failed (exit status: 3)")),
            ("echo said; exit 3", Ok("said")),
        ] {
            assert_eq!(run(command).await.as_deref().map_err(String::as_str), expect, "{command}");
        }
    }
}
