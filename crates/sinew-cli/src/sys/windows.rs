//! Console events and modes; what Windows has no counterpart for says so.

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

/// Listens from now on; resolves to the exit code of the first event that asks the program to end.
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

/// Leaves `options` as they are: files below the user's folder are the user's own by the access list that they inherit.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A console has no name.
pub(crate) fn terminal_name() -> Option<String> {
    None
}

/// Returns false: a pipe cannot be waited for without reading it.
pub(crate) fn silent(_: Duration) -> bool {
    false
}

/// The console's mode as it was; put back when this is dropped.
pub(crate) struct Shown(u32);

impl Drop for Shown {
    fn drop(&mut self) {
        // SAFETY: the handle is the process's own. A console that is gone has nothing to show.
        unsafe { SetConsoleMode(io::stdin().as_raw_handle().cast(), self.0) };
    }
}

/// Does not show what is typed from now on, and hands over each key as it comes, those that end programs too.
pub(crate) fn hide_typing() -> io::Result<Shown> {
    let mut before = 0;
    // SAFETY: the handle is the process's own, the mode can be written.
    if unsafe { GetConsoleMode(io::stdin().as_raw_handle().cast(), &mut before) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let shown = Shown(before);
    let hidden = before & !(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT | ENABLE_PROCESSED_INPUT);
    // SAFETY: as above.
    if unsafe { SetConsoleMode(io::stdin().as_raw_handle().cast(), hidden) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(shown)
}

/// The system's shell with a line for it, which it reads by its own rules.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd.exe");
    command.args(["/D", "/S", "/C"]).raw_arg(format!("\"{line}\""));
    command
}

/// Does nothing: a tree is found by who started whom.
pub(crate) fn group(_: &mut Command) {}

/// Kills a child and all that it started.
pub(crate) fn kill_group(pid: u32) {
    const KILL: i32 = 9;
    sinew_process::kill_tree(pid, KILL);
}

/// Fails: the caller falls back on the seeds of hash maps, which are the system's random numbers too.
pub(crate) fn fill_random(_: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
