//! Handles keys, pastes and replies of the terminal.

use std::time::Instant;

use sinew_agent::agent::Delivery;
use sinew_control::actions::commands::Verb;
use sinew_control::actions::model::Turn;
use sinew_control::settings::DoubleEscape;
use sinew_tui::{EditAction, Event as Input, KeyPress, Reflow, Reply, ScreenOptions};

use super::overlay::Overlay;
use super::{CHORD, TWICE, Ui};
use crate::choices::Topic;
use crate::choices::tree::TreeFilter;
use crate::keys::{Action, Context, EditorState, KeyMeaning, ListAction, Press, RunAction, RunKeyContext, run_action};
use crate::mailbox::Message;
use crate::panel::Effect;
use crate::pasting;
use crate::submit::Submission;

/// The contexts whose keys apply in a panel.
const PANEL: [Context; 2] = [Context::List, Context::Editor];

impl Ui {
    pub(super) fn take_input(&mut self, input: Input) {
        match input {
            Input::Paste(text) => self.paste(&text),
            Input::Reply(Reply::DeviceAttributes) => self.terminal.tty.was_answered(),
            Input::Reply(Reply::Cursor(row, column)) => {
                self.terminal.tty.was_answered();
                if let Some(characters) = self.probe.answer(column) {
                    return self.take_characters(characters);
                }
                self.sizes.place = None;
                let frame = self.screen.place(row, column);
                self.terminal.tty.write(&frame.bytes);
                self.rebuild();
            }
            Input::Reply(Reply::ScreenSize(rows, columns)) => {
                self.terminal.tty.was_answered();
                self.told_size(rows, columns);
            }
            Input::Reply(Reply::KittyFlags(_)) => {
                self.terminal.tty.set_kitty();
                self.terminal.input.set_kitty(true);
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
                self.colours.background = Some(color);
                self.apply_theme();
            }
            Input::Reply(Reply::Foreground(color)) => {
                self.colours.foreground = Some(color);
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
        if self.panels.front_mut().is_some_and(|panel| panel.has_focus && panel.paste(text)) {
            return;
        }
        pasting::paste(&mut self.editor, text, &self.conversation.control.app.startup.paths.cwd);
        self.complete();
    }

    /// Handles a press according to its meaning in the current context.
    fn take_press(&mut self, press: &KeyPress) {
        let key = press.key.to_string();
        let viewer = self.viewer_contexts();
        if let Some(forward) = self.jumps.take_if(|_| viewer.is_none()) {
            self.notice = None;
            // Any other key keeps its own meaning.
            if !press.text.is_empty() {
                if !self.editor.jump(&press.text, forward) {
                    self.notify(format!(
                        "there is no {} {} the cursor",
                        press.text,
                        if forward { "after" } else { "before" }
                    ));
                }
                return;
            }
        }
        let before = self.chord.take().map(|(key, _)| key);
        if before.is_some() && self.conversation.keys.calls(Action::Interrupt, None, press) {
            self.notice = None;
            return;
        }
        let meaning = match (viewer, &self.overlay, self.panels.front()) {
            (Some(contexts), ..) => self.conversation.keys.meaning(contexts, before, press),
            (_, Some(Overlay::Picker(Topic::History, _)), _)
                if self.conversation.keys.calls(Action::SearchHistory, before, press) =>
            {
                KeyMeaning::Action(Action::List(ListAction::Down))
            }
            (_, Some(Overlay::Picker(Topic::Tree(_), _)), _) => {
                self.conversation.keys.meaning(&[Context::Tree, Context::List, Context::Editor], before, press)
            }
            (_, Some(_), _) => self.conversation.keys.meaning(&PANEL, before, press),
            (.., Some(panel)) if panel.has_focus && !self.conversation.keys.calls(Action::Clear, before, press) => {
                self.conversation.keys.meaning(&PANEL, before, press)
            }
            (.., panel) => {
                let place = EditorState { is_empty: self.editor.is_empty(), panel_waits: panel.is_some() };
                self.conversation.keys.in_editor(place, before, press)
            }
        };
        let known = match (meaning, before) {
            (KeyMeaning::Action(action), _) => Press::Action(action),
            (KeyMeaning::Text, _) => Press::Text(&press.text),
            (KeyMeaning::Begins(key), _) => {
                self.notify(format!("{key} …"));
                self.chord = Some((key, Instant::now() + CHORD));
                return;
            }
            (KeyMeaning::Nothing, Some(before)) => {
                return self.notify(format!("{before} {key} has no action: see /hotkeys"));
            }
            (KeyMeaning::Nothing, None) => return,
        };
        match viewer {
            Some(_) => {
                let cancels = self.conversation.keys.calls(Action::List(ListAction::Cancel), None, press);
                self.take_viewer_key(known, cancels);
            }
            None => self.take_key(known),
        }
    }

    /// Handles a key.
    fn take_key(&mut self, press: Press<'_>) {
        let now = Instant::now();
        let action = press.action();
        if self.overlay.is_some() {
            return self.take_overlay_key(press);
        }
        if self.panels.front().is_some_and(|panel| panel.has_focus) && action != Some(Action::Clear) {
            return self.take_panel_key(press, now);
        }
        if self.take_popup_key(press) || self.take_vi_key(press) {
            return;
        }
        let situation = RunKeyContext {
            is_running: self.is_busy(),
            has_draft: !self.editor.is_empty(),
            is_second: self.is_second(action, now),
        };
        let run = action.and_then(|action| run_action(action, situation));
        match (run.filter(|run| *run != RunAction::Edit), press) {
            (Some(run), _) => self.follow_run_action(run),
            (None, Press::Action(action)) => self.act(action),
            (None, Press::Text(text)) => {
                if !text.is_empty() {
                    self.editor.insert(text);
                }
                self.after_edit();
            }
        }
    }

    /// Executes an action that does not control a run.
    fn act(&mut self, action: Action) {
        match action {
            Action::Tab | Action::FocusPanel => match self.panels.front_mut() {
                Some(panel) => (panel.has_focus, self.notice) = (true, None),
                None => self.complete_path(),
            },
            Action::CycleThinking => {
                match self.conversation.control.cycle_thinking() {
                    Some(level) => self.notify(format!("thinking: {}", level.as_str())),
                    None => self.notify("this model does not support thinking"),
                }
                self.refresh();
            }
            Action::ResetDisplay => {
                let frame = self.screen.reset();
                self.terminal.tty.write(&frame.bytes);
            }
            Action::OpenTranscript => self.open_viewer(),
            Action::OpenSource => self.open_source(),
            Action::ToggleThoughts => {
                let is_folded = self.transcript.fold_thoughts(&mut self.screen);
                self.notify(if is_folded { "thoughts are folded" } else { "thoughts are shown" });
            }
            Action::ExpandTools => {
                let is_open = self.transcript.unfold(&mut self.screen);
                self.notify(if is_open { "all output is shown from here on" } else { "long output is folded" });
            }
            Action::Paste => self.conversation.read_clipboard(),
            Action::CopyLine => self.copy_text(self.editor.line()),
            Action::CopyPrompt => self.copy_text(self.editor.text()),
            Action::Suspend => self.suspend(),
            Action::ExternalEditor => self.edit_elsewhere(),
            Action::SearchHistory => self.open(Topic::History),
            Action::Stash => self.stash(),
            Action::JumpForward | Action::JumpBackward => {
                self.jumps = Some(action == Action::JumpForward);
                self.notify("jump to which character?");
            }
            Action::SelectModel => self.open(Topic::Models { once: false }),
            Action::SelectTemporaryModel if self.is_busy() => {
                self.notify("choose the model of a single prompt before you send it");
            }
            Action::SelectTemporaryModel => self.open(Topic::Models { once: true }),
            Action::NextModel => self.conversation.cycle_model(Turn::Forward),
            Action::PreviousModel => self.conversation.cycle_model(Turn::Backward),
            Action::TogglePlan => self.conversation.run_verb(Verb::Plan, String::new()),
            Action::NewSession | Action::ForkSession => {
                self.file_draft();
                let verb = if action == Action::NewSession { Verb::New } else { Verb::Fork };
                self.conversation.run_verb(verb, String::new());
            }
            Action::OpenTree => self.open(Topic::Tree(TreeFilter::Default)),
            Action::ResumeSession => self.open(Topic::Sessions { all: false }),
            Action::Edit(edit) => {
                self.editor.act(edit);
                self.after_edit();
            }
            // Actions of a run were handled before, and those of panels and views have no effect here.
            Action::Submit | Action::FollowUp | Action::Interrupt | Action::Clear | Action::Exit | Action::Dequeue => {
                self.after_edit();
            }
            Action::List(_) | Action::Tree(_) | Action::View(_) | Action::CopyPart | Action::PrintPart => {}
        }
    }

    pub(super) fn copy_text(&mut self, text: String) {
        match text.is_empty() {
            true => self.notify("nothing to copy"),
            false => self.conversation.copy(text),
        }
    }

    fn take_panel_key(&mut self, press: Press<'_>, now: Instant) {
        let Some(mut panel) = self.panels.pop_front() else { return };
        if press == Press::Action(Action::Tab) && !panel.is_writing() {
            panel.unfocus();
            return self.panels.push_front(panel);
        }
        let (open, effect) = panel.key(press, now);
        self.panels.extend(open.into_iter().collect::<Vec<_>>());
        // A panel that stays open becomes the first one again.
        if matches!(effect, Effect::Stays | Effect::Types) {
            self.panels.rotate_right(1);
        }
        match effect {
            Effect::Types => {
                let key = self.conversation.keys.short(Action::FocusPanel);
                self.notify(format!("keys go to the editor; {key}: answer the question"));
                return self.take_key(press);
            }
            Effect::Stops => self.interrupt(),
            Effect::Closes => self.notice = None,
            Effect::Stays => {}
        }
        if let Some(next) = self.panels.front_mut().filter(|_| effect != Effect::Stops) {
            next.has_focus = true;
        }
    }

    fn enter(&mut self, delivery: Delivery) {
        if self.editor.is_empty() {
            return;
        }
        // The text answers a question of the model.
        if let Some(panel) = self.panels.pop_front() {
            let text = self.editor.text();
            match panel.answer(text.trim()) {
                None => drop(self.editor.submit()),
                Some(panel) => {
                    self.panels.push_front(panel);
                    let key = self.conversation.keys.short(Action::FocusPanel);
                    self.notify(format!("a call is waiting for your permission: {key}"));
                }
            }
            return;
        }
        self.popup = None;
        let text = self.editor.submit();
        self.begin_text();
        let is_command = matches!(self.conversation.read(&text), Submission::Slash(..));
        self.submit(text, delivery);
        // If the text returned because it could not be sent, no stashed draft is restored.
        if !is_command {
            self.stash.give_back(&mut self.editor);
        }
    }

    /// Moves the draft to the history, because another session follows, in which it must not be sent by accident.
    pub(super) fn file_draft(&mut self) {
        if self.editor.clear() {
            let key = self.conversation.keys.short(Action::Edit(EditAction::Up));
            self.notify(format!("the draft was moved to the history: {key} restores it"));
        }
    }

    /// Stashes the draft, or restores the newest one.
    pub(super) fn stash(&mut self) {
        self.popup = None;
        let text = self.stash.switch(&mut self.editor).text(&self.conversation.keys);
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
                // A further ctrl+c counts as the first one in an empty editor.
                self.pressed = None;
                self.editor.clear();
                self.begin_text();
                self.popup = None;
                let key = self.conversation.keys.short(Action::Edit(EditAction::Undo));
                self.notify(format!("cleared: {key} restores it"));
            }
            RunAction::Tree => match self.conversation.settings().double_escape_action {
                DoubleEscape::Tree => self.open(Topic::Tree(TreeFilter::Default)),
                DoubleEscape::Branch => self.open(Topic::Branch),
                DoubleEscape::None => {}
            },
            RunAction::TakeBack => {
                if let Some(text) = self.conversation.outgoing.take_newest() {
                    return self.editor.prepend(&text);
                }
                let (control, mailbox) = self.conversation.handles();
                self.conversation.begin(async move {
                    if let Some(text) = control.take_newest_queued().await {
                        mailbox.send(Message::TakenBack(vec![text]));
                    }
                });
            }
            RunAction::Notice(notice) => self.notify(notice.text(&self.conversation.keys)),
            RunAction::Leave => self.conversation.leaving.code = Some(0),
        }
    }

    /// Returns true if an action was called twice within a short time, and records the call.
    fn is_second(&mut self, action: Option<Action>, now: Instant) -> bool {
        let second = self.pressed.is_some_and(|(before, at)| before == action && now < at + TWICE);
        self.pressed = (!second).then_some((action, now));
        second
    }
}
