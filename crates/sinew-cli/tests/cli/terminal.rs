//! The program on a pseudo-terminal, and the resulting screen.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::stage::Stage;

/// A terminal with the program. Every wait is for a text on the screen; if the program never shows it, the wait fails
/// when the program ends, or the test runner stops the test.
pub(crate) struct Terminal {
    master: File,
    slave: OwnedFd,
    found: Termios,
    child: Child,
    emulator: vt100::Parser,
    /// All bytes that the program has sent.
    pub(crate) bytes: Vec<u8>,
    /// The number of bytes that were searched for queries.
    answered: usize,
    /// True if it may erase the scrollback.
    erases: bool,
}

/// Returns true if a row begins with this text.
pub(crate) fn has(rows: &[String], start: &str) -> bool {
    rows.iter().any(|row| row.starts_with(start))
}

/// Types a line, waits until it is shown, and submits it.
#[track_caller]
pub(crate) fn enter(terminal: &mut Terminal, line: &str) {
    terminal.send(line);
    terminal.until(|rows| rows.contains(&format!("› {line}")));
    terminal.send("\r");
}

/// Exits with ctrl+d, and returns the remaining rows.
#[track_caller]
pub(crate) fn left(terminal: Terminal) -> Vec<String> {
    left_with_bytes(terminal).0
}

/// Exits, and returns the remaining rows and all bytes that were sent.
#[track_caller]
pub(crate) fn left_with_bytes(mut terminal: Terminal) -> (Vec<String>, String) {
    terminal.send("\x04");
    let (status, rows, sent) = terminal.ended_with_bytes();
    assert_eq!(status.code(), Some(0), "{rows:#?}");
    (rows, sent)
}

impl Terminal {
    pub(crate) fn start(stage: &Stage, args: &[&str], size: (u16, u16)) -> Terminal {
        Terminal::start_as("xterm-256color", stage, args, size)
    }

    /// Starts the program on a terminal with this name.
    pub(crate) fn start_as(term: &str, stage: &Stage, args: &[&str], size: (u16, u16)) -> Terminal {
        let mut command = stage.command(args);
        command.env("TERM", term);
        Terminal::run(command, size)
    }

