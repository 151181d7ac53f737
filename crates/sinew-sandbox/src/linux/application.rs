//! Applies a prepared sandbox to the calling process.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use super::filter::Instruction;
use super::landlock::{last_errno, restrict_self};
use super::namespace::set_namespace;
use super::notify::Connections;

/// Capabilities that root keeps: those that change files and users, and none that changes the sandbox.
const KEPT_BY_ROOT: u64 = 0b1111_1011;

/// Everything that a child needs to enter a sandbox.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) user: Option<OwnedFd>,
    pub(super) mount: Option<OwnedFd>,
    pub(super) network: Option<OwnedFd>,
    pub(super) ipc: Option<OwnedFd>,
    pub(super) ruleset: Option<OwnedFd>,
    pub(super) filter: Vec<Instruction>,
    /// The rules for `connect`, if a supervisor answers it.
    pub(super) connections: Option<Connections>,
}

impl Application {
    /// Applies the sandbox. The calling process must have a single thread, and must call exec or `_exit` next. Exec
    /// closes the descriptors from `lowest` on. The descriptor for the notifications is sent over `channel`.
    ///
    /// It does not allocate or lock, so that it can run between fork and exec.
    ///
    /// # Errors
    /// Returns an error if the system refuses a part. The process must not run the program then.
    pub(super) fn apply(&self, lowest: i32, channel: Option<BorrowedFd<'_>>) -> rustix::io::Result<()> {
        if self.filter.is_empty() {
            return Ok(());
        }
        let mut folder = [0u8; libc::PATH_MAX as usize];
        // SAFETY: the buffer belongs to this function and has the given length.
        let length = unsafe { libc::syscall(libc::SYS_getcwd, folder.as_mut_ptr(), folder.len()) };
        for namespace in [&self.user, &self.mount, &self.network, &self.ipc].into_iter().flatten() {
            set_namespace(namespace.as_fd())?;
        }
        if self.mount.is_some() {
            // Joining the namespaces moved the process to the root directory.
            let length = usize::try_from(length).map_err(|_| Errno::NOENT)?;
            let folder = CStr::from_bytes_until_nul(&folder[..length]).map_err(|_| Errno::NOENT)?;
            rustix::process::chdir(folder)?;
        }
        drop_capabilities()?;
        rustix::thread::set_no_new_privs(true)?;
        if let Some(ruleset) = &self.ruleset {
            restrict_self(ruleset.as_fd())?;
        }
        // SAFETY: the call only marks descriptors to be closed on exec, so no descriptor that is in use is closed.
        unsafe { libc::syscall(libc::SYS_close_range, lowest, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        self.install_filter(channel)
    }

    fn install_filter(&self, channel: Option<BorrowedFd<'_>>) -> rustix::io::Result<()> {
        let program = libc::sock_fprog {
            len: self.filter.len() as libc::c_ushort,
            filter: self.filter.as_ptr().cast_mut().cast(),
        };
        let flags = if self.connections.is_some() { libc::SECCOMP_FILTER_FLAG_NEW_LISTENER } else { 0 };
        // SAFETY: the program lives during the call, and its instructions have the kernel's layout and the given
        // length.
        let listener =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
        if listener < 0 {
            return Err(last_errno());
        }
        if self.connections.is_none() {
            return Ok(());
        }
        // SAFETY: the call returned a new descriptor.
        let listener = unsafe { OwnedFd::from_raw_fd(listener as i32) };
        send_descriptor(channel.ok_or(Errno::BADF)?, listener.as_fd())
    }
}

fn drop_capabilities() -> rustix::io::Result<()> {
    let kept = if rustix::process::geteuid().is_root() { KEPT_BY_ROOT } else { 0 };
    for capability in 0..64 {
        if kept & (1 << capability) == 0 {
            // SAFETY: the call only receives numbers. It fails for a capability that the kernel does not know, and for
            // a process that may not drop any and so has none.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        }
    }
    // SAFETY: the call only receives numbers, and only fails if the kernel does not support ambient sets.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let [low, high] = [kept as u32, (kept >> 32) as u32];
    // Version 3 of the interface, and the calling process; then the effective, permitted and inheritable halves.
    let header = [0x2008_0522u32, 0];
    let wanted = [low, low, 0, high, high, 0];
    let set = |sets: &[u32; 6]| {
        // SAFETY: both arrays have the kernel's layout and live during the call.
        unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) }
    };
    if set(&wanted) == 0 {
        return Ok(());
    }
    // If root lacks some of them, it keeps none.
    match set(&[0; 6]) {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// Sends a descriptor over a socket. Does not allocate.
fn send_descriptor(channel: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let mut byte = [b'l'];
    let mut space = [0u64; 4];
    // SAFETY: the pointers refer to our own buffers, which have the given lengths and live during the call. The first
    // header is in the buffer, which has space for one descriptor.
    let sent = unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(descriptor.as_raw_fd());
        libc::sendmsg(channel.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(last_errno()) }
}
