//! Loads the extensions that check each call before it runs: the programs of `hooks.json`, then the user's permissions.
//!
//! An invalid file of rules or hooks ends the program before anything runs, because it may be meant to prevent
//! something.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_agent::extension::Extension;
use sinew_agent::hooks::{self, Hook, Origin};
use sinew_permissions::{OwnFiles, Permissions, Rules, Views};
use sinew_session::files::read_text;
use sinew_session::secrets::Secrets;
use sinew_tools::child::{Filter, Variables};
use sinew_tools::{Ask, OUTSIDE_PERMISSION};

use crate::args::Mode;
use crate::config::{self, is_missing};
use crate::failure::Failure;
use crate::sessions::SessionFolders;
use crate::startup::Startup;

/// The values that hooks and permissions need in addition to the files.
pub(crate) struct Guards<'a> {
    /// The names of variables that contain keys of providers.
    pub(crate) keys: &'a [String],
    /// The values that hooks must not see.
    pub(crate) secrets: &'a Arc<Secrets>,
    /// The files that tools must not use.
    pub(crate) own_files: &'a Arc<OwnFiles>,
    /// The copies of the project in which children work.
    pub(crate) views: &'a Arc<Views>,
}

/// Loads the hooks of flags, of the project if it is trusted, and of the user, in this order; then the permissions.
/// `ask` shows the questions of permissions.
///
/// # Errors
/// Returns an error if a file of hooks or a rule is invalid.
pub(crate) fn load_all(
    startup: &Startup,
    guards: &Guards<'_>,
    ask: Option<Arc<dyn Ask>>,
    rules: Rules,
) -> Result<Vec<Arc<dyn Extension>>, Failure> {
    let Startup { environment, settings, .. } = startup;
    let filter = Filter { pass: &settings.env.pass_through, keys: guards.keys };
    let hooks = read_hooks(startup, &Arc::new(filter.apply(environment.variables())), true)?;
    let hide = |hook: Hook| Arc::new(hook.hiding(Arc::clone(guards.secrets))) as Arc<dyn Extension>;
    let mut found: Vec<Arc<dyn Extension>> = hooks.into_iter().map(hide).collect();
    let permissions = Permissions::new(rules, std::env::home_dir(), ask);
    let permissions = permissions.protecting(Arc::clone(guards.own_files)).with_views(Arc::clone(guards.views));
    found.push(Arc::new(permissions));
    Ok(found)
}

/// Checks all hooks and rules without starting anything. Returns the rules.
///
/// # Errors
/// Returns the errors of loading all of them.
pub fn check(startup: &Startup) -> Result<Rules, Failure> {
    let rules = read_rules(startup)?;
    read_hooks(startup, &Arc::default(), false)?;
    Ok(rules)
}

/// Reads the files of settings and hooks again and returns the faults that would stop a start.
pub(crate) fn faults_now(startup: &Startup) -> Vec<String> {
    let unknown_tools = |rules: &Rules| unknown_tools(rules, startup.args.mode());
    let mut faults = config::faults_now(&startup.paths, startup.trusted, unknown_tools);
    faults.extend(read_hooks(startup, &Arc::default(), false).err().map(|failure| failure.message));
    faults
}

/// Returns Sinew's own files, which tools must not use unless a rule names them.
pub(crate) fn own_files(startup: &Startup) -> OwnFiles {
    let Startup { paths, settings, .. } = startup;
    let sessions = SessionFolders::find(paths, settings).all;
    // If the sessions are stored in a parent of the working directory, they are not protected; otherwise no file there
    // could be used.
    let sessions = Some(&*sessions).filter(|folder| !paths.cwd.starts_with(folder));
    OwnFiles::new(&paths.home, &paths.agent, sessions)
}

