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
            // Each setting that is left out is named by itself.
            let files: Vec<&str> =
                project.files().iter().map(String::as_str).filter(|name| *name != SETTINGS).collect();
            let since = if standing == Standing::Changed { " since its files changed" } else { "" };
            if !files.is_empty() {
                trust.warnings.push(format!(
                    "this folder is not trusted{since}: {} not used; --trust uses them for this run, --no-trust ends this warning",
                    files.join(", ")
                ));
            }
        }
    }
    trust
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
