//! Rules that an answer is checked against while it streams. If one is violated, the request ends and the model answers
//! again after reading the rule, or the model reads it later, as the settings say.
//!
//! | module | contents |
//! |---|---|
//! | `scope` | the parts of an answer that a rule applies to |
//! | `condition` | regular expressions over text that still grows |
//! | `window` | the newest 64 KB of a block |
//! | `watcher` | one run: matches and their consequences |

mod condition;
mod scope;
#[cfg(test)]
mod tests;
mod watcher;
mod window;

use std::collections::HashMap;
use std::path::PathBuf;

use parking_lot::{Mutex, MutexGuard};
use sinew::walk::{GlobSet, GlobSyntax};

use super::rule::{Bucket, Rule};
use condition::Condition;
pub use scope::{InterruptMode, Scope};
pub use watcher::Watcher;

/// The maximum number of rules that answers are checked against.
const RULES: usize = 200;

/// The settings of stream rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSettings {
    /// Whether answers are checked. Default: true.
    pub enabled: bool,
    /// Whether a stopped answer stays in the context. Default: false.
    pub keep: bool,
    /// The number of completed turns after which a rule may be injected again; `None`, the default, means never.
    pub gap: Option<u64>,
    /// The answers that are stopped. Default: all.
    pub interrupt: InterruptMode,
    /// The names of disabled rules.
    pub disabled: Vec<String>,
}

impl Default for StreamSettings {
    fn default() -> StreamSettings {
        StreamSettings { enabled: true, keep: false, gap: None, interrupt: InterruptMode::Always, disabled: Vec::new() }
    }
}

/// A rule with compiled conditions.
struct StreamRule {
    name: String,
    path: PathBuf,
    body: String,
    conditions: Vec<Condition>,
    scopes: Vec<Scope>,
    globs: Vec<GlobSet>,
    interrupt: InterruptMode,
}

/// The rules of a session, and which of them were injected.
pub struct StreamRules {
    rules: Vec<StreamRule>,
    settings: StreamSettings,
    told: Mutex<InjectedRules>,
}

#[derive(Default)]
struct InjectedRules {
    /// The number of completed turns when a rule was injected, by its name.
    at: HashMap<String, u64>,
    /// The number of completed turns of the session since it is watched.
    turns: u64,
}

impl StreamRules {
    /// Compiles the rules of the stream bucket. Returns `None` if there are none or they are disabled, and warnings
    /// about invalid conditions and globs.
    #[must_use]
    pub fn new(rules: &[Rule], settings: StreamSettings) -> (Option<StreamRules>, Vec<String>) {
        let mut warnings = Vec::new();
        let mut made = Vec::new();
        let wanted = rules.iter().filter(|rule| settings.enabled && !settings.disabled.contains(&rule.name));
        for rule in wanted {
            let Bucket::Stream { conditions, scopes, interrupt } = &rule.bucket else { continue };
            if made.len() == RULES {
                warnings.push(format!(
                    "only {RULES} rules with a condition are checked; {} is ignored",
                    rule.path.display()
                ));
                break;
            }
            let mut fault = |what: &str, reason: String| {
                warnings.push(format!("{}: {what} is ignored: {reason}", rule.path.display()));
            };
            let conditions: Vec<Condition> = conditions
                .iter()
                .filter_map(|text| {
                    Condition::new(text).map_err(|reason| fault(&format!("condition {text:?}"), reason)).ok()
                })
                .collect();
            let globs: Vec<GlobSet> = rule
                .globs
                .iter()
                .filter_map(|text| {
                    let built = GlobSet::new(text, GlobSyntax::default());
                    built.map_err(|error| fault(&format!("glob {text:?}"), error.message().to_string())).ok()
                })
                .collect();
            // A rule for some files must not apply to all files because its globs are invalid.
            if conditions.is_empty() || (globs.is_empty() && !rule.globs.is_empty()) {
                continue;
            }
            made.push(StreamRule {
                name: rule.name.clone(),
                path: rule.path.clone(),
                body: rule.body.clone(),
                conditions,
                scopes: if scopes.is_empty() { vec![Scope::Text, Scope::every_tool()] } else { scopes.clone() },
                globs,
                interrupt: interrupt.unwrap_or(settings.interrupt),
            });
        }
        let rules = (!made.is_empty()).then(|| StreamRules { rules: made, settings, told: Mutex::default() });
        (rules, warnings)
    }

    /// Restores which rules were injected on the current branch, and how many completed turns ago.
    pub fn restore(&self, rules: impl IntoIterator<Item = (String, u64)>) {
        let rules: Vec<(String, u64)> = rules.into_iter().collect();
        let mut told = self.told();
        let turns = rules.iter().map(|(_, since)| *since).max().unwrap_or_default();
        told.at = rules.into_iter().map(|(name, since)| (name, turns - since)).collect();
        told.turns = turns;
    }

    /// Returns the rules that were injected, and how many completed turns ago.
    #[must_use]
    pub fn told_names(&self) -> Vec<(String, u64)> {
        let told = self.told();
        told.at.iter().map(|(name, at)| (name.clone(), told.turns - at)).collect()
    }

    /// Returns the number of completed turns after which a rule may be injected again; `None` means never.
    #[must_use]
    pub fn gap(&self) -> Option<u64> {
        self.settings.gap
    }

    /// Returns a watcher for one run. `now` returns the milliseconds since the epoch.
    #[must_use]
    pub fn watch<'a>(&'a self, now: &'a (dyn Fn() -> i64 + Send + Sync)) -> Watcher<'a> {
        Watcher::new(self, now)
    }

    fn told(&self) -> MutexGuard<'_, InjectedRules> {
        self.told.lock()
    }

    /// Returns whether a rule may be injected now.
    fn may_tell(&self, rule: &StreamRule) -> bool {
        let told = self.told();
        match (told.at.get(&rule.name), self.settings.gap) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(at), Some(gap)) => told.turns.saturating_sub(*at) >= gap,
        }
    }

    fn tell(&self, index: usize) {
        let mut told = self.told();
        let turns = told.turns;
        told.at.insert(self.rules[index].name.clone(), turns);
    }
}