    /// Starts a shell with job control, whose prompt is `sh> `, and runs the program in it.
    pub(crate) fn start_in_shell(stage: &Stage, args: &[&str], size: (u16, u16)) -> Terminal {
        let program = stage.command(args);
        let mut command = stage.command(&[]);
        let words = [program.get_program()].into_iter().chain(program.get_args());
        let line: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let mut shell = std::process::Command::new("bash");
        shell.args(["--noprofile", "--norc", "-i"]).current_dir(stage.project()).env_clear();
        shell.envs(command.env("TERM", "xterm-256color").get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut terminal = Terminal::run(shell, size);
        terminal.send("PS1='sh''> '\r");
        terminal.until(|rows| rows.iter().any(|row| row == "sh>"));
        terminal.send(&format!("{}\r", line.join(" ")));
        terminal
    }

    /// Starts the program on a terminal that accepts no output until it is read.
    pub(crate) fn start_full(stage: &Stage, args: &[&str], size: (u16, u16)) -> Terminal {
        let mut command = stage.command(args);
        command.env("TERM", "xterm-256color");
        Terminal::run_on(command, size, true)
    }

    /// Starts a command on a new terminal.
    pub(crate) fn run(command: std::process::Command, size: (u16, u16)) -> Terminal {
        Terminal::run_on(command, size, false)
    }

    fn run_on(mut command: std::process::Command, (columns, rows): (u16, u16), is_full: bool) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        // Otherwise the terminal could become the controlling one of this process.
        let mut options = File::options();
        let options = options.read(true).write(true).custom_flags(libc::O_NOCTTY);
        let slave: OwnedFd = options.open(name.to_str().unwrap()).unwrap().into();
        set_size(&slave, columns, rows);
        let found = tcgetattr(&slave).unwrap();
        if is_full {
            let mut blocked =
                options.custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open(name.to_str().unwrap()).unwrap();
            while blocked.write(b"\x1b[m").is_ok() {}
        }
        let end = || slave.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: all calls are allowed between fork and exec: they do not allocate.
        unsafe {
            command.pre_exec(|| {
                // Programs expect default signal handlers, but some signals are ignored if a script runs the tests in
                // the background.
                for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let emulator = vt100::Parser::new(nonzero(rows), nonzero(columns), 10_000);
        Terminal { master: master.into(), slave, found, child, emulator, bytes: Vec::new(), answered: 0, erases: false }
    }

    /// Disables the answers to queries.
    pub(crate) fn silent(mut self) -> Terminal {
        self.answered = usize::MAX;
        self
    }

    /// Allows to erase the scrollback.
    pub(crate) fn erasing(mut self) -> Terminal {
        self.erases = true;
        self
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until `fits` returns true for the screen; returns its rows without trailing blanks.
    #[track_caller]
    pub(crate) fn until(&mut self, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let rows = self.rows();
            // The cursor is hidden while a frame is incomplete.
            if !self.emulator.screen().hide_cursor() && fits(&rows) {
                return rows;
            }
            let mut buffer = [0; 8192];
            match self.master.read(&mut buffer) {
                Ok(count @ 1..) => self.take(&buffer[..count]),
                _ => panic!("the program has ended before it showed that:\n{}", rows.join("\n")),
            }
        }
    }

    #[track_caller]
    pub(crate) fn until_shown(&mut self, text: &str) -> Vec<String> {
        self.until(|rows| rows.iter().any(|row| row.contains(text)))
    }

    /// Reads until `fits` returns true for all bytes that the program has sent.
    #[track_caller]
    pub(crate) fn until_sent(&mut self, fits: impl Fn(&str) -> bool) {
        while !fits(&String::from_utf8_lossy(&self.bytes)) {
            let mut buffer = [0; 8192];
            match self.master.read(&mut buffer) {
                Ok(count @ 1..) => self.take(&buffer[..count]),
                _ => panic!("the program has ended before it sent that:\n{}", String::from_utf8_lossy(&self.bytes)),
            }
        }
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.emulator.screen_mut().set_size(nonzero(rows), nonzero(columns));
        set_size(&self.slave, columns, rows);
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Returns the directory in `/proc` of the thread with this name.
    #[track_caller]
    pub(crate) fn thread(&self, name: &str) -> String {
        let process = format!("{0}/task", self.child.id());
        let tasks = std::fs::read_dir(format!("/proc/{process}")).unwrap().flatten();
        let mut tasks = tasks.map(|task| format!("{process}/{}", task.file_name().to_string_lossy()));
        let is_named = |task: &String| {
            std::fs::read_to_string(format!("/proc/{task}/comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        tasks.find(is_named).unwrap_or_default()
    }

    /// Waits until a thread exists and sleeps in `poll`.
    #[track_caller]
    pub(crate) fn until_thread_waits(&self, name: &str) -> String {
        loop {
            let task = self.thread(name);
            let call = std::fs::read_to_string(format!("/proc/{task}/syscall")).unwrap_or_default();
            let number = call.split(' ').next().and_then(|number| number.parse::<i64>().ok());
            // Some architectures lack the older call.
            let polls = [
                libc::SYS_ppoll,
                #[cfg(target_arch = "x86_64")]
                libc::SYS_poll,
            ];
            if number.is_some_and(|number| polls.contains(&number)) {
                return task;
            }
            std::thread::yield_now();
        }
    }

    /// Waits for the end of the program, and checks that it has restored the terminal.
    #[track_caller]
    pub(crate) fn ended(self) -> (ExitStatus, Vec<String>) {
        let (status, rows, _) = self.ended_with_bytes();
        (status, rows)
    }

    /// Does the same, and also returns all output of the program.
    #[track_caller]
    pub(crate) fn ended_with_bytes(mut self) -> (ExitStatus, Vec<String>, String) {
        let status = self.child.wait().unwrap();
        let now = tcgetattr(&self.slave).unwrap();
        assert_eq!((now.local_modes, now.input_modes), (self.found.local_modes, self.found.input_modes));
        // The remaining output is available already, because the program has ended.
        let mut left = [rustix::event::PollFd::from_borrowed_fd(self.master.as_fd(), rustix::event::PollFlags::IN)];
        while rustix::event::poll(&mut left, Some(&rustix::event::Timespec::default())).unwrap() > 0 {
            let mut buffer = [0; 8192];
            match (&self.master).read(&mut buffer) {
                Ok(count @ 1..) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    self.emulator.process(&buffer[..count]);
                }
                _ => break,
            }
        }
        let text = String::from_utf8_lossy(&self.bytes);
        for (set, unset) in [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?1004h", "\x1b[?1004l"), ("\x1b[?7l", "\x1b[?7h")] {
            assert!(text.rfind(unset) >= text.rfind(set), "{set:?} was never taken back");
        }
        assert!(self.erases || !text.contains("\x1b[3J"));
        assert_eq!(not_allowed(&text), None, "the contract allows no such output");
        assert_eq!(text.matches("\x1b[?1049h").count(), text.matches("\x1b[?1049l").count());
        let text = text.into_owned();
        (status, self.rows(), text)
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.emulator.screen();
        screen.rows(0, screen.size().1.into()).map(|row| row.trim_end().to_string()).collect()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // The emulator has read the bytes before this index.
        let mut read = self.bytes.len() - bytes.len();
        // Answers the queries of a terminal with few features: its type and the cursor position. A query may be split
        // over two reads.
        for at in self.answered.min(self.bytes.len())..self.bytes.len() {
            if self.answered == usize::MAX {
                break;
            }
            if self.bytes[at..].starts_with(b"\x1b[6n") {
                self.emulator.process(&self.bytes[read.min(at)..at]);
                read = read.max(at);
                let (row, column) = self.emulator.screen().cursor_position();
                self.send(&format!("\x1b[{};{}R", row + 1, column + 1));
                self.answered = at + 1;
            } else if self.bytes[at..].starts_with(b"\x1b[c") {
                self.send("\x1b[?62;c");
                self.answered = at + 1;
            }
        }
        self.emulator.process(&self.bytes[read..]);
        self.answered = self.answered.max(self.bytes.len().saturating_sub(3));
    }
}

/// Returns the first control character or sequence that the program must never send.
fn not_allowed(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control()) {
        rest = &rest[at..];
        let (end, fits) = match rest.as_bytes() {
            [b'\r' | b'\n' | 0x07 | 0x08, ..] => (1, true),
            [0x1b, b'[', ..] => {
                let end = rest[2..].find(|c| ('\x40'..='\x7e').contains(&c)).map_or(rest.len(), |end| end + 3);
                let (body, last) = (&rest[2..end - 1], rest[..end].chars().last().unwrap_or_default());
                let fits = match last {
                    'A' | 'B' | 'C' | 'G' => body.chars().all(|c| c.is_ascii_digit()),
                    'K' | 'H' | 'c' => body.is_empty(),
                    'J' => matches!(body, "" | "3"),
                    'm' => body.chars().all(|c| c.is_ascii_digit() || matches!(c, ';' | ':')) || body.starts_with(">4"),
                    'n' => matches!(body, "5" | "6"),
                    'u' => matches!(body, "?" | "<" | ">5"),
                    'q' => body == ">0",
                    'p' => matches!(body, "?2026$" | "?2027$" | "?2031$"),
                    // tmux changes its grid before it reports the size, so it is queried before frames that move rows.
                    't' => matches!(body, "16" | "18" | "22;0" | "22;2" | "23;0" | "23;2"),
                    'h' | 'l' => {
                        matches!(body, "?7" | "?25" | "?1004" | "?1049" | "?2004" | "?2026" | "?2027" | "?2031")
                    }
                    _ => false,
                };
                (end, fits)
            }
            [0x1b, b']', ..] => {
                let end = rest[2..].find(['\x1b', '\x07']).map_or(rest.len(), |end| end + 2);
                let known =
                    ["0;", "2;", "8;", "9;", "10;?", "11;?", "52;", "99;", "133;", "777;", "1337;File=inline=1;size="];
                (end, known.iter().any(|known| rest[2..end].starts_with(known)))
            }
            // An image in Kitty's protocol, within the text.
            [0x1b, b'_', ..] => {
                let end = rest[2..].find('\x1b').map_or(rest.len(), |end| end + 2);
                let known = ["Ga=t,f=100,q=2,", "Gm=", "Ga=p,U=1,q=2,", "Ga=d,d=I,q=2,"];
                (end, known.iter().any(|known| rest[2..end].starts_with(known)))
            }
            // A sequence for the terminal around tmux, with doubled ESC.
            [0x1b, b'P', ..] if rest[1..].starts_with("Ptmux;") => {
                let end = rest.find("\x1b\x1b\\\x1b\\").map_or(rest.len(), |end| end + 5);
                let inner = rest[7..end].strip_suffix("\x1b\\").unwrap_or(&rest[7..end]).replace("\x1b\x1b", "\x1b");
                (end, not_allowed(&inner).is_none())
            }
            // The end of a string.
            [0x1b, b'\\', ..] => (2, true),
            _ => (rest.chars().next().map_or(1, char::len_utf8), false),
        };
        if !fits {
            return Some(rest[..end].to_owned());
        }
        rest = &rest[end..];
    }
    None
}

#[test]
fn detects_output_that_is_not_allowed() {
    for (text, expect) in [
        ("\x1b[?2004h\x1b[?u\x1b[>0q\x1b]11;?\x1b\\\x1b[c\r\n\x1b]2;title\x1b\\\x1b[1mx\x1b[m\x08 \x08\x07", None),
        ("\x1b[2J", Some("\x1b[2J")),
        ("x\x1b[3S", Some("\x1b[3S")),
        ("\x1b[1;4r", Some("\x1b[1;4r")),
        ("\x1bM", Some("\x1b")),
        ("\x1b[?1000h", Some("\x1b[?1000h")),
        ("\x1b]1337;File=:eA==\x07", Some("\x1b]1337;File=:eA==")),
        ("\x1b]1337;File=inline=1;size=1;width=1;height=1:eA==\x1b\\x", None),
        ("\x1b]1337;ClearScrollback\x1b\\", Some("\x1b]1337;ClearScrollback")),
        ("\x1bP+q\x1b\\", Some("\x1b")),
        ("\x1bPtmux;\x1b\x1b_Ga=d,d=I,q=2,i=1\x1b\x1b\\\x1b\\x", None),
        ("a\tb", Some("\t")),
        ("\u{9b}2J", Some("\u{9b}")),
    ] {
        assert_eq!(not_allowed(text).as_deref(), expect, "{text:?}");
    }
}

fn nonzero(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("a terminal has cells")
}

fn set_size(slave: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(slave, size).unwrap();
}
