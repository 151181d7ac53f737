//! Handles messages to the screen: events of the agent, results of background work.

use std::path::Path;
use std::time::{Duration, Instant};

use sinew_agent::agent::Delivery;
use sinew_agent::event::Event;
use sinew_control::actions::Control;
use sinew_control::actions::mode::SessionMode;
use sinew_llm::message::AgentMessage;
use sinew_tui::{BlockId, Style};

use super::Ui;
use crate::announce::AWAY;
use crate::ask;
use crate::blocks::{DIM, ERROR, NOTICE};
use crate::choices::Topic;
use crate::drafts;
use crate::facts;
use crate::history::HistoryReader;
use crate::mailbox::{Message, SessionTail};
use crate::memory;
use crate::outgoing::SendState;
use crate::panel::{Panel, TYPING};
use crate::pasting;
use crate::pictures::{PICTURES, PictureBlock, PreparedPicture, Space, prepare};
use crate::status::Facts;
use crate::transcript;
use crate::transcript::replay;

impl Ui {
    /// Shows the last messages of the current session, below a divider if there is one, and loads its prompts for the
    /// history. Both are read in the background, because a session may be long. `said` are its last messages if they
    /// are on the screen already.
    pub(super) fn show_session(&mut self, divider: Option<String>, said: Vec<AgentMessage>) {
        let rows = self.tui.resume_rows;
        self.show_end(divider, rows, said);
    }

    /// Erases the screen and the scrollback of the terminal, and shows the end of the session again.
    pub(super) fn redraw_all(&mut self) {
        if let Err(why) = self.may_erase() {
            return self.notify(why);
        }
        let bytes = self.screen.erase_all();
        self.terminal.tty.write(&bytes);
        let rows = self.tui.replay_rows;
        self.show_end(None, rows, Vec::new());
    }

    fn show_end(&mut self, divider: Option<String>, rows: usize, said: Vec<AgentMessage>) {
        self.conversation.outgoing.set_send_state(SendState::Reading);
        let (control, mailbox) = self.conversation.handles();
        let (prompts, cwd) = (self.conversation.history.reader(), self.conversation.cwd.clone());
        let planned = !self.status.facts.mode.is_empty();
        self.conversation.runtime.spawn_blocking(move || {
            // Replaces the tools of the previous session.
            if (planned || control.mode() == SessionMode::Plan)
                && let Err(error) = control.apply_mode()
            {
                mailbox.send(Message::Notice(error.message));
            }
            mailbox.send(Message::Shown(Box::new(read_session(&control, prompts, &cwd, divider, rows, &said))));
            memory::give_back();
        });
    }

    fn show(&mut self, shown: SessionTail) {
        let SessionTail { divider, older, messages, prompts, draft } = shown;
        if let Some(text) = divider {
            transcript::line(&mut self.screen, &format!("── {text} ──"), DIM);
        }
        match prompts {
            Ok(prompts) => self.editor.history().fill(prompts),
            Err(error) => self.notify(format!("failed to read the history: {error}")),
        }
        match messages {
            Ok(messages) => {
                if older > 0 {
                    transcript::line(&mut self.screen, &format!("⋯ {older} earlier messages"), DIM);
                }
                self.transcript.show_messages(&mut self.screen, &messages);
                self.prepare_pictures();
            }
            Err(error) => transcript::line(&mut self.screen, &format!("✗ {error}"), ERROR),
        }
        self.conversation.outgoing.set_send_state(SendState::Ready);
        self.conversation.show_session();
        match draft {
            Ok(Some(draft)) if self.editor.is_empty() => {
                self.editor.set_text(&draft);
                self.notify("the previous draft is restored");
            }
            // The current text stays; the stored draft is added to the history.
            Ok(Some(draft)) if draft != self.editor.text() => self.editor.history().add(&draft),
            Ok(_) => {}
            Err(error) => self.notify(format!("failed to read the previous draft: {error}")),
        }
        self.hand_over();
    }

