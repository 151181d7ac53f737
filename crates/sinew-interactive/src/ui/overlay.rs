//! The panels that the user opens.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use sinew_control::actions::ControlError;
use sinew_control::actions::commands::{SharedCommand, Verb};
use sinew_control::settings::{self, Applies, TuiResize};
use sinew_tui::theme::{Theme, contrast};
use sinew_tui::{Characters, Depth, Row, ScreenOptions};

use super::Ui;
use crate::characters;
use crate::choices::tree::TreeFilter;
use crate::choices::{self, Choice, Entries, Topic};
use crate::choosing::{self, Purpose};
use crate::conversation::LoginStart;
use crate::form::{Form, FormEffect};
use crate::keys::{Action, ListAction, Press, TreeAction};
use crate::mailbox::{LoginStep, Mailbox, Message, ViewPurpose};
use crate::outgoing::SendState;
use crate::picker::{Picker, PickerEffect};

/// A panel that the user has opened.
pub(super) enum Overlay {
    Picker(Topic, Picker<Choice>),
    Form(Form<Purpose>),
}

impl Overlay {
    pub(super) fn rows(&mut self, width: usize, height: usize, theme: &Theme) -> (Vec<Row>, (usize, usize)) {
        match self {
            Overlay::Picker(_, picker) => picker.rows(width, height, theme),
            Overlay::Form(form) => form.rows(width, height, theme),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        match self {
            Overlay::Picker(_, picker) => picker.type_text(text),
            Overlay::Form(form) => form.paste(text),
        }
    }
}

impl Ui {
    /// Paints the screen again, or asks whether to erase the scrollback of the terminal too.
    ///
    /// # Errors
    /// Returns the reason why that is not possible, and a remedy.
    pub(super) fn redraw(&mut self, what: &str) -> Result<(), String> {
        match what {
            "" => {
                let frame = self.screen.reset();
                self.terminal.tty.write(&frame.bytes);
            }
            "all" => {
                self.may_erase()?;
                self.open(Topic::Redraw);
            }
            _ => return Err("/redraw: use all or nothing".into()),
        }
        Ok(())
    }

    /// Returns the reason why the terminal cannot be erased now.
    pub(super) fn may_erase(&self) -> Result<(), String> {
        let environment = &self.conversation.control.app.startup.environment;
        let inside = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
        // They keep the erased screen in the scrollback, so that it would appear twice.
        if inside("TMUX") {
            return Err(
                "/redraw all does not work in tmux, which keeps erased rows: use /redraw, then tmux clear-history"
                    .into(),
            );
        }
        if inside("STY") || inside("ZELLIJ") {
            return Err("/redraw all does not work in screen and zellij, which keep erased rows: use /redraw".into());
        }
        if self.is_busy() || self.conversation.outgoing.send_state() != SendState::Ready || self.screen.is_resizing() {
            let key = self.conversation.keys.short(Action::Interrupt);
            return Err(format!(
                "/redraw all needs an idle session: stop the run with {key}, or try again when it is over"
            ));
        }
        Ok(())
    }

    /// Opens a panel. Entries that take long to load are added later.
    pub(super) fn open(&mut self, topic: Topic) {
        let entries = self.conversation.entries(topic).unwrap_or_default();
        let title = match topic {
            Topic::Login if self.conversation.is_without_model() => {
                "Welcome. There is no model yet: how do you want to begin?"
            }
            topic => self.conversation.title(topic),
        };
        let mut picker = Picker::new(title, entries)
            .with_hint(self.conversation.keys.list_hint(&topic.hint(&self.conversation.keys)));
        if matches!(topic, Topic::History | Topic::Tree(_)) {
            picker = picker.by_words();
        }
        picker.nothing = match topic {
            topic if topic.is_read_later() => "reading …".into(),
            Topic::Models { .. } => "no models are available: use /login to set one up".into(),
            Topic::Logout => "no saved credentials".into(),
            Topic::Jobs => "no background commands".into(),
            Topic::Tasks => "no subagents in this session".into(),
            _ => "no matches".into(),
        };
        if topic == Topic::Theme {
            let now = self.screen.theme().name.clone();
            picker.mark(|choice| matches!(choice, Choice::Theme(name) if **name == now));
        }
        if topic == Topic::Thinking {
            let now = self.conversation.control.session().agent.thinking();
            picker.mark(|choice| *choice == Choice::Thinking(now));
        }
        self.popup = None;
        self.overlay = Some(Overlay::Picker(topic, picker));
        self.read_later(topic);
        if topic == Topic::Findings {
            self.look_closer();
        }
        if matches!(topic, Topic::Jobs | Topic::Tasks) {
            self.refreshed = Some(Instant::now());
            self.look_closer();
        }
    }

