//! The built-in models: one line of text each, parsed on demand.
//!
//! `cargo xtask gen models` writes the text, which documents its columns and letters. Nothing is parsed before a model
//! is looked up: a program that specifies its model parses one line.

use std::cmp::Reverse;

use crate::model::{Cost, HighestEffort, Input, Model, ThinkingLevel, ThinkingMode};

const TABLE: &str = include_str!("table.txt");

/// The properties of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    pub(super) id: &'static str,
    window: u64,
    answer: u64,
    cost: Cost,
    letters: &'static str,
    levels: &'static str,
}

/// Returns the rows of a provider, its default first.
pub(super) fn rows(provider: &str) -> impl Iterator<Item = Row> + Clone {
    section(provider).lines().filter_map(parse)
}

/// Returns the ids of a provider's rows, which is cheaper than the rows.
pub(super) fn ids(provider: &str) -> impl Iterator<Item = &'static str> {
    section(provider).lines().filter_map(|line| Some(line.split_once(' ')?.0))
}

/// Returns a provider's row with exactly this id; `None` if there is none.
pub(super) fn row(provider: &str, id: &str) -> Option<Row> {
    let section = section(provider);
    let at = find(section, &format!("\n{id} "))?;
    parse(section[at + 1..].lines().next()?)
}

/// Returns true if any provider has a row with exactly this id.
pub(super) fn has(id: &str) -> bool {
    find(TABLE, &format!("\n{id} ")).is_some()
}

fn find(text: &str, wanted: &str) -> Option<usize> {
    memchr::memmem::find(text.as_bytes(), wanted.as_bytes())
}

/// Returns the rows of a provider as text, each after its line feed.
fn section(provider: &str) -> &'static str {
    let head = format!("\n@{provider}\n");
    let Some(at) = find(TABLE, &head) else { return "" };
    let rest = &TABLE[at + head.len() - 1..];
    &rest[..find(rest, "\n@").or_else(|| find(rest, "\n#")).unwrap_or(rest.len())]
}

/// Returns the providers that have rows.
fn sections() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(|line| line.strip_prefix('@'))
}

fn parse(line: &'static str) -> Option<Row> {
    let mut fields = line.split(' ');
    let id = fields.next()?;
    let mut number = || fields.next()?.parse::<f64>().ok();
    let (window, answer) = (number()? as u64, number()? as u64);
    let cost = Cost { input: number()?, output: number()?, cache_read: number()?, cache_write: number()? };
    let or_none = |text: &'static str| if text == "-" { "" } else { text };
    Some(Row { id, window, answer, cost, letters: or_none(fields.next()?), levels: or_none(fields.next()?) })
}

impl Row {
    /// Copies the properties to `model`.
    pub(super) fn apply(&self, model: &mut Model) {
        let has = |letter| self.letters.contains(letter);
        model.reasoning = has('r');
        model.input = if has('i') { vec![Input::Text, Input::Image] } else { vec![Input::Text] };
        model.context_window = self.window;
        model.max_tokens = self.answer;
        model.cost = self.cost;
        model.thinking_levels = self.levels.chars().filter_map(level).collect();
        self.apply_rules(model);
    }

    /// Copies only the restrictions on requests to `model`, not its size and price.
    pub(super) fn apply_rules(&self, model: &mut Model) {
        let has = |letter| self.letters.contains(letter);
        let (yes, no) = (|holds: bool| holds.then_some(true), |holds: bool| holds.then_some(false));
        if has('a') {
            model.thinking_mode = ThinkingMode::Adaptive;
        }
        let compat = &mut model.compat;
        compat.highest_effort = has('X').then_some(HighestEffort::Max);
        compat.always_thinks = yes(has('A'));
        compat.supports_temperature = no(has('s'));
        compat.supports_forced_tool_choice = no(has('f'));
        compat.supports_assistant_prefill = no(has('P'));
        compat.supports_tool_search = yes(has('t'));
        compat.supports_mid_conversation_system = yes(has('y'));
    }

    /// Returns the protocol if it differs from the provider's.
    pub(super) fn api(&self) -> Option<&'static str> {
        match (self.letters.contains('M'), self.letters.contains('R')) {
            (true, _) => Some("anthropic-messages"),
            (_, true) => Some("openai-responses"),
            _ => None,
        }
    }
}

fn level(letter: char) -> Option<ThinkingLevel> {
    let place = "onlmhx".find(letter)?;
    ThinkingLevel::ALL.get(place).copied()
}

