//! A regular expression that is matched against text that still grows.

use regex_automata::Input;
use regex_automata::meta::{BuildError, Builder, Config, Regex};

/// The maximum number of bytes of a compiled condition; nested repetitions that exceed it are an error.
const COMPILED: usize = 1 << 20;

/// A condition of a rule. Matching is linear in the text for every pattern.
pub(super) struct Condition {
    regex: Regex,
    /// Whether it uses assertions such as `\b` or `$`, whose result at the end of the text can change when more text
    /// arrives.
    looks: bool,
}

impl Condition {
    /// Parses a regular expression; the error is one line.
    pub(super) fn new(text: &str) -> Result<Condition, String> {
        let short = |error: String| error.lines().last().unwrap_or_default().trim().to_string();
        let hir = regex_syntax::parse(text).map_err(|error| short(error.to_string()))?;
        let config = Config::new().nfa_size_limit(Some(COMPILED)).hybrid_cache_capacity(COMPILED);
        let built = Builder::new().configure(config).build_from_hir(&hir);
        let reason = |error: BuildError| match error.size_limit() {
            Some(limit) => format!("it compiles to more than {limit} bytes"),
            None => short(error.to_string()),
        };
        Ok(Condition { regex: built.map_err(reason)?, looks: !hir.properties().look_set().is_empty() })
    }

    /// Returns true if the condition matches in `text` from `start` on. `ended` says that the text is complete. The
    /// result does not depend on how the text was split into pieces: until the end, the last character is used only for
    /// lookahead.
    pub(super) fn is_found(&self, text: &str, start: usize, ended: bool) -> bool {
        let last = text.chars().next_back().map_or(0, char::len_utf8);
        let end = if ended || !self.looks { text.len() } else { text.len() - last };
        start <= end && self.regex.is_match(Input::new(text).span(start..end))
    }
}
