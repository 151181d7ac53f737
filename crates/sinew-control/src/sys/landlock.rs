//! Landlock: restricts a thread's access to files and the network, for itself and everything that it starts.
//!
//! Calls the three system calls directly, because the library for them is larger than this file and offers nothing else
//! that is needed here.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};

const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;

const READ: u64 = READ_FILE | READ_DIR;
const WRITE: u64 = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE;
/// The rights that a rule for a file can contain.
const OF_FILES: u64 = READ_FILE | WRITE_FILE | TRUNCATE;
/// Binding and connecting TCP sockets.
const ALL_NET: u64 = 0b11;
/// Abstract sockets of, and signals to, processes outside of the domain.
const ALL_SCOPES: u64 = 0b11;

/// The rights that remain.
pub struct Rights {
    /// Readable files, and directories with everything below them.
    pub read: Vec<PathBuf>,
    /// Directories in which files may also be created, changed and deleted.
    pub write: Vec<PathBuf>,
    /// Whether the network can be used.
    pub network: bool,
}

#[repr(C)]
struct Ruleset {
    fs: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Restricts the calling thread, which must be the only one, to `rights`, as far as the kernel supports it. Paths that
/// do not exist are skipped. Returns the opened paths of the rules, which must stay open as long as the rules are
/// needed, because a file of `/proc` becomes a different one once it is closed. Returns `None` if the kernel does not
/// support Landlock; nothing is restricted then.
///
/// # Errors
/// Returns an error if the kernel supports Landlock and refuses; nothing is restricted then.
pub fn confine(rights: &Rights) -> io::Result<Option<Vec<OwnedFd>>> {
    let Some(version) = version() else { return Ok(None) };
    let handled = match version {
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    };
    let net = if version >= 4 && !rights.network { ALL_NET } else { 0 };
    let scoped = if version >= 6 && !rights.network { ALL_SCOPES } else { 0 };
    let attributes = Ruleset { fs: handled, net, scoped };
    // SAFETY: the kernel reads the given number of bytes, and accepts more than it knows if they are zero.
    let ruleset = done(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size_of::<Ruleset>(), 0)
    })?;
    // SAFETY: the call has created the descriptor, and nothing else owns it.
    let ruleset = unsafe { OwnedFd::from_raw_fd(ruleset) };
    let mut held = Vec::new();
    let read = rights.read.iter().map(|path| (path, READ));
    for (path, allowed) in read.chain(rights.write.iter().map(|path| (path, WRITE))) {
        held.extend(allow(&ruleset, path, allowed & handled)?);
    }
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: no memory is passed.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) })?;
    Ok(Some(held))
}

/// Returns the version of Landlock; `None` if the kernel does not support it, or the filter of a container refuses it.
pub(crate) fn version() -> Option<i32> {
    // SAFETY: with this flag no memory is read.
    done(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Ruleset>(), 0_usize, 1) }).ok()
}

fn allow(ruleset: &OwnedFd, path: &Path, allowed: u64) -> io::Result<Option<OwnedFd>> {
    let Ok(place) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { return Ok(None) };
    let is_folder = FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory;
    let allowed = if is_folder { allowed } else { allowed & OF_FILES };
    let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
    // SAFETY: 1 is the type of this rule, which the kernel copies.
    done(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1, &raw const rule, 0) })?;
    Ok(Some(place))
}

fn done(result: libc::c_long) -> io::Result<i32> {
    match i32::try_from(result) {
        Ok(number @ 0..) => Ok(number),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    use super::*;

    /// Runs `work` on a thread that only has these rights. Returns false, and prints a note, if the kernel does not
    /// support Landlock.
    fn confined(rights: Rights, work: impl FnOnce() + Send) -> bool {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let held = confine(&rights).unwrap();
                held.map(|_held| work()).is_some()
            });
            thread.join().unwrap()
        })
    }

    #[expect(clippy::disallowed_methods, reason = "bypasses the test harness; a test has no keys to hide")]
    fn skipped() {
        let name = std::thread::current().name().unwrap_or_default().to_string();
        let line = format!("skipped: {name}: the kernel has no Landlock\n");
        io::Write::write_all(&mut io::stdout(), line.as_bytes()).unwrap();
    }

    #[test]
    fn a_confined_thread_only_accesses_allowed_files() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in ["read", "write", "outside"] {
            fs::create_dir(place(name)).unwrap();
            fs::write(place(name).join("file"), name).unwrap();
        }
        std::os::unix::fs::symlink(place("outside"), place("read/link")).unwrap();
        let around = PathBuf::from(format!("/proc/self/root{}", place("outside/file").display()));
        let rights =
            Rights { read: vec![place("read"), place("nothing")], write: vec![place("write")], network: false };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let version = version().unwrap_or_default();
        let ran = confined(rights, || {
            assert_eq!(fs::read_to_string(place("read/file")).unwrap(), "read");
            assert_eq!(fs::read_dir(place("read")).unwrap().count(), 2);
            fs::write(place("write/new"), "x").unwrap();
            fs::rename(place("write/new"), place("write/file")).unwrap();
            fs::remove_file(place("write/file")).unwrap();
            let mut refused: Vec<(&str, io::Result<()>)> = vec![
                ("read", fs::read(place("outside/file")).map(drop)),
                ("read through a link", fs::read(place("read/link/file")).map(drop)),
                ("read through /proc", fs::read(&around).map(drop)),
                ("list", fs::read_dir(place("outside")).map(drop)),
                ("write outside", fs::OpenOptions::new().append(true).open(place("outside/file")).map(drop)),
                ("write what may be read", fs::write(place("read/file"), "x")),
                ("make", fs::write(place("read/new"), "x")),
                ("make a folder", fs::create_dir(place("outside/new"))),
                ("remove", fs::remove_file(place("outside/file"))),
                ("take away", fs::rename(place("outside/file"), place("write/taken"))),
                ("link away", fs::hard_link(place("outside/file"), place("write/taken"))),
                ("run a program", Command::new("/bin/true").status().map(drop)),
            ];
            if version >= 4 {
                refused.push(("connect", TcpStream::connect(address).map(drop)));
                refused.push(("listen", TcpListener::bind("127.0.0.1:0").map(drop)));
            }
            for (what, result) in refused {
                let kind = result.expect_err(what).kind();
                // If moving a file would give it more rights, the kernel reports that it must be copied.
                assert!(
                    matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices),
                    "{what}: {kind}"
                );
            }
        });
        if !ran {
            return skipped();
        }
        assert_eq!(fs::read_to_string(place("outside/file")).unwrap(), "outside");
        assert_eq!(fs::read_to_string(place("read/file")).unwrap(), "read");
    }

    #[test]
    fn the_network_stays_available_if_it_is_needed() {
        let ran = confined(Rights { read: Vec::new(), write: Vec::new(), network: true }, || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        });
        if !ran {
            skipped();
        }
    }
}
