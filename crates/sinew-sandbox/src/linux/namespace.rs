//! Namespaces that are created once and kept open by descriptors, without a process in them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::landlock::{Ruleset, last_errno};

/// A change to the mounts of a namespace. It is executed in a child of a process with several threads, so it must not
/// allocate.
#[derive(Debug)]
pub(super) enum Step {
    /// Stops the propagation of later mounts from outside.
    MakePrivate,
    /// Stores a copy of the mounts at a path for [`Step::Attach`]. Does nothing if the path does not exist.
    Copy { path: CString, slot: usize },
    /// Makes every mount read-only.
    MakeAllReadOnly,
    /// Mounts a stored copy.
    Attach { slot: usize, path: CString },
    /// Mounts an empty tmpfs. Does nothing if the path does not exist.
    Memory { path: CString, mode: CString },
    /// Binds a path to another one, or to itself. Does nothing if the path does not exist any more.
    Bind { from: CString, to: CString, read_only: bool },
    /// Mounts an empty directory that cannot be opened. Does nothing if the path does not exist any more.
    HideDirectory { path: CString },
    /// Enables the loopback interface.
    LoopbackUp,
    /// Sets the address of the loopback interface without enabling it, because programs that list the interfaces expect
    /// one.
    LoopbackAddress,
    /// Lets programs change everything below a path. Does nothing if the path does not exist.
    Allow { path: CString },
}

/// Converts a path for system calls. A path with a NUL cannot exist; it becomes an empty one, which is never found.
pub(super) fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// The namespaces to create.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamespaceSet {
    pub(super) user: bool,
    pub(super) network: bool,
    pub(super) ipc: bool,
}

/// Namespaces that programs can join.
#[derive(Debug)]
pub(super) struct Namespaces {
    pub(super) user: Option<OwnedFd>,
    pub(super) mount: OwnedFd,
    pub(super) network: Option<OwnedFd>,
    pub(super) ipc: Option<OwnedFd>,
    /// The root directory, with the mounts of the namespace.
    root: OwnedFd,
}

/// A step that failed, by its index, and the system's error. The index is `usize::MAX` before the first step.
#[derive(Debug)]
pub(super) struct StepError {
    pub(super) step: usize,
    pub(super) cause: io::Error,
}

impl From<io::Error> for StepError {
    fn from(cause: io::Error) -> StepError {
        StepError { step: usize::MAX, cause }
    }
}

impl From<Errno> for StepError {
    fn from(cause: Errno) -> StepError {
        StepError { step: usize::MAX, cause: cause.into() }
    }
}

/// The index that a child reports after all steps have succeeded.
const DONE: u32 = u32::MAX - 1;

impl Namespaces {
    /// Creates namespaces and executes the steps in them.
    ///
    /// # Errors
    /// Returns an error if the system refuses the namespaces or a step.
    pub(super) fn create(
        wanted: NamespaceSet,
        steps: &[Step],
        ruleset: Option<&Ruleset>,
    ) -> Result<Namespaces, StepError> {
        let mut flags = libc::CLONE_NEWNS;
        for (wanted, flag) in
            [(wanted.user, libc::CLONE_NEWUSER), (wanted.network, libc::CLONE_NEWNET), (wanted.ipc, libc::CLONE_NEWIPC)]
        {
            flags |= if wanted { flag } else { 0 };
        }
        let maps = if wanted.user { Some(Maps::of_caller()?) } else { None };
        let mut slots = room(steps);
        let child = Child::fork(|socket| {
            // SAFETY: the call only receives a number.
            if unsafe { libc::unshare(flags) } != 0 {
                return Err((u32::MAX, last_errno()));
            }
            report(socket, 0, None);
            wait_for_byte(socket);
            carry_out(steps, &mut slots, ruleset)
        })?;
        child.receive()?;
        if let Some(maps) = maps {
            maps.write(child.pid)?;
        }
        child.go_on();
        child.receive()?;
        let open = |name: &str, flags| {
            let path = format!("/proc/{}/{name}", child.pid);
            rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
        };
        let namespace = |name: &str, wanted: bool| wanted.then(|| open(name, OFlags::RDONLY)).transpose();
        Ok(Namespaces {
            user: namespace("ns/user", wanted.user)?,
            mount: open("ns/mnt", OFlags::RDONLY)?,
            network: namespace("ns/net", wanted.network)?,
            ipc: namespace("ns/ipc", wanted.ipc)?,
            root: open("root", OFlags::PATH | OFlags::DIRECTORY)?,
        })
    }

    /// Executes further steps. Programs may run in the namespaces at the same time.
    ///
    /// # Errors
    /// Returns an error if the system refuses a step.
    pub(super) fn change(&self, steps: &[Step]) -> Result<(), StepError> {
        let mut slots = room(steps);
        let child = Child::fork(|_| {
            self.join().map_err(|errno| (u32::MAX, errno))?;
            carry_out(steps, &mut slots, None)
        })?;
        child.receive()
    }