    /// Updates the status row: known facts at once, the others in the background.
    pub(super) fn refresh(&mut self) {
        self.status.facts.model = facts::model(&self.conversation.control);
        self.status.facts.folder.clone_from(&self.status.folder);
        if self.status.reads.is_some() {
            self.status.reads = Some(true);
            return;
        }
        self.status.reads = Some(false);
        let (control, mailbox) = self.conversation.handles();
        self.conversation.runtime.spawn_blocking(move || mailbox.send(Message::Facts(Box::new(facts::read(&control)))));
    }

    fn take_facts(&mut self, facts: Facts) {
        let written = self.status.facts.written.take();
        self.status.facts = Facts { folder: self.status.folder.clone(), written, ..facts };
        if self.status.reads.take() == Some(true) {
            self.refresh();
        }
    }

    pub(super) fn take_messages(&mut self) {
        while let Some(message) = self.terminal.next_message() {
            self.take_message(message);
        }
    }

    pub(super) fn take_message(&mut self, message: Message) {
        let now = Instant::now();
        match message {
            Message::Event(event) => self.take_event(&event),
            Message::Question(question, send) => {
                // The question may arrive before the event that starts the run; a command of the user asks without a
                // run.
                if self.conversation.control.session().agent.is_running() {
                    self.conversation.run_began();
                }
                let panel = Panel::question(question, send, self.is_free(now), self.gate(), now);
                self.panels.push_back(panel.with_keys(&self.conversation.keys));
                self.call("a question is waiting for you", now);
            }
            Message::Approval(request, send) => {
                // The request may arrive before the event that starts the run.
                self.conversation.run_began();
                let (control, mailbox) = self.conversation.handles();
                match ask::preview(control, mailbox, &self.conversation.runtime, request, send) {
                    None => {}
                    Some((request, send)) => self.take_message(Message::Previewed(request, Vec::new(), send)),
                }
            }
            Message::Previewed(request, changes, send) => {
                let file = self.conversation.control.app.startup.paths.agent.join("settings.json");
                let panel = Panel::approval(*request, changes, &file, send, self.is_free(now), self.gate(), now);
                self.panels.push_back(panel.with_keys(&self.conversation.keys));
                self.call("a call is waiting for your permission", now);
            }
            Message::Notice(text) => self.notify(text),
            Message::Failed { error, text } => {
                transcript::line(&mut self.screen, &format!("✗ {error}"), ERROR);
                if !text.is_empty() {
                    self.editor.prepend(&text);
                }
            }
            Message::Accepted { number, runs } => {
                self.conversation.accepted(number, runs);
                // The event about it may not have arrived yet.
                self.conversation.queued = self.conversation.control.session().agent.queued();
                self.hand_over();
            }
            Message::Returned(number) => {
                self.conversation.returned(number).inspect(|text| self.editor.prepend(text));
                self.hand_over();
            }
            Message::ChangeEnded => {
                self.conversation.outgoing.end_change();
                self.hand_over();
            }
            Message::TakenBack(texts) => self.editor.prepend(&texts.join("\n\n")),
            // A panel must not take the keys of a text that the user writes.
            Message::Reviewed if self.overlay.is_none() && self.panels.is_empty() && self.editor.is_empty() => {
                if !self.conversation.control.findings().is_empty() {
                    self.open(Topic::Findings);
                }
            }
            Message::Reviewed => {}
            Message::Output(text) => transcript::line(&mut self.screen, &text, Style::PLAIN),
            Message::Changed(text) => {
                if !text.is_empty() {
                    transcript::line(&mut self.screen, &text, Style::PLAIN);
                }
                self.refresh();
            }
            Message::Submit(text) => self.submit(text, Delivery::FollowUp),
            // Inserted before the text that was typed meanwhile.
            Message::EditorText(text) => self.editor.prepend(&text),
            Message::Entries(topic, entries) => self.fill(topic, entries),
            Message::Preview(choice, lines) => self.preview(&choice, lines),
            Message::Candidates { text, from, candidates, from_tab } => self.offer(&text, from, candidates, from_tab),
            Message::LoginStep(step) => self.show_login(step),
            Message::LoggedIn { provider, result } => self.finish_login(provider, result),
            Message::Label { id, label, filter } => self.ask_label(id, &label, filter),
            Message::ModelChanged(key) => {
                self.notify(format!("{key} answers from now on"));
                self.refresh();
            }
            Message::Facts(facts) => self.take_facts(*facts),
            Message::Status(wrote) => {
                if let Some(fault) = self.status.command.end(wrote) {
                    transcript::line(&mut self.screen, &format!("! {fault}"), NOTICE);
                }
                self.status.facts.written.clone_from(&self.status.command.shown);
            }
            Message::Shown(shown) => self.show(*shown),
            Message::Copied(copied) => {
                let (text, is_file, bytes) = self.conversation.copied(copied);
                bytes.into_iter().for_each(|bytes| self.terminal.tty.write(&bytes));
                if is_file {
                    transcript::line(&mut self.screen, &text, Style::PLAIN);
                }
                if !is_file || self.viewer.is_some() {
                    self.notify(text);
                }
            }
            Message::Clipboard(Ok(clip)) => {
                pasting::put(&mut self.editor, clip, &self.conversation.control.app.startup.paths.cwd);
                self.complete();
            }
            Message::Clipboard(Err(why)) => self.notify(why),
            Message::Picture(block, prepared) => self.show_picture(block, prepared),
            Message::Viewer(viewer) => self.show_viewer(*viewer),
            Message::SubagentPassages { id, passages, is_over, purpose } => {
                self.show_subagent(id, passages, is_over, purpose);
            }
            Message::Searched(searched) => self.searched(*searched),
            Message::WorkEnded => self.conversation.work_ended(),
            // These messages are handled while waiting for a program or for the agent, or in linear mode.
            Message::ProgramEnded(_) | Message::Started(..) | Message::Prompts(_) => {}
            Message::CommandOutput(block, output) => {
                transcript::show_output(&mut self.screen, block, &output.content, output.details.as_ref());
            }
            Message::CommandEnded(block, ended) => {
                self.conversation.work_ended();
                self.transcript.end_command(&mut self.screen, block, ended);
            }
            Message::SessionChanged(divider) => {
                // Clears the state of the previous session; its drafts are in the history. The text in the editor was
                // typed after the command that changed the session.
                if self.conversation.change_session() {
                    self.stash.file(&mut self.editor);
                }
                self.panels.drain(..).for_each(Panel::refuse);
                self.show_session(Some(divider), Vec::new());
                self.refresh();
            }
            Message::Keys(keys) => {
                for fault in &keys.faults {
                    transcript::line(&mut self.screen, &format!("! {fault}"), NOTICE);
                }
                self.transcript.looks.keys = keys.of_rows();
                self.conversation.keys = *keys;
            }
            Message::Resized => self.resize(),
            Message::Moved(moved) => {
                (self.conversation.leaving.code, self.conversation.leaving.moved) = (Some(0), Some(moved));
            }
            Message::End(code) => self.conversation.leaving.code = Some(code),
        }
    }

