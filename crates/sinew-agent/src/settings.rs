//! What the user can set: a table of keys, layers that are merged, and the values that parts of the agent take.
//!
//! A layer is a JSON object. A key of the wrong type is left out and named; the rest of its layer applies.

mod edit;
mod keys;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::{Map, Value};
use sinew::base::{Error, ErrorCode};
use sinew::shell::Engine;
use sinew_llm::http::HttpConfig;
use sinew_llm::model::ThinkingLevel;
use sinew_llm::models::plain_json;
use sinew_llm::provider::CacheRetention;

use crate::agent::{AgentSettings, BranchSummarySettings, CompactionSettings, RetrySettings};
use crate::compaction::Limits;
use crate::core::{Interrupt, Mode, RunSettings, ToolExecution};
use crate::files;
use crate::session::Sync;
use crate::tools;
pub use keys::{KEYS, Key, Kind};

/// Who wrote a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The user: everything may be set.
    User,
    /// A project that is not trusted: keys that start programs, lower a guard or name servers may not be set.
    Project,
}

/// A layer that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    /// What applies, with unknown keys.
    pub values: Map<String, Value>,
    /// Keys that were left out, with the reason.
    pub warnings: Vec<String>,
    /// Keys that the table does not hold.
    pub unknown: Vec<String>,
    /// What would apply if the project were trusted, by path.
    pub refused: Map<String, Value>,
}

/// Reads the text of a settings file: JSON with comments. `name` stands in the messages.
///
/// # Errors
/// The text is no JSON object; the message names the place.
pub fn read(text: &str, name: &str, source: Source) -> Result<Layer, String> {
    if text.trim().is_empty() {
        return Ok(Layer::default());
    }
    let value: Value = serde_json::from_str(&plain_json(text)).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        format!("{name}:{}:{}: {reason}", error.line(), error.column())
    })?;
    let Value::Object(values) = value else { return Err(format!("{name}: expected an object")) };
    Ok(layer(values, name, source))
}

/// Checks an object against the table. `name` stands in the messages.
#[must_use]
pub fn layer(values: Map<String, Value>, name: &str, source: Source) -> Layer {
    let mut out = Layer::default();
    out.values = walk(rename(values), "", name, source, &mut out);
    let early = without_effect(&out.values).into_iter().map(|told| format!("{name}: {told}"));
    out.warnings.extend(early);
    out
}

/// What to tell of keys in a layer that nothing reads yet, by the part that will.
#[must_use]
pub fn without_effect(values: &Map<String, Value>) -> Vec<String> {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for Key { path, waits_for, .. } in KEYS {
        let Some(part) = waits_for.filter(|_| is_set(values, path)) else { continue };
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, paths)) => paths.push(path),
            None => parts.push((part, vec![path])),
        }
    }
    let told = |(part, paths): (&str, Vec<&str>)| {
        format!("{}: no effect yet: this version does not have {part}", paths.join(", "))
    };
    parts.into_iter().map(told).collect()
}

/// Whether a layer gives a key a value.
fn is_set(values: &Map<String, Value>, path: &str) -> bool {
    let mut words = path.split('.');
    let first = words.next().and_then(|word| values.get(word));
    words.fold(first, |value, word| value?.get(word)).is_some_and(|value| !value.is_null())
}

/// Older names of keys.
fn rename(mut values: Map<String, Value>) -> Map<String, Value> {
    if let Some(mode) = values.shift_remove("queueMode") {
        values.entry("steeringMode").or_insert(mode);
    }
    if let Some(Value::String(theme)) = values.get("theme").cloned() {
        values.insert("theme".into(), serde_json::json!({"dark": theme, "light": theme}));
    }
    values
}

fn walk(values: Map<String, Value>, prefix: &str, name: &str, source: Source, out: &mut Layer) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, value) in values {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        // A text that begins with `!` is a command whose output is the value.
        let command = value.as_str().is_some_and(|text| text.starts_with('!'));
        // Null takes back all that the user set below it.
        let takes_back = value.is_null() && keys::holds_guarded(&path);
        if source == Source::Project && (command || takes_back || keys::is_guarded(&path)) {
            out.refused.insert(path, value);
            continue;
        }
        match (keys::find(&path), keys::is_parent(&path), value) {
            // Null takes back what a layer below set.
            (_, _, Value::Null) => {
                kept.insert(key, Value::Null);
            }
            (_, _, Value::Object(inner)) if keys::has_entries(&path) => {
                let inner = walk(inner, &path, name, source, out);
                kept.insert(key, Value::Object(inner));
            }
            (Some(known), _, value) => match known.kind.refusal(&value) {
                Some(expected) => out.warnings.push(format!("{name}: {path}: expected {expected}, got {value}")),
                None => {
                    kept.insert(key, value);
                }
            },
            (None, true, value) => out.warnings.push(format!("{name}: {path}: expected an object, got {value}")),
            (None, false, value) => {
                out.unknown.push(format!("{name}: {path}: unknown key"));
                kept.insert(key, value);
            }
        }
    }
    kept
}

