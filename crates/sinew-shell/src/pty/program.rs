//! The program in a terminal: started directly or by the supervisor, and terminated with all its descendants.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use parking_lot::Mutex;
use sinew_base::{Error, Result};
use sinew_process::kill_tree;

use super::{PtyEnd, PtyOptions, terminal};
use crate::output::Waker;

/// The time between termination and kill, in milliseconds.
pub(super) const GRACE_MS: u32 = 500;

// The maximum time for the supervisor to terminate what is left.
#[cfg(target_os = "linux")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// A running program.
pub(super) struct Program {
    kind: Kind,
    // The program itself, or the supervisor: killed as the last resort.
    root: u32,
}

enum Kind {
    Alone {
        exit: Arc<Exit>,
    },
    #[cfg(target_os = "linux")]
    Supervised {
        supervisor: libc::pid_t,
        socket: Arc<OwnedFd>,
        /// The sandbox of the program.
        entry: Option<sinew_sandbox::Entry>,
    },
}

/// Set by the thread that waits for the program.
struct Exit {
    status: Mutex<Option<ExitStatus>>,
    wake: Waker,
}

/// A change of a program's state.
pub(super) enum ProgramEvent {
    /// It was started with this process id.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a supervisor reports it"))]
    Started(u32),
    /// It has ended.
    Ended(ProgramEnd),
}

/// How a program ended.
pub(super) enum ProgramEnd {
    /// By itself, or by a signal.
    Status(ExitStatus),
    /// Its supervisor was killed.
    Lost,
    /// It could not be started.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a supervisor reports it"))]
    Failed(io::Error),
}

