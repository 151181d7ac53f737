//! The entries of panels: models, sessions, entries of the tree, settings and others.

pub(super) mod tree;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sinew_control::actions::Control;
use sinew_control::actions::commands::Panel;
use sinew_control::actions::review::Finding;
use sinew_control::actions::subagents::ListedChild;
use sinew_control::models::{ModelSelector, is_absent};
use sinew_control::settings::{KEYS, Kind};
use sinew_llm::credentials::login::login_kind;
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::ProviderEntry;
use sinew_session::SessionSummary;
use sinew_session::history::Prompt;
use sinew_tools::Job;

use super::keys::{Action, Bindings, ListAction, TreeAction};
use super::picker::Entry;
use tree::TreeFilter;

/// The action of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Choice {
    Model {
        provider: String,
        id: String,
    },
    /// The model of a provider that was just configured, to be stored as the default.
    Found {
        provider: String,
        id: String,
    },
    Thinking(ThinkingLevel),
    Session(PathBuf),
    /// The id of an entry in the tree to move to.
    Place(String),
    /// The id of the user message before which a new session begins.
    Branch(String),
    Setting(&'static str),
    Value(&'static str, Value),
    Theme(&'static str),
    Tool {
        name: String,
        /// True if the change applies to the current session.
        now: bool,
    },
    /// The id of a background job.
    Job(String),
    /// The id of a subagent.
    Subagent(String),
    /// Erase the terminal and draw the end of the session again.
    Redraw,
    /// Publish the session.
    Share,
    /// Only close the panel.
    Nothing,
    /// An earlier prompt, to edit.
    Prompt(String),
    /// A provider to log in at, or whose key to paste.
    Provider(String),
    /// A provider whose key is deleted.
    Logout(String),
    /// Show the list of all providers.
    Providers,
    Demo,
    Leave,
}

/// The subject of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Login,
    Logout,
    Providers,
    Models {
        /// True if the model is only used for the next prompt.
        once: bool,
    },
    Thinking,
    Sessions {
        all: bool,
    },
    Tree(TreeFilter),
    Branch,
    Settings,
    Values,
    Theme,
    Tools {
        /// True if changes apply to the current session.
        now: bool,
    },
    Jobs,
    Tasks,
    Findings,
    History,
    Redraw,
    Share,
}

impl Topic {
    /// Returns the subject of the panel that a slash command opens.
    pub(super) fn of(panel: Panel) -> Topic {
        match panel {
            Panel::Branch => Topic::Branch,
            Panel::Jobs => Topic::Jobs,
            Panel::Login => Topic::Login,
            Panel::Logout => Topic::Logout,
            Panel::Models => Topic::Models { once: false },
            Panel::Sessions => Topic::Sessions { all: false },
            Panel::Settings => Topic::Settings,
            Panel::Share => Topic::Share,
            Panel::Tasks => Topic::Tasks,
            Panel::Theme => Topic::Theme,
            Panel::Thinking => Topic::Thinking,
            Panel::Tools => Topic::Tools { now: false },
            Panel::Tree => Topic::Tree(TreeFilter::Default),
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Topic::Login => "Sign in, or choose a local model",
            Topic::Logout => "Remove the key or login of which provider?",
            Topic::Providers => "Which provider is the key for?",
            Topic::Models { once: false } => "Which model answers?",
            Topic::Models { once: true } => "Which model answers the next prompt only?",
            Topic::Thinking => "Which thinking level?",
            Topic::Sessions { all: false } => "Sessions of this folder",
            Topic::Sessions { all: true } => "Sessions of all folders",
            Topic::Tree(filter) => filter.title(),
            Topic::Branch => "Start a new session before which message?",
            Topic::Settings => "Settings",
            Topic::Values => "Which value?",
            Topic::Theme => "Which theme?",
            Topic::Tools { now: false } => "Tools of the model",
            Topic::Tools { now: true } => "Tools of the model, from the next request on",
            Topic::Jobs => "Background commands",
            Topic::Tasks => "Subagents of this session",
            Topic::Findings => "Findings of the review",
            Topic::History => "Which earlier prompt?",
            Topic::Share => "Publish the whole session to everyone who has the link?",
            Topic::Redraw => "Erase the whole scrollback, including your shell's output?",
        }
    }

    /// Returns the keys of the panel, in addition to those of every panel.
    pub(super) fn hint(self, keys: &Bindings) -> String {
        let list = |action| keys.short(Action::List(action));
        match self {
            Topic::Models { .. } => format!("{}: set as the default", list(ListAction::Keep)),
            Topic::Sessions { all: false } => format!("{}: all folders", keys.short(Action::Tab)),
            Topic::Sessions { all: true } => format!("{}: this folder", keys.short(Action::Tab)),
            Topic::Tree(_) => {
                let tree = |action| keys.short(Action::Tree(action));
                format!("{}: another filter · {}: label", tree(TreeAction::NextFilter), tree(TreeAction::Label))
            }
            Topic::Tools { now: false } => {
                format!("{}: on or off, from the next session on", list(ListAction::Confirm))
            }
            Topic::Tools { now: true } => format!("{}: on or off", list(ListAction::Confirm)),
            Topic::Settings | Topic::Values => format!("{}: store elsewhere", keys.short(Action::Tab)),
            Topic::Jobs => format!("{}: show output · {}: stop", list(ListAction::Confirm), list(ListAction::Stop)),
            Topic::Tasks => format!(
                "{}: show conversation · {}: send a message · {}: to the background · {}: stop",
                list(ListAction::Confirm),
                keys.short(Action::Tab),
                list(ListAction::Background),
                list(ListAction::Stop)
            ),
            Topic::Findings => format!("{}: ask for a correction", list(ListAction::Confirm)),
            Topic::History => format!("{}: next match", keys.short(Action::SearchHistory)),
            _ => String::new(),
        }
    }

    /// Returns true if the entries are loaded after the panel has opened.
    pub(super) fn is_read_later(self) -> bool {
        matches!(self, Topic::Sessions { .. } | Topic::Tree(_) | Topic::Branch | Topic::History)
    }
}

pub(super) type Entries = Vec<Entry<Choice>>;

/// Returns the question before `/redraw all`.
pub(super) fn redraw() -> Entries {
    let erase = "clears the scrollback, and prints the end of this session again";
    vec![Entry::new("No", "nothing is erased", Choice::Nothing), Entry::new("Erase it", erase, Choice::Redraw)]
}

pub(super) fn share(command: &str) -> Entries {
    let what = format!("`{command}` receives its page");
    vec![
        Entry::new("No", "nothing leaves this machine", Choice::Nothing),
        Entry::new("Publish it", what, Choice::Share),
    ]
}

pub(super) fn models(control: &Control) -> Entries {
    let current = control.session().agent.model().model.key();
    let mut models = control.models();
    models.sort_by_key(|model| model.key() != current);
    let entry = |model: Model| {
        let mark = if model.key() == current { "● " } else { "" };
        let choice = Choice::Model { provider: model.provider.clone(), id: model.id.clone() };
        Entry::new(model.key(), format!("{mark}{}", facts(&model)), choice)
    };
    models.into_iter().map(entry).collect()
}

/// Describes the context window, price and thinking of a model.
fn facts(model: &Model) -> String {
    let mut facts = Vec::new();
    if model.context_window > 0 {
        facts.push(format!("{}k window", model.context_window / 1000));
    }
    if model.cost.input > 0.0 || model.cost.output > 0.0 {
        facts.push(format!("${} in, ${} out", model.cost.input, model.cost.output));
    }
    if model.reasoning {
        facts.push("thinks".into());
    }
    facts.join(" · ")
}

pub(super) fn thinking(control: &Control) -> Entries {
    let current = control.session().agent.thinking();
    let levels = control.thinking_levels().into_iter();
    let entry = |level: ThinkingLevel| {
        Entry::new(level.as_str(), if level == current { "●" } else { "" }, Choice::Thinking(level))
    };
    levels.map(entry).collect()
}

pub(super) fn sessions(listed: Vec<SessionSummary>, all: bool) -> Entries {
    let now = SystemTime::now();
    let entry = |session: SessionSummary| {
        let age = age(now.duration_since(session.modified).unwrap_or_default());
        let folder = if all { format!(" · {}", session.cwd) } else { String::new() };
        Entry::new(session.title, format!("{age}{folder}"), Choice::Session(session.path))
    };
    listed.into_iter().map(entry).collect()
}

fn age(age: Duration) -> String {
    match age.as_secs() {
        0..60 => "just now".into(),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// Returns the first words of a text, in one line.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(200).collect()
}

/// Returns earlier prompts, one line each. The whole text is used for the preview and the filter.
pub(super) fn prompts(prompts: Vec<Prompt>, cwd: &str) -> Entries {
    let entry = |prompt: Prompt| {
        let line = prompt.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        let folder = if prompt.cwd == cwd { String::new() } else { prompt.cwd };
        Entry::new(line, folder, Choice::Prompt(prompt.prompt))
    };
    prompts.into_iter().map(entry).collect()
}

pub(super) fn branches(points: Vec<(String, String)>) -> Entries {
    let entry = |(id, text): (String, String)| Entry::new(first_line(&text), "", Choice::Branch(id));
    points.into_iter().rev().map(entry).collect()
}

/// Returns the entries of implemented settings. `value` returns the value in force and the layer that set it.
pub(super) fn settings(value: impl Fn(&'static str) -> (Value, Option<&'static str>)) -> Entries {
    let entry = |key: &'static sinew_control::settings::Key| {
        let (value, layer) = value(key.path);
        let shown = match value {
            Value::Null => "unset".to_string(),
            value => value.to_string(),
        };
        let (mark, layer) = layer.map_or(("", String::new()), |layer| ("● ", format!(" · {layer}")));
        Entry::new(key.path, format!("{mark}{shown}{layer} · {}", key.help), Choice::Setting(key.path))
    };
    KEYS.iter().filter(|key| key.waits_for.is_none()).map(entry).collect()
}

/// Returns the entries for the values of a setting; `None` if its value must be typed.
pub(super) fn values(path: &'static str) -> Option<Entries> {
    let key = KEYS.iter().find(|key| key.path == path)?;
    let values: Vec<Value> = match key.kind {
        Kind::Flag => vec![true.into(), false.into()],
        Kind::Word(words) => words.iter().map(|word| Value::from(*word)).collect(),
        _ => return None,
    };
    let name = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let default = key.default_value();
    let entry = |value: Value| {
        let text = if value == default { "the default" } else { "" };
        Entry::new(name(&value), text, Choice::Value(path, value))
    };
    Some(values.into_iter().map(entry).collect())
}

/// The built-in themes.
pub(super) const THEMES: &[(&str, &str)] =
    &[("dark", "for dark backgrounds"), ("light", "for light backgrounds"), ("ansi", "the terminal's 16 colors")];

pub(super) fn themes() -> Entries {
    THEMES.iter().map(|(name, text)| Entry::new(*name, *text, Choice::Theme(name))).collect()
}

pub(super) fn tools(control: &Control, now: bool) -> Entries {
    let entry = |listed: sinew_control::actions::tools::ListedTool| {
        let word = |is_on: bool| if is_on { "on " } else { "off" };
        let next = listed.in_next.map_or(String::new(), |next| format!(" · next session: {}", word(next)));
        let name = listed.tool.name().to_string();
        let text = format!("{}{next} · {}", word(listed.is_active), first_line(listed.tool.description()));
        Entry::new(name.clone(), text, Choice::Tool { name, now })
    };
    control.tools().into_iter().map(entry).collect()
}

pub(super) fn jobs(control: &Control) -> Entries {
    let entry = |job: Job| {
        let text = format!("{} · {} s · job {}", job.state, job.seconds, job.id);
        Entry::new(first_line(&job.command), text, Choice::Job(job.id))
    };
    control.session().host.jobs().into_iter().map(entry).collect()
}

pub(super) fn tasks(control: &Control) -> Entries {
    let entry = |child: ListedChild| {
        let about = child.description.as_deref().map(|text| format!(" · {}", first_line(text))).unwrap_or_default();
        let name = format!("{} ({})", child.id, child.agent);
        Entry::new(name, format!("{}{about}", child.summary()), Choice::Subagent(child.id))
    };
    control.children().into_iter().map(entry).collect()
}

pub(super) fn findings(control: &Control) -> Entries {
    let entry = |finding: Finding| Entry::new(finding.location(), finding.claim(), Choice::Prompt(finding.prompt()));
    control.findings().into_iter().map(entry).collect()
}

/// Returns the last lines of some output, for a preview.
pub(super) fn tail(output: &str) -> Vec<String> {
    const LINES: usize = 6;
    let lines: Vec<&str> = output.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_string()).collect()
}

