//! Scripted servers of the providers' protocols, on real local sockets.
//!
//! A [`Server`] listens on one port until it is dropped. Each request is recorded and passed to a function that answers
//! with a [`Reply`]: bytes cut anywhere, a stall, a reset, a wrong length. [`order`] rejects conversations that the
//! real servers reject.

pub mod order;
pub mod overflow;
mod transport;

pub use transport::Transport;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

/// A received request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The path and query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl RecordedRequest {
    /// Returns the value of a header by its lower-case name; `None` if it was not sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Each [`Step::Send`] is a chunk.
    Chunked,
    /// `Content-Length` over all sends.
    Length,
    /// The connection ends.
    Close,
    /// No head: the sends are the whole answer.
    Raw,
}

/// A step of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Writes bytes of the body at once.
    Send(Vec<u8>),
    /// Writes bytes of the body repeatedly, until the client has closed the connection.
    Repeat(Vec<u8>),
    /// Writes bytes outside of the framing, such as a broken chunk.
    Raw(Vec<u8>),
    /// Waits until the client has closed the connection, or the server ends.
    Hold,
    /// Waits until something is written to this pipe.
    Pipe(PathBuf),
    /// Ends the connection here, without the end marker of the framing.
    Cut,
    /// Ends the connection with a reset.
    Reset,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers, except those of the framing.
    pub headers: Vec<(String, String)>,
    /// The framing.
    pub framing: Framing,
    /// The steps after the head, in order.
    pub steps: Vec<Step>,
}

impl Reply {
    /// Creates a stream of server-sent events, sent in one chunk.
    #[must_use]
    pub fn stream(body: impl Into<Vec<u8>>) -> Reply {
        Reply {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            framing: Framing::Chunked,
            steps: vec![Step::Send(body.into())],
        }
    }

    /// Creates a JSON answer, for example for an error.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Reply {
        Reply::text(status, "application/json", &body.to_string())
    }

    /// Creates a text answer with a content type.
    #[must_use]
    pub fn text(status: u16, content_type: &str, body: &str) -> Reply {
        Reply {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            framing: Framing::Length,
            steps: vec![Step::Send(body.as_bytes().to_vec())],
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Compresses the answer as a gzip stream that is flushed after each step, like servers that compress events.
    #[must_use]
    pub fn gzip(mut self) -> Reply {
        self.headers.push(("content-encoding".into(), "gzip".into()));
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let mut last = None;
        for (at, step) in self.steps.iter_mut().enumerate() {
            if let Step::Send(bytes) = step {
                encoder.write_all(bytes).and_then(|()| encoder.flush()).expect("a vector takes all bytes");
                *bytes = std::mem::take(encoder.get_mut());
                last = Some(at);
            }
        }
        let end = encoder.finish().expect("a vector takes all bytes");
        // A stream that is cut or paused has no end.
        let whole = last.is_none_or(|last| last + 1 == self.steps.len());
        if let Some(Step::Send(bytes)) = last.filter(|_| whole).and_then(|last| self.steps.get_mut(last)) {
            bytes.extend(end);
        }
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: Step) -> Reply {
        self.steps.push(step);
        self
    }
}

type Answer = Box<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>;

#[derive(Default)]
struct RequestLog {
    requests: Vec<RecordedRequest>,
    /// The number of paused connections that the client has closed.
    released: usize,
}

struct Shared {
    answer: Answer,
    seen: Mutex<RequestLog>,
    changed: Condvar,
    open: Mutex<Vec<TcpStream>>,
    stop: AtomicBool,
}

/// A server that ends, with all its connections, when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that answers each request with the result of `answer`.
    ///
    /// # Panics
    /// Panics if no local port is free.
    pub fn start(answer: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the own machine has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            seen: Mutex::default(),
            changed: Condvar::new(),
            open: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let listener = std::thread::spawn(move || listen(&listener, &own));
        Server { address, shared, listener: Some(listener) }
    }

    /// Starts a server that answers the first request with the first reply and so on, and repeats the last one.
    pub fn replies(replies: Vec<Reply>) -> Server {
        let next = Mutex::new(replies.into_iter().collect::<std::collections::VecDeque<_>>());
        Server::start(move |_| {
            let mut next = next.lock();
            if next.len() > 1 {
                next.pop_front().expect("there is more than one")
            } else {
                next.front().cloned().unwrap_or_else(|| Reply::text(500, "text/plain", "the script has no reply"))
            }
        })
    }

    /// Returns `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.seen.lock().requests.clone()
    }

    /// Waits until the client has closed `count` paused connections.
    pub fn wait_released(&self, count: usize) {
        self.shared.changed.wait_while(&mut self.shared.seen.lock(), |seen| seen.released < count);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
        for socket in self.shared.open.lock().drain(..) {
            // The connection may have ended by itself.
            let _ = socket.shutdown(Shutdown::Both);
        }
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = socket else { continue };
        if let Ok(copy) = socket.try_clone() {
            let mut open = shared.open.lock();
            open.push(copy);
        }
        let shared = Arc::clone(shared);
        // If the client disconnects, its thread ends with an irrelevant error.
        std::thread::spawn(move || serve(socket, &shared));
    }
}

