//! A conversation with a simulated model: type a text and press Enter, and an answer streams in. Esc stops the answer,
//! pressing ctrl+c twice quits.
//!
//! Run it with `cargo run -p sinew-tui --example demo`. To save every frame, set `SINEW_DEMO_LOG=file`.

#[cfg(unix)]
fn main() -> std::io::Result<()> {
    unix::run()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
    use sinew_tui::theme::Theme;
    use sinew_tui::{
        Attrs, BlockId, Caret, Chrome, Color, EditAction, Editor, EditorStyle, Event, InputParser, Line, Mark, Mode,
        Modes, Reply, Screen, ScreenOptions, Size, Style, TextBlock,
    };

    const EVERY: Duration = Duration::from_millis(40);
    const ANSWER: &str = "This answer comes word by word, as a model would send it. What is final scrolls out of the \
        window into the scrollback of the terminal, and what is not is painted again.\n\nResize the terminal now: rows \
        that you can still see are laid out anew, those above stay as the terminal laid them out.\n\n";

    struct Demo {
        tty: File,
        log: Option<File>,
        screen: Screen,
        input: InputParser,
        editor: Editor,
        answer: Option<Answer>,
        notice: String,
        quit: bool,
        /// The time of the last ctrl+c.
        interrupted: Option<Instant>,
        /// The time of the last change of size, and below it the time of the query for the cursor's position.
        resized: Option<Instant>,
        asked: Option<Instant>,
    }

    struct Answer {
        block: BlockId,
        words: std::vec::IntoIter<&'static str>,
        next: Instant,
    }

    pub(super) fn run() -> io::Result<()> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&tty)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&tty, OptionalActions::Now, &raw)?;
        let result = converse(&tty, &before);
        tcsetattr(&tty, OptionalActions::Drain, &before)?;
        result
    }

    fn converse(tty: &File, before: &Termios) -> io::Result<()> {
        let mut modes = Modes::new();
        let mut out = String::new();
        for mode in [Mode::BracketedPaste, Mode::FocusReports, Mode::NoAutowrap] {
            out += modes.set(mode);
        }
        // A panic must restore the terminal.
        let (undo, hook_tty, termios) = (modes.undo_all(), tty.try_clone()?, before.clone());
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let _ = (&hook_tty).write_all(&undo);
            let _ = tcsetattr(&hook_tty, OptionalActions::Now, &termios);
            hook(info);
        }));
        let mut demo = Demo {
            tty: tty.try_clone()?,
            log: std::env::var_os("SINEW_DEMO_LOG").map(File::create).transpose()?,
            screen: Screen::new(size(tty)?, ScreenOptions::default(), Arc::new(Theme::default())),
            input: InputParser::new(false),
            editor: Editor::new(),
            answer: None,
            notice: String::new(),
            quit: false,
            interrupted: None,
            resized: None,
            asked: None,
        };
        demo.write(out.as_bytes())?;
        demo.screen
            .push(TextBlock::new("demo · enter sends · esc stops · ctrl+c twice quits", Style::PLAIN.with(Attrs::DIM)));
        while !demo.quit {
            demo.paint()?;
            demo.wait()?;
        }
        let mut end = demo.screen.leave();
        end.extend(modes.take_all());
        demo.write(&end)
    }

    fn size(tty: &File) -> io::Result<Size> {
        let size = tcgetwinsize(tty)?;
        Ok(Size::new(size.ws_col.into(), size.ws_row.into()))
    }

    impl Demo {
        fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            if let Some(log) = &mut self.log {
                log.write_all(bytes)?;
            }
            self.tty.write_all(bytes)
        }

        fn paint(&mut self) -> io::Result<()> {
            let size = self.screen.size();
            let shown = self.editor.rows(size.columns, (size.rows / 3).clamp(1, 12), &EditorStyle::default());
            let state = if self.answer.is_some() { "answering" } else { "ready" };
            let mut status =
                Line::styled(&format!("{state} · {}×{}", size.columns, size.rows), Style::PLAIN.with(Attrs::DIM));
            if !self.notice.is_empty() {
                status.push(&format!(" · {}", self.notice), Style::fg(Color::Named(3)));
            }
            self.screen.set_chrome(Chrome {
                status: vec![status.into_row(size.columns)],
                editor: shown.rows,
                caret: Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() },
                ..Chrome::default()
            });
            loop {
                let frame = self.screen.paint();
                self.write(&frame.bytes)?;
                if !frame.more {
                    return Ok(());
                }
            }
        }

        /// Waits for input or the next timeout, and handles it.
        fn wait(&mut self) -> io::Result<()> {
            let now = Instant::now();
            let due = [
                self.answer.as_ref().map(|answer| answer.next),
                self.input.patience().map(|patience| now + patience),
                self.resized.map(|at| at + Duration::from_millis(30)),
                self.asked.map(|at| at + Duration::from_millis(150)),
            ];
            // The size is checked twelve times a second; a real program would wait for SIGWINCH.
            let due = due.into_iter().flatten().min().unwrap_or(now + Duration::from_secs(1));
            let timeout = due.saturating_duration_since(now).min(Duration::from_millis(80));
            let ready = {
                let mut fds = [PollFd::new(&self.tty, PollFlags::IN)];
                let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: timeout.as_nanos() as _ };
                poll(&mut fds, Some(&timeout)).map_or(0, |ready| ready)
            };
            if ready > 0 {
                let mut bytes = [0; 4096];
                let count = self.tty.read(&mut bytes)?;
                self.quit |= count == 0;
                for event in self.input.feed(&bytes[..count]) {
                    self.handle(event)?;
                }
            } else if self.input.patience().is_some_and(|patience| patience <= timeout) {
                for event in self.input.expire() {
                    self.handle(event)?;
                }
            }
            self.stream();
            self.follow_size()
        }

        fn handle(&mut self, event: Event) -> io::Result<()> {
            self.notice.clear();
            match event {
                Event::Paste(text) => self.editor.paste(&text),
                Event::Reply(Reply::Cursor(row, column)) => {
                    self.asked = None;
                    let frame = self.screen.place(row, column);
                    self.write(&frame.bytes)?;
                }
                Event::Key(press) => match press.key.to_string().as_str() {
                    "enter" => self.send(),
                    "escape" => self.stop(),
                    "ctrl+c" => {
                        let again = self.interrupted.is_some_and(|at| at.elapsed() < Duration::from_millis(500));
                        self.quit = again && self.editor.is_empty();
                        self.interrupted = Some(Instant::now());
                        self.editor.clear();
                        self.notice = "ctrl+c again quits".into();
                    }
                    "ctrl+l" => {
                        let frame = self.screen.reset();
                        self.write(&frame.bytes)?;
                    }
                    key => match action(key) {
                        Some(action) => drop(self.editor.act(action)),
                        None => self.editor.insert(&press.text),
                    },
                },
                _ => {}
            }
            Ok(())
        }

        fn send(&mut self) {
            let text = self.editor.submit();
            if text.trim().is_empty() || self.answer.is_some() {
                self.notice = if self.answer.is_some() { "an answer is under way" } else { "nothing to send" }.into();
                return;
            }
            let prompt = Line::styled("› ", Style::PLAIN.with(Attrs::BOLD));
            let block = TextBlock::new(&text, Style::PLAIN.with(Attrs::BOLD)).with_prefix(prompt, Line::plain("  "));
            self.screen.push(block.marked(Mark::Prompt));
            let block = self.screen.push(TextBlock::streaming(Style::PLAIN));
            let times = text.trim().parse().unwrap_or(2);
            let words: Vec<_> = std::iter::repeat_n(ANSWER, times).flat_map(|text| text.split_inclusive(' ')).collect();
            self.answer = Some(Answer { block, words: words.into_iter(), next: Instant::now() + EVERY });
        }

        fn stop(&mut self) {
            if let Some(answer) = self.answer.take()
                && let Some(block) = self.screen.block::<TextBlock>(answer.block)
            {
                block.finish();
            }
        }

        fn stream(&mut self) {
            let Some(answer) = self.answer.as_mut().filter(|answer| answer.next <= Instant::now()) else { return };
            answer.next += EVERY;
            match (answer.words.next(), self.screen.block::<TextBlock>(answer.block)) {
                (Some(word), Some(block)) => block.push(word),
                _ => self.stop(),
            }
        }

        fn follow_size(&mut self) -> io::Result<()> {
            let size = size(&self.tty)?;
            if size != self.screen.size() {
                self.screen.resize(size);
                (self.resized, self.asked) = (Some(Instant::now()), None);
            } else if self.resized.is_some_and(|at| at.elapsed() >= Duration::from_millis(30)) {
                (self.resized, self.asked) = (None, Some(Instant::now()));
                self.input.await_cursor();
                let question = self.screen.ask_place();
                self.write(question)?;
            } else if self.asked.is_some_and(|at| at.elapsed() >= Duration::from_millis(150)) {
                self.asked = None;
                let frame = self.screen.give_up_place();
                self.write(&frame.bytes)?;
            }
            Ok(())
        }
    }

    fn action(key: &str) -> Option<EditAction> {
        Some(match key {
            "left" | "ctrl+b" => EditAction::Left,
            "right" | "ctrl+f" => EditAction::Right,
            "up" => EditAction::Up,
            "down" => EditAction::Down,
            "home" | "ctrl+a" => EditAction::LineStart,
            "end" | "ctrl+e" => EditAction::LineEnd,
            "backspace" => EditAction::DeleteBackward,
            "delete" => EditAction::DeleteForward,
            "ctrl+w" => EditAction::KillWordBackward,
            "ctrl+u" => EditAction::KillToLineStart,
            "ctrl+k" => EditAction::KillToLineEnd,
            "ctrl+y" => EditAction::Yank,
            "ctrl+-" => EditAction::Undo,
            "ctrl+j" => EditAction::NewLine,
            _ => return None,
        })
    }
}
