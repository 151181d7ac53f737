//! Resolves a user's text to a model.

use std::cmp::Reverse;

use super::{Registry, table};
use crate::model::{Model, ThinkingLevel};

/// A selected model.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The model.
    pub model: Model,
    /// The level after the colon; `None` without one.
    pub level: Option<ThinkingLevel>,
    /// A warning for the user, for example that the model is not in the table; `None` without one.
    pub warning: Option<String>,
}

/// `Model not found: gpt-6. Similar: openai/gpt-5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The requested pattern.
    pub pattern: String,
    /// The most similar ids, best first.
    pub similar: Vec<String>,
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model not found: {}.", self.pattern)?;
        if !self.similar.is_empty() {
            write!(f, " Similar: {}", self.similar.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for NotFound {}

impl Registry {
    /// Returns the model for `pattern`: `provider/id`, an id, a part of one, or its letters in order, each with an
    /// optional `:<level>`. An exact match has precedence. Of several, models of providers for which `has_key` returns
    /// true come first, then ids without a date, then the newest.
    ///
    /// # Errors
    /// Returns [`NotFound`] with the most similar ids if there is no match.
    pub fn select(&self, pattern: &str, has_key: &dyn Fn(&str) -> bool) -> Result<Selection, NotFound> {
        let pattern = pattern.trim();
        let (base, level) = split_level(pattern);
        let found = |model: Model, level| Selection { model, level, warning: None };
        if let Some(model) = self.exact(pattern, has_key) {
            return Ok(found(model, None));
        }
        if let Some(model) =
            self.exact(base, has_key).or_else(|| self.partial(base, has_key, &|wanted, text| text.contains(wanted)))
        {
            return Ok(found(model, level));
        }
        if let Some((mut model, relative)) = self.unknown(base) {
            let facts = match relative {
                Some(relative) => format!("its size, prices and rules are taken from {relative}"),
                None => format!(
                    "using the defaults of provider \"{}\": {} tokens, and images and thinking levels as you request them",
                    model.provider, model.context_window
                ),
            };
            let warning = Some(format!(
                "model \"{base}\" is not in the built-in table; {facts}. You can describe it in models.json"
            ));
            // The user specified a level for an unknown model, so its server decides.
            model.reasoning |= model.unknown && level.is_some_and(|level| level != ThinkingLevel::Off);
            return Ok(Selection { model, level, warning });
        }
        if let Some(model) = self.partial(base, has_key, &in_order) {
            return Ok(found(model, level));
        }
        Err(NotFound { pattern: pattern.to_string(), similar: self.similar(base) })
    }

    /// Returns the models that match a glob over `provider/id` or the id, in table order; without `*` and `?` as in
    /// [`Registry::select`]. Empty if none matches.
    #[must_use]
    pub fn select_all(&self, pattern: &str, has_key: &dyn Fn(&str) -> bool) -> Vec<Selection> {
        if !pattern.contains(['*', '?']) {
            return self.select(pattern, has_key).into_iter().collect();
        }
        let (base, level) = split_level(pattern);
        let base = base.to_ascii_lowercase();
        let matches = |model: &&Model| {
            glob(base.as_bytes(), model.key().to_ascii_lowercase().as_bytes())
                || glob(base.as_bytes(), model.id.to_ascii_lowercase().as_bytes())
        };
        let select = |model: &Model| Selection { model: model.clone(), level, warning: None };
        self.models().iter().filter(matches).map(select).collect()
    }

    fn exact(&self, pattern: &str, has_key: &dyn Fn(&str) -> bool) -> Option<Model> {
        if let Some((provider, id)) = pattern.split_once('/')
            && let Some(provider) = self.provider(provider)
            && let Some(model) = self.find(&provider.id, id)
        {
            return Some(model);
        }
        if !table::has(pattern) && !self.own_ids().any(|(_, id, _)| id == pattern) {
            return None;
        }
        let mut same = self.providers().iter().filter_map(|entry| self.find(&entry.id, pattern));
        let first = same.next()?;
        if has_key(&first.provider) {
            return Some(first);
        }
        Some(same.find(|model| has_key(&model.provider)).unwrap_or(first))
    }

    /// Returns the best of the models for whose key or name `matches` returns true.
    fn partial(
        &self,
        pattern: &str,
        has_key: &dyn Fn(&str) -> bool,
        matches: &dyn Fn(&str, &str) -> bool,
    ) -> Option<Model> {
        let wanted = pattern.to_ascii_lowercase();
        if wanted.is_empty() {
            return None;
        }
        let rank = |(provider, id, _): &(&str, &str, &str)| {
            (Reverse(has_key(provider)), dated(id).is_some(), Reverse(newness(id)), id.len())
        };
        let means = |(provider, id, name): &(&str, &str, &str)| {
            matches(&wanted, &format!("{provider}/{id}").to_ascii_lowercase())
                || matches(&wanted, &name.to_ascii_lowercase())
        };
        // Only the selected one is created as a model.
        let (provider, id, _) = self.listed_ids().chain(self.own_ids()).filter(means).min_by_key(rank)?;
        self.find(provider, id)
    }

    /// Returns a model that is in no table, for a provider that is given or implied by the id. Also returns the model
    /// whose properties it has.
    fn unknown(&self, pattern: &str) -> Option<(Model, Option<String>)> {
        if let Some((provider, id)) = pattern.split_once('/')
            && let Some(provider) = self.provider(provider)
            && !id.is_empty()
        {
            return Some(provider.unlisted(id));
        }
        let digit_after_o =
            pattern.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let provider = if pattern.starts_with("claude") {
            "anthropic"
        } else if pattern.starts_with("gpt") || digit_after_o {
            "openai"
        } else if pattern.starts_with("gemini") {
            "google"
        } else if pattern.contains(':') {
            // Ollama writes models as a name with a tag.
            "ollama"
        } else {
            return None;
        };
        Some(self.provider(provider)?.unlisted(pattern))
    }

    /// Returns the keys of the models whose ids share at least a third of their letter pairs with `pattern`, the most
    /// similar first.
    fn similar(&self, pattern: &str) -> Vec<String> {
        let wanted = pattern.to_ascii_lowercase();
        let likeness = |model: &Model| strsim::sorensen_dice(&wanted, &model.id.to_ascii_lowercase());
        let scored = self.models().iter().map(|model| (likeness(model), model));
        let mut scored: Vec<(f64, &Model)> = scored.filter(|(score, _)| *score >= 1.0 / 3.0).collect();
        scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        scored.into_iter().take(3).map(|(_, model)| model.key()).collect()
    }
}

/// Splits off a level: `sonnet:high` has one, `qwen3:8b` is an id.
fn split_level(pattern: &str) -> (&str, Option<ThinkingLevel>) {
    match pattern.rsplit_once(':').map(|(base, word)| (base, ThinkingLevel::parse(word))) {
        Some((base, Some(level))) => (base, Some(level)),
        _ => (pattern, None),
    }
}

/// Returns the date at the end of an id: `20250929` of `claude-sonnet-4-5-20250929` or `2025-04-14`; `None` without
/// one.
fn dated(id: &str) -> Option<String> {
    let digits: String = id.rsplit('-').take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("");
    let last = id.rsplit('-').next().unwrap_or_default();
    let is_date = |text: &str| text.len() == 8 && text.starts_with("20") && text.bytes().all(|b| b.is_ascii_digit());
    if is_date(last) {
        Some(last.to_string())
    } else if is_date(&digits) {
        Some(digits)
    } else {
        None
    }
}

/// Returns the numbers of an id, its date first, for comparing the age of models.
fn newness(id: &str) -> (String, Vec<u64>) {
    let numbers = id.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    (dated(id).unwrap_or_default(), numbers)
}

fn in_order(wanted: &str, text: &str) -> bool {
    let mut rest = text.chars();
    wanted.chars().all(|c| rest.any(|other| other == c))
}

/// Matches a glob: `*` is any text, `?` any byte. Takes time proportional to the product of the lengths at worst, which
/// is fine for ids.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    p = at + 1;
                    t = from + 1;
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}