    /// Moves the calling process, which must have a single thread, into the namespaces.
    fn join(&self) -> rustix::io::Result<()> {
        for namespace in [self.user.as_ref(), Some(&self.mount)].into_iter().flatten() {
            set_namespace(namespace.as_fd())?;
        }
        Ok(())
    }

    /// Returns true if a mount covers an absolute path in the namespaces; `None` if the path does not exist there.
    pub(super) fn is_covered(&self, path: &Path) -> Option<bool> {
        let below = path.strip_prefix("/").unwrap_or(path);
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let found = rustix::fs::statx(&self.root, below, flags, StatxFlags::MODE).ok()?;
        Some(found.stx_attributes.contains(rustix::fs::StatxAttributes::MOUNT_ROOT))
    }
}

/// Runs `work` in a child, which exits afterwards. The child does not allocate.
///
/// # Errors
/// Returns the error of `work`.
pub(super) fn try_in_child(work: impl FnOnce() -> rustix::io::Result<()>) -> io::Result<()> {
    let child = Child::fork(|_| work().map_err(|errno| (u32::MAX, errno)))?;
    child.receive().map_err(|error| error.cause)
}

/// Joins a namespace.
///
/// # Errors
/// Returns an error if the system refuses.
pub(super) fn set_namespace(namespace: BorrowedFd<'_>) -> rustix::io::Result<()> {
    // SAFETY: the call only receives numbers.
    match unsafe { libc::setns(namespace.as_raw_fd(), 0) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// The mapping of users and groups in a new user namespace: ids are the same as outside.
struct Maps {
    users: String,
    groups: String,
    /// True if `setgroups` must be disabled before groups can be mapped, as for users other than root.
    denies_setgroups: bool,
}

impl Maps {
    fn of_caller() -> io::Result<Maps> {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if user != 0 {
            return Ok(Maps {
                users: format!("{user} {user} 1"),
                groups: format!("{group} {group} 1"),
                denies_setgroups: true,
            });
        }
        Ok(Maps {
            users: identity(&std::fs::read_to_string("/proc/self/uid_map")?),
            groups: identity(&std::fs::read_to_string("/proc/self/gid_map")?),
            denies_setgroups: false,
        })
    }

    fn write(&self, pid: i32) -> io::Result<()> {
        if self.denies_setgroups {
            std::fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
        }
        std::fs::write(format!("/proc/{pid}/uid_map"), &self.users)?;
        std::fs::write(format!("/proc/{pid}/gid_map"), &self.groups)
    }
}

/// Returns a map that keeps all ids of the caller's own map.
fn identity(map: &str) -> String {
    let line = |line: &str| {
        let mut parts = line.split_whitespace();
        let (first, count) = (parts.next()?, parts.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    };
    map.lines().filter_map(line).collect()
}

/// A child that works for its parent and exits. Dropping this kills the child and waits for it.
struct Child {
    pid: i32,
    socket: OwnedFd,
}

impl Child {
    fn fork(work: impl FnOnce(BorrowedFd<'_>) -> Result<(), (u32, Errno)>) -> io::Result<Child> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // SAFETY: the child only makes system calls, does not allocate, and ends with `_exit`.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // Even after a panic, the child must not continue as a second copy of the parent.
                let end = EndOfProcess;
                block_signals();
                match work(theirs.as_fd()) {
                    Ok(()) => report(theirs.as_fd(), DONE, None),
                    Err((step, errno)) => report(theirs.as_fd(), step, Some(errno)),
                }
                // The parent opens the namespaces through this process.
                wait_for_byte(theirs.as_fd());
                drop(end);
                unreachable!("the process has ended")
            }
            pid => Ok(Child { pid, socket: ours }),
        }
    }

    fn receive(&self) -> Result<(), StepError> {
        let mut record = [0u8; 8];
        loop {
            match rustix::io::read(&self.socket, &mut record) {
                Ok(8) => break,
                Ok(_) => return Err(StepError::from(Errno::CHILD)),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let [step, errno] =
            [&record[..4], &record[4..]].map(|half| u32::from_le_bytes(half.try_into().unwrap_or_default()));
        match errno {
            0 => Ok(()),
            errno => Err(StepError {
                step: usize::try_from(step).unwrap_or(usize::MAX),
                cause: io::Error::from_raw_os_error(errno.cast_signed()),
            }),
        }
    }

    fn go_on(&self) {
        // If the child has ended, reading its report fails.
        let _ = rustix::net::send(&self.socket, b"g", rustix::net::SendFlags::NOSIGNAL);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let mut status = 0;
        // SAFETY: the id is that of our child, which no other code waits for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            while libc::waitpid(self.pid, &mut status, 0) == -1 && last_errno() == Errno::INTR {}
        }
    }
}

fn block_signals() {
    // SAFETY: the set belongs to this function, and is initialised before it is used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Exits the process when it is dropped.
struct EndOfProcess;

impl Drop for EndOfProcess {
    fn drop(&mut self) {
        // SAFETY: the call only receives a number.
        unsafe { libc::_exit(0) }
    }
}

fn report(socket: BorrowedFd<'_>, step: u32, errno: Option<Errno>) {
    let mut record = [0u8; 8];
    record[..4].copy_from_slice(&step.to_le_bytes());
    record[4..].copy_from_slice(&errno.map_or(0, Errno::raw_os_error).to_le_bytes());
    // If the parent has ended, no report is needed.
    let _ = rustix::net::send(socket, &record, rustix::net::SendFlags::NOSIGNAL);
}

fn wait_for_byte(socket: BorrowedFd<'_>) {
    let mut byte = [0u8];
    while rustix::io::read(socket, &mut byte) == Err(Errno::INTR) {}
}

/// Allocates space for the copies of the steps, before the fork.
fn room(steps: &[Step]) -> Vec<Option<OwnedFd>> {
    let slots = steps.iter().filter_map(|step| match step {
        Step::Copy { slot, .. } => Some(slot + 1),
        _ => None,
    });
    (0..slots.max().unwrap_or(0)).map(|_| None).collect()
}

fn carry_out(steps: &[Step], slots: &mut [Option<OwnedFd>], ruleset: Option<&Ruleset>) -> Result<(), (u32, Errno)> {
    for (at, step) in steps.iter().enumerate() {
        carry_out_step(step, slots, ruleset).map_err(|errno| (at as u32, errno))?;
    }
    Ok(())
}

fn carry_out_step(step: &Step, slots: &mut [Option<OwnedFd>], ruleset: Option<&Ruleset>) -> rustix::io::Result<()> {
    match step {
        Step::MakePrivate => mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC),
        Step::Copy { path, slot } => {
            slots[*slot] = existing(copy(path))?;
            Ok(())
        }
        Step::MakeAllReadOnly => make_read_only(CWD, c"/", true),
        Step::Attach { slot, path } => match slots[*slot].take() {
            Some(mount) => attach(mount.as_fd(), path),
            None => Ok(()),
        },
        Step::Memory { path, mode } => {
            let mount = memory(mode, MountAttrFlags::empty())?;
            existing(attach(mount.as_fd(), path)).map(drop)
        }
        Step::Bind { from, to, read_only } => {
            let Some(mount) = existing(copy(from))? else { return Ok(()) };
            if *read_only {
                make_read_only(mount.as_fd(), c"", true)?;
            }
            existing(attach(mount.as_fd(), to)).map(drop)
        }
        Step::HideDirectory { path } => {
            let mount = memory(c"000", MountAttrFlags::MOUNT_ATTR_RDONLY)?;
            existing(attach(mount.as_fd(), path)).map(drop)
        }
        Step::LoopbackUp => change_loopback(libc::SIOCSIFFLAGS as _, |request| {
            request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        }),
        Step::LoopbackAddress => change_loopback(libc::SIOCSIFADDR as _, |request| {
            // The family, the port and 127.0.0.1, in the layout of an IPv4 address.
            let bytes = [0, 0, 127, 0, 0, 1].map(u8::cast_signed);
            // SAFETY: this request uses this field, and all zeros are a valid value of it.
            let address = unsafe { &mut request.ifr_ifru.ifru_addr };
            address.sa_family = libc::AF_INET as libc::sa_family_t;
            for (to, from) in address.sa_data.iter_mut().zip(bytes) {
                *to = from as libc::c_char;
            }
        }),
        Step::Allow { path } => match ruleset {
            Some(ruleset) => existing(ruleset.allow(path)).map(drop),
            None => Ok(()),
        },
    }
}

/// Converts the error that a path does not exist to `None`.
fn existing<T>(result: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match result {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        other => other.map(Some),
    }
}

/// Copies the mounts at a path. If the path is a link, it is not followed.
fn copy(path: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, path, flags)
}

fn attach(mount: BorrowedFd<'_>, path: &CStr) -> rustix::io::Result<()> {
    move_mount(mount, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn memory(mode: &CStr, attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"mode", mode)?;
    fsconfig_create(context.as_fd())?;
    let flags = attributes | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn make_read_only(place: BorrowedFd<'_>, path: &CStr, recursive: bool) -> rustix::io::Result<()> {
    let attributes = MountAttributes { set: 1, clear: 0, propagation: 0, user_namespace: 0 };
    let recursion = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path ends with a zero, and the structure has the layout and the size that the kernel expects.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            place.as_raw_fd(),
            path.as_ptr(),
            libc::AT_EMPTY_PATH | recursion,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

fn change_loopback(kind: libc::c_ulong, fill: impl FnOnce(&mut libc::ifreq)) -> rustix::io::Result<()> {
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all zeros are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = (*from).cast_signed() as libc::c_char;
    }
    fill(&mut request);
    // SAFETY: the request lives during the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), kind as _, &raw const request) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}