fn serve(socket: TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let peer = socket.peer_addr()?;
    let request = read_request(&socket)?;
    let Some(request) = request else {
        return Ok(());
    };
    let reply = (shared.answer)(&request);
    shared.seen.lock().requests.push(request);
    let done = play(&socket, &reply, shared);
    // The copy for the end of the server would keep the connection open.
    shared.open.lock().retain(|other| other.peer_addr().is_ok_and(|other| other != peer));
    done
}

fn read_request(socket: &TcpStream) -> io::Result<Option<RecordedRequest>> {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_string);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(RecordedRequest { method, path, headers, body }))
}

fn play(socket: &TcpStream, reply: &Reply, shared: &Shared) -> io::Result<()> {
    let mut out = socket;
    if reply.framing != Framing::Raw {
        let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match reply.framing {
            Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
            Framing::Length => {
                let length: usize =
                    reply.steps.iter().map(|step| if let Step::Send(bytes) = step { bytes.len() } else { 0 }).sum();
                head.push_str(&format!("content-length: {length}\r\n"));
            }
            Framing::Close | Framing::Raw => {}
        }
        head.push_str("\r\n");
        out.write_all(head.as_bytes())?;
    }
    for step in &reply.steps {
        match step {
            Step::Send(bytes) if reply.framing == Framing::Chunked => {
                if !bytes.is_empty() {
                    let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
                    out.write_all(&chunk)?;
                }
            }
            Step::Send(bytes) | Step::Raw(bytes) => out.write_all(bytes)?,
            Step::Repeat(bytes) => loop {
                // Limits the rate, so that unread data does not fill the memory of the test.
                std::thread::sleep(std::time::Duration::from_millis(1));
                if reply.framing == Framing::Chunked {
                    write!(out, "{:x}\r\n", bytes.len())?;
                }
                out.write_all(bytes)?;
                if reply.framing == Framing::Chunked {
                    out.write_all(b"\r\n")?;
                }
            },
            Step::Hold => {
                // The client sends nothing more: the read ends when it closes.
                let _ = io::copy(&mut &*socket, &mut io::sink());
                shared.seen.lock().released += 1;
                shared.changed.notify_all();
                return Ok(());
            }
            Step::Pipe(path) => drop(std::fs::read(path)?),
            Step::Cut => return socket.shutdown(Shutdown::Both),
            Step::Reset => return reset(socket, shared),
        }
    }
    if reply.framing == Framing::Chunked {
        out.write_all(b"0\r\n\r\n")?;
    }
    socket.shutdown(Shutdown::Write)
}

/// Resets the connection by closing a socket with a linger time of zero; the other copy must be dropped first.
fn reset(socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    let peer = socket.peer_addr()?;
    #[cfg(unix)]
    rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO))?;
    shared.open.lock().retain(|other| other.peer_addr().is_ok_and(|other| other != peer));
    Ok(())
}