    /// Returns true if the contents of the panel or of the view change by themselves.
    pub(super) fn shows_work(&self) -> bool {
        let control = &self.conversation.control;
        match &self.overlay {
            Some(Overlay::Picker(Topic::Jobs, _)) => {
                control.session().host.jobs().iter().any(|job| job.state == "running")
            }
            Some(Overlay::Picker(Topic::Tasks, _)) => control.has_children_at_work(),
            _ => self.viewed_subagent().is_some(),
        }
    }

    /// Refreshes the panel or the view that shows running work.
    pub(super) fn refresh_work(&mut self) {
        let control = &self.conversation.control;
        match &mut self.overlay {
            Some(Overlay::Picker(Topic::Jobs, picker)) => picker.set_entries(choices::jobs(control)),
            Some(Overlay::Picker(Topic::Tasks, picker)) => picker.set_entries(choices::tasks(control)),
            _ => {
                if let Some(id) = self.viewed_subagent() {
                    self.view_subagent(id.to_string(), ViewPurpose::Refresh);
                }
                return;
            }
        }
        self.look_closer();
    }

    fn read_later(&self, topic: Topic) {
        let (control, mailbox) = self.conversation.handles();
        match topic {
            Topic::Login => drop(self.conversation.runtime.spawn(async move {
                let servers = choices::local_servers(&control.app.models);
                control.app.models.ask(&servers).await;
                mailbox.send(Message::Entries(Topic::Login, choices::login(&control)));
            })),
            Topic::Sessions { all } => drop(self.conversation.runtime.spawn(async move {
                let listed = control.list_sessions(all).await;
                tell(&mailbox, topic, listed.map(|listed| choices::sessions(listed, all)));
            })),
            Topic::Tree(filter) => {
                self.conversation
                    .runtime
                    .spawn_blocking(move || tell(&mailbox, topic, choosing::tree(&control, filter)));
            }
            Topic::Branch => drop(self.conversation.runtime.spawn_blocking(move || {
                tell(&mailbox, topic, control.branch_points().map(choices::branches));
            })),
            Topic::History => {
                let (prompts, cwd) = (self.conversation.history.reader(), self.conversation.cwd.clone());
                self.conversation.runtime.spawn_blocking(move || {
                    let found = prompts.read(Path::new(&cwd)).map(|found| choices::prompts(found, &cwd));
                    let read = |error| ControlError::from(format!("failed to read the history: {error}"));
                    tell(&mailbox, topic, found.map_err(read));
                });
            }
            _ => {}
        }
    }

    /// Sets the entries of a panel, if it is still open.
    pub(super) fn fill(&mut self, about: Topic, entries: Entries) {
        let Some(Overlay::Picker(topic, picker)) = &mut self.overlay else { return };
        if *topic != about {
            return;
        }
        picker.nothing = "no matches".into();
        picker.set_entries(entries);
        if matches!(about, Topic::Tree(_)) {
            picker.mark_last();
            if let Some(place) = self.place.take() {
                picker.mark(|choice| *choice == place);
            }
        }
        self.look_closer();
    }

    /// Loads the preview of the selected entry, if it has one.
    fn look_closer(&mut self) {
        let Some(Overlay::Picker(topic, picker)) = &mut self.overlay else { return };
        match (*topic, picker.marked()) {
            (Topic::Sessions { .. }, Some(Choice::Session(path))) => {
                picker.preview.clear();
                let mailbox = self.conversation.mailbox.clone();
                self.conversation.runtime.spawn_blocking(move || {
                    let lines = choices::preview(&path);
                    mailbox.send(Message::Preview(Choice::Session(path), lines));
                });
            }
            (Topic::Theme, Some(Choice::Theme(name))) => self.show_theme(name),
            (Topic::Jobs, Some(Choice::Job(id))) => {
                let output = self.conversation.control.session().host.job_output(&id).unwrap_or_default();
                picker.preview = choices::tail(&output);
            }
            (Topic::Tasks, Some(Choice::Subagent(id))) => {
                let child = self.conversation.control.listed_child(&id);
                picker.preview = child.ok().and_then(|child| child.last_line).into_iter().collect();
            }
            (Topic::Findings, Some(Choice::Prompt(text))) => {
                let findings = self.conversation.control.findings();
                let finding = findings.iter().find(|finding| finding.prompt() == text);
                let evidence = finding.map_or("", |finding| &finding.evidence);
                picker.preview = evidence.trim().lines().map(str::to_string).collect();
            }
            // Shows the whole prompt, because its row is too short.
            (Topic::History, Some(Choice::Prompt(text))) if is_long(&text, self.screen.size().columns) => {
                picker.preview = text.lines().map(str::to_string).collect();
            }
            _ => picker.preview.clear(),
        }
    }

