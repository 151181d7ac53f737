//! Completion: requests candidates as the text changes, and handles the keys of the popup.

use std::sync::Arc;

use sinew_control::actions::commands::{self, InteractiveForm, Panel};
use sinew_tui::EditAction;

use super::Ui;
use crate::choices::{self, Choice};
use crate::complete::{self, Candidate, CompletionKind, Popup};
use crate::keys::{Action, Press};
use crate::mailbox::Message;
use crate::picker::Entry;
use crate::submit;

impl Ui {
    /// Requests the candidates for the text before the cursor.
    pub(super) fn complete(&mut self) {
        let before = self.editor.before_cursor().to_string();
        let Some(request) = complete::request(&before) else {
            self.popup = None;
            return;
        };
        let from = request.from;
        match request.wanted {
            CompletionKind::Command(query) => {
                self.popup = Popup::new(&before, from, submit::candidates(&self.conversation.control), Some(&query));
            }
            CompletionKind::Argument { command, query } => {
                let candidates = self.arguments(&command);
                self.popup = Popup::new(&before, from, candidates, Some(&query));
            }
            CompletionKind::Mention(query) => {
                let (searches, mailbox) =
                    (Arc::clone(&self.conversation.control.app.searches), self.conversation.mailbox.clone());
                let cwd = self.conversation.control.app.startup.paths.cwd.clone();
                self.conversation.runtime.spawn_blocking(move || {
                    let candidates = complete::files(&searches, &cwd, &query);
                    mailbox.send(Message::Candidates { text: before, from, candidates, from_tab: false });
                });
            }
        }
    }

    /// Returns the values that a command accepts.
    fn arguments(&self, command: &str) -> Vec<Candidate> {
        let entries = match commands::named(command, InteractiveForm::Screen).and_then(|row| row.panel) {
            Some(Panel::Models) => choices::models(&self.conversation.control),
            Some(Panel::Thinking) => choices::thinking(&self.conversation.control),
            Some(Panel::Theme) => choices::themes(),
            Some(Panel::Login) => choices::providers(&self.conversation.control),
            Some(Panel::Logout) => choices::stored(&self.conversation.control),
            _ => return Vec::new(),
        };
        let candidate =
            |entry: Entry<Choice>| Candidate { insert: entry.name.clone(), name: entry.name, help: entry.text };
        entries.into_iter().map(candidate).collect()
    }

    /// Completes the path before the cursor.
    pub(super) fn complete_path(&mut self) {
        let before = self.editor.before_cursor().to_string();
        let (from, folder, name) = complete::path_word(&before);
        let (folder, name) = (folder.to_string(), name.to_string());
        let (cwd, mailbox) =
            (self.conversation.control.app.startup.paths.cwd.clone(), self.conversation.mailbox.clone());
        self.conversation.runtime.spawn_blocking(move || {
            let candidates = complete::paths(&cwd, std::env::home_dir().as_deref(), &folder, &name);
            mailbox.send(Message::Candidates { text: before, from, candidates, from_tab: true });
        });
    }

    /// Shows candidates; those for another text are dropped.
    pub(super) fn offer(&mut self, text: &str, from: usize, candidates: Vec<Candidate>, from_tab: bool) {
        if self.editor.before_cursor() != text {
            return;
        }
        match &candidates[..] {
            [one] if from_tab => self.editor.complete(from, &one.insert),
            [] if from_tab => self.notify("no matching file or folder"),
            _ => self.popup = Popup::new(text, from, candidates, None),
        }
    }

    /// Passes a key to the popup; returns false if the popup does not handle it.
    pub(super) fn take_popup_key(&mut self, press: Press<'_>) -> bool {
        let before = self.editor.before_cursor().to_string();
        let Some(popup) = &mut self.popup else { return false };
        match press.action() {
            Some(Action::Edit(EditAction::Up)) => popup.step(-1),
            Some(Action::Edit(EditAction::Down)) => popup.step(1),
            Some(Action::Interrupt) => self.popup = None,
            Some(Action::Tab | Action::FocusPanel | Action::Submit) if popup.adds(&before) => {
                if let Some((from, insert)) = popup.take(&before) {
                    let insert = insert.to_string();
                    self.editor.complete(from, &insert);
                }
                self.popup = None;
                // After a directory, its contents are offered.
                if self.editor.before_cursor().ends_with('/') {
                    self.complete();
                }
            }
            _ => return false,
        }
        true
    }
}
