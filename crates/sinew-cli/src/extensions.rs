//! Extensions that see each call before it runs: programs of `hooks.json`, and the user's permissions behind them.

use std::path::Path;
use std::sync::Arc;

use sinew_agent::extension::Extension;
use sinew_agent::hooks::{self, Origin};
use sinew_agent::permissions::{Permissions, Rules};
use sinew_session::files::read_text;
use sinew_tools::Ask;
use sinew_tools::child::{Filter, Variables};

use crate::config::is_missing;
use crate::failure::Failure;
use crate::startup::Startup;

/// Loads the hooks of flags, of the project where it is trusted, and of the user, in this order; then the permissions.
/// `keys` are the variables that hold keys of providers; `ask` shows what a permission asks.
///
/// # Errors
/// A file that a flag names cannot be used.
pub(crate) fn load_all(
    startup: &Startup,
    keys: &[String],
    ask: Option<Arc<dyn Ask>>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<dyn Extension>>, Failure> {
    let Startup { args, environment, paths, settings, trusted, .. } = startup;
    let pass = environment.passed(settings);
    let environment = Arc::new(Filter { pass: &pass, keys }.apply(environment.variables()));
    let mut found: Vec<Arc<dyn Extension>> = Vec::new();
    for name in &args.resources.hooks {
        let path = paths.cwd.join(name);
        let wrong = |reason: String| Failure::config(format!("--hook {name}: {reason}"));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        found.extend(load(&text, &path, Origin::User, &environment, warnings).map_err(wrong)?);
    }
    let project = trusted.then(|| (paths.project.join("hooks.json"), Origin::Project));
    for (path, origin) in project.into_iter().chain([(paths.agent.join("hooks.json"), Origin::User)]) {
        match read_text(&path) {
            Ok(text) => match load(&text, &path, origin, &environment, warnings) {
                Ok(hooks) => found.extend(hooks),
                Err(reason) => warnings.push(format!("{reason}; none of its hooks runs")),
            },
            Err(error) if is_missing(&error) => {}
            Err(error) => warnings.push(format!("{}: {error}; none of its hooks runs", path.display())),
        }
    }
    let (mut rules, told) = Rules::read(&settings.permissions);
    warnings.extend(told);
    for rule in &args.tools.deny {
        rules.deny(rule).map_err(|reason| Failure::usage(format!("--deny {rule}: {reason}")))?;
    }
    for rule in &args.tools.allow {
        rules.grant(rule).map_err(|reason| Failure::usage(format!("--allow {rule}: {reason}")))?;
    }
    if !rules.is_empty() {
        found.push(Arc::new(Permissions::new(rules, std::env::home_dir(), ask)));
    }
    Ok(found)
}

fn load(
    text: &str,
    path: &Path,
    origin: Origin,
    environment: &Arc<Variables>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<dyn Extension>>, String> {
    let (hooks, told) = hooks::read(text, path, origin, environment)?;
    warnings.extend(told);
    Ok(hooks.into_iter().map(|hook| Arc::new(hook) as Arc<dyn Extension>).collect())
}
