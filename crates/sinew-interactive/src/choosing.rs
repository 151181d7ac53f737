//! Executes the entries of lists and processes typed lines, for the screen and for the linear mode.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use sinew_agent::agent::BranchSummaryChoice;
use sinew_control::actions::mcp::NOW;
use sinew_control::actions::{Control, ControlError};
use sinew_control::config;
use sinew_control::settings::{self, Applies, Settings};
use sinew_control::startup::Startup;

use super::choices::tree::{self, TreeFilter};
use super::choices::{self, Choice, Entries};
use super::login;
use super::mailbox::{Mailbox, Message};

/// The purpose of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The key of a provider.
    Key(String),
    /// The URL at which the browser ended.
    Address,
    /// Nothing, while a login continues.
    Wait,
    /// The value of a setting.
    Setting(&'static str),
    /// A message to a subagent.
    Steer(String),
    /// The label of an entry; the tree is shown with this filter.
    Label(String, TreeFilter),
}

/// Executes an entry if it is an action of `control`. The caller that shows the list executes the others.
pub(super) async fn carry_out(control: Arc<Control>, mailbox: Mailbox, choice: Choice) {
    let model = match choice {
        Choice::Model { provider, id } => set_model(&control, &provider, &id, false).await,
        Choice::Found { provider, id } => set_model(&control, &provider, &id, true).await,
        Choice::Place(id) => {
            go_to(control, mailbox.clone(), id).await;
            return mailbox.send(Message::ChangeEnded);
        }
        Choice::Branch(id) => {
            branch(control, mailbox.clone(), id).await;
            return mailbox.send(Message::ChangeEnded);
        }
        Choice::Logout(id) => return login::forget(control, mailbox, id).await,
        _ => return,
    };
    mailbox.send(match model {
        Ok(text) => Message::Changed(text),
        Err(error) => Message::Failed { error: error.message, text: String::new() },
    });
}

/// The place where a changed setting is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Target {
    #[default]
    User,
    Project,
    Session,
}

impl Target {
    const ALL: [(Target, &str); 3] =
        [(Target::User, config::USER), (Target::Project, config::PROJECT), (Target::Session, "session")];

    pub(super) fn name(self) -> &'static str {
        Target::ALL[self as usize].1
    }

    /// Returns the place with this name.
    pub(super) fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|(_, known)| *known == name).map(|(target, _)| target)
    }

    /// Returns the title of the list.
    fn title(self) -> &'static str {
        match self {
            Target::User => "Settings, stored in your file",
            Target::Project => "Settings, stored in the project's file",
            Target::Session => "Settings, until you quit",
        }
    }
}

/// The settings that were changed since the start, and where the next changes are stored.
#[derive(Default)]
pub(super) struct ChangedSettings {
    changed: HashMap<(Target, &'static str), Value>,
    pub(super) target: Target,
}

impl ChangedSettings {
    /// Selects the next place.
    pub(super) fn turn(&mut self) {
        self.target = Target::ALL[(self.target as usize + 1) % Target::ALL.len()].0;
    }

    /// Returns the title of the list.
    pub(super) fn title(&self) -> &'static str {
        self.target.title()
    }

    /// Returns the value in force, and the layer that set it.
    pub(super) fn value(&self, control: &Control, path: &'static str) -> (Value, Option<&'static str>) {
        let startup = &control.app.startup;
        let changed = |target| self.changed.get(&(target, path));
        if let Some(value) = changed(Target::Session) {
            return (value.clone(), Some(Target::Session.name()));
        }
        for (name, values) in startup.layers.iter().rev() {
            match Target::named(name).and_then(changed) {
                Some(value) => return (value.clone(), Some(name)),
                None if values.is_set(path) => return (values.get(path), Some(name)),
                None => {}
            }
        }
        (startup.values.get(path), None)
    }

    /// Returns the entries of the list of settings.
    pub(super) fn entries(&self, control: &Control) -> Entries {
        choices::settings(|path| self.value(control, path))
    }

    /// Stores a value in the selected place. Returns a text that names the place and a higher layer that overrides the
    /// value, if there is one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, the value is invalid, or it would have no effect there.
    pub(super) fn write(&mut self, control: &Control, path: &'static str, value: Value) -> Result<String, String> {
        let Startup { paths, trusted, .. } = &control.app.startup;
        let file = match self.target {
            Target::User => Some(&paths.agent),
            Target::Project if !trusted && settings::is_guarded(path) => {
                return Err(format!("{path}: a project can only set this once you trust the project"));
            }
            Target::Project => Some(&paths.project),
            Target::Session => None,
        };
        let file = file.map(|folder| folder.join("settings.json"));
        match &file {
            Some(file) => settings::write(file, path, &value).map_err(|error| error.message().to_string())?,
            None => settings::check(path, &value).map_err(|error| error.message().to_string())?,
        }
        self.changed.insert((self.target, path), value);
        let place = file.map_or("stored until you quit".into(), |file| format!("stored in {}", file.display()));
        Ok(match self.value(control, path).1 {
            Some(layer) if layer != self.target.name() => {
                format!("{place} (overridden by the layer {layer})")
            }
            _ => place,
        })
    }

