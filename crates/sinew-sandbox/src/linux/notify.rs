//! The supervisor of `connect`: checks the target of the call, and makes the connection itself. It also creates pairs
//! of datagram sockets, as pairs of sequenced packets, which preserve message boundaries too and cannot send to other
//! addresses.
//!
//! It never lets such a call continue, because another thread of the program could change the address after the check.
//! Only `sendto` continues: the network namespace refuses it, and the supervisor reports the address.

use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

use super::landlock::last_errno;
use crate::{Network, Refusal, RefusalKind};

/// The rules for connections.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    pub(super) network: Network,
    /// True if programs have their own network namespace, and therefore their own abstract sockets.
    pub(super) is_private: bool,
    pub(super) limits_sockets: bool,
    /// The sockets that are allowed.
    pub(super) sockets: Vec<PathBuf>,
    /// Directories in which sockets are allowed if they are newer than the sandbox.
    pub(super) areas: Vec<PathBuf>,
    /// The creation time of the sandbox, in seconds and nanoseconds.
    pub(super) created: (i64, u32),
}

/// A call that waits for its result.
struct Call {
    id: u64,
    thread: i32,
    number: i32,
    arguments: [u64; 6],
}

impl Call {
    /// Returns the descriptor of `connect`.
    fn socket(&self) -> i32 {
        self.arguments[0] as i32
    }

    fn is(&self, number: libc::c_long) -> bool {
        libc::c_long::from(self.number) == number
    }

    /// Returns the position of the address of `connect` or `sendto`, and its length.
    fn address(&self) -> (u64, usize) {
        let at = if self.is(libc::SYS_sendto) { 4 } else { 1 };
        (self.arguments[at], self.arguments[at + 1] as u32 as usize)
    }
}

/// The maximum length of an address in bytes.
const LONGEST_ADDRESS: usize = 128;

/// Answers calls until no process is left that can make one.
pub(super) fn serve(listener: OwnedFd, connections: &Connections, on_refusal: &mut dyn FnMut(Refusal)) {
    loop {
        let mut ready = [PollFd::new(&listener, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !ready[0].revents().contains(PollFlags::IN) {
            return;
        }
        let Some(call) = receive(listener.as_fd()) else { continue };
        if call.is(libc::SYS_socketpair) {
            answer(listener.as_fd(), call.id, make_pair(listener.as_fd(), &call));
            continue;
        }
        if call.is(libc::SYS_sendto) {
            let refusal = sent_outside(listener.as_fd(), &call);
            refusal.into_iter().for_each(&mut *on_refusal);
            go_on(listener.as_fd(), call.id);
            continue;
        }
        match decide(listener.as_fd(), &call, connections) {
            Ok(connect) if !connect.can_wait => answer(listener.as_fd(), call.id, connect.run()),
            Ok(connect) => {
                // Connects on another thread, so that other programs do not wait for this one.
                let id = call.id;
                let waiting = listener.try_clone().and_then(|listener| {
                    std::thread::Builder::new()
                        .name("sinew-connect".to_string())
                        .spawn(move || answer(listener.as_fd(), id, connect.run()))
                });
                if waiting.is_err() {
                    answer(listener.as_fd(), id, Err(Errno::AGAIN));
                }
            }
            Err((errno, refusal)) => {
                refusal.into_iter().for_each(&mut *on_refusal);
                answer(listener.as_fd(), call.id, Err(errno));
            }
        }
    }
}

fn receive(listener: BorrowedFd<'_>) -> Option<Call> {
    // SAFETY: the kernel requires zeros, and the structure lives during the call.
    let notification = unsafe {
        let mut notification: libc::seccomp_notif = std::mem::zeroed();
        match libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut notification) {
            0 => notification,
            // The caller has ended.
            _ => return None,
        }
    };
    Some(Call {
        id: notification.id,
        thread: notification.pid.cast_signed(),
        number: notification.data.nr,
        arguments: notification.data.args,
    })
}

fn answer(listener: BorrowedFd<'_>, id: u64, result: rustix::io::Result<()>) {
    let error = result.err().map_or(0, |errno| -errno.raw_os_error());
    let mut response = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
    // SAFETY: the structure lives during the call. A caller that has ended needs no result.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw mut response) };
}

/// Lets a call continue, which is only correct if another mechanism refuses it.
fn go_on(listener: BorrowedFd<'_>, id: u64) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let mut response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
    // SAFETY: the structure lives during the call. A caller that has ended needs no result.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw mut response) };
}

/// Returns the refusal of a message to an internet address.
fn sent_outside(listener: BorrowedFd<'_>, call: &Call) -> Option<Refusal> {
    let address = read_address(call).ok().filter(|_| is_waiting(listener, call.id))?;
    match i32::from(family(&address)) {
        libc::AF_INET | libc::AF_INET6 => {
            Some(Refusal { kind: RefusalKind::Network, target: internet_target(&address) })
        }
        _ => None,
    }
}

/// Returns the family of an address.
fn family(address: &[u8]) -> u16 {
    address.get(..2).map_or(0, |family| u16::from_ne_bytes([family[0], family[1]]))
}

fn is_waiting(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the number lives during the call.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &raw const id) == 0 }
}

