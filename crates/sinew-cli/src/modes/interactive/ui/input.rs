//! Keys, pastes and replies of the terminal.

use std::sync::Arc;
use std::time::Instant;

use sinew_agent::agent::Delivery;
use sinew_tui::{Event as Input, KeyPress, Reflow, Reply, ScreenOptions};

use super::overlay::Overlay;
use super::{CHORD, TWICE, Ui};
use crate::control::model::Turn;
use crate::modes::interactive::bindings::{EDITOR, LIST, Meaning, Place, TREE};
use crate::modes::interactive::choices::Topic;
use crate::modes::interactive::copy;
use crate::modes::interactive::keys::{self, RunAction};
use crate::modes::interactive::mailbox::Message;
use crate::modes::interactive::panel::Effect;
use crate::modes::interactive::pasting;
use crate::modes::interactive::submit::{self, Submission};
use crate::modes::interactive::tree::TreeFilter;
use crate::settings::DoubleEscape;

/// The action that searches earlier prompts, and in their panel goes to the next.
const HISTORY: &str = "app.history.search";

impl Ui {
    pub(super) fn take_input(&mut self, input: Input) {
        match input {
            Input::Paste(text) => self.paste(&text),
            Input::Reply(Reply::DeviceAttributes) => self.tty.was_answered(),
            Input::Reply(Reply::Cursor(row, column)) => {
                self.tty.was_answered();
                if let Some(characters) = self.probe.answer(column) {
                    return self.take_characters(characters);
                }
                self.sizes.place = None;
                let frame = self.screen.place(row, column);
                self.tty.write(&frame.bytes);
                self.rebuild();
            }
            Input::Reply(Reply::ScreenSize(rows, columns)) => {
                self.tty.was_answered();
                self.told_size(rows, columns);
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
                self.transcript.looks.pictures = self.drawing(&name);
                let reflow = Reflow::by_name(&name).or(options.reflow);
                self.screen.set_options(ScreenOptions { reflow, ..options });
            }
            Input::Reply(Reply::Background(color)) => {
                self.background = Some(color);
                self.apply_theme();
            }
            Input::Reply(Reply::Foreground(color)) => {
                self.foreground = Some(color);
                self.apply_theme();
            }
            Input::Key(press) => {
                self.take_press(&press);
                self.last_key = Some(Instant::now());
            }
            Input::Focus(has_focus) => self.has_focus = Some(has_focus),
            Input::Reply(_) | Input::Unknown(_) => {}
        }
    }

    fn paste(&mut self, text: &str) {
        if self.viewer.is_some() {
            return;
        }
        if let Some(overlay) = &mut self.overlay {
            return overlay.paste(text);
        }
        pasting::paste(&mut self.editor, text, &self.control.app.startup.paths.cwd);
        self.complete();
    }

    /// Takes a press by what it means here.
    fn take_press(&mut self, press: &KeyPress) {
        let key = press.key.to_string();
        if self.take_viewer_key(&key, &press.text) {
            return;
        }
        if let Some(forward) = self.jumps.take() {
            self.notice = None;
            // Any other key is meant for itself.
            if !press.text.is_empty() {
                if !self.editor.jump(&press.text, forward) {
                    self.notify(format!("there is no {} {}", press.text, if forward { "behind" } else { "before" }));
                }
                return;
            }
        }
        let before = self.chord.take().map(|(key, _)| key);
        if before.is_some() && key == "escape" {
            self.notice = None;
            return;
        }
        let meaning = match (&self.overlay, self.panels.front()) {
            (Some(Overlay::Picker(Topic::History, _)), _) if self.keys.calls(HISTORY, before, press) => {
                Meaning::Known("down".into())
            }
            (Some(Overlay::Picker(Topic::Tree(_), _)), _) => self.keys.meaning(&[TREE, LIST, EDITOR], before, press),
            (Some(_), _) => self.keys.meaning(&[LIST, EDITOR], before, press),
            (None, Some(panel)) if panel.has_focus && !self.keys.calls("app.clear", before, press) => {
                self.keys.meaning(&[LIST, EDITOR], before, press)
            }
            (None, panel) => {
                let place = Place { is_empty: self.editor.is_empty(), panel_waits: panel.is_some() };
                self.keys.in_editor(place, before, press)
            }
        };
        match (meaning, before) {
            (Meaning::Known(key), _) => self.take_key(&key, &press.text),
            (Meaning::Begins(key), _) => {
                self.notify(format!("{key} …"));
                self.chord = Some((key, Instant::now() + CHORD));
            }
            (Meaning::Nothing, Some(before)) => self.notify(format!("{before} {key} calls nothing: /hotkeys")),
            (Meaning::Nothing, None) => {}
        }
    }