    /// Returns the message about a value that was stored in `place`, with the time from which it applies. If it was
    /// meant for the current session only and cannot apply at once, it is removed.
    pub(super) fn message(&mut self, path: &'static str, place: &str) -> String {
        let when = match settings::applies(path) {
            Applies::Now => "applies from now on",
            Applies::Start if self.target == Target::Session => {
                self.changed.remove(&(Target::Session, path));
                return format!("{path} is only read at the start: store it in a file");
            }
            Applies::Start => "applies from the next start on",
        };
        format!("{path} is {place} and {when}")
    }

    /// Returns all settings in force.
    pub(super) fn typed(&self, control: &Control) -> Settings {
        let mut values = control.app.startup.values.clone();
        for (_, path) in self.changed.keys() {
            values.set(path, self.value(control, path).0);
        }
        values.typed()
    }

    /// Applies a changed setting of the agent.
    pub(super) fn apply(&self, control: &Control, path: &str) {
        match path {
            "defaultThinkingLevel" => drop(control.set_thinking(self.typed(control).default_thinking_level)),
            _ => control.take_settings(&self.typed(control)),
        }
    }
}

/// Returns the entries of the session's tree.
pub(super) fn tree(control: &Control, filter: TreeFilter) -> Result<Entries, ControlError> {
    let (entries, leaf) = session_entries(control)?;
    Ok(tree::places(&entries, leaf.as_deref(), filter))
}

/// Returns the label of an entry in the session; empty if it has none.
pub(super) fn label_of(control: &Control, id: &str) -> Result<String, ControlError> {
    let (entries, _) = session_entries(control)?;
    Ok(tree::label_of(&entries, id).unwrap_or_default().to_string())
}

fn session_entries(control: &Control) -> Result<(Vec<Value>, Option<String>), ControlError> {
    let open = control.session();
    let (entries, leaf) = {
        let session = open.agent.session();
        (session.entries_json(None)?, session.leaf().map(str::to_string))
    };
    let entries: Vec<Value> = serde_json::from_str(&entries).map_err(|error| error.to_string())?;
    Ok((entries, leaf))
}

async fn set_model(control: &Control, provider: &str, id: &str, keep: bool) -> Result<String, ControlError> {
    let model = control.set_model(provider, id).await?;
    if !keep {
        return Ok(format!("{} answers from now on", model.key()));
    }
    let (file, key) = (control.app.startup.paths.agent.join("settings.json"), model.key());
    let written = tokio::task::spawn_blocking(move || settings::write(&file, "defaultModel", &Value::from(key))).await;
    written.map_err(|panic| panic.to_string())??;
    Ok(format!("{} answers from now on, and in new sessions", model.key()))
}

/// Enables or disables a tool, and returns a text about the effect.
pub(super) fn switch_tool(control: &Control, name: &str, now: bool) -> Result<String, ControlError> {
    let switched = control.switch_tool(name, now)?;
    let state = if switched.is_on { "on" } else { "off" };
    Ok(match switched.lost {
        None => format!("{name} is {state} from the next session on (at once: /tools {NOW})"),
        Some(0) => format!("{name} is {state}"),
        Some(lost) => format!("{name} is {state}: {lost} cached tokens are invalidated"),
    })
}

async fn go_to(control: Arc<Control>, mailbox: Mailbox, id: String) {
    let open = control.session();
    match control.navigate(&open, &id, BranchSummaryChoice::AsSet).await {
        Ok(moved) if moved.cancelled => mailbox.send(Message::Notice("a hook refused it".into())),
        Ok(moved) if moved.aborted => mailbox.send(Message::Notice("interrupted: nothing has changed".into())),
        Ok(moved) => {
            mailbox.send(Message::SessionChanged("another point in this session".into()));
            moved.editor_text.into_iter().for_each(|text| mailbox.send(Message::EditorText(text)));
        }
        Err(error) => mailbox.send(Message::Failed { error: error.message, text: String::new() }),
    }
}

async fn branch(control: Arc<Control>, mailbox: Mailbox, id: String) {
    match control.branch(&id).await {
        Ok(start) if start.cancelled => mailbox.send(Message::Notice("a hook refused it".into())),
        Ok(start) => {
            mailbox.send(Message::SessionChanged("a new session".into()));
            mailbox.send(Message::EditorText(start.text));
        }
        Err(error) => mailbox.send(Message::Failed { error: error.message, text: String::new() }),
    }
}