    pub(super) fn preview(&mut self, about: &Choice, lines: Vec<String>) {
        if let Some(Overlay::Picker(_, picker)) = &mut self.overlay
            && picker.marked().as_ref() == Some(about)
        {
            picker.preview = lines;
        }
    }

    pub(super) fn take_overlay_key(&mut self, press: Press<'_>) {
        if let Press::Action(Action::Tree(action)) = press
            && self.take_tree_key(action)
        {
            return;
        }
        match &mut self.overlay {
            Some(Overlay::Picker(topic, picker)) => {
                let topic = *topic;
                match picker.key(press) {
                    PickerEffect::Nothing => {}
                    PickerEffect::Moved => self.look_closer(),
                    PickerEffect::Closed => self.leave(topic),
                    PickerEffect::Taken(choice) => self.choose(choice),
                    PickerEffect::Other(action, choice) => self.press(topic, action, choice),
                }
            }
            Some(Overlay::Form(form)) => match form.key(press) {
                FormEffect::Stays => {}
                FormEffect::Closed => {
                    let purpose = form.purpose.clone();
                    self.overlay = None;
                    self.conversation.end_login();
                    match purpose {
                        Purpose::Label(_, filter) => self.open(Topic::Tree(filter)),
                        Purpose::Steer(_) => self.open(Topic::Tasks),
                        _ => {}
                    }
                }
                FormEffect::Done(text) => {
                    let purpose = form.purpose.clone();
                    self.overlay = None;
                    self.fill_in(purpose, text);
                }
            },
            None => {}
        }
    }

    /// Handles a key of the tree; returns false for other keys.
    fn take_tree_key(&mut self, action: TreeAction) -> bool {
        let Some(Overlay::Picker(Topic::Tree(filter), picker)) = &self.overlay else { return false };
        let (filter, marked) = (*filter, picker.marked());
        if let Some(next) = filter.after(action) {
            self.place = marked;
            self.open(Topic::Tree(next));
            return true;
        }
        let Some(Choice::Place(id)) = &marked else { return true };
        let (control, mailbox, id) =
            (Arc::clone(&self.conversation.control), self.conversation.mailbox.clone(), id.clone());
        self.place = marked;
        self.conversation.runtime.spawn_blocking(move || {
            mailbox.send(match choosing::label_of(&control, &id) {
                Ok(label) => Message::Label { id, label, filter },
                Err(error) => Message::Notice(error.message),
            });
        });
        true
    }

    /// Asks for the label of an entry in the tree.
    pub(super) fn ask_label(&mut self, id: String, label: &str, filter: TreeFilter) {
        if matches!(self.overlay, Some(Overlay::Picker(Topic::Tree(_), _))) {
            let body = vec!["The tree shows it at this entry; an empty line removes it.".into()];
            let form = Form::new("Label", body, Purpose::Label(id, filter)).with_text(label);
            self.fill_form(form);
        }
    }

    /// Opens a panel with a text field.
    fn fill_form(&mut self, form: Form<Purpose>) {
        self.overlay = Some(Overlay::Form(form.with_keys(&self.conversation.keys)));
    }

    /// Closes a panel without a choice, and returns to the panel from which it was opened, if there is one.
    fn leave(&mut self, topic: Topic) {
        self.overlay = None;
        match topic {
            Topic::Providers => self.open(Topic::Login),
            Topic::Values => self.open(Topic::Settings),
            Topic::Theme => self.apply_theme(),
            _ => {}
        }
    }