/// Reads all files of hooks. `pipes` includes the pipes that a flag names, which can only be read once.
fn read_hooks(startup: &Startup, environment: &Arc<Variables>, pipes: bool) -> Result<Vec<Hook>, Failure> {
    let Startup { args, paths, trusted, .. } = startup;
    let mut found = Vec::new();
    for name in &args.resources.hooks {
        let path = paths.cwd.join(name);
        if !pipes && std::fs::metadata(&path).is_ok_and(|facts| !facts.is_file()) {
            continue;
        }
        let wrong = |reason: String| Failure::config(format!("--hook {name}: {reason}"));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        found.extend(parse_hooks(&text, &path, Origin::User, environment).map_err(wrong)?);
    }
    let project = trusted.then(|| (paths.project.join("hooks.json"), Origin::Project));
    for (path, origin) in project.into_iter().chain([(paths.agent.join("hooks.json"), Origin::User)]) {
        let hooks = match read_text(&path) {
            Ok(text) => parse_hooks(&text, &path, origin, environment),
            Err(error) if is_missing(&error) => continue,
            Err(error) => Err(format!("{}: {error}", path.display())),
        };
        let wrong = |reason| Failure::config(format!("{reason}; nothing runs until this is corrected"));
        found.extend(hooks.map_err(wrong)?);
    }
    Ok(found)
}

fn parse_hooks(text: &str, path: &Path, origin: Origin, environment: &Arc<Variables>) -> Result<Vec<Hook>, String> {
    let (hooks, faults) = hooks::read(text, path, origin, environment)?;
    if faults.is_empty() { Ok(hooks) } else { Err(faults.join("\n")) }
}

/// Reads the rules of the settings and the command line.
fn read_rules(startup: &Startup) -> Result<Rules, Failure> {
    let Startup { args, paths, settings, .. } = startup;
    let (mut rules, faults) = Rules::read(&settings.permissions);
    let files: Vec<PathBuf> = [&paths.agent, &paths.project].map(|folder| folder.join("settings.json")).into();
    let names: Vec<String> =
        files.iter().filter(|file| file.is_file()).map(|file| file.display().to_string()).collect();
    let wrong = |faults: Vec<String>| {
        Failure::config(format!("{}: {}; nothing runs until this is corrected", names.join(", "), faults.join("\n")))
    };
    if !faults.is_empty() {
        return Err(wrong(faults));
    }
    let unknown = unknown_tools(&rules, args.mode());
    if !unknown.is_empty() {
        return Err(wrong(unknown));
    }
    for (flag, list) in [("deny", &args.tools.deny), ("allow", &args.tools.allow)] {
        for text in list {
            let usage = |reason: String| Failure::usage(format!("--{flag} {text}: {reason}"));
            let mut alone = Rules::default();
            let added = [&mut alone, &mut rules].into_iter().try_for_each(|rules| match flag {
                "deny" => rules.deny(text),
                _ => rules.grant(text),
            });
            added.map_err(|error| Failure::usage(format!("--{flag} {}", error.message())))?;
            if let Some(fault) = unknown_tools(&alone, args.mode()).pop() {
                return Err(usage(fault));
            }
        }
    }
    Ok(rules)
}

/// Returns a warning for each rule about a tool that does not exist, with the most similar name. Tools of servers are
/// not known yet, and RPC clients may provide their own.
fn unknown_tools(rules: &Rules, mode: Mode) -> Vec<String> {
    let known: Vec<&str> = sinew_tools::names().chain(SERVER_TOOLS).chain([OUTSIDE_PERMISSION.0]).collect();
    let unknown = rules.unknown_tools(&known).into_iter().filter(|(_, tool)| !tool.starts_with("mcp_"));
    let describe = |(rule, tool): (String, String)| {
        let plain = tool.to_lowercase();
        let near = known.iter().min_by_key(|name| strsim::osa_distance(&plain, name));
        let near = near.filter(|name| strsim::osa_distance(&plain, name) <= plain.len().max(3) / 2);
        // Without a similar name it may be a tool of the client.
        if near.is_none() && mode == Mode::Rpc {
            return None;
        }
        let hint = near.map_or_else(|| format!("known: {}", known.join(", ")), |name| format!("did you mean {name}?"));
        Some(format!("{rule}: unknown tool {tool}; {hint}"))
    };
    unknown.filter_map(describe).collect()
}

/// The tools with which a session uses the tools of servers.
const SERVER_TOOLS: [&str; 2] = [sinew_agent::mcp::tools::SEARCH_TOOL, sinew_agent::mcp::tools::CALL_TOOL_NAME];
