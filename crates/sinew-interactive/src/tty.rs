//! The terminal of the process: raw mode, terminal modes, input and output, and the restoration of its original state.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use sinew::image::terminal::placeholder;
use sinew_tui::{Event, InputParser, Mode, Modes, Reply, Size};

#[cfg(target_os = "linux")]
use super::guard::Guard;
use super::outbox::Outbox;
use super::pictures::{PicturePlacement, PreparedPicture, passed};
use super::record::Recorder;

/// The queries at the start: Kitty's keyboard protocol, name and version, synchronized output, the background colour,
/// and last one that every terminal answers.
const QUESTIONS: &str = "\x1b[?u\x1b[>0q\x1b[?2026$p\x1b]11;?\x1b\\\x1b[c";
/// The query to the Linux console, which prints parts of unknown sequences.
const CONSOLE_QUESTIONS: &str = "\x1b[c";

/// The time limit at exit for replies to queries, which must not reach the shell.
const REPLIES: Duration = Duration::from_millis(100);

/// Returns the queries for a terminal with this name.
fn questions(term: Option<&str>) -> &'static str {
    if term == Some("linux") { CONSOLE_QUESTIONS } else { QUESTIONS }
}

/// How the terminal is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalUse {
    /// Paints rows; receives single keys.
    Screen,
    /// Prints lines; receives single keys.
    Line,
    /// Prints lines; receives lines that the kernel edits. Sends no escape sequences.
    Plain,
}

impl TerminalUse {
    fn modes(self) -> &'static [Mode] {
        match self {
            TerminalUse::Screen => &[Mode::Title, Mode::BracketedPaste, Mode::FocusReports, Mode::NoAutowrap],
            TerminalUse::Line => &[Mode::BracketedPaste],
            TerminalUse::Plain => &[],
        }
    }
}

/// The terminal. Dropping it restores its original state.
pub(super) struct Tty {
    file: File,
    manner: TerminalUse,
    found: Termios,
    modes: Modes,
    /// True if the terminal supports Kitty's keyboard protocol.
    has_kitty: bool,
    /// The number of queries without a reply, of those that every terminal answers.
    awaited: usize,
    outbox: Outbox,
    /// The ids of the images in the terminal, the oldest first.
    pictures: VecDeque<u32>,
    /// True if sequences are passed through tmux to the outer terminal.
    passes: bool,
    /// Records the output.
    recorder: Option<Recorder>,
    /// Restores the terminal if this process is killed.
    #[cfg(target_os = "linux")]
    guard: Option<Guard>,
}

/// The sources that are ready.
pub(super) struct ReadySources {
    pub(super) input: bool,
    pub(super) woken: bool,
}

impl Tty {
    /// Opens and prepares the terminal of the process.
    ///
    /// # Errors
    /// Returns an error if there is no terminal, or if its modes cannot be set.
    pub(super) fn open(manner: TerminalUse) -> io::Result<Tty> {
        Tty::at("/dev/tty", manner)
    }

    fn at(path: &str, manner: TerminalUse) -> io::Result<Tty> {
        // Opened separately, so that it is non-blocking here and remains blocking for the shell.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let file = File::options().read(true).write(true).custom_flags(flags).open(path)?;
        let found = tcgetattr(&file)?;
        let (modes, outbox) = (Modes::new(), Outbox::default());
        let mut tty = Tty {
            file,
            manner,
            found,
            modes,
            has_kitty: false,
            awaited: 0,
            outbox,
            pictures: VecDeque::new(),
            passes: false,
            recorder: None,
            #[cfg(target_os = "linux")]
            guard: None,
        };
        tty.enter()?;
        if manner == TerminalUse::Screen {
            tty.ask(questions(std::env::var("TERM").ok().as_deref()).as_bytes());
        }
        Ok(tty)
    }

    /// Sets raw mode and all other modes: at the start, and after the terminal was restored temporarily.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let mut set = self.found.clone();
        if self.manner == TerminalUse::Plain {
            // ctrl+c ends the line, as Enter does, instead of sending a signal.
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
        if self.has_kitty {
            bytes += self.modes.set(Mode::KittyKeys);
        }
        self.tell_guard();
        self.write(bytes.as_bytes());
        Ok(())
    }