    /// Executes an action that only some panels support.
    fn press(&mut self, topic: Topic, action: Action, choice: Choice) {
        match (topic, action, choice) {
            (Topic::Settings | Topic::Values, Action::Tab, choice) => {
                self.conversation.changed.turn();
                self.open(Topic::Settings);
                let at = match choice {
                    Choice::Value(path, _) => path,
                    Choice::Setting(path) => path,
                    _ => return,
                };
                self.mark_setting(at);
            }
            (Topic::Sessions { all }, Action::Tab, _) => self.open(Topic::Sessions { all: !all }),
            (Topic::Models { .. }, Action::List(ListAction::Keep), Choice::Model { provider, id }) => {
                self.choose(Choice::Found { provider, id })
            }
            (Topic::Jobs, Action::List(ListAction::Stop), Choice::Job(id)) => {
                match self.conversation.control.session().host.cancel_job(&id) {
                    Ok(_) => self.notify(format!("stopping job {id}")),
                    Err(error) => self.notify(error),
                }
                self.refresh_work();
            }
            (Topic::Tasks, Action::List(ListAction::Stop), Choice::Subagent(id)) => {
                match self.conversation.control.abort_child(&id) {
                    Ok(()) => self.notify(format!("stopping {id}")),
                    Err(error) => self.notify(error.message),
                }
                self.refresh_work();
            }
            (Topic::Tasks, Action::List(ListAction::Background), Choice::Subagent(id)) => {
                match self.conversation.control.move_to_background(&id) {
                    Ok(moved) => self.notify(format!("in the background: {}", moved.join(", "))),
                    Err(error) => self.notify(error.message),
                }
            }
            (Topic::Tasks, Action::Tab, Choice::Subagent(id)) => {
                self.fill_form(Form::new(format!("Message to {id}"), Vec::new(), Purpose::Steer(id)));
            }
            _ => {}
        }
    }

    fn choose(&mut self, choice: Choice) {
        let before = self.overlay.take();
        if let Choice::Model { .. } | Choice::Found { .. } = choice {
            let is_once = matches!(before, Some(Overlay::Picker(Topic::Models { once: true }, _)));
            self.conversation.lend_model(is_once && matches!(choice, Choice::Model { .. }));
        }
        match choice {
            Choice::Thinking(level) => {
                let level = self.conversation.control.set_thinking(level);
                self.notify(format!("thinking: {}", level.as_str()));
                self.refresh();
            }
            Choice::Session(path) => {
                self.file_draft();
                self.conversation.run_verb(Verb::Resume, path.display().to_string());
            }
            Choice::Setting(path) => self.edit_setting(path),
            Choice::Value(path, value) => self.write_setting(path, value),
            Choice::Theme(name) => self.choose_theme(name),
            Choice::Redraw => self.redraw_all(),
            Choice::Share => self.conversation.run_verb(Verb::Share, "yes".into()),
            Choice::Nothing => {}
            Choice::Job(id) => self.view_job(&id),
            Choice::Subagent(id) => self.view_subagent(id, ViewPurpose::Open),
            Choice::Prompt(text) => self.editor.set_text(&text),
            Choice::Tool { name, now } => {
                self.overlay = before;
                let (control, mailbox) = self.conversation.handles();
                self.conversation.runtime.spawn_blocking(move || {
                    let entries = choosing::switch_tool(&control, &name, now).map(|text| {
                        mailbox.send(Message::Notice(text));
                        choices::tools(&control, now)
                    });
                    tell(&mailbox, Topic::Tools { now }, entries);
                });
            }
            Choice::Provider(id) => self.log_in(&id),
            Choice::Providers => self.open(Topic::Providers),
            Choice::Demo => {
                self.play_demo();
                if self.conversation.is_without_model() && self.conversation.leaving.code.is_none() {
                    self.open(Topic::Login);
                }
            }
            Choice::Leave => self.conversation.leaving.code = Some(0),
            choice => self.conversation.carry_out(choice),
        }
    }

