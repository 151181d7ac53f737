//! Runs the program of a hook with input, output limits, a time limit, and cleanup of its processes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sinew_tools::child::Variables;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// The program of a hook.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub(super) file: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) limit: Duration,
}

/// The exit code and output of a program.
pub(super) struct ProcessOutput {
    /// The exit code; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// The maximum number of bytes of an answer.
const STDOUT: usize = 1 << 20;
/// The number of bytes of stderr that are kept.
const STDERR: usize = 16 << 10;
const SIGKILL: i32 = 9;

/// Runs the program in `cwd` with `input` on stdin. Kills all processes that it started when it exits, when its time is
/// up, and when this future is dropped.
///
/// # Errors
/// Returns an error if it cannot be started, exceeds its time limit, or writes too much.
pub(super) async fn run(
    program: &Program,
    cwd: &Path,
    environment: Variables,
    input: Vec<u8>,
) -> Result<ProcessOutput, String> {
    let mut command = Command::new(&program.file);
    command.args(&program.arguments).current_dir(cwd).env_clear().envs(environment);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("failed to start {}: {error}", program.file.display()))?;
    let tree = Tree(child.id());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program may ignore its input.
            let _ = stdin.write_all(&input).await;
        }
    };
    let work = async {
        let ended = async {
            let status = child.wait().await;
            // Kills remaining child processes, which could keep the pipes open.
            drop(tree);
            status
        };
        let ((), stdout, stderr, status) = tokio::join!(write, whole(stdout, STDOUT), beginning(stderr), ended);
        let stdout = stdout.map_err(|error| format!("failed to read its answer: {error}"))?;
        let status = status.map_err(|error| format!("failed to wait for it: {error}"))?;
        if stdout.len() > STDOUT {
            return Err("its answer is larger than 1 MB".to_string());
        }
        Ok(ProcessOutput { code: status.code(), stdout, stderr })
    };
    let late = || format!("it did not end within {} ms", program.limit.as_millis());
    tokio::time::timeout(program.limit, work).await.unwrap_or_else(|_| Err(late()))
}

/// Reads up to `limit + 1` bytes and closes the pipe.
async fn whole(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(limit as u64 + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Returns the beginning. The rest is read and discarded, so that the program does not block.
async fn beginning(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return kept };
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut piece).await {
        let room = STDERR.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..count.min(room)]);
    }
    kept
}

/// A process and its descendants, which are killed when this is dropped.
struct Tree(Option<u32>);

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(pid) = self.0 else { return };
        sinew::process::kill_tree(pid, SIGKILL);
        // Orphaned children are still in its process group.
        #[cfg(unix)]
        if let Some(group) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
            // The group may be empty.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
