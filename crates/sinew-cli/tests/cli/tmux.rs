//! A real tmux with a shell that runs the program. A control client types, reads the screen and is notified of each
//! change.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::stage::Stage;

/// The time limit of a wait, far longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The options of the server: exact sizes, and an unlimited history.
const OPTIONS: &str = "\
set -g history-limit 100000
set -g default-terminal tmux-256color
set -g status off
set -g set-titles off
";

/// A tmux server with one pane, in which a shell with the prompt `sh> ` runs.
pub(crate) struct Tmux {
    socket: tempfile::TempDir,
    client: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// True if notifications were skipped since the last call of [`Tmux::shown`] began.
    has_skipped: bool,
    /// The command line that starts the program.
    pub(crate) program: String,
}

/// The rows of the screen, and the position of the cursor, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScreenContent {
    pub(crate) rows: Vec<String>,
    pub(crate) cursor: (usize, usize),
}

impl ScreenContent {
    pub(crate) fn has(&self, start: &str) -> bool {
        self.rows.iter().any(|row| row.starts_with(start))
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        self.rows.iter().any(|row| row.contains(text))
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.rows.iter().any(|row| row == text)
    }
}

impl Tmux {
    /// Starts the server and its shell.
    #[track_caller]
    pub(crate) fn shell(stage: &Stage, args: &[&str], (columns, rows): (u16, u16)) -> Tmux {
        let socket = tempfile::tempdir().unwrap();
        std::fs::write(socket.path().join("options"), OPTIONS).unwrap();
        let program = stage.command(args);
        let words = [program.get_program()].into_iter().chain(program.get_args());
        let line: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let tmux = || {
            let mut tmux = Command::new("tmux");
            tmux.args(["-u", "-f"]).arg(socket.path().join("options"));
            tmux.arg("-S").arg(socket.path().join("socket")).current_dir(stage.project()).env_clear();
            tmux.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
            tmux.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
            tmux
        };
        let size = [columns, rows].map(|cells| cells.to_string());
        let new = ["new-session", "-d", "-x", &size[0], "-y", &size[1], "bash --noprofile --norc -i"];
        let made = tmux().args(new).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut client = tmux();
        client.args(["-C", "attach"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().unwrap();
        let (input, output) = (client.stdin.take().unwrap(), BufReader::new(client.stdout.take().unwrap()));
        let mut tmux = Tmux {
            socket,
            client,
            input,
            output,
            has_skipped: false,
            program: format!("sh -c 'echo $$ >pid; exec \"$@\"' sh {}", line.join(" ")),
        };
        // The client reports with a block that it is attached. From here on the size is set explicitly.
        tmux.block();
        tmux.resize((columns, rows));
        // Short lines only: a shell is not notified if the size changes while its programs run, and wraps long lines
        // wrongly then.
        tmux.send(
            "PS1='sh''> '; stty -g >tty.before; e() { echo code-$1; stty -g | cmp - tty.before && echo same-tty; }\r",
        );
        tmux.until(|shown| shown.is("sh>"));
        tmux
    }

    /// Starts the program in the shell, and waits until it is ready.
    #[track_caller]
    pub(crate) fn start(stage: &Stage, args: &[&str], size: (u16, u16)) -> Tmux {
        let mut tmux = Tmux::shell(stage, args, size);
        tmux.run_program();
        tmux
    }

    #[track_caller]
    fn run_program(&mut self) {
        self.run_program_until(|shown| shown.has("ready"));
    }

    /// Starts the program below an empty screen, and waits for its output.
    #[track_caller]
    pub(crate) fn run_program_until(&mut self, fits: impl Fn(&ScreenContent) -> bool) {
        self.send("clear\r");
        self.until(|shown| shown.rows.iter().filter(|row| !row.is_empty()).eq(["sh>"]));
        let line = self.program.clone();
        self.send(&format!("{line}\r"));
        self.until(fits);
    }

    /// Types bytes unchanged: text, controls and sequences.
    pub(crate) fn send(&mut self, keys: &str) {
        let bytes: Vec<String> = keys.bytes().map(|byte| format!("{byte:02x}")).collect();
        for bytes in bytes.chunks(200) {
            self.command(&format!("send-keys -H {}", bytes.join(" ")));
        }
    }

    /// Types a line, waits until it is in the editor, and submits it.
    #[track_caller]
    pub(crate) fn enter(&mut self, line: &str) {
        self.send(line);
        self.until(|shown| shown.is(&format!("› {line}")) || shown.is(&format!("! {}", line.trim_start_matches('!'))));
        self.send("\r");
    }

    /// Waits until `fits` returns true for the screen.
    #[track_caller]
    pub(crate) fn until(&mut self, fits: impl Fn(&ScreenContent) -> bool) -> ScreenContent {
        let end = Instant::now() + PATIENCE;
        loop {
            let (shown, is_whole) = self.shown();
            if is_whole && fits(&shown) {
                return shown;
            }
            // The screen may have changed between the questions about it.
            if self.has_skipped && Instant::now() < end {
                continue;
            }
            if !self.is_told(end) {
                panic!("the screen never showed that:\n{}\n{:?}", shown.rows.join("\n"), shown.cursor);
            }
            self.line();
        }
    }

    /// Returns the current screen, and whether no frame is incomplete.
    fn shown(&mut self) -> (ScreenContent, bool) {
        self.has_skipped = false;
        let format = "#{cursor_flag} #{cursor_y} #{cursor_x}";
        let state = self.command(&format!("display-message -p '{format}'"));
        let rows = self.command("capture-pane -p").iter().map(|row| row.trim_end().to_owned()).collect();
        let numbers: Vec<usize> = state[0].split(' ').map(|number| number.parse().unwrap()).collect();
        (ScreenContent { rows, cursor: (numbers[1], numbers[2]) }, numbers[0] == 1)
    }

    /// Returns all rows of the scrollback and the screen, with wrapped rows joined.
    pub(crate) fn history(&mut self) -> Vec<String> {
        let rows = self.command("capture-pane -p -J -S - -E -");
        rows.iter().map(|row| row.trim_end().to_owned()).collect()
    }

    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.command(&format!("resize-window -x {columns} -y {rows}"));
    }

    /// Changes the size, and waits until the status row is laid out for it. Without waiting, a frame that is being
    /// transferred during the next change would be interpreted with the wrong size, which no program can prevent.
    #[track_caller]
    pub(crate) fn resize_and_wait(&mut self, size: (u16, u16)) -> ScreenContent {
        self.resize(size);
        let fits = |row: &String| row.contains(" %") && row.chars().count() == usize::from(size.0);
        self.until(|shown| shown.rows.len() == usize::from(size.1) && shown.rows.iter().any(fits))
    }

    /// Waits until `fits` returns true for the title of the pane.
    #[track_caller]
    pub(crate) fn until_title(&mut self, fits: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let title = self.command("display-message -p '#{pane_title}'").concat();
            if fits(&title) {
                return;
            }
            assert!(self.is_told(end), "the title is {title:?}");
            self.line();
        }
    }

