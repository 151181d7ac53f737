//! Console events and console modes; functions that Windows does not support return an error or do nothing.

use std::fs::OpenOptions;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
use windows_sys::Win32::System::Console::{
    ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT, GetConsoleMode, SetConsoleMode,
};

/// Starts to listen; resolves to the exit code of the first event that asks the program to end.
pub(crate) fn signals() -> impl Future<Output = u8> + Send + 'static {
    let (interrupt, pause, close, shutdown) = (ctrl_c(), ctrl_break(), ctrl_close(), ctrl_shutdown());
    // Without a handler an event ends the process at once.
    async move {
        tokio::select! {
            _ = async { match interrupt { Ok(mut event) => event.recv().await, Err(_) => std::future::pending().await } } => 130,
            _ = async { match pause { Ok(mut event) => event.recv().await, Err(_) => std::future::pending().await } } => 130,
            _ = async { match close { Ok(mut event) => event.recv().await, Err(_) => std::future::pending().await } } => 143,
            _ = async { match shutdown { Ok(mut event) => event.recv().await, Err(_) => std::future::pending().await } } => 143,
        }
    }
}

/// Leaves `options` unchanged: files in the user's directory inherit an access list that only admits the user.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Returns `None`, because a console has no name.
pub(crate) fn terminal_name() -> Option<String> {
    None
}

/// Returns false, because waiting for a pipe requires reading it.
pub(crate) fn silent(_: Duration) -> bool {
    false
}

/// Reads from standard input.
pub(crate) fn read_stdin(buffer: &mut [u8]) -> io::Result<usize> {
    io::Read::read(&mut io::stdin().lock(), buffer)
}

/// The previous mode of the console, which is restored when this is dropped.
pub struct HiddenInput(u32);

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // SAFETY: the handle belongs to the process. An error is ignored, because the console may be closed.
        unsafe { SetConsoleMode(io::stdin().as_raw_handle().cast(), self.0) };
    }
}

/// Disables the echo of typed keys, and delivers each key immediately, including those that send signals.
pub(crate) fn hide_typing() -> io::Result<HiddenInput> {
    let mut before = 0;
    // SAFETY: the handle belongs to the process, and the mode is writable.
    if unsafe { GetConsoleMode(io::stdin().as_raw_handle().cast(), &mut before) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let shown = HiddenInput(before);
    let hidden = before & !(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT | ENABLE_PROCESSED_INPUT);
    // SAFETY: as above.
    if unsafe { SetConsoleMode(io::stdin().as_raw_handle().cast(), hidden) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(shown)
}

/// Returns the system's shell with a command line, which it parses by its own rules.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd.exe");
    command.args(["/D", "/S", "/C"]).raw_arg(format!("\"{line}\""));
    command
}

/// Does nothing, because a process tree is found by the parents of processes.
pub(crate) fn group(_: &mut Command) {}

/// Kills a child and its descendants.
pub(crate) fn kill_group(pid: u32) {
    const KILL: i32 = 9;
    sinew_process::kill_tree(pid, KILL);
}

/// Returns an error: the caller then uses the seeds of hash maps, which are random numbers from the system too.
pub(crate) fn fill_random(_: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
