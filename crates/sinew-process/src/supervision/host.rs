//! The side of the process that starts a program.

use std::ffi::OsString;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage};
use sinew_base::{Error, ErrorCode, Result};

use super::{EXITED, KILL, NOT_STARTED, ROLE, STARTED, request};
use crate::sys::QUIET;

/// A program to start under a keeper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramSpec {
    /// A path, or a name that is looked up on the `PATH` of `env`.
    pub program: OsString,
    /// The arguments without the program's name.
    pub args: Vec<OsString>,
    /// The complete environment: nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; `None` means that of this process.
    pub cwd: Option<PathBuf>,
}

/// Our ends of the program's standard streams. They are pipes that no other child inherits.
#[derive(Debug)]
pub struct ProgramPipes {
    /// The standard input of the program.
    pub stdin: OwnedFd,
    /// The standard output of the program.
    pub stdout: OwnedFd,
    /// The standard error of the program.
    pub stderr: OwnedFd,
}

/// A program and all its descendants. They are terminated with this value, and with this process for any reason: after
/// its standard input is closed, the program has 500 ms to exit; then its processes receive SIGTERM and have 2 s; then
/// they are killed.
///
/// Dropping it returns at once, and the termination continues in the background. [`Kept::close`] waits for it.
#[derive(Debug)]
pub struct Kept {
    link: UnixStream,
    keeper: Option<Child>,
    pid: u32,
    status: Option<i32>,
}

/// Starts a program under a keeper; `keeper` is the program that implements the role. Blocks until the program runs,
/// about 2 ms.
///
/// # Errors
/// Returns an error with the name of the program and the cause if the system cannot start the keeper or the program.
pub fn start(keeper: &Path, program: &ProgramSpec) -> Result<(Kept, ProgramPipes)> {
    let failed = |cause: &io::Error| Error::io(format!("failed to start {:?}", program.program), cause);
    let begin = || -> io::Result<(Kept, ProgramPipes)> {
        let (link, theirs) = UnixStream::pair()?;
        #[cfg(target_os = "macos")]
        rustix::net::sockopt::set_socket_nosigpipe(&link, true)?;
        let [stdin, stdout, stderr] = [io::pipe()?, io::pipe()?, io::pipe()?];
        let child = Command::new(keeper)
            .arg(ROLE)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|cause| io::Error::new(cause.kind(), format!("the keeper {keeper:?}: {cause}")))?;
        let kept = Kept { link, keeper: Some(child), pid: 0, status: None };
        let request = request::encode(program)?;
        let ends = [stdin.0.as_fd(), stdout.1.as_fd(), stderr.1.as_fd()];
        match send(&kept.link, &request, &ends) {
            // A program that is not a keeper may have ended by now: the missing answer is the error.
            Err(cause) if matches!(cause.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {}
            sent => sent?,
        }
        let pipes = ProgramPipes { stdin: stdin.1.into(), stdout: stdout.0.into(), stderr: stderr.0.into() };
        Ok((kept, pipes))
    };
    let (mut kept, pipes) = begin().map_err(|cause| failed(&cause))?;
    match kept.receive() {
        Ok((STARTED, pid)) => {
            kept.pid = pid.cast_unsigned();
            Ok((kept, pipes))
        }
        Ok((NOT_STARTED, number)) => Err(failed(&io::Error::from_raw_os_error(number))),
        _ => Err(Error::new(
            ErrorCode::Internal,
            format!(
                "failed to start {:?}: the keeper {keeper:?} did not answer; is it of this version?",
                program.program
            ),
        )),
    }
}

/// Sends all bytes, with the descriptors attached to the first of them.
fn send(link: &UnixStream, bytes: &[u8], fds: &[std::os::fd::BorrowedFd<'_>; 3]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(fds));
    let sent = rustix::net::sendmsg(link, &[IoSlice::new(bytes)], &mut control, QUIET)?;
    (&*link).write_all(&bytes[sent..])
}

impl Kept {
    /// Returns the process id of the program, which may have ended already.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the exit code of the program, or the negative number of the signal that ended it; `None` while it is
    /// running or if it was terminated by the keeper. Does not wait.
    pub fn exit_status(&mut self) -> Option<i32> {
        if self.status.is_none() && self.link.set_nonblocking(true).is_ok() {
            // The record is written with one call, so its bytes arrive together.
            if let Ok((EXITED, status)) = self.receive() {
                self.status = Some(status);
            }
            let _ = self.link.set_nonblocking(false);
        }
        self.status
    }

    /// Terminates the program as described at [`Kept`] and waits until all its descendants have ended: at most about
    /// 2.5 s, and 500 ms for a program that exits when its standard input closes. Close that first, otherwise the
    /// program is not asked.
    pub fn close(mut self) {
        let _ = self.link.shutdown(std::net::Shutdown::Write);
        self.wait();
    }

    /// Kills the program and all its descendants, and waits for their end.
    pub fn kill(mut self) {
        // If the keeper is gone, nothing has to be sent.
        let _ = self.link.write_all(&[KILL]);
        self.wait();
    }

    fn wait(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            let _ = keeper.wait();
        }
    }

    /// Reads one record of the keeper.
    fn receive(&mut self) -> io::Result<(u8, i32)> {
        let mut record = [0; 5];
        self.link.read_exact(&mut record)?;
        let [kind, number @ ..] = record;
        Ok((kind, i32::from_ne_bytes(number)))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.link.shutdown(std::net::Shutdown::Both);
        let Some(mut keeper) = self.keeper.take() else { return };
        // The keeper has to be reaped; without a thread it stays a zombie until this process ends.
        let _ = std::thread::Builder::new().name("kept-end".to_string()).spawn(move || keeper.wait());
    }
}
