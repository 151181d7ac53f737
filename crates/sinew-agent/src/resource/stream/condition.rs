//! A regular expression that is held against text which still grows.

use regex_automata::Input;
use regex_automata::meta::{BuildError, Builder, Config, Regex};

/// Bytes that a compiled condition may take: a repetition of a repetition is refused, not built.
const COMPILED: usize = 1 << 20;

/// A condition of a rule. Linear in the text, whatever it says.
pub(super) struct Condition {
    regex: Regex,
    /// It asks what stands around a place (`\b`, `$`): what stands at the end of the text so far may still change.
    looks: bool,
}

impl Condition {
    /// Reads a regular expression; the error is one line.
    pub(super) fn new(text: &str) -> Result<Condition, String> {
        let short = |error: String| error.lines().last().unwrap_or_default().trim().to_string();
        let hir = regex_syntax::parse(text).map_err(|error| short(error.to_string()))?;
        let config = Config::new().nfa_size_limit(Some(COMPILED)).hybrid_cache_capacity(COMPILED);
        let built = Builder::new().configure(config).build_from_hir(&hir);
        let reason = |error: BuildError| match error.size_limit() {
            Some(limit) => format!("it takes more than {limit} bytes"),
            None => short(error.to_string()),
        };
        Ok(Condition { regex: built.map_err(reason)?, looks: !hir.properties().look_set().is_empty() })
    }

    /// Returns true if it is found in `text` from `start` on. `ended`: nothing will follow the text. How the text was divided as
    /// it came makes no difference: before the end, its last character only says what stands behind the one before.
    pub(super) fn is_found(&self, text: &str, start: usize, ended: bool) -> bool {
        let last = text.chars().next_back().map_or(0, char::len_utf8);
        let end = if ended || !self.looks { text.len() } else { text.len() - last };
        start <= end && self.regex.is_match(Input::new(text).span(start..end))
    }
}
