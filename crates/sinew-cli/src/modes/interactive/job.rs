//! The program as a job of the shell: it stops, or its run goes on without the terminal (`/bg`), and the shell gets its prompt
//! back as after ctrl+z and `bg`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use crate::control::Control;
use crate::output;
use crate::signals::Ending;

/// Milliseconds between two looks at whose the terminal is, and the number of looks.
const LOOKS: (i64, u32) = (10, 200);

/// Stops the process and its group, and returns when it goes on; at once where a shell without job control would never let
/// it go on.
pub(super) fn stop() {
    use rustix::process::{Signal, getpgrp, kill_process_group};
    // A signal to the group may be taken by any thread, while this one would go on and paint. So the others of the group
    // get it alone, and then this thread its own, by which the whole process stops before the call returns.
    // SAFETY: no handler is set: the signal is ignored, or does what it does by default.
    unsafe { libc::signal(libc::SIGTSTP, libc::SIG_IGN) };
    // Nobody else may be there.
    let _ = kill_process_group(getpgrp(), Signal::TSTP);
    // SAFETY: as above.
    unsafe {
        libc::signal(libc::SIGTSTP, libc::SIG_DFL);
        libc::raise(libc::SIGTSTP);
    }
}

/// Leaves the terminal to the shell: stops as a job of it, and goes on once it has taken the terminal. Without a shell that
/// knows jobs the process goes on at once. What the terminal does from here on, its end too, is no reason to stop.
///
/// # Errors
/// The system starts no process that wakes this one.
pub(super) fn leave_terminal() -> io::Result<()> {
    for signal in [libc::SIGHUP, libc::SIGTTOU, libc::SIGTTIN] {
        // SAFETY: no handler is set: the signal is ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let Ok(terminal) = OpenOptions::new().read(true).open("/dev/tty") else { return Ok(()) };
    let group = rustix::process::getpgrp().as_raw_nonzero().get();
    // SAFETY: the child calls what may be called beside locks of threads that it does not have, and never returns.
    let child = unsafe {
        match libc::fork() {
            0 => wake(group, terminal.as_raw_fd()),
            child => child,
        }
    };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    // What stops the group does not stop the child, which may not have come to say so itself.
    // SAFETY: it takes numbers.
    unsafe { libc::setpgid(child, child) };
    stop();
    // SAFETY: it takes a number and no buffer. The child has ended, or does so within its looks.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    Ok(())
}

/// Lets a group go on once the terminal is another one's.
///
/// # Safety
/// To be called in a child that was just forked.
unsafe fn wake(group: libc::pid_t, terminal: libc::c_int) -> ! {
    // SAFETY: these calls take numbers, and are allowed in such a child.
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

/// Says how to find the session again, on the terminal that is being left.
pub(super) fn say_behind(control: &Control) {
    let id = control.session().agent.session().id().to_string();
    output::tell(&format!("The run goes on without this terminal. Later: sinew -r {}", id.get(..8).unwrap_or(&id)));
}

/// Waits until the run is over, and tells the terminal, where it is still there. A signal ends the run.
pub(super) async fn see_to_its_end(control: &Control, ending: &Ending, bytes: &[u8]) -> Option<u8> {
    let open = control.session();
    tokio::select! {
        () = open.agent.idled() => {}
        code = ending.heard() => return Some(code),
    }
    if let Ok(mut terminal) = OpenOptions::new().write(true).open("/dev/tty") {
        // A terminal that is gone hears nothing.
        let _ = terminal.write_all(bytes);
    }
    None
}