    /// Begins a login at a provider, or asks for its key.
    pub(super) fn log_in(&mut self, provider: &str) {
        match self.conversation.log_in(provider) {
            LoginStart::Unknown(error) => {
                self.take_message(Message::Failed { error, text: format!("/login {provider}") });
            }
            LoginStart::Begun => {
                self.fill_form(Form::new(format!("Signing in to {provider}"), Vec::new(), Purpose::Wait).waiting());
            }
            LoginStart::NeedsKey => {
                let place = self.conversation.control.app.startup.paths.agent.join("auth.json");
                let body =
                    vec![format!("It is not shown, and is stored in {}, which only you can read.", place.display())];
                let title = format!("Paste the key of {provider}");
                self.fill_form(Form::new(title, body, Purpose::Key(provider.into())).hidden());
            }
        }
    }

    pub(super) fn show_login(&mut self, step: LoginStep) {
        // The user has cancelled the login meanwhile.
        if !self.conversation.is_logging_in() {
            return;
        }
        self.fill_form(match step {
            LoginStep::Browser { provider, url } => {
                let body = vec!["Open this URL in a browser:".into()];
                Form::new(format!("Signing in to {provider}"), body, Purpose::Address)
                    .with_address("", &url)
                    .with_line("If the browser runs on another machine, paste the URL of the page it ends on:")
            }
            LoginStep::Code { provider, address, code } => {
                Form::new(format!("Signing in to {provider}"), Vec::new(), Purpose::Wait)
                    .with_address("Open ", &address)
                    .with_line(&format!("and type this code: {code}"))
                    .waiting()
            }
        });
    }

    pub(super) fn finish_login(&mut self, provider: String, result: Result<(), String>) {
        if self.conversation.end_login() {
            self.overlay = None;
        }
        match result {
            Ok(()) => self.conversation.use_provider(provider),
            Err(error) => self.take_message(Message::Failed { error, text: String::new() }),
        }
    }

    fn fill_in(&mut self, purpose: Purpose, text: String) {
        match purpose {
            Purpose::Key(provider) => self.conversation.keep_key(provider, text),
            Purpose::Address => {
                if self.conversation.paste_address(text) {
                    self.fill_form(Form::new("Signing in", Vec::new(), Purpose::Wait).waiting());
                }
            }
            Purpose::Wait => {}
            Purpose::Steer(id) => {
                if !text.trim().is_empty() {
                    self.conversation.run_verb(Verb::Shared(SharedCommand::Steer), format!("{id} {text}"));
                }
                self.open(Topic::Tasks);
            }
            Purpose::Label(id, filter) => {
                let label = Some(text.trim()).filter(|label| !label.is_empty());
                if let Err(error) = self.conversation.control.session().agent.set_label(&id, label) {
                    self.notify(error.to_string());
                }
                self.open(Topic::Tree(filter));
            }
            Purpose::Setting(path) => {
                // Lists and objects are written as JSON; any other text is a string.
                let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
                self.write_setting(path, value);
            }
        }
    }

