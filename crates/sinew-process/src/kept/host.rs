//! The side of the process that wants a program.

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

/// A program to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptProgram {
    /// A path, or a name that is looked for along the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Its whole environment: nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Its working folder. None: that of this process.
    pub cwd: Option<PathBuf>,
}

/// Our ends of the program's standard streams. They are pipes, inherited by no other child.
#[derive(Debug)]
pub struct KeptPipes {
    /// The standard input of the program.
    pub stdin: OwnedFd,
    /// The standard output of the program.
    pub stdout: OwnedFd,
    /// The standard error of the program.
    pub stderr: OwnedFd,
}

/// A program and everything that descends from it. Ends with this value, and with this process, whatever ends that:
/// when its standard input is closed, a program has 500 ms to leave; after SIGTERM its processes have 2 s; then they
/// are killed.
///
/// Dropping it returns at once, and the end takes its course. [`Kept::close`] waits for it.
#[derive(Debug)]
pub struct Kept {
    link: UnixStream,
    keeper: Option<Child>,
    pid: u32,
    status: Option<i32>,
}

/// Starts a program under a keeper, `keeper` being the program that takes that role. Blocks until the program runs,
/// about 2 ms.
///
/// # Errors
/// When the system cannot start the keeper or the program; the message names the program and the cause.
pub fn start(keeper: &Path, program: &KeptProgram) -> Result<(Kept, KeptPipes)> {
    let failed = |cause: &io::Error| Error::io(format!("failed to start {:?}", program.program), cause);
    let begin = || -> io::Result<(Kept, KeptPipes)> {
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
            // A program that is no keeper may have ended by now: it gives no answer, which says what is wrong.
            Err(cause) if matches!(cause.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {}
            sent => sent?,
        }
        let pipes = KeptPipes { stdin: stdin.1.into(), stdout: stdout.0.into(), stderr: stderr.0.into() };
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

/// Sends all bytes, the descriptors with the first of them.
fn send(link: &UnixStream, bytes: &[u8], fds: &[std::os::fd::BorrowedFd<'_>; 3]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(fds));
    let sent = rustix::net::sendmsg(link, &[IoSlice::new(bytes)], &mut control, QUIET)?;
    (&*link).write_all(&bytes[sent..])
}

impl Kept {
    /// The number of the program. It may be over already.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Gives the end of the program, where it ended by itself: its exit code, or the negative number of the signal that
    /// ended it. Does not wait.
    pub fn exit_status(&mut self) -> Option<i32> {
        if self.status.is_none() && self.link.set_nonblocking(true).is_ok() {
            // The record is written by one call, so its bytes come together.
            if let Ok((EXITED, status)) = self.receive() {
                self.status = Some(status);
            }
            let _ = self.link.set_nonblocking(false);
        }
        self.status
    }

    /// Ends the program as described at [`Kept`] and waits until everything below it is over: at most about 2.5 s, and
    /// 500 ms for a program that leaves when its standard input closes. Close that first, or it is not asked.
    pub fn close(mut self) {
        let _ = self.link.shutdown(std::net::Shutdown::Write);
        self.wait();
    }

    /// Kills the program and everything below it, and waits until that is done.
    pub fn kill(mut self) {
        // A keeper that is gone needs no word.
        let _ = self.link.write_all(&[KILL]);
        self.wait();
    }

    fn wait(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            let _ = keeper.wait();
        }
    }

    /// One record of the keeper.
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
        // Somebody has to collect it; without a thread to spare it stays a zombie until this process ends.
        let _ = std::thread::Builder::new().name("kept-end".to_string()).spawn(move || keeper.wait());
    }
}
