//! The time before the agent has started: the first frame, and keys that are typed meanwhile.
//!
//! A resumed session is shown from the end of its file; the rest of it is not read before the first frame.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sinew_control::actions::Control;
use sinew_llm::message::AgentMessage;
use sinew_tui::theme::Theme;
use sinew_tui::{
    Attrs, Caret, Chrome, Editor, EditorStyle, Event as Input, InputParser, KeyPress, Line, Reply, Screen,
    ScreenOptions, Style, TextBlock,
};
use tokio::sync::oneshot;

use crate::blocks::DIM;
use crate::characters::{self, CharacterProbe};
use crate::keys::{Action, Bindings, EditorState, KeyMeaning, RowKeys, RunAction, RunKeyContext, run_action};
use crate::mailbox::{Inbox, Message};
use crate::outgoing::{OutgoingQueue, SendState};
use crate::pasting;
use crate::transcript::replay;
use crate::transcript::{self, DisplayOptions};
use crate::tty::Tty;

/// The number of bytes at the end of a session file that are read for the first frame.
const TAIL: u64 = 256 << 10;

/// The screen before the agent has started.
pub(super) struct OpeningScreen {
    pub(super) tty: Tty,
    pub(super) screen: Screen,
    pub(super) input: InputParser,
    pub(super) editor: Editor,
    pub(super) probe: CharacterProbe,
    /// Texts that were sent.
    pub(super) outgoing: OutgoingQueue,
    /// The messages of the session that are shown.
    pub(super) said: Vec<AgentMessage>,
    /// Messages and input that require the agent, in order.
    pub(super) messages: Vec<Message>,
    pub(super) events: Vec<Input>,
    /// True if they contain a key, so that later keys wait too.
    holds_keys: bool,
    last_byte: Instant,
}

impl OpeningScreen {
    /// Creates the screen. `resumed` is the file of a resumed session, of which about `rows` rows are shown. If
    /// `is_quiet` is set, nothing else is shown.
    pub(super) fn new(
        mut tty: Tty,
        options: ScreenOptions,
        probe: CharacterProbe,
        is_quiet: bool,
        resumed: Option<&Path>,
        rows: usize,
        looks: DisplayOptions,
    ) -> OpeningScreen {
        let mut screen = Screen::new(tty.size(), options, Arc::new(Theme::default()));
        let mut head = Line::styled("sinew ", Style::PLAIN.with(Attrs::BOLD));
        head.push(env!("CARGO_PKG_VERSION"), DIM);
        if !is_quiet {
            screen.push(TextBlock::new("", Style::PLAIN).with_prefix(head, Line::new()));
        }
        // If it cannot be read in this way, it is read, or an error is reported, when it is opened.
        let tail = resumed.and_then(|file| sinew_session::tail(file, TAIL).ok()).unwrap_or_default();
        let mut said = tail.messages;
        let older = replay::first_shown(&said, rows);
        said.drain(..older);
        if !said.is_empty() && (older > 0 || !tail.is_whole) {
            let key = RowKeys::note(looks.keys.more, "");
            transcript::line(&mut screen, &format!("⋯ earlier messages{key}"), DIM);
        }
        replay::show_messages(&mut screen, &said, looks);
        let mut input = InputParser::new(std::env::var_os("SSH_CONNECTION").is_some());
        if probe.is_open {
            input.await_cursor();
            tty.ask(characters::QUESTION);
        }
        let (messages, events) = (Vec::new(), Vec::new());
        OpeningScreen {
            tty,
            screen,
            input,
            editor: Editor::new(),
            probe,
            outgoing: OutgoingQueue::new(SendState::Reading),
            said,
            messages,
            events,
            holds_keys: false,
            last_byte: Instant::now(),
        }
    }

    /// Paints and handles keys until the agent has started, and returns it with the warnings of its start. `painted` is
    /// notified when the first frame is on the terminal.
    ///
    /// # Errors
    /// Returns the exit code if the user exits before that.
    pub(super) fn wait(
        &mut self,
        inbox: &Inbox,
        keys: &Bindings,
        painted: oneshot::Sender<()>,
    ) -> Result<(Arc<Control>, Vec<String>), u8> {
        let mut painted = Some(painted);
        let mut buffer = vec![0; 64 << 10];
        loop {
            while let Ok(message) = inbox.messages.try_recv() {
                match message {
                    Message::Started(control, warnings) => return Ok((control, warnings)),
                    Message::End(code) => return Err(code),
                    message => self.messages.push(message),
                }
            }
            self.paint();
            if !self.tty.is_behind()
                && let Some(painted) = painted.take()
            {
                // The receiver is dropped if the start has failed.
                let _ = painted.send(());
                self.tty.guard();
            }
            // A closed terminal ends the program like its hangup signal.
            if let Some(code) = self.take_input(inbox, keys, &mut buffer).unwrap_or(Some(143)) {
                return Err(code);
            }
        }
    }

