//! Signals, modes of files and of the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

/// Listens from now on; resolves to the exit code of the first signal that asks the program to end.
pub(crate) fn signals() -> impl Future<Output = u8> + Send + 'static {
    let wait = |kind: SignalKind| {
        let stream = signal(kind);
        async move {
            match stream {
                Ok(mut stream) => stream.recv().await,
                // Without a handler the signal ends the process at once.
                Err(_) => std::future::pending().await,
            }
        }
    };
    let (interrupt, terminate, hangup) =
        (wait(SignalKind::interrupt()), wait(SignalKind::terminate()), wait(SignalKind::hangup()));
    async move {
        tokio::select! {
            _ = interrupt => 130,
            _ = terminate => 143,
            _ = hangup => 143,
        }
    }
}

/// Lets nobody but the user read a file that `options` make.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// The device of the terminal at standard input.
pub(crate) fn terminal_name() -> Option<String> {
    rustix::termios::ttyname(io::stdin(), Vec::new()).ok()?.into_string().ok()
}

/// Returns true if nothing came at standard input for `time`. A signal, or a descriptor that cannot be asked, is no silence.
pub(crate) fn silent(time: Duration) -> bool {
    let limit = Timespec::try_from(time).ok();
    matches!(poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], limit.as_ref()), Ok(0))
}

/// The terminal as it was; put back when this is dropped.
pub(crate) struct Shown(Termios);

impl Drop for Shown {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to show.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Does not show what is typed from now on, and hands over each key as it comes, those that end programs too.
pub(crate) fn hide_typing() -> io::Result<Shown> {
    let before = tcgetattr(io::stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    let shown = Shown(before);
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    Ok(shown)
}

/// The system's shell with a line for it.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// Puts the child into a group of its own, so that everything it starts ends with it.
pub(crate) fn group(child: &mut Command) {
    child.process_group(0);
}

/// Kills the group of a child.
pub(crate) fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended this very moment.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Closes the memory of this process, which has keys in it, to other programs of the user: none reads it or attaches to it,
/// and no core file is written. Programs that it starts are as open as ever, but begin with a limit of 0 for core files, which
/// `ulimit -c` raises. A debugger attaches as root.
///
/// # Errors
/// The system refuses.
pub(crate) fn close_memory() -> io::Result<()> {
    // SAFETY: the calls take numbers, and a value of ours that lives during the call.
    unsafe {
        let mut limit = std::mem::zeroed::<libc::rlimit>();
        if libc::getrlimit(libc::RLIMIT_CORE, &mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        limit.rlim_cur = 0;
        if libc::setrlimit(libc::RLIMIT_CORE, &limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        #[cfg(target_os = "linux")]
        if libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Fills `bytes` with random ones of the system.
pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}