/// Sets one key in a settings file and leaves the rest of its text as it stands, comments too. What others changed
/// meanwhile is kept: the file is read again under a lock and replaced whole. `path` is checked against the table.
///
/// # Errors
/// The key is not known, the value is of the wrong type, the file is not JSON or cannot be written.
pub fn write(file: &Path, path: &str, value: &Value) -> Result<(), Error> {
    let refusal = match keys::find(path) {
        _ if value.is_null() => None,
        Some(known) => known.kind.refusal(value).map(|expected| format!("{path}: expected {expected}, got {value}")),
        None if !keys::is_parent(path) && !keys::is_below(path) => Some(match keys::nearest(path) {
            Some(near) => format!("{path}: unknown key; did you mean {near}?"),
            None => format!("{path}: unknown key"),
        }),
        None if keys::is_parent(path) && !value.is_object() => Some(format!("{path}: expected an object, got {value}")),
        None => None,
    };
    if let Some(reason) = refusal {
        return Err(Error::new(ErrorCode::InvalidArgument, reason));
    }
    files::update(file, |old| {
        let text = old.unwrap_or_default();
        let wrong = |reason: String| Error::new(ErrorCode::InvalidData, format!("{}: {reason}", file.display()));
        // What cannot be read is not made worse.
        if !text.trim().is_empty() {
            serde_json::from_str::<Map<String, Value>>(&plain_json(text)).map_err(|error| wrong(error.to_string()))?;
        }
        edit::set(text, path, value).map_err(wrong)
    })
}

/// Whether the table holds a key, a part of one, or what a key has below it.
#[must_use]
pub fn is_known(path: &str) -> bool {
    keys::find(path).is_some() || keys::is_parent(path) || keys::is_below(path)
}

/// The known key whose name is nearest to `path`; none where all are far.
#[must_use]
pub fn nearest(path: &str) -> Option<&'static str> {
    keys::nearest(path)
}

/// The merged layers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    values: Map<String, Value>,
}

impl Settings {
    /// Puts a layer on top: objects merge deeply, everything else replaces.
    pub fn merge(&mut self, values: Map<String, Value>) {
        merge(&mut self.values, values);
    }

    /// Sets one key by its path, `retry.enabled`.
    pub fn set(&mut self, path: &str, value: Value) {
        let mut words = path.rsplit('.');
        let mut out = Map::new();
        out.insert(words.next().unwrap_or_default().into(), value);
        for word in words {
            let mut outer = Map::new();
            outer.insert(word.into(), Value::Object(out));
            out = outer;
        }
        self.merge(out);
    }

    /// What was set, as an object.
    #[must_use]
    pub fn into_values(self) -> Map<String, Value> {
        self.values
    }