    /// Takes a key by the name that the code has for it.
    fn take_key(&mut self, key: &str, text: &str) {
        let now = Instant::now();
        if self.overlay.is_some() {
            return self.take_overlay_key(key, text);
        }
        if self.panels.front().is_some_and(|panel| panel.has_focus) && !key.starts_with("ctrl+c") {
            return self.take_panel_key(key, text, now);
        }
        if self.take_popup_key(key) || self.take_vi_key(key, text) {
            return;
        }
        let situation = keys::Situation {
            is_running: self.is_busy(),
            has_draft: !self.editor.is_empty(),
            is_second: self.is_second(key, now),
        };
        if let Some(action) = keys::run_action(key, situation).filter(|action| *action != RunAction::Edit) {
            return self.follow_run_action(action);
        }
        match key {
            "tab" if !self.panels.is_empty() => {
                if let Some(panel) = self.panels.front_mut() {
                    panel.has_focus = true;
                }
            }
            "tab" => self.complete_path(),
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
            "ctrl+o" => self.open_viewer(),
            "alt+r" => self.open_source(),
            "ctrl+t" => {
                let is_folded = self.transcript.fold_thoughts(&mut self.screen);
                self.notify(if is_folded { "thoughts are folded" } else { "thoughts are shown" });
            }
            "alt+o" => {
                let is_open = self.transcript.unfold(&mut self.screen);
                self.notify(if is_open { "all output is shown from here on" } else { "long output is folded" });
            }
            "ctrl+v" => self.read_clipboard(),
            "shift+alt+l" => self.copy_text(self.editor.line()),
            "shift+alt+c" => self.copy_text(self.editor.text()),
            "ctrl+z" => self.suspend(),
            "ctrl+g" => self.edit_elsewhere(),
            "ctrl+r" => self.open(Topic::History),
            "ctrl+s" => self.stash(),
            "ctrl+]" | "ctrl+alt+]" => {
                self.jumps = Some(key == "ctrl+]");
                self.notify("to which character?");
            }
            "alt+m" => self.open(Topic::Models { once: false }),
            "alt+p" if self.is_busy() => self.notify("the model of a single prompt is chosen before it is sent"),
            "alt+p" => self.open(Topic::Models { once: true }),
            "ctrl+p" => self.cycle_model(Turn::Forward),
            "shift+ctrl+p" => self.cycle_model(Turn::Backward),
            "shift+alt+p" => self.run_slash("plan".into(), String::new()),
            "app.session.new" | "app.session.fork" => {
                self.file_draft();
                self.run_slash(key.trim_start_matches("app.session.").into(), String::new());
            }
            "app.session.tree" => self.open(Topic::Tree(TreeFilter::Default)),
            "app.session.resume" => self.open(Topic::Sessions { all: false }),
            key => {
                match keys::action(key) {
                    Some(action) => drop(self.editor.act(action)),
                    None if !text.is_empty() => self.editor.insert(text),
                    None => {}
                }
                self.after_edit();
            }
        }
    }

    fn cycle_model(&mut self, turn: Turn) {
        self.lent = None;
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        self.runtime.spawn(async move {
            mailbox.send(match control.cycle_model(turn).await {
                Ok(Some(change)) => Message::ModelChanged(change.model.key()),
                Ok(None) => Message::Notice("there is no other model: /login sets one up".into()),
                Err(error) => Message::Notice(error.message),
            });
        });
    }

    fn read_clipboard(&self) {
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        self.runtime.spawn_blocking(move || mailbox.send(Message::Clipboard(pasting::read_clipboard(&control))));
    }

    pub(super) fn copy_text(&mut self, text: String) {
        if text.is_empty() {
            return self.notify("nothing to copy");
        }
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        self.runtime.spawn_blocking(move || {
            mailbox.send(match copy::copy_text(&control, &text) {
                Ok(copied) => Message::Copied(copied),
                Err(error) => Message::Notice(error.message),
            });
        });
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
            self.interrupt();
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
        self.begin_text();
        let is_command = matches!(submit::read(&text, submit::is_built_in), Submission::Slash(..));
        self.submit(text, delivery);
        // A text that came back, because it could not be sent, stays alone.
        if !is_command {
            self.stash.give_back(&mut self.editor);
        }
    }

    /// Files the draft in the history: another session comes, in which nobody is to send it by accident.
    pub(super) fn file_draft(&mut self) {
        if self.editor.clear() {
            self.notify("the draft is in the history: up brings it back");
        }
    }

    /// Puts the draft aside, or takes the newest one back.
    pub(super) fn stash(&mut self) {
        self.popup = None;
        let text = self.stash.switch(&mut self.editor);
        self.notify(text);
    }

    fn follow_run_action(&mut self, action: RunAction) {
        match action {
            RunAction::Nothing | RunAction::Edit => {}
            RunAction::Send(delivery) => self.enter(delivery),
            RunAction::Interrupt => {
                self.pressed = None;
                self.interrupt();
                self.notify("interrupted");
            }
            RunAction::Clear => {
                // A second ctrl+c is the first one of an empty editor.
                self.pressed = None;
                self.editor.clear();
                self.begin_text();
                self.popup = None;
                self.notify("cleared: ctrl+- brings it back");
            }
            RunAction::Tree => match self.twice {
                DoubleEscape::Tree => self.open(Topic::Tree(TreeFilter::Default)),
                DoubleEscape::Branch => self.open(Topic::Branch),
                DoubleEscape::None => {}
            },
            RunAction::TakeBack => {
                if let Some(text) = self.outgoing.take_newest() {
                    return self.editor.prepend(&text);
                }
                let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
                self.begin(async move {
                    if let Some(text) = control.take_newest_queued().await {
                        mailbox.send(Message::TakenBack(vec![text]));
                    }
                });
            }
            RunAction::Notice(text) => self.notify(text),
            RunAction::Leave => self.exit = Some(0),
        }
    }

    /// Tells whether a key was pressed twice within a short time, and keeps that it was pressed.
    fn is_second(&mut self, key: &str, now: Instant) -> bool {
        let second = self.pressed.as_ref().is_some_and(|(before, at)| before == key && now < *at + TWICE);
        self.pressed = (!second).then(|| (key.to_string(), now));
        second
    }
}