    /// Starts the process that restores the terminal if this one is killed. Takes a moment, so it is called after the
    /// first frame.
    pub(super) fn guard(&mut self) {
        #[cfg(target_os = "linux")]
        {
            // If the process cannot be started, the program continues without it.
            self.guard = Guard::start(&self.file, &self.found).ok();
        }
        self.tell_guard();
    }

    /// Sends the current modes to the guard: before a mode is set, and after one is reset.
    fn tell_guard(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(guard) = &self.guard {
            // The shell continues below the last row.
            guard.tell(&[self.without_pictures().as_bytes(), &self.modes.undo_all()[..], b"\n"].concat());
        }
    }

    /// Restores the original state of the terminal, and waits up to two seconds until all bytes are written.
    pub(super) fn leave(&mut self) {
        let bytes = self.modes.take_all();
        if self.manner != TerminalUse::Plain {
            self.write(&bytes);
        }
        for _ in 0..20 {
            if self.outbox.is_empty() || poll_one(&self.file, PollFlags::OUT, Duration::from_millis(100)).is_err() {
                break;
            }
            if self.flush().is_err() {
                break;
            }
        }
        drop_replies(&self.file, std::mem::take(&mut self.awaited), REPLIES);
        // An error is ignored, because the terminal may be closed.
        let _ = tcsetattr(&self.file, OptionalActions::Now, &self.found);
        #[cfg(target_os = "linux")]
        if let Some(guard) = &self.guard {
            guard.tell(&[]);
        }
    }

    /// Sends an image to the terminal, unless it has it already, and fits it into its cells. Keeps the newest `most`
    /// images and deletes older ones.
    pub(super) fn show_picture(&mut self, picture: &PreparedPicture, most: usize) {
        let PicturePlacement { id, columns, rows } = picture.placed;
        let mut bytes = String::new();
        let known = self.pictures.iter().position(|known| *known == id);
        match known {
            Some(at) => drop(self.pictures.remove(at)),
            None => bytes += &placeholder::transmit(&picture.png, id),
        }
        self.pictures.push_back(id);
        bytes += &placeholder::place(id, columns, rows);
        while self.pictures.len() > most
            && let Some(oldest) = self.pictures.pop_front()
        {
            bytes += &placeholder::delete(oldest);
        }
        self.tell_guard();
        let bytes = self.for_terminal(bytes);
        self.write(bytes.as_bytes());
    }

    /// Returns the bytes that delete all images from the terminal.
    fn without_pictures(&self) -> String {
        self.for_terminal(self.pictures.iter().map(|id| placeholder::delete(*id)).collect())
    }

    fn for_terminal(&self, bytes: String) -> String {
        if self.passes { passed(&bytes) } else { bytes }
    }

    /// Passes images through tmux to the outer terminal.
    pub(super) fn set_passing(&mut self) {
        self.passes = true;
    }

    /// Returns true if images are passed through tmux.
    pub(super) fn passes(&self) -> bool {
        self.passes
    }

    /// Returns the size of a cell in pixels; that of a common font if the terminal does not report it.
    pub(super) fn cell(&self) -> (u32, u32) {
        let told = tcgetwinsize(&self.file).ok().and_then(|size| {
            let side = |pixels: u16, cells: u16| pixels.checked_div(cells).filter(|side| *side > 0).map(u32::from);
            side(size.ws_xpixel, size.ws_col).zip(side(size.ws_ypixel, size.ws_row))
        });
        told.unwrap_or((8, 16))
    }

    /// Enables Kitty's keyboard protocol, after the terminal reported that it supports it.
    pub(super) fn set_kitty(&mut self) {
        self.has_kitty = true;
        let bytes = self.modes.set(Mode::KittyKeys);
        self.tell_guard();
        self.write(bytes.as_bytes());
    }

    /// Switches to the alternate screen, for a full-screen view.
    pub(super) fn enter_viewer(&mut self) {
        let mut bytes = self.modes.set(Mode::AlternateScreen).to_string();
        if self.has_kitty {
            bytes += self.modes.set(Mode::ViewerKeys);
        }
        bytes += "\x1b[H";
        self.tell_guard();
        self.write(bytes.as_bytes());
    }

