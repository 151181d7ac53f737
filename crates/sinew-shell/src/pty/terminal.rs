//! A pseudo-terminal of a Unix system, and a program on it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a new pseudo-terminal; neither goes on to programs by itself.
pub(super) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    #[cfg(target_os = "linux")]
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
    #[cfg(not(target_os = "linux"))]
    let slave = {
        use rustix::fs::{Mode, OFlags, open};
        rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)?;
        open(
            rustix::pty::ptsname(&master, Vec::new())?,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )?
    };
    rustix::io::ioctl_fionbio(&master, true)?;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        // What is typed is UTF-8: the erase key takes a whole character back.
        let mut modes = rustix::termios::tcgetattr(&slave)?;
        modes.input_modes |= rustix::termios::InputModes::IUTF8;
        rustix::termios::tcsetattr(&slave, rustix::termios::OptionalActions::Now, &modes)?;
    }
    Ok((master, slave))
}

/// Gives the terminal its size; the programs in its foreground get `SIGWINCH`.
pub(super) fn resize(master: impl AsFd, (cols, rows): (u16, u16)) -> io::Result<()> {
    Ok(tcsetwinsize(master, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 })?)
}

/// The path of the terminal, such as `/dev/pts/3`.
pub(super) fn name(master: impl AsFd) -> io::Result<String> {
    let name = rustix::pty::ptsname(master, Vec::new())?;
    Ok(name.to_string_lossy().into_owned())
}

/// Puts the three standard streams of `command` on the terminal.
pub(super) fn attach(command: &mut Command, slave: &OwnedFd) -> io::Result<()> {
    command.stdin(Stdio::from(slave.try_clone()?));
    command.stdout(Stdio::from(slave.try_clone()?));
    command.stderr(Stdio::from(slave.try_clone()?));
    Ok(())
}

/// Makes the program the leader of a session of its own whose terminal is its standard input, with the signals
/// as a login would give them. It is killed when the thread that starts it ends.
pub(super) fn lead(command: &mut Command) {
    // SAFETY: the closure only makes system calls that are allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            default_signals();
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        });
    }
}

fn default_signals() {
    // SAFETY: both calls are allowed between fork and exec; a signal that has no other action is refused, which
    // leaves it as it is.
    unsafe {
        for signal in 1..32 {
            if signal != libc::SIGKILL && signal != libc::SIGSTOP {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}