impl Program {
    /// Starts the program on `slave`. The calling thread must live as long as the session, because the program's death
    /// signal is tied to it.
    pub(super) fn start(options: &PtyOptions, slave: &OwnedFd) -> Result<Program> {
        if let Some(cwd) = &options.cwd {
            check_folder(cwd)?;
        }
        let (line, added) = options.command_line();
        let Some((name, args)) = line.split_first().filter(|(name, _)| !name.is_empty()) else {
            return Err(Error::invalid("start: the list of arguments is empty; its first item is the program"));
        };
        if let Some(bad) = line.iter().find(|part| part.contains('\0')) {
            return Err(Error::invalid(format!(
                "start: {bad:?} contains a NUL character, which no program can receive"
            )));
        }
        let failed = |error: io::Error| Error::io(format!("start: failed to run {name:?}"), &error);
        #[cfg(target_os = "linux")]
        if let Some(supervisor) = &options.supervisor {
            return supervised(options, (&line, &added), supervisor, slave);
        }
        if options.sandbox.is_some() {
            return Err(Error::new(
                sinew_base::ErrorCode::Unsupported,
                "start: a terminal without a supervisor cannot run in a sandbox",
            ));
        }
        let mut command = Command::new(name);
        command.args(args);
        prepare(&mut command, options, slave).map_err(failed)?;
        command.envs(added);
        terminal::lead(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        // The command has the terminal open too.
        drop(command);
        let root = child.id();
        let exit = Arc::new(Exit { status: Mutex::new(None), wake: Waker::new().map_err(failed)? });
        let shared = Arc::clone(&exit);
        let waiting = std::thread::Builder::new().name("sinew-pty-wait".to_string()).spawn(move || {
            // A child process can always be waited for.
            let status = child.wait().unwrap_or_default();
            *shared.status.lock() = Some(status);
            shared.wake.wake();
        });
        if let Err(error) = waiting {
            kill_tree(root, libc::SIGKILL);
            return Err(failed(error));
        }
        Ok(Program { kind: Kind::Alone { exit }, root })
    }

    /// Returns the process id; `None` if it is not known yet.
    pub(super) fn pid(&self) -> Option<u32> {
        match &self.kind {
            Kind::Alone { .. } => Some(self.root),
            #[cfg(target_os = "linux")]
            Kind::Supervised { .. } => None,
        }
    }

    /// Returns a descriptor that is readable when [`Program::next`] may return something.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Alone { exit } => exit.wake.as_fd(),
            #[cfg(target_os = "linux")]
            Kind::Supervised { socket, .. } => socket.as_fd(),
        }
    }

    /// Returns a change of the program's state; `None` if there is none. Does not wait.
    pub(super) fn next(&self) -> Option<ProgramEvent> {
        match &self.kind {
            Kind::Alone { exit } => {
                let status = (*exit.status.lock())?;
                Some(ProgramEvent::Ended(ProgramEnd::Status(status)))
            }
            #[cfg(target_os = "linux")]
            Kind::Supervised { socket, .. } => told(socket),
        }
    }

    /// Returns a function that asks the whole tree to end, from any thread.
    pub(super) fn killer(&self) -> Box<dyn Fn() + Send> {
        match &self.kind {
            Kind::Alone { exit } => {
                let (exit, root) = (Arc::clone(exit), self.root);
                Box::new(move || {
                    // Once it was reaped, its process id may be reused.
                    if exit.status.lock().is_none() {
                        kill_tree(root, libc::SIGHUP);
                        kill_tree(root, libc::SIGTERM);
                        kill_tree(root, libc::SIGCONT);
                    }
                })
            }
            #[cfg(target_os = "linux")]
            Kind::Supervised { socket, .. } => {
                let socket = Arc::clone(socket);
                Box::new(move || close(&socket, GRACE_MS))
            }
        }
    }

    /// Kills the whole tree.
    pub(super) fn destroy(&self) {
        if let Kind::Alone { exit } = &self.kind
            && exit.status.lock().is_some()
        {
            return;
        }
        kill_tree(self.root, libc::SIGKILL);
    }

    /// Terminates the processes that an ended program has left running.
    pub(super) fn sweep(&self) {
        match &self.kind {
            // The system sends a hang-up to all processes on the terminal.
            Kind::Alone { .. } => {}
            #[cfg(target_os = "linux")]
            Kind::Supervised { socket, .. } => close(socket, 0),
        }
    }

    /// Waits until nothing is left.
    pub(super) fn finish(self) {
        self.sweep();
        match self.kind {
            Kind::Alone { .. } => {}
            #[cfg(target_os = "linux")]
            Kind::Supervised { supervisor, socket, entry } => {
                let end = std::time::Instant::now() + PATIENCE;
                while super::run::readable(&socket, end)
                    && !matches!(told(&socket), Some(ProgramEvent::Ended(ProgramEnd::Lost)))
                {}
                if std::time::Instant::now() >= end {
                    // It was stopped so that it does nothing else.
                    kill_tree(supervisor.cast_unsigned(), libc::SIGKILL);
                }
                crate::supervisor::wait(supervisor);
                // All writers are gone: protected paths that were created are removed.
                drop(entry);
            }
        }
    }
}

/// Sets the directory, the environment and the terminal of a program.
fn prepare(command: &mut Command, options: &PtyOptions, slave: &OwnedFd) -> io::Result<()> {
    if let Some(cwd) = &options.cwd {
        command.current_dir(cwd);
    }
    command.env_clear();
    command.envs(options.env.iter().map(|(name, value)| (name, value)));
    terminal::attach(command, slave)
}

fn check_folder(cwd: &Path) -> Result<()> {
    match std::fs::metadata(cwd) {
        Ok(data) if data.is_dir() => Ok(()),
        Ok(_) => Err(Error::invalid(format!("start: working directory {cwd:?} is not a folder"))),
        Err(error) => Err(Error::io(format!("start: working directory {cwd:?}"), &error)),
    }
}

/// Returns the result of a session whose program ended with `status`.
pub(super) fn end_of(status: ExitStatus) -> PtyEnd {
    let signal = status.signal();
    let exit_code = status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0));
    PtyEnd { exit_code: Some(exit_code), signal, ..PtyEnd::default() }
}