    /// Switches back to the main screen.
    pub(super) fn leave_viewer(&mut self) {
        let bytes = self.modes.unset(Mode::ViewerKeys).to_string() + self.modes.unset(Mode::AlternateScreen);
        self.write(bytes.as_bytes());
        self.tell_guard();
    }

    /// Returns the size of the terminal; 80×24 if it cannot be queried.
    pub(super) fn size(&self) -> Size {
        tcgetwinsize(&self.file).map_or(Size::new(80, 24), |size| match (size.ws_col, size.ws_row) {
            (0, _) | (_, 0) => Size::new(80, 24),
            (columns, rows) => Size::new(columns.into(), rows.into()),
        })
    }

    /// Writes bytes; those that the terminal does not accept now wait for [`Tty::flush`].
    pub(super) fn write(&mut self, bytes: &[u8]) {
        // An error, such as a full disk, only ends the recording.
        self.recorder.take_if(|recorder| recorder.sent(bytes).is_err());
        self.outbox.push(bytes);
        // An error occurs again at the next read.
        let _ = self.flush();
    }

    /// Begins to record the output.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn record(&mut self, file: &Path) -> io::Result<()> {
        self.recorder = Some(Recorder::begin(file, self.size())?);
        Ok(())
    }

    /// Ends the recording; returns false if there was none.
    pub(super) fn end_record(&mut self) -> bool {
        self.recorder.take().is_some()
    }

    /// Records a change of the size.
    pub(super) fn record_size(&mut self, size: Size) {
        self.recorder.take_if(|recorder| recorder.resized(size).is_err());
    }

    /// Sends a query that every terminal answers.
    pub(super) fn ask(&mut self, question: &[u8]) {
        self.awaited += 1;
        self.write(question);
    }

    /// Records that a reply to such a query has arrived.
    pub(super) fn was_answered(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
    }

    /// Writes pending bytes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.outbox.send(&mut self.file)
    }

    /// Returns true if bytes are pending, so that a new frame would be shown too late.
    pub(super) fn is_behind(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Waits for input, a message or the end of `limit`; without a limit, indefinitely.
    pub(super) fn wait(&mut self, wake: &UnixStream, limit: Option<Duration>) -> io::Result<ReadySources> {
        let output = if self.is_behind() { PollFlags::OUT } else { PollFlags::empty() };
        let mut ready = [PollFd::new(&self.file, PollFlags::IN | output), PollFd::new(wake, PollFlags::IN)];
        match poll(&mut ready, limit.map(timespec).as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(ReadySources { input: false, woken: false }),
            Err(error) => return Err(error.into()),
        }
        let (tty, woken) = (ready[0].revents(), !ready[1].revents().is_empty());
        if tty.contains(PollFlags::OUT) {
            self.flush()?;
        }
        Ok(ReadySources { input: tty.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR), woken })
    }

    /// Reads available input; an empty slice means that the terminal is closed.
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
        let bytes = self.without_pictures();
        self.pictures.clear();
        self.write(bytes.as_bytes());
        self.leave();
    }
}

