//! Rules that an answer is held against while it comes: when one is broken, the request ends, the model reads the rule
//! and answers anew; or it reads it later, as the settings say.
//!
//! | module | knows |
//! |---|---|
//! | `scope` | which part of an answer a rule is about |
//! | `condition` | regular expressions over text that still grows |
//! | `window` | the newest 64 KB of a part |
//! | `watcher` | one run: what was found in it and what follows |

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

/// Rules that are held against answers.
const RULES: usize = 200;

/// Settings of stream rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSettings {
    /// False switches all of it off. Default true.
    pub enabled: bool,
    /// The stopped answer stays in the context. Default false.
    pub keep: bool,
    /// Completed turns after which a rule may be told again; None: never. Default None.
    pub gap: Option<u64>,
    /// The answers that are stopped. Default always.
    pub interrupt: InterruptMode,
    /// Names of rules that do not count.
    pub disabled: Vec<String>,
}

impl Default for StreamSettings {
    fn default() -> StreamSettings {
        StreamSettings { enabled: true, keep: false, gap: None, interrupt: InterruptMode::Always, disabled: Vec::new() }
    }
}

/// A rule, ready to be held against text.
struct StreamRule {
    name: String,
    path: PathBuf,
    body: String,
    conditions: Vec<Condition>,
    scopes: Vec<Scope>,
    globs: Vec<GlobSet>,
    interrupt: InterruptMode,
}

/// The rules of a session, and which of them the model was told.
pub struct StreamRules {
    rules: Vec<StreamRule>,
    settings: StreamSettings,
    told: Mutex<InjectedRules>,
}

#[derive(Default)]
struct InjectedRules {
    /// Completed turns when a rule was told, by its name.
    at: HashMap<String, u64>,
    /// Completed turns of the session, as far as it was watched.
    turns: u64,
}

impl StreamRules {
    /// The rules of the stream bucket. None: there is none, or they are switched off. Conditions and globs that cannot
    /// be used are named.
    #[must_use]
    pub fn new(rules: &[Rule], settings: StreamSettings) -> (Option<StreamRules>, Vec<String>) {
        let mut warnings = Vec::new();
        let mut made = Vec::new();
        let wanted = rules.iter().filter(|rule| settings.enabled && !settings.disabled.contains(&rule.name));
        for rule in wanted {
            let Bucket::Stream { conditions, scopes, interrupt } = &rule.bucket else { continue };
            if made.len() == RULES {
                warnings.push(format!("only {RULES} rules with a condition count; {} does not", rule.path.display()));
                break;
            }
            let mut fault = |what: &str, reason: String| {
                warnings.push(format!("{}: {what} is not used: {reason}", rule.path.display()));
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
            // A rule for some files must not become one for all because its globs cannot be read.
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

    /// Takes up which rules the model was told on the branch that goes on, and how many completed turns ago.
    pub fn restore(&self, rules: impl IntoIterator<Item = (String, u64)>) {
        let rules: Vec<(String, u64)> = rules.into_iter().collect();
        let mut told = self.told();
        let turns = rules.iter().map(|(_, since)| *since).max().unwrap_or_default();
        told.at = rules.into_iter().map(|(name, since)| (name, turns - since)).collect();
        told.turns = turns;
    }

    /// The rules that the model was told, and how many completed turns ago.
    #[must_use]
    pub fn told_names(&self) -> Vec<(String, u64)> {
        let told = self.told();
        told.at.iter().map(|(name, at)| (name.clone(), told.turns - at)).collect()
    }

    /// Completed turns after which a rule may be told again; `None`: never.
    #[must_use]
    pub fn gap(&self) -> Option<u64> {
        self.settings.gap
    }

    /// Watches one run; `now` gives the milliseconds since the epoch.
    #[must_use]
    pub fn watch<'a>(&'a self, now: &'a (dyn Fn() -> i64 + Send + Sync)) -> Watcher<'a> {
        Watcher::new(self, now)
    }

    fn told(&self) -> MutexGuard<'_, InjectedRules> {
        self.told.lock()
    }

    /// Returns whether the model may be told of a rule now.
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
