//! A pseudo-terminal of a Unix system, and a program in it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Opens a pseudo-terminal and returns both ends; programs inherit neither of them automatically.
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
        // The input is UTF-8: the erase key removes a complete character.
        let mut modes = rustix::termios::tcgetattr(&slave)?;
        modes.input_modes |= rustix::termios::InputModes::IUTF8;
        rustix::termios::tcsetattr(&slave, rustix::termios::OptionalActions::Now, &modes)?;
    }
    Ok((master, slave))
}

/// Sets the size of the terminal; its foreground programs receive `SIGWINCH`.
pub(super) fn resize(master: impl AsFd, (cols, rows): (u16, u16)) -> io::Result<()> {
    Ok(tcsetwinsize(master, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 })?)
}

/// Returns the path of the terminal, such as `/dev/pts/3`.
pub(super) fn name(master: impl AsFd) -> io::Result<String> {
    let name = rustix::pty::ptsname(master, Vec::new())?;
    Ok(name.to_string_lossy().into_owned())
}

/// Connects the three standard streams of `command` to the terminal.
pub(super) fn attach(command: &mut Command, slave: &OwnedFd) -> io::Result<()> {
    command.stdin(Stdio::from(slave.try_clone()?));
    command.stdout(Stdio::from(slave.try_clone()?));
    command.stderr(Stdio::from(slave.try_clone()?));
    Ok(())
}

/// Makes the program the leader of a new session with its standard input as controlling terminal, and with default
/// signal handling. It is killed when the thread that starts it ends.
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
    // SAFETY: both calls are allowed between fork and exec; for a signal without a settable action the call fails and
    // changes nothing.
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