    fn take_event(&mut self, event: &Event) {
        self.transcript.show(&mut self.screen, event);
        self.prepare_pictures();
        let since = self.conversation.running;
        self.conversation.take_event(event);
        match event {
            Event::AgentSettled {} => {
                let now = Instant::now();
                let long = Duration::from_secs(self.tui.notify_after_seconds);
                if since.is_some_and(|since| now >= since + long) {
                    self.call("done", now);
                }
                self.refresh();
            }
            Event::TurnEnd { .. } | Event::ModelFallback { .. } | Event::ModelPromoted { .. } => self.refresh(),
            _ => {}
        }
    }

    /// Prepares new images for the terminal, the newest ones if there are too many. They arrive as messages.
    fn prepare_pictures(&mut self) {
        let blocks = self.transcript.take_pictures();
        let left_out = blocks.len().saturating_sub(self.most_pictures());
        for (at, block) in blocks.into_iter().enumerate() {
            let (size, cell) = (self.screen.size(), self.terminal.tty.cell());
            let Some(shown) = self.screen.block::<PictureBlock>(block) else { continue };
            let Some(drawing) = self.transcript.looks.pictures.filter(|_| at >= left_out) else {
                shown.finish(None, Vec::new());
                continue;
            };
            let space = Space::on(size, cell, drawing);
            let Some(image) = shown.take_image() else { continue };
            let mailbox = self.conversation.mailbox.clone();
            // An image that cannot be shown keeps its line only.
            self.conversation
                .runtime
                .spawn_blocking(move || mailbox.send(Message::Picture(block, prepare(&image, space, drawing).ok())));
        }
    }