/// Returns the local servers that can be asked for their models.
pub(super) fn local_servers(models: &ModelSelector) -> Vec<String> {
    let registry = models.registry();
    let local = registry.providers().iter().filter(|entry| entry.discovery.is_some() && is_loopback(&entry.base_url));
    local.map(|entry| entry.id.clone()).collect()
}

fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    let host = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    let host = host.unwrap_or_default();
    matches!(host, "localhost" | "[::1]")
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the ways to configure a model: keys that are set, servers that have answered, logins, pasting a key, the
/// demo.
pub(super) fn login(control: &Control) -> Entries {
    let models = &control.app.models;
    let registry = models.registry();
    let mut entries = Entries::new();
    let providers = || registry.providers().iter();
    let current = control.session().agent.model().model;
    let found = |entry: &ProviderEntry, text: &str, entries: &mut Entries| {
        if let Some(model) = registry.default_model(&entry.id).filter(|model| model.key() != current.key()) {
            let choice = Choice::Found { provider: entry.id.clone(), id: model.id.clone() };
            entries.push(Entry::new(model.key(), text, choice));
        }
    };
    providers()
        .filter(|entry| models.has_own_key(&entry.id))
        .for_each(|entry| found(entry, "a key is set", &mut entries));
    providers()
        .filter(|entry| entry.keyless && is_loopback(&entry.base_url) && !models.has_own_key(&entry.id))
        .for_each(|entry| found(entry, "a server on this machine", &mut entries));
    for entry in providers().filter(|entry| login_kind(entry).is_some()) {
        let name = format!("Sign in to {}", entry.id);
        entries.push(Entry::new(name, "in a browser or with a code", Choice::Provider(entry.id.clone())));
    }
    entries.push(Entry::new("Paste a key", "for anthropic, openai, google and others", Choice::Providers));
    entries.push(Entry::new("Play the demo", "real tools, a scripted model, a temporary folder", Choice::Demo));
    if is_absent(&current) {
        entries.push(Entry::new("Leave", "", Choice::Leave));
    }
    entries
}

