//! The program as a job of the shell: it can stop, or its run can continue without the terminal (`/bg`), with the
//! shell's prompt back as after ctrl+z and `bg`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use sinew_control::actions::Control;
use sinew_control::output;

use crate::end_signal::EndSignal;

/// The interval in milliseconds at which the owner of the terminal is checked, and the number of checks.
const LOOKS: (i64, u32) = (10, 200);

/// Stops the process and its group, and returns when it continues. Returns at once if a shell without job control would
/// never continue it.
pub(super) fn stop() {
    use rustix::process::{Signal, getpgrp, kill_process_group};
    // Any thread may handle a signal to the group, while this thread would continue to paint. Therefore only the other
    // processes of the group receive it, and then this thread sends itself one, which stops the whole process before
    // the call returns.
    // SAFETY: no handler is set: the signal is ignored, or has its default action.
    unsafe { libc::signal(libc::SIGTSTP, libc::SIG_IGN) };
    // The group may have no other process.
    let _ = kill_process_group(getpgrp(), Signal::TSTP);
    // SAFETY: as above.
    unsafe {
        libc::signal(libc::SIGTSTP, libc::SIG_DFL);
        libc::raise(libc::SIGTSTP);
    }
}

/// Leaves the terminal to the shell: stops as its job, and continues when the shell has taken the terminal. Without job
/// control the process continues at once. From here on the terminal cannot stop or end the process, even if it is
/// closed.
///
/// # Errors
/// Returns an error if the system cannot start the process that continues this one.
pub(super) fn leave_terminal() -> io::Result<()> {
    for signal in [libc::SIGHUP, libc::SIGTTOU, libc::SIGTTIN] {
        // SAFETY: no handler is set: the signal is ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let Ok(terminal) = OpenOptions::new().read(true).open("/dev/tty") else { return Ok(()) };
    let group = rustix::process::getpgrp().as_raw_nonzero().get();
    // SAFETY: the child only calls functions that are allowed after a fork, when locks of other threads may be held,
    // and never returns.
    let child = unsafe {
        match libc::fork() {
            0 => wake(group, terminal.as_raw_fd()),
            child => child,
        }
    };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    // Signals to the group must not stop the child, which may not have left the group itself yet.
    // SAFETY: the call receives numbers.
    unsafe { libc::setpgid(child, child) };
    stop();
    // SAFETY: the call receives a number and no buffer. The child has ended, or does so within its number of checks.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    Ok(())
}

/// Continues a group when another one owns the terminal.
///
/// # Safety
/// Must be called in a child process directly after the fork.
unsafe fn wake(group: libc::pid_t, terminal: libc::c_int) -> ! {
    // SAFETY: these calls receive numbers, and are allowed in such a child.
    unsafe {
        libc::setpgid(0, 0);
        let (millis, looks) = LOOKS;
        for _ in 0..looks {
            let pause = libc::timespec { tv_sec: 0, tv_nsec: millis * 1_000_000 };
            libc::nanosleep(&raw const pause, std::ptr::null_mut());
            if libc::tcgetpgrp(terminal) != group {
                break;
            }
        }
        libc::kill(-group, libc::SIGCONT);
        libc::_exit(0)
    }
}

/// Prints how to find the session again, on the terminal that the program leaves.
pub(super) fn say_behind(control: &Control) {
    let id = control.session().agent.session().id().to_string();
    output::tell(&format!(
        "The run continues without this terminal. Resume with: sinew -r {}",
        id.get(..8).unwrap_or(&id)
    ));
}

/// Waits until the run is over, and notifies the terminal if it still exists. A signal ends the run.
pub(super) async fn see_to_its_end(control: &Control, ending: &EndSignal, bytes: &[u8]) -> Option<u8> {
    let open = control.session();
    tokio::select! {
        () = open.agent.idled() => {}
        code = ending.heard() => return Some(code),
    }
    if let Ok(mut terminal) = OpenOptions::new().write(true).open("/dev/tty") {
        // An error is ignored, because the terminal may be closed.
        let _ = terminal.write_all(bytes);
    }
    None
}