/// Creates a pair of sockets for the program instead of a pair of datagram sockets.
fn make_pair(listener: BorrowedFd<'_>, call: &Call) -> rustix::io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let [_, kind, _, place, ..] = call.arguments;
    let has = |flag: libc::c_int| kind as i32 & flag != 0;
    let nonblocking = if has(libc::SOCK_NONBLOCK) { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC | nonblocking, None)?;
    let flags = if has(libc::SOCK_CLOEXEC) { libc::O_CLOEXEC as u32 } else { 0 };
    let pass = |socket: &OwnedFd| {
        let srcfd = socket.as_raw_fd().cast_unsigned();
        let request = libc::seccomp_notif_addfd { id: call.id, flags: 0, srcfd, newfd: 0, newfd_flags: flags };
        // SAFETY: the request lives during the call.
        match unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD as _, &raw const request) } {
            number if number >= 0 => Ok(number),
            _ => Err(last_errno()),
        }
    };
    let mut numbers = [pass(&pair.0)?, pass(&pair.1)?];
    if !is_waiting(listener, call.id) {
        return Err(Errno::SRCH);
    }
    let ours = libc::iovec { iov_base: numbers.as_mut_ptr().cast(), iov_len: size_of_val(&numbers) };
    let theirs = libc::iovec { iov_base: place as usize as *mut libc::c_void, iov_len: size_of_val(&numbers) };
    // SAFETY: our buffer has the given length. The other address belongs to the program, and the kernel checks it.
    match unsafe { libc::process_vm_writev(call.thread, &raw const ours, 1, &raw const theirs, 1, 0) } {
        8 => Ok(()),
        _ => Err(Errno::FAULT),
    }
}

/// An allowed connection.
struct Connect {
    socket: OwnedFd,
    address: Vec<u8>,
    /// Keeps the socket's file open while the address refers to it.
    _file: Option<OwnedFd>,
    can_wait: bool,
}

impl Connect {
    fn run(self) -> rustix::io::Result<()> {
        let length = self.address.len() as libc::socklen_t;
        // SAFETY: the address belongs to us and has the given length; the kernel checks its contents.
        match unsafe { libc::connect(self.socket.as_raw_fd(), self.address.as_ptr().cast(), length) } {
            0 => Ok(()),
            _ => Err(last_errno()),
        }
    }
}

type ConnectRefusal = (Errno, Option<Refusal>);

fn decide(listener: BorrowedFd<'_>, call: &Call, connections: &Connections) -> Result<Connect, ConnectRefusal> {
    let plain = |errno: Errno| (errno, None);
    let address = read_address(call).map_err(plain)?;
    let socket = take_socket(call).map_err(plain)?;
    if !is_waiting(listener, call.id) {
        return Err(plain(Errno::SRCH));
    }
    let flags = rustix::fs::fcntl_getfl(&socket).map_err(plain)?;
    let can_wait = !flags.contains(OFlags::NONBLOCK);
    let domain = rustix::net::sockopt::socket_domain(&socket).map_err(plain)?;
    let connect = |address, file| Connect { socket, address, _file: file, can_wait };
    // Connecting to this address family dissolves a connection.
    if i32::from(family(&address)) == libc::AF_UNSPEC {
        return Ok(connect(address, None));
    }
    match i32::from(domain.as_raw()) {
        libc::AF_UNIX if connections.limits_sockets => {
            let (file, address) = unix_address(call, &address, connections)?;
            Ok(connect(address, file))
        }
        libc::AF_INET | libc::AF_INET6 if connections.network == Network::Off => {
            let refusal = Refusal { kind: RefusalKind::Network, target: internet_target(&address) };
            Err((Errno::NETUNREACH, Some(refusal)))
        }
        libc::AF_UNIX => {
            // A relative path is relative to the program's directory.
            let (file, address) = match unix_path(&address) {
                Some(path) => {
                    let file = open_for(call, path).map_err(plain)?;
                    let address = address_of(&file);
                    (Some(file), address)
                }
                None => (None, address),
            };
            Ok(connect(address, file))
        }
        _ => Ok(connect(address, None)),
    }
}

/// Checks the address of a Unix socket, and returns an address of the same file for this process.
fn unix_address(
    call: &Call,
    address: &[u8],
    connections: &Connections,
) -> Result<(Option<OwnedFd>, Vec<u8>), ConnectRefusal> {
    let refuse = |target: String| (Errno::ACCESS, Some(Refusal { kind: RefusalKind::Socket, target: Some(target) }));
    let Some(path) = unix_path(address) else {
        return match connections.is_private {
            true => Ok((None, address.to_vec())),
            false => {
                let name = address.get(3..).unwrap_or_default();
                Err(refuse(format!("@{}", sinew_base::lossy(name))))
            }
        };
    };
    let file = open_for(call, path).map_err(|errno| (errno, None))?;
    if !is_allowed(&file, connections).map_err(|errno| (errno, None))? {
        return Err(refuse(sinew_base::lossy(path.as_os_str().as_bytes()).to_string()));
    }
    let address = address_of(&file);
    Ok((Some(file), address))
}