    /// Waits for input or a message and handles the input; returns the exit code if the user exits.
    fn take_input(&mut self, inbox: &Inbox, keys: &Bindings, buffer: &mut [u8]) -> io::Result<Option<u8>> {
        let patience = self.input.patience();
        let limit = patience.map(|patience| (self.last_byte + patience).saturating_duration_since(Instant::now()));
        let ready = self.tty.wait(&inbox.wake, limit)?;
        if ready.woken {
            inbox.drain_wake(buffer);
        }
        let events = match ready.input.then(|| self.tty.read(buffer)).transpose()?.flatten() {
            Some([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(bytes) => {
                self.last_byte = Instant::now();
                self.input.feed(bytes)
            }
            None if patience.is_some_and(|patience| Instant::now() >= self.last_byte + patience) => self.input.expire(),
            None => Vec::new(),
        };
        for event in events {
            match event {
                Input::Key(press) => {
                    if self.press(keys, press) {
                        return Ok(Some(0));
                    }
                }
                Input::Paste(text) if !self.holds_keys && !pasting::may_name_file(&text) => self.editor.paste(&text),
                Input::Paste(text) => {
                    self.holds_keys = true;
                    self.events.push(Input::Paste(text));
                }
                Input::Reply(Reply::Cursor(_, column)) if self.probe.is_open => {
                    self.tty.was_answered();
                    if let Some(characters) = self.probe.answer(column) {
                        self.screen.set_options(ScreenOptions { characters, ..self.screen.options() });
                    }
                }
                event => self.events.push(event),
            }
        }
        Ok(None)
    }

    /// Handles a key; returns true if the user exits.
    fn press(&mut self, keys: &Bindings, press: KeyPress) -> bool {
        let is_empty = self.editor.is_empty();
        let action = match keys.in_editor(EditorState { is_empty, panel_waits: false }, None, &press) {
            KeyMeaning::Action(action) => Some(action),
            KeyMeaning::Text | KeyMeaning::Begins(_) | KeyMeaning::Nothing => None,
        };
        let is_running = !self.outgoing.is_empty();
        let situation = RunKeyContext { is_running, has_draft: !is_empty, is_second: action == Some(Action::Clear) };
        let run = action.and_then(|action| run_action(action, situation));
        match (run, action.and_then(Action::edit)) {
            // The keys were meant for a panel.
            (Some(RunAction::Clear | RunAction::Leave), _) if self.holds_keys => {
                self.events.retain(|event| !matches!(event, Input::Key(_) | Input::Paste(_)));
                self.holds_keys = false;
            }
            (Some(RunAction::Send(delivery)), _) if !self.holds_keys => {
                let text = self.editor.submit();
                self.outgoing.push(text, delivery);
            }
            (Some(RunAction::Interrupt), _) if !self.holds_keys => {
                let (texts, _) = self.outgoing.take_back();
                self.editor.prepend(&texts.join("\n\n"));
            }
            (Some(RunAction::TakeBack), _) if !self.holds_keys => {
                self.outgoing.take_newest().inspect(|text| self.editor.prepend(text));
            }
            (Some(RunAction::Clear), _) => drop(self.editor.clear()),
            (Some(RunAction::Leave), _) => return true,
            (None | Some(RunAction::Edit), Some(action)) if !self.holds_keys => drop(self.editor.act(action)),
            (None, None) if !self.holds_keys && action.is_none() && is_text(&press.text) => {
                self.editor.insert(&press.text)
            }
            (Some(RunAction::Nothing | RunAction::Notice(_)), _) => {}
            _ => {
                self.holds_keys = true;
                self.events.push(Input::Key(press));
            }
        }
        false
    }

    fn paint(&mut self) {
        if self.tty.is_behind() {
            return;
        }
        let size = self.screen.size();
        if self.tty.size() != size {
            // Nothing is painted until the position of the cursor was requested.
            self.screen.resize(self.tty.size());
        }
        let shown = self.editor.rows(size.columns, (size.rows / 3).clamp(1, 12), &EditorStyle::default());
        let status = Line::styled("starting", DIM).into_row(size.columns);
        self.screen.set_chrome(Chrome {
            above: self.outgoing.rows(&Default::default(), size.columns),
            status: if size.columns < 20 || size.rows < 6 { Vec::new() } else { vec![status] },
            editor: shown.rows,
            caret: Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() },
            ..Chrome::default()
        });
        let frame = self.screen.paint();
        self.tty.write(&frame.bytes);
    }

    /// Leaves the final rows on the terminal.
    pub(super) fn leave(&mut self) {
        let bytes = self.screen.leave();
        self.tty.write(&bytes);
    }
}

fn is_text(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control)
}
