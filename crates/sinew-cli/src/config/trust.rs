//! Whether the files of this project that start programs are used.

use std::io::{BufRead, Write};

use sinew_agent::trust::{Project, SETTINGS, Standing};
use sinew_llm::models::Registry;

use super::{Environment, Paths, dotenv};
use crate::args::Args;
use crate::output::plain;

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

/// What was decided.
pub(crate) struct Trust {
    pub(crate) trusted: bool,
    /// The user has said no: nobody needs to hear of it again.
    pub(crate) refused: bool,
    /// What `.env` of the project may set, were it trusted.
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
}

/// Decides by the flags, else by what the user said before, else by asking, where `may_ask`. Without an answer the
/// project is not trusted.
pub(crate) fn decide(args: &Args, environment: &Environment, paths: &Paths, may_ask: bool) -> Trust {
    let file = dotenv::read(&paths.cwd.join(".env"));
    let variables = allowed(file.pairs, environment);
    let mut trust =
        Trust { trusted: args.has("trust"), refused: args.has("no-trust"), variables, warnings: Vec::new() };
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
        Standing::Unknown | Standing::Changed if may_ask => {
            let changed = standing == Standing::Changed;
            // What cannot be asked is answered with no.
            let answer = ask(&project, changed, &mut std::io::stdin().lock(), &mut std::io::stderr()).ok().flatten();
            trust.trusted = answer == Some(true);
            trust.refused = answer == Some(false);
            if let Some(answer) = answer
                && let Err(error) = project.remember(&answers, answer)
            {
                trust.warnings.push(error.to_string());
            }
        }
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

/// Asks. None: there was no answer.
fn ask(
    project: &Project,
    changed: bool,
    from: &mut impl BufRead,
    to: &mut impl Write,
) -> std::io::Result<Option<bool>> {
    let why = if changed { "Files of this folder that" } else { "This folder has files that" };
    let what = if changed { "have changed" } else { "" };
    writeln!(to, "{}", plain(format!("{why} start programs or change how Sinew works {what}").trim_end()))?;
    for name in project.files() {
        writeln!(to, "  {}", plain(name))?;
    }
    loop {
        write!(to, "Do you trust them? [y/n] ")?;
        to.flush()?;
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(true)),
            "n" | "no" => return Ok(Some(false)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn answered(input: &str, expect: Option<bool>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".mcp.json"), "{}").unwrap();
        let project = Project::look(folder.path(), &[]);
        let mut said = Vec::new();
        assert_eq!(ask(&project, true, &mut input.as_bytes(), &mut said).unwrap(), expect, "{input:?}");
        assert!(String::from_utf8(said).unwrap().contains("  .mcp.json\n"));
    }

    #[test]
    fn only_a_plain_answer_counts() {
        answered("y\n", Some(true));
        answered(" YES \n", Some(true));
        answered("n\n", Some(false));
        answered("\nperhaps\nno\n", Some(false));
        answered("", None);
        answered("yep", None);
    }
}