/// Returns the path in an address; `None` for an abstract one.
fn unix_path(address: &[u8]) -> Option<&Path> {
    let path = address.get(2..)?.split(|byte| *byte == 0).next()?;
    (!path.is_empty()).then(|| Path::new(OsStr::from_bytes(path)))
}

/// Opens a path as the program sees it, including links.
fn open_for(call: &Call, path: &Path) -> rustix::io::Result<OwnedFd> {
    let of_thread = |name: &str| format!("/proc/{}/{name}", call.thread);
    let root = rustix::fs::open(of_thread("root"), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let folder = match path.is_absolute() {
        true => PathBuf::new(),
        false => {
            let folder = rustix::fs::readlink(of_thread("cwd"), Vec::new())?;
            PathBuf::from(OsStr::from_bytes(folder.as_bytes()))
        }
    };
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(&root, folder.join(path), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn address_of(file: &OwnedFd) -> Vec<u8> {
    let mut address = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    address.extend_from_slice(format!("/proc/self/fd/{}\0", file.as_raw_fd()).as_bytes());
    address
}

fn is_allowed(file: &OwnedFd, connections: &Connections) -> rustix::io::Result<bool> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let data = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted)?;
    if !FileType::from_raw_mode(data.stx_mode.into()).is_socket() {
        // The connection fails in any case.
        return Ok(true);
    }
    let device = rustix::fs::makedev(data.stx_dev_major, data.stx_dev_minor);
    let is_listed = connections.sockets.iter().any(|socket| {
        rustix::fs::stat(socket).is_ok_and(|listed| (listed.st_dev, listed.st_ino) == (device, data.stx_ino))
    });
    if is_listed {
        return Ok(true);
    }
    let path = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new())?;
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let is_new = data.stx_mask & StatxFlags::BTIME.bits() != 0
        && (data.stx_btime.tv_sec, data.stx_btime.tv_nsec) > connections.created;
    Ok(is_new && connections.areas.iter().any(|area| path.starts_with(area)))
}

fn read_address(call: &Call) -> rustix::io::Result<Vec<u8>> {
    let (place, length) = call.address();
    if length > LONGEST_ADDRESS {
        return Err(Errno::INVAL);
    }
    let mut address = vec![0; length];
    let ours = libc::iovec { iov_base: address.as_mut_ptr().cast(), iov_len: address.len() };
    let theirs = libc::iovec { iov_base: place as usize as *mut libc::c_void, iov_len: length };
    // SAFETY: our buffer has the given length. The other address belongs to the program, and the kernel checks it.
    let count = unsafe { libc::process_vm_readv(call.thread, &raw const ours, 1, &raw const theirs, 1, 0) };
    match usize::try_from(count) {
        Ok(count) if count == length => Ok(address),
        Ok(_) => Err(Errno::FAULT),
        Err(_) => Err(last_errno()),
    }
}

/// Duplicates the program's descriptor.
fn take_socket(call: &Call) -> rustix::io::Result<OwnedFd> {
    /// Requests a descriptor of a thread, which requires Linux 6.9.
    const OF_THREAD: u32 = libc::O_EXCL as u32;
    let open = |process: i32, flags: u32| {
        // SAFETY: the call only receives numbers.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_open, process, flags) };
        descriptor(result)
    };
    let process = open(call.thread, OF_THREAD).or_else(|_| open(leader(call.thread).unwrap_or(call.thread), 0))?;
    // SAFETY: the call only receives numbers.
    descriptor(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), call.socket(), 0) })
}

fn descriptor(result: libc::c_long) -> rustix::io::Result<OwnedFd> {
    match i32::try_from(result) {
        // SAFETY: the calls return a new descriptor.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(last_errno()),
    }
}

/// Returns the process of a thread.
fn leader(thread: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

fn internet_target(address: &[u8]) -> Option<String> {
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    let ip = match address.len() {
        28.. => IpAddr::from(<[u8; 16]>::try_from(address.get(8..24)?).ok()?),
        _ => IpAddr::from(<[u8; 4]>::try_from(address.get(4..8)?).ok()?),
    };
    Some(SocketAddr::new(ip, port).to_string())
}

/// Receives the descriptor of the notifications; `None` if the program ended without one.
pub(super) fn receive_listener(channel: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8];
    loop {
        match recvmsg(channel, &mut [io::IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(_) => break,
        }
    }
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_addresses() {
        let v4 = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(internet_target(&v4).as_deref(), Some("127.0.0.1:8080"));
        let mut v6 = vec![10, 0, 0, 80, 0, 0, 0, 0];
        v6.extend([0; 15]);
        v6.extend([1, 0, 0, 0, 0]);
        assert_eq!(internet_target(&v6).as_deref(), Some("[::1]:80"));
        assert_eq!(internet_target(&[2, 0]), None);
        assert_eq!(unix_path(b"\x01\0/a/b\0rest"), Some(Path::new("/a/b")));
        assert_eq!(unix_path(b"\x01\0\0abstract"), None);
        assert_eq!(unix_path(b"\x01\0"), None);
    }
}