    /// The value of a key: what was set, else the table's default. Null where there is neither.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        let mut words = path.split('.');
        let first = words.next().and_then(|word| self.values.get(word));
        let found = words.fold(first, |value, word| value?.get(word));
        match found.filter(|value| !value.is_null()) {
            Some(value) => value.clone(),
            None => keys::find(path).map(Key::default_value).unwrap_or_default(),
        }
    }

    /// Whether somebody has set `path`: what [`Settings::get`] gives is not its default.
    #[must_use]
    pub fn is_set(&self, path: &str) -> bool {
        let mut words = path.split('.');
        let first = words.next().and_then(|word| self.values.get(word));
        words.fold(first, |value, word| value?.get(word)).is_some_and(|value| !value.is_null())
    }

    /// A text.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        self.get(path).as_str().map(str::to_string)
    }

    /// A switch; false where nothing is set.
    #[must_use]
    pub fn flag(&self, path: &str) -> bool {
        self.get(path).as_bool().unwrap_or_default()
    }

    /// A whole number; 0 where nothing is set.
    #[must_use]
    pub fn number(&self, path: &str) -> u64 {
        self.get(path).as_u64().unwrap_or_default()
    }

    /// A list of texts.
    #[must_use]
    pub fn texts(&self, path: &str) -> Vec<String> {
        let list = self.get(path);
        list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_string)).collect()
    }

    /// Texts by name.
    #[must_use]
    pub fn names(&self, path: &str) -> Vec<(String, String)> {
        let object = self.get(path);
        let pairs = object.as_object().into_iter().flatten();
        pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_string()))).collect()
    }

    /// What the agent takes of it.
    #[must_use]
    pub fn agent(&self) -> AgentSettings {
        let small = |path: &str| u32::try_from(self.number(path)).unwrap_or(u32::MAX);
        let mode = |path: &str| if self.text(path).as_deref() == Some("all") { Mode::All } else { Mode::OneAtATime };
        let is = |path: &str, word: &str| self.text(path).as_deref() == Some(word);
        let budgets = self.get("thinkingBudgets");
        let budgets = budgets.as_object().into_iter().flatten();
        AgentSettings {
            run: RunSettings {
                max_turns: small("maxTurns"),
                execution: match is("toolExecution", "sequential") {
                    true => ToolExecution::Sequential,
                    false => ToolExecution::Parallel,
                },
                interrupt: if is("interruptMode", "wait") { Interrupt::Wait } else { Interrupt::Immediate },
            },
            retry: RetrySettings {
                enabled: self.flag("retry.enabled"),
                max_retries: small("retry.maxRetries"),
                base_delay_ms: self.number("retry.baseDelayMs"),
                max_delay_ms: self.number("retry.maxDelayMs"),
            },
            compaction: CompactionSettings {
                enabled: self.flag("compaction.enabled"),
                limits: Limits {
                    reserve: self.number("compaction.reserveTokens"),
                    keep_recent: self.number("compaction.keepRecentTokens"),
                },
                auto_continue: self.flag("compaction.autoContinue"),
                model: self.text("compaction.model"),
                remote_endpoint: self.text("compaction.remoteEndpoint"),
            },
            http: HttpConfig::default(),
            branch_summary: BranchSummarySettings {
                enabled: self.flag("branchSummary.enabled"),
                reserve: self.number("branchSummary.reserveTokens"),
            },
            titles: false,
            promotion: self.flag("contextPromotion.enabled"),
            todo_reminders: self.flag("todo.reminders"),
            steering_mode: mode("steeringMode"),
            follow_up_mode: mode("followUpMode"),
            cache: match self.text("cacheRetention").as_deref() {
                Some("none") => CacheRetention::None,
                Some("long") => CacheRetention::Long,
                _ => CacheRetention::Short,
            },
            thinking_budgets: budgets
                .filter_map(|(level, tokens)| Some((ThinkingLevel::parse(level)?, tokens.as_u64()?)))
                .collect(),
            max_tokens: None,
            budget: None,
            fallback: None,
        }
    }

    /// What the tools take of it. The host adds what is no setting: keys of providers, active tools, `CI`.
    #[must_use]
    pub fn tools(&self) -> tools::Settings {
        let default = tools::Settings::default();
        let shell = self.text("shellPath");
        tools::Settings {
            file_guard: match self.text("fileGuard").as_deref() {
                Some("off") => tools::FileGuard::Off,
                Some("warn") => tools::FileGuard::Warn,
                _ => tools::FileGuard::On,
            },
            images: tools::ImageSettings {
                auto_resize: self.flag("images.autoResize"),
                block_images: self.flag("images.blockImages"),
            },
            edit: tools::EditSettings {
                mode: match self.text("edit.mode").as_deref() {
                    Some("hashline") => tools::EditMode::Hashline,
                    _ => tools::EditMode::Replace,
                },
                fuzzy: self.flag("edit.fuzzy"),
                stream_guard: self.flag("edit.streamGuard"),
            },
            bash_guard: tools::GuardSettings {
                enabled: self.flag("bashGuard.enabled"),
                deny: self.texts("bashGuard.deny"),
                allow: self.texts("bashGuard.allow"),
            },
            bash_interceptor: tools::InterceptorSettings {
                enabled: self.flag("bashInterceptor.enabled"),
                patterns: self.rules(),
            },
            bash_timeout_seconds: self.number("bash.timeoutSeconds"),
            // `auto`, `bash` and `brush` are names, everything else is the path of a bash.
            engine: shell.as_deref().and_then(Engine::from_name).unwrap_or_default(),
            bash: shell.filter(|name| Engine::from_name(name).is_none()).map(Into::into),
            jobs: self.flag("async.enabled"),
            auto_background_ms: self.number("bash.autoBackground.thresholdMs"),
            todo_auto_clear_seconds: self.get("todo.autoClearSeconds").as_i64().unwrap_or_default(),
            shell_command_prefix: self.text("shellCommandPrefix"),
            pass_through: self.texts("env.passThrough"),
            env: self.names("env"),
            fetch: self.flag("fetch.enabled"),
            fetch_allow_private: self.texts("fetch.allowPrivate"),
            ask_timeout_seconds: self.number("ask.timeoutSeconds"),
            ..default
        }
    }

    /// `bashInterceptor.rules`: `[{"pattern": "^cat ", "tool": "read"}]`.
    fn rules(&self) -> Vec<(String, String)> {
        let list = self.get("bashInterceptor.rules");
        let rules = list.as_array().into_iter().flatten();
        let text = |rule: &Value, key: &str| rule.get(key)?.as_str().map(str::to_string);
        rules.filter_map(|rule| Some((text(rule, "pattern")?, text(rule, "tool")?))).collect()
    }

    /// When session files are forced to the disk.
    #[must_use]
    pub fn sync(&self) -> Sync {
        match self.text("sessions.fsync").as_deref() {
            Some("always") => Sync::Always,
            Some("never") => Sync::Never,
            _ => Sync::Turn,
        }
    }
}

fn merge(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Object(place)), Value::Object(value)) => merge(place, value),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}
