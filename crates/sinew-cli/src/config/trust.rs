//! Decides if the files of this project that start programs are used.

use sinew_llm::models::Registry;

use super::{Environment, Paths, dotenv};
use crate::args::Args;
use crate::trust::{Project, SETTINGS, Standing};

/// Variables that a trusted project's `.env` may set beside keys of providers. A base URL of a cloud provider is not
/// among them, nor anything that names a program.
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
    /// The user has said no: nobody needs to hear of it again.
    pub(crate) refused: bool,
    /// Variables that `.env` of the project may set once it is trusted.
    pub(crate) variables: Vec<(String, String)>,
    /// The user has not decided about the files as they are.
    pub(crate) is_open: bool,
    /// Files that are not used until the user trusts the project.
    pub(crate) unused: Vec<String>,
    /// The files changed since the user trusted the project.
    pub(crate) is_changed: bool,
    pub(crate) warnings: Vec<String>,
}

/// Decides by the flags, else by the answer that `trust.json` keeps. Nobody is asked: without an answer the project is
/// not trusted.
pub(crate) fn decide(args: &Args, environment: &Environment, paths: &Paths) -> Trust {
    let file = dotenv::read(&paths.cwd.join(".env"));
    let variables = allowed(file.pairs, environment);
    let mut trust = Trust {
        trusted: args.run.trust == Some(true),
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
        Standing::Unknown
    });
    match standing {
        Standing::Harmless | Standing::Trusted => trust.trusted = true,
        Standing::Refused => trust.refused = true,
        Standing::Unknown | Standing::Changed => {
            trust.is_open = true;
            trust.is_changed = standing == Standing::Changed;
            // The settings that are left out are known once the file is read.
            trust.unused.extend(project.files().iter().filter(|name| *name != SETTINGS).cloned());
        }
    }
    trust
}

impl Trust {
    /// Returns the one line that names what is not used, with the settings of the project; absent if all of it is used or the user
    /// has decided.
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
            "this project is not trusted{since}: {} not used; /trust decides, --trust uses them for this run, --no-trust ends this warning",
            unused.join(", ")
        ))
    }
}

/// The variables that a trusted project may set, where they are not set.
fn allowed(mut pairs: Vec<(String, String)>, environment: &Environment) -> Vec<(String, String)> {
    if pairs.is_empty() {
        return pairs;
    }
    let registry = Registry::builtin(&|_| None);
    let key = |name: &str| registry.providers().iter().any(|entry| entry.env.iter().any(|known| known == name));
    pairs.retain(|(name, _)| (VARIABLES.contains(&name.as_str()) || key(name)) && environment.get(name).is_none());
    pairs
}
