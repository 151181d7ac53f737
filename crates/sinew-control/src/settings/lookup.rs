//! Looks up rows of the table by their paths.

use serde_json::{Map, Value};

use super::row::{Applies, Key, Kind, Scope};
use super::table::KEYS;
use Kind::{Number, Object, Text};
use Scope::Trusted;

/// Keys of earlier versions, and what replaces them.
pub(crate) const REMOVED: &[(&str, &str)] = &[
    ("task.timeoutSeconds", "task.maxTurns, task.maxTokens and task.maxCost limit subagents"),
    ("task.isolation", "the file of an agent has the key isolation, and a call of task has isolated"),
];

/// Keys in objects whose names the user chooses, or in which names have no defaults; `*` stands for any name.
static ENTRIES: &[Key] = &[
    // Variables of commands, in addition to `passThrough`.
    entry("env.*", Text),
    entry("modelRoles.*", Text),
    entry("thinkingBudgets.minimal", Number),
    entry("thinkingBudgets.low", Number),
    entry("thinkingBudgets.medium", Number),
    entry("thinkingBudgets.high", Number),
    entry("thinkingBudgets.xhigh", Number),
];

/// Returns a row for a key of an object whose keys the user chooses.
const fn entry(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, default: "", scope: Trusted, applies: Applies::Start, waits_for: None, help: "" }
}

/// Reserved for a later key, so that no untrusted project can use the name first.
const RESERVED: &str = "trust";

/// Returns the row of a key.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let fits = |key: &&Key| match key.path.strip_suffix('*') {
        Some(parent) => path.strip_prefix(parent).is_some_and(|name| !name.is_empty() && !name.contains('.')),
        None => key.path == path,
    };
    KEYS.iter().find(|key| key.path == path).or_else(|| ENTRIES.iter().find(fits))
}

/// Returns true if `path` is `above` or below it.
fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn below(path: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.path.len() > path.len() && is_within(key.path, path))
}

/// Lists of rules that can only restrict more; those of untrusted projects are in force too.
pub(crate) const STRICTER: [&str; 2] = ["permissions.deny", "permissions.ask"];
/// Lists of rules to which a project adds its own, without replacing those of the user.
pub(crate) const ADDED: [&str; 7] = [
    "permissions.deny",
    "permissions.ask",
    "permissions.allow",
    "bashGuard.deny",
    "sandbox.denyRead",
    "sandbox.denyWrite",
    "sandbox.denyExec",
];

/// Sections that limit what may run. An unknown key below one is an error, because it may be a limit with a typo.
const LIMITS: [&str; 3] = ["bashGuard", "sandbox", "approve"];

/// Returns true if `path` is below a section that limits what may run.
pub(super) fn is_limit(path: &str) -> bool {
    LIMITS.iter().any(|section| path.len() > section.len() && is_within(path, section))
}

/// Returns true if only a trusted project may set `path`: it is a key of that scope or below one, or a section in which
/// all keys have that scope.
pub fn is_guarded(path: &str) -> bool {
    let section = path.split('.').next().unwrap_or_default();
    let mut keys = below(section).peekable();
    let whole = keys.peek().is_some() && keys.all(|key| key.scope == Trusted);
    whole || section == RESERVED || KEYS.iter().any(|key| key.scope == Trusted && is_within(path, key.path))
}

/// Returns true if a guarded key is below `path`.
pub(super) fn holds_guarded(path: &str) -> bool {
    below(path).any(|key| key.scope == Trusted)
}

/// Returns true if the table has rows for members of the object at `path`.
pub(super) fn has_entries(path: &str) -> bool {
    is_parent(path) || ENTRIES.iter().any(|key| key.path.len() > path.len() && is_within(key.path, path))
}

/// Returns true if keys are below `path`.
pub(super) fn is_parent(path: &str) -> bool {
    below(path).next().is_some()
}

/// Returns true if the table contains `path` as a key, as a section, or as a member of an object with any members.
pub fn is_known(path: &str) -> bool {
    let is_around = |key: &Key| key.kind == Object && !has_entries(key.path) && is_within(path, key.path);
    find(path).is_some() || is_parent(path) || KEYS.iter().any(is_around)
}

/// Returns the known key that is most similar to `path`: equal except for case, with the same last word, or a few edits
/// away. Returns `None` if no key is similar.
pub fn nearest(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let away = |key: &Key| {
        let known = key.path.to_lowercase();
        let least = if last(&known) == last(&path) { 1 } else { usize::MAX };
        (least.min(strsim::osa_distance(&path, &known)), key.path)
    };
    // If more than a third of the letters differ, it is a different name.
    KEYS.iter().map(away).min().filter(|(edits, _)| *edits <= path.len().max(3) / 3).map(|(_, known)| known)
}

/// Returns all defaults as an object.
pub(super) fn defaults() -> Map<String, Value> {
    let mut out = Map::new();
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        super::values::insert(&mut out, key.path, key.default_value());
    }
    out
}

/// Returns when a changed value of a key applies.
#[must_use]
pub fn applies(path: &str) -> Applies {
    find(path).map_or(Applies::Start, |key| key.applies)
}
