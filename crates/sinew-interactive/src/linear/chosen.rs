//! Lists with a selection, and requested lines: logins, keys, values of settings.

use std::sync::Arc;

use serde_json::Value;
use sinew_control::actions::commands::Verb;
use sinew_control::settings;
use sinew_tui::Editor;

use super::Linear;
use super::list::{self, Choices};
use crate::choices::{self, Choice, Topic};
use crate::choosing::{self, Purpose};
use crate::conversation::LoginStart;
use crate::mailbox::{LoginStep, Message};

/// A requested line, and the draft that is restored afterwards.
pub(super) struct InputRequest {
    purpose: Purpose,
    draft: Editor,
}

impl InputRequest {
    /// Returns true if the line is not shown.
    pub(super) fn is_hidden(&self) -> bool {
        matches!(self.purpose, Purpose::Key(_))
    }
}

impl Linear {
    /// Prints a list, from which the next line may select an entry.
    pub(super) fn list(&mut self, topic: Topic) {
        if let Some(choices) = Choices::of(&self.conversation, topic) {
            return self.say_list(choices);
        }
        let (control, send, mailbox) =
            (Arc::clone(&self.conversation.control), self.listed.0.clone(), self.conversation.mailbox.clone());
        self.conversation.runtime.spawn(async move {
            match list::read(control, topic).await {
                Ok(choices) => {
                    let _ = send.send(choices);
                    // The message wakes the thread; the list is in its channel before that.
                    mailbox.send(Message::Resized);
                }
                Err(error) => mailbox.send(Message::Failed { error, text: String::new() }),
            }
        });
    }

    pub(super) fn say_list(&mut self, choices: Choices) {
        self.output.say(&choices.words());
        self.choices = Some(choices);
    }

    /// Executes a selected entry.
    pub(super) fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Thinking(level) => self.conversation.run_verb(Verb::Thinking, level.as_str().to_string()),
            Choice::Session(path) => self.conversation.run_verb(Verb::Resume, path.display().to_string()),
            Choice::Tool { name, now } => match choosing::switch_tool(&self.conversation.control, &name, now) {
                Ok(text) => self.output.say(&text),
                Err(error) => self.output.say(&format!("Error: {}", error.message)),
            },
            Choice::Setting(path) => match choices::values(path) {
                Some(entries) => self.say_list(Choices::new(path, entries)),
                None => {
                    let key = settings::KEYS.iter().find(|key| key.path == path);
                    let (help, kind) = key.map_or(("", String::new()), |key| (key.help, key.kind.describe()));
                    self.want(
                        Purpose::Setting(path),
                        &format!("{path}: {help}\nEnter {kind}; an empty line changes nothing."),
                    );
                }
            },
            Choice::Value(path, value) => self.write_setting(path, value),
            Choice::Theme(name) => {
                for path in ["theme.dark", "theme.light"] {
                    self.write_setting(path, Value::from(name));
                }
            }
            Choice::Provider(id) => self.log_in(&id),
            Choice::Providers => self.list(Topic::Providers),
            Choice::Leave => self.conversation.leaving.code = Some(0),
            choice => self.conversation.carry_out(choice),
        }
    }

    /// Requests a line; the draft is restored afterwards.
    fn want(&mut self, purpose: Purpose, words: &str) {
        self.drop_wanted();
        self.output.say(words);
        let draft = std::mem::take(&mut self.editor);
        self.wanted = Some(InputRequest { purpose, draft });
    }

    /// Cancels the request for a line; returns false if there is none.
    pub(super) fn drop_wanted(&mut self) -> bool {
        let wanted = self.wanted.take();
        wanted.map(|wanted| self.editor = wanted.draft).is_some()
    }

    /// Processes the requested line; returns false if none was requested.
    pub(super) fn take_wanted(&mut self) -> bool {
        let Some(wanted) = self.wanted.take() else { return false };
        let text = std::mem::replace(&mut self.editor, wanted.draft).text().trim().to_string();
        match wanted.purpose {
            // In this mode, /label sets a label, and /steer writes to a subagent.
            Purpose::Wait | Purpose::Label(..) | Purpose::Steer(_) => {}
            _ if text.is_empty() => {
                self.conversation.end_login();
                self.output.say("Unchanged.");
            }
            Purpose::Key(provider) => self.conversation.keep_key(provider, text),
            Purpose::Address => {
                self.conversation.paste_address(text);
            }
            Purpose::Setting(path) => {
                let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
                self.write_setting(path, value);
            }
        }
        true
    }

    fn write_setting(&mut self, path: &'static str, value: Value) {
        match self.conversation.write_setting(path, value) {
            Ok(text) => self.output.say(&text),
            Err(error) => self.output.say(&format!("Error: {error}")),
        }
    }

    /// Begins a login at a provider, or requests its key.
    pub(super) fn log_in(&mut self, provider: &str) {
        match self.conversation.log_in(provider) {
            LoginStart::Unknown(error) => self.output.say(&format!("Error: {error}")),
            LoginStart::Begun => self.output.say(&format!("Signing in to {provider}.")),
            // The kernel would echo the key.
            LoginStart::NeedsKey if self.is_plain => {
                self.output.say(&format!("A key cannot be hidden here: use /quit, then sinew login {provider}"));
            }
            LoginStart::NeedsKey => {
                let place = self.conversation.control.app.startup.paths.agent.join("auth.json");
                let words = format!(
                    "Paste the key of {provider}. It is not shown, and is stored in {}, which only you can read.\n\
                     An empty line changes nothing.",
                    place.display()
                );
                self.want(Purpose::Key(provider.into()), &words);
            }
        }
    }

    pub(super) fn say_login(&mut self, step: LoginStep) {
        // The user has cancelled the login meanwhile.
        if !self.conversation.is_logging_in() {
            return;
        }
        match step {
            LoginStep::Browser { url, .. } => {
                let words = format!(
                    "Open this URL in a browser:\n{url}\nIf the browser runs on another machine, paste the URL of \
                     the page it ends on. An empty line cancels the login."
                );
                self.want(Purpose::Address, &words);
            }
            LoginStep::Code { address, code, .. } => {
                self.output.say(&format!("Open {address} and type this code: {code}"));
            }
        }
    }

    pub(super) fn end_login(&mut self, provider: String, result: Result<(), String>) {
        if self.conversation.end_login() {
            self.drop_wanted();
        }
        match result {
            Ok(()) => self.conversation.use_provider(provider),
            Err(error) => self.output.say(&format!("Error: {error}")),
        }
    }
}