    fn show_picture(&mut self, block: BlockId, prepared: Option<PreparedPicture>) {
        // The image may belong to a previous session.
        let Some(block) = self.screen.block::<PictureBlock>(block) else { return };
        let rows = prepared.as_ref().map(|prepared| prepared.rows.clone()).unwrap_or_default();
        block.finish(prepared.as_ref().map(|prepared| prepared.placed), rows);
        if let Some(prepared) = prepared.as_ref().filter(|prepared| prepared.rows.is_empty()) {
            self.terminal.tty.show_picture(prepared, self.most_pictures());
        }
    }

    /// Returns the maximum number of images in the terminal.
    fn most_pictures(&self) -> usize {
        self.tui.max_inline_images.min(PICTURES)
    }

    /// Notifies the user, unless the terminal reports that it has the focus.
    fn call(&mut self, what: &str, now: Instant) {
        let is_here = self.has_focus.unwrap_or_else(|| self.last_key.is_some_and(|last| now < last + AWAY));
        if !is_here {
            let bytes = self.announcer.notify(what, &self.status.facts.title);
            self.tell_terminal(&bytes);
        }
    }

    /// Returns the time for which a panel ignores keys.
    fn gate(&self) -> Duration {
        Duration::from_millis(self.tui.approval_delay_ms)
    }

    /// Returns true if a panel may receive the focus at once, because the user is not typing.
    fn is_free(&self, now: Instant) -> bool {
        self.editor.is_empty() && self.last_key.is_none_or(|last| now >= last + TYPING)
    }
}

/// Reads the displayed part of a session, and the prompts of its directory.
fn read_session(
    control: &Control,
    prompts: HistoryReader,
    cwd: &str,
    divider: Option<String>,
    rows: usize,
    said: &[AgentMessage],
) -> SessionTail {
    let prompts = prompts.texts(Path::new(cwd));
    let (mut older, mut messages) = (0, control.messages().map_err(|error| error.message));
    if let Ok(all) = &mut messages {
        match ends_with(all, said) {
            true => all.clear(),
            false => {
                older = replay::first_shown(all, rows);
                all.drain(..older);
            }
        }
    }
    let draft = drafts::take(&control.app.startup.paths.agent, control.session().agent.session().id());
    SessionTail { divider, older, messages, prompts, draft: draft.map_err(|error| error.to_string()) }
}

/// Returns true if messages end with `end`, compared by their displayed contents; false if `end` is empty.
fn ends_with(messages: &[AgentMessage], end: &[AgentMessage]) -> bool {
    let same = |(a, b): (&AgentMessage, &AgentMessage)| match (a, b) {
        // Images are only loaded with the session.
        (AgentMessage::User(a), AgentMessage::User(b)) => a.content.text() == b.content.text(),
        (AgentMessage::ToolResult(a), AgentMessage::ToolResult(b)) => a.tool_call_id == b.tool_call_id,
        (AgentMessage::FileMention(_), AgentMessage::FileMention(_)) => true,
        (a, b) => a == b,
    };
    let from = messages.len().checked_sub(end.len()).filter(|_| !end.is_empty());
    from.is_some_and(|from| messages[from..].iter().zip(end).all(same))
}