/// Returns the known model that is most similar to `id`: the same model with another name, otherwise the newest of its
/// family. Models of its provider come first, then those of their makers. `None` if there is none.
pub(super) fn relative(provider: &str, id: &str) -> Option<(&'static str, Row)> {
    let wanted = Name::of(id);
    let family = wanted.words.first()?.clone();
    let own = sections().filter(|section| *section == provider);
    let others = sections().filter(|section| *section != provider);
    own.chain(others).find_map(|section| {
        let members = rows(section).map(|row| (Name::of(row.id), row));
        let members = members.filter(|(name, _)| name.words.first() == Some(&family));
        // Of equal ones the first: `max_by_key` would return the last.
        let nearest = members.enumerate().max_by_key(|(at, (name, _))| (name.likeness(&wanted), Reverse(*at)));
        nearest.map(|(_, (_, row))| (section, row))
    })
}

/// Returns true if two ids belong to one family: `claude-opus-4-6` and `claude-opus-5`.
pub(super) fn is_family(one: &str, other: &str) -> bool {
    Name::of(one).words == Name::of(other).words
}

/// A parsed id: `anthropic/claude-opus-4.6-20260205` is `claude`, `opus` and 4, 6.
struct Name {
    words: Vec<String>,
    version: Vec<u64>,
}

impl Name {
    fn of(id: &str) -> Name {
        // Words that describe how a model is served, not which one it is.
        const NOISE: [&str; 9] = ["latest", "preview", "exp", "beta", "instruct", "free", "v", "b", "it"];
        let name = id.rsplit('/').next().unwrap_or(id).split([':', '@']).next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let mut words: Vec<String> = Vec::new();
        let mut version = Vec::new();
        let mut sized = false;
        for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
            let cut = |c: char| c.is_ascii_digit();
            let word: String = part.chars().take_while(|c| !cut(*c)).collect();
            let number: String = part.chars().skip_while(|c| !cut(*c)).take_while(|c| cut(*c)).collect();
            if !word.is_empty() && !NOISE.contains(&word.as_str()) {
                words.push(word);
            }
            // Numbers after a date or a size are not a version.
            sized |= number.len() > 2 || part.ends_with('b') && !number.is_empty();
            if let Ok(number) = number.parse()
                && !sized
            {
                version.push(number);
            }
        }
        Name { words, version }
    }

    /// Returns the similarity to the wanted name: more common words, the same version, fewer other words, newer.
    fn likeness(&self, wanted: &Name) -> (usize, bool, Reverse<usize>, Vec<u64>) {
        let common = self.words.iter().filter(|word| wanted.words.contains(word)).count();
        let same = !wanted.version.is_empty() && self.version == wanted.version;
        (common, same, Reverse(self.words.len() - common), self.version.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::catalogue::PROVIDERS;

    #[test]
    fn parses_every_line() {
        assert!(TABLE.len() <= 80 * 1024);
        let lines = TABLE.lines().filter(|line| !line.starts_with(['#', '@'])).count();
        let counted: usize = sections().map(|section| rows(section).count()).sum();
        assert_eq!(counted, lines);
        for section in sections() {
            assert!(PROVIDERS.iter().any(|row| row.id == section), "{section}");
            for found in rows(section) {
                assert_eq!(row(section, found.id), Some(found), "{section}/{}", found.id);
                assert!(found.window > 0 && found.answer > 0, "{section}/{}", found.id);
            }
        }
        assert_eq!(row("anthropic", "claude-sonnet-5-"), None);
        assert_eq!(rows("nobody").count(), 0);
    }

    #[track_caller]
    fn check(provider: &str, id: &str, expect: &str) {
        let found = relative(provider, id).map(|(section, row)| format!("{section}/{}", row.id));
        assert_eq!(found.as_deref().unwrap_or_default(), expect, "{provider}/{id}");
    }

    #[test]
    fn an_unlisted_id_resembles_the_newest_of_its_family() {
        check("anthropic", "claude-opus-9", "anthropic/claude-opus-5-5");
        check("anthropic", "claude-99", "anthropic/claude-sonnet-5-5");
        check("anthropic", "claude-opus-4-6-20990101", "anthropic/claude-opus-4-6");
        check("gate", "us.anthropic/claude-haiku-4.5:free", "anthropic/claude-haiku-4-5");
        check("openai", "gpt-5.5-2099-01-01", "openai/gpt-5.5");
        check("openai", "gpt-7-codex", "openai/gpt-5.3-codex");
        check("openai", "o9-mini", "openai/o3");
        check("google", "gemini-9-flash", "google/gemini-3.8-flash");
        check("huggingface", "zai-org/GLM-5.2", "zai/glm-5.2");
        check("gate", "unheard", "");
        check("gate", "7", "");
    }
}
