//! The terminal of the process: raw mode, modes, bytes in both directions, and its state of before.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use sinew_tui::{Mode, Modes, Size};

/// Questions at the start: Kitty's keyboard, name and version, synchronized output, the background, and last what every
/// terminal answers.
const QUESTIONS: &str = "\x1b[?u\x1b[>0q\x1b[?2026$p\x1b]11;?\x1b\\\x1b[c";
/// What the console of Linux is asked: it shows parts of what it does not know.
const CONSOLE_QUESTIONS: &str = "\x1b[c";

/// A way to use the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Rows are painted; keys come one by one.
    Screen,
    /// Lines follow one another; keys come one by one.
    Line,
    /// Lines follow one another, and come whole: the kernel edits them. Not one escape sequence is sent.
    Plain,
}

impl Manner {
    fn modes(self) -> &'static [Mode] {
        match self {
            Manner::Screen => &[Mode::Title, Mode::BracketedPaste, Mode::FocusReports, Mode::NoAutowrap],
            Manner::Line => &[Mode::BracketedPaste],
            Manner::Plain => &[],
        }
    }
}

/// The terminal. Dropping it gives it back as it was found.
pub(super) struct Tty {
    file: File,
    manner: Manner,
    found: Termios,
    modes: Modes,
    /// Bytes that the terminal has not taken yet.
    pending: Vec<u8>,
}

/// What is ready.
pub(super) struct Ready {
    pub(super) input: bool,
    pub(super) woken: bool,
}

impl Tty {
    /// Opens the terminal of the process and prepares it.
    ///
    /// # Errors
    /// There is none, or it cannot be set.
    pub(super) fn open(manner: Manner) -> io::Result<Tty> {
        // A description of its own: without blocking here, and with it for the shell that comes after.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let file = File::options().read(true).write(true).custom_flags(flags).open("/dev/tty")?;
        let found = tcgetattr(&file)?;
        let mut tty = Tty { file, manner, found, modes: Modes::new(), pending: Vec::new() };
        tty.enter()?;
        if manner == Manner::Screen {
            let is_console = std::env::var_os("TERM").is_some_and(|term| term == "linux");
            tty.write(if is_console { CONSOLE_QUESTIONS } else { QUESTIONS }.as_bytes());
        }
        Ok(tty)
    }

    /// Sets raw mode and all modes: at the start, and after the terminal was given back.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let mut set = self.found.clone();
        if self.manner == Manner::Plain {
            // ctrl+c ends a line as Enter does, instead of the program.
            set.local_modes.remove(LocalModes::ISIG);
            set.special_codes[SpecialCodeIndex::VEOL] = 3;
        } else {
            set.make_raw();
        }
        tcsetattr(&self.file, OptionalActions::Now, &set)?;
        let mut bytes = String::new();
        for mode in self.manner.modes() {
            bytes += self.modes.set(*mode);
        }
        self.write(bytes.as_bytes());
        Ok(())
    }

    /// Gives the terminal back as it was found, and waits until it has taken all bytes, for two seconds at most.
    pub(super) fn leave(&mut self) {
        let bytes = self.modes.take_all();
        if self.manner != Manner::Plain {
            self.write(&bytes);
        }
        for _ in 0..20 {
            if self.pending.is_empty() || poll_one(&self.file, PollFlags::OUT, Duration::from_millis(100)).is_err() {
                break;
            }
            if self.flush().is_err() {
                break;
            }
        }
        // A terminal that is gone needs nothing back.
        let _ = tcsetattr(&self.file, OptionalActions::Now, &self.found);
    }

    /// Turns Kitty's keyboard protocol on: the terminal answered that it knows it.
    pub(super) fn set_kitty(&mut self) {
        let bytes = self.modes.set(Mode::KittyKeys);
        self.write(bytes.as_bytes());
    }

    /// Returns the size; that of the smallest terminal that programs are written for where it cannot be asked.
    pub(super) fn size(&self) -> Size {
        tcgetwinsize(&self.file).map_or(Size::new(80, 24), |size| match (size.ws_col, size.ws_row) {
            (0, _) | (_, 0) => Size::new(80, 24),
            (columns, rows) => Size::new(columns.into(), rows.into()),
        })
    }

    /// Sends bytes; those that the terminal does not take now wait for [`Tty::flush`].
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        // An error shows again at the next read.
        let _ = self.flush();
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            match self.file.write(&self.pending) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.pending.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells whether bytes wait: a frame that is made now would come too late.
    pub(super) fn is_behind(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Waits for bytes, a message or the end of `limit`; without a limit as long as it takes.
    pub(super) fn wait(&mut self, wake: &UnixStream, limit: Option<Duration>) -> io::Result<Ready> {
        let output = if self.is_behind() { PollFlags::OUT } else { PollFlags::empty() };
        let mut ready = [PollFd::new(&self.file, PollFlags::IN | output), PollFd::new(wake, PollFlags::IN)];
        match poll(&mut ready, limit.map(timespec).as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready { input: false, woken: false }),
            Err(error) => return Err(error.into()),
        }
        let (tty, woken) = (ready[0].revents(), !ready[1].revents().is_empty());
        if tty.contains(PollFlags::OUT) {
            self.flush()?;
        }
        Ok(Ready { input: tty.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR), woken })
    }

    /// Reads what is there; an empty buffer is the end of the terminal.
    pub(super) fn read<'a>(&mut self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match self.file.read(buffer) {
            Ok(count) => Ok(Some(&buffer[..count])),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
    }
}

fn poll_one(file: &File, flags: PollFlags, limit: Duration) -> rustix::io::Result<usize> {
    poll(&mut [PollFd::from_borrowed_fd(file.as_fd(), flags)], Some(&timespec(limit)))
}

fn timespec(limit: Duration) -> Timespec {
    Timespec { tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: limit.subsec_nanos().into() }
}
