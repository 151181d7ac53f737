//! Keys, pastes and replies of the terminal.

use std::sync::Arc;
use std::time::Instant;

use sinew_agent::agent::Delivery;
use sinew_session::history::Prompt;
use sinew_tui::theme::contrast;
use sinew_tui::{Event as Input, Reflow, Reply, ScreenOptions};

use super::{TWICE, Ui};
use crate::modes::interactive::blocks::ToolBlock;
use crate::modes::interactive::choices::Topic;
use crate::modes::interactive::keys;
use crate::modes::interactive::mailbox::Message;
use crate::modes::interactive::panel::{Effect, Panel};
use crate::modes::interactive::submit::{self, Submission};

impl Ui {
    pub(super) fn take_input(&mut self, input: Input) {
        match input {
            Input::Paste(text) => self.paste(&text),
            Input::Reply(Reply::Cursor(row, column)) => {
                self.asked = None;
                let frame = self.screen.place(row, column);
                self.tty.write(&frame.bytes);
            }
            Input::Reply(Reply::KittyFlags(_)) => {
                self.tty.set_kitty();
                self.input.set_kitty(true);
            }
            Input::Reply(Reply::Mode(2026, 1 | 2)) => {
                let options = ScreenOptions { synchronized: true, ..self.screen.options() };
                self.screen.set_options(options);
            }
            Input::Reply(Reply::Name(name)) => {
                let options = self.screen.options();
                let reflow = Reflow::by_name(&name).or(options.reflow);
                self.screen.set_options(ScreenOptions { reflow, ..options });
            }
            Input::Reply(Reply::Background(color)) => {
                self.is_light = Some(contrast(color, [0; 3]) > contrast(color, [255; 3]));
                self.apply_theme();
            }
            Input::Key(press) => {
                let key = press.key.to_string();
                self.take_key(&key, &press.text);
                self.last_key = Some(Instant::now());
            }
            Input::Focus(has_focus) => self.has_focus = Some(has_focus),
            Input::Reply(_) | Input::Unknown(_) => {}
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(overlay) = &mut self.overlay {
            return overlay.paste(text);
        }
        self.editor.paste(text);
        self.complete();
    }

    fn take_key(&mut self, key: &str, text: &str) {
        let now = Instant::now();
        if self.overlay.is_some() {
            return self.take_overlay_key(key, text);
        }
        if self.panels.front().is_some_and(|panel| panel.has_focus) && !key.starts_with("ctrl+c") {
            return self.take_panel_key(key, text, now);
        }
        if self.take_popup_key(key) {
            return;
        }
        match key {
            "tab" if !self.panels.is_empty() => {
                if let Some(panel) = self.panels.front_mut() {
                    panel.has_focus = true;
                }
            }
            "tab" => self.complete_path(),
            "enter" => self.enter(Delivery::Steer),
            "alt+enter" | "ctrl+enter" | "ctrl+q" => self.enter(Delivery::FollowUp),
            "escape" => self.escape(now),
            "ctrl+c" => self.interrupt_or_clear(now),
            "ctrl+d" if self.editor.is_empty() => match self.running {
                Some(_) => self.notify("the model is at work: esc interrupts it"),
                None => self.exit = Some(0),
            },
            "alt+up" => self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), false)),
            "shift+tab" => {
                match self.control.cycle_thinking() {
                    Some(level) => self.notify(format!("thinking: {}", level.as_str())),
                    None => self.notify("this model does not think"),
                }
                self.refresh();
            }
            "ctrl+l" => {
                let frame = self.screen.reset();
                self.tty.write(&frame.bytes);
            }
            "ctrl+z" => self.suspend(),
            "ctrl+g" => self.edit_elsewhere(),
            key => {
                match keys::action(key) {
                    Some(action) => drop(self.editor.act(action)),
                    None if !text.is_empty() => self.editor.insert(text),
                    None => {}
                }
                self.complete();
            }
        }
    }

    fn take_panel_key(&mut self, key: &str, text: &str, now: Instant) {
        let Some(mut panel) = self.panels.pop_front() else { return };
        if key == "tab" && !panel.is_writing() {
            panel.has_focus = false;
            return self.panels.push_front(panel);
        }
        let (open, effect) = panel.key(key, text, now);
        self.panels.extend(open.into_iter().collect::<Vec<_>>());
        // The panel that stays is the first again.
        if effect == Effect::Stays {
            self.panels.rotate_right(1);
        }
        if effect == Effect::Stops {
            self.panels.drain(..).for_each(Panel::refuse);
            self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
        } else if let Some(next) = self.panels.front_mut() {
            next.has_focus = true;
        }
    }

    fn enter(&mut self, delivery: Delivery) {
        if self.editor.is_empty() {
            return;
        }
        // Words of the user in answer to a question of the model.
        if let Some(panel) = self.panels.pop_front() {
            let text = self.editor.text();
            match panel.answer(text.trim()) {
                None => drop(self.editor.submit()),
                Some(panel) => {
                    self.panels.push_front(panel);
                    self.notify("a call waits for your permission: tab");
                }
            }
            return;
        }
        self.popup = None;
        let text = self.editor.submit();
        self.submit(text, delivery);
    }

    pub(super) fn submit(&mut self, text: String, delivery: Delivery) {
        if self.is_reading {
            return self.held.push((text, delivery));
        }
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        match submit::read(&text, submit::is_built_in) {
            Submission::Nothing => return,
            Submission::Prompt if self.is_without_model() => {
                self.editor.set_text(&text);
                return self.open(Topic::Login);
            }
            Submission::Prompt => self.begin(submit::prompt(control, mailbox, text.trim().to_string(), delivery)),
            Submission::Shell { command, excluded } => {
                let block = self.screen.push(ToolBlock::command(command));
                let command = command.to_string();
                self.begin(async move {
                    let run = control.bash(&command, excluded).await.map_err(|error| error.message);
                    mailbox.send(Message::CommandEnded(block, run));
                });
            }
            Submission::Slash("redraw", _) => {
                let frame = self.screen.reset();
                self.tty.write(&frame.bytes);
            }
            Submission::Slash("login", provider) if !provider.is_empty() => self.log_in(provider),
            Submission::Slash("theme", name) if !name.is_empty() => self.choose_theme(name),
            Submission::Slash(name, "") if Topic::of(name).is_some() => {
                if let Some(topic) = Topic::of(name) {
                    self.open(topic);
                }
            }
            Submission::Slash(name, arguments) => {
                // Not one of the tasks: changing the session waits until those have ended.
                let (name, arguments) = (name.to_string(), arguments.to_string());
                self.runtime.spawn(submit::slash(control, mailbox, name, arguments));
            }
        }
        let prompt = Prompt { prompt: text, created_at: self.control.app.clock.now(), cwd: self.cwd.clone() };
        if let Err(error) = self.history.add(prompt) {
            self.notify(format!("the history was not written: {error}"));
        }
    }

    fn escape(&mut self, now: Instant) {
        if self.running.is_some() || !self.queued.0.is_empty() || !self.queued.1.is_empty() {
            self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
            self.notify("interrupted");
        } else if self.is_second("escape", now) {
            match self.editor.clear() {
                true => self.notify("cleared: ctrl+- brings it back"),
                false => self.open(Topic::Tree),
            }
        }
    }

    fn interrupt_or_clear(&mut self, now: Instant) {
        self.control.abort_bash();
        if !self.editor.is_empty() {
            self.editor.clear();
            self.pressed = None;
            self.notify("cleared: ctrl+- brings it back");
        // A question may come before the event that says that a run began.
        } else if self.running.is_some() || !self.panels.is_empty() {
            self.panels.drain(..).for_each(Panel::refuse);
            self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
            self.notify("interrupted");
        } else if self.is_second("ctrl+c", now) {
            self.exit = Some(0);
        } else {
            self.notify("ctrl+c again leaves");
        }
    }

    /// Tells whether a key was pressed twice within a short time, and keeps that it was pressed.
    fn is_second(&mut self, key: &'static str, now: Instant) -> bool {
        let second = self.pressed.is_some_and(|(before, at)| before == key && now < at + TWICE);
        self.pressed = (!second).then_some((key, now));
        second
    }
}
