//! Signals, file modes and terminal modes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

/// Starts to listen; resolves to the exit code of the first signal that asks the program to end.
pub fn signals() -> impl Future<Output = u8> + Send + 'static {
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

/// Makes the files that `options` create readable for the user only.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Returns the device of the terminal at standard input.
pub fn terminal_name() -> Option<String> {
    rustix::termios::ttyname(io::stdin(), Vec::new()).ok()?.into_string().ok()
}

/// Returns true if nothing arrived at standard input for `time`. Returns false after a signal, or if the descriptor
/// cannot be polled.
pub fn silent(time: Duration) -> bool {
    let limit = Timespec::try_from(time).ok();
    matches!(poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], limit.as_ref()), Ok(0))
}

/// Reads from standard input without a buffer, so that [`silent`] knows of every byte that is left.
pub fn read_stdin(buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(io::stdin(), buffer)?)
}

/// The previous mode of the terminal, which is restored when this is dropped.
pub struct HiddenInput(Termios);

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal may be closed.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Disables the echo of typed keys, and delivers each key immediately, including those that send signals.
pub fn hide_typing() -> io::Result<HiddenInput> {
    let before = tcgetattr(io::stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    let shown = HiddenInput(before);
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    Ok(shown)
}

/// Returns the system's shell with a command line.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// Puts the child into a new process group, so that everything it starts can be killed with it.
pub fn group(child: &mut Command) {
    child.process_group(0);
}

/// Kills the process group of a child.
pub fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // The group may have ended just now.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Protects the memory of this process, which contains keys, from other programs of the user: they cannot read it or
/// attach to it, and no core file is written. Programs that it starts are not protected, but begin with a limit of 0
/// for core files, which `ulimit -c` raises. A debugger can attach as root.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn close_memory() -> io::Result<()> {
    // SAFETY: the calls receive numbers, and a value that lives during the call.
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

/// Fills `bytes` with random bytes from the system.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}
