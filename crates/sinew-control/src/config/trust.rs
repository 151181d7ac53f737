//! Decides whether to use the project's files that can start programs.

use sinew_llm::models::Registry;

use super::{Environment, Paths, dotenv};
use crate::args::Args;
use crate::trust::{Project, SETTINGS, TrustState};

/// Variables that a trusted project's `.env` may set in addition to keys of providers. They do not include base URLs of
/// cloud providers, or names of programs.
const VARIABLES: [&str; 9] = [
    "OLLAMA_BASE_URL",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// The decision.
pub(crate) struct Trust {
    pub(crate) trusted: bool,
    /// True if the user said so, and not only because nothing in the project requires trust.
    pub(crate) is_confirmed: bool,
    /// True if the user refused; no warning is shown then.
    pub(crate) refused: bool,
    /// The variables that the project's `.env` sets once the project is trusted.
    pub(crate) variables: Vec<(String, String)>,
    /// True if the user has not decided about the current files.
    pub(crate) is_open: bool,
    /// The files that are ignored until the user trusts the project.
    pub(crate) unused: Vec<String>,
    /// True if the files changed since the user trusted the project.
    pub(crate) is_changed: bool,
    pub(crate) warnings: Vec<String>,
}

/// Decides by the flags, or otherwise by the answer in `trust.json`. Does not ask; without an answer the project is not
/// trusted.
pub(crate) fn decide(args: &Args, environment: &Environment, paths: &Paths) -> Trust {
    let file = dotenv::read(&paths.cwd.join(".env"));
    let variables = allowed(file.pairs, environment);
    let mut trust = Trust {
        trusted: args.run.trust == Some(true),
        is_confirmed: args.run.trust == Some(true),
        refused: args.run.trust == Some(false),
        variables,
        is_open: false,
        unused: Vec::new(),
        is_changed: false,
        warnings: Vec::new(),
    };
    if trust.trusted || trust.refused {
        return trust;
    }
    let project = Project::look(&paths.cwd, &trust.variables);
    let answers = paths.agent.join("trust.json");
    let standing = project.standing(&answers).unwrap_or_else(|error| {
        trust.warnings.push(error.to_string());
        TrustState::Unknown
    });
    match standing {
        TrustState::Harmless => trust.trusted = true,
        TrustState::Trusted => (trust.trusted, trust.is_confirmed) = (true, true),
        TrustState::Refused => trust.refused = true,
        TrustState::Unknown | TrustState::Changed => {
            trust.is_open = true;
            trust.is_changed = standing == TrustState::Changed;
            // The skipped settings are known after their file was read.
            trust.unused.extend(project.files().iter().filter(|name| *name != SETTINGS).cloned());
        }
    }
    trust
}

impl Trust {
    /// Returns a line that lists the unused files and `settings` of the project; `None` if everything is used or the
    /// user has decided.
    pub(crate) fn warning(&self, settings: &[String]) -> Option<String> {
        let mut unused = self.unused.clone();
        if !settings.is_empty() {
            unused.push(format!("{SETTINGS} ({})", settings.join(", ")));
        }
        if unused.is_empty() || self.refused {
            return None;
        }
        let since = if self.is_changed { " since its files changed" } else { "" };
        Some(format!(
            "this project is not trusted{since}; ignored: {}. Decide with /trust, use them for this run with --trust, or hide this warning with --no-trust",
            unused.join(", ")
        ))
    }
}

/// Returns the variables that a trusted project may set and that are not set yet.
fn allowed(mut pairs: Vec<(String, String)>, environment: &Environment) -> Vec<(String, String)> {
    if pairs.is_empty() {
        return pairs;
    }
    let registry = Registry::builtin(&|_| None);
    let key = |name: &str| registry.providers().iter().any(|entry| entry.env.iter().any(|known| known == name));
    pairs.retain(|(name, _)| (VARIABLES.contains(&name.as_str()) || key(name)) && environment.get(name).is_none());
    pairs
}