    fn edit_setting(&mut self, path: &'static str) {
        let (now, _) = self.conversation.changed.value(&self.conversation.control, path);
        self.overlay = Some(match choices::values(path) {
            Some(entries) => {
                let mut picker = Picker::new(path, entries)
                    .with_hint(self.conversation.keys.list_hint(&Topic::Values.hint(&self.conversation.keys)));
                picker.mark(|choice| matches!(choice, Choice::Value(_, value) if *value == now));
                Overlay::Picker(Topic::Values, picker)
            }
            None => {
                let text = match &now {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let key = settings::KEYS.iter().find(|key| key.path == path);
                let body = key.map(|key| vec![key.help.to_string(), format!("Expected: {}", key.kind.describe())]);
                let form = Form::new(path, body.unwrap_or_default(), Purpose::Setting(path)).with_text(&text);
                Overlay::Form(form.with_keys(&self.conversation.keys))
            }
        });
    }

    fn write_setting(&mut self, path: &'static str, value: Value) {
        match self.conversation.write_setting(path, value) {
            Ok(text) => {
                if settings::applies(path) == Applies::Now {
                    self.show_setting(path);
                }
                self.notify(text);
            }
            Err(error) => self.notify(error),
        }
        self.open(Topic::Settings);
        self.mark_setting(path);
    }

    fn mark_setting(&mut self, path: &'static str) {
        if let Some(Overlay::Picker(_, picker)) = &mut self.overlay {
            picker.mark(|choice| *choice == Choice::Setting(path));
        }
    }

    /// Shows the effect of a changed setting that applies at once.
    fn show_setting(&mut self, path: &str) {
        match path {
            "notifications" => self.announcer.is_on = self.conversation.settings().notifications,
            "theme.dark" | "theme.light" | "colorBlindMode" => self.apply_theme(),
            "symbolPreset" => {
                self.probe.wanted = characters::wanted(self.conversation.settings().symbol_preset);
                let options = self.screen.options();
                if options.characters != Characters::Ascii {
                    self.screen.set_options(ScreenOptions { characters: self.probe.wanted, ..options });
                }
            }
            "hideThinkingBlock" => {
                if self.conversation.settings().hide_thinking_block != self.transcript.looks.hides_thoughts {
                    self.transcript.fold_thoughts(&mut self.screen);
                }
            }
            "tui.editor" => {
                self.tui.editor = self.conversation.settings().tui.editor;
                self.take_editor();
            }
            path if path.starts_with("tui.") => {
                self.tui = self.conversation.settings().tui;
                self.take_tui();
            }
            _ => self.refresh(),
        }
    }

    /// Applies the settings of the screen.
    pub(super) fn take_tui(&mut self) {
        let keeps_settled = self.tui.resize == TuiResize::Live;
        self.screen.set_options(ScreenOptions { keeps_settled, ..self.screen.options() });
    }

    /// Applies a theme, and stores it for backgrounds like the current one.
    pub(super) fn choose_theme(&mut self, name: &str) {
        let Some((name, _)) = choices::THEMES.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = choices::THEMES.iter().map(|(name, _)| *name).collect();
            let error = format!("Theme not found: {name}. Known: {}", known.join(", "));
            return self.take_message(Message::Failed { error, text: format!("/theme {name}") });
        };
        self.colours.theme = Some(name);
        self.show_theme(name);
        let Some(is_light) = self.is_light() else {
            return self.notify("the terminal does not report its background: the theme applies until you quit");
        };
        let path = if is_light { "theme.light" } else { "theme.dark" };
        if let Err(error) = self.conversation.write_setting(path, Value::from(*name)) {
            self.notify(error);
        }
    }

    /// Applies the theme of the settings for the current background. If the background is unknown, uses the named
    /// colours, or the theme that was selected since the start.
    pub(super) fn apply_theme(&mut self) {
        let themes = self.conversation.settings().theme;
        let name = match self.is_light() {
            Some(true) => themes.light,
            Some(false) => themes.dark,
            None => self.colours.theme.unwrap_or("ansi").into(),
        };
        self.show_theme(&name);
    }

    /// Returns true if the background of the terminal is light; `None` if it is unknown.
    fn is_light(&self) -> Option<bool> {
        let told = self.colours.background.map(|color| contrast(color, [0; 3]) > contrast(color, [255; 3]));
        // The last number is the background, as one of the 16 colours.
        let named = || {
            self.conversation.control.app.startup.environment.get("COLORFGBG")?.rsplit(';').next()?.parse::<u8>().ok()
        };
        told.or_else(|| named().map(|color| matches!(color, 7 | 9..=15)))
    }

    /// Applies a theme. On a terminal with few colours, `ansi` is used, because its colours are configured by the user.
    fn show_theme(&mut self, name: &str) {
        let mut theme = match (self.screen.options().depth, name) {
            (Depth::None | Depth::Named, _) => Theme::ansi(),
            (_, "dark") => Theme::dark(),
            (_, "light") => Theme::light(),
            _ => Theme::ansi(),
        };
        if self.conversation.settings().color_blind_mode {
            theme = theme.color_blind();
        }
        if let Some(background) = self.colours.background {
            let light = self.is_light() == Some(true);
            let text = self.colours.foreground.unwrap_or(if light { [0; 3] } else { [255; 3] });
            theme = theme.on_terminal(background, text);
        }
        if **self.screen.theme() != theme {
            self.screen.set_theme(Arc::new(theme));
        }
    }
}

/// Returns true if a prompt does not fit into a row of a list.
fn is_long(prompt: &str, columns: usize) -> bool {
    prompt.trim().contains('\n') || sinew::term::visible_width(prompt, 1) + 2 > columns
}

/// Sends the entries of a panel, or the error.
fn tell(mailbox: &Mailbox, topic: Topic, entries: Result<Entries, ControlError>) {
    mailbox.send(match entries {
        Ok(entries) => Message::Entries(topic, entries),
        Err(error) => Message::Failed { error: error.message, text: String::new() },
    });
}
