//! One run of a hook's program: input, output, an end in time, and nothing left behind.

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

/// The exit and output of a program.
pub(super) struct ProcessOutput {
    /// None: by a signal.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Bytes of an answer at most.
const STDOUT: usize = 1 << 20;
/// Bytes of stderr that are kept.
const STDERR: usize = 16 << 10;
const SIGKILL: i32 = 9;

/// Runs the program in `cwd` with `input` on stdin, and kills what it started when it is over, when its time is up,
/// and when this future is dropped.
///
/// # Errors
/// It cannot be started, does not end in time, or says too much.
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
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", program.file.display()))?;
    let tree = Tree(child.id());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program need not read what it is told.
            let _ = stdin.write_all(&input).await;
        }
    };
    let work = async {
        let ended = async {
            let status = child.wait().await;
            // Nothing that it left behind may hold the pipes.
            drop(tree);
            status
        };
        let ((), stdout, stderr, status) = tokio::join!(write, whole(stdout, STDOUT), beginning(stderr), ended);
        let stdout = stdout.map_err(|error| format!("read its answer: {error}"))?;
        let status = status.map_err(|error| format!("wait for it: {error}"))?;
        if stdout.len() > STDOUT {
            return Err("its answer is larger than 1 MB".to_string());
        }
        Ok(ProcessOutput { code: status.code(), stdout, stderr })
    };
    let late = || format!("it did not end within {} ms", program.limit.as_millis());
    tokio::time::timeout(program.limit, work).await.unwrap_or_else(|_| Err(late()))
}

/// Up to one byte more than `limit`; then the pipe is closed.
async fn whole(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(limit as u64 + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// The beginning; the rest is read and thrown away, so that the program can go on.
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

/// A process and what it started; killed when this is dropped.
struct Tree(Option<u32>);

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(pid) = self.0 else { return };
        sinew::process::kill_tree(pid, SIGKILL);
        // Children whose parent is gone are in its group still.
        #[cfg(unix)]
        if let Some(group) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
            // It may be empty.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