pub(super) fn providers(control: &Control) -> Entries {
    let models = &control.app.models;
    let registry = models.registry();
    let named = registry.providers().iter().filter(|entry| !entry.env.is_empty() || entry.oauth.is_some());
    let entry = |entry: &ProviderEntry| {
        let has = if models.has_own_key(&entry.id) { "a key is set" } else { "" };
        let how = if login_kind(entry).is_some() { "login" } else { has };
        Entry::new(entry.id.clone(), how, Choice::Provider(entry.id.clone()))
    };
    named.map(entry).collect()
}

pub(super) fn stored(control: &Control) -> Entries {
    let stored = control.app.models.credentials().stored().into_iter();
    stored.map(|id| Entry::new(id.clone(), "", Choice::Logout(id))).collect()
}

/// Returns the last messages of a session, newest last, for a preview.
pub(super) fn preview(file: &std::path::Path) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    /// The number of bytes to read from the end of the file.
    const TAIL: u64 = 64 << 10;
    let mut text = Vec::new();
    let read = std::fs::File::open(file).and_then(|mut file| {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
        file.take(TAIL).read_to_end(&mut text)
    });
    if let Err(error) = read {
        return vec![error.to_string()];
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut words: Vec<String> = lines.filter_map(|line| tree::said(&line)).collect();
    words.split_off(words.len().saturating_sub(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_prompts_are_found_by_words_and_returned_whole() {
        let said = |text: &str, cwd: &str| Prompt { prompt: text.into(), created_at: 1, cwd: cwd.into() };
        let given = vec![said("fix the\n\n  Parser", "/here"), said("parse it", "/there"), said("say", "/here")];
        let mut picker = crate::picker::Picker::new("Which?", prompts(given, "/here")).by_words();
        let texts: Vec<String> =
            prompts(vec![said("a", "/there")], "/here").into_iter().map(|entry| entry.text).collect();
        assert_eq!(texts, ["/there"]);
        picker.type_text("ARSE");
        assert_eq!(picker.marked(), Some(Choice::Prompt("fix the\n\n  Parser".into())), "the order stays");
        picker.key(crate::keys::panel_press("down", ""));
        assert_eq!(picker.marked(), Some(Choice::Prompt("parse it".into())));
        picker.type_text(" fix");
        assert_eq!(picker.marked(), Some(Choice::Prompt("fix the\n\n  Parser".into())));
        picker.type_text(" say");
        assert_eq!(picker.marked(), None);
    }

    #[test]
    fn settings_with_few_values_list_them() {
        let offered =
            |path| values(path).map(|entries| entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>());
        assert_eq!(offered("retry.enabled"), Some(vec!["true".into(), "false".into()]));
        assert_eq!(offered("sessions.fsync").map(|names| names.len()), Some(3));
        assert_eq!(offered("maxTurns"), None);
        assert!(settings(|_| (Value::Null, None)).iter().all(|entry| entry.name != "lsp.formatOnWrite"));
    }

    #[test]
    fn only_servers_of_this_machine_are_asked() {
        for (url, expect) in [
            ("http://127.0.0.1:11434/v1", true),
            ("http://localhost:1234", true),
            ("http://[::1]:8000", true),
            ("https://api.openai.com/v1", false),
            ("http://localhost.example.com", false),
            ("http://127.0.0.1.example.com/v1", false),
        ] {
            assert_eq!(is_loopback(url), expect, "{url}");
        }
    }
}