#[cfg(target_os = "linux")]
fn supervised(
    options: &PtyOptions,
    (line, added): (&[String], &crate::Environment),
    supervisor: &Path,
    slave: &OwnedFd,
) -> Result<Program> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let path = crate::environment::value(&options.env, "PATH");
    let name = line.first().map_or("", String::as_str);
    let program = match name.contains('/') {
        true => Some(name.into()),
        false => crate::environment::find_program(path, Path::new(name)),
    };
    let Some(program) = program else {
        return Err(Error::new(sinew_base::ErrorCode::NotFound, format!("start: no program {name:?} on PATH")));
    };
    let purpose = format!("start: failed to run {name:?}");
    let failed = |error: io::Error| match error.raw_os_error() {
        // The supervisor receives the arguments and the environment of the program.
        Some(libc::E2BIG) => Error::io(&purpose, &error),
        _ => Error::io(format!("start: failed to run {supervisor:?}"), &error),
    };
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(|error| failed(error.into()))?;
    rustix::io::ioctl_fionbio(&ours, true).map_err(|error| failed(error.into()))?;
    let args: Vec<_> = line.iter().map(std::ffi::OsString::from).collect();
    // The last of equal names is used.
    let env: std::collections::BTreeMap<_, _> =
        options.env.iter().chain(added).map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect();
    let env: Vec<_> = env.into_iter().collect();
    let entry = options.sandbox.as_ref().map(sinew_sandbox::Sandbox::enter).transpose()?;
    let start = crate::supervisor::Start {
        purpose: &purpose,
        program: &program,
        args: &args,
        env: &env,
        cwd: options.cwd.as_deref(),
        input: slave.as_fd(),
        output: slave.as_fd(),
        errors: slave.as_fd(),
        script: None,
        sandbox: entry.as_ref().map(sinew_sandbox::Entry::handoff),
    };
    let pid = crate::supervisor::spawn(supervisor, c"pty", &start, theirs.as_fd()).map_err(failed)?;
    Ok(Program { kind: Kind::Supervised { supervisor: pid, socket: Arc::new(ours), entry }, root: pid.cast_unsigned() })
}

/// Reads what the supervisor reported; `None` if there is nothing.
#[cfg(target_os = "linux")]
fn told(socket: &OwnedFd) -> Option<ProgramEvent> {
    use crate::wire::SupervisorReply;
    let mut record = vec![0u8; crate::wire::MOST];
    loop {
        match rustix::io::read(socket, &mut record) {
            Ok(0) => return Some(ProgramEvent::Ended(ProgramEnd::Lost)),
            Ok(count) => match SupervisorReply::decode(&record[..count]) {
                Some(SupervisorReply::Started { pid }) => return Some(ProgramEvent::Started(pid.cast_unsigned())),
                Some(SupervisorReply::Exited { status }) => {
                    return Some(ProgramEvent::Ended(ProgramEnd::Status(ExitStatus::from_raw(status))));
                }
                Some(SupervisorReply::Failed { errno }) => {
                    return Some(ProgramEvent::Ended(ProgramEnd::Failed(io::Error::from_raw_os_error(errno))));
                }
                Some(SupervisorReply::Clean | SupervisorReply::Jobs(_) | SupervisorReply::Refused(_)) => {}
                None => return Some(ProgramEvent::Ended(ProgramEnd::Lost)),
            },
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return None,
            Err(_) => return Some(ProgramEvent::Ended(ProgramEnd::Lost)),
        }
    }
}

#[cfg(target_os = "linux")]
fn close(socket: &OwnedFd, grace_ms: u32) {
    use rustix::net::{SendFlags, send};
    // A supervisor that is gone has already terminated everything.
    let _ = send(socket, &crate::wire::SupervisorRequest::Close { grace_ms }.encode(), SendFlags::NOSIGNAL);
}