/// Reads and discards input until this number of replies has arrived, or `limit` has passed.
fn drop_replies(mut file: &File, mut awaited: usize, limit: Duration) {
    let (mut parser, end) = (InputParser::new(false), Instant::now() + limit);
    (0..awaited).for_each(|_| parser.await_cursor());
    let mut buffer = [0; 1024];
    while awaited > 0 {
        let left = end.saturating_duration_since(Instant::now());
        if !matches!(poll_one(file, PollFlags::IN, left), Ok(1..)) {
            return;
        }
        let events = match file.read(&mut buffer) {
            Ok(count @ 1..) => parser.feed(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Vec::new(),
            _ => return,
        };
        let is_last = |event: &&Event| {
            matches!(event, Event::Reply(Reply::DeviceAttributes | Reply::Cursor(..) | Reply::ScreenSize(..)))
        };
        awaited = awaited.saturating_sub(events.iter().filter(is_last).count());
    }
}

fn poll_one(file: &File, flags: PollFlags, limit: Duration) -> rustix::io::Result<usize> {
    poll(&mut [PollFd::from_borrowed_fd(file.as_fd(), flags)], Some(&timespec(limit)))
}

fn timespec(limit: Duration) -> Timespec {
    Timespec { tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: limit.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    /// Returns a terminal, and the path of the program's side.
    fn pty() -> (File, String) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        (master.into(), name)
    }

    #[test]
    fn late_replies_are_read_before_the_shell_continues() {
        let (mut terminal, program) = UnixStream::pair().unwrap();
        let program = File::from(std::os::fd::OwnedFd::from(program));
        // The last reply is split; another thread writes its rest at an arbitrary time.
        terminal.write_all(b"\x1b[?1u\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?6").unwrap();
        let mut other = terminal.try_clone().unwrap();
        let late = std::thread::spawn(move || other.write_all(b"2;c\x1b[3;1R").unwrap());
        drop_replies(&program, 2, Duration::from_secs(600));
        late.join().unwrap();
        rustix::io::ioctl_fionbio(&program, true).unwrap();
        assert_eq!(
            (&program).read(&mut [0; 8]).unwrap_err().kind(),
            ErrorKind::WouldBlock,
            "nothing is left for a shell"
        );
        // Without pending queries nothing is read, because the input consists of keys.
        terminal.write_all(b"ls\r").unwrap();
        drop_replies(&program, 0, Duration::from_secs(600));
        assert_eq!((&program).read(&mut [0; 8]).unwrap(), 3);
    }

    #[test]
    fn a_panic_restores_the_terminal() {
        for reached in ["opened", "kitty", "viewer"] {
            let (mut master, name) = pty();
            let slave = File::options().read(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(&name).unwrap();
            let found = tcgetattr(&slave).unwrap();
            let failed = std::thread::spawn(move || {
                let mut tty = Tty::at(&name, TerminalUse::Screen).unwrap();
                tty.awaited = 0;
                if reached != "opened" {
                    tty.set_kitty();
                }
                if reached == "viewer" {
                    tty.enter_viewer();
                }
                // Unwinds like a panic, but without printing a message.
                std::panic::resume_unwind(Box::new("the screen failed"));
            });
            assert!(failed.join().is_err());
            let now = tcgetattr(&slave).unwrap();
            assert_eq!(format!("{now:?}"), format!("{found:?}"), "{reached}");
            // The title was set first.
            let mut sent = String::new();
            while !sent.ends_with("\x1b[23;2t") {
                let mut buffer = [0; 4096];
                let count = master.read(&mut buffer).unwrap();
                sent.push_str(str::from_utf8(&buffer[..count]).unwrap());
            }
            let pairs = [
                ("\x1b[?2004h", "\x1b[?2004l"),
                ("\x1b[?1004h", "\x1b[?1004l"),
                ("\x1b[?7l", "\x1b[?7h"),
                ("\x1b[22;2t", "\x1b[23;2t"),
                ("\x1b[>5u", "\x1b[<u"),
                ("\x1b[?1049h", "\x1b[?1049l"),
            ];
            for (set, unset) in pairs {
                assert_eq!(sent.matches(set).count(), sent.matches(unset).count(), "{reached}: {set:?} in {sent:?}");
                assert!(sent.rfind(unset) >= sent.rfind(set), "{reached}: {set:?} in {sent:?}");
            }
            assert!(sent.contains("\x1b[?25h"), "the cursor is shown: {sent:?}");
        }
    }

    #[test]
    fn each_terminal_gets_only_the_queries_it_supports() {
        assert_eq!(questions(Some("linux")), "\x1b[c");
        for term in [None, Some("screen"), Some("tmux-256color"), Some("xterm-256color")] {
            let asked = questions(term);
            let allowed = ["\x1b[?u", "\x1b[>0q", "\x1b[?2026$p", "\x1b]11;?\x1b\\", "\x1b[c"];
            assert_eq!(asked, allowed.concat(), "{term:?}");
            assert!(asked.ends_with("\x1b[c"), "what every terminal answers comes last");
        }
    }
}