    /// Pastes a file as a user does, in bracketed paste mode if the program has enabled that.
    pub(crate) fn paste(&mut self, file: &std::path::Path) {
        self.command(&format!("load-buffer '{}'", file.display()));
        self.command("paste-buffer -p");
    }

    /// Returns the rows of the screen with sequences for their colours.
    pub(crate) fn styled(&mut self) -> Vec<String> {
        self.command("capture-pane -p -e")
    }

    /// Exits the program with ctrl+d, and returns all remaining rows, starting with those of the shell.
    #[track_caller]
    pub(crate) fn left(mut self) -> Vec<String> {
        self.send("\x04");
        self.ended(0)
    }

    /// Waits until the shell has the terminal again, and checks that the program has exited with `code` and has
    /// restored the terminal.
    #[track_caller]
    pub(crate) fn ended(mut self, code: u8) -> Vec<String> {
        let is_prompt = |row: &&String| !row.is_empty();
        self.until(|shown| shown.rows.iter().rev().find(is_prompt).is_some_and(|row| row == "sh>"));
        let history = self.history();
        self.send("e $?\r");
        let shown = self.until(|shown| shown.has("code-") && shown.is("sh>"));
        assert!(shown.is(&format!("code-{code}")) && shown.is("same-tty"), "{:#?}", shown.rows);
        let modes = "#{alternate_on}#{keypad_cursor_flag}#{mouse_any_flag}#{origin_flag}#{insert_flag} #{wrap_flag}";
        assert_eq!(self.command(&format!("display-message -p '{modes}'")), ["00000 1"]);
        history
    }

    /// Runs a tmux command and returns the lines of its answer.
    #[track_caller]
    fn command(&mut self, command: &str) -> Vec<String> {
        writeln!(self.input, "{command}").unwrap();
        self.block()
    }

    /// Reads up to the end of the next answer, and skips notifications.
    #[track_caller]
    fn block(&mut self) -> Vec<String> {
        let is_begin = |line: &str| line.starts_with("%begin ");
        let mut line = self.line();
        while !is_begin(&line) {
            self.has_skipped = true;
            line = self.line();
        }
        let number = line.split(' ').nth(2).unwrap().to_owned();
        let mut rows = Vec::new();
        loop {
            let line = self.line();
            let mut words = line.split(' ');
            let word = words.next().unwrap_or_default();
            if matches!(word, "%end" | "%error") && words.nth(1) == Some(&number) {
                assert_eq!(word, "%end", "{rows:?}");
                return rows;
            }
            rows.push(line);
        }
    }

    /// Waits until the server sends a notification; returns false if none has arrived by `end`.
    fn is_told(&self, end: Instant) -> bool {
        let left = end.saturating_duration_since(Instant::now());
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut output = [PollFd::from_borrowed_fd(self.output.get_ref().as_fd(), PollFlags::IN)];
        !left.is_zero() && (!self.output.buffer().is_empty() || poll(&mut output, Some(&limit)).unwrap() > 0)
    }

    #[track_caller]
    fn line(&mut self) -> String {
        assert!(self.is_told(Instant::now() + PATIENCE), "tmux is silent");
        let mut line = Vec::new();
        assert!(self.output.read_until(b'\n', &mut line).unwrap() > 0, "tmux has ended");
        String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.socket.path().join("socket");
        // Programs that are still running end with their terminal.
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").stderr(Stdio::null()).status();
        let _ = self.client.wait();
    }
}

/// Opens and closes this pipe, so that its reader continues.
pub(crate) fn release(stage: &Stage, pipe: &str) {
    let mut pipe = File::options().write(true).open(stage.path(pipe)).unwrap();
    pipe.write_all(b"\n").unwrap();
}
