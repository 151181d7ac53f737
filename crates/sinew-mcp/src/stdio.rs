//! A server as a child process, over its standard streams.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sinew_process::supervision::{self, Kept, ProgramSpec};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;

use crate::client::{Client, ClientOptions};
use crate::core::Core;
use crate::era::Era;
use crate::error::McpError;
use crate::link::Link;
use crate::pipe::{PipeLink, too_late};

/// How long to wait for the end of standard error after a server has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many of the last bytes of standard error are kept.
const STDERR_BYTES: usize = 64 * 1024;

/// A server to start.
#[derive(Debug, Clone)]
pub struct StdioServer {
    /// The keeper program: see [`sinew_process::supervision`].
    pub keeper: PathBuf,
    /// The server with its arguments, directory and whole environment.
    pub program: ProgramSpec,
}

impl Client {
    /// Starts a server and connects to it. The server ends with the client, and with this process, even if the process
    /// is killed.
    ///
    /// Some servers from before 2026-07-28 exit when they are asked for their era. Such a server is started again, with
    /// the handshake.
    ///
    /// # Errors
    /// Returns [`McpError::Start`] with the last line of the server's standard error if it cannot be started or is not
    /// ready in time, or the server's error.
    pub async fn start(server: &StdioServer, options: &ClientOptions) -> Result<Client, McpError> {
        let first = Client::start_once(server, options).await;
        match first {
            Err(McpError::Closed(_)) if options.era.is_none() => {
                let options = ClientOptions { era: Some(Era::Legacy), ..options.clone() };
                Client::start_once(server, &options).await.map_err(|error| match error {
                    McpError::Closed(reason) => McpError::Start(reason),
                    other => other,
                })
            }
            Err(McpError::Closed(reason)) => Err(McpError::Start(reason)),
            other => other,
        }
    }

    async fn start_once(server: &StdioServer, options: &ClientOptions) -> Result<Client, McpError> {
        let core = Core::new(Arc::clone(&options.host), options.limits);
        let StdioServer { keeper, program } = server.clone();
        let started = tokio::task::spawn_blocking(move || supervision::start(&keeper, &program)).await;
        let (kept, pipes) = started
            .map_err(|error| McpError::Start(format!("failed to start the server: {error}")))?
            .map_err(|error| McpError::Start(error.to_string()))?;
        let opened = || {
            let input = pipe::Sender::from_owned_fd(pipes.stdin)?;
            let output = pipe::Receiver::from_owned_fd(pipes.stdout)?;
            Ok((PipeLink::open(&core, Box::new(input), Box::new(output)), StderrTail::read(pipes.stderr)?))
        };
        let (pipe, stderr) = opened().map_err(|cause: std::io::Error| {
            McpError::Start(format!("failed to open the pipes of the server: {cause}"))
        })?;
        let tail = Arc::clone(&stderr.tail);
        let read = Arc::clone(&stderr.read);
        let program = Program { pipe, stderr, pid: kept.pid(), kept: Mutex::new(Some(kept)) };
        let connecting = Client::connect(core, Link::Pipe(program), options);
        match tokio::time::timeout(options.start_limit, connecting).await {
            Ok(Err(McpError::Closed(reason))) => {
                // The last output may not have arrived yet. Do not wait for other processes that keep the pipe open.
                let _ = tokio::time::timeout(LAST_WORDS, read.acquire()).await;
                Err(McpError::Closed(match last_line(&tail) {
                    line if line.is_empty() => reason,
                    line => format!("{reason}. {line}"),
                }))
            }
            Ok(other) => other,
            Err(_) => {
                let text = format!("{} {}", too_late(options), last_line(&tail));
                Err(McpError::Start(text.trim_end().to_string()))
            }
        }
    }

    /// Returns the last 64 KB of the server's standard error; empty over HTTP. Never sent to the model.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        match &*self.link {
            Link::Pipe(program) => text(&program.stderr.tail),
            _ => String::new(),
        }
    }

    /// Returns the process id of the server; `None` over HTTP.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match &*self.link {
            Link::Pipe(program) => Some(program.pid),
            _ => None,
        }
    }
}

/// A running server.
pub(crate) struct Program {
    pipe: PipeLink,
    stderr: StderrTail,
    pid: u32,
    /// `None` after it was closed.
    kept: Mutex<Option<Kept>>,
}

impl Program {
    pub(crate) fn pipe(&self) -> &PipeLink {
        &self.pipe
    }

    /// Closes the standard input, so that the server can exit by itself, and waits for its end.
    pub(crate) async fn close(&self) {
        self.pipe.close();
        let kept = self.kept.lock().take();
        if let Some(kept) = kept {
            // Fails only during the shutdown of the runtime; the keeper ends the program in this case as well.
            let _ = tokio::task::spawn_blocking(move || kept.close()).await;
        }
    }
}

/// Always reads standard error, so that the server never blocks on it.
struct StderrTail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when everything was read.
    read: Arc<Semaphore>,
}

impl StderrTail {
    fn read(stderr: OwnedFd) -> std::io::Result<StderrTail> {
        let mut pipe = pipe::Receiver::from_owned_fd(stderr)?;
        let tail: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let kept = Arc::clone(&tail);
        let read = Arc::new(Semaphore::new(0));
        let end = Arc::clone(&read);
        // Ends with the pipe: the keeper ends every process that has it open.
        tokio::spawn(async move {
            let mut bytes = Vec::with_capacity(8 * 1024);
            while matches!(pipe.read_buf(&mut bytes).await, Ok(1..)) {
                let mut tail = kept.lock();
                tail.extend(bytes.drain(..));
                let surplus = tail.len().saturating_sub(STDERR_BYTES);
                tail.drain(..surplus);
            }
            end.close();
        });
        Ok(StderrTail { tail, read })
    }
}

fn text(tail: &Mutex<VecDeque<u8>>) -> String {
    let mut tail = tail.lock();
    String::from_utf8_lossy(tail.make_contiguous()).into_owned()
}

/// Returns `Last line on its stderr: …`; empty if there is no line.
fn last_line(tail: &Mutex<VecDeque<u8>>) -> String {
    let text = text(tail);
    match text.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("Last line on its stderr: {}", line.chars().take(300).collect::<String>()),
        None => String::new(),
    }
}
