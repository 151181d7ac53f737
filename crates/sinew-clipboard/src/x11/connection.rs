//! A connection with a time limit on every wait.

use parking_lot::Mutex;
use std::io::{self, ErrorKind, IoSlice};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use sinew_base::{Error, ErrorCode, Result};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt, CreateWindowAux, EventMask, Window, WindowClass};
use x11rb::reexports::x11rb_protocol::parse_display::{ConnectAddress, parse_display_with_file_exists_callback};
use x11rb::reexports::x11rb_protocol::xauth::{Family, get_auth};
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

x11rb::atom_manager! {
    /// The atoms of the clipboard.
    pub(super) Atoms: AtomsCookie {
        CLIPBOARD,
        TARGETS,
        INCR,
        UTF8_STRING,
        TEXT,
        TEXT_PLAIN: b"text/plain",
        TEXT_UTF8: b"text/plain;charset=utf-8",
        PNG: b"image/png",
        SINEW_DATA,
    }
}

/// A connection with an invisible window.
pub(super) struct Connection {
    pub(super) x: RustConnection<TimedStream>,
    pub(super) atoms: Atoms,
    pub(super) window: Window,
    pub(super) timeout: Duration,
}

impl Connection {
    /// # Errors
    /// Returns [`ErrorCode::Io`] if no server answers at `display` in time.
    pub(super) fn open(display: &str, timeout: Duration) -> Result<Connection> {
        let failed = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::Io, format!("clipboard: failed to reach the display {display:?}: {cause}"))
        };
        let parsed = parse_display_with_file_exists_callback(display, |_| false).map_err(|error| failed(&error))?;
        let mut reason = io::Error::from(ErrorKind::NotFound);
        if parsed.display.checked_add(6000).is_none() {
            return Err(failed(&"there is no such number"));
        }
        for address in parsed.connect_instruction() {
            let (stream, (family, peer)) = match reach(&address, timeout) {
                Ok(reached) => reached,
                Err(error) => {
                    reason = error;
                    continue;
                }
            };
            let stream = TimedStream { stream, until: Mutex::new(Instant::now() + timeout) };
            // Without a key the server decides whether to accept the connection.
            let (name, key) = get_auth(family, &peer, parsed.display).ok().flatten().unwrap_or_default();
            let screen = usize::from(parsed.screen);
            let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, name, key)
                .map_err(|error| failed(&error))?;
            return Connection::prepare(x, screen, timeout).map_err(|error| failed(&error));
        }
        Err(failed(&reason))
    }

    fn prepare(
        x: RustConnection<TimedStream>,
        screen: usize,
        timeout: Duration,
    ) -> Result<Connection, x11rb::errors::ReplyOrIdError> {
        let atoms = Atoms::new(&x)?.reply()?;
        let window = x.generate_id()?;
        let root = x.setup().roots.get(screen).ok_or(x11rb::errors::ConnectionError::UnknownError)?;
        let wanted = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        x.create_window(0, window, root.root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &wanted)?.check()?;
        Ok(Connection { x, atoms, window, timeout })
    }

    /// Extends the deadline, because the other side has responded.
    pub(super) fn extend_deadline(&self) {
        self.x.stream().limit(Instant::now() + self.timeout);
    }

    /// Waits until there is something to read, `wake` is readable or `until` has come. Returns true if `wake` is
    /// readable.
    pub(super) fn sleep(&self, wake: Option<&OwnedFd>, until: Option<Instant>) -> io::Result<bool> {
        let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
        let stream = self.x.stream().stream.as_fd();
        let mut fds = vec![PollFd::from_borrowed_fd(stream, PollFlags::IN)];
        fds.extend(wake.map(|wake| PollFd::new(wake, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(fds.get(1).is_some_and(|wake| !wake.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("window", &self.window).finish_non_exhaustive()
    }
}

/// A stream that never blocks for long.
pub(super) struct TimedStream {
    stream: DefaultStream,
    until: Mutex<Instant>,
}

impl TimedStream {
    fn limit(&self, until: Instant) {
        *self.until.lock() = until;
    }
}

impl Stream for TimedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let until = *self.until.lock();
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, mode.readable());
        interest.set(PollFlags::OUT, mode.writable());
        loop {
            let left = timespec(until.saturating_duration_since(Instant::now()));
            let mut fds = [PollFd::from_borrowed_fd(self.stream.as_fd(), interest)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer")),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&self, buffer: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.read(buffer, fds)
    }

    fn write(&self, buffer: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write(buffer, fds)
    }

    fn write_vectored(&self, buffers: &[IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write_vectored(buffers, fds)
    }
}

/// Connects within `timeout`. A local socket answers at once or is overloaded.
fn reach(address: &ConnectAddress<'_>, timeout: Duration) -> io::Result<(DefaultStream, (Family, Vec<u8>))> {
    match address {
        ConnectAddress::Socket(path) => {
            let abstract_name = SocketAddrUnix::new_abstract_name(path.as_bytes());
            let socket = abstract_name.and_then(|name| reach_local(&name));
            let socket = socket.or_else(|_| SocketAddrUnix::new(path.as_str()).and_then(|name| reach_local(&name)))?;
            DefaultStream::from_unix_stream(UnixStream::from(socket))
        }
        ConnectAddress::Hostname(host, port) => {
            let mut reason = io::Error::from(ErrorKind::NotFound);
            for address in (*host, *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, timeout) {
                    Ok(stream) => return DefaultStream::from_tcp_stream(stream),
                    Err(error) => reason = error,
                }
            }
            Err(reason)
        }
        _ => Err(ErrorKind::Unsupported.into()),
    }
}

fn reach_local(name: &SocketAddrUnix) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, name)?;
    Ok(socket)
}

fn timespec(wait: Duration) -> Timespec {
    // Rounded up, so that the thread does not wake before the deadline.
    Timespec::try_from(wait + Duration::from_nanos(1)).unwrap_or_default()
}
