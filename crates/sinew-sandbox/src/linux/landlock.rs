//! Landlock: rules that a process applies to itself and its children.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

/// The rights of files in the kernel's interface.
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// All rights to change something: writing, removing and creating entries, linking between directories, truncating, and
/// controlling devices.
const CHANGES: u64 = WRITE_FILE | 0b1_1111_1111_0000 | REFER | TRUNCATE | IOCTL_DEV;
const REFER: u64 = 1 << 13;
/// The rights to use the content of a file. Directories can always be listed, because a right to list one includes the
/// directories below it.
const READS: u64 = EXECUTE | READ_FILE;
/// The rights that a rule for a file can have.
const FILE_RIGHTS: u64 = WRITE_FILE | TRUNCATE | IOCTL_DEV;

const SCOPE_ABSTRACT_SOCKETS: u64 = 1;
const SCOPE_SIGNALS: u64 = 1 << 1;

/// The features that a version of the interface has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Abi(pub(super) u32);

impl Abi {
    /// Returns the kernel's version; 0 if it does not support Landlock.
    pub(super) fn of_kernel() -> Abi {
        // SAFETY: with a null pointer and this flag the call only returns a number.
        let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
        Abi(u32::try_from(version).unwrap_or(0))
    }

    fn changes(self) -> u64 {
        match self.0 {
            0 => 0,
            1 => CHANGES & !(REFER | TRUNCATE | IOCTL_DEV),
            2 => CHANGES & !(TRUNCATE | IOCTL_DEV),
            3 | 4 => CHANGES & !IOCTL_DEV,
            _ => CHANGES,
        }
    }

    /// Returns true if signals to processes outside of the domain can be refused.
    pub(super) fn scopes_signals(self) -> bool {
        self.0 >= 6
    }
}

/// A set of rules that was not applied yet.
#[derive(Debug)]
pub(super) struct Ruleset {
    pub(super) fd: OwnedFd,
    changes: u64,
}

#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scopes: u64,
}

#[repr(C, packed)]
struct PathRule {
    allowed: u64,
    parent: i32,
}

impl Ruleset {
    /// Creates rules that refuse every change of files, and with `limits_reads` reading and executing them; from version 6
    /// on, also signals and abstract sockets to the outside.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub(super) fn new(abi: Abi, limits_reads: bool) -> io::Result<Ruleset> {
        let attributes = RulesetAttributes {
            files: abi.changes() | if limits_reads { READS } else { 0 },
            network: 0,
            scopes: if abi.scopes_signals() { SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS } else { 0 },
        };
        let size = match abi.0 {
            0..=3 => 8,
            4 | 5 => 16,
            _ => size_of::<RulesetAttributes>(),
        };
        // SAFETY: the structure lives during the call and is at least as long as said.
        let fd = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        Ok(Ruleset { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, changes: abi.changes() })
    }

    /// Allows all changes of a path and everything below it. Allocates nothing.
    ///
    /// # Errors
    /// Returns an error if the path does not exist, or if the kernel refuses.
    pub(super) fn allow(&self, path: &CStr) -> rustix::io::Result<()> {
        let target = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let is_directory = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&target)?.st_mode).is_dir();
        let allowed = if is_directory { self.changes } else { self.changes & FILE_RIGHTS };
        self.add(target.as_fd(), allowed)
    }

    /// Allows reading and executing a path and everything below it. A link is not followed. The rules must limit reads.
    ///
    /// # Errors
    /// Returns an error if the path does not exist, or if the kernel refuses.
    pub(super) fn allow_reading(&self, path: &CStr) -> rustix::io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.add(rustix::fs::open(path, flags, Mode::empty())?.as_fd(), READS)
    }

    /// Returns another handle to the same rules. Rules that are added later also limit programs that start later.
    ///
    /// # Errors
    /// Returns an error if the process has too many descriptors.
    pub(super) fn try_clone(&self) -> io::Result<Ruleset> {
        Ok(Ruleset { fd: self.fd.try_clone()?, changes: self.changes })
    }

    fn add(&self, target: BorrowedFd<'_>, allowed: u64) -> rustix::io::Result<()> {
        let rule = PathRule { allowed, parent: target.as_raw_fd() };
        // SAFETY: the structure has the layout of the kernel's interface and lives during the call.
        let result = unsafe { libc::syscall(libc::SYS_landlock_add_rule, self.fd.as_raw_fd(), 1, &raw const rule, 0) };
        if result == 0 { Ok(()) } else { Err(last_errno()) }
    }
}

/// Applies rules to the calling process. It must have no new privileges.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub(super) fn restrict_self(ruleset: BorrowedFd<'_>) -> rustix::io::Result<()> {
    // SAFETY: the call only receives numbers.
    match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// Returns the last error of the system. Does not allocate.
pub(super) fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_raw_os_error(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}
