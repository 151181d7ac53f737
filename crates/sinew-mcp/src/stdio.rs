//! A server as a program of ours, over its standard streams.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sinew_process::kept::{self, Kept, KeptProgram};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;

use crate::client::{Client, ClientOptions};
use crate::core::Core;
use crate::era::Era;
use crate::error::McpError;
use crate::link::Link;
use crate::pipe::{PipeLink, too_late};

/// The time for which the end of standard error is waited for once a server is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The last bytes of standard error that are kept.
const STDERR_BYTES: usize = 64 * 1024;

/// A server to be started.
#[derive(Debug, Clone)]
pub struct StdioServer {
    /// The program that takes the role of a keeper: see [`sinew_process::kept`].
    pub keeper: PathBuf,
    /// The server with arguments, folder and its whole environment.
    pub program: KeptProgram,
}

impl Client {
    /// Starts a server and connects to it. It ends with the client, and with this process, whatever ends that.
    ///
    /// A server that ends when it is asked for its era, as some from before 2026-07-28 do, is started once more and
    /// greeted with the handshake.
    ///
    /// # Errors
    /// [`McpError::Start`] with the last line of its standard error when it cannot be started or is not ready in
    /// time; other errors as it answers.
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
        let started = tokio::task::spawn_blocking(move || kept::start(&keeper, &program)).await;
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
                // Its last words may still be on their way; whoever holds the pipe longer is not waited for.
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

    /// The last 64 KB that the server wrote to its standard error; empty over HTTP. Never for the model.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        match &*self.link {
            Link::Pipe(program) => text(&program.stderr.tail),
            _ => String::new(),
        }
    }

    /// The number of the server's process; none over HTTP.
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
    /// None once it was closed.
    kept: Mutex<Option<Kept>>,
}

impl Program {
    pub(crate) fn pipe(&self) -> &PipeLink {
        &self.pipe
    }

    /// Closes its standard input, so that it can leave by itself, and waits for its end.
    pub(crate) async fn close(&self) {
        self.pipe.close();
        let kept = self.kept.lock().take();
        if let Some(kept) = kept {
            // Fails only while the runtime is shut down; the keeper ends the program then as well.
            let _ = tokio::task::spawn_blocking(move || kept.close()).await;
        }
    }
}

/// Reads standard error always, so that the server never waits for somebody to do it.
struct StderrTail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when all of it was read.
    read: Arc<Semaphore>,
}

impl StderrTail {
    fn read(stderr: OwnedFd) -> std::io::Result<StderrTail> {
        let mut pipe = pipe::Receiver::from_owned_fd(stderr)?;
        let tail: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let kept = Arc::clone(&tail);
        let read = Arc::new(Semaphore::new(0));
        let end = Arc::clone(&read);
        // Ends with the pipe: the keeper ends every process that holds it.
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

/// `Last line on its stderr: …`, where there is one.
fn last_line(tail: &Mutex<VecDeque<u8>>) -> String {
    let text = text(tail);
    match text.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("Last line on its stderr: {}", line.chars().take(300).collect::<String>()),
        None => String::new(),
    }
}
